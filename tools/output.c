/* output: where the command's files of results go: whole into their place, or not at all. Takes a path, gives a stream;
 * decides whether the place may be replaced. A device or a pipe may not: renaming onto /dev/null would put a file there. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void release(output *w)
{
    const int error = errno;
    free(w->target);
    free(w->beside);
    *w = (output){ 0 };
    errno = error;
}

/* The folder that a path stands in; NULL: out of memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

/* That folder may be written to: what is written is made there. */
static bool check_folder(const char *path)
{
    char *folder = folder_of(path);
    if (!folder)
        return false;
    const bool ok = !access(folder, W_OK | X_OK);
    const int error = errno;
    free(folder);
    errno = error;
    return ok;
}

/* Where a path leads, without links. The file need not be there; its folder has to. NULL: it is not, or out of memory. */
static char *place_of(const char *path)
{
    char *place = realpath(path, NULL);
    if (place)
        return place;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = folder_of(path), *at = folder ? realpath(folder, NULL) : NULL;
    const size_t n = at ? strlen(at) + strlen(name) + 2 : 0;
    place = n ? malloc(n) : NULL;
    if (place)
        snprintf(place, n, "%s/%s", at, name);
    free(at);
    free(folder);
    return place;
}

bool output_is_one_file(const char *path, const char *other)
{
    struct stat there;
    char *a = place_of(path), *b = place_of(other);
    const bool is_one = a && b && !strcmp(a, b) && (stat(a, &there) || S_ISREG(there.st_mode));
    free(a);
    free(b);
    return is_one;
}

bool output_check(const char *path)
{
    struct stat there;
    const size_t n = strlen(path);
    if (stat(path, &there)) {
        if (errno == ENOENT && n > 0 && path[n - 1] == '/')
            errno = EISDIR;
        return errno == ENOENT && check_folder(path);
    }
    if (S_ISDIR(there.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (!S_ISREG(there.st_mode))
        return !access(path, W_OK);
    char *target = realpath(path, NULL);
    const bool ok = target && check_folder(target);
    const int error = errno;
    free(target);
    errno = error;
    return ok;
}

bool output_open(output *w, const char *path)
{
    *w = (output){ 0 };
    struct stat there;
    const bool exists = !stat(path, &there);
    if (exists && !S_ISREG(there.st_mode)) {
        w->file = fopen(path, "wb");
        return w->file != NULL;
    }
    w->target = exists ? realpath(path, NULL) : strdup(path);
    const size_t n = w->target ? strlen(w->target) + 32 : 0;
    w->beside = n ? malloc(n) : NULL;
    if (w->beside) {
        snprintf(w->beside, n, "%s.%ld.part", w->target, (long)getpid());
        w->file = fopen(w->beside, "wb");
    }
    if (!w->file)
        release(w);
    return w->file != NULL;
}

bool output_close(output *w, bool ok)
{
    ok = ok && !fflush(w->file) && !ferror(w->file);
    int error = errno;
    if (fclose(w->file) && ok) {
        error = errno;
        ok = false;
    }
    if (ok && w->beside && rename(w->beside, w->target)) {
        error = errno;
        ok = false;
    }
    if (!ok && w->beside)
        remove(w->beside);
    release(w);
    errno = error;
    return ok;
}
