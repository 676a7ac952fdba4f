#include "http/head.h"

#include <string.h>

static int is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct rtl_span without_first(struct rtl_span span, size_t size) {
  return (struct rtl_span){span.bytes + size, span.size - size};
}

static struct rtl_span trimmed(struct rtl_span span) {
  while (span.size > 0 && is_blank(*span.bytes)) {
    span = without_first(span, 1);
  }
  while (span.size > 0 && is_blank(span.bytes[span.size - 1])) {
    span.size--;
  }
  return span;
}

int rtl_head_add(struct rtl_buffer *head, struct rtl_span line) {
  if (head->size > 0 && line.size > 0 && (*line.bytes == ' ' || *line.bytes == '\t')) {
    head->bytes[head->size - 1] = ' ';
    line = trimmed(line);
  }
  return rtl_buffer_add(head, line.bytes, line.size) != 0 ? -1 : rtl_buffer_add(head, "\n", 1);
}

/* Takes the next line out of `rest`; the size of a line that is missing is 0, too. */
static struct rtl_span take_line(struct rtl_span *rest) {
  const char *end = rest->size > 0 ? memchr(rest->bytes, '\n', rest->size) : NULL;
  struct rtl_span line = {rest->bytes, end != NULL ? (size_t)(end - rest->bytes) : 0};
  *rest = end != NULL ? without_first(*rest, line.size + 1) : (struct rtl_span){0};
  return line;
}

/* What follows the next blank. */
static struct rtl_span after_word(struct rtl_span text) {
  const char *blank = text.size > 0 ? memchr(text.bytes, ' ', text.size) : NULL;
  return blank != NULL ? without_first(text, (size_t)(blank - text.bytes) + 1)
                       : (struct rtl_span){"", 0};
}

struct rtl_span rtl_head_rest(const struct rtl_buffer *head, struct rtl_span *reason) {
  struct rtl_span rest = {head->bytes, head->size};
  *reason = after_word(after_word(take_line(&rest)));
  return rest;
}

static int is_header(struct rtl_span line, const char *colon) {
  return colon != NULL && colon > line.bytes && !is_blank(*line.bytes);
}

int rtl_head_next(struct rtl_span *rest, struct rtl_span *name, struct rtl_span *value) {
  while (rest->size > 0) {
    struct rtl_span line = take_line(rest);
    const char *colon = line.size > 0 ? memchr(line.bytes, ':', line.size) : NULL;
    if (is_header(line, colon)) {
      *name = (struct rtl_span){line.bytes, (size_t)(colon - line.bytes)};
      *value = trimmed(without_first(line, name->size + 1));
      return 1;
    }
  }
  return 0;
}
