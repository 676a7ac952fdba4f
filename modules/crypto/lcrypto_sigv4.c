/* rtl.native.crypto.sigv4: one request table in, any stage of its signature out. */
#include "crypto/lcrypto.h"
#include "crypto/sigv4.h"
#include "fail.h"
#include "secret/lsecret.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

/* One request at a time is signed, so one signer serves all: no allocation for a usual request. A
 * raise half-way leaves it open, and the next call wipes it. */
struct signer {
  struct sigv4 state;
  struct sigv4_request request;
  struct sigv4_buffer out;
  struct sigv4_header *headers;
  size_t header_capacity;
  int open;
  int hidden; /* whether a secret went into the headers */
};

static struct signer the_signer;

static void signer_free(struct signer *signer) {
  if (signer->open) {
    signer->open = 0;
    sigv4_free(&signer->state);
    sigv4_buffer_free(&signer->out);
  }
}

static struct signer *signer_new(void) {
  struct signer *signer = &the_signer;
  signer_free(signer);
  signer->request = (struct sigv4_request){.headers = signer->headers};
  signer->hidden = 0;
  sigv4_init(&signer->state);
  sigv4_buffer_init(&signer->out);
  signer->open = 1;
  return signer;
}

/* A field of the request table at 1. The bytes are borrowed: the table keeps the value. */
static struct sigv4_text field(lua_State *L, const char *name, int needed) {
  struct sigv4_text text = {"", 0};
  if (lua_getfield(L, 1, name) != LUA_TNIL || needed) {
    text.bytes = rtl_test_bytes(L, -1, &text.size);
    if (text.bytes == NULL) {
      luaL_error(L, "bad argument #1 (field '%s': string or secret expected, got %s)", name,
                 luaL_typename(L, -1));
    }
  }
  lua_pop(L, 1);
  return text;
}

static int flag(lua_State *L, const char *name, int otherwise) {
  int value = lua_getfield(L, 1, name) == LUA_TNIL ? otherwise : lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

/* A header's name or value; the table keeps it. */
static struct sigv4_text header_text(lua_State *L, struct signer *signer, int index) {
  struct sigv4_text text;
  text.bytes = rtl_test_bytes(L, index, &text.size);
  if (text.bytes == NULL) {
    luaL_error(L, "bad argument #1 (field 'headers': names and values as strings or secrets "
                  "expected)");
  }
  signer->hidden = signer->hidden || lua_type(L, index) != LUA_TSTRING;
  return text;
}

/* Adds the header whose name and value lie at those stack places. */
static void add_signed(lua_State *L, struct signer *signer, int name, int value) {
  size_t count = signer->request.header_count;
  if (count == signer->header_capacity) {
    size_t capacity = count * 2 + 16;
    struct sigv4_header *grown = realloc(signer->headers, capacity * sizeof *grown);
    if (grown == NULL) {
      luaL_error(L, "not enough memory");
    }
    signer->request.headers = signer->headers = grown;
    signer->header_capacity = capacity;
  }
  signer->headers[count].name = header_text(L, signer, name);
  signer->headers[count].value = header_text(L, signer, value);
  signer->request.header_count = count + 1;
}

/* headers[i] is {name, value}; the list is on top of the stack. */
static void read_listed(lua_State *L, struct signer *signer) {
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    luaL_argcheck(L, lua_istable(L, -1), 1, "field 'headers': {name, value} expected");
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    add_signed(L, signer, -2, -1);
    lua_pop(L, 3);
  }
  lua_pop(L, 1);
}

static void read_headers(lua_State *L, struct signer *signer) {
  if (lua_getfield(L, 1, "headers") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  luaL_argcheck(L, lua_istable(L, -1), 1, "field 'headers': table expected");
  int listed = lua_rawgeti(L, -1, 1) != LUA_TNIL;
  lua_pop(L, 1);
  if (listed) {
    read_listed(L, signer);
  } else {
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
      add_signed(L, signer, -2, -1);
    }
  }
  lua_pop(L, 1);
}

static unsigned read_expires(lua_State *L) {
  lua_Integer seconds = 60;
  if (lua_getfield(L, 1, "expires") != LUA_TNIL) {
    seconds = luaL_checkinteger(L, -1);
  }
  lua_pop(L, 1);
  luaL_argcheck(L, seconds >= 1 && seconds <= 604800, 1, "field 'expires': 1 to 604800 expected");
  return (unsigned)seconds;
}

/* Reads the request table at 1. */
static struct signer *read_request(lua_State *L, int presign) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  struct signer *signer = signer_new();
  struct sigv4_request *r = &signer->request;
  r->method = field(L, "method", 1);
  r->url = field(L, "url", 1);
  r->body = field(L, "body", 0);
  r->payload_hash = field(L, "payload_hash", 0);
  r->region = field(L, "region", 1);
  r->service = field(L, "service", 1);
  r->time = field(L, "time", 1);
  r->key_id = field(L, "access_key_id", 1);
  r->secret = field(L, "secret_access_key", 1);
  r->token = field(L, "session_token", 0);
  lua_getfield(L, 1, "secret_access_key");
  const struct rtl_secret *secret = rtl_test_secret(L, -1);
  r->secret_id = secret != NULL ? secret->id : 0;
  lua_pop(L, 1);
  int s3 = r->service.size == 2 && memcmp(r->service.bytes, "s3", 2) == 0;
  r->double_encode = flag(L, "double_encode", !s3);
  r->normalize_path = flag(L, "normalize_path", !s3);
  r->content_sha256 = flag(L, "content_sha256", s3);
  r->token_unsigned = flag(L, "token_unsigned", 0);
  r->presign = presign;
  r->expires = presign ? read_expires(L) : 0;
  luaL_argcheck(L, r->time.size == 16, 1, "field 'time': a time like 20150830T123600Z expected");
  signer->hidden = r->token.size > 0;
  read_headers(L, signer);
  return signer;
}

/* A stage returned 0: libcrypto is the world's refusal, all else is misuse. */
static int refused(lua_State *L, struct signer *signer) {
  const char *problem = signer->state.problem;
  if (problem != NULL && strncmp(problem, "libcrypto", 9) == 0) {
    return rtl_fail(L, "RTL-DATA-008", problem);
  }
  return luaL_error(L, "sigv4: %s", problem != NULL ? problem : "not enough memory");
}

static int stage_option(lua_State *L) {
  return strcmp(luaL_optstring(L, 2, "header"), "presign") == 0;
}

/*** crypto.sigv4.canonical_request(request, "presign") → text, signed_headers, payload_hash
 * Stage 1 of a signature. The text is a secret if a session token or secret header is in it. */
static int l_canonical_request(lua_State *L) {
  struct signer *signer = read_request(L, stage_option(L));
  struct sigv4 *s = &signer->state;
  if (!sigv4_canonical_request(s, &signer->request)) {
    return refused(L, signer);
  }
  rtl_push_bytes(L, s->canonical.bytes, s->canonical.size, signer->hidden);
  lua_pushlstring(L, s->signed_headers.bytes, s->signed_headers.size);
  lua_pushstring(L, s->payload_hash);
  signer_free(signer);
  return 3; /* text signed_headers payload_hash */
}

/*** crypto.sigv4.string_to_sign(request, "presign") → string
 * Stage 2: what the key is applied to. */
static int l_string_to_sign(lua_State *L) {
  struct signer *signer = read_request(L, stage_option(L));
  if (!sigv4_string_to_sign(&signer->state, &signer->request)) {
    return refused(L, signer);
  }
  lua_pushlstring(L, signer->state.to_sign.bytes, signer->state.to_sign.size);
  signer_free(signer);
  return 1;
}

/*** crypto.sigv4.signature(request, "presign") → string
 * Stage 3: the signature as 64 hexadecimal digits. */
static int l_signature(lua_State *L) {
  struct signer *signer = read_request(L, stage_option(L));
  if (!sigv4_sign(&signer->state, &signer->request)) {
    return refused(L, signer);
  }
  lua_pushstring(L, signer->state.signature);
  signer_free(signer);
  return 1;
}

/* Appends {name, value} to the list below the value on top of the stack; pops the value. */
static void add_header(lua_State *L, const char *name, lua_Integer place) {
  lua_createtable(L, 2, 0); /* list value pair */
  lua_pushstring(L, name);
  lua_rawseti(L, -2, 1);
  lua_insert(L, -2);
  lua_rawseti(L, -2, 2);
  lua_rawseti(L, -2, place);
}

/*** crypto.sigv4.sign(request) → {{name, value}, …}
 * Signs a request and returns the headers to add to it: x-amz-date, x-amz-content-sha256 (S3),
 * x-amz-security-token (as given) and authorization. Fields of `request`: method, url (as on the
 * wire), headers, body or payload_hash, region, service, time (20150830T123600Z), access_key_id,
 * secret_access_key, session_token; the options double_encode, normalize_path and content_sha256
 * follow the service (S3 or not), token_unsigned adds the token after signing. */
static int l_sign(lua_State *L) {
  struct signer *signer = read_request(L, 0);
  struct sigv4_request *request = &signer->request;
  lua_Integer n = 0;
  if (!sigv4_sign(&signer->state, request) ||
      !sigv4_authorization(&signer->state, request, &signer->out)) {
    return refused(L, signer);
  }
  lua_createtable(L, 4, 0);
  lua_pushlstring(L, request->time.bytes, request->time.size);
  add_header(L, "x-amz-date", ++n);
  if (request->content_sha256) {
    lua_pushstring(L, signer->state.payload_hash);
    add_header(L, "x-amz-content-sha256", ++n);
  }
  if (request->token.size > 0) {
    lua_getfield(L, 1, "session_token");
    add_header(L, "x-amz-security-token", ++n);
  }
  lua_pushlstring(L, signer->out.bytes, signer->out.size);
  add_header(L, "authorization", ++n);
  signer_free(signer);
  return 1;
}

/*** crypto.sigv4.presign(request) → secret
 * The whole URL with its signature in the query. `request` as for sign, and expires (seconds, 60);
 * the headers given must be sent with it. */
static int l_presign(lua_State *L) {
  struct signer *signer = read_request(L, 1);
  if (!sigv4_sign(&signer->state, &signer->request) ||
      !sigv4_url(&signer->state, &signer->request, &signer->out)) {
    return refused(L, signer);
  }
  rtl_push_bytes(L, signer->out.bytes, signer->out.size, 1);
  signer_free(signer);
  return 1;
}

static struct sigv4_text text_argument(lua_State *L, int arg) {
  struct sigv4_text text;
  text.bytes = rtl_check_bytes(L, arg, &text.size);
  return text;
}

/*** crypto.sigv4.signing_key(secret_access_key, date, region, service) → secret
 * The derived key, 32 bytes; date as 20150830. */
static int l_signing_key(lua_State *L) {
  struct sigv4_text secret = text_argument(L, 1);
  struct sigv4_text date = text_argument(L, 2);
  struct sigv4_text region = text_argument(L, 3);
  struct sigv4_text service = text_argument(L, 4);
  char *key = rtl_push_secret(L, 32);
  if (!sigv4_signing_key(secret, date, region, service, (unsigned char *)key)) {
    return rtl_fail(L, "RTL-DATA-008", "libcrypto could not derive the key");
  }
  return 1;
}

/*** crypto.sigv4.encode(text, keep_slash) → string
 * RFC 3986 percent-encoding as AWS wants it. */
static int l_encode(lua_State *L) {
  struct sigv4_text text = text_argument(L, 1);
  int keep_slash = lua_toboolean(L, 2);
  if (sigv4_is_plain(text, keep_slash)) {
    lua_settop(L, 1);
    return 1;
  }
  struct signer *signer = signer_new();
  if (!sigv4_encode(&signer->out, text, keep_slash)) {
    return luaL_error(L, "not enough memory");
  }
  rtl_push_bytes(L, signer->out.bytes, signer->out.size, lua_type(L, 1) != LUA_TSTRING);
  signer_free(signer);
  return 1;
}

/*** crypto.sigv4.forget_keys()
 * Wipes the cached signing keys. */
static int l_forget_keys(lua_State *L) {
  (void)L;
  sigv4_forget_keys();
  return 0;
}

void rtl_push_sigv4(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"canonical_request", l_canonical_request},
      {"string_to_sign", l_string_to_sign},
      {"signature", l_signature},
      {"sign", l_sign},
      {"presign", l_presign},
      {"signing_key", l_signing_key},
      {"encode", l_encode},
      {"forget_keys", l_forget_keys},
      {NULL, NULL},
  };
  luaL_newlib(L, functions);
}
