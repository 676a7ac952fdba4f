#include "http/buffer.h"

#include "secret/secret.h"

#include <stdlib.h>
#include <string.h>

int rtl_buffer_add(struct rtl_buffer *buffer, const char *bytes, size_t size) {
  if (buffer->capacity - buffer->size < size) {
    size_t capacity = buffer->capacity < 4096 ? 4096 : buffer->capacity;
    while (capacity - buffer->size < size) {
      capacity *= 2;
    }
    char *grown = malloc(capacity);
    if (grown == NULL) {
      return -1;
    }
    struct rtl_buffer old = *buffer;
    if (old.size > 0) {
      memcpy(grown, old.bytes, old.size);
    }
    rtl_buffer_free(&old); /* not realloc, which would leave a copy behind */
    buffer->bytes = grown;
    buffer->capacity = capacity;
  }
  if (size > 0) {
    memcpy(buffer->bytes + buffer->size, bytes, size);
  }
  buffer->size += size;
  return 0;
}

void rtl_buffer_free(struct rtl_buffer *buffer) {
  if (buffer->bytes != NULL) {
    rtl_wipe(buffer->bytes, buffer->size);
    free(buffer->bytes);
  }
  *buffer = (struct rtl_buffer){0};
}
