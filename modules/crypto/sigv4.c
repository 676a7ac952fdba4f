/* Stages 2 and 3: the string to sign, the key and the signature; and what is made of them. */
#include "crypto/sigv4.h"

#include "crypto/base64.h"
#include "crypto/crypto.h"
#include "secret/secret.h"

#include <stdlib.h>
#include <string.h>

static void pairs_init(struct sigv4_pairs *pairs) {
  pairs->items = pairs->first;
  pairs->count = 0;
  pairs->capacity = sizeof pairs->first / sizeof pairs->first[0];
}

static void pairs_free(struct sigv4_pairs *pairs) {
  if (pairs->items != pairs->first) {
    free(pairs->items);
  }
  pairs_init(pairs);
}

void sigv4_init(struct sigv4 *s) {
  s->problem = NULL;
  pairs_init(&s->headers);
  pairs_init(&s->parameters);
  sigv4_buffer_init(&s->arena);
  sigv4_buffer_init(&s->signed_headers);
  sigv4_buffer_init(&s->canonical_query);
  sigv4_buffer_init(&s->canonical);
  sigv4_buffer_init(&s->to_sign);
}

void sigv4_free(struct sigv4 *s) {
  pairs_free(&s->headers);
  pairs_free(&s->parameters);
  sigv4_buffer_free(&s->arena);
  sigv4_buffer_free(&s->signed_headers);
  sigv4_buffer_free(&s->canonical_query);
  sigv4_buffer_free(&s->canonical);
  sigv4_buffer_free(&s->to_sign);
}

static int fail(struct sigv4 *s, const char *problem) {
  s->problem = problem;
  return 0;
}

int sigv4_string_to_sign(struct sigv4 *s, const struct sigv4_request *request) {
  unsigned char digest[CRYPTO_SHA256_SIZE];
  char hex[2 * CRYPTO_SHA256_SIZE];
  struct sigv4_buffer *out = &s->to_sign;
  if (request->time.size != 16) {
    return fail(s, "a time like 20150830T123600Z expected");
  }
  if (!sigv4_canonical_request(s, request)) {
    return 0;
  }
  if (!crypto_sha256(s->canonical.bytes, s->canonical.size, digest)) {
    return fail(s, crypto_load());
  }
  hex_encode(digest, sizeof digest, hex);
  int done = sigv4_append_text(out, "AWS4-HMAC-SHA256\n") &&
             sigv4_append(out, request->time.bytes, request->time.size) &&
             sigv4_append(out, "\n", 1) && sigv4_append_scope(out, request) &&
             sigv4_append(out, "\n", 1) && sigv4_append(out, hex, sizeof hex);
  return done ? 1 : fail(s, "not enough memory");
}

int sigv4_signing_key(struct sigv4_text secret, struct sigv4_text date, struct sigv4_text region,
                      struct sigv4_text service, unsigned char out[32]) {
  struct rtl_secret *start = rtl_secret_new(secret.size + 4);
  if (start == NULL) {
    return 0;
  }
  memcpy(start->bytes, "AWS4", 4);
  if (secret.size > 0) {
    memcpy(start->bytes + 4, secret.bytes, secret.size);
  }
  int done = crypto_hmac_sha256(start->bytes, start->size, date.bytes, date.size, out) &&
             crypto_hmac_sha256(out, 32, region.bytes, region.size, out) &&
             crypto_hmac_sha256(out, 32, service.bytes, service.size, out) &&
             crypto_hmac_sha256(out, 32, "aws4_request", 12, out);
  rtl_secret_free(start);
  return done;
}

/* A signing key holds for a day, a region and a service. The secret itself is not kept, only its
 * hash, which tells two secrets apart. */
struct cached {
  uint64_t secret_id;
  unsigned char secret_hash[CRYPTO_SHA256_SIZE];
  char scope[128];
  size_t scope_size;
  struct crypto_mac *mac; /* NULL: free place */
};

enum { CACHED = 16 };
static struct cached cache[CACHED];
static size_t next_place;

void sigv4_forget_keys(void) {
  for (size_t i = 0; i < CACHED; i++) {
    crypto_mac_free(cache[i].mac);
  }
  rtl_wipe(cache, sizeof cache);
}

static struct crypto_mac *make_mac(const struct sigv4_request *request) {
  unsigned char key[32];
  struct crypto_mac *mac = NULL;
  struct sigv4_text date = {request->time.bytes, 8};
  if (sigv4_signing_key(request->secret, date, request->region, request->service, key)) {
    mac = crypto_mac_new(key, sizeof key);
  }
  rtl_wipe(key, sizeof key);
  return mac;
}

/* The cached key of that scope and secret (by its id if `hash` is NULL, else by its hash). */
static struct cached *find_cached(const struct sigv4_request *request,
                                  const struct sigv4_buffer *scope, const unsigned char *hash) {
  for (size_t i = 0; i < CACHED; i++) {
    struct cached *at = &cache[i];
    if (at->mac != NULL && at->scope_size == scope->size &&
        memcmp(at->scope, scope->bytes, scope->size) == 0 &&
        (hash == NULL ? at->secret_id == request->secret_id
                      : memcmp(at->secret_hash, hash, CRYPTO_SHA256_SIZE) == 0)) {
      return at;
    }
  }
  return NULL;
}

/* The keyed MAC of the request; stays owned by the cache. NULL when it can't be made. */
static struct crypto_mac *find_mac(const struct sigv4_request *request,
                                   const struct sigv4_buffer *scope) {
  unsigned char hash[CRYPTO_SHA256_SIZE];
  struct cached *found = request->secret_id != 0 ? find_cached(request, scope, NULL) : NULL;
  if (found != NULL) {
    return found->mac;
  }
  if (!crypto_sha256(request->secret.bytes, request->secret.size, hash)) {
    return NULL;
  }
  found = find_cached(request, scope, hash);
  if (found != NULL) {
    return found->mac;
  }
  struct cached *place = &cache[next_place];
  crypto_mac_free(place->mac);
  place->mac = make_mac(request);
  place->secret_id = request->secret_id;
  memcpy(place->secret_hash, hash, CRYPTO_SHA256_SIZE);
  memcpy(place->scope, scope->bytes, scope->size);
  place->scope_size = scope->size;
  next_place = (next_place + 1) % CACHED;
  return place->mac;
}

int sigv4_sign(struct sigv4 *s, const struct sigv4_request *request) {
  unsigned char signature[CRYPTO_SHA256_SIZE];
  struct sigv4_buffer scope;
  if (!sigv4_string_to_sign(s, request)) {
    return 0;
  }
  sigv4_buffer_init(&scope);
  if (!sigv4_append_scope(&scope, request) || scope.size > sizeof cache[0].scope) {
    sigv4_buffer_free(&scope);
    return fail(s, "a region and a service of at most 100 characters expected");
  }
  struct crypto_mac *mac = find_mac(request, &scope);
  sigv4_buffer_free(&scope);
  if (mac == NULL || !crypto_mac_of(mac, s->to_sign.bytes, s->to_sign.size, signature)) {
    return fail(s, "not enough memory");
  }
  hex_encode(signature, sizeof signature, s->signature);
  s->signature[64] = '\0';
  return 1;
}

int sigv4_authorization(struct sigv4 *s, const struct sigv4_request *request,
                        struct sigv4_buffer *out) {
  int done = sigv4_append_text(out, "AWS4-HMAC-SHA256 Credential=") &&
             sigv4_append(out, request->key_id.bytes, request->key_id.size) &&
             sigv4_append(out, "/", 1) && sigv4_append_scope(out, request) &&
             sigv4_append_text(out, ", SignedHeaders=") &&
             sigv4_append(out, s->signed_headers.bytes, s->signed_headers.size) &&
             sigv4_append_text(out, ", Signature=") && sigv4_append_text(out, s->signature);
  return done ? 1 : fail(s, "not enough memory");
}

int sigv4_url(struct sigv4 *s, const struct sigv4_request *request, struct sigv4_buffer *out) {
  int done = sigv4_append(out, s->origin.bytes, s->origin.size) &&
             sigv4_append(out, s->path.bytes, s->path.size) && sigv4_append(out, "?", 1) &&
             sigv4_append(out, s->canonical_query.bytes, s->canonical_query.size);
  if (request->token_unsigned && request->token.size > 0) {
    done = done && sigv4_append_text(out, "&X-Amz-Security-Token=") &&
           sigv4_encode(out, request->token, 0);
  }
  done = done && sigv4_append_text(out, "&X-Amz-Signature=") &&
         sigv4_append_text(out, s->signature);
  return done ? 1 : fail(s, "not enough memory");
}
