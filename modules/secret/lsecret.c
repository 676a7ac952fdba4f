/* rtl.native.secret: bytes that never become a Lua string by themselves. */
#include "secret/lsecret.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

int luaopen_rtl_native_secret(lua_State *L);

#define SECRET "rtl.secret"
#define HIDDEN "<secret>"

/* Pushes the metatable; any binding may be the first to need it. */
static void push_metatable(lua_State *L) {
  if (luaL_getmetatable(L, SECRET) == LUA_TNIL) {
    luaopen_rtl_native_secret(L); /* nil module */
    lua_pop(L, 2);
    luaL_getmetatable(L, SECRET);
  }
}

static struct rtl_secret **test_box(lua_State *L, int index) {
  return luaL_testudata(L, index, SECRET);
}

struct rtl_secret *rtl_test_secret(lua_State *L, int index) {
  struct rtl_secret **box = test_box(L, index);
  if (box != NULL && *box == NULL) {
    luaL_argerror(L, index, "secret is closed");
  }
  return box == NULL ? NULL : *box;
}

const char *rtl_test_bytes(lua_State *L, int index, size_t *size) {
  if (lua_type(L, index) == LUA_TSTRING) {
    return lua_tolstring(L, index, size);
  }
  struct rtl_secret *secret = rtl_test_secret(L, index);
  if (secret == NULL) {
    return NULL;
  }
  *size = secret->size;
  return secret->bytes;
}

const char *rtl_check_bytes(lua_State *L, int index, size_t *size) {
  const char *bytes = rtl_test_bytes(L, index, size);
  if (bytes == NULL) {
    luaL_typeerror(L, index, "string or secret");
  }
  return bytes;
}

char *rtl_push_secret(lua_State *L, size_t size) {
  struct rtl_secret **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  push_metatable(L);
  lua_setmetatable(L, -2);
  *box = rtl_secret_new(size);
  if (*box == NULL) {
    luaL_error(L, "not enough memory for a secret");
  }
  return (*box)->bytes;
}

void rtl_push_bytes(lua_State *L, const char *bytes, size_t size, int hidden) {
  if (!hidden) {
    lua_pushlstring(L, bytes, size);
  } else if (size > 0) {
    memcpy(rtl_push_secret(L, size), bytes, size);
  } else {
    rtl_push_secret(L, 0);
  }
}

int rtl_push_secret_names(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) {
    return 0;
  }
  luaL_checktype(L, index, LUA_TTABLE);
  if (lua_getfield(L, index, "secret") == LUA_TNIL) {
    return 0;
  }
  luaL_argexpected(L, lua_istable(L, -1), index, "table with an array of names as 'secret'");
  lua_newtable(L);
  for (lua_Integer i = 1; lua_geti(L, -2, i) != LUA_TNIL; i++) {
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
  return lua_gettop(L);
}

int rtl_is_secret_name(lua_State *L, int names) {
  if (names == 0) {
    return 0;
  }
  lua_pushvalue(L, -1);
  int found = lua_rawget(L, names) != LUA_TNIL;
  lua_pop(L, 1);
  return found;
}

/*** secret.new(bytes) → secret
 * A secret with a copy of a string's (or another secret's) bytes. */
static int l_new(lua_State *L) {
  size_t size;
  const char *bytes = rtl_check_bytes(L, 1, &size);
  rtl_push_bytes(L, bytes, size, 1);
  return 1;
}

/* Joins the values from stack place 1 to `last` into one pushed secret. */
static void join(lua_State *L, int last) {
  size_t total = 0;
  size_t size;
  for (int i = 1; i <= last; i++) {
    if (lua_isinteger(L, i)) {
      lua_tostring(L, i); /* in place */
    }
    rtl_check_bytes(L, i, &size);
    total += size;
  }
  char *to = rtl_push_secret(L, total);
  for (int i = 1; i <= last; i++) {
    const char *bytes = rtl_check_bytes(L, i, &size);
    memcpy(to, bytes, size);
    to += size;
  }
}

/*** secret.join(part, …) → secret
 * One secret of strings, integers and secrets, in order. */
static int l_join(lua_State *L) {
  join(L, lua_gettop(L));
  return 1;
}

static int meta_concat(lua_State *L) {
  join(L, 2);
  return 1;
}

/*** secret.is(value) → boolean
 * Whether the value is a secret. */
static int l_is(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, test_box(L, 1) != NULL);
  return 1;
}

/*** secret.reveal(bytes) → string
 * The bytes as a Lua string, which can't be wiped any more: only for what takes nothing else. */
static int l_reveal(lua_State *L) {
  size_t size;
  const char *bytes = rtl_check_bytes(L, 1, &size);
  lua_pushlstring(L, bytes, size);
  return 1;
}

/*** secret.is_line(bytes) → boolean
 * Whether it holds no control character (line end, NUL, …), so that it can stand in a header. */
static int l_is_line(lua_State *L) {
  size_t size;
  const char *bytes = rtl_check_bytes(L, 1, &size);
  int control = 0;
  for (size_t i = 0; i < size; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    control |= byte < 0x20 || byte == 0x7f;
  }
  lua_pushboolean(L, !control);
  return 1;
}

/*** secret.equals(a, b) → boolean
 * Compares secrets or strings in a time that depends on their lengths only. */
static int l_equals(lua_State *L) {
  size_t a_size;
  size_t b_size;
  const char *a = rtl_check_bytes(L, 1, &a_size);
  const char *b = rtl_check_bytes(L, 2, &b_size);
  lua_pushboolean(L, rtl_same_bytes(a, a_size, b, b_size));
  return 1;
}

/*** secret.length(bytes) → integer
 * How many bytes it has; `#s` is the same. */
static int l_length(lua_State *L) {
  size_t size;
  rtl_check_bytes(L, 1, &size);
  lua_pushinteger(L, (lua_Integer)size);
  return 1;
}

/* Holds bytes for a moment, so that a raise frees them. */
static int bytes_free(lua_State *L) {
  char **box = lua_touserdata(L, 1);
  free(*box);
  *box = NULL;
  return 0;
}

static char **push_bytes_box(lua_State *L) {
  char **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  if (luaL_newmetatable(L, "rtl.secret.bytes")) {
    lua_pushcfunction(L, bytes_free);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return box;
}

/*** secret.mask(text) → string
 * The text with each part that is one of the secrets alive now (of 8 bytes or more) replaced by
 * "<secret>". rtl.redact does more and is what to use. */
static int l_mask(lua_State *L) {
  size_t size;
  size_t out_size;
  const char *text = luaL_checklstring(L, 1, &size);
  lua_settop(L, 1);
  char **box = push_bytes_box(L);
  *box = rtl_secrets_mask(text, size, HIDDEN, &out_size);
  if (*box == NULL) {
    lua_settop(L, 1);
    return out_size == 0 ? 1 : luaL_error(L, "not enough memory");
  }
  lua_pushlstring(L, *box, out_size);
  free(*box);
  *box = NULL;
  return 1;
}

/*** secret.close(s)
 * Wipes it now; the collector does the same later. Closing twice is fine. */
static int l_close(lua_State *L) {
  struct rtl_secret **box = luaL_checkudata(L, 1, SECRET);
  rtl_secret_free(*box);
  *box = NULL;
  return 0;
}

static int meta_tostring(lua_State *L) {
  lua_pushliteral(L, HIDDEN);
  return 1;
}

static const luaL_Reg methods[] = {
    {"equals", l_equals},   {"length", l_length},         {"close", l_close},
    {"__gc", l_close},      {"__close", l_close},         {"__len", l_length},
    {"__eq", l_equals},     {"__tostring", meta_tostring}, {"__concat", meta_concat},
    {NULL, NULL},
};

int luaopen_rtl_native_secret(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"new", l_new},       {"join", l_join},     {"is", l_is},       {"reveal", l_reveal},
      {"equals", l_equals}, {"length", l_length}, {"close", l_close},
      {"mask", l_mask},     {"is_line", l_is_line}, {NULL, NULL},
  };
  if (luaL_newmetatable(L, SECRET)) {
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "protected");
    lua_setfield(L, -2, "__metatable");
  }
  lua_pop(L, 1);
  luaL_newlib(L, functions);
  return 1;
}
