/* Stage 1: the canonical request. The rules are AWS'; test/vectors/sigv4 holds each of them. */
#include "crypto/base64.h"
#include "crypto/crypto.h"
#include "crypto/sigv4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int append(struct sigv4_buffer *buffer, struct sigv4_text text) {
  return sigv4_append(buffer, text.bytes, text.size);
}

/* The byte that %XX at `i` stands for, or -1. */
static int escaped_byte(struct sigv4_text text, size_t i) {
  char byte;
  if (text.bytes[i] != '%' || text.size - i < 3 || !hex_decode(text.bytes + i + 1, 2, &byte)) {
    return -1;
  }
  return (unsigned char)byte;
}

/* Appends a wire text in its one encoded form: escapes are undone and made anew, raw bytes that
 * need it are escaped. */
static int reencode(struct sigv4_buffer *out, struct sigv4_text wire) {
  for (size_t i = 0; i < wire.size; i++) {
    int byte = escaped_byte(wire, i);
    char c = byte < 0 ? wire.bytes[i] : (char)byte;
    i += byte < 0 ? 0 : 2;
    if (!sigv4_encode(out, (struct sigv4_text){&c, 1}, 0)) {
      return 0;
    }
  }
  return 1;
}

/* S3's path: as on the wire, with only raw bytes escaped. */
static int append_once(struct sigv4_buffer *out, struct sigv4_text path) {
  for (size_t i = 0; i < path.size; i++) {
    size_t size = escaped_byte(path, i) < 0 ? 1 : 3;
    struct sigv4_text part = {path.bytes + i, size};
    if (!(size == 3 ? append(out, part) : sigv4_encode(out, part, 1))) {
      return 0;
    }
    i += size - 1;
  }
  return 1;
}

static int fail(struct sigv4 *s, const char *problem) {
  s->problem = problem;
  return 0;
}

static int no_memory(struct sigv4 *s) {
  return fail(s, "not enough memory");
}

static int is_one_of(char c, const char *few) {
  while (*few != '\0' && *few != c) {
    few++;
  }
  return *few != '\0';
}

/* Cuts `text` before the first byte of `stops`; what is left goes to `rest`. */
static struct sigv4_text cut(struct sigv4_text text, const char *stops, struct sigv4_text *rest) {
  size_t i = 0;
  while (i < text.size && !is_one_of(text.bytes[i], stops)) {
    i++;
  }
  *rest = (struct sigv4_text){text.bytes + i, text.size - i};
  return (struct sigv4_text){text.bytes, i};
}

static int starts_with(struct sigv4_text text, const char *prefix) {
  size_t size = strlen(prefix);
  return text.size >= size && strncasecmp(text.bytes, prefix, size) == 0;
}

static int ends_with(struct sigv4_text text, const char *suffix) {
  size_t size = strlen(suffix);
  return text.size >= size && memcmp(text.bytes + text.size - size, suffix, size) == 0;
}

static int split_url(struct sigv4 *s, struct sigv4_text url) {
  struct sigv4_text rest;
  int https = starts_with(url, "https://");
  if (!https && !starts_with(url, "http://")) {
    return fail(s, "a URL that starts with https:// or http:// expected");
  }
  size_t scheme = https ? 8 : 7;
  s->host = cut((struct sigv4_text){url.bytes + scheme, url.size - scheme}, "/?#", &rest);
  s->origin = (struct sigv4_text){url.bytes, scheme + s->host.size};
  if (s->host.size == 0 || memchr(s->host.bytes, '@', s->host.size) != NULL) {
    return fail(s, "a URL with a host and without user information expected");
  }
  const char *standard = https ? ":443" : ":80";
  s->host.size -= ends_with(s->host, standard) ? strlen(standard) : 0;
  s->path = cut(rest, "?#", &rest);
  if (s->path.size == 0) {
    s->path = (struct sigv4_text){"/", 1};
  }
  s->query = cut(rest, "#", &rest);
  if (s->query.size > 0) {
    s->query.bytes++; /* the question mark */
    s->query.size--;
  }
  return 1;
}

static struct sigv4_pair *add_pair(struct sigv4_pairs *pairs) {
  if (pairs->count == pairs->capacity) {
    struct sigv4_pair *grown = malloc(pairs->capacity * 2 * sizeof *grown);
    if (grown == NULL) {
      return NULL;
    }
    memcpy(grown, pairs->items, pairs->count * sizeof *grown);
    if (pairs->items != pairs->first) {
      free(pairs->items);
    }
    pairs->items = grown;
    pairs->capacity *= 2;
  }
  return &pairs->items[pairs->count++];
}

static struct sigv4_text name_of(const struct sigv4 *s, const struct sigv4_pair *pair) {
  return (struct sigv4_text){s->arena.bytes + pair->name, pair->name_size};
}

static struct sigv4_text value_of(const struct sigv4 *s, const struct sigv4_pair *pair) {
  return (struct sigv4_text){s->arena.bytes + pair->value, pair->value_size};
}

static int compare(struct sigv4_text a, struct sigv4_text b) {
  int order = memcmp(a.bytes, b.bytes, a.size < b.size ? a.size : b.size);
  return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* Sorts by name, and by value if `values`; equal ones keep their order. Few items: insertion. */
static void sort(const struct sigv4 *s, struct sigv4_pairs *pairs, int values) {
  for (size_t i = 1; i < pairs->count; i++) {
    struct sigv4_pair moving = pairs->items[i];
    size_t to = i;
    for (; to > 0; to--) {
      const struct sigv4_pair *other = &pairs->items[to - 1];
      int order = compare(name_of(s, other), name_of(s, &moving));
      if (order == 0 && values) {
        order = compare(value_of(s, other), value_of(s, &moving));
      }
      if (order <= 0) {
        break;
      }
      pairs->items[to] = *other;
    }
    pairs->items[to] = moving;
  }
}

/* One query parameter in its encoded form; `wire` says that it is encoded already. */
static int add_parameter(struct sigv4 *s, struct sigv4_text name, struct sigv4_text value,
                         int wire) {
  struct sigv4_pair *pair = add_pair(&s->parameters);
  if (pair == NULL) {
    return no_memory(s);
  }
  pair->name = s->arena.size;
  int done = wire ? reencode(&s->arena, name) : sigv4_encode(&s->arena, name, 0);
  pair->name_size = s->arena.size - pair->name;
  pair->value = s->arena.size;
  done = done && (wire ? reencode(&s->arena, value) : sigv4_encode(&s->arena, value, 0));
  pair->value_size = s->arena.size - pair->value;
  return done ? 1 : no_memory(s);
}

static int add_wire_query(struct sigv4 *s) {
  struct sigv4_text rest = s->query;
  while (rest.size > 0) {
    struct sigv4_text value;
    struct sigv4_text part = cut(rest, "&", &rest);
    rest.bytes += rest.size > 0;
    rest.size -= rest.size > 0;
    struct sigv4_text name = cut(part, "=", &value);
    value.bytes += value.size > 0;
    value.size -= value.size > 0;
    if (part.size > 0 && !add_parameter(s, name, value, 1)) {
      return 0;
    }
  }
  return 1;
}

static int write_query(struct sigv4 *s) {
  struct sigv4_buffer *out = &s->canonical_query;
  int done = 1;
  sort(s, &s->parameters, 1);
  for (size_t i = 0; i < s->parameters.count; i++) {
    const struct sigv4_pair *pair = &s->parameters.items[i];
    done = done && sigv4_append(out, "&", i > 0) && append(out, name_of(s, pair)) &&
           sigv4_append(out, "=", 1) && append(out, value_of(s, pair));
  }
  return done ? 1 : no_memory(s);
}

#define NAME(literal) {literal, sizeof literal - 1}

static int is_in(struct sigv4_text name, const struct sigv4_text *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (name.size == list[i].size && memcmp(name.bytes, list[i].bytes, name.size) == 0) {
      return 1;
    }
  }
  return 0;
}

/* Headers that proxies and libcurl change or drop, or that the signature itself is. */
static int is_never_signed(struct sigv4_text name) {
  static const struct sigv4_text names[] = {
      NAME("authorization"), NAME("user-agent"), NAME("x-amzn-trace-id"), NAME("connection"),
      NAME("expect"), NAME("transfer-encoding"), NAME("te"), NAME("trailer"), NAME("upgrade"),
      NAME("keep-alive")};
  return is_in(name, names, sizeof names / sizeof names[0]) || starts_with(name, "proxy-");
}

/* Headers that the signer sets by itself; the caller's are left out. */
static int is_ours(struct sigv4_text name, const struct sigv4_request *request) {
  static const struct sigv4_text names[] = {NAME("x-amz-content-sha256"), NAME("host"),
                                            NAME("x-amz-date"), NAME("x-amz-security-token")};
  size_t hash = request->content_sha256 ? 0 : 1; /* the first name is ours for S3 only */
  return is_in(name, names + hash, sizeof names / sizeof names[0] - hash);
}

static int is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Appends a header's value: trimmed, each run of blanks one space. */
static int append_value(struct sigv4_buffer *out, struct sigv4_text value) {
  size_t i = 0;
  int first = 1;
  for (;;) {
    while (i < value.size && is_blank(value.bytes[i])) {
      i++;
    }
    if (i == value.size) {
      return 1;
    }
    size_t word = i;
    while (i < value.size && !is_blank(value.bytes[i])) {
      i++;
    }
    if (!sigv4_append(out, " ", !first) || !sigv4_append(out, value.bytes + word, i - word)) {
      return 0;
    }
    first = 0;
  }
}

/* Adds a header to those signed. Empty values are left out: libcurl does not send them. */
static int add_header(struct sigv4 *s, struct sigv4_text name, struct sigv4_text value) {
  struct sigv4_pair pair = {.name = s->arena.size, .name_size = name.size};
  int done = append(&s->arena, name);
  for (size_t i = pair.name; done && i < s->arena.size; i++) {
    char c = s->arena.bytes[i];
    s->arena.bytes[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  pair.value = s->arena.size;
  done = done && append_value(&s->arena, value);
  pair.value_size = s->arena.size - pair.value;
  if (!done) {
    return no_memory(s);
  }
  if (pair.value_size == 0 || is_never_signed(name_of(s, &pair))) {
    return 1;
  }
  struct sigv4_pair *slot = add_pair(&s->headers);
  if (slot == NULL) {
    return no_memory(s);
  }
  *slot = pair;
  return 1;
}

static struct sigv4_text text(const char *literal) {
  return (struct sigv4_text){literal, strlen(literal)};
}

static int add_own_headers(struct sigv4 *s, const struct sigv4_request *request) {
  if (!add_header(s, text("host"), s->host)) {
    return 0;
  }
  if (request->presign) {
    return 1;
  }
  return add_header(s, text("x-amz-date"), request->time) &&
         (!request->content_sha256 ||
          add_header(s, text("x-amz-content-sha256"), text(s->payload_hash))) &&
         (request->token_unsigned || request->token.size == 0 ||
          add_header(s, text("x-amz-security-token"), request->token));
}

static int lowered_is_ours(struct sigv4_text name, const struct sigv4_request *request) {
  char lower[32];
  if (name.size > sizeof lower) {
    return 0;
  }
  for (size_t i = 0; i < name.size; i++) {
    char c = name.bytes[i];
    lower[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  return is_ours((struct sigv4_text){lower, name.size}, request);
}

static int collect_headers(struct sigv4 *s, const struct sigv4_request *request) {
  if (!add_own_headers(s, request)) {
    return 0;
  }
  for (size_t i = 0; i < request->header_count; i++) {
    const struct sigv4_header *header = &request->headers[i];
    if (!lowered_is_ours(header->name, request) && !add_header(s, header->name, header->value)) {
      return 0;
    }
  }
  sort(s, &s->headers, 0);
  return 1;
}

static int same_name(const struct sigv4 *s, size_t i) {
  const struct sigv4_pair *at = &s->headers.items[i];
  return i > 0 && compare(name_of(s, at - 1), name_of(s, at)) == 0;
}

static int write_signed_headers(struct sigv4 *s) {
  struct sigv4_buffer *out = &s->signed_headers;
  int done = 1;
  for (size_t i = 0; i < s->headers.count; i++) {
    if (!same_name(s, i)) {
      done = done && sigv4_append(out, ";", i > 0) && append(out, name_of(s, &s->headers.items[i]));
    }
  }
  return done ? 1 : no_memory(s);
}

/* Repeated headers are one line, their values joined by commas in the order given. */
static int write_headers(struct sigv4 *s) {
  struct sigv4_buffer *out = &s->canonical;
  int done = 1;
  for (size_t i = 0; i < s->headers.count; i++) {
    const struct sigv4_pair *at = &s->headers.items[i];
    if (same_name(s, i)) {
      done = done && sigv4_append(out, ",", 1);
    } else {
      done = done && sigv4_append(out, "\n", i > 0) && append(out, name_of(s, at)) &&
             sigv4_append(out, ":", 1);
    }
    done = done && append(out, value_of(s, at));
  }
  return done && sigv4_append(out, "\n\n", 2);
}

/* Appends the path's segments without '.', '..' and empty ones. */
static int normalize(struct sigv4_buffer *out, struct sigv4_text path) {
  size_t start = out->size;
  struct sigv4_text rest = path;
  int done = 1;
  while (done && rest.size > 0) {
    rest.bytes++; /* the slash */
    rest.size--;
    struct sigv4_text segment = cut(rest, "/", &rest);
    if (segment.size == 2 && memcmp(segment.bytes, "..", 2) == 0) {
      while (out->size > start && out->bytes[--out->size] != '/') {
      }
    } else if (segment.size > 0 && !(segment.size == 1 && segment.bytes[0] == '.')) {
      done = sigv4_append(out, "/", 1) && append(out, segment);
    }
  }
  int slash = out->size == start || path.bytes[path.size - 1] == '/';
  return done && sigv4_append(out, "/", (size_t)slash);
}

static int write_path(struct sigv4 *s, const struct sigv4_request *request) {
  struct sigv4_text path = s->path;
  if (request->normalize_path) {
    size_t start = s->arena.size;
    if (!normalize(&s->arena, path)) {
      return 0;
    }
    path = (struct sigv4_text){s->arena.bytes + start, s->arena.size - start};
  }
  return request->double_encode ? sigv4_encode(&s->canonical, path, 1)
                                : append_once(&s->canonical, path);
}

static int hash_payload(struct sigv4 *s, const struct sigv4_request *request) {
  unsigned char digest[CRYPTO_SHA256_SIZE];
  struct sigv4_text given = request->payload_hash;
  if (given.size == 0 && request->presign && request->content_sha256) {
    given = text("UNSIGNED-PAYLOAD");
  }
  if (given.size >= sizeof s->payload_hash) {
    return fail(s, "a payload hash of at most 64 characters expected");
  }
  if (given.size > 0) {
    memcpy(s->payload_hash, given.bytes, given.size);
    s->payload_hash[given.size] = '\0';
    return 1;
  }
  if (!crypto_sha256(request->body.bytes, request->body.size, digest)) {
    return fail(s, crypto_load());
  }
  hex_encode(digest, sizeof digest, s->payload_hash);
  s->payload_hash[64] = '\0';
  return 1;
}

static int add_credential(struct sigv4 *s, const struct sigv4_request *request) {
  struct sigv4_buffer value;
  sigv4_buffer_init(&value);
  int done = append(&value, request->key_id) && sigv4_append(&value, "/", 1) &&
             sigv4_append_scope(&value, request) &&
             add_parameter(s, text("X-Amz-Credential"),
                           (struct sigv4_text){value.bytes, value.size}, 0);
  sigv4_buffer_free(&value);
  return done ? 1 : no_memory(s);
}

static int add_presign_query(struct sigv4 *s, const struct sigv4_request *request) {
  char expires[16];
  snprintf(expires, sizeof expires, "%u", request->expires);
  struct sigv4_text names = {s->signed_headers.bytes, s->signed_headers.size};
  return add_parameter(s, text("X-Amz-Algorithm"), text("AWS4-HMAC-SHA256"), 0) &&
         add_credential(s, request) && add_parameter(s, text("X-Amz-Date"), request->time, 0) &&
         add_parameter(s, text("X-Amz-Expires"), text(expires), 0) &&
         add_parameter(s, text("X-Amz-SignedHeaders"), names, 0) &&
         (request->token_unsigned || request->token.size == 0 ||
          add_parameter(s, text("X-Amz-Security-Token"), request->token, 0));
}

int sigv4_canonical_request(struct sigv4 *s, const struct sigv4_request *request) {
  struct sigv4_buffer *out = &s->canonical;
  if (!split_url(s, request->url) || !hash_payload(s, request) || !collect_headers(s, request) ||
      !write_signed_headers(s) || !add_wire_query(s) ||
      (request->presign && !add_presign_query(s, request)) || !write_query(s)) {
    return 0;
  }
  int done = append(out, request->method) && sigv4_append(out, "\n", 1) && write_path(s, request) &&
             sigv4_append(out, "\n", 1) &&
             sigv4_append(out, s->canonical_query.bytes, s->canonical_query.size) &&
             sigv4_append(out, "\n", 1) && write_headers(s) &&
             sigv4_append(out, s->signed_headers.bytes, s->signed_headers.size) &&
             sigv4_append(out, "\n", 1) && sigv4_append_text(out, s->payload_hash);
  return done ? 1 : no_memory(s);
}
