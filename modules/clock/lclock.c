/* rtl.native.clock */
#include "clock/clock.h"
#include "clock/date.h"

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

/*** native.clock.parse_iso(text) → number or nil
 * Unix seconds of a date, see rtl.clock. */
static int l_parse_iso(lua_State *L) {
  size_t size;
  struct rtl_date date;
  const char *text = luaL_checklstring(L, 1, &size);
  if (!rtl_date_parse(text, size, &date)) {
    lua_pushnil(L);
  } else if (date.fraction == NULL) {
    lua_pushinteger(L, date.seconds);
  } else {
    lua_pushlstring(L, date.fraction, date.size);
    lua_pushnumber(L, (lua_Number)date.seconds + lua_tonumber(L, -1));
  }
  return 1;
}

int luaopen_rtl_native_clock(lua_State *L) {
  static const luaL_Reg functions[] = {{"mono", l_mono},
                                       {"mono_ns", l_mono_ns},
                                       {"utc", l_utc},
                                       {"parse_iso", l_parse_iso},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
