#include "http/header.h"

#include "secret/secret.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A header with its line in one piece of memory. libcurl reads the list only. */
struct header {
  struct curl_slist link; /* first */
  char line[];
};

static int is_token(struct rtl_span name) {
  for (size_t i = 0; i < name.size; i++) {
    unsigned char c = (unsigned char)name.bytes[i];
    if (c >= 127 || !(isalnum(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL))) {
      return 0;
    }
  }
  return name.size > 0;
}

/* No line ends and no NUL: a value can't become another header. */
static int is_value(struct rtl_span value) {
  return value.size == 0 ||
         (memchr(value.bytes, '\r', value.size) == NULL &&
          memchr(value.bytes, '\n', value.size) == NULL &&
          memchr(value.bytes, '\0', value.size) == NULL);
}

/* Appends the line that the parts make. */
static int append(struct rtl_headers *headers, struct rtl_span name, const char *between,
                  struct rtl_span value) {
  size_t middle = strlen(between), size = name.size + middle + value.size;
  struct header *header = malloc(sizeof *header + size + 1);
  if (header == NULL) {
    return -1;
  }
  header->link = (struct curl_slist){.data = header->line};
  memcpy(header->line, name.bytes, name.size);
  memcpy(header->line + name.size, between, middle);
  if (value.size > 0) {
    memcpy(header->line + name.size + middle, value.bytes, value.size);
  }
  header->line[size] = '\0';
  *(headers->last != NULL ? &headers->last->next : &headers->first) = &header->link;
  headers->last = &header->link;
  return 0;
}

int rtl_headers_add(struct rtl_headers *headers, struct rtl_span name, struct rtl_span value) {
  if (!is_token(name) || !is_value(value)) {
    return -2;
  }
  return append(headers, name, value.size > 0 ? ": " : ";", value); /* ";": an empty value */
}

int rtl_headers_drop_unasked(struct rtl_headers *headers) {
  static const char *const unasked[] = {"Accept", "Content-Type", "Expect"};
  for (size_t i = 0; i < sizeof unasked / sizeof *unasked; i++) {
    struct rtl_span name = {unasked[i], strlen(unasked[i])};
    if (!rtl_headers_have(headers, name.bytes) &&
        append(headers, name, ":", (struct rtl_span){NULL, 0}) != 0) {
      return -1;
    }
  }
  return 0;
}

int rtl_headers_have(const struct rtl_headers *headers, const char *name) {
  size_t size = strlen(name);
  for (const struct curl_slist *at = headers->first; at != NULL; at = at->next) {
    if (strncasecmp(at->data, name, size) == 0 && strchr(":;", at->data[size]) != NULL) {
      return 1;
    }
  }
  return 0;
}

void rtl_headers_free(struct rtl_headers *headers) {
  for (struct curl_slist *at = headers->first, *next; at != NULL; at = next) {
    next = at->next;
    rtl_wipe(at->data, strlen(at->data));
    free(at);
  }
  *headers = (struct rtl_headers){0};
}
