/* rtl.native.crypto: digests and encodings. What is made of a secret's text is a secret. */
#include "crypto/lcrypto.h"

#include "crypto/base64.h"
#include "crypto/crypto.h"
#include "fail.h"
#include "secret/lsecret.h"

#include <lauxlib.h>
#include <string.h>

int luaopen_rtl_native_crypto(lua_State *L);

#define HASHER "rtl.crypto.hasher"

/* nil, err: libcrypto is missing or forbids it. */
static int unavailable(lua_State *L) {
  const char *problem = crypto_load();
  return rtl_fail(L, "RTL-DATA-008", problem != NULL ? problem : "libcrypto refused the digest");
}

static int push_hex(lua_State *L, const unsigned char *bytes, size_t size) {
  luaL_Buffer buffer;
  hex_encode(bytes, size, luaL_buffinitsize(L, &buffer, size * 2));
  luaL_pushresultsize(&buffer, size * 2);
  return 1;
}

static int push_raw(lua_State *L, const unsigned char *bytes, size_t size) {
  lua_pushlstring(L, (const char *)bytes, size);
  return 1;
}

/*** crypto.sha256(bytes) → string
 * The 32 raw bytes of SHA-256 of a string or secret. */
static int l_sha256(lua_State *L) {
  size_t size;
  unsigned char out[CRYPTO_SHA256_SIZE];
  const char *bytes = rtl_check_bytes(L, 1, &size);
  return crypto_sha256(bytes, size, out) ? push_raw(L, out, sizeof out) : unavailable(L);
}

/*** crypto.sha256_hex(bytes) → string
 * SHA-256 as 64 hexadecimal digits. */
static int l_sha256_hex(lua_State *L) {
  size_t size;
  unsigned char out[CRYPTO_SHA256_SIZE];
  const char *bytes = rtl_check_bytes(L, 1, &size);
  return crypto_sha256(bytes, size, out) ? push_hex(L, out, sizeof out) : unavailable(L);
}

/*** crypto.sha1(bytes) → string or nil, err
 * The 20 raw bytes of SHA-1, for protocols that ask for it (WebSocket's handshake). */
static int l_sha1(lua_State *L) {
  size_t size;
  unsigned char out[CRYPTO_SHA1_SIZE];
  const char *bytes = rtl_check_bytes(L, 1, &size);
  return crypto_sha1(bytes, size, out) ? push_raw(L, out, sizeof out) : unavailable(L);
}

/*** crypto.md5(bytes) → string or nil, err
 * The 16 raw bytes of MD5, for checksums that a protocol asks for. */
static int l_md5(lua_State *L) {
  size_t size;
  unsigned char out[CRYPTO_MD5_SIZE];
  const char *bytes = rtl_check_bytes(L, 1, &size);
  return crypto_md5(bytes, size, out) ? push_raw(L, out, sizeof out) : unavailable(L);
}

/*** crypto.hmac_sha256(key, bytes) → string
 * The 32 raw bytes of HMAC-SHA-256. */
static int l_hmac_sha256(lua_State *L) {
  size_t key_size;
  size_t size;
  unsigned char out[CRYPTO_SHA256_SIZE];
  const char *key = rtl_check_bytes(L, 1, &key_size);
  const char *bytes = rtl_check_bytes(L, 2, &size);
  if (!crypto_hmac_sha256(key, key_size, bytes, size, out)) {
    return unavailable(L);
  }
  return push_raw(L, out, sizeof out);
}

/* Room of `size` bytes for a result that is a secret if the argument is one. */
static char *result_room(lua_State *L, luaL_Buffer *buffer, size_t size) {
  if (lua_type(L, 1) == LUA_TSTRING) {
    return luaL_buffinitsize(L, buffer, size);
  }
  return rtl_push_secret(L, size);
}

/* Pushes the first `size` bytes of that room. */
static int push_result(lua_State *L, luaL_Buffer *buffer, const char *bytes, size_t size) {
  if (lua_type(L, 1) == LUA_TSTRING) {
    luaL_pushresultsize(buffer, size);
  } else {
    rtl_push_bytes(L, bytes, size, 1);
  }
  return 1;
}

/*** crypto.hex(bytes) → string or secret
 * Hexadecimal digits, lower case. */
static int l_hex(lua_State *L) {
  size_t size;
  luaL_Buffer buffer;
  const char *bytes = rtl_check_bytes(L, 1, &size);
  char *out = result_room(L, &buffer, size * 2);
  hex_encode(bytes, size, out);
  return push_result(L, &buffer, out, size * 2);
}

/*** crypto.unhex(text) → string or secret, or nil, err
 * The bytes that hexadecimal digits stand for. */
static int l_unhex(lua_State *L) {
  size_t size;
  luaL_Buffer buffer;
  const char *text = rtl_check_bytes(L, 1, &size);
  char *out = result_room(L, &buffer, size / 2);
  if (!hex_decode(text, size, out)) {
    return rtl_fail(L, "RTL-DATA-004", "text is not hexadecimal");
  }
  return push_result(L, &buffer, out, size / 2);
}

static int encode(lua_State *L, int url) {
  size_t size;
  luaL_Buffer buffer;
  const char *bytes = rtl_check_bytes(L, 1, &size);
  char *out = result_room(L, &buffer, base64_room(size));
  return push_result(L, &buffer, out, base64_encode(bytes, size, out, url));
}

static int decode(lua_State *L, int url) {
  size_t size;
  size_t written;
  luaL_Buffer buffer;
  const char *text = rtl_check_bytes(L, 1, &size);
  char *out = result_room(L, &buffer, base64_decoded_room(size));
  if (!base64_decode(text, size, out, &written, url)) {
    return rtl_fail(L, "RTL-DATA-004", url ? "text is not base64url" : "text is not base64");
  }
  return push_result(L, &buffer, out, written);
}

/*** crypto.base64_encode(bytes) → string or secret
 * Base64 with padding, in one line. */
static int l_base64_encode(lua_State *L) {
  return encode(L, 0);
}

/*** crypto.base64_decode(text) → string or secret, or nil, err
 * Strict: padding is needed, white space is refused. */
static int l_base64_decode(lua_State *L) {
  return decode(L, 0);
}

/*** crypto.base64url_encode(bytes) → string or secret
 * Base64 with - and _, without padding. */
static int l_base64url_encode(lua_State *L) {
  return encode(L, 1);
}

/*** crypto.base64url_decode(text) → string or secret, or nil, err
 * Padding may be there or not. */
static int l_base64url_decode(lua_State *L) {
  return decode(L, 1);
}

static struct crypto_hash *check_hasher(lua_State *L) {
  struct crypto_hash **box = luaL_checkudata(L, 1, HASHER);
  luaL_argcheck(L, *box != NULL, 1, "hasher is finished");
  return *box;
}

/*** hasher:update(bytes) → hasher
 * Adds bytes to the digest. */
static int hasher_update(lua_State *L) {
  size_t size;
  const char *bytes = rtl_check_bytes(L, 2, &size);
  crypto_hash_update(check_hasher(L), bytes, size);
  lua_settop(L, 1);
  return 1;
}

static int hasher_close(lua_State *L) {
  struct crypto_hash **box = luaL_checkudata(L, 1, HASHER);
  crypto_hash_free(*box);
  *box = NULL;
  return 0;
}

/*** hasher:finish() → string
 * The 32 raw bytes; the hasher can't be used any more. */
static int hasher_finish(lua_State *L) {
  unsigned char out[CRYPTO_SHA256_SIZE];
  if (!crypto_hash_finish(check_hasher(L), out)) {
    return unavailable(L);
  }
  hasher_close(L);
  return push_raw(L, out, sizeof out);
}

static void push_hasher_metatable(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"update", hasher_update}, {"finish", hasher_finish}, {"close", hasher_close},
      {"__gc", hasher_close},    {"__close", hasher_close}, {NULL, NULL},
  };
  if (luaL_newmetatable(L, HASHER)) {
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
  }
}

/*** crypto.hasher() → hasher
 * SHA-256 of bytes that come in pieces: h:update(bytes), then h:finish() → 32 raw bytes. */
static int l_hasher(lua_State *L) {
  struct crypto_hash **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  push_hasher_metatable(L);
  lua_setmetatable(L, -2);
  *box = crypto_hash_new();
  return *box != NULL ? 1 : unavailable(L);
}

int luaopen_rtl_native_crypto(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"sha256", l_sha256},
      {"sha256_hex", l_sha256_hex},
      {"sha1", l_sha1},
      {"md5", l_md5},
      {"hmac_sha256", l_hmac_sha256},
      {"hex", l_hex},
      {"unhex", l_unhex},
      {"base64_encode", l_base64_encode},
      {"base64_decode", l_base64_decode},
      {"base64url_encode", l_base64url_encode},
      {"base64url_decode", l_base64url_decode},
      {"hasher", l_hasher},
      {NULL, NULL},
  };
  luaL_newlib(L, functions);
  rtl_push_sigv4(L);
  lua_setfield(L, -2, "sigv4");
  return 1;
}
