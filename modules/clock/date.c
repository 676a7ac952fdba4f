#include "clock/date.h"

#include <string.h>

enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, PARTS };

static int is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Reads a number of that many digits; 0: they aren't there. */
static int read_number(const char **at, int digits, int *out) {
  *out = 0;
  for (; digits > 0; digits--, ++*at) {
    if (!is_digit(**at)) {
      return 0;
    }
    *out = *out * 10 + (**at - '0');
  }
  return 1;
}

static int is_one_of(char c, const char *set) {
  return c != '\0' && strchr(set, c) != NULL;
}

static int read_parts(const char **at, int parts[PARTS]) {
  static const char *const before[PARTS] = {"", "-", "-", "Tt ", ":", ":"};
  for (int i = 0; i < PARTS; i++) {
    if (is_one_of(**at, before[i])) {
      ++*at;
    } else if (i == HOUR) { /* all others may be left out */
      return 0;
    }
    if (!read_number(at, i == YEAR ? 4 : 2, &parts[i])) {
      return 0;
    }
  }
  return 1;
}

static int read_fraction(const char **at, struct rtl_date *out) {
  if (**at != '.') {
    return 1;
  }
  out->fraction = *at;
  do {
    ++*at;
  } while (is_digit(**at));
  out->size = (size_t)(*at - out->fraction);
  return out->size > 1;
}

/* Z, or by how much the text is ahead of UTC. */
static int read_zone(const char **at, int *ahead) {
  int hours, minutes, sign = **at == '-' ? -1 : 1;
  *ahead = 0;
  if (is_one_of(**at, "Zz")) {
    ++*at;
    return 1;
  }
  if (!is_one_of(**at, "+-")) {
    return 0;
  }
  ++*at;
  if (!read_number(at, 2, &hours)) {
    return 0;
  }
  *at += **at == ':';
  if (!read_number(at, 2, &minutes)) {
    return 0;
  }
  *ahead = sign * (hours * 3600 + minutes * 60);
  return 1;
}

static int days_in(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar. Years begin in March, so that the leap
 * day is the last of its year, and are counted from -400, so that none is below zero. */
static int64_t days_of(int year, int month, int day) {
  int years = year + 400 - (month <= 2);
  int of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
  return years * INT64_C(365) + years / 4 - years / 100 + years / 400 + of_year - 719468 - 146097;
}

int rtl_date_parse(const char *text, size_t size, struct rtl_date *out) {
  const char *at = text;
  int part[PARTS], ahead;
  *out = (struct rtl_date){0};
  if (!read_parts(&at, part) || !read_fraction(&at, out) || !read_zone(&at, &ahead) ||
      at != text + size) {
    return 0;
  }
  if (part[MONTH] < 1 || part[MONTH] > 12 || part[DAY] < 1 ||
      part[DAY] > days_in(part[YEAR], part[MONTH]) || part[HOUR] > 23 || part[MINUTE] > 59 ||
      part[SECOND] > 60) {
    return 0;
  }
  int of_day = part[HOUR] * 3600 + part[MINUTE] * 60 + part[SECOND];
  out->seconds = days_of(part[YEAR], part[MONTH], part[DAY]) * 86400 + of_day - ahead;
  return 1;
}
