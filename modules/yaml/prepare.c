/* What libyaml leaves to the reader of a stream: byte order marks inside it, and lines that look
 * like separators and are none. */
#include "yaml/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Three dashes and more text without a space: no separator to YAML, an error to kubectl. */
static const char *separator_problem(const char *line, const char *end) {
  if (end - line < 4 || memcmp(line, "---", 3) != 0 || strchr(" \t\r\n#", line[3]) != NULL) {
    return NULL;
  }
  return line[3] == '-' ? "four dashes or more are no document separator: write three"
                        : "text right after '---': a document separator stands alone";
}

static int is_separator(const char *line, const char *end) {
  return end - line >= 3 && (memcmp(line, "---", 3) == 0 || memcmp(line, "...", 3) == 0);
}

char *tree_prepare(const char *text, size_t *size, struct tree_error *error) {
  const char *end = text + *size;
  char *copy = malloc(*size + 1);
  char *to = copy;
  int starts = 1;
  size_t number = 1;
  if (copy == NULL) {
    *error = (struct tree_error){"not enough memory", 1, 1};
    return NULL;
  }
  for (const char *line = text; line < end; number++) {
    if (starts && end - line >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) {
      line += 3;
    }
    const char *next = memchr(line, '\n', (size_t)(end - line));
    next = next == NULL ? end : next + 1;
    const char *problem = separator_problem(line, next);
    if (problem != NULL) {
      *error = (struct tree_error){.line = number, .column = 1};
      snprintf(error->message, sizeof error->message, "%s", problem);
      free(copy);
      return NULL;
    }
    starts = is_separator(line, next);
    memcpy(to, line, (size_t)(next - line));
    to += next - line;
    line = next;
  }
  *size = (size_t)(to - copy);
  return copy;
}
