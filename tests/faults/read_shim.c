/* Disturbs one call that reads a file below a directory. Loaded by LD_PRELOAD, inactive until readshim_arm.
 *
 *     cc -shared -fPIC -O1 -o read_shim.so read_shim.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum how { PASS, IO_ERROR, HALF, END, INTERRUPT, STALE };

static char below[PATH_MAX];
static atomic_int armed;
static atomic_long count;
static long chosen;
static enum how chosen_how;

void readshim_arm(const char *directory, long at, int how) {
    snprintf(below, sizeof below, "%s", directory);
    chosen = at;
    chosen_how = (enum how)how;
    atomic_store(&count, 0);
    atomic_store(&armed, 1);
}

long readshim_disarm(void) {
    atomic_store(&armed, 0);
    return atomic_load(&count);
}

static enum how count_call(int fd) {
    char link[64], path[PATH_MAX];
    if (!atomic_load(&armed)) return PASS;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return PASS;
    path[length] = 0;
    if (strncmp(path, below, strlen(below))) return PASS;
    return atomic_fetch_add(&count, 1) == chosen ? chosen_how : PASS;
}

#define READ(NAME, ARGUMENTS, PASSED)                                    \
    ssize_t NAME ARGUMENTS {                                             \
        static ssize_t(*real) ARGUMENTS;                                 \
        if (!real) real = dlsym(RTLD_NEXT, #NAME);                       \
        switch (count_call(fd)) {                                        \
        case PASS: break;                                                \
        case HALF: size = size > 1 ? size / 2 : size; break;             \
        case END: return 0;                                              \
        case INTERRUPT: errno = EINTR; return -1;                        \
        case STALE: errno = ESTALE; return -1;                           \
        case IO_ERROR: errno = EIO; return -1;                           \
        }                                                                \
        return real PASSED;                                              \
    }

READ(read, (int fd, void *into, size_t size), (fd, into, size))
READ(pread, (int fd, void *into, size_t size, off_t at), (fd, into, size, at))
READ(pread64, (int fd, void *into, size_t size, off64_t at), (fd, into, size, at))
