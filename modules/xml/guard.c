#include "xml/guard.h"

#include <string.h>

enum xml_units xml_units(const char *text, size_t size) {
  static const struct {
    const char *start;
    enum xml_units units;
  } known[] = {{"<", XML_BYTES},            {" ", XML_BYTES},       {"\t", XML_BYTES},
               {"\r", XML_BYTES},           {"\n", XML_BYTES},      {"\xef\xbb\xbf", XML_BYTES},
               {"\xff\xfe", XML_UTF16},     {"\xfe\xff", XML_UTF16}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    size_t length = strlen(known[i].start);
    int wide = known[i].units == XML_BYTES && size > 1 && text[1] == '\0';
    if (size >= length && memcmp(text, known[i].start, length) == 0 && !wide) {
      return known[i].units;
    }
  }
  return XML_NEITHER;
}

static int is_common(const char *text, size_t size, char what, size_t limit) {
  const char *end = text + size;
  for (size_t n = 0; n <= limit; n++) {
    text = memchr(text, what, (size_t)(end - text));
    if (text == NULL) {
      return 0;
    }
    text++;
  }
  return 1;
}

/* Behind the next `mark`, or at the end. */
static const char *skip(const char *at, const char *end, const char *mark) {
  const char *found = memmem(at, (size_t)(end - at), mark, strlen(mark));
  return found == NULL ? end : found + strlen(mark);
}

static int begins(const char *at, const char *end, const char *mark) {
  return (size_t)(end - at) >= strlen(mark) && memcmp(at, mark, strlen(mark)) == 0;
}

/* Counts the "=" outside of quotes up to the tag's end, to which it moves `at`. */
static size_t count_attributes(const char **at, const char *end) {
  size_t count = 0;
  for (char quote = '\0'; *at < end && (quote != '\0' || **at != '>'); ++*at) {
    char c = **at;
    if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else {
      count += c == '=';
    }
  }
  return count;
}

static int has_crowded_tag(const char *at, const char *end) {
  while ((at = memchr(at, '<', (size_t)(end - at))) != NULL) {
    if (begins(at, end, "<!--")) {
      at = skip(at + 4, end, "--"); /* a comment has no other */
    } else if (begins(at, end, "<![CDATA[")) {
      at = skip(at, end, "]]>");
    } else if (begins(at, end, "<?")) {
      at = skip(at, end, "?>");
    } else if (count_attributes(&at, end) > XML_ATTRIBUTES) {
      return 1;
    }
  }
  return 0;
}

int xml_is_crowded(const char *text, size_t size, enum xml_units units) {
  return is_common(text, size, '=', XML_ATTRIBUTES) &&
         (units == XML_UTF16 || has_crowded_tag(text, text + size));
}
