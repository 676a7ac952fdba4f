/* rtl.native.clock */
#include "clock/clock.h"

#include <lauxlib.h>

int luaopen_rtl_native_clock(lua_State *L);

/*** native.clock.mono() → number
 * Seconds of a clock that is never set back and goes on while the machine sleeps. */
static int l_mono(lua_State *L) {
  lua_pushnumber(L, (lua_Number)rtl_clock_mono_ns() / 1e9);
  return 1;
}

/*** native.clock.mono_ns() → integer
 * The same in nanoseconds. */
static int l_mono_ns(lua_State *L) {
  lua_pushinteger(L, rtl_clock_mono_ns());
  return 1;
}

/*** native.clock.utc() → number
 * Seconds since 1970 as the machine believes. */
static int l_utc(lua_State *L) {
  lua_pushnumber(L, (lua_Number)rtl_clock_utc_ns() / 1e9);
  return 1;
}

int luaopen_rtl_native_clock(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"mono", l_mono}, {"mono_ns", l_mono_ns}, {"utc", l_utc}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
