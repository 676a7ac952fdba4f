/* xml.plan and xml.read: a document straight into the tables that a shape (rtl.aws.model) asks for,
 * without tables for the rest. */
#include "fail.h"
#include "json/ljson.h"
#include "secret/lsecret.h"
#include "xml/lxml.h"
#include "xml/xml.h"

#include <lauxlib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PLAN "rtl.xml.plan"

enum kind { STRUCTURE, LIST, MAP, STRING, INT, BOOL, SECRET, OTHER };

/* What an element means to the structure, list or map that it stands in: the sense of its node. */
struct member {
  const char *wire; /* the element's name; the plan's values hold it */
  size_t size;
  lua_Integer key; /* where the member's name lies in the plan's values */
  const struct shape *shape;
  int flat; /* the element is one item of the list */
};

struct shape {
  struct shape *next; /* all of a plan */
  enum kind kind;
  int flat;
  lua_Integer id;       /* where its table lies in the plan's values */
  struct member inner;  /* an item of a list, an entry of a map */
  struct member *members; /* of a structure; of a map's entry: its key and its value */
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

static struct shape *new_shape(lua_State *L, struct plan *plan, enum kind kind) {
  struct shape *shape = allocate(L, 1, sizeof *shape);
  shape->next = plan->shapes;
  shape->kind = kind;
  plan->shapes = shape;
  return shape;
}

static int is_collection(const struct shape *shape) {
  return shape->kind == LIST || shape->kind == MAP;
}

/* Makes room for as many members. */
static void reserve_members(lua_State *L, struct shape *shape, size_t count) {
  size_t slots = 8;
  while (slots < 2 * count + 1) {
    slots *= 2;
  }
  shape->members = allocate(L, count + 1, sizeof *shape->members);
  shape->slots = allocate(L, slots, 1);
  shape->mask = slots - 1;
}

static void add_member(struct shape *shape, struct member member) {
  size_t at = hash(member.wire, member.size) & shape->mask;
  while (shape->slots[at] != 0) {
    at = (at + 1) & shape->mask;
  }
  member.flat = member.shape->kind == LIST && member.shape->flat;
  shape->members[shape->count++] = member;
  shape->slots[at] = (unsigned char)shape->count;
  shape->collections += is_collection(member.shape);
}

/* The member whose table is on top of the stack; only those in the body are read. */
static void compile_member(lua_State *L, struct plan *plan, struct shape *shape) {
  struct member member = {0};
  lua_getfield(L, -1, "where");
  int in_body = strcmp(luaL_optstring(L, -1, "body"), "body") == 0;
  lua_pop(L, 1);
  if (!in_body) {
    return;
  }
  lua_getfield(L, -1, "wire_out");
  member.wire = luaL_checklstring(L, -1, &member.size);
  keep(L);
  lua_getfield(L, -1, "name");
  member.key = keep(L);
  lua_getfield(L, -1, "shape");
  member.shape = compile(L, plan);
  lua_pop(L, 1);
  add_member(shape, member);
}

static void compile_members(lua_State *L, struct plan *plan, struct shape *shape) {
  lua_getfield(L, -1, "members");
  size_t count = lua_rawlen(L, -1);
  luaL_argcheck(L, count < 255, SHAPE, "a structure of less than 255 members expected");
  reserve_members(L, shape, count);
  for (size_t i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i);
    compile_member(L, plan, shape);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* What stands in a list or map: <entry><key>k</key><value>v</value></entry>, … */
static void compile_inner(lua_State *L, struct plan *plan, struct shape *shape) {
  lua_getfield(L, -1, "flat");
  shape->flat = lua_toboolean(L, -1);
  lua_getfield(L, -2, "member");
  shape->inner.shape = compile(L, plan);
  lua_pop(L, 2);
  if (shape->kind == MAP) {
    struct shape *entry = new_shape(L, plan, STRUCTURE), *key = new_shape(L, plan, STRING);
    reserve_members(L, entry, 2);
    add_member(entry, (struct member){.wire = "key", .size = 3, .shape = key});
    add_member(entry, (struct member){.wire = "value", .size = 5, .shape = shape->inner.shape});
    shape->inner.shape = entry;
  }
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
  struct shape *shape = new_shape(L, plan, kind_of(L, -1));
  lua_pushvalue(L, -1);
  lua_pushlightuserdata(L, shape);
  lua_rawset(L, SEEN);
  lua_pushvalue(L, -1);
  shape->id = keep(L);
  if (shape->kind == STRUCTURE) {
    compile_members(L, plan, shape);
  } else if (is_collection(shape)) {
    compile_inner(L, plan, shape);
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
/* What a name means in a shape, found before: both by their addresses. */
struct found {
  const struct shape *shape;
  const char *name;
  const struct member *member; /* NULL: nothing */
};

enum { FOUND = 256 };

struct reader {
  const char *below;         /* the child of the root that is read; NULL: the root itself */
  struct member root, start; /* start: what is read */
  struct found found[FOUND];
};

static const struct member *look_up(const struct shape *shape, const char *name) {
  size_t size = strlen(name);
  for (size_t at = hash(name, size) & shape->mask; shape->slots[at] != 0;
       at = (at + 1) & shape->mask) {
    const struct member *m = &shape->members[shape->slots[at] - 1];
    if (m->size == size && memcmp(m->wire, name, size) == 0) {
      return m;
    }
  }
  return NULL;
}

static const struct member *find(struct reader *reader, const struct shape *shape,
                                 const char *name) {
  uint64_t key = ((uintptr_t)shape ^ (uintptr_t)name) * UINT64_C(0x9e3779b97f4a7c15);
  struct found *found = &reader->found[key / (UINT64_MAX / FOUND + 1)];
  if (found->shape != shape || found->name != name) {
    *found = (struct found){shape, name, look_up(shape, name)};
  }
  return found->member;
}

/* The filter of a document: the senses are members. */
static const void *enter(void *data, const void *outer, const char *name) {
  struct reader *reader = data;
  const struct member *m = outer;
  if (m == NULL) {
    return reader->below == NULL ? &reader->start : &reader->root;
  }
  if (m == &reader->root) {
    return strcmp(name, reader->below) == 0 ? &reader->start : NULL;
  }
  const struct shape *shape = m->flat ? m->shape->inner.shape : m->shape;
  if (shape->kind == STRUCTURE) {
    return find(reader, shape, name);
  }
  return is_collection(shape) ? &shape->inner : NULL;
}

/* Stack places while a tree is walked. */
struct walk {
  lua_State *L;
  int values, put, mark;
};

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

static void push_list(struct walk *w, size_t count) {
  lua_createtable(w->L, (int)count, 0);
  lua_pushvalue(w->L, w->mark);
  lua_setmetatable(w->L, -2);
}

static void push_items(struct walk *w, const struct shape *list, const struct xml_node *node) {
  lua_Integer n = 0;
  push_list(w, node->count);
  for (const struct xml_node *item = node->first; item != NULL; item = item->next) {
    lua_pushinteger(w->L, ++n);
    set(w, list->inner.shape, item);
  }
}

/* The key or value in a map's entry, the first one; NULL: there is none. */
static const struct xml_node *part(const struct xml_node *entry, const struct member *m) {
  const struct xml_node *at = entry->first;
  while (at != NULL && at->sense != m) {
    at = at->next;
  }
  return at;
}

static void push_map(struct walk *w, const struct shape *map, const struct xml_node *node) {
  const struct member *members = map->inner.shape->members;
  lua_createtable(w->L, 0, (int)node->count);
  for (const struct xml_node *entry = node->first; entry != NULL; entry = entry->next) {
    const struct xml_node *key = part(entry, &members[0]), *value = part(entry, &members[1]);
    if (key != NULL && value != NULL) {
      lua_pushlstring(w->L, key->text.bytes, key->text.size);
      set(w, members[1].shape, value);
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
    push_list(w, 1);
    lua_rawgeti(L, w->values, m->key);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
  }
  lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1) + 1);
  set(w, m->shape->inner.shape, item);
  lua_pop(L, 1);
}

/* Absent lists and maps are empty. */
static void add_absent(struct walk *w, const struct shape *shape) {
  lua_State *L = w->L;
  for (size_t i = 0; i < shape->count; i++) {
    const struct member *m = &shape->members[i];
    if (!is_collection(m->shape)) {
      continue;
    }
    lua_rawgeti(L, w->values, m->key);
    int absent = lua_rawget(L, -2) == LUA_TNIL;
    lua_pop(L, 1);
    if (absent) {
      lua_rawgeti(L, w->values, m->key);
      m->shape->kind == LIST ? push_list(w, 0) : lua_newtable(L);
      lua_rawset(L, -3);
    }
  }
}

static void push_structure(struct walk *w, const struct shape *shape, const struct xml_node *node) {
  lua_State *L = w->L;
  size_t room = shape->collections;
  luaL_checkstack(L, 16, "XML");
  for (const struct xml_node *at = node->first; at != NULL; at = at->next) {
    const struct member *m = at->sense;
    room += m->shape->kind == OTHER ? 2 : !is_collection(m->shape); /* a time is two values */
  }
  lua_createtable(L, 0, (int)(room < 2 * shape->count ? room : 2 * shape->count));
  for (const struct xml_node *at = node->first; at != NULL; at = at->next) {
    const struct member *m = at->sense;
    if (m->flat) {
      add_flat(w, m, at);
    } else {
      lua_rawgeti(L, w->values, m->key);
      set(w, m->shape, at);
    }
  }
  if (shape->collections > 0) {
    add_absent(w, shape);
  }
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
  struct reader reader = {.below = luaL_optstring(L, 3, NULL), .start = {.shape = plan->root}};
  struct xml_filter filter = {enter, &reader};
  struct xml_doc *doc = rtl_push_xml_doc(L); /* bytes plan below options doc */
  if (!xml_parse(text, size, &limits, &filter, doc, &error)) {
    return rtl_xml_fail(L, &error);
  }
  struct walk w = {L, 6, 7, 8};
  lua_getiuservalue(L, 2, 1);
  lua_getiuservalue(L, 2, 2);
  rtl_push_array_mark(L);
  const struct xml_node *start = reader.below == NULL ? doc->root : doc->root->first;
  if (start != NULL) {
    push_structure(&w, plan->root, start);
  } else {
    lua_pushboolean(L, 0);
  }
  lua_pushstring(L, doc->root->name);
  xml_free(doc);
  return 2;
}

void rtl_push_xml_read(lua_State *L) {
  lua_pushcfunction(L, l_plan);
  lua_setfield(L, -2, "plan");
  lua_pushcfunction(L, l_read);
  lua_setfield(L, -2, "read");
}
