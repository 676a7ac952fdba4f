/* AWS Signature Version 4, each stage a function of its own. Pure C.
 *
 * Use: fill a sigv4_request (everything borrowed until sigv4_free), then
 *   sigv4_init(&s); sigv4_sign(&s, &request); … s.signature …; sigv4_free(&s);
 * Each stage runs the ones before it. What goes through memory here may hold a session token, so
 * sigv4_free wipes. */
#ifndef RTL_SIGV4_H
#define RTL_SIGV4_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sigv4_text {
  const char *bytes;
  size_t size;
};

struct sigv4_header {
  struct sigv4_text name, value;
};

struct sigv4_request {
  struct sigv4_text method, url; /* https://host[:port]/path?query, as on the wire */
  const struct sigv4_header *headers;
  size_t header_count;
  struct sigv4_text body;
  struct sigv4_text payload_hash; /* instead of the body's hash, unless empty */
  struct sigv4_text region, service;
  struct sigv4_text time; /* 20150830T123600Z */
  struct sigv4_text key_id, secret, token; /* token may be empty */
  uint64_t secret_id; /* same number, same secret: spares a hash when looking its key up; 0: none */
  int double_encode;  /* encode the wire path once more: all services but S3 */
  int normalize_path; /* remove dot segments and empty ones: all services but S3 */
  int content_sha256; /* add and sign x-amz-content-sha256; presigned: UNSIGNED-PAYLOAD */
  int token_unsigned; /* add the token after signing */
  int presign;        /* sign the query, not headers */
  unsigned expires;   /* of a presigned URL, seconds */
};

/* Bytes that grow. */
struct sigv4_buffer {
  char *bytes;
  size_t size, capacity;
  char first[1024];
};

/* A name and a value as offsets into the arena. */
struct sigv4_pair {
  size_t name, name_size, value, value_size;
};

struct sigv4_pairs {
  struct sigv4_pair *items;
  size_t count, capacity;
  struct sigv4_pair first[24];
};

struct sigv4 {
  const char *problem; /* static text when a stage returned 0 */
  struct sigv4_text origin, host, path, query; /* parts of the URL */
  struct sigv4_buffer arena;
  struct sigv4_pairs headers, parameters;
  struct sigv4_buffer signed_headers;   /* host;x-amz-date */
  struct sigv4_buffer canonical_query;
  struct sigv4_buffer canonical;        /* stage 1 */
  struct sigv4_buffer to_sign;          /* stage 2 */
  char payload_hash[65];                /* hexadecimal or UNSIGNED-PAYLOAD */
  char signature[65];                   /* stage 3, hexadecimal */
};

void sigv4_init(struct sigv4 *s);
void sigv4_free(struct sigv4 *s); /* wipes */

/* The stages. 1, or 0 with s->problem set. A struct sigv4 runs through them once. */
int sigv4_canonical_request(struct sigv4 *s, const struct sigv4_request *request);
int sigv4_string_to_sign(struct sigv4 *s, const struct sigv4_request *request);
int sigv4_sign(struct sigv4 *s, const struct sigv4_request *request);

/* After sigv4_sign: the Authorization header / the whole presigned URL, appended to `out`. */
int sigv4_authorization(struct sigv4 *s, const struct sigv4_request *request,
                        struct sigv4_buffer *out);
int sigv4_url(struct sigv4 *s, const struct sigv4_request *request, struct sigv4_buffer *out);

/* The derived key of a date (8 digits), region and service. 1, or 0 without libcrypto. */
int sigv4_signing_key(struct sigv4_text secret, struct sigv4_text date, struct sigv4_text region,
                      struct sigv4_text service, unsigned char out[32]);

/* Wipes the cached signing keys. */
void sigv4_forget_keys(void);

/* RFC 3986 percent-encoding of bytes, appended; '/' stays if keep_slash. 0 when out of memory. */
int sigv4_encode(struct sigv4_buffer *out, struct sigv4_text text, int keep_slash);
/* Whether encoding leaves it as it is. */
int sigv4_is_plain(struct sigv4_text text, int keep_slash);

/* Buffers, for the binding and between the stages' files. append: 0 when out of memory. */
void sigv4_buffer_init(struct sigv4_buffer *buffer);
void sigv4_buffer_free(struct sigv4_buffer *buffer);
int sigv4_grow(struct sigv4_buffer *buffer, size_t more); /* makes room */
static inline int sigv4_append(struct sigv4_buffer *buffer, const char *bytes, size_t size) {
  if (size > buffer->capacity - buffer->size && !sigv4_grow(buffer, size)) {
    return 0;
  }
  if (size > 0) {
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
  }
  return 1;
}
int sigv4_append_text(struct sigv4_buffer *buffer, const char *text);
/* date/region/service/aws4_request */
int sigv4_append_scope(struct sigv4_buffer *buffer, const struct sigv4_request *request);

#endif
