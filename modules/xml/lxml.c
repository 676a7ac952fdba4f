/* rtl.native.xml */
#include "fail.h"
#include "secret/lsecret.h"
#include "xml/lxml.h"
#include "xml/xml.h"

#include <lauxlib.h>
#include <string.h>

int luaopen_rtl_native_xml(lua_State *L);

#define DOC "rtl.xml.doc"

static int doc_close(lua_State *L) {
  xml_free(luaL_checkudata(L, 1, DOC));
  return 0;
}

struct xml_doc *rtl_push_xml_doc(lua_State *L) {
  struct xml_doc *doc = lua_newuserdatauv(L, sizeof *doc, 0);
  memset(doc, 0, sizeof *doc);
  if (luaL_newmetatable(L, DOC)) {
    lua_pushcfunction(L, doc_close);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return doc;
}

int rtl_xml_fail(lua_State *L, const struct xml_error *error) {
  if (error->line == 0) {
    return rtl_fail(L, "RTL-DATA-009", error->message);
  }
  return rtl_fail_at(L, "RTL-DATA-003", error->message, error->line, error->column);
}

static void push_text(lua_State *L, struct xml_text text) {
  lua_pushlstring(L, text.bytes, text.size);
}

static void push_attributes(lua_State *L, const struct xml_node *node) {
  lua_newtable(L);
  for (const struct xml_attribute *at = node->attributes; at != NULL; at = at->next) {
    push_text(L, at->value);
    lua_setfield(L, -2, at->name);
  }
}

/* Pushes a node's table. `secret`: it lies below a secret element. */
static void push_node(lua_State *L, const struct xml_node *node, int hidden, int secret) {
  luaL_checkstack(L, 8, "XML");
  lua_createtable(L, 0, 3);
  lua_pushstring(L, node->name);
  secret = secret || rtl_is_secret_name(L, hidden);
  lua_setfield(L, -2, "name");
  rtl_push_bytes(L, node->text.bytes, node->text.size, secret);
  lua_setfield(L, -2, "text");
  push_attributes(L, node);
  lua_setfield(L, -2, "attr");
  lua_Integer n = 0;
  for (const struct xml_node *child = node->first; child != NULL; child = child->next) {
    push_node(L, child, hidden, secret);
    lua_rawseti(L, -2, ++n);
  }
}

static size_t limit(lua_State *L, const char *name, lua_Integer otherwise) {
  lua_Integer value = otherwise;
  if (!lua_isnil(L, 2)) {
    lua_getfield(L, 2, name);
    value = luaL_optinteger(L, -1, otherwise);
    lua_pop(L, 1);
  }
  luaL_argcheck(L, value > 0, 2, "a limit above zero expected");
  return (size_t)value;
}

/*** xml.decode(bytes, {secret = {name, …}, depth = n, size = n}) → node or nil, err
 * Reads an XML document into nodes {name =, attr = {name = value}, text =, child, …}. Names keep
 * their prefix; text is the element's own, "" where there is only white space between children. The
 * texts of the elements named in `secret`, and below them, become rtl.native.secret. Limits: depth
 * (256 elements inside each other), size (64 MiB), nodes (524288 elements, attributes and
 * instructions); 1000 attributes of one element and 65536 different names. A document type is
 * refused, and any encoding but UTF-8, UTF-16, ISO-8859-1 and US-ASCII.
 * Malformed text: nil and an error RTL-DATA-003 with line and column. */
static int l_decode(lua_State *L) {
  size_t size;
  struct xml_error error;
  const char *text = rtl_check_bytes(L, 1, &size);
  lua_settop(L, 2);
  luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "table");
  struct xml_limits limits = {limit(L, "depth", XML_DEPTH), limit(L, "size", XML_SIZE),
                              limit(L, "nodes", XML_NODES), 0};
  luaL_argcheck(L, limits.depth <= 1000, 2, "a depth of at most 1000 expected");
  int hidden = rtl_push_secret_names(L, 2);
  limits.wipe = hidden != 0 || lua_type(L, 1) != LUA_TSTRING;
  struct xml_doc *doc = rtl_push_xml_doc(L);
  if (!xml_parse(text, size, &limits, NULL, doc, &error)) {
    return rtl_xml_fail(L, &error);
  }
  push_node(L, doc->root, hidden, 0);
  xml_free(doc);
  return 1;
}

int luaopen_rtl_native_xml(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"decode", l_decode},
      {NULL, NULL},
  };
  luaL_newlib(L, functions);
  rtl_push_xml_read(L);
  return 1;
}
