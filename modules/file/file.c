#include "file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_closed(int fd, int error) {
  close(fd);
  errno = error;
  return -1;
}

int rtl_file_sync_folder(const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
  if (length >= sizeof folder) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(folder, path, length);
  folder[length] = '\0';
  int fd = open(length == 0 ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return -1;
  }
  /* Some file systems can't sync a folder, and say EINVAL; there is nothing to do about it. */
  if (fsync(fd) != 0 && errno != EINVAL) {
    return fail_closed(fd, errno);
  }
  return close(fd);
}

static int write_all(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t put = write(fd, bytes, size);
    if (put < 0 && errno != EINTR) {
      return -1;
    }
    if (put > 0) {
      bytes += put;
      size -= (size_t)put;
    }
  }
  return 0;
}

int rtl_file_open_append(const char *path, mode_t mode) {
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, mode);
  if (fd >= 0 && rtl_file_sync_folder(path) != 0) {
    return fail_closed(fd, errno);
  }
  return fd;
}

int rtl_file_append(int fd, const void *bytes, size_t size, int lazy) {
  off_t before = lseek(fd, 0, SEEK_END);
  if (write_all(fd, bytes, size) == 0 && (lazy || fsync(fd) == 0)) {
    return 0;
  }
  int error = errno;
  if (before >= 0 && ftruncate(fd, before) != 0) {
    errno = error; /* the reader must live with a torn last line anyway */
  }
  errno = error;
  return -1;
}

/* Makes PATH.new-PID: in the same folder, so that rename is one step. */
static int open_beside(const char *path, char *name, size_t size, mode_t mode) {
  int length = snprintf(name, size, "%s.new-%ld", path, (long)getpid());
  if (length < 0 || (size_t)length >= size) {
    errno = ENAMETOOLONG;
    return -1;
  }
  unlink(name); /* of a process of this number that died */
  return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
}

int rtl_file_replace(const char *path, const void *bytes, size_t size, mode_t mode, int lazy) {
  char name[PATH_MAX];
  int fd = open_beside(path, name, sizeof name, mode);
  if (fd < 0) {
    return -1;
  }
  int error = 0;
  if (write_all(fd, bytes, size) != 0 || fchmod(fd, mode) != 0 || (!lazy && fsync(fd) != 0)) {
    error = errno;
  }
  if (close(fd) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && rename(name, path) != 0) {
    error = errno;
  }
  if (error != 0) {
    unlink(name);
    errno = error;
    return -1;
  }
  return lazy ? 0 : rtl_file_sync_folder(path);
}

int rtl_file_lock(const char *path, const char *info, size_t size) {
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return -1;
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 || ftruncate(fd, 0) != 0 ||
      write_all(fd, info, size) != 0) {
    return fail_closed(fd, errno);
  }
  return fd;
}

void rtl_file_unlock(int fd) {
  if (ftruncate(fd, 0) != 0) {
    /* then it keeps the name of a holder that has gone; the lock itself ends with the close */
  }
  close(fd);
}
