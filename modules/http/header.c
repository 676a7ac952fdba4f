/* Request headers, as libcurl wants them. */
#include "http/http.h"

#include "secret/secret.h"

#include <stdlib.h>
#include <string.h>

static int is_token(struct rtl_span name) {
  for (size_t i = 0; i < name.size; i++) {
    unsigned char c = (unsigned char)name.bytes[i];
    if (c <= ' ' || c >= 127 || strchr("\"(),/:;<=>?@[\\]{}", c) != NULL) {
      return 0;
    }
  }
  return name.size > 0;
}

/* No line ends and no NUL: a value can't become another header. */
static int is_value(struct rtl_span value) {
  for (size_t i = 0; i < value.size; i++) {
    if (value.bytes[i] == '\r' || value.bytes[i] == '\n' || value.bytes[i] == '\0') {
      return 0;
    }
  }
  return 1;
}

static int append(struct curl_slist **list, char *line) {
  struct curl_slist *grown = rtl_curl.curl_slist_append(*list, line);
  if (grown == NULL) {
    return -1;
  }
  *list = grown;
  return 0;
}

int rtl_http_header(struct curl_slist **list, struct rtl_span name, struct rtl_span value) {
  if (!is_token(name) || !is_value(value)) {
    return -2;
  }
  size_t size = name.size + value.size + 3;
  char *line = malloc(size);
  if (line == NULL) {
    return -1;
  }
  memcpy(line, name.bytes, name.size);
  if (value.size == 0) { /* libcurl's spelling of: not this header; an empty value */
    memcpy(line + name.size, value.bytes == NULL ? ":" : ";", 2);
  } else {
    memcpy(line + name.size, ": ", 2);
    memcpy(line + name.size + 2, value.bytes, value.size);
    line[name.size + 2 + value.size] = '\0';
  }
  int result = append(list, line);
  rtl_wipe(line, size);
  free(line);
  return result;
}

void rtl_http_free_headers(struct curl_slist *list) {
  for (struct curl_slist *at = list; at != NULL; at = at->next) {
    rtl_wipe(at->data, strlen(at->data));
  }
  if (list != NULL) {
    rtl_curl.curl_slist_free_all(list);
  }
}
