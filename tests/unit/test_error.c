/* Errors: one text for each thread, replaced by the next, never lost to a lack of memory. */
#include <pthread.h>
#include <stdio.h>

#include "base/env.h"
#include "support/support.h"

Test(error, each_failure_replaces_the_text)
{
    clpi_env env;
    clpi_env_init(&env, NULL, NULL);
    cr_expect_str_eq(clpi_error_text(&env), "");
    cr_expect_eq(clpi_fail(&env, CLP_ERR_ARG, "x: expected rank %d, got rank %d", 2, 3), CLP_ERR_ARG);
    cr_expect_str_eq(clpi_error_text(&env), "x: expected rank 2, got rank 3");
    cr_expect_eq(clpi_fail(&env, CLP_ERR_DEVICE, "%s, again", clpi_error_text(&env)), CLP_ERR_DEVICE);
    cr_expect_str_eq(clpi_error_text(&env), "x: expected rank 2, got rank 3, again", "a text may quote the one before");
    clpi_env_done(&env);
}

Test(error, without_memory_for_a_text_a_fixed_one_stands_in)
{
    for (size_t budget = 0; budget < 2; budget++) {
        failing_alloc failing = { .budget = budget };
        clpi_env env;
        clpi_env_init(&env, failing_alloc_fn, &failing);
        cr_expect_eq(clpi_fail(&env, CLP_ERR_INVALID, "some text"), CLP_ERR_INVALID);
        cr_expect_str_eq(clpi_error_text(&env), "out of memory");
        clpi_env_done(&env);
        cr_expect_eq(failing.n_live, 0);
    }
}

typedef struct task { clpi_env *env; int number; bool is_own; } task;

static void *fail_often(void *user)
{
    task *t = user;
    char want[32];
    t->is_own = true;
    for (int i = 0; i < 1000; i++) {
        clpi_fail(t->env, CLP_ERR_ARG, "thread %d, %d", t->number, i);
        (void)snprintf(want, sizeof want, "thread %d, %d", t->number, i);
        t->is_own = t->is_own && !strcmp(clpi_error_text(t->env), want);
    }
    return NULL;
}

Test(error, threads_see_their_own_text)
{
    enum { N = 8 };
    clpi_env env;
    pthread_t threads[N];
    task tasks[N];
    clpi_env_init(&env, NULL, NULL);
    clpi_fail(&env, CLP_ERR_ARG, "the first thread's");
    for (int i = 0; i < N; i++) {
        tasks[i] = (task){ &env, i, false };
        cr_assert_eq(pthread_create(&threads[i], NULL, fail_often, &tasks[i]), 0);
    }
    for (int i = 0; i < N; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < N; i++)
        cr_expect(tasks[i].is_own, "thread %d", i);
    cr_expect_str_eq(clpi_error_text(&env), "the first thread's");
    clpi_env_done(&env);
}

typedef struct visit { clpi_env *env; pthread_t id; bool was_new; } visit;

static void *fail_once(void *user)
{
    visit *v = user;
    v->id = pthread_self();
    v->was_new = !*clpi_error_text(v->env);
    clpi_fail(v->env, CLP_ERR_ARG, "a thread's that ends");
    return NULL;
}

/* Threads one after another, most of which have the id of one that has ended. */
Test(error, a_new_thread_has_no_text_of_one_that_ended)
{
    enum { N = 50 };
    failing_alloc memory = { .budget = SIZE_MAX };
    clpi_env env;
    visit visits[N];
    int n_ids = 0;
    clpi_env_init(&env, failing_alloc_fn, &memory);
    for (int i = 0; i < N; i++) {
        pthread_t thread;
        bool is_known = false;
        visits[i] = (visit){ .env = &env };
        cr_assert_eq(pthread_create(&thread, NULL, fail_once, &visits[i]), 0);
        cr_assert_eq(pthread_join(thread, NULL), 0);
        cr_expect(visits[i].was_new, "thread %d", i);
        for (int k = 0; k < i; k++)
            is_known |= pthread_equal(visits[k].id, visits[i].id) != 0;
        n_ids += !is_known;
    }
    cr_expect_str_eq(clpi_error_text(&env), "", "nor has the one that lives on");
    cr_expect_eq(memory.n_live, 2 * (size_t)n_ids, "a slot and a text for each id: %d ids, %d live", n_ids, (int)memory.n_live);
    clpi_env_done(&env);
    cr_expect_eq(memory.n_live, 0);
}

Test(error, statuses_have_names)
{
    cr_expect_str_eq(clp_status_name(CLP_OK), "CLP_OK");
    cr_expect_str_eq(clp_status_name(CLP_ERR_INTERNAL), "CLP_ERR_INTERNAL");
    cr_expect_str_eq(clp_status_name((clp_status)99), "?");
}
