/* Bytes that are wiped when they are freed. Pure C; the Lua side is lsecret.h. */
#ifndef RTL_SECRET_H
#define RTL_SECRET_H

#include <stddef.h>
#include <stdint.h>

struct rtl_secret {
  struct rtl_secret *next, *previous; /* all that live, for rtl_secrets_mask */
  uint64_t id; /* no other secret of this process has or had it; from 1 */
  size_t size;
  char bytes[]; /* size bytes and one NUL, which is not counted */
};

/* A secret of `size` zero bytes, owned by the caller; NULL when out of memory. */
struct rtl_secret *rtl_secret_new(size_t size);

/* Wipes and frees; takes its argument. NULL is allowed. */
void rtl_secret_free(struct rtl_secret *secret);

/* Overwrites `size` bytes in a way that the compiler keeps. Borrows. */
void rtl_wipe(void *bytes, size_t size);

enum { RTL_SECRET_SHORT = 8 }; /* shorter ones are not looked for: they would hit plain words */

/* `text` with each stretch that is part of a living secret replaced by `mark`: malloc'ed, given to
 * the caller; NULL when nothing was found or (with *out_size = 1) when out of memory. Borrows. */
char *rtl_secrets_mask(const char *text, size_t size, const char *mark, size_t *out_size);

/* 1 if both hold the same bytes; the time depends on the lengths only. Borrows both. */
int rtl_same_bytes(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
