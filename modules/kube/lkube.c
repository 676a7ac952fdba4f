/* rtl.native.kube: items out of list and watch bodies, frames of exec. */
#include "kube/kube.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>

#define SPLITTER "rtl.kube.splitter"

int luaopen_rtl_native_kube(lua_State *L);

struct splitter {
  struct rtl_kube_splitter *impl; /* NULL: closed */
};

static struct rtl_kube_splitter *check_splitter(lua_State *L)
{
  struct splitter *s = luaL_checkudata(L, 1, SPLITTER);
  if (!s->impl) luaL_argerror(L, 1, "closed");
  return s->impl;
}

static int fail(lua_State *L, enum rtl_kube_status status)
{
  luaL_pushfail(L);
  lua_pushstring(L, rtl_kube_status_text(status));
  return 2;
}

/*** kube.splitter(mode[, limit]) → splitter
 * Cuts a body into its items: mode "stream" for a watch, "list" for a list. An item may have
 * `limit` bytes (16 MiB). */
static int splitter_new(lua_State *L)
{
  static const char *const modes[] = {"stream", "list", NULL};
  int mode = luaL_checkoption(L, 1, NULL, modes);
  lua_Integer limit = luaL_optinteger(L, 2, 16 << 20);
  luaL_argcheck(L, limit > 0, 2, "must be positive");
  struct splitter *s = lua_newuserdatauv(L, sizeof *s, 0);
  s->impl = NULL;
  luaL_setmetatable(L, SPLITTER);
  s->impl = rtl_kube_splitter_new(mode == 0 ? RTL_KUBE_STREAM : RTL_KUBE_LIST, (size_t)limit);
  if (!s->impl) return luaL_error(L, "not enough memory");
  return 1;
}

/*** splitter:feed(bytes) → array of texts | nil, message
 * The items that are whole with these bytes. */
static int splitter_feed(lua_State *L)
{
  struct rtl_kube_splitter *s = check_splitter(L);
  size_t size;
  const char *bytes = luaL_checklstring(L, 2, &size);
  enum rtl_kube_status status = rtl_kube_splitter_feed(s, bytes, size);
  if (status != RTL_KUBE_OK) return fail(L, status);
  lua_newtable(L);
  const char *item;
  for (lua_Integer i = 1; (status = rtl_kube_splitter_next(s, &item, &size)) == RTL_KUBE_OK; i++) {
    lua_pushlstring(L, item, size);
    lua_rawseti(L, -2, i);
  }
  return status == RTL_KUBE_MORE ? 1 : fail(L, status);
}

/*** splitter:finish() → text | nil, message
 * Says that the body is over: the list's object without its items, or "" for a stream. */
static int splitter_finish(lua_State *L)
{
  struct rtl_kube_splitter *s = check_splitter(L);
  const char *rest;
  size_t size;
  enum rtl_kube_status status = rtl_kube_splitter_finish(s, &rest, &size);
  if (status != RTL_KUBE_OK) return fail(L, status);
  lua_pushlstring(L, rest, size);
  return 1;
}

/*** splitter:close()
 * Gives its memory back. Idempotent. */
static int splitter_close(lua_State *L)
{
  struct splitter *s = luaL_checkudata(L, 1, SPLITTER);
  rtl_kube_splitter_free(s->impl);
  s->impl = NULL;
  return 0;
}

static int check_channel(lua_State *L, int index)
{
  lua_Integer channel = luaL_checkinteger(L, index);
  luaL_argcheck(L, channel >= 0 && channel <= 255, index, "no channel");
  return (int)channel;
}

/*** kube.frame(channel, bytes) → message
 * A message of exec: channel 0 stdin, 4 resize. */
static int frame(lua_State *L)
{
  int channel = check_channel(L, 1);
  luaL_Buffer b;
  luaL_checkstring(L, 2);
  luaL_buffinit(L, &b);
  luaL_addchar(&b, (char)channel);
  lua_pushvalue(L, 2);
  luaL_addvalue(&b);
  luaL_pushresult(&b);
  return 1;
}

/*** kube.close_frame(channel) → message
 * The message that half-closes a channel (v5.channel.k8s.io only). */
static int close_frame(lua_State *L)
{
  char message[2] = {(char)RTL_KUBE_CLOSE, (char)check_channel(L, 1)};
  lua_pushlstring(L, message, sizeof message);
  return 1;
}

/*** kube.unframe(message) → channel, bytes | nil
 * A message of exec: channel 1 stdout, 2 stderr, 3 the final status, 255 a half-close (bytes
 * names the channel). nil if the message is empty. */
static int unframe(lua_State *L)
{
  size_t length, size;
  const char *message = luaL_checklstring(L, 1, &length);
  const char *payload;
  int channel;
  if (!rtl_kube_unframe(message, length, &channel, &payload, &size)) {
    luaL_pushfail(L);
    return 1;
  }
  lua_pushinteger(L, channel);
  lua_pushlstring(L, payload, size);
  return 2;
}

static const luaL_Reg splitter_methods[] = {
  {"feed", splitter_feed}, {"finish", splitter_finish}, {"close", splitter_close}, {NULL, NULL},
};

static const luaL_Reg splitter_meta[] = {
  {"__gc", splitter_close}, {"__close", splitter_close}, {NULL, NULL},
};

static const luaL_Reg functions[] = {
  {"splitter", splitter_new},   {"frame", frame}, {"close_frame", close_frame},
  {"unframe", unframe},         {NULL, NULL},
};

int luaopen_rtl_native_kube(lua_State *L)
{
  luaL_newmetatable(L, SPLITTER);
  luaL_setfuncs(L, splitter_meta, 0);
  luaL_newlib(L, splitter_methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_newlib(L, functions);
  return 1;
}
