/* SHA-256, SHA-1, MD5 and HMAC by OpenSSL's libcrypto, which is loaded on first use: a script that
 * hashes nothing does not pay for it. Pure C. One thread only: the context is shared. All arguments
 * are borrowed. */
#ifndef RTL_CRYPTO_H
#define RTL_CRYPTO_H

#include <stddef.h>

enum { CRYPTO_SHA256_SIZE = 32, CRYPTO_SHA1_SIZE = 20, CRYPTO_MD5_SIZE = 16 };

/* Loads libcrypto if it is not loaded yet. NULL, or why it can't be had (static text). The
 * functions below do it by themselves and return 0 when it fails. */
const char *crypto_load(void);

int crypto_sha256(const void *bytes, size_t size, unsigned char out[CRYPTO_SHA256_SIZE]);
int crypto_sha1(const void *bytes, size_t size, unsigned char out[CRYPTO_SHA1_SIZE]);
int crypto_md5(const void *bytes, size_t size, unsigned char out[CRYPTO_MD5_SIZE]);

/* SHA-256 of bytes that come in pieces. */
struct crypto_hash;
struct crypto_hash *crypto_hash_new(void); /* NULL when it can't be had; owned by the caller */
int crypto_hash_update(struct crypto_hash *hash, const void *bytes, size_t size);
int crypto_hash_finish(struct crypto_hash *hash, unsigned char out[CRYPTO_SHA256_SIZE]);
void crypto_hash_free(struct crypto_hash *hash); /* takes; NULL is fine */

/* HMAC-SHA-256 under one key, for many messages. */
struct crypto_mac;
struct crypto_mac *crypto_mac_new(const void *key, size_t size); /* owned by the caller, or NULL */
int crypto_mac_of(struct crypto_mac *mac, const void *bytes, size_t size,
                  unsigned char out[CRYPTO_SHA256_SIZE]);
void crypto_mac_free(struct crypto_mac *mac); /* takes, wipes; NULL is fine */

int crypto_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size,
                       unsigned char out[CRYPTO_SHA256_SIZE]);

#endif
