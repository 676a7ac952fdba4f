/* null and marked arrays, for every binding that makes or reads such values. */
#ifndef RTL_LJSON_H
#define RTL_LJSON_H

#include <lua.h>
#include <stddef.h>

/* Pushes rtl.null. */
void rtl_push_null(lua_State *L);

/* Whether the value at `index` is rtl.null. */
int rtl_is_null(lua_State *L, int index);

/* Pushes the metatable that marks arrays, for bindings that mark many. */
void rtl_push_array_mark(lua_State *L);

/* Marks the table at `index` as an array / whether it is marked. */
void rtl_mark_array(lua_State *L, int index);
int rtl_is_array(lua_State *L, int index);

enum rtl_shape { RTL_OBJECT, RTL_ARRAY, RTL_HOLES, RTL_MIXED };

/* How the table at `index` encodes: as an array (of `*length` values) if it is marked or has a
 * value at 1, else as an object. RTL_HOLES and RTL_MIXED (a key that is no index) are for the
 * caller to refuse. */
enum rtl_shape rtl_table_shape(lua_State *L, int index, lua_Unsigned *length);

/* Keys of a table, sorted by their bytes. Borrowed from the table. */
struct rtl_key {
  const char *bytes;
  size_t size;
};

/* Pushes a userdata with the sorted keys of the table at `index` and returns them; NULL, with
 * nothing pushed, if a key is no string. */
const struct rtl_key *rtl_push_sorted_keys(lua_State *L, int index, size_t *count);

/* A table that is being written; the chain leads to the outermost one. */
struct rtl_frame {
  const struct rtl_frame *up;
  const void *table;
  const char *key;   /* of the value being written, or NULL: then index */
  lua_Integer index; /* 0: none yet */
  int depth;
};

/* A frame for the table on top of the stack, below `up` (NULL: the outermost). NULL, or what is
 * wrong with it: it contains itself or lies too deep. */
const char *rtl_frame_enter(lua_State *L, struct rtl_frame *frame, const struct rtl_frame *up);

/* Raises "WHO: value.spec.items[2]: WHAT". */
int rtl_frame_refuse(lua_State *L, const char *who, const struct rtl_frame *at, const char *what);

/* json.encode, a Lua function. */
int rtl_json_encode(lua_State *L);

#endif
