#include "secret/secret.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct rtl_secret *rtl_secret_new(size_t size) {
  if (size > SIZE_MAX / 2) {
    return NULL;
  }
  struct rtl_secret *secret = calloc(1, sizeof *secret + size + 1);
  if (secret != NULL) {
    secret->size = size;
  }
  return secret;
}

void rtl_wipe(void *bytes, size_t size) {
  if (size > 0) {
    explicit_bzero(bytes, size);
  }
}

void rtl_secret_free(struct rtl_secret *secret) {
  if (secret != NULL) {
    rtl_wipe(secret->bytes, secret->size);
    free(secret);
  }
}

int rtl_same_bytes(const char *a, size_t a_size, const char *b, size_t b_size) {
  unsigned char differ = a_size != b_size;
  for (size_t i = 0; i < a_size && b_size > 0; i++) {
    differ |= (unsigned char)(a[i] ^ b[i % b_size]);
  }
  return differ == 0;
}
