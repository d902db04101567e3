/* Counts the calls that change files below a directory, and makes the one with a chosen number fail.
 *
 * Loaded by LD_PRELOAD, inactive until faultshim_arm. Every counted call is a line of the log:
 * its name, a tab and the path. Compiled by tests/faults/shim.py:
 *
 *     cc -shared -fPIC -O1 -o shim.so shim.c -ldl -lpthread
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum how { PASS, KILL_BEFORE, KILL_AFTER, TORN, NO_SPACE, IO_ERROR };

static char below[PATH_MAX];
static size_t below_length;
static atomic_int armed;
static atomic_long count;
static long chosen = -1;
static enum how chosen_how;
static int log_fd = -1;
static int drop_syncs;

#define FILES 4096
static char *paths[FILES]; /* of the files that are open below the directory */
static char writable[FILES];

/* Counts calls below `directory` from now on; call number `at` (from 0; -1: none) fails. */
void faultshim_arm(const char *directory, long at, int how, int log) {
    snprintf(below, sizeof below, "%s", directory);
    below_length = strlen(below);
    chosen = at;
    chosen_how = (enum how)how;
    log_fd = log;
    atomic_store(&count, 0);
    atomic_store(&armed, 1);
}

void faultshim_disarm(void) { atomic_store(&armed, 0); }

__attribute__((constructor)) static void start(void) {
    drop_syncs = getenv("FAULTSHIM_DROP_SYNCS") != NULL;
}

static int inside(const char *path) {
    return path && atomic_load(&armed) && strncmp(path, below, below_length) == 0 &&
           (path[below_length] == '/' || path[below_length] == 0);
}

static const char *path_of(int fd) {
    return fd >= 0 && fd < FILES && atomic_load(&armed) ? paths[fd] : NULL;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Counts a call and returns how it fails; does not return if the process is killed before it. */
static enum how count_call(const char *name, const char *path) {
    long number = atomic_fetch_add(&count, 1);
    if (log_fd >= 0) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%s\t%s\n", name, path + below_length);
        syscall(SYS_write, log_fd, line, length);
    }
    if (number != chosen) return PASS;
    if (chosen_how == KILL_BEFORE) die();
    return chosen_how;
}

static int fails(enum how how) {
    if (how == NO_SPACE) errno = ENOSPC;
    if (how == IO_ERROR) errno = EIO;
    return how == NO_SPACE || how == IO_ERROR;
}

static void afterwards(enum how how) {
    if (how == KILL_AFTER || how == TORN) die();
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

/* --- files are opened ----------------------------------------------------------------------- */

static int changes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT); }

static void remember(int fd, const char *path, int flags) {
    if (fd < 0 || fd >= FILES) return;
    paths[fd] = strdup(path);
    writable[fd] = changes(flags) != 0;
}

#define OPENING(call) \
    if (!inside(path)) return call; \
    enum how how = changes(flags) ? count_call("open", path) : PASS; \
    if (fails(how)) return -1; \
    int fd = call; \
    int error = errno; \
    afterwards(how); \
    remember(fd, path, flags); \
    errno = error; \
    return fd;

#define MODE \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) { REAL(open) MODE OPENING(real(path, flags, mode)) }
int open64(const char *path, int flags, ...) { REAL(open64) MODE OPENING(real(path, flags, mode)) }
int openat(int at, const char *path, int flags, ...) {
    REAL(openat) MODE OPENING(real(at, path, flags, mode))
}
int openat64(int at, const char *path, int flags, ...) {
    REAL(openat64) MODE OPENING(real(at, path, flags, mode))
}

/* --- what is done to an open file ------------------------------------------------------------- */

ssize_t write(int fd, const void *bytes, size_t length) {
    REAL(write)
    const char *path = path_of(fd);
    if (!path) return real(fd, bytes, length);
    enum how how = count_call("write", path);
    if (fails(how)) return -1;
    ssize_t done = real(fd, bytes, how == TORN ? length / 2 : length);
    afterwards(how);
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    REAL(pwrite64)
    const char *path = path_of(fd);
    if (!path) return real(fd, bytes, length, at);
    enum how how = count_call("write", path);
    if (fails(how)) return -1;
    ssize_t done = real(fd, bytes, how == TORN ? length / 2 : length, at);
    afterwards(how);
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int number) {
    REAL(writev)
    const char *path = path_of(fd);
    if (!path) return real(fd, parts, number);
    enum how how = count_call("write", path);
    if (fails(how)) return -1;
    ssize_t done = real(fd, parts, how == TORN ? number / 2 : number);
    afterwards(how);
    return done;
}

#define ON_FILE(name, call) \
    const char *path = path_of(fd); \
    if (!path) return call; \
    enum how how = count_call(name, path); \
    if (fails(how)) return -1; \
    int done = call; \
    afterwards(how); \
    return done;

int fsync(int fd) {
    REAL(fsync)
    if (drop_syncs) return 0;
    ON_FILE("fsync", real(fd))
}
int fdatasync(int fd) {
    REAL(fdatasync)
    if (drop_syncs) return 0;
    ON_FILE("fsync", real(fd))
}
int ftruncate(int fd, off_t length) { REAL(ftruncate) ON_FILE("truncate", real(fd, length)) }
int ftruncate64(int fd, off64_t length) { REAL(ftruncate64) ON_FILE("truncate", real(fd, length)) }

int close(int fd) {
    REAL(close)
    const char *path = path_of(fd);
    if (!path) return real(fd);
    enum how how = writable[fd] ? count_call("close", path) : PASS;
    free(paths[fd]);
    paths[fd] = NULL;
    int done = real(fd); /* a close that fails also closes the file */
    afterwards(how);
    return fails(how) ? -1 : done;
}

/* --- names ------------------------------------------------------------------------------------ */

#define ON_NAME(name, call) \
    if (!inside(path)) return call; \
    enum how how = count_call(name, path); \
    if (fails(how)) return -1; \
    int done = call; \
    int error = errno; \
    afterwards(how); \
    errno = error; \
    return done;

int rename(const char *from, const char *path) { REAL(rename) ON_NAME("rename", real(from, path)) }
int renameat(int one, const char *from, int other, const char *path) {
    REAL(renameat) ON_NAME("rename", real(one, from, other, path))
}
int renameat2(int one, const char *from, int other, const char *path, unsigned flags) {
    REAL(renameat2) ON_NAME("rename", real(one, from, other, path, flags))
}
int link(const char *from, const char *path) { REAL(link) ON_NAME("link", real(from, path)) }
int linkat(int one, const char *from, int other, const char *path, int flags) {
    REAL(linkat) ON_NAME("link", real(one, from, other, path, flags))
}
int unlink(const char *path) { REAL(unlink) ON_NAME("unlink", real(path)) }
int unlinkat(int at, const char *path, int flags) {
    REAL(unlinkat) ON_NAME("unlink", real(at, path, flags))
}
int rmdir(const char *path) { REAL(rmdir) ON_NAME("rmdir", real(path)) }
int mkdir(const char *path, mode_t mode) { REAL(mkdir) ON_NAME("mkdir", real(path, mode)) }
int mkdirat(int at, const char *path, mode_t mode) {
    REAL(mkdirat) ON_NAME("mkdir", real(at, path, mode))
}
