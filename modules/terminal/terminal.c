#include "terminal/terminal.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

int rtl_terminal_is(int fd) {
  return isatty(fd);
}

int rtl_terminal_columns(int fd) {
  struct winsize size;
  return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int rtl_terminal_write(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t put = write(fd, bytes, size);
    if (put > 0) {
      bytes += put;
      size -= (size_t)put;
    } else if (put < 0 && errno == EAGAIN) {
      struct pollfd wait = {.fd = fd, .events = POLLOUT};
      poll(&wait, 1, -1); /* a signal ends it early; then we just try again */
    } else if (put < 0 && errno != EINTR) {
      return -1;
    }
  }
  return 0;
}
