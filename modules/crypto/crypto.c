#include "crypto/crypto.h"

#include <dlfcn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>

/* Typed pointers: the compiler checks each call against OpenSSL's own prototype. */
#define FUNCTIONS(X)                                                                              \
  X(EVP_MD_fetch)                                                                                 \
  X(EVP_MD_CTX_new)                                                                               \
  X(EVP_MD_CTX_free)                                                                              \
  X(EVP_DigestInit_ex2)                                                                           \
  X(EVP_DigestUpdate)                                                                             \
  X(EVP_DigestFinal_ex)                                                                           \
  X(EVP_MAC_fetch)                                                                                \
  X(EVP_MAC_CTX_new)                                                                              \
  X(EVP_MAC_CTX_free)                                                                             \
  X(EVP_MAC_init)                                                                                 \
  X(EVP_MAC_update)                                                                               \
  X(EVP_MAC_final)                                                                                \
  X(OSSL_PARAM_construct_utf8_string)                                                             \
  X(OSSL_PARAM_construct_end)

#define DECLARE(name) static __typeof__(&name) p_##name;
FUNCTIONS(DECLARE)
#undef DECLARE

static EVP_MD *sha256;
static EVP_MAC *hmac;
static EVP_MD_CTX *shared; /* for one-shot digests */

static int resolve(void *library) {
  int complete = 1;
#define RESOLVE(name)                                                                             \
  *(void **)(&p_##name) = dlsym(library, #name);                                                  \
  complete = complete && p_##name != NULL;
  FUNCTIONS(RESOLVE)
#undef RESOLVE
  return complete;
}

const char *crypto_load(void) {
  static void *library;
  if (shared != NULL) {
    return NULL;
  }
  if (library == NULL) {
    library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
  }
  if (library == NULL) {
    return "libcrypto.so.3 can't be loaded";
  }
  if (!resolve(library)) {
    return "libcrypto.so.3 lacks a function";
  }
  sha256 = sha256 != NULL ? sha256 : p_EVP_MD_fetch(NULL, "SHA256", NULL);
  hmac = hmac != NULL ? hmac : p_EVP_MAC_fetch(NULL, "HMAC", NULL);
  if (sha256 == NULL || hmac == NULL) {
    return "libcrypto offers no SHA-256";
  }
  shared = p_EVP_MD_CTX_new();
  return shared == NULL ? "not enough memory" : NULL;
}

static int digest(EVP_MD *kind, const void *bytes, size_t size, unsigned char *out) {
  return p_EVP_DigestInit_ex2(shared, kind, NULL) == 1 &&
         p_EVP_DigestUpdate(shared, bytes, size) == 1 &&
         p_EVP_DigestFinal_ex(shared, out, NULL) == 1;
}

int crypto_sha256(const void *bytes, size_t size, unsigned char out[CRYPTO_SHA256_SIZE]) {
  return crypto_load() == NULL && digest(sha256, bytes, size, out);
}

int crypto_sha1(const void *bytes, size_t size, unsigned char out[CRYPTO_SHA1_SIZE]) {
  static EVP_MD *sha1;
  if (crypto_load() != NULL) {
    return 0;
  }
  if (sha1 == NULL) {
    sha1 = p_EVP_MD_fetch(NULL, "SHA1", NULL);
  }
  return sha1 != NULL && digest(sha1, bytes, size, out);
}

int crypto_md5(const void *bytes, size_t size, unsigned char out[CRYPTO_MD5_SIZE]) {
  static EVP_MD *md5;
  if (crypto_load() != NULL) {
    return 0;
  }
  if (md5 == NULL) {
    md5 = p_EVP_MD_fetch(NULL, "MD5", NULL); /* NULL where policy forbids it */
  }
  return md5 != NULL && digest(md5, bytes, size, out);
}

/* The two opaque structs are OpenSSL's contexts under our own names. */
struct crypto_hash *crypto_hash_new(void) {
  if (crypto_load() != NULL) {
    return NULL;
  }
  EVP_MD_CTX *context = p_EVP_MD_CTX_new();
  if (context != NULL && p_EVP_DigestInit_ex2(context, sha256, NULL) != 1) {
    p_EVP_MD_CTX_free(context);
    context = NULL;
  }
  return (struct crypto_hash *)context;
}

int crypto_hash_update(struct crypto_hash *hash, const void *bytes, size_t size) {
  return p_EVP_DigestUpdate((EVP_MD_CTX *)hash, bytes, size) == 1;
}

int crypto_hash_finish(struct crypto_hash *hash, unsigned char out[CRYPTO_SHA256_SIZE]) {
  return p_EVP_DigestFinal_ex((EVP_MD_CTX *)hash, out, NULL) == 1;
}

void crypto_hash_free(struct crypto_hash *hash) {
  if (hash != NULL) {
    p_EVP_MD_CTX_free((EVP_MD_CTX *)hash);
  }
}

struct crypto_mac *crypto_mac_new(const void *key, size_t size) {
  if (crypto_load() != NULL) {
    return NULL;
  }
  char name[] = "SHA256";
  OSSL_PARAM params[2] = {p_OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
                          p_OSSL_PARAM_construct_end()};
  EVP_MAC_CTX *context = p_EVP_MAC_CTX_new(hmac);
  /* A NULL key means 'the one before' to OpenSSL, so an empty one needs an address. */
  const unsigned char *bytes = size > 0 ? key : (const unsigned char *)"";
  if (context != NULL && p_EVP_MAC_init(context, bytes, size, params) != 1) {
    p_EVP_MAC_CTX_free(context);
    context = NULL;
  }
  return (struct crypto_mac *)context;
}

int crypto_mac_of(struct crypto_mac *mac, const void *bytes, size_t size,
                  unsigned char out[CRYPTO_SHA256_SIZE]) {
  EVP_MAC_CTX *context = (EVP_MAC_CTX *)mac;
  size_t written;
  return p_EVP_MAC_init(context, NULL, 0, NULL) == 1 &&
         p_EVP_MAC_update(context, bytes, size) == 1 &&
         p_EVP_MAC_final(context, out, &written, CRYPTO_SHA256_SIZE) == 1;
}

void crypto_mac_free(struct crypto_mac *mac) {
  if (mac != NULL) {
    p_EVP_MAC_CTX_free((EVP_MAC_CTX *)mac);
  }
}

int crypto_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size,
                       unsigned char out[CRYPTO_SHA256_SIZE]) {
  struct crypto_mac *mac = crypto_mac_new(key, key_size);
  int done = mac != NULL && crypto_mac_of(mac, bytes, size, out);
  crypto_mac_free(mac);
  return done;
}
