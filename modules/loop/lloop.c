/* rtl.native.loop */
#include "loop/loop.h"

#include <errno.h>
#include <lauxlib.h>
#include <math.h>
#include <string.h>
#include <sys/epoll.h>

int luaopen_rtl_native_loop(lua_State *L);

#define WATCH "rtl.loop.watch"

/* A handle on one descriptor; silent between a readiness and the take that collects it. */
struct handle {
  struct rtl_watch watch;
  uint64_t token;
  uint32_t wanted;
  int ready;
};

static struct rtl_loop *check_loop(lua_State *L) {
  struct rtl_loop *loop = rtl_loop_default();
  if (loop == NULL) {
    luaL_error(L, "no event loop: %s", strerror(errno));
  }
  return loop;
}

static int64_t check_timeout(lua_State *L, int arg) {
  if (lua_isnoneornil(L, arg)) {
    return -1;
  }
  lua_Number seconds = luaL_checknumber(L, arg);
  luaL_argcheck(L, !isnan(seconds), arg, "a number of seconds expected");
  if (seconds > 9e9) {
    return -1;
  }
  return seconds <= 0 ? 0 : (int64_t)ceil(seconds * 1e9);
}

/*** loop.wait(seconds) → {token, …}
 * One round: sleeps until something is due, at most `seconds` (nil: for ever), and returns the
 * tokens whose handles may have something to take. Only rtl.task calls this. */
static int l_wait(lua_State *L) {
  size_t posted = rtl_loop_wait(check_loop(L), check_timeout(L, 1));
  lua_createtable(L, (int)posted, 0); /* before taking: a memory error loses no token */
  for (size_t i = 1; i <= posted; i++) {
    lua_pushinteger(L, (lua_Integer)rtl_loop_take(rtl_loop_default()));
    lua_rawseti(L, -2, (lua_Integer)i);
  }
  return 1;
}

static void on_ready(struct rtl_watch *watch, uint32_t events) {
  struct handle *handle = watch->data;
  (void)events;
  handle->ready = 1;
  rtl_loop_rewatch(rtl_loop_default(), watch, 0);
  rtl_loop_post(rtl_loop_default(), handle->token);
}

static uint32_t check_mode(lua_State *L, int arg) {
  static const char *const names[] = {"r", "w", "rw", NULL};
  static const uint32_t events[] = {EPOLLIN, EPOLLOUT, EPOLLIN | EPOLLOUT};
  return events[luaL_checkoption(L, arg, "r", names)];
}

/*** loop.watch(fd, mode) → handle
 * A handle whose take() gives true when the descriptor is readable ("r"), writable ("w") or either
 * ("rw"), and arms it again. The descriptor stays the caller's. nil and a text when it can't be
 * watched (a regular file). */
static int l_watch(lua_State *L) {
  int fd = (int)luaL_checkinteger(L, 1);
  uint32_t wanted = check_mode(L, 2);
  struct rtl_loop *loop = check_loop(L);
  struct handle *handle = lua_newuserdatauv(L, sizeof *handle, 0);
  memset(handle, 0, sizeof *handle);
  luaL_setmetatable(L, WATCH);
  handle->wanted = wanted;
  handle->watch = (struct rtl_watch){.fd = fd, .events = wanted, .ready = on_ready, .data = handle};
  handle->token = rtl_loop_new_token(loop);
  if (handle->token == 0) {
    return luaL_error(L, "not enough memory");
  }
  if (rtl_loop_watch(loop, &handle->watch) != 0) {
    int error = errno;
    rtl_loop_end_token(loop, handle->token);
    handle->token = 0;
    luaL_pushfail(L);
    lua_pushstring(L, strerror(error));
    return 2;
  }
  return 1;
}

static struct handle *check_open(lua_State *L) {
  struct handle *handle = luaL_checkudata(L, 1, WATCH);
  luaL_argcheck(L, handle->token != 0, 1, "closed");
  return handle;
}

static int watch_token(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_open(L)->token);
  return 1;
}

static int watch_take(lua_State *L) {
  struct handle *handle = check_open(L);
  lua_pushboolean(L, handle->ready);
  if (handle->ready) {
    handle->ready = 0;
    rtl_loop_rewatch(rtl_loop_default(), &handle->watch, handle->wanted);
  }
  return 1;
}

static int watch_close(lua_State *L) {
  struct handle *handle = luaL_checkudata(L, 1, WATCH);
  if (handle->token != 0) {
    rtl_loop_unwatch(rtl_loop_default(), &handle->watch);
    rtl_loop_end_token(rtl_loop_default(), handle->token);
    handle->token = 0;
  }
  return 0;
}

static void set_count(lua_State *L, const char *name, size_t count) {
  lua_pushinteger(L, (lua_Integer)count);
  lua_setfield(L, -2, name);
}

/*** loop.live() → {tokens=, watches=, timers=, children=}
 * How many of each are in use. Every open handle has one token. */
static int l_live(lua_State *L) {
  struct rtl_loop_live live = rtl_loop_live(check_loop(L));
  lua_createtable(L, 0, 4);
  set_count(L, "tokens", live.tokens);
  set_count(L, "watches", live.watches);
  set_count(L, "timers", live.timers);
  set_count(L, "children", live.children);
  return 1;
}

int luaopen_rtl_native_loop(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"token", watch_token}, {"take", watch_take},   {"cancel", watch_close},
      {"close", watch_close}, {"__gc", watch_close},  {"__close", watch_close},
      {"__index", NULL},      {NULL, NULL},
  };
  static const luaL_Reg functions[] = {
      {"wait", l_wait}, {"watch", l_watch}, {"live", l_live}, {NULL, NULL}};
  luaL_newmetatable(L, WATCH);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_newlib(L, functions);
  return 1;
}
