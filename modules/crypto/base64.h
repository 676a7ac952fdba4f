/* Hexadecimal, base64 and base64url, strict. Written here because OpenSSL's decoder skips what it
 * does not know and loading it for an encoding costs 2 ms. Pure C; all arguments are borrowed. */
#ifndef RTL_BASE64_H
#define RTL_BASE64_H

#include <stddef.h>

/* Writes size * 2 digits, lower case; no NUL. */
void hex_encode(const void *bytes, size_t size, char *out);

/* Writes size / 2 bytes; 0 if the text is not hexadecimal of even length. */
int hex_decode(const char *text, size_t size, char *out);

/* Room that base64_encode needs / the most that base64_decode writes. */
size_t base64_room(size_t size);
size_t base64_decoded_room(size_t size);

/* Returns the characters written. `url`: the alphabet with - and _, without padding. */
size_t base64_encode(const void *bytes, size_t size, char *out, int url);

/* 1 and the bytes written in `out_size`; 0 for a foreign character (white space, too), a wrong
 * length or bits left over. Padding is needed, or with `url` neither needed nor refused. */
int base64_decode(const char *text, size_t size, char *out, size_t *out_size, int url);

#endif
