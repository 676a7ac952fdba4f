#include "crypto/base64.h"

void hex_encode(const void *bytes, size_t size, char *out) {
  const unsigned char *from = bytes;
  for (size_t i = 0; i < size; i++) {
    out[2 * i] = "0123456789abcdef"[from[i] >> 4];
    out[2 * i + 1] = "0123456789abcdef"[from[i] & 15];
  }
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

int hex_decode(const char *text, size_t size, char *out) {
  for (size_t i = 0; i + 1 < size; i += 2) {
    int high = hex_digit(text[i]);
    int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) {
      return 0;
    }
    out[i / 2] = (char)(high * 16 + low);
  }
  return size % 2 == 0;
}

size_t base64_room(size_t size) {
  return (size / 3 + 1) * 4;
}

size_t base64_decoded_room(size_t size) {
  return (size / 4 + 1) * 3;
}

size_t base64_encode(const void *bytes, size_t size, char *out, int url) {
  const char *alphabet = url
                             ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                             : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *from = bytes;
  char *to = out;
  for (; size > 0; from += 3) {
    size_t n = size < 3 ? size : 3;
    unsigned long bits = (unsigned long)from[0] << 16;
    bits |= n > 1 ? (unsigned long)from[1] << 8 : 0;
    bits |= n > 2 ? (unsigned long)from[2] : 0;
    for (size_t i = 0; i < 4; i++) {
      if (i <= n) {
        *to++ = alphabet[bits >> (18 - 6 * i) & 63];
      } else if (!url) {
        *to++ = '=';
      }
    }
    size -= n;
  }
  return (size_t)(to - out);
}

static int base64_digit(char c, int url) {
  if (c >= 'A' && c <= 'Z') {
    return c - 'A';
  }
  if (c >= 'a' && c <= 'z') {
    return c - 'a' + 26;
  }
  if (c >= '0' && c <= '9') {
    return c - '0' + 52;
  }
  return c == (url ? '-' : '+') ? 62 : c == (url ? '_' : '/') ? 63 : -1;
}

int base64_decode(const char *text, size_t size, char *out, size_t *out_size, int url) {
  size_t digits = size;
  while (digits > 0 && size - digits < 2 && text[digits - 1] == '=') {
    digits--;
  }
  int padded = size % 4 == 0;
  if (digits % 4 == 1 || (!padded && !(url && digits == size))) {
    return 0;
  }
  char *to = out;
  unsigned long bits = 0;
  for (size_t i = 0; i < digits; i++) {
    int digit = base64_digit(text[i], url);
    if (digit < 0) {
      return 0;
    }
    bits = (bits << 6 | (unsigned long)digit) & 0xFFFFFF;
    if (i % 4 > 0) {
      *to++ = (char)(bits >> (6 - 2 * (i % 4)));
    }
  }
  unsigned long left = digits % 4 == 2 ? bits & 15 : digits % 4 == 3 ? bits & 3 : 0;
  *out_size = (size_t)(to - out);
  return left == 0;
}
