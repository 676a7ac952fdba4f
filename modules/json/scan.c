/* The scan before the parse; json.h says why. */
#include "json/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct scan {
  const char *text, *at, *end;
  size_t depth, capacity;
  struct json_doc *doc;
  const char *problem; /* static text; NULL while all is well */
};

static int fail(struct scan *s, const char *problem) {
  s->problem = problem;
  return 0;
}

static int is_digit(const struct scan *s) {
  return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static int note(struct scan *s, struct json_note value) {
  struct json_doc *doc = s->doc;
  if (doc->count == s->capacity) {
    size_t capacity = s->capacity == 0 ? 64 : s->capacity * 2;
    struct json_note *grown = realloc(doc->notes, capacity * sizeof *grown);
    if (grown == NULL) {
      return fail(s, "not enough memory");
    }
    doc->notes = grown;
    s->capacity = capacity;
  }
  doc->notes[doc->count++] = value;
  return 1;
}

size_t json_utf8(const char *at, const char *end) {
  const unsigned char *p = (const unsigned char *)at;
  size_t left = (size_t)(end - at);
  if (left == 0) {
    return 0;
  }
  if (p[0] < 0x80) {
    return 1;
  }
  size_t size = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
  if (p[0] < 0xC2 || p[0] > 0xF4 || left < size) {
    return 0;
  }
  for (size_t i = 1; i < size; i++) {
    if ((p[i] & 0xC0) != 0x80) {
      return 0;
    }
  }
  int overlong = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
  int outside = (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF4 && p[1] > 0x8F);
  return overlong || outside ? 0 : size;
}

/* Four hexadecimal digits at `at`, or -1. */
static int hex4(const char *at, const char *end) {
  int value = 0;
  if (end - at < 4) {
    return -1;
  }
  for (int i = 0; i < 4; i++) {
    char c = at[i];
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

/* At the 'u' of an escape: passes it and its pair. The decoded length, or 0. */
static size_t scan_unicode(struct scan *s) {
  int unit = hex4(s->at + 1, s->end);
  if (unit < 0) {
    fail(s, "four hexadecimal digits expected after \\u");
    return 0;
  }
  s->at += 5;
  if (unit < 0xD800 || unit > 0xDFFF) {
    return unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
  }
  int paired = s->end - s->at >= 6 && s->at[0] == '\\' && s->at[1] == 'u';
  int low = paired ? hex4(s->at + 2, s->end) : -1;
  if (unit > 0xDBFF || low < 0xDC00 || low > 0xDFFF) {
    fail(s, "half of a surrogate pair");
    return 0;
  }
  s->at += 6;
  return 4;
}

/* After a backslash. The decoded length, or 0. */
static size_t scan_escape(struct scan *s) {
  if (s->at < s->end && *s->at == 'u') {
    return scan_unicode(s);
  }
  if (s->at == s->end || *s->at == '\0' || strchr("\"\\/bfnrt", *s->at) == NULL) {
    fail(s, "unknown escape in a string");
    return 0;
  }
  s->at++;
  return 1;
}

/* One character that is neither quote nor plain ASCII. Its decoded length, or 0. */
static size_t scan_special(struct scan *s) {
  if (*s->at == '\\') {
    s->at++;
    return scan_escape(s);
  }
  if ((unsigned char)*s->at < 0x20) {
    fail(s, "control character in a string");
    return 0;
  }
  size_t size = json_utf8(s->at, s->end);
  if (size == 0) {
    fail(s, "text is not UTF-8");
  }
  s->at += size;
  return size;
}

static int scan_string(struct scan *s) {
  size_t length = 0;
  const char *start = s->at++;
  for (;;) {
    const char *run = s->at;
    while (s->at < s->end && *s->at != '"' && *s->at != '\\' && (signed char)*s->at >= 0x20) {
      s->at++; /* bytes from 0x80 on are negative: scan_special looks at them */
    }
    length += (size_t)(s->at - run);
    if (s->at == s->end) {
      s->at = start;
      return fail(s, "string without an end");
    }
    if (*s->at == '"') {
      s->at++;
      return note(s, (struct json_note){JSON_STRING, {.length = length}});
    }
    size_t more = scan_special(s);
    if (more == 0) {
      return 0;
    }
    length += more;
  }
}

static void skip_digits(struct scan *s) {
  while (is_digit(s)) {
    s->at++;
  }
}

/* Passes a number by JSON's grammar. 1 if it has a fraction or an exponent, 0 if not, -1 if it is
 * malformed. */
static int number_form(struct scan *s) {
  int form = 0;
  s->at += *s->at == '-';
  const char *first = s->at;
  skip_digits(s);
  if (s->at == first || (*first == '0' && s->at - first > 1)) {
    return -1;
  }
  if (s->at < s->end && *s->at == '.') {
    form = 1;
    s->at++;
    if (!is_digit(s)) {
      return -1;
    }
    skip_digits(s);
  }
  if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
    form = 1;
    s->at++;
    s->at += s->at < s->end && (*s->at == '+' || *s->at == '-');
    if (!is_digit(s)) {
      return -1;
    }
    skip_digits(s);
  }
  return form;
}

static int scan_number(struct scan *s) {
  char copy[64];
  const char *start = s->at;
  int form = number_form(s);
  size_t size = (size_t)(s->at - start);
  if (form < 0 || size >= sizeof copy) {
    s->at = start;
    return fail(s, form < 0 ? "malformed number" : "number of more than 63 characters");
  }
  memcpy(copy, start, size);
  copy[size] = '\0';
  errno = 0;
  long long integer = form == 0 ? strtoll(copy, NULL, 10) : 0;
  if (form == 0 && errno == 0 && !(integer == 0 && copy[0] == '-')) {
    return note(s, (struct json_note){JSON_INTEGER, {.integer = integer}});
  }
  double number = strtod(copy, NULL);
  if (number - number != 0) {
    s->at = start;
    return fail(s, "number too large");
  }
  return note(s, (struct json_note){JSON_FLOAT, {.number = number}});
}

enum token { BAD, BETWEEN, STRING, NUMBER, OPEN, CLOSE };

/* What a byte begins outside of strings: white space, commas, colons and the letters of true, false
 * and null stand between. */
static const unsigned char tokens[256] = {
    [' '] = BETWEEN, ['\t'] = BETWEEN, ['\r'] = BETWEEN, ['\n'] = BETWEEN, [','] = BETWEEN,
    [':'] = BETWEEN, ['t'] = BETWEEN, ['r'] = BETWEEN, ['u'] = BETWEEN, ['e'] = BETWEEN,
    ['f'] = BETWEEN, ['a'] = BETWEEN, ['l'] = BETWEEN, ['s'] = BETWEEN, ['n'] = BETWEEN,
    ['"'] = STRING, ['-'] = NUMBER, ['0'] = NUMBER, ['1'] = NUMBER, ['2'] = NUMBER,
    ['3'] = NUMBER, ['4'] = NUMBER, ['5'] = NUMBER, ['6'] = NUMBER, ['7'] = NUMBER,
    ['8'] = NUMBER, ['9'] = NUMBER, ['['] = OPEN, ['{'] = OPEN, [']'] = CLOSE, ['}'] = CLOSE,
};

/* One token, or a byte between. cJSON checks how they follow each other. */
static int scan_token(struct scan *s) {
  switch (tokens[(unsigned char)*s->at]) {
    case STRING: return scan_string(s);
    case NUMBER: return scan_number(s);
    case BAD: return fail(s, "unexpected character");
    case OPEN:
      if (++s->depth > JSON_MAX_DEPTH) {
        return fail(s, "nested deeper than 256 levels");
      }
      break;
    case CLOSE: s->depth -= s->depth > 0; break;
    default: break;
  }
  s->at++;
  return 1;
}

static void place(const char *text, const char *at, struct json_error *error) {
  error->line = 1;
  const char *start = text;
  for (const char *p = text; p < at; p++) {
    if (*p == '\n') {
      error->line++;
      start = p + 1;
    }
  }
  error->column = (size_t)(at - start) + 1;
}

int json_scan(const char *text, size_t size, struct json_doc *doc, struct json_error *error) {
  struct scan s = {.text = text, .at = text, .end = text + size, .doc = doc};
  memset(doc, 0, sizeof *doc);
  while (s.at < s.end && scan_token(&s)) {
  }
  if (s.problem == NULL) {
    return 1;
  }
  place(text, s.at, error);
  error->message = s.problem;
  json_free(doc);
  return 0;
}

static int is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* cJSON says of a failed allocation that the text is wrong; so its allocations are watched. */
static int starved;

static void *watched_malloc(size_t size) {
  void *block = malloc(size);
  starved = starved || block == NULL;
  return block;
}

static cJSON *parse(const char *text, size_t size, const char **stop) {
  cJSON_Hooks watched = {watched_malloc, free};
  starved = 0;
  cJSON_InitHooks(&watched);
  cJSON *root = cJSON_ParseWithLengthOpts(text, size, stop, 0);
  cJSON_InitHooks(NULL);
  return root;
}

int json_parse(const char *text, size_t size, struct json_doc *doc, struct json_error *error) {
  const char *stop = text;
  if (!json_scan(text, size, doc, error)) {
    return 0;
  }
  doc->root = parse(text, size, &stop);
  const char *parsed = stop;
  while (doc->root != NULL && stop < text + size && is_space(*stop)) {
    stop++;
  }
  if (doc->root != NULL && stop == text + size) {
    return 1;
  }
  error->message = starved             ? "not enough memory"
                   : doc->root != NULL ? "text goes on after the value"
                   : size == 0       ? "no JSON: the text is empty"
                                     : "unexpected token, or the text is cut short";
  place(text, doc->root != NULL || parsed <= text + size ? stop : text, error);
  json_free(doc);
  return 0;
}

void json_free(struct json_doc *doc) {
  cJSON_Delete(doc->root);
  free(doc->notes);
  memset(doc, 0, sizeof *doc);
}
