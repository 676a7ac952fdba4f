/* What plain scalars mean. The rules are those of go-yaml, through which kubectl and helm read:
 * YAML 1.1 booleans, octal by a leading zero, underscores in numbers, no sexagesimal, no dates. */
#include "yaml/yaml.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_SIZE = 400 }; /* longer texts are strings */

static int is_one_of(const char *text, size_t size, const char *const *words) {
  for (; *words != NULL; words++) {
    if (strlen(*words) == size && memcmp(text, *words, size) == 0) {
      return 1;
    }
  }
  return 0;
}

static int resolve_word(const char *text, size_t size, struct tree_node *node,
                        const char **warning) {
  static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
  static const char *const yes[] = {"true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on",
                                    "On", "ON", NULL};
  static const char *const no[] = {"false", "False", "FALSE", "n", "N", "no", "No", "NO", "off",
                                   "Off", "OFF", NULL};
  if (is_one_of(text, size, nulls)) {
    node->kind = TREE_NULL;
    return 1;
  }
  node->as.truth = is_one_of(text, size, yes);
  if (!node->as.truth && !is_one_of(text, size, no)) {
    return 0;
  }
  node->kind = TREE_BOOL;
  if (tolower((unsigned char)text[0]) != 't' && tolower((unsigned char)text[0]) != 'f') {
    *warning = "read as a boolean, as kubectl does: quote it if it is a string";
  }
  return 1;
}

static int is_outside(const char *text, size_t size) {
  static const char *const words[] = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
                                      "-.Inf", "-.INF", ".nan", ".NaN", ".NAN", NULL};
  return is_one_of(text, size, words);
}

/* Copies without underscores; 0 if it does not fit. */
static int strip(const char *text, size_t size, char *out) {
  size_t used = 0;
  for (size_t i = 0; i < size; i++) {
    if (text[i] != '_') {
      if (used + 1 >= NUMBER_SIZE || text[i] == '\0') {
        return 0;
      }
      out[used++] = text[i];
    }
  }
  out[used] = '\0';
  return 1;
}

/* The base that a number's prefix names; moves `digits` behind it. */
static int base_of(const char **digits) {
  const char *at = *digits;
  if (at[0] != '0' || at[1] == '\0') {
    return 10;
  }
  char letter = (char)tolower((unsigned char)at[1]);
  int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  *digits = at + (base == 0 ? 1 : 2);
  return base == 0 ? 8 : base;
}

static int are_digits(const char *digits, int base) {
  for (const char *at = digits; *at != '\0'; at++) {
    int c = tolower((unsigned char)*at);
    int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
    if (value >= base) {
      return 0;
    }
  }
  return *digits != '\0';
}

/* -1: an integer that 64 bits can't hold. */
static int resolve_integer(const char *number, struct tree_node *node) {
  char copy[NUMBER_SIZE + 1];
  int negative = number[0] == '-';
  const char *digits = number + (number[0] == '-' || number[0] == '+');
  int base = base_of(&digits);
  if (!are_digits(digits, base)) {
    return 0;
  }
  copy[0] = negative ? '-' : '+';
  strcpy(copy + 1, digits);
  errno = 0;
  node->as.integer = strtoll(copy, NULL, base);
  node->kind = TREE_INTEGER;
  return errno == 0 ? 1 : -1;
}

static const char *skip_digits(const char *at) {
  while (*at >= '0' && *at <= '9') {
    at++;
  }
  return at;
}

/* [-+]? ( .d+ | d+ (.d*)? ) ( [eE] [-+]? d+ )?   and no more. */
static int is_float(const char *number) {
  const char *at = number + (number[0] == '-' || number[0] == '+');
  const char *whole = skip_digits(at);
  if (whole > at) {
    at = *whole == '.' ? skip_digits(whole + 1) : whole;
  } else if (at[0] == '.' && skip_digits(at + 1) > at + 1) {
    at = skip_digits(at + 1);
  } else {
    return 0;
  }
  if (*at == 'e' || *at == 'E') {
    at += 1 + (at[1] == '-' || at[1] == '+');
    const char *end = skip_digits(at);
    return end > at && *end == '\0';
  }
  return *at == '\0';
}

static int resolve_float(const char *number, struct tree_node *node) {
  if (!is_float(number)) {
    return 0;
  }
  double value = strtod(number, NULL);
  if (value - value != 0) {
    return 0; /* too large: a string, as in Go */
  }
  node->as.number = value;
  node->kind = TREE_FLOAT;
  if (strpbrk(number, ".eE") == NULL && value < 9007199254740992.0 && value > -9007199254740992.0) {
    node->as.integer = (int64_t)value; /* 08 and 09: no octal, so decimal */
    node->kind = TREE_INTEGER;
  }
  return 1;
}

/* A number that was likely meant as a commit id, a tag or a file mode. */
static const char *number_warning(const char *number) {
  const char *end = skip_digits(number);
  if (end > number && (*end == 'e' || *end == 'E') && *skip_digits(end + 1) == '\0') {
    return "read as a number, looks like a commit id: quote it";
  }
  if (number[0] == '0' && end - number > 1 && *end == '\0') {
    return strpbrk(number, "89") != NULL ? "read as a decimal number: quote it if it is a string"
                                         : "read as an octal number: quote it if it is a string";
  }
  return NULL;
}

static int resolve_number(const char *text, size_t size, struct tree_node *node,
                          const char **warning) {
  char number[NUMBER_SIZE];
  if (text[0] == '.') { /* no underscores here: Go's parser sees it as it is */
    return memchr(text, '_', size) == NULL && strip(text, size, number) &&
           resolve_float(number, node);
  }
  if (!strip(text, size, number)) {
    return 0;
  }
  int integer = resolve_integer(number, node);
  if (integer < 0) {
    *warning = "an integer beyond 64 bits: kept as text";
    return 0;
  }
  if (integer == 0 && !resolve_float(number, node)) {
    return 0;
  }
  *warning = number_warning(number);
  return 1;
}

int tree_resolve(const char *text, size_t size, struct tree_node *node, const char **warning) {
  *warning = NULL;
  if (resolve_word(text, size, node, warning)) {
    return 1;
  }
  if (is_outside(text, size)) {
    return TREE_OUTSIDE;
  }
  if (strchr("+-.0123456789", text[0]) != NULL && text[0] != '\0' &&
      resolve_number(text, size, node, warning)) {
    return 1;
  }
  node->kind = TREE_STRING;
  node->as.string.bytes = text;
  node->as.string.size = size;
  return 1;
}

int tree_is_plain(const char *text, size_t size) {
  static const char *const words[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null",
                                      "nan", "inf", NULL};
  if (size == 0 || (!isalpha((unsigned char)text[0]) && text[0] != '/')) {
    return 0;
  }
  for (size_t i = 0; words[i] != NULL; i++) {
    if (strlen(words[i]) == size && strncasecmp(text, words[i], size) == 0) {
      return 0;
    }
  }
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)text[i];
    int last = i + 1 == size;
    if (!isalnum(c) && (c == '\0' || strchr("_./:@+=-* ()", c) == NULL)) {
      return 0;
    }
    if ((c == ' ' && last) || (c == ':' && (last || text[i + 1] == ' '))) {
      return 0;
    }
  }
  return 1;
}
