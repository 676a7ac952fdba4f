/* JSON text to a tree and back, on cJSON, exact to 64-bit integers and to NULs inside strings.
 * Pure C.
 *
 * cJSON keeps numbers as doubles, ends strings at a NUL and lets some malformed text pass. So the
 * text is scanned first: the scan refuses what cJSON would take, and notes the exact value of each
 * number and the length of each string (keys too) in document order. Who walks the tree in that
 * order takes one note for each of them. */
#ifndef RTL_JSON_H
#define RTL_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_MAX_DEPTH = 256 };

enum json_kind { JSON_INTEGER, JSON_FLOAT, JSON_STRING };

struct json_note {
  enum json_kind kind;
  union {
    int64_t integer;
    double number;
    size_t length; /* of a string, decoded */
  } as;
};

struct json_doc {
  cJSON *root;
  struct json_note *notes;
  size_t count;
};

struct json_error {
  const char *message; /* static text */
  size_t line, column; /* from 1; column in bytes */
};

/* Parses all of `text` (borrowed; need not end in NUL) into `doc`, which the caller frees.
 * 1, or 0 with `error` filled and nothing to free. */
int json_parse(const char *text, size_t size, struct json_doc *doc, struct json_error *error);

/* Frees what json_parse made; fine on a zeroed or freed doc. */
void json_free(struct json_doc *doc);

/* The first stage alone: checks tokens, depth and UTF-8, and fills doc->notes. As json_parse. */
int json_scan(const char *text, size_t size, struct json_doc *doc, struct json_error *error);

enum { JSON_NUMBER_SIZE = 32 };

/* Writes a number as text into `out` (JSON_NUMBER_SIZE bytes). json_print_float: integral values
 * below 2^53 without a fraction, else the shortest text that reads back the same; 0 if it is no
 * finite number. */
void json_print_integer(int64_t value, char *out);
int json_print_float(double value, char *out);

/* Whether `bytes` can be handed to cJSON as they are: valid UTF-8 and no NUL. Borrows. */
int json_is_plain(const char *bytes, size_t size);

/* A quoted JSON string of any bytes, with U+FFFD for each byte that is not UTF-8; malloc'ed, given
 * to the caller; NULL when out of memory. */
char *json_quote(const char *bytes, size_t size);

/* cJSON's tabs to two spaces for each level, one after a colon. Malloc'ed, given to the caller. */
char *json_indent(const char *text);

/* How many bytes the UTF-8 sequence at `at` has, or 0 if it is none (overlong, surrogate, cut). */
size_t json_utf8(const char *at, const char *end);

#endif
