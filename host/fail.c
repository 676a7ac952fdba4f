/* Error objects from C: the same table as rtl.err makes, since it is rtl.err that makes it. */
#include "fail.h"

#include <lauxlib.h>

/* Leaves the fields' table on top of: nil, rtl.err.new. */
static void begin(lua_State *L, const char *code) {
  luaL_checkstack(L, 6, "error object");
  lua_pushnil(L);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "rtl.err");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "new");
  lua_remove(L, -2);
  lua_createtable(L, 0, 4); /* nil new fields */
  lua_pushstring(L, code);
  lua_setfield(L, -2, "code");
}

int rtl_fail(lua_State *L, const char *code, const char *message) {
  begin(L, code);
  lua_pushstring(L, message);
  lua_setfield(L, -2, "message");
  lua_call(L, 1, 1);
  return 2; /* nil err */
}

int rtl_fail_at(lua_State *L, const char *code, const char *message, size_t line, size_t column) {
  begin(L, code);
  lua_pushfstring(L, "line %I, column %I: %s", (LUAI_UACINT)line, (LUAI_UACINT)column, message);
  lua_setfield(L, -2, "message");
  lua_pushinteger(L, (lua_Integer)line);
  lua_setfield(L, -2, "line");
  lua_pushinteger(L, (lua_Integer)column);
  lua_setfield(L, -2, "column");
  lua_call(L, 1, 1);
  return 2; /* nil err */
}
