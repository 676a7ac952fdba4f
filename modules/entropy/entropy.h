/* Random bytes from the kernel. */
#ifndef RTL_ENTROPY_H
#define RTL_ENTROPY_H

#include <stddef.h>

/* Fills `bytes` (borrowed). 0, or -1 with errno; nothing is left half random. */
int rtl_entropy_fill(void *bytes, size_t size);

#endif
