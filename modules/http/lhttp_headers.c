/* Headers as Lua values: those of a request as callers give them and as the wire passes them on,
 * those of an answer by their names. */
#include "http/lhttp.h"

#include "secret/lsecret.h"

#include <ctype.h>
#include <lauxlib.h>
#include <strings.h>

enum { GIVEN = 1, AGENT, LIST, PAIR, NAME, VALUE }; /* stack places of http.headers */

/* Pushes nil and the text at the top of the stack. */
static int wrong(lua_State *L) {
  luaL_pushfail(L);
  lua_insert(L, -2);
  return 2;
}

/* Pushes name and value of the pair, or what is wrong with them. */
static int push_parts(lua_State *L, lua_Integer i) {
  if (!lua_istable(L, PAIR) || lua_geti(L, PAIR, 1) != LUA_TSTRING) {
    lua_pushfstring(L, "header number %I is no pair of a name and a value", i);
    return -1;
  }
  int kind = lua_geti(L, PAIR, 2);
  if (kind != LUA_TSTRING && kind != LUA_TNUMBER && rtl_test_secret(L, VALUE) == NULL) {
    lua_pushfstring(L, "header %s is no string or secret", lua_tostring(L, NAME));
    return -1;
  }
  return 0;
}

/* Pushes the pair; a number becomes text, in a pair of its own. */
static void push_pair(lua_State *L) {
  if (lua_type(L, VALUE) != LUA_TNUMBER) {
    lua_pushvalue(L, PAIR);
    return;
  }
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, NAME);
  lua_rawseti(L, -2, 1);
  luaL_tolstring(L, VALUE, NULL);
  lua_rawseti(L, -2, 2);
}

/* Whether all keys of the headers are places in a list. */
static int is_list(lua_State *L) {
  int kind = LUA_TNUMBER;
  lua_pushnil(L);
  while (kind == LUA_TNUMBER && lua_next(L, GIVEN) != 0) {
    lua_pop(L, 1);
    kind = lua_type(L, -1);
  }
  lua_settop(L, LIST);
  return kind == LUA_TNUMBER;
}

/*** http.headers(pairs, agent) → {{name, value}, …} | nil, message
 * The headers of a request in a list of their own, or what is wrong with them. Numbers become text;
 * what frames the body is left out, since libcurl and the world set that themselves; the pair
 * `agent` is added unless there is a User-Agent. */
int rtl_http_l_headers(lua_State *L) {
  int has_agent = 0;
  lua_Integer count = 0;
  luaL_checktype(L, GIVEN, LUA_TTABLE);
  luaL_checktype(L, AGENT, LUA_TTABLE);
  lua_settop(L, AGENT);
  lua_createtable(L, 8, 0);
  if (!is_list(L)) {
    lua_pushliteral(L, "headers are pairs or go by name, not both");
    return wrong(L);
  }
  for (lua_Integer i = 1; lua_geti(L, GIVEN, i) != LUA_TNIL; i++) {
    if (push_parts(L, i) != 0) {
      return wrong(L);
    }
    const char *name = lua_tostring(L, NAME);
    has_agent = has_agent || strcasecmp(name, "User-Agent") == 0;
    if (strcasecmp(name, "Content-Length") != 0 && strcasecmp(name, "Transfer-Encoding") != 0) {
      push_pair(L);
      lua_rawseti(L, LIST, ++count);
    }
    lua_settop(L, LIST);
  }
  if (!has_agent) {
    lua_pushvalue(L, AGENT);
    lua_rawseti(L, LIST, ++count);
  }
  lua_settop(L, LIST);
  return 1;
}

/* ---- an answer's ---- */

enum { ALL = 1, MAP, REPEATED, ONE, TEXT, SMALL, BEFORE }; /* stack places of http.by_name */

static void push_small(lua_State *L, int index) {
  size_t size;
  const char *text = luaL_checklstring(L, index, &size);
  luaL_Buffer buffer;
  char *out = luaL_buffinitsize(L, &buffer, size);
  for (size_t i = 0; i < size; i++) {
    out[i] = (char)tolower((unsigned char)text[i]);
  }
  luaL_pushresultsize(&buffer, size);
}

/* Makes {value before, value} of what the map holds for the name, or adds the value to that. */
static void add_repeated(lua_State *L) {
  if (lua_isnil(L, REPEATED)) {
    lua_newtable(L);
    lua_replace(L, REPEATED);
  }
  lua_pushvalue(L, SMALL);
  if (lua_rawget(L, REPEATED) == LUA_TNIL) {
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, BEFORE);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, SMALL);
    lua_pushvalue(L, -2);
    lua_rawset(L, REPEATED);
  }
  lua_geti(L, ONE, 2);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

/*** http.by_name({{name, value}, …}) → {name = value}, {name = {value, value, …}} | nil
 * The first value of each name, in small letters, and all values of the names that are repeated. */
int rtl_http_l_by_name(lua_State *L) {
  luaL_checktype(L, ALL, LUA_TTABLE);
  lua_settop(L, ALL);
  lua_createtable(L, 0, 8);
  lua_pushnil(L);
  for (lua_Integer i = 1; lua_geti(L, ALL, i) != LUA_TNIL; i++) {
    lua_geti(L, ONE, 1);
    push_small(L, TEXT);
    lua_pushvalue(L, SMALL);
    if (lua_rawget(L, MAP) != LUA_TNIL) {
      add_repeated(L);
    } else {
      lua_pushvalue(L, SMALL);
      lua_geti(L, ONE, 2);
      lua_rawset(L, MAP);
    }
    lua_settop(L, REPEATED);
  }
  lua_settop(L, REPEATED);
  return 2;
}
