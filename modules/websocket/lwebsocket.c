/* rtl.native.websocket */
#include "secret/lsecret.h"
#include "secret/secret.h"
#include "websocket/websocket.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

int luaopen_rtl_native_websocket(lua_State *L);

#define CODEC "rtl.websocket.codec"

static struct rtl_websocket *check_codec(lua_State *L) {
  struct rtl_websocket *self = luaL_checkudata(L, 1, CODEC);
  luaL_argcheck(L, self->context != NULL, 1, "closed");
  return self;
}

static const char *error_name(enum rtl_websocket_error error) {
  static const char *const names[] = {"ok", "memory", "protocol", "utf8", "too_large", "closed"};
  return names[error];
}

/* true | nil, name; raises for lack of memory */
static int push_result(lua_State *L, enum rtl_websocket_error error) {
  if (error == RTL_WEBSOCKET_MEMORY) {
    return luaL_error(L, "not enough memory");
  }
  if (error == RTL_WEBSOCKET_OK) {
    lua_pushboolean(L, 1);
    return 1;
  }
  luaL_pushfail(L);
  lua_pushstring(L, error_name(error));
  return 2;
}

/*** websocket.new{role=, max_message=} → codec
 * A codec of one connection; role "client" (it masks) or "server"; messages larger than max_message
 * bytes (16 MiB) are refused. */
static int l_new(lua_State *L) {
  static const char *const roles[] = {"client", "server", NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "role");
  int is_client = luaL_checkoption(L, -1, NULL, roles) == 0;
  lua_getfield(L, 1, "max_message");
  lua_Integer max_message = luaL_optinteger(L, -1, 16 << 20);
  luaL_argcheck(L, max_message > 0, 1, "max_message above 0 expected");
  struct rtl_websocket *self = lua_newuserdatauv(L, sizeof *self, 0);
  memset(self, 0, sizeof *self);
  luaL_setmetatable(L, CODEC);
  if (rtl_websocket_open(self, is_client, (uint64_t)max_message) != RTL_WEBSOCKET_OK) {
    return luaL_error(L, "not enough memory");
  }
  return 1;
}

static const char *kind_name(enum rtl_websocket_kind kind) {
  switch (kind) {
    case RTL_WEBSOCKET_TEXT: return "text";
    case RTL_WEBSOCKET_BINARY: return "binary";
    case RTL_WEBSOCKET_CLOSE: return "close";
    case RTL_WEBSOCKET_PING: return "ping";
    default: return "pong";
  }
}

/* Pushes {kind=, data=} or {kind="close", code=, reason=}. The event stays the codec's until all
 * that may raise is done. */
static void push_event(lua_State *L, const struct rtl_websocket_event *event) {
  lua_createtable(L, 0, 3);
  lua_pushstring(L, kind_name(event->kind));
  lua_setfield(L, -2, "kind");
  lua_pushlstring(L, event->bytes, event->size);
  lua_setfield(L, -2, event->kind == RTL_WEBSOCKET_CLOSE ? "reason" : "data");
  if (event->code != 0) {
    lua_pushinteger(L, event->code);
    lua_setfield(L, -2, "code");
  }
}

static void push_events(lua_State *L, struct rtl_websocket *self) {
  lua_newtable(L);
  for (lua_Integer i = 1; self->first != NULL; i++) {
    push_event(L, self->first);
    lua_rawseti(L, -2, i);
    free(rtl_websocket_next(self));
  }
}

/*** codec:feed(bytes) → events
 * Whole messages {kind = "text"|"binary"|"ping"|"pong", data} and {kind = "close", code, reason}.
 * What the protocol forbids ends them; see refusal. */
static int codec_feed(lua_State *L) {
  struct rtl_websocket *self = check_codec(L);
  struct rtl_span bytes;
  bytes.bytes = rtl_check_bytes(L, 2, &bytes.size);
  if (rtl_websocket_feed(self, bytes) != RTL_WEBSOCKET_OK) {
    return luaL_error(L, "not enough memory");
  }
  push_events(L, self);
  return 1;
}

/*** codec:refusal() → nil, or why bytes were refused
 * "protocol", "utf8" or "too_large". Known when output has framed the close for it; nothing more is
 * read then. */
static int codec_refusal(lua_State *L) {
  enum rtl_websocket_error error = rtl_websocket_refusal(check_codec(L));
  if (error == RTL_WEBSOCKET_OK) {
    luaL_pushfail(L);
  } else {
    lua_pushstring(L, error_name(error));
  }
  return 1;
}

/*** codec:send(kind, bytes) → true | nil, "closed" | nil, "protocol"
 * kind is "text", "binary", "ping" or "pong" (the latter two: 125 bytes at most). */
static int codec_send(lua_State *L) {
  static const char *const names[] = {"text", "binary", "ping", "pong", NULL};
  static const enum rtl_websocket_kind kinds[] = {RTL_WEBSOCKET_TEXT, RTL_WEBSOCKET_BINARY,
                                                  RTL_WEBSOCKET_PING, RTL_WEBSOCKET_PONG};
  struct rtl_websocket *self = check_codec(L);
  enum rtl_websocket_kind kind = kinds[luaL_checkoption(L, 2, NULL, names)];
  struct rtl_span bytes;
  bytes.bytes = rtl_check_bytes(L, 3, &bytes.size);
  return push_result(L, rtl_websocket_send(self, kind, bytes));
}

/*** codec:close(code, reason) → true | nil, "closed"
 * Both may be left out. */
static int codec_close(lua_State *L) {
  struct rtl_websocket *self = check_codec(L);
  lua_Integer code = luaL_optinteger(L, 2, 0);
  luaL_argcheck(L, code == 0 || (code >= 1000 && code < 5000), 2, "1000 to 4999 expected");
  struct rtl_span reason;
  reason.bytes = luaL_optlstring(L, 3, "", &reason.size);
  luaL_argcheck(L, reason.size <= 123, 3, "at most 123 bytes expected");
  return push_result(L, rtl_websocket_close(self, (uint16_t)code, reason));
}

/*** codec:mask_bytes() → integer
 * How many random bytes output needs now. */
static int codec_mask_bytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)rtl_websocket_mask_bytes(check_codec(L)));
  return 1;
}

/*** codec:output(random) → bytes
 * All frames that are queued, to be sent; "" if there are none. */
static int codec_output(lua_State *L) {
  struct rtl_websocket *self = check_codec(L);
  struct rtl_span masks;
  masks.bytes = luaL_optlstring(L, 2, "", &masks.size);
  luaL_argcheck(L, masks.size >= rtl_websocket_mask_bytes(self), 2, "mask_bytes() bytes expected");
  if (rtl_websocket_output(self, masks) == RTL_WEBSOCKET_MEMORY) {
    return luaL_error(L, "not enough memory");
  }
  lua_pushlstring(L, self->out.bytes, self->out.size);
  rtl_buffer_free(&self->out);
  return 1;
}

/*** codec:finished() → boolean
 * Whether close frames went both ways. */
static int codec_finished(lua_State *L) {
  lua_pushboolean(L, rtl_websocket_finished(check_codec(L)));
  return 1;
}

static int codec_gc(lua_State *L) {
  rtl_websocket_free(luaL_checkudata(L, 1, CODEC));
  return 0;
}

int luaopen_rtl_native_websocket(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"feed", codec_feed},         {"send", codec_send},
      {"close", codec_close},       {"mask_bytes", codec_mask_bytes},
      {"output", codec_output},     {"finished", codec_finished},
      {"refusal", codec_refusal},
      {"__gc", codec_gc},           {"__close", codec_gc},
      {"__index", NULL},            {NULL, NULL},
  };
  static const luaL_Reg functions[] = {
      {"new", l_new},
      {NULL, NULL},
  };
  luaL_newmetatable(L, CODEC);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  luaL_newlib(L, functions);
  return 1;
}
