/* rtl.native.yaml */
#include "fail.h"
#include "json/json.h"
#include "json/ljson.h"
#include "secret/lsecret.h"
#include "yaml/yaml.h"

#include <lauxlib.h>
#include <string.h>

int luaopen_rtl_native_yaml(lua_State *L);

#define TREE "rtl.yaml.tree"
#define WRITER "rtl.yaml.writer"

static int tree_close(lua_State *L) {
  tree_free(luaL_checkudata(L, 1, TREE));
  return 0;
}

static int writer_close(lua_State *L) {
  struct tree_writer **box = luaL_checkudata(L, 1, WRITER);
  tree_writer_free(*box);
  *box = NULL;
  return 0;
}

static void set_metatable(lua_State *L, const char *name, lua_CFunction close) {
  if (luaL_newmetatable(L, name)) {
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
}

/* The walk over a tree: stack places of the array mark and of the secret names (0: none). */
struct walk {
  lua_State *L;
  int mark, hidden;
};

static void push_node(const struct walk *w, const struct tree_node *node, int secret);

static void push_array(const struct walk *w, const struct tree_node *node, int secret) {
  lua_State *L = w->L;
  size_t count = node->as.items.count;
  lua_createtable(L, (int)count, 0);
  lua_pushvalue(L, w->mark);
  lua_setmetatable(L, -2);
  for (size_t i = 0; i < count; i++) {
    push_node(w, node->as.items.entries[i].value, secret);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_object(const struct walk *w, const struct tree_node *node, int secret) {
  lua_State *L = w->L;
  lua_createtable(L, 0, (int)node->as.items.count);
  for (size_t i = 0; i < node->as.items.count; i++) {
    const struct tree_entry *entry = &node->as.items.entries[i];
    push_node(w, entry->key, 0);
    push_node(w, entry->value, secret || rtl_is_secret_name(L, w->hidden));
    lua_rawset(L, -3);
  }
}

/* Pushes a node's value; `secret`: it lies below a secret key. */
static void push_node(const struct walk *w, const struct tree_node *node, int secret) {
  lua_State *L = w->L;
  luaL_checkstack(L, 6, "YAML");
  switch (node->kind) {
    case TREE_NULL: rtl_push_null(L); break;
    case TREE_BOOL: lua_pushboolean(L, node->as.truth); break;
    case TREE_INTEGER: lua_pushinteger(L, node->as.integer); break;
    case TREE_FLOAT: lua_pushnumber(L, node->as.number); break;
    case TREE_STRING:
      rtl_push_bytes(L, node->as.string.bytes, node->as.string.size, secret);
      break;
    case TREE_ARRAY: push_array(w, node, secret); break;
    case TREE_OBJECT: push_object(w, node, secret); break;
  }
}

/* Pushes an array of {line, column, message}. */
static void push_warnings(lua_State *L, const struct tree *tree) {
  lua_createtable(L, (int)tree->warning_count, 0);
  for (size_t i = 0; i < tree->warning_count; i++) {
    lua_createtable(L, 0, 3);
    lua_pushinteger(L, (lua_Integer)tree->warnings[i].line);
    lua_setfield(L, -2, "line");
    lua_pushinteger(L, (lua_Integer)tree->warnings[i].column);
    lua_setfield(L, -2, "column");
    lua_pushstring(L, tree->warnings[i].message);
    lua_setfield(L, -2, "message");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Parses argument 1 into a tree that it pushes, and prepares the walk; else NULL, with nil and err
 * pushed. */
static struct tree *parse(lua_State *L, struct walk *w) {
  size_t size;
  struct tree_error error;
  const char *text = rtl_check_bytes(L, 1, &size);
  lua_settop(L, 2);
  w->L = L;
  w->hidden = rtl_push_secret_names(L, 2);
  int wipe = w->hidden != 0 || lua_type(L, 1) != LUA_TSTRING;
  struct tree *tree = lua_newuserdatauv(L, sizeof *tree, 0);
  memset(tree, 0, sizeof *tree);
  set_metatable(L, TREE, tree_close);
  rtl_push_array_mark(L);
  w->mark = lua_gettop(L);
  if (!tree_parse(text, size, wipe, tree, &error)) {
    rtl_fail_at(L, "RTL-DATA-002", error.message, error.line, error.column);
    return NULL;
  }
  return tree;
}

/*** yaml.decode(bytes, {secret = {name, …}}) → value, warnings or nil, err
 * Reads the one document of a text as kubectl would: null is rtl.null, arrays are marked, keys stay
 * the text that was written. No document gives null; several are an error. `warnings` is an array
 * of {line, column, message} for scalars that were likely meant as strings. The strings under the
 * keys named in `secret`, at any depth, become rtl.native.secret.
 * Malformed text: nil and an error RTL-DATA-002 with line and column. */
static int l_decode(lua_State *L) {
  struct walk w;
  struct tree *tree = parse(L, &w);
  if (tree == NULL) {
    return 2; /* nil err */
  }
  if (tree->count > 1) {
    const struct tree_node *second = tree->documents[1];
    return rtl_fail_at(L, "RTL-DATA-002", "one document expected, here begins a second one",
                       second->line, second->column);
  }
  if (tree->count == 0) {
    rtl_push_null(L);
  } else {
    push_node(&w, tree->documents[0], 0);
  }
  push_warnings(L, tree);
  tree_free(tree);
  return 2; /* value warnings */
}

/*** yaml.decode_all(bytes, {secret = {name, …}}) → array, info or nil, err
 * Reads all documents, as decode does. Those that are null or hold only comments are left out and
 * counted in `info.empty`; info.warnings as for decode. */
static int l_decode_all(lua_State *L) {
  struct walk w;
  struct tree *tree = parse(L, &w);
  if (tree == NULL) {
    return 2; /* nil err */
  }
  lua_createtable(L, (int)tree->count, 0);
  rtl_mark_array(L, -1);
  for (size_t i = 0; i < tree->count; i++) {
    push_node(&w, tree->documents[i], 0);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_createtable(L, 0, 2);
  lua_pushinteger(L, (lua_Integer)tree->empty);
  lua_setfield(L, -2, "empty");
  push_warnings(L, tree);
  lua_setfield(L, -2, "warnings");
  tree_free(tree);
  return 2; /* array info */
}

struct output {
  lua_State *L;
  struct tree_writer *writer;
};

static void write_value(struct output *o, const struct rtl_frame *up);

static void check(struct output *o, int done) {
  if (!done) {
    luaL_error(o->L, "yaml.encode: %s", tree_writer_problem(o->writer));
  }
}

static void refuse(struct output *o, const struct rtl_frame *at, const char *what) {
  rtl_frame_refuse(o->L, "yaml.encode", at, what);
}

static void write_number(struct output *o, const struct rtl_frame *up) {
  char text[JSON_NUMBER_SIZE + 2];
  if (lua_isinteger(o->L, -1)) {
    json_print_integer(lua_tointeger(o->L, -1), text);
  } else if (!json_print_float(lua_tonumber(o->L, -1), text)) {
    refuse(o, up, "NaN and infinity have no JSON form");
  }
  char *exponent = strchr(text, 'e');
  if (exponent != NULL && strchr(text, '.') == NULL) { /* 1e+300 is a string to YAML 1.1 */
    memmove(exponent + 2, exponent, strlen(exponent) + 1);
    memcpy(exponent, ".0", 2);
  }
  check(o, tree_write_plain(o->writer, text));
}

static void write_array(struct output *o, struct rtl_frame *frame, lua_Unsigned length) {
  check(o, tree_write_start(o->writer, TREE_ARRAY));
  for (lua_Integer i = 1; i <= (lua_Integer)length; i++) {
    frame->index = i;
    lua_rawgeti(o->L, -1, i);
    write_value(o, frame);
    lua_pop(o->L, 1);
  }
  check(o, tree_write_end(o->writer, TREE_ARRAY));
}

static void write_object(struct output *o, struct rtl_frame *frame) {
  size_t count = 0;
  const struct rtl_key *keys = rtl_push_sorted_keys(o->L, -1, &count);
  if (keys == NULL) {
    refuse(o, frame, "an object with a key that is no string (or an array without index 1)");
  }
  check(o, tree_write_start(o->writer, TREE_OBJECT));
  for (size_t i = 0; i < count; i++) {
    frame->key = keys[i].bytes;
    check(o, tree_write_string(o->writer, keys[i].bytes, keys[i].size, 1));
    lua_pushlstring(o->L, keys[i].bytes, keys[i].size);
    lua_rawget(o->L, -3);
    write_value(o, frame);
    lua_pop(o->L, 1);
  }
  lua_pop(o->L, 1);
  check(o, tree_write_end(o->writer, TREE_OBJECT));
}

static void write_table(struct output *o, const struct rtl_frame *up) {
  struct rtl_frame frame;
  lua_Unsigned length = 0;
  const char *wrong = rtl_frame_enter(o->L, &frame, up);
  if (wrong != NULL) {
    refuse(o, up, wrong);
  }
  switch (rtl_table_shape(o->L, -1, &length)) {
    case RTL_ARRAY: write_array(o, &frame, length); break;
    case RTL_OBJECT: write_object(o, &frame); break;
    case RTL_HOLES: refuse(o, up, "an array with holes"); break;
    case RTL_MIXED: refuse(o, up, "an array with a key that is no index"); break;
  }
}

/* Writes the value on top of the stack and leaves it there. */
static void write_value(struct output *o, const struct rtl_frame *up) {
  size_t size;
  const char *bytes;
  luaL_checkstack(o->L, 10, "YAML");
  switch (lua_type(o->L, -1)) {
    case LUA_TTABLE: write_table(o, up); break;
    case LUA_TNUMBER: write_number(o, up); break;
    case LUA_TBOOLEAN:
      check(o, tree_write_plain(o->writer, lua_toboolean(o->L, -1) ? "true" : "false"));
      break;
    case LUA_TSTRING:
      bytes = lua_tolstring(o->L, -1, &size);
      check(o, tree_write_string(o->writer, bytes, size, 0));
      break;
    default:
      if (!rtl_is_null(o->L, -1)) {
        lua_pushfstring(o->L, "a %s can't be encoded", luaL_typename(o->L, -1));
        refuse(o, up, lua_tostring(o->L, -1));
      }
      check(o, tree_write_plain(o->writer, "null"));
  }
}

static struct output push_output(lua_State *L) {
  struct tree_writer **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  set_metatable(L, WRITER, writer_close);
  *box = tree_writer_new();
  if (*box == NULL) {
    luaL_error(L, "not enough memory");
  }
  return (struct output){L, *box};
}

static void write_document(struct output *o, int first) {
  check(o, tree_write_document(o->writer, first));
  write_value(o, NULL);
  check(o, tree_write_document_end(o->writer));
}

/* Pushes the text; the writer lies at stack place 2. */
static int push_text(struct output *o) {
  size_t size;
  const char *text = tree_writer_finish(o->writer, &size);
  check(o, text != NULL);
  lua_pushlstring(o->L, text, size);
  lua_pushcfunction(o->L, writer_close);
  lua_pushvalue(o->L, 2);
  lua_call(o->L, 1, 0);
  return 1;
}

/*** yaml.encode(value) → string
 * Writes one document: sorted keys, block style, no folding; every string that some YAML reader
 * would take for another type is quoted. Arrays, objects and raises as for json.encode; a secret
 * raises. */
static int l_encode(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  struct output o = push_output(L);
  lua_pushvalue(L, 1);
  write_document(&o, 1);
  return push_text(&o);
}

/*** yaml.encode_all(array) → string
 * Writes several documents, separated by '---'. */
static int l_encode_all(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  struct output o = push_output(L);
  for (lua_Integer i = 1; lua_geti(L, 1, i) != LUA_TNIL; i++) {
    write_document(&o, i == 1);
    lua_pop(L, 1);
  }
  return push_text(&o);
}

int luaopen_rtl_native_yaml(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"decode", l_decode},
      {"decode_all", l_decode_all},
      {"encode", l_encode},
      {"encode_all", l_encode_all},
      {NULL, NULL},
  };
  luaL_newlib(L, functions);
  return 1;
}
