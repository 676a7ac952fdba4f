/* What the writers and readers of values share: null and the array mark (a light userdata and one
 * shared metatable, so that C makes both without asking Lua), shapes, sorted keys, places. */
#include "json/ljson.h"

#include "json/json.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

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

static int compare_keys(const void *a, const void *b) {
  const struct rtl_key *x = a;
  const struct rtl_key *y = b;
  int order = memcmp(x->bytes, y->bytes, x->size < y->size ? x->size : y->size);
  return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

const struct rtl_key *rtl_push_sorted_keys(lua_State *L, int index, size_t *count) {
  index = lua_absindex(L, index);
  size_t n = 0;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      lua_pop(L, 2);
      return NULL;
    }
    n++;
  }
  struct rtl_key *keys = lua_newuserdatauv(L, n * sizeof *keys + 1, 0);
  *count = n;
  n = 0;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    keys[n].bytes = lua_tolstring(L, -2, &keys[n].size);
    n++;
  }
  qsort(keys, n, sizeof *keys, compare_keys);
  return keys;
}

const char *rtl_frame_enter(lua_State *L, struct rtl_frame *frame, const struct rtl_frame *up) {
  *frame = (struct rtl_frame){.up = up, .table = lua_topointer(L, -1)};
  frame->depth = up == NULL ? 1 : up->depth + 1;
  if (frame->depth > JSON_MAX_DEPTH) {
    return "nested deeper than 256 levels";
  }
  for (const struct rtl_frame *at = up; at != NULL; at = at->up) {
    if (at->table == frame->table) {
      return "a table that contains itself";
    }
  }
  return NULL;
}

static const char *push_place(lua_State *L, const struct rtl_frame *at) {
  if (at == NULL) {
    return lua_pushliteral(L, "value");
  }
  luaL_checkstack(L, 8, "place");
  push_place(L, at->up);
  if (at->key != NULL) {
    lua_pushfstring(L, ".%s", at->key);
  } else if (at->index > 0) {
    lua_pushfstring(L, "[%I]", (LUAI_UACINT)at->index);
  } else {
    lua_pushliteral(L, "");
  }
  lua_concat(L, 2);
  return lua_tostring(L, -1);
}

int rtl_frame_refuse(lua_State *L, const char *who, const struct rtl_frame *at, const char *what) {
  luaL_checkstack(L, 8, "place");
  return luaL_error(L, "%s: %s: %s", who, push_place(L, at), what);
}
