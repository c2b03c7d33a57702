/* store: a folder of what can be made again, kept from one process to the next: compiled programs, measured peaks.
 *
 * An entry is a value under a key, both any bytes, in a file of its own, which holds the whole key: an entry that is not
 * exactly the one asked for, or not whole, is not there. Files appear by renaming, so any number of processes may read and
 * write at once and end at any point. Nothing here fails: where nothing can be kept, nothing is found.
 *
 * The folder is $CLPALLAS_CACHE_DIR, else clpallas in $XDG_CACHE_HOME or $HOME/.cache; CLPALLAS_CACHE=off has none. Folder
 * and files have to be this user's and writable by nobody else: a compiled program is code that will be run.            */
#ifndef CLPI_STORE_H
#define CLPI_STORE_H

#include "base/arena.h"

enum { CLPI_STORE_PATH = 1024 };
#define CLPI_STORE_BYTES (UINT64_C(256) << 20)       /* all files; the ones used longest ago go first */

typedef struct clpi_store {
    char     folder[CLPI_STORE_PATH];                /* "": nothing is kept */
    char     reason[CLPI_STORE_PATH + 128];          /* why nothing, or nothing new, is kept; "": all is */
    uint64_t max_bytes;
} clpi_store;

/* Tells bytes apart where nobody means harm. h: the hash of what stands before them, or a number of one's own. */
uint64_t clpi_hash(uint64_t h, const void *bytes, size_t n);

void clpi_store_open(clpi_store *store);             /* makes the folder where it is not there */

/* false: not there. The value is in arena. */
bool clpi_store_get(const clpi_store *store, const void *key, size_t n_key, clpi_arena *arena, void **out_value, size_t *out_n);
void clpi_store_put(const clpi_store *store, const void *key, size_t n_key, const void *value, size_t n_value);
void clpi_store_drop(const clpi_store *store, const void *key, size_t n_key);     /* an entry that turned out to be of no use */

/* Files of the folder with a name of their own, for people to read and to merge: no entries, never thrown out for room. They
 * are read and appear as entries do, but hold what anybody has written into them: who reads one believes nothing of it. They
 * cannot be made again: one that is there and cannot be used is not to be written over.                                  */
#define CLPI_STORE_FILE_BYTES (UINT64_C(4) << 20)    /* a longer one cannot be used */
/* The text, which ends with a zero; NULL: there is no such file, or it cannot be used: then why is returned, else NULL. */
const char *clpi_store_read(const clpi_store *store, const char *name, clpi_arena *arena, char **out_text, size_t *out_n);
/* Between these two nobody else of those who ask for the same name changes its file; a process that ends lets go. Why it could not
 * be had, in ten seconds or at all (out_lock -1), or NULL.                                                              */
const char *clpi_store_lock(const clpi_store *store, const char *name, int *out_lock);
void clpi_store_unlock(int lock);
bool clpi_store_write(const clpi_store *store, const char *name, const void *bytes, size_t n);    /* false: it is as it was */

#endif
