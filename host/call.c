/* One protected call for everything that runs Lua, and one place that prints an error. */
#include "host.h"

#include <lauxlib.h>
#include <stdio.h>

/* Adds a traceback to string errors; error objects (rtl.err tables) pass through untouched, since
 * they carry what was being done and are shown by their __tostring. */
static int on_error(lua_State *L) {
  if (lua_type(L, 1) == LUA_TSTRING) {
    luaL_traceback(L, L, lua_tostring(L, 1), 1);
  }
  return 1;
}

int rtl_call(lua_State *L, int nargs, int nresults) {
  int handler = lua_gettop(L) - nargs;
  lua_pushcfunction(L, on_error);
  lua_insert(L, handler); /* handler function args… */
  int status = lua_pcall(L, nargs, nresults, handler);
  rtl_interrupt_settle(L);
  lua_remove(L, handler);
  return status;
}

/* Protected, since __tostring may raise. */
static int error_text(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  return 1;
}

void rtl_report(lua_State *L) {
  lua_pushcfunction(L, error_text);
  lua_insert(L, -2);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK || lua_tostring(L, -1) == NULL) {
    fputs("rtl: an error that could not be shown\n", stderr);
  } else {
    fprintf(stderr, "rtl: %s\n", lua_tostring(L, -1));
  }
  lua_pop(L, 1);
}
