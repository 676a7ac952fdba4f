#include "secret/secret.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct rtl_secret *living;
static uint64_t last_id;

struct rtl_secret *rtl_secret_new(size_t size) {
  if (size > SIZE_MAX / 2) {
    return NULL;
  }
  struct rtl_secret *secret = calloc(1, sizeof *secret + size + 1);
  if (secret != NULL) {
    secret->size = size;
    secret->id = ++last_id;
    secret->next = living;
    if (living != NULL) {
      living->previous = secret;
    }
    living = secret;
  }
  return secret;
}

void rtl_wipe(void *bytes, size_t size) {
  if (size > 0) {
    explicit_bzero(bytes, size);
  }
}

void rtl_secret_free(struct rtl_secret *secret) {
  if (secret == NULL) {
    return;
  }
  if (secret->previous != NULL) {
    secret->previous->next = secret->next;
  } else {
    living = secret->next;
  }
  if (secret->next != NULL) {
    secret->next->previous = secret->previous;
  }
  rtl_wipe(secret->bytes, secret->size);
  free(secret);
}

int rtl_same_bytes(const char *a, size_t a_size, const char *b, size_t b_size) {
  unsigned char differ = a_size != b_size;
  for (size_t i = 0; i < a_size && b_size > 0; i++) {
    differ |= (unsigned char)(a[i] ^ b[i % b_size]);
  }
  return differ == 0;
}

/* Sets covered[i] for each byte of an occurrence; makes `covered` when it finds the first one. */
static int cover(const char *text, size_t size, const struct rtl_secret *secret, char **covered) {
  const char *end = text + size;
  for (const char *at = text; at < end; at++) {
    at = memmem(at, (size_t)(end - at), secret->bytes, secret->size);
    if (at == NULL) {
      break;
    }
    if (*covered == NULL && (*covered = calloc(1, size)) == NULL) {
      return 0;
    }
    memset(*covered + (at - text), 1, secret->size);
  }
  return 1;
}

static char *replace(const char *text, size_t size, const char *covered, const char *mark,
                     size_t *out_size) {
  size_t length = strlen(mark);
  char *out = malloc(size * (length > 0 ? length : 1) + 1);
  size_t used = 0;
  for (size_t i = 0; out != NULL && i < size; i++) {
    if (!covered[i]) {
      out[used++] = text[i];
    } else if (i == 0 || !covered[i - 1]) {
      memcpy(out + used, mark, length);
      used += length;
    }
  }
  *out_size = out != NULL ? used : 1;
  return out;
}

char *rtl_secrets_mask(const char *text, size_t size, const char *mark, size_t *out_size) {
  char *covered = NULL;
  int complete = 1;
  *out_size = 0;
  for (const struct rtl_secret *at = living; at != NULL && complete; at = at->next) {
    if (at->size >= RTL_SECRET_SHORT && at->size <= size) {
      complete = cover(text, size, at, &covered);
    }
  }
  char *out = NULL;
  if (!complete) {
    *out_size = 1;
  } else if (covered != NULL) {
    out = replace(text, size, covered, mark, out_size);
  }
  free(covered);
  return out;
}
