/* Where require() finds rtl's own modules: native ones linked in, Lua ones embedded (or, with
 * RTL_LUA=DIR, read from DIR while working on them). */
#include "host.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

extern const char rtl_embedded[];
extern const char rtl_embedded_end[];

#define RTL_NATIVE(name) int luaopen_rtl_native_##name(lua_State *L);
#include "natives.h"
#undef RTL_NATIVE

static const luaL_Reg natives[] = {
#define RTL_NATIVE(name) {"rtl.native." #name, luaopen_rtl_native_##name},
#include "natives.h"
#undef RTL_NATIVE
    {"rtl.native.host", luaopen_rtl_native_host},
    {NULL, NULL},
};

struct entry {
  const char *name;
  const char *bytes;
  size_t size;
};

/* Reads the entry at `at` (format: host/pack.lua); returns where the next one starts, or NULL at
 * the end. The pointers stay owned by the image. */
static const char *next_entry(const char *at, struct entry *out) {
  if (at >= rtl_embedded_end) {
    return NULL;
  }
  out->name = at;
  const char *size = at + strlen(at) + 1;
  out->size = strtoul(size, NULL, 10);
  out->bytes = size + strlen(size) + 1;
  return out->bytes + out->size;
}

static int find_entry(const char *name, struct entry *out) {
  for (const char *at = rtl_embedded; (at = next_entry(at, out)) != NULL;) {
    if (strcmp(out->name, name) == 0) {
      return 1;
    }
  }
  return 0;
}

/* Loads DIR/rtl/….lua when RTL_LUA is set. Pushes the loader and its path; 0 if there is none. */
static int load_from_disk(lua_State *L, const char *path) {
  const char *dir = getenv("RTL_LUA");
  if (dir == NULL) {
    return 0;
  }
  const char *file = lua_pushfstring(L, "%s/%s", dir, path);
  int status = luaL_loadfile(L, file);
  if (status == LUA_ERRFILE) {
    lua_pop(L, 2);
    return 0;
  }
  if (status != LUA_OK) {
    return lua_error(L);
  }
  lua_pushstring(L, file);
  return 2;
}

static int load_embedded(lua_State *L, const char *path) {
  struct entry found;
  if (!find_entry(path, &found)) {
    return 0;
  }
  const char *chunk = lua_pushfstring(L, "@%s", path);
  if (luaL_loadbuffer(L, found.bytes, found.size, chunk) != LUA_OK) {
    return lua_error(L);
  }
  lua_pushstring(L, path);
  return 2;
}

/* package.searchers entry: name → loader, place, or a text that says where it looked. */
static int searcher(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  if (strncmp(name, "rtl.", 4) != 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  const char *path = luaL_gsub(L, name, ".", "/");
  const char *forms[2];
  forms[0] = lua_pushfstring(L, "%s.lua", path);
  forms[1] = lua_pushfstring(L, "%s/init.lua", path);
  for (size_t i = 0; i < 2; i++) {
    int found = load_from_disk(L, forms[i]);
    if (found == 0) {
      found = load_embedded(L, forms[i]);
    }
    if (found != 0) {
      return found;
    }
  }
  lua_pushfstring(L, "no embedded module '%s'", name);
  return 1;
}

/* host.embedded(path) → the bytes, or nil. */
static int host_embedded(lua_State *L) {
  struct entry found;
  if (!find_entry(luaL_checkstring(L, 1), &found)) {
    return 0;
  }
  lua_pushlstring(L, found.bytes, found.size);
  return 1;
}

/* host.embedded_names(prefix) → array of paths that start with it. */
static int host_embedded_names(lua_State *L) {
  size_t length;
  const char *prefix = luaL_optlstring(L, 1, "", &length);
  struct entry found;
  lua_Integer n = 0;
  lua_newtable(L);
  for (const char *at = rtl_embedded; (at = next_entry(at, &found)) != NULL;) {
    if (strncmp(found.name, prefix, length) == 0) {
      lua_pushstring(L, found.name);
      lua_rawseti(L, -2, ++n);
    }
  }
  return 1;
}

int luaopen_rtl_native_host(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"embedded", host_embedded},
      {"embedded_names", host_embedded_names},
      {NULL, NULL},
  };
  luaL_newlib(L, functions);
  lua_pushliteral(L, RTL_VERSION);
  lua_setfield(L, -2, "version");
  rtl_interrupt_bind(L);
  rtl_repl_bind(L);
  return 1;
}

void rtl_open_modules(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  luaL_setfuncs(L, natives, 0);
  lua_pop(L, 1);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchers"); /* package searchers */
  for (lua_Integer i = luaL_len(L, -1); i >= 2; i--) {
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushcfunction(L, searcher);
  lua_rawseti(L, -2, 2); /* after preload, before the file system */
  lua_pop(L, 2);
}
