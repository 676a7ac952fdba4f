/* A box: a userdata that holds one Lua value, under a metatable of the caller's. References are
 * boxes and not tables, because next() and == see through a table's metamethods. */
#include <lauxlib.h>
#include <lua.h>

int luaopen_rtl_native_ref(lua_State *L);

/*** ref.box(value, metatable) → userdata
 * Wraps `value`; the metatable (shared, not copied) decides what can be done with it. */
static int box(lua_State *L) {
  luaL_checkany(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  lua_newuserdatauv(L, 0, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 3, 1);
  lua_pushvalue(L, 2);
  lua_setmetatable(L, 3);
  return 1;
}

/*** ref.unbox(userdata, metatable) → value | nil
 * The wrapped value, if this is a box under exactly that metatable. */
static int unbox(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  if (lua_type(L, 1) != LUA_TUSERDATA || !lua_getmetatable(L, 1)) {
    return 0;
  }
  if (!lua_rawequal(L, -1, 2)) {
    return 0;
  }
  lua_getiuservalue(L, 1, 1);
  return 1;
}

int luaopen_rtl_native_ref(lua_State *L) {
  static const luaL_Reg functions[] = {{"box", box}, {"unbox", unbox}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
