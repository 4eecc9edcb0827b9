// Fails the Nth call of a kind for files below a folder; loaded with LD_PRELOAD, armed by ctypes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN, WRITE, SYNC, RENAME, KINDS };

static char folder[4096];
static long calls[KINDS];
static int armed_kind = -1, armed_error;
static long armed_at;
static int struck;

// error < 0: the call does half of what it is asked for.
void faults_arm(const char* where, int kind, long at, int error) {
  snprintf(folder, sizeof folder, "%s", where);
  memset(calls, 0, sizeof calls);
  armed_kind = kind, armed_at = at, armed_error = error, struck = 0;
}
long faults_calls(int kind) { return calls[kind]; }
int faults_struck(void) { return struck; }
void faults_off(void) { folder[0] = 0, armed_kind = -1; }

static int below(const char* path) {
  return folder[0] && path && strncmp(path, folder, strlen(folder)) == 0;
}
static int below_fd(int fd) {
  if (!folder[0]) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return below(path);
}
static int strikes(int kind) {
  if (++calls[kind] != armed_at || kind != armed_kind) return 0;
  struck = 1;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL_IF(kind, here)      \
  if ((here) && strikes(kind)) { \
    errno = armed_error;         \
    return -1;                   \
  }

#define OPENS(name)                                             \
  int name(const char* path, int flags, ...) {                  \
    va_list rest;                                               \
    va_start(rest, flags);                                      \
    const mode_t mode = va_arg(rest, mode_t);                   \
    va_end(rest);                                               \
    FAIL_IF(OPEN, (flags & (O_WRONLY | O_RDWR)) && below(path)) \
    return REAL(name)(path, flags, mode);                       \
  }
OPENS(open)
OPENS(open64)

ssize_t write(int fd, const void* data, size_t size) {
  if (below_fd(fd) && strikes(WRITE)) {
    if (armed_error < 0 && size > 1) return REAL(write)(fd, data, size / 2);
    if (armed_error >= 0) {
      errno = armed_error;
      return -1;
    }
  }
  return REAL(write)(fd, data, size);
}
int fsync(int fd) {
  FAIL_IF(SYNC, below_fd(fd))
  return REAL(fsync)(fd);
}
int fdatasync(int fd) {
  FAIL_IF(SYNC, below_fd(fd))
  return REAL(fdatasync)(fd);
}
int rename(const char* from, const char* to) {
  FAIL_IF(RENAME, below(from) || below(to))
  return REAL(rename)(from, to);
}
int renameat(int a, const char* from, int b, const char* to) {
  FAIL_IF(RENAME, below(from) || below(to))
  return REAL(renameat)(a, from, b, to);
}
int link(const char* from, const char* to) {
  FAIL_IF(RENAME, below(from) || below(to))
  return REAL(link)(from, to);
}
int mkdir(const char* path, mode_t mode) {
  FAIL_IF(OPEN, below(path))
  return REAL(mkdir)(path, mode);
}
