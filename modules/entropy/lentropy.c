/* rtl.native.entropy */
#include "entropy/entropy.h"

#include <errno.h>
#include <lauxlib.h>
#include <string.h>

int luaopen_rtl_native_entropy(lua_State *L);

enum { MOST = 1 << 20 };

/*** native.entropy.bytes(count) → string
 * Random bytes from the kernel, at most 1 MiB at once. */
static int l_bytes(lua_State *L) {
  lua_Integer count = luaL_checkinteger(L, 1);
  luaL_argcheck(L, count >= 0 && count <= MOST, 1, "0 to 1048576 bytes");
  luaL_Buffer buffer;
  char *bytes = luaL_buffinitsize(L, &buffer, (size_t)count);
  if (rtl_entropy_fill(bytes, (size_t)count) != 0) {
    return luaL_error(L, "no random bytes: %s", strerror(errno));
  }
  luaL_pushresultsize(&buffer, (size_t)count);
  return 1;
}

int luaopen_rtl_native_entropy(lua_State *L) {
  static const luaL_Reg functions[] = {{"bytes", l_bytes}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
