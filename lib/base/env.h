/* env: what every part of the library is handed: where memory comes from and where errors go.
 *
 * One clpi_env lives in each context (its first member). Errors are kept per calling thread. Kernel-independent.        */
#ifndef CLPI_ENV_H
#define CLPI_ENV_H

#include <stdarg.h>
#include <stdatomic.h>

#include "clpallas.h"

typedef struct clpi_error_slot clpi_error_slot;

typedef struct clpi_env {
    clp_alloc_fn     alloc;
    void            *alloc_user;
    _Atomic(clpi_error_slot *) errors;   /* one slot per thread that failed; error.c owns the list */
    atomic_bool      is_slot_lost;       /* some thread's slot could not be allocated: its error is "out of memory" */
} clpi_env;

void clpi_env_init(clpi_env *env, clp_alloc_fn alloc, void *alloc_user);   /* alloc NULL: malloc and free */
void clpi_env_done(clpi_env *env);

/* Memory. NULL says out of memory, and has been reported (clpi_fail) with CLP_ERR_OOM. n * size is checked. */
CLP_MUST_CHECK void *clpi_alloc(clpi_env *env, size_t n, size_t size);      /* zeroed */
CLP_MUST_CHECK void *clpi_realloc(clpi_env *env, void *p, size_t old_n, size_t new_n, size_t size);  /* tail not zeroed */
void  clpi_free(clpi_env *env, void *p, size_t n, size_t size);             /* p may be NULL */

/* The one place all errors pass. Records the text (which replaces this thread's last one) and returns status. When the
 * text itself cannot be allocated, a fixed "out of memory" stands in.                                                 */
clp_status  clpi_fail(clpi_env *env, clp_status status, const char *format, ...) CLP_PRINTF(3, 4);
clp_status  clpi_fail_v(clpi_env *env, clp_status status, const char *format, va_list args);
const char *clpi_error_text(const clpi_env *env);   /* this thread's; "" when there was none */

#define CLP_TRY(expr)                                                                                                  \
    do {                                                                                                               \
        clp_status clpi_try_status_ = (expr);                                                                          \
        if (clpi_try_status_ != CLP_OK)                                                                                \
            return clpi_try_status_;                                                                                   \
    } while (0)

#endif
