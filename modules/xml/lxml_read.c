/* xml.plan and xml.read: a document straight into the tables that a shape (rtl.aws.model) asks for,
 * without tables for the rest. */
#include "fail.h"
#include "json/ljson.h"
#include "secret/lsecret.h"
#include "xml/lxml.h"
#include "xml/xml.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#define PLAN "rtl.xml.plan"

enum kind { STRUCTURE, LIST, MAP, STRING, INT, BOOL, SECRET, OTHER };

struct member {
  const char *wire; /* the element's name; the plan's values hold it */
  size_t size;
  lua_Integer key; /* where the member's name lies in the plan's values */
  const struct shape *shape;
};

struct shape {
  struct shape *next; /* all of a plan */
  enum kind kind;
  int flat;
  lua_Integer id; /* where its table lies in the plan's values */
  const struct shape *inner; /* of a list or map */
  struct member *members;
  size_t count, collections;
  unsigned char *slots; /* open addressing: a member's number from 1; 0: free */
  size_t mask;
};

/* Its user values: 1, an array of names and shapes; 2, the function for what is not made here. */
struct plan {
  struct shape *shapes;
  const struct shape *root;
};

static int plan_close(lua_State *L) {
  struct plan *plan = luaL_checkudata(L, 1, PLAN);
  while (plan->shapes != NULL) {
    struct shape *shape = plan->shapes;
    plan->shapes = shape->next;
    free(shape->members);
    free(shape->slots);
    free(shape);
  }
  return 0;
}

static size_t hash(const char *bytes, size_t size) {
  size_t h = size;
  for (size_t i = 0; i < size; i++) {
    h = (h ^ (unsigned char)bytes[i]) * 16777619u;
  }
  return h ^ (h >> 15);
}

/* ------------------------------------------------------------ making a plan */
/* Stack places in l_plan, and where compile finds them. */
enum { SHAPE = 1, PUT = 2, USERDATA = 3, VALUES = 4, SEEN = 5 };

/* Keeps the value on top of the stack (popped) with the plan; returns its place. */
static lua_Integer keep(lua_State *L) {
  lua_Integer place = (lua_Integer)lua_rawlen(L, VALUES) + 1;
  lua_rawseti(L, VALUES, place);
  return place;
}

static enum kind kind_of(lua_State *L, int index) {
  static const struct {
    const char *name;
    enum kind kind;
  } kinds[] = {{"structure", STRUCTURE}, {"list", LIST}, {"map", MAP},       {"string", STRING},
               {"token", STRING},        {"int", INT},   {"bool", BOOL},     {"secret", SECRET}};
  lua_getfield(L, index, "kind");
  const char *name = luaL_checkstring(L, -1);
  enum kind kind = OTHER;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    kind = strcmp(name, kinds[i].name) == 0 ? kinds[i].kind : kind;
  }
  lua_pop(L, 1);
  return kind;
}

static void *allocate(lua_State *L, size_t count, size_t size) {
  void *bytes = calloc(count, size);
  if (bytes == NULL) {
    luaL_error(L, "not enough memory");
  }
  return bytes;
}

static const struct shape *compile(lua_State *L, struct plan *plan);

static void add_slot(struct shape *shape, size_t number) {
  const struct member *m = &shape->members[number - 1];
  size_t at = hash(m->wire, m->size) & shape->mask;
  while (shape->slots[at] != 0) {
    at = (at + 1) & shape->mask;
  }
  shape->slots[at] = (unsigned char)number;
}

/* The member whose table is on top of the stack; only those in the body are read. */
static void add_member(lua_State *L, struct plan *plan, struct shape *shape) {
  struct member *m = &shape->members[shape->count];
  lua_getfield(L, -1, "where");
  int in_body = strcmp(luaL_optstring(L, -1, "body"), "body") == 0;
  lua_pop(L, 1);
  if (!in_body) {
    return;
  }
  lua_getfield(L, -1, "wire_out");
  m->wire = luaL_checklstring(L, -1, &m->size);
  keep(L);
  lua_getfield(L, -1, "name");
  m->key = keep(L);
  lua_getfield(L, -1, "shape");
  m->shape = compile(L, plan);
  lua_pop(L, 1);
  shape->count++;
  shape->collections += m->shape->kind == LIST || m->shape->kind == MAP;
  add_slot(shape, shape->count);
}

static void add_members(lua_State *L, struct plan *plan, struct shape *shape) {
  lua_getfield(L, -1, "members");
  size_t count = lua_rawlen(L, -1), slots = 8;
  luaL_argcheck(L, count < 255, SHAPE, "a structure of less than 255 members expected");
  while (slots < 2 * count + 1) {
    slots *= 2;
  }
  shape->members = allocate(L, count + 1, sizeof *shape->members);
  shape->slots = allocate(L, slots, 1);
  shape->mask = slots - 1;
  for (size_t i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i);
    add_member(L, plan, shape);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* The shape whose table is on top of the stack; each table once, since one may hold itself. */
static const struct shape *compile(lua_State *L, struct plan *plan) {
  luaL_checkstack(L, 8, "shapes");
  luaL_checktype(L, -1, LUA_TTABLE);
  lua_pushvalue(L, -1);
  if (lua_rawget(L, SEEN) != LUA_TNIL) {
    const struct shape *known = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return known;
  }
  lua_pop(L, 1);
  struct shape *shape = allocate(L, 1, sizeof *shape);
  shape->next = plan->shapes;
  plan->shapes = shape;
  lua_pushvalue(L, -1);
  lua_pushlightuserdata(L, shape);
  lua_rawset(L, SEEN);
  lua_pushvalue(L, -1);
  shape->id = keep(L);
  shape->kind = kind_of(L, -1);
  if (shape->kind == STRUCTURE) {
    add_members(L, plan, shape);
  } else if (shape->kind == LIST || shape->kind == MAP) {
    lua_getfield(L, -1, "flat");
    shape->flat = lua_toboolean(L, -1);
    lua_getfield(L, -2, "member");
    shape->inner = compile(L, plan);
    lua_pop(L, 2);
  }
  return shape;
}

/*** xml.plan(shape, put) → plan
 * What to read of a document, for xml.read. A shape is {kind = "structure", members = {{name =,
 * wire_out =, shape =}, …}}, {kind = "list" or "map", member =, flat =}, or a scalar: "string",
 * "int", "bool", "secret"; of any other kind put(table, key, shape, text) sets the value. */
static int l_plan(lua_State *L) {
  luaL_checktype(L, SHAPE, LUA_TTABLE);
  luaL_checktype(L, PUT, LUA_TFUNCTION);
  lua_settop(L, 2);
  struct plan *plan = lua_newuserdatauv(L, sizeof *plan, 2);
  *plan = (struct plan){0};
  if (luaL_newmetatable(L, PLAN)) {
    lua_pushcfunction(L, plan_close);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, USERDATA);
  lua_newtable(L); /* shape put plan values */
  lua_newtable(L); /* shape put plan values seen */
  lua_pushvalue(L, SHAPE);
  plan->root = compile(L, plan);
  luaL_argcheck(L, plan->root->kind == STRUCTURE, SHAPE, "a structure expected");
  lua_pushvalue(L, VALUES);
  lua_setiuservalue(L, USERDATA, 1);
  lua_pushvalue(L, PUT);
  lua_setiuservalue(L, USERDATA, 2);
  lua_pushvalue(L, USERDATA);
  return 1;
}

/* ------------------------------------------------------------ reading by it */
/* Stack places while a tree is walked. */
struct walk {
  lua_State *L;
  int values, put, mark;
};

static const struct member *find(const struct shape *shape, struct xml_text name) {
  for (size_t at = hash(name.bytes, name.size) & shape->mask; shape->slots[at] != 0;
       at = (at + 1) & shape->mask) {
    const struct member *m = &shape->members[shape->slots[at] - 1];
    if (m->size == name.size && memcmp(m->wire, name.bytes, name.size) == 0) {
      return m;
    }
  }
  return NULL;
}

/* An integer of so few digits that it needs no care. */
static int small_integer(struct xml_text text, lua_Integer *out) {
  int negative = text.size > 0 && text.bytes[0] == '-';
  size_t i = (size_t)negative;
  lua_Integer n = 0;
  if (text.size == i || text.size > 18) {
    return 0;
  }
  for (; i < text.size; i++) {
    if (text.bytes[i] < '0' || text.bytes[i] > '9') {
      return 0;
    }
    n = n * 10 + (text.bytes[i] - '0');
  }
  *out = negative ? -n : n;
  return 1;
}

/* Pushes a scalar, or nothing where it is for `put`: 0 then. */
static int push_scalar(lua_State *L, const struct shape *shape, struct xml_text text) {
  lua_Integer n;
  if (shape->kind == STRING || shape->kind == SECRET) {
    rtl_push_bytes(L, text.bytes, text.size, shape->kind == SECRET);
  } else if (shape->kind == BOOL) {
    lua_pushboolean(L, text.size == 4 && memcmp(text.bytes, "true", 4) == 0);
  } else if (shape->kind == INT && small_integer(text, &n)) {
    lua_pushinteger(L, n);
  } else {
    return 0;
  }
  return 1;
}

static void push_structure(struct walk *w, const struct shape *shape, const struct xml_node *node);

/* Sets table[key] to what `node` holds; both lie on top of the stack, the key is popped. */
static void set(struct walk *w, const struct shape *shape, const struct xml_node *node);

static void push_list(struct walk *w) {
  lua_newtable(w->L);
  lua_pushvalue(w->L, w->mark);
  lua_setmetatable(w->L, -2);
}

/* Appends the item to the list on top of the stack. */
static void append(struct walk *w, const struct shape *list, const struct xml_node *item) {
  lua_pushinteger(w->L, (lua_Integer)lua_rawlen(w->L, -1) + 1);
  set(w, list->inner, item);
}

static void push_items(struct walk *w, const struct shape *list, const struct xml_node *node) {
  push_list(w);
  for (const struct xml_node *item = node->first; item != NULL; item = item->next) {
    append(w, list, item);
  }
}

static const struct xml_node *child(const struct xml_node *node, const char *name) {
  const struct xml_node *at = node->first;
  while (at != NULL && (at->name.size != strlen(name) || strcmp(at->name.bytes, name) != 0)) {
    at = at->next;
  }
  return at;
}

/* <entry><key>k</key><value>v</value></entry>, … */
static void push_map(struct walk *w, const struct shape *map, const struct xml_node *node) {
  lua_newtable(w->L);
  for (const struct xml_node *entry = node->first; entry != NULL; entry = entry->next) {
    const struct xml_node *key = child(entry, "key"), *value = child(entry, "value");
    if (key != NULL && value != NULL) {
      lua_pushlstring(w->L, key->text.bytes, key->text.size);
      set(w, map->inner, value);
    }
  }
}

static void set(struct walk *w, const struct shape *shape, const struct xml_node *node) {
  lua_State *L = w->L;
  if (shape->kind == STRUCTURE) {
    push_structure(w, shape, node);
  } else if (shape->kind == LIST) {
    push_items(w, shape, node);
  } else if (shape->kind == MAP) {
    push_map(w, shape, node);
  } else if (!push_scalar(L, shape, node->text)) {
    lua_pushvalue(L, w->put); /* table key put */
    lua_pushvalue(L, -3);
    lua_rotate(L, -3, -1); /* table put table key */
    lua_rawgeti(L, w->values, shape->id);
    lua_pushlstring(L, node->text.bytes, node->text.size);
    lua_call(L, 4, 0);
    return;
  }
  lua_rawset(L, -3);
}

/* One item of a flattened list, whose elements stand among the members. */
static void add_flat(struct walk *w, const struct member *m, const struct xml_node *item) {
  lua_State *L = w->L;
  lua_rawgeti(L, w->values, m->key);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 1);
    push_list(w);
    lua_rawgeti(L, w->values, m->key);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
  }
  append(w, m->shape, item);
  lua_pop(L, 1);
}

/* Absent lists and maps are empty. */
static void add_absent(struct walk *w, const struct shape *shape) {
  lua_State *L = w->L;
  for (size_t i = 0; shape->collections > 0 && i < shape->count; i++) {
    const struct member *m = &shape->members[i];
    if (m->shape->kind != LIST && m->shape->kind != MAP) {
      continue;
    }
    lua_rawgeti(L, w->values, m->key);
    int absent = lua_rawget(L, -2) == LUA_TNIL;
    lua_pop(L, 1);
    if (absent) {
      lua_rawgeti(L, w->values, m->key);
      m->shape->kind == LIST ? push_list(w) : lua_newtable(L);
      lua_rawset(L, -3);
    }
  }
}

static void push_structure(struct walk *w, const struct shape *shape, const struct xml_node *node) {
  lua_State *L = w->L;
  size_t room = shape->collections;
  luaL_checkstack(L, 16, "XML");
  for (const struct xml_node *at = node->first; at != NULL; at = at->next) {
    room++;
  }
  lua_createtable(L, 0, (int)(room < shape->count ? room : shape->count));
  for (const struct xml_node *at = node->first; at != NULL; at = at->next) {
    const struct member *m = find(shape, at->name);
    if (m != NULL && m->shape->kind == LIST && m->shape->flat) {
      add_flat(w, m, at);
    } else if (m != NULL) {
      lua_rawgeti(L, w->values, m->key);
      set(w, m->shape, at);
    }
  }
  add_absent(w, shape);
}

/* The element to read: the root, or its child of the name at stack place 3. NULL: there is none. */
static const struct xml_node *start_of(lua_State *L, const struct xml_node *root) {
  return lua_isnoneornil(L, 3) ? root : child(root, luaL_checkstring(L, 3));
}

/*** xml.read(bytes, plan, below, {secret = true}) → table, root or nil, err, root
 * Reads of a document what `plan` (xml.plan) says, into tables by the members' names: absent lists
 * and maps are empty, lists are rtl.array. `below` names the child of the root that holds it all;
 * false stands for the table if there is no such child. `root` is the name of the document's
 * element. `secret`: what parsing needed is wiped. Limits and errors as of xml.decode. */
static int l_read(lua_State *L) {
  size_t size;
  struct xml_error error;
  const char *text = rtl_check_bytes(L, 1, &size);
  struct plan *plan = luaL_checkudata(L, 2, PLAN);
  lua_settop(L, 4);
  int wipe = lua_type(L, 1) != LUA_TSTRING;
  if (!lua_isnil(L, 4)) {
    lua_getfield(L, 4, "secret");
    wipe = wipe || lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  struct xml_limits limits = {XML_DEPTH, XML_SIZE, XML_NODES, wipe};
  struct xml_doc *doc = rtl_push_xml_doc(L); /* bytes plan below options doc */
  if (!xml_parse(text, size, &limits, doc, &error)) {
    return rtl_fail_at(L, "RTL-DATA-003", error.message, error.line, error.column);
  }
  struct walk w = {L, 6, 7, 8};
  lua_getiuservalue(L, 2, 1);
  lua_getiuservalue(L, 2, 2);
  rtl_push_array_mark(L);
  const struct xml_node *start = start_of(L, doc->root);
  if (start != NULL) {
    push_structure(&w, plan->root, start);
  } else {
    lua_pushboolean(L, 0);
  }
  lua_pushlstring(L, doc->root->name.bytes, doc->root->name.size);
  xml_free(doc);
  return 2;
}

void rtl_push_xml_read(lua_State *L) {
  lua_pushcfunction(L, l_plan);
  lua_setfield(L, -2, "plan");
  lua_pushcfunction(L, l_read);
  lua_setfield(L, -2, "read");
}
