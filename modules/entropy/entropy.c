#include "entropy/entropy.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

int rtl_entropy_fill(void *bytes, size_t size) {
  unsigned char *at = bytes;
  size_t left = size;
  while (left > 0) {
    ssize_t got = getrandom(at, left, 0);
    if (got < 0 && errno != EINTR) {
      memset(bytes, 0, size);
      return -1;
    }
    if (got > 0) {
      at += got;
      left -= (size_t)got;
    }
  }
  return 0;
}
