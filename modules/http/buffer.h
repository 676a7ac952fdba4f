/* Bytes: borrowed, and growing. */
#ifndef RTL_HTTP_BUFFER_H
#define RTL_HTTP_BUFFER_H

#include <stddef.h>

/* Borrowed bytes. */
struct rtl_span {
  const char *bytes;
  size_t size;
};

/* Growing memory, wiped when it moves or ends; zeroed is empty. */
struct rtl_buffer {
  char *bytes;
  size_t size, capacity;
};

/* Appends a copy. -1: no memory, nothing changed. */
int rtl_buffer_add(struct rtl_buffer *buffer, const char *bytes, size_t size);
void rtl_buffer_free(struct rtl_buffer *buffer);

#endif
