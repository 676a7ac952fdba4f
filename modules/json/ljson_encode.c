/* json.encode: Lua values to a cJSON tree that borrows their strings, and that to text. */
#include "json/ljson.h"

#include "json/json.h"
#include "secret/lsecret.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#define TREE "rtl.json.tree"

/* Owns what must be freed when a value raises half-way. */
struct tree {
  cJSON *root;
  char *text;
};

struct writer {
  lua_State *L;
  struct tree *tree;
  int secrets; /* whether secrets may be written */
};

static void write_value(struct writer *w, cJSON *parent, const struct rtl_frame *up);

static int tree_close(lua_State *L) {
  struct tree *tree = luaL_checkudata(L, 1, TREE);
  cJSON_Delete(tree->root);
  free(tree->text);
  memset(tree, 0, sizeof *tree);
  return 0;
}

static struct tree *push_tree(lua_State *L) {
  struct tree *tree = lua_newuserdatauv(L, sizeof *tree, 0);
  memset(tree, 0, sizeof *tree);
  if (luaL_newmetatable(L, TREE)) {
    lua_pushcfunction(L, tree_close);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return tree;
}

static void refuse(const struct writer *w, const struct rtl_frame *at, const char *what) {
  rtl_frame_refuse(w->L, "json.encode", at, what);
}

/* Hangs `item` (taken; NULL means no memory) below `parent`, or makes it the root. */
static cJSON *attach(struct writer *w, cJSON *parent, const struct rtl_frame *up, cJSON *item) {
  int done = item != NULL;
  if (done && parent == NULL) {
    w->tree->root = item;
  } else if (done && up->key != NULL) {
    done = cJSON_AddItemToObjectCS(parent, up->key, item);
  } else if (done) {
    done = cJSON_AddItemToArray(parent, item);
  }
  if (!done) {
    cJSON_Delete(item);
    luaL_error(w->L, "not enough memory");
  }
  return item;
}

static void write_string(struct writer *w, cJSON *parent, const struct rtl_frame *up) {
  size_t size;
  const char *bytes = rtl_test_bytes(w->L, -1, &size);
  if (bytes == NULL) {
    refuse(w, up, "a userdata can't be encoded");
  }
  int secret = lua_type(w->L, -1) != LUA_TSTRING;
  if (secret && !w->secrets) {
    refuse(w, up, "a secret needs the option secret = true");
  }
  if (json_is_plain(bytes, size)) {
    attach(w, parent, up, cJSON_CreateStringReference(bytes));
    return;
  }
  if (secret) {
    refuse(w, up, "a secret that is not UTF-8 text");
  }
  char *quoted = json_quote(bytes, size);
  cJSON *raw = quoted == NULL ? NULL : cJSON_CreateRaw(quoted);
  free(quoted);
  attach(w, parent, up, raw);
}

static void write_number(struct writer *w, cJSON *parent, const struct rtl_frame *up) {
  char text[JSON_NUMBER_SIZE];
  if (lua_isinteger(w->L, -1)) {
    json_print_integer(lua_tointeger(w->L, -1), text);
  } else if (!json_print_float(lua_tonumber(w->L, -1), text)) {
    refuse(w, up, "NaN and infinity have no JSON form");
  }
  attach(w, parent, up, cJSON_CreateRaw(text));
}

static void write_array(struct writer *w, cJSON *array, struct rtl_frame *frame,
                        lua_Unsigned length) {
  for (lua_Integer i = 1; i <= (lua_Integer)length; i++) {
    frame->index = i;
    lua_rawgeti(w->L, -1, i);
    write_value(w, array, frame);
    lua_pop(w->L, 1);
  }
}

static void write_object(struct writer *w, cJSON *object, struct rtl_frame *frame) {
  size_t count = 0;
  const struct rtl_key *keys = rtl_push_sorted_keys(w->L, -1, &count);
  if (keys == NULL) {
    refuse(w, frame, "an object with a key that is no string (or an array without index 1)");
  }
  for (size_t i = 0; i < count; i++) {
    if (!json_is_plain(keys[i].bytes, keys[i].size)) {
      refuse(w, frame, "a key that is not UTF-8 text");
    }
    frame->key = keys[i].bytes;
    lua_pushlstring(w->L, keys[i].bytes, keys[i].size);
    lua_rawget(w->L, -3);
    write_value(w, object, frame);
    lua_pop(w->L, 1);
  }
  lua_pop(w->L, 1);
}

static void write_table(struct writer *w, cJSON *parent, const struct rtl_frame *up) {
  struct rtl_frame frame;
  lua_Unsigned length = 0;
  const char *wrong = rtl_frame_enter(w->L, &frame, up);
  if (wrong != NULL) {
    refuse(w, up, wrong);
  }
  switch (rtl_table_shape(w->L, -1, &length)) {
    case RTL_ARRAY:
      write_array(w, attach(w, parent, up, cJSON_CreateArray()), &frame, length);
      break;
    case RTL_OBJECT: write_object(w, attach(w, parent, up, cJSON_CreateObject()), &frame); break;
    case RTL_HOLES: refuse(w, up, "an array with holes"); break;
    case RTL_MIXED: refuse(w, up, "an array with a key that is no index"); break;
  }
}

/* Writes the value on top of the stack and leaves it there. */
static void write_value(struct writer *w, cJSON *parent, const struct rtl_frame *up) {
  luaL_checkstack(w->L, 10, "JSON");
  switch (lua_type(w->L, -1)) {
    case LUA_TTABLE: write_table(w, parent, up); break;
    case LUA_TNUMBER: write_number(w, parent, up); break;
    case LUA_TSTRING:
    case LUA_TUSERDATA: write_string(w, parent, up); break;
    case LUA_TBOOLEAN: attach(w, parent, up, cJSON_CreateBool(lua_toboolean(w->L, -1))); break;
    default:
      if (!rtl_is_null(w->L, -1)) {
        lua_pushfstring(w->L, "a %s can't be encoded", luaL_typename(w->L, -1));
        refuse(w, up, lua_tostring(w->L, -1));
      }
      attach(w, parent, up, cJSON_CreateNull());
  }
}

/* Prints into memory that is wiped when it proves too small, and pushes a secret. */
static void push_secret_text(struct writer *w) {
  for (int size = 1024; size < 1 << 28; size *= 2) {
    char *buffer = rtl_push_secret(w->L, (size_t)size);
    if (cJSON_PrintPreallocated(w->tree->root, buffer, size, 0)) {
      size_t used = strlen(buffer);
      memcpy(rtl_push_secret(w->L, used), buffer, used);
      rtl_wipe(buffer, used);
      return;
    }
    lua_getfield(w->L, -1, "close");
    lua_insert(w->L, -2);
    lua_call(w->L, 1, 0);
  }
  luaL_error(w->L, "json.encode: more than 256 MiB of secret text");
}

static void push_text(struct writer *w, int pretty) {
  struct tree *tree = w->tree;
  tree->text = pretty ? cJSON_Print(tree->root) : cJSON_PrintUnformatted(tree->root);
  if (tree->text != NULL && pretty) {
    char *calm = json_indent(tree->text);
    free(tree->text);
    tree->text = calm;
  }
  if (tree->text == NULL) {
    luaL_error(w->L, "not enough memory");
  }
  lua_pushstring(w->L, tree->text);
}

static int option(lua_State *L, const char *name) {
  int set = 0;
  if (!lua_isnil(L, 2)) {
    lua_getfield(L, 2, name);
    set = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  return set;
}

/*** json.encode(value, {pretty = boolean, secret = boolean}) → string or secret
 * Writes a value as JSON with sorted keys. Marked tables (rtl.array) and tables with a value at 1
 * are arrays, all others objects; integral floats below 2^53 have no fraction; bytes that are not
 * UTF-8 become U+FFFD. `pretty` lays it out over lines; `secret` lets the value hold secrets and
 * makes the text one. Raises, naming the place, for holes, cycles, NaN, infinity, functions. */
int rtl_json_encode(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 2);
  luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "table");
  struct writer w = {.L = L, .tree = push_tree(L), .secrets = option(L, "secret")};
  lua_pushvalue(L, 1);
  write_value(&w, NULL, NULL);
  if (w.secrets) {
    push_secret_text(&w);
  } else {
    push_text(&w, option(L, "pretty"));
  }
  lua_pushcfunction(L, tree_close);
  lua_pushvalue(L, 3);
  lua_call(L, 1, 0);
  return 1;
}
