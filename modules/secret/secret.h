/* Bytes that are wiped when they are freed. Pure C; the Lua side is lsecret.h. */
#ifndef RTL_SECRET_H
#define RTL_SECRET_H

#include <stddef.h>

struct rtl_secret {
  size_t size;
  char bytes[]; /* size bytes and one NUL, which is not counted */
};

/* A secret of `size` zero bytes, owned by the caller; NULL when out of memory. */
struct rtl_secret *rtl_secret_new(size_t size);

/* Wipes and frees; takes its argument. NULL is allowed. */
void rtl_secret_free(struct rtl_secret *secret);

/* Overwrites `size` bytes in a way that the compiler keeps. Borrows. */
void rtl_wipe(void *bytes, size_t size);

/* 1 if both hold the same bytes; the time depends on the lengths only. Borrows both. */
int rtl_same_bytes(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
