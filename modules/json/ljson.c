/* rtl.native.json */
#include "json/ljson.h"

#include "fail.h"
#include "json/json.h"
#include "secret/lsecret.h"

#include <lauxlib.h>
#include <string.h>

int luaopen_rtl_native_json(lua_State *L);

#define DOC "rtl.json.doc"

/* The walk over a parsed document; takes one note for each string and number. */
struct walk {
  lua_State *L;
  const struct json_note *next;
  int mark;   /* stack place of the array mark */
  int hidden; /* stack place of the set of secret keys, or 0 */
};

static int doc_close(lua_State *L) {
  json_free(luaL_checkudata(L, 1, DOC));
  return 0;
}

/* Pushes an empty document that the collector frees if the walk raises. */
static struct json_doc *push_doc(lua_State *L) {
  struct json_doc *doc = lua_newuserdatauv(L, sizeof *doc, 0);
  memset(doc, 0, sizeof *doc);
  if (luaL_newmetatable(L, DOC)) {
    lua_pushcfunction(L, doc_close);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return doc;
}

static void push_value(struct walk *w, cJSON *item, int secret);

static int count(const cJSON *item) {
  int n = 0;
  for (const cJSON *child = item->child; child != NULL; child = child->next) {
    n++;
  }
  return n;
}

static void push_array(struct walk *w, cJSON *item, int secret) {
  lua_createtable(w->L, count(item), 0);
  lua_pushvalue(w->L, w->mark);
  lua_setmetatable(w->L, -2);
  lua_Integer n = 0;
  for (cJSON *child = item->child; child != NULL; child = child->next) {
    push_value(w, child, secret);
    lua_rawseti(w->L, -2, ++n);
  }
}

static void push_object(struct walk *w, cJSON *item, int secret) {
  lua_createtable(w->L, 0, count(item));
  for (cJSON *child = item->child; child != NULL; child = child->next) {
    lua_pushlstring(w->L, child->string, (w->next++)->as.length);
    push_value(w, child, secret || rtl_is_secret_name(w->L, w->hidden));
    lua_rawset(w->L, -3);
  }
}

static void push_string(struct walk *w, cJSON *item, int secret) {
  size_t size = (w->next++)->as.length;
  rtl_push_bytes(w->L, item->valuestring, size, secret);
  if (secret) {
    rtl_wipe(item->valuestring, size);
  }
}

static void push_number(struct walk *w) {
  const struct json_note *note = w->next++;
  if (note->kind == JSON_INTEGER) {
    lua_pushinteger(w->L, note->as.integer);
  } else {
    lua_pushnumber(w->L, note->as.number);
  }
}

static void push_value(struct walk *w, cJSON *item, int secret) {
  luaL_checkstack(w->L, 6, "JSON");
  switch (item->type & 0xFF) {
    case cJSON_String: push_string(w, item, secret); break;
    case cJSON_Number: push_number(w); break;
    case cJSON_Array: push_array(w, item, secret); break;
    case cJSON_Object: push_object(w, item, secret); break;
    case cJSON_NULL: rtl_push_null(w->L); break;
    default: lua_pushboolean(w->L, cJSON_IsTrue(item)); break;
  }
}

/*** json.decode(bytes, {secret = {name, …}}) → value or nil, err
 * Reads one JSON value from a string or a secret. Integers are exact to 64 bits (beyond that they
 * become floats), arrays are marked (rtl.array), null is rtl.null. The strings under the keys named
 * in `secret`, at any depth, become rtl.native.secret and never were Lua strings.
 * Malformed text: nil and an error RTL-DATA-001 with line and column. */
static int l_decode(lua_State *L) {
  size_t size;
  struct json_error error;
  const char *text = rtl_check_bytes(L, 1, &size);
  lua_settop(L, 2);
  struct walk w = {.L = L, .hidden = rtl_push_secret_names(L, 2)};
  struct json_doc *doc = push_doc(L);
  if (!json_parse(text, size, doc, &error)) {
    return rtl_fail_at(L, "RTL-DATA-001", error.message, error.line, error.column);
  }
  rtl_push_array_mark(L);
  w.mark = lua_gettop(L);
  w.next = doc->notes;
  push_value(&w, doc->root, 0);
  json_free(doc);
  return 1;
}

int luaopen_rtl_native_json(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"decode", l_decode},
      {"encode", rtl_json_encode},
      {NULL, NULL},
  };
  luaL_newlib(L, functions);
  rtl_push_null(L);
  lua_setfield(L, -2, "null");
  rtl_push_array_mark(L);
  lua_setfield(L, -2, "array_mark");
  return 1;
}
