/* SHA-256 is called directly: through EVP a short text costs more for the context than for its
 * hash. These functions are deprecated since 3.0, and there. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "crypto/crypto.h"
#include "secret/secret.h"

#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>

/* Typed pointers: the compiler checks each call against OpenSSL's own prototype. */
#define FUNCTIONS(X)                                                                              \
  X(SHA256_Init)                                                                                  \
  X(SHA256_Update)                                                                                \
  X(SHA256_Final)                                                                                 \
  X(EVP_MD_fetch)                                                                                 \
  X(EVP_MD_CTX_new)                                                                               \
  X(EVP_DigestInit_ex2)                                                                           \
  X(EVP_DigestUpdate)                                                                             \
  X(EVP_DigestFinal_ex)

#define DECLARE(name) static __typeof__(&name) p_##name;
FUNCTIONS(DECLARE)
#undef DECLARE

static EVP_MD_CTX *shared; /* for SHA-1 and MD5 */

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
  shared = p_EVP_MD_CTX_new();
  return shared == NULL ? "not enough memory" : NULL;
}

static int digest(EVP_MD *kind, const void *bytes, size_t size, unsigned char *out) {
  return p_EVP_DigestInit_ex2(shared, kind, NULL) == 1 &&
         p_EVP_DigestUpdate(shared, bytes, size) == 1 &&
         p_EVP_DigestFinal_ex(shared, out, NULL) == 1;
}

int crypto_sha256(const void *bytes, size_t size, unsigned char out[CRYPTO_SHA256_SIZE]) {
  SHA256_CTX context;
  if (crypto_load() != NULL) {
    return 0;
  }
  return p_SHA256_Init(&context) == 1 && p_SHA256_Update(&context, bytes, size) == 1 &&
         p_SHA256_Final(out, &context) == 1;
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

struct crypto_hash {
  SHA256_CTX context;
};

struct crypto_hash *crypto_hash_new(void) {
  struct crypto_hash *hash = crypto_load() != NULL ? NULL : malloc(sizeof *hash);
  if (hash != NULL) {
    p_SHA256_Init(&hash->context);
  }
  return hash;
}

int crypto_hash_update(struct crypto_hash *hash, const void *bytes, size_t size) {
  return p_SHA256_Update(&hash->context, bytes, size) == 1;
}

int crypto_hash_finish(struct crypto_hash *hash, unsigned char out[CRYPTO_SHA256_SIZE]) {
  return p_SHA256_Final(out, &hash->context) == 1;
}

void crypto_hash_free(struct crypto_hash *hash) {
  if (hash != NULL) {
    rtl_wipe(hash, sizeof *hash);
    free(hash);
  }
}

/* RFC 2104: the hash after the key's two blocks, from where each message goes on. */
struct crypto_mac {
  SHA256_CTX inner, outer;
};

static int start(SHA256_CTX *context, const unsigned char *key, size_t size, unsigned char pad) {
  unsigned char block[SHA256_CBLOCK];
  for (size_t i = 0; i < sizeof block; i++) {
    block[i] = (unsigned char)(pad ^ (i < size ? key[i] : 0));
  }
  int done = p_SHA256_Init(context) == 1 && p_SHA256_Update(context, block, sizeof block) == 1;
  rtl_wipe(block, sizeof block);
  return done;
}

static int set_key(struct crypto_mac *mac, const void *key, size_t size) {
  unsigned char hash[CRYPTO_SHA256_SIZE];
  int done = 1;
  if (size > SHA256_CBLOCK) {
    done = crypto_sha256(key, size, hash);
    key = hash;
    size = sizeof hash;
  }
  done = done && start(&mac->inner, key, size, 0x36) && start(&mac->outer, key, size, 0x5c);
  rtl_wipe(hash, sizeof hash);
  return done;
}

struct crypto_mac *crypto_mac_new(const void *key, size_t size) {
  struct crypto_mac *mac = crypto_load() != NULL ? NULL : malloc(sizeof *mac);
  if (mac != NULL && !set_key(mac, key, size)) {
    crypto_mac_free(mac);
    mac = NULL;
  }
  return mac;
}

int crypto_mac_of(struct crypto_mac *mac, const void *bytes, size_t size,
                  unsigned char out[CRYPTO_SHA256_SIZE]) {
  struct crypto_mac one = *mac;
  int done = p_SHA256_Update(&one.inner, bytes, size) == 1 &&
             p_SHA256_Final(out, &one.inner) == 1 &&
             p_SHA256_Update(&one.outer, out, CRYPTO_SHA256_SIZE) == 1 &&
             p_SHA256_Final(out, &one.outer) == 1;
  rtl_wipe(&one, sizeof one);
  return done;
}

void crypto_mac_free(struct crypto_mac *mac) {
  if (mac != NULL) {
    rtl_wipe(mac, sizeof *mac);
    free(mac);
  }
}

int crypto_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size,
                       unsigned char out[CRYPTO_SHA256_SIZE]) {
  struct crypto_mac *mac = crypto_mac_new(key, key_size);
  int done = mac != NULL && crypto_mac_of(mac, bytes, size, out);
  crypto_mac_free(mac);
  return done;
}
