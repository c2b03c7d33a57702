/* store: a folder of entries, one file each.
 * In: keys and values. Out: values, where the file with that very key is whole.
 * Decides what is trusted: a regular file of this user, of the size that its head says, with the right checksum and key; all
 * else is not there, and is written anew. The checksum is against damage; against others' files stands their owner.
 *
 *     file    head | key | value          named by the hash of its key; another key of the same hash takes its place
 *
 * Files with a name of their own are trusted for nothing but their owner.                                              */
#include "base/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct head {
    char     magic[8];
    uint64_t n_key, n_value;
    uint64_t checksum;                /* of all that follows, and the sizes */
} head;

static const char magic[8] = { 'c', 'l', 'p', 's', 't', 'o', 'r', '1' };
static const char entry_end[] = ".entry", part_start[] = "part-";

enum { PATH_BYTES = CLPI_STORE_PATH + 64, STALE_SECONDS = 600 };

/* ---- Hashes ---- */

/* Words are mixed in one after another by xor, multiplication and shift; not against an adversary. */
static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

uint64_t clpi_hash(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = mix(h, word);
    }
    uint64_t last = (uint64_t)n << 56;
    memcpy(&last, p, n);              /* fewer than 8 */
    return mix(h, last);
}

static uint64_t checksum(const void *key, size_t n_key, const void *value, size_t n_value)
{
    return clpi_hash(clpi_hash(mix(mix(1, n_key), n_value), key, n_key), value, n_value);
}

static void path_of(const clpi_store *store, const void *key, size_t n_key, char *out)
{
    snprintf(out, PATH_BYTES, "%s/%016" PRIx64 "%s", store->folder, clpi_hash(2, key, n_key), entry_end);
}

/* ---- The folder ---- */

/* Why it is not this user's alone, or NULL. */
static const char *why_not_ours(const struct stat *s)
{
    if (s->st_uid != geteuid())
        return "it belongs to another user";
    return s->st_mode & (S_IWGRP | S_IWOTH) ? "others may write to it" : NULL;
}

/* Makes the folder and those it stands in. */
static void make_folders(char *path)
{
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            (void)mkdir(path, 0700);
            *p = '/';
        }
    (void)mkdir(path, 0700);
}

/* The folder's path into store; what keeps it from being one, or NULL. */
static const char *choose_folder(clpi_store *store)
{
    const char *off = getenv("CLPALLAS_CACHE"), *dir = getenv("CLPALLAS_CACHE_DIR");
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (off && !strcmp(off, "off"))
        return "CLPALLAS_CACHE is off";
    if (dir && *dir)
        n = snprintf(store->folder, sizeof store->folder, "%s", dir);
    else if (xdg && *xdg == '/')
        n = snprintf(store->folder, sizeof store->folder, "%s/clpallas", xdg);
    else if (home && *home == '/')
        n = snprintf(store->folder, sizeof store->folder, "%s/.cache/clpallas", home);
    if (n < 0)
        return "neither CLPALLAS_CACHE_DIR, XDG_CACHE_HOME nor HOME names a folder";
    return n < (int)sizeof store->folder ? NULL : "the folder's name is too long";
}

/* Why what stands at the path cannot be the folder, or NULL. */
static const char *check_folder(const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0)
        return strerror(errno);
    if (!S_ISDIR(s.st_mode))
        return "not a folder";
    return why_not_ours(&s);
}

void clpi_store_open(clpi_store *store)
{
    *store = (clpi_store){ .max_bytes = CLPI_STORE_BYTES };
    const char *why = choose_folder(store);
    if (why) {
        snprintf(store->reason, sizeof store->reason, "%s", why);
    } else {
        make_folders(store->folder);
        why = check_folder(store->folder);
        if (why)
            snprintf(store->reason, sizeof store->reason, "%s: %s", store->folder, why);
        else if (access(store->folder, W_OK | X_OK) != 0)
            snprintf(store->reason, sizeof store->reason, "nothing new is kept: %s", strerror(errno));
    }
    if (why)
        store->folder[0] = 0;
}

/* ---- Reading ---- */

static bool read_all(int file, void *to, size_t n)
{
    for (char *p = to; n > 0;) {
        ssize_t got = read(file, p, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

/* The file, when it is ours and as long as its head says. Never waits, whatever stands under the name. */
static int open_entry(const char *path, head *out)
{
    struct stat s;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return -1;
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && !why_not_ours(&s) && read_all(file, out, sizeof *out) &&
        !memcmp(out->magic, magic, sizeof magic) && (uint64_t)s.st_size >= sizeof *out) {
        uint64_t n = (uint64_t)s.st_size - sizeof *out;
        if (out->n_key <= n && out->n_value == n - out->n_key)
            return file;
    }
    (void)close(file);
    return -1;
}

bool clpi_store_get(const clpi_store *store, const void *key, size_t n_key, clpi_arena *arena, void **out_value, size_t *out_n)
{
    char path[PATH_BYTES];
    head h;
    *out_value = NULL;
    *out_n = 0;
    if (!store->folder[0])
        return false;
    path_of(store, key, n_key, path);
    int file = open_entry(path, &h);
    if (file < 0)
        return false;
    char *bytes = h.n_key == n_key ? clpi_arena_take(arena, n_key + (size_t)h.n_value + 1, 1) : NULL;
    bool is_whole = bytes && read_all(file, bytes, n_key + (size_t)h.n_value) && !memcmp(bytes, key, n_key) &&
                    checksum(bytes, n_key, bytes + n_key, (size_t)h.n_value) == h.checksum;
    if (is_whole) {
        (void)futimens(file, NULL);   /* used now */
        *out_value = bytes + n_key;
        *out_n = (size_t)h.n_value;
    }
    (void)close(file);
    return is_whole;
}

void clpi_store_drop(const clpi_store *store, const void *key, size_t n_key)
{
    char path[PATH_BYTES];
    if (!store->folder[0])
        return;
    path_of(store, key, n_key, path);
    (void)unlink(path);
}

/* ---- Writing ---- */

static bool write_all(int file, const void *from, size_t n)
{
    for (const char *p = from; n > 0;) {
        ssize_t put = write(file, p, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && !strcmp(name + n - m, end);
}

/* One pass over the folder: removes what was never finished, counts the rest. The entry used longest ago; false: none. */
static bool survey(const clpi_store *store, uint64_t *out_bytes, char *out_oldest)
{
    DIR *dir = opendir(store->folder);
    struct timespec least = { 0 };
    const time_t now = time(NULL);
    bool found = false;
    *out_bytes = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat s;
        bool is_entry = ends_with(entry->d_name, entry_end);
        bool is_part = !strncmp(entry->d_name, part_start, strlen(part_start));
        if ((!is_entry && !is_part) || fstatat(dirfd(dir), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (is_part && now - s.st_mtim.tv_sec > STALE_SECONDS) {
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
            continue;
        }
        *out_bytes += (uint64_t)s.st_size;
        bool is_older = !found || s.st_mtim.tv_sec < least.tv_sec ||
                        (s.st_mtim.tv_sec == least.tv_sec && s.st_mtim.tv_nsec < least.tv_nsec);
        if (is_entry && is_older && strlen(entry->d_name) < 64) {
            least = s.st_mtim;
            found = true;
            snprintf(out_oldest, PATH_BYTES, "%s/%.63s", store->folder, entry->d_name);
        }
    }
    if (dir)
        (void)closedir(dir);
    return found;
}

/* Makes room for n bytes. Others may do so at the same time: what is gone already is no loss. */
static void make_room(const clpi_store *store, uint64_t n)
{
    uint64_t bytes, before = UINT64_MAX;
    char oldest[PATH_BYTES];
    while (survey(store, &bytes, oldest) && bytes + n > store->max_bytes && bytes < before) {
        before = bytes;
        if (unlink(oldest) != 0)
            return;
    }
}

/* Opens a file under a name that nobody else has. -1: there is no room, or no folder. */
static int part_open(const clpi_store *store, char *out_part)
{
    snprintf(out_part, PATH_BYTES, "%s/%sXXXXXX", store->folder, part_start);
    return mkstemp(out_part);
}

/* Ends a part: under its name, if all of it was written, else not at all. */
static bool part_close(int file, const char *part, bool is_whole, const char *path)
{
    is_whole = close(file) == 0 && is_whole;
    if (is_whole && rename(part, path) == 0)
        return true;
    (void)unlink(part);
    return false;
}

void clpi_store_put(const clpi_store *store, const void *key, size_t n_key, const void *value, size_t n_value)
{
    char path[PATH_BYTES], part[PATH_BYTES];
    if (!store->folder[0] || n_key + n_value > store->max_bytes / 4)
        return;
    make_room(store, sizeof(head) + n_key + n_value);
    path_of(store, key, n_key, path);
    int file = part_open(store, part);
    if (file < 0)
        return;
    head h = { .n_key = n_key, .n_value = n_value, .checksum = checksum(key, n_key, value, n_value) };
    memcpy(h.magic, magic, sizeof magic);
    bool is_whole = write_all(file, &h, sizeof h) && write_all(file, key, n_key) && write_all(file, value, n_value);
    (void)part_close(file, part, is_whole, path);
}

/* ---- Files with a name of their own ---- */

static bool named_path(const clpi_store *store, const char *name, const char *end, char *out)
{
    int n = snprintf(out, PATH_BYTES, "%s/%s%s", store->folder, name, end);
    return store->folder[0] && n > 0 && n < PATH_BYTES;
}

_Static_assert(CLPI_STORE_FILE_BYTES == UINT64_C(4) << 20, "check_file says how many");

/* Why an open file is not to be read, or NULL. */
static const char *check_file(int file, size_t *out_n)
{
    struct stat s;
    if (fstat(file, &s) != 0)
        return strerror(errno);
    if (!S_ISREG(s.st_mode))
        return "it is no regular file";
    if ((uint64_t)s.st_size > CLPI_STORE_FILE_BYTES)
        return "it is longer than 4 MiB";
    *out_n = (size_t)s.st_size;
    return why_not_ours(&s);
}

const char *clpi_store_read(const clpi_store *store, const char *name, clpi_arena *arena, char **out_text, size_t *out_n)
{
    char path[PATH_BYTES];
    *out_text = NULL;
    *out_n = 0;
    if (!named_path(store, name, "", path))
        return NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return errno == ENOENT ? NULL : errno == ELOOP ? "it is a link" : strerror(errno);
    const char *why = check_file(file, out_n);
    char *text = why ? NULL : clpi_arena_alloc(arena, *out_n + 1, 1);
    if (!why && !text)
        why = "out of memory";
    errno = 0;
    if (!why && !read_all(file, text, *out_n))
        why = errno ? strerror(errno) : "it became shorter while it was read";
    (void)close(file);
    *out_text = why ? NULL : text;
    return why;
}

const char *clpi_store_lock(const clpi_store *store, const char *name, int *out_lock)
{
    enum { TRIES = 10000 };         /* of a millisecond: a process that was stopped while it held the lock holds nobody up for good */
    const struct timespec pause = { .tv_nsec = 1000000 };
    const char *why = "another process holds it";
    char path[PATH_BYTES];
    *out_lock = -1;
    if (!named_path(store, name, ".lock", path))
        return "its path is too long";
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (lock < 0)
        return strerror(errno);
    for (int i = 0; i < TRIES; i++) {
        if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
            *out_lock = lock;
            return NULL;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {      /* nobody holds it: there is no lock to be had here */
            why = strerror(errno);
            break;
        }
        (void)nanosleep(&pause, NULL);
    }
    clpi_store_unlock(lock);
    return why;
}

void clpi_store_unlock(int lock)
{
    if (lock >= 0)
        (void)close(lock);
}

bool clpi_store_write(const clpi_store *store, const char *name, const void *bytes, size_t n)
{
    char path[PATH_BYTES], part[PATH_BYTES];
    if (!named_path(store, name, "", path) || n > CLPI_STORE_FILE_BYTES)
        return false;
    int file = part_open(store, part);
    return file >= 0 && part_close(file, part, write_all(file, bytes, n), path);
}
