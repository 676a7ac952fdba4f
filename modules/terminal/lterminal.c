/* rtl.native.terminal */
#include "terminal/terminal.h"

#include <errno.h>
#include <lauxlib.h>
#include <string.h>
#include <unistd.h>

int luaopen_rtl_native_terminal(lua_State *L);

static int fail(lua_State *L, int error) {
  luaL_pushfail(L);
  lua_pushstring(L, strerror(error));
  lua_pushstring(L, strerrorname_np(error));
  return 3;
}

/*** native.terminal.is_terminal(fd) → boolean
 * Whether a descriptor is a terminal. */
static int l_is_terminal(lua_State *L) {
  lua_pushboolean(L, rtl_terminal_is((int)luaL_checkinteger(L, 1)));
  return 1;
}

/*** native.terminal.columns(fd) → integer or nil
 * nil when it is no terminal or does not say. */
static int l_columns(lua_State *L) {
  int columns = rtl_terminal_columns((int)luaL_checkinteger(L, 1));
  if (columns > 0) {
    lua_pushinteger(L, columns);
  } else {
    luaL_pushfail(L);
  }
  return 1;
}

/*** native.terminal.write(fd, text) → true
 * Writes all of it. nil, a text and an errno name when nobody reads any more. */
static int l_write(lua_State *L) {
  size_t size;
  int fd = (int)luaL_checkinteger(L, 1);
  const char *bytes = luaL_checklstring(L, 2, &size);
  if (rtl_terminal_write(fd, bytes, size) != 0) {
    return fail(L, errno);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/*** native.terminal.read(fd) → string or nil
 * What can be read now, up to 4096 bytes, after the event loop said that something can; nil at the
 * end; nil, a text and an errno name on failure. */
static int l_read(lua_State *L) {
  char bytes[4096];
  ssize_t got;
  int fd = (int)luaL_checkinteger(L, 1);
  do {
    got = read(fd, bytes, sizeof bytes);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return fail(L, errno);
  }
  if (got == 0) {
    luaL_pushfail(L);
  } else {
    lua_pushlstring(L, bytes, (size_t)got);
  }
  return 1;
}

int luaopen_rtl_native_terminal(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"is_terminal", l_is_terminal},
      {"columns", l_columns},
      {"write", l_write},
      {"read", l_read},
      {NULL, NULL},
  };
  luaL_newlib(L, functions);
  return 1;
}
