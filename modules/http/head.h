/* The head of an answer: its lines, each ended by '\n', the first one the status line. */
#ifndef RTL_HTTP_HEAD_H
#define RTL_HTTP_HEAD_H

#include "http/buffer.h"

/* Appends a line; one that starts with a blank goes on with the line before it. -1: no memory. */
int rtl_head_add(struct rtl_buffer *head, struct rtl_span line);

/* What follows the status line; *reason is "OK" of "HTTP/1.1 200 OK", or empty. Borrowed. */
struct rtl_span rtl_head_rest(const struct rtl_buffer *head, struct rtl_span *reason);

/* Takes the next header out of `rest`; 0 at its end. What is no header is skipped. The value has no
 * blanks around it. Borrowed. */
int rtl_head_next(struct rtl_span *rest, struct rtl_span *name, struct rtl_span *value);

#endif
