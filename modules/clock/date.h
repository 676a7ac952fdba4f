/* Dates as services write them. */
#ifndef RTL_DATE_H
#define RTL_DATE_H

#include <stddef.h>
#include <stdint.h>

struct rtl_date {
  int64_t seconds;      /* since 1970, UTC */
  const char *fraction; /* ".25", in the text; NULL: there is none */
  size_t size;          /* of the fraction */
};

/* Reads an RFC 3339 date, or the form of AWS without dashes and colons. `text` (borrowed) ends with
 * a NUL. 0: it is none. */
int rtl_date_parse(const char *text, size_t size, struct rtl_date *out);

#endif
