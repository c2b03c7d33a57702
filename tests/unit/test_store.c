/* The store: what was put is got, whole, or is not there: after damage, beside other processes, past its size. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/store.h"
#include "support/support.h"

typedef struct fixture { clpi_env env; clpi_arena arena; clpi_store store; char folder[64]; } fixture;

static void open_fixture(fixture *f)
{
    strcpy(f->folder, "/tmp/clpallas-store-XXXXXX");
    cr_assert_not_null(mkdtemp(f->folder));
    setenv("CLPALLAS_CACHE_DIR", f->folder, 1);
    unsetenv("CLPALLAS_CACHE");
    clpi_env_init(&f->env, NULL, NULL);
    clpi_arena_init(&f->arena, &f->env);
    clpi_store_open(&f->store);
    cr_assert_str_eq(f->store.folder, f->folder);
    cr_assert_str_eq(f->store.reason, "");
}

/* The one file in the folder; removes it when asked to. */
static int each_file(const fixture *f, char *out_path, bool removes)
{
    DIR *dir = opendir(f->folder);
    int n = 0;
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            snprintf(out_path, 400, "%s/%s", f->folder, e->d_name);
            n++;
            if (removes)
                unlink(out_path);
        }
    closedir(dir);
    return n;
}

static void close_fixture(fixture *f)
{
    char path[400];
    each_file(f, path, true);
    rmdir(f->folder);
    clpi_arena_done(&f->arena);
    clpi_env_done(&f->env);
}

static bool get(fixture *f, const char *key, const char *want, size_t n_want)
{
    void *value;
    size_t n;
    bool found = clpi_store_get(&f->store, key, strlen(key), &f->arena, &value, &n);
    cr_expect(!found || (n == n_want && !memcmp(value, want, n)), "%s", key);
    return found;
}

Test(store, gives_back_what_was_put)
{
    fixture f;
    open_fixture(&f);
    static const struct { const char *key, *value; size_t n; } rows[] = {
        { "", "empty key", 9 }, { "k", "", 0 }, { "12345678", "12345678", 8 }, { "a longer key", "\0a\0", 3 },
    };
    enum { N = sizeof rows / sizeof *rows };
    for (int i = 0; i < N; i++) {
        cr_expect(!get(&f, rows[i].key, "", 0), "row %d was not put", i);
        clpi_store_put(&f.store, rows[i].key, strlen(rows[i].key), rows[i].value, rows[i].n);
    }
    for (int i = 0; i < N; i++)
        cr_expect(get(&f, rows[i].key, rows[i].value, rows[i].n), "row %d", i);
    clpi_store_put(&f.store, "k", 1, "new", 3);
    cr_expect(get(&f, "k", "new", 3));
    clpi_store_drop(&f.store, "k", 1);
    cr_expect(!get(&f, "k", "new", 3));
    close_fixture(&f);
}

Test(store, an_entry_that_is_not_whole_is_not_there)
{
    fixture f;
    char path[400];
    open_fixture(&f);
    enum { HEAD = 32, N = HEAD + 3 + 20 };
    for (int cut = 0; cut < 2 * N; cut++) {     /* shortened to every length; then every byte changed */
        clpi_store_put(&f.store, "key", 3, "twenty bytes of data", 20);
        cr_assert_eq(each_file(&f, path, false), 1);
        if (cut < N) {
            cr_assert_eq(truncate(path, cut), 0);
        } else {
            FILE *file = fopen(path, "r+b");
            fseek(file, cut - N, SEEK_SET);
            int byte = fgetc(file);
            fseek(file, cut - N, SEEK_SET);
            fputc(byte ^ 0x10, file);
            fclose(file);
        }
        cr_expect(!get(&f, "key", "", 0), "cut %d", cut);
    }
    clpi_store_put(&f.store, "key", 3, "twenty bytes of data", 20);
    cr_expect(get(&f, "key", "twenty bytes of data", 20), "written anew");
    close_fixture(&f);
}

Test(store, trusts_regular_files_of_this_user_alone)
{
    fixture f;
    char path[400], real[400];
    open_fixture(&f);
    clpi_store_put(&f.store, "key", 3, "value", 5);
    each_file(&f, path, false);
    cr_assert_eq(chmod(path, 0666), 0);
    cr_expect(!get(&f, "key", "value", 5), "others may write it");
    cr_assert_eq(chmod(path, 0600), 0);
    cr_expect(get(&f, "key", "value", 5));
    snprintf(real, sizeof real, "%.300s-real", path);
    cr_assert_eq(rename(path, real), 0);
    cr_assert_eq(symlink(real, path), 0);
    cr_expect(!get(&f, "key", "value", 5), "a link");
    unlink(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect(!get(&f, "key", "value", 5), "a pipe: neither there nor waited for");
    clpi_store_put(&f.store, "key", 3, "value", 5);
    cr_expect(get(&f, "key", "value", 5), "replaced");
    close_fixture(&f);
}

Test(store, no_folder_is_no_failure)
{
    static const struct { const char *cache, *dir, *reason; } rows[] = {
        { "off", "/tmp", "CLPALLAS_CACHE is off" },
        { NULL, "/proc/none/such", "/proc/none/such: No such file or directory" },
        { NULL, "/tmp", "/tmp: others may write to it" },
        { NULL, "/dev/null", "/dev/null: not a folder" },
    };
    for (int i = 0; i < 4; i++) {
        fixture f = { .folder = "" };
        void *value;
        size_t n;
        rows[i].cache ? setenv("CLPALLAS_CACHE", rows[i].cache, 1) : unsetenv("CLPALLAS_CACHE");
        setenv("CLPALLAS_CACHE_DIR", rows[i].dir, 1);
        clpi_env_init(&f.env, NULL, NULL);
        clpi_arena_init(&f.arena, &f.env);
        clpi_store_open(&f.store);
        cr_expect_str_eq(f.store.folder, "", "row %d", i);
        cr_expect_str_eq(f.store.reason, rows[i].reason);
        clpi_store_put(&f.store, "key", 3, "value", 5);
        cr_expect(!clpi_store_get(&f.store, "key", 3, &f.arena, &value, &n));
        clpi_store_drop(&f.store, "key", 3);
        clpi_arena_done(&f.arena);
        clpi_env_done(&f.env);
    }
}

Test(store, the_entries_used_longest_ago_go_first)
{
    fixture f;
    char path[400], key[2] = "a";
    static char value[1000];
    open_fixture(&f);
    f.store.max_bytes = 5500;
    for (; key[0] < 'i'; key[0]++) {
        clpi_store_put(&f.store, key, 1, value, sizeof value);
        cr_expect(get(&f, "a", value, sizeof value), "used each time");
        nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    }
    cr_expect_eq(each_file(&f, path, false), 5);
    cr_expect(get(&f, "h", value, sizeof value));
    cr_expect(!get(&f, "b", value, sizeof value));
    clpi_store_put(&f.store, "large", 5, value, 2000);
    cr_expect(!get(&f, "large", value, 2000), "too large to be worth the others");
    close_fixture(&f);
}

/* Writes and reads one key for ever; what it reads is whole. */
static void hammer(fixture *f, int who)
{
    static char value[70000];
    memset(value, 'a' + who, sizeof value);
    for (;;) {
        void *got;
        size_t n;
        clpi_store_put(&f->store, "shared", 6, value, sizeof value);
        clpi_arena_mark mark = clpi_arena_mark_get(&f->arena);
        if (clpi_store_get(&f->store, "shared", 6, &f->arena, &got, &n) &&
            (n != sizeof value || memcmp(got, (char *)got + 1, n - 1)))
            _exit(1);
        clpi_arena_rewind(&f->arena, mark);
    }
}

Test(store, processes_that_are_killed_leave_whole_entries)
{
    fixture f;
    char path[400];
    open_fixture(&f);
    for (int round = 0; round < 20; round++) {
        pid_t pids[3];
        for (int i = 0; i < 3; i++)
            if ((pids[i] = fork()) == 0)
                hammer(&f, i);
        nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
        for (int i = 0; i < 3; i++) {
            int status = 0;
            kill(pids[i], SIGKILL);
            waitpid(pids[i], &status, 0);
            cr_expect(WIFSIGNALED(status), "a reader saw a torn entry");
        }
        void *got;
        size_t n;
        if (clpi_store_get(&f.store, "shared", 6, &f.arena, &got, &n))
            cr_expect(n == 70000 && !memcmp(got, (char *)got + 1, n - 1));
    }
    /* What they left unfinished goes once it is old. */
    DIR *dir = opendir(f.folder);
    for (struct dirent *e; (e = readdir(dir));)
        if (!strncmp(e->d_name, "part-", 5))
            utimensat(dirfd(dir), e->d_name, (struct timespec[]){ { 1, 0 }, { 1, 0 } }, 0);
    closedir(dir);
    clpi_store_put(&f.store, "shared", 6, "x", 1);
    cr_expect_eq(each_file(&f, path, false), 1);
    close_fixture(&f);
}

/* A limit on the size of files stands in for a disk that is full. */
Test(store, a_full_disk_leaves_nothing_behind)
{
    char path[400];
    fixture f;
    static char value[100000];
    open_fixture(&f);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 5000, 5000 }), 0);
    clpi_store_put(&f.store, "key", 3, value, sizeof value);
    cr_expect_eq(each_file(&f, path, false), 0);
    clpi_store_put(&f.store, "key", 3, value, 1000);
    cr_expect(get(&f, "key", value, 1000));
    close_fixture(&f);
}
