/* Bytes that grow and are wiped, percent-encoding, the credential scope. */
#include "crypto/sigv4.h"
#include "secret/secret.h"

#include <stdlib.h>
#include <string.h>

void sigv4_buffer_init(struct sigv4_buffer *buffer) {
  buffer->bytes = buffer->first;
  buffer->size = 0;
  buffer->capacity = sizeof buffer->first;
}

void sigv4_buffer_free(struct sigv4_buffer *buffer) {
  rtl_wipe(buffer->bytes, buffer->size);
  if (buffer->bytes != buffer->first) {
    free(buffer->bytes);
  }
  sigv4_buffer_init(buffer);
}

/* Never realloc: the old bytes must be wiped. */
int sigv4_grow(struct sigv4_buffer *buffer, size_t more) {
  size_t capacity = buffer->capacity * 2 + more;
  char *bytes = malloc(capacity);
  if (bytes == NULL) {
    return 0;
  }
  size_t size = buffer->size;
  memcpy(bytes, buffer->bytes, size);
  sigv4_buffer_free(buffer);
  buffer->bytes = bytes;
  buffer->size = size;
  buffer->capacity = capacity;
  return 1;
}

int sigv4_append_text(struct sigv4_buffer *buffer, const char *text) {
  return sigv4_append(buffer, text, strlen(text));
}

static int is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

static int append_escaped(struct sigv4_buffer *out, char c) {
  unsigned char byte = (unsigned char)c;
  char escaped[3] = {'%', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 15]};
  return sigv4_append(out, escaped, 3);
}

/* Where the bytes from `i` on that stay as they are end. */
static size_t end_of_run(struct sigv4_text text, size_t i, int keep_slash) {
  while (i < text.size && (is_unreserved(text.bytes[i]) || (keep_slash && text.bytes[i] == '/'))) {
    i++;
  }
  return i;
}

int sigv4_is_plain(struct sigv4_text text, int keep_slash) {
  return end_of_run(text, 0, keep_slash) == text.size;
}

int sigv4_encode(struct sigv4_buffer *out, struct sigv4_text text, int keep_slash) {
  for (size_t i = 0; i < text.size; i++) {
    size_t run = i;
    i = end_of_run(text, i, keep_slash);
    if (!sigv4_append(out, text.bytes + run, i - run)) {
      return 0;
    }
    if (i < text.size && !append_escaped(out, text.bytes[i])) {
      return 0;
    }
  }
  return 1;
}

int sigv4_append_scope(struct sigv4_buffer *out, const struct sigv4_request *request) {
  return sigv4_append(out, request->time.bytes, 8) && sigv4_append(out, "/", 1) &&
         sigv4_append(out, request->region.bytes, request->region.size) &&
         sigv4_append(out, "/", 1) &&
         sigv4_append(out, request->service.bytes, request->service.size) &&
         sigv4_append_text(out, "/aws4_request");
}
