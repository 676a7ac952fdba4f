/* The terminal: what it is, how wide, and writes that do not die with it. */
#ifndef RTL_TERMINAL_H
#define RTL_TERMINAL_H

#include <stddef.h>

/* 1 when the descriptor is a terminal. */
int rtl_terminal_is(int fd);

/* Its width, or 0 when it is no terminal or does not say. */
int rtl_terminal_columns(int fd);

/* Writes all of `bytes` (borrowed), waiting where the descriptor is non-blocking. 0, or -1 with
 * errno (EPIPE, EBADF: nobody reads). */
int rtl_terminal_write(int fd, const char *bytes, size_t size);

#endif
