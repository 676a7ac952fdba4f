/* What cJSON can't print exactly: numbers, NULs, bytes that are not UTF-8; and a calmer layout. */
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_print_integer(int64_t value, char *out) {
  snprintf(out, JSON_NUMBER_SIZE, "%" PRId64, value);
}

int json_print_float(double value, char *out) {
  if (value - value != 0) {
    return 0;
  }
  int small = value > -9007199254740992.0 && value < 9007199254740992.0;
  if (small && value == (double)(int64_t)value) {
    json_print_integer((int64_t)value, out);
    return 1;
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(out, JSON_NUMBER_SIZE, "%.*g", digits, value);
    if (strtod(out, NULL) == value) {
      break;
    }
  }
  return 1;
}

int json_is_plain(const char *bytes, size_t size) {
  const char *end = bytes + size;
  for (const char *at = bytes; at < end;) {
    size_t length = *at == '\0' ? 0 : json_utf8(at, end);
    if (length == 0) {
      return 0;
    }
    at += length;
  }
  return 1;
}

/* Writes the character at `at` as JSON to `to` and moves both on. At most 6 bytes. */
static void quote_one(const char **at, const char *end, char **to) {
  size_t length = json_utf8(*at, end);
  unsigned char c = (unsigned char)**at;
  if (length == 0) {
    memcpy(*to, "\xEF\xBF\xBD", 3);
    *to += 3;
    *at += 1;
  } else if (c == '"' || c == '\\') {
    *(*to)++ = '\\';
    *(*to)++ = (char)c;
    *at += 1;
  } else if (c < 0x20) {
    *to += sprintf(*to, "\\u%04x", c);
    *at += 1;
  } else {
    memcpy(*to, *at, length);
    *to += length;
    *at += length;
  }
}

char *json_quote(const char *bytes, size_t size) {
  const char *end = bytes + size;
  char *out = size > (SIZE_MAX - 3) / 6 ? NULL : malloc(size * 6 + 3);
  if (out == NULL) {
    return NULL;
  }
  char *to = out;
  *to++ = '"';
  while (bytes < end) {
    quote_one(&bytes, end, &to);
  }
  *to++ = '"';
  *to = '\0';
  return out;
}

/* A raw tab is layout: inside strings cJSON escapes it. */
char *json_indent(const char *text) {
  size_t size = strlen(text);
  char *out = malloc(size * 2 + 1);
  if (out == NULL) {
    return NULL;
  }
  char *to = out;
  for (const char *at = text; *at != '\0'; at++) {
    if (*at != '\t') {
      *to++ = *at;
    } else {
      *to++ = ' ';
      if (at[-1] != ':') {
        *to++ = ' ';
      }
    }
  }
  *to = '\0';
  return out;
}
