/* null and the array mark. A light userdata and one shared metatable, so that C can make both
 * without asking Lua. */
#include "json/ljson.h"

#include <lauxlib.h>

#define ARRAY "rtl.array"

static int null_tostring(lua_State *L) {
  if (lua_touserdata(L, 1) == NULL) {
    lua_pushliteral(L, "null");
  } else {
    lua_pushfstring(L, "userdata: %p", lua_touserdata(L, 1));
  }
  return 1;
}

/* All light userdata share this metatable; it is set once. */
static void set_metatable(lua_State *L) {
  if (luaL_newmetatable(L, "rtl.null")) {
    lua_pushcfunction(L, null_tostring);
    lua_setfield(L, -2, "__tostring");
  }
  lua_setmetatable(L, -2);
}

void rtl_push_null(lua_State *L) {
  lua_pushlightuserdata(L, NULL);
  if (!lua_getmetatable(L, -1)) {
    set_metatable(L);
  } else {
    lua_pop(L, 1);
  }
}

int rtl_is_null(lua_State *L, int index) {
  return lua_islightuserdata(L, index) && lua_touserdata(L, index) == NULL;
}

void rtl_push_array_mark(lua_State *L) {
  luaL_newmetatable(L, ARRAY);
}

void rtl_mark_array(lua_State *L, int index) {
  index = lua_absindex(L, index);
  rtl_push_array_mark(L);
  lua_setmetatable(L, index);
}

int rtl_is_array(lua_State *L, int index) {
  if (!lua_istable(L, index) || !lua_getmetatable(L, index)) {
    return 0;
  }
  rtl_push_array_mark(L);
  int same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

enum rtl_shape rtl_table_shape(lua_State *L, int index, lua_Unsigned *length) {
  index = lua_absindex(L, index);
  int marked = rtl_is_array(L, index);
  int has_first = lua_rawgeti(L, index, 1) != LUA_TNIL;
  lua_pop(L, 1);
  if (!marked && !has_first) {
    return RTL_OBJECT;
  }
  lua_Unsigned count = 0;
  lua_Unsigned last = 0;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1) {
      lua_pop(L, 2);
      return RTL_MIXED;
    }
    lua_Unsigned key = (lua_Unsigned)lua_tointeger(L, -2);
    last = key > last ? key : last;
    count++;
  }
  *length = count;
  return last == count ? RTL_ARRAY : RTL_HOLES;
}
