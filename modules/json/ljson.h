/* null and marked arrays, for every binding that makes or reads such values. */
#ifndef RTL_LJSON_H
#define RTL_LJSON_H

#include <lua.h>

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

/* How the table at `index` encodes: as an array (of `*length` values) if it is marked or has a value
 * at 1, else as an object. RTL_HOLES and RTL_MIXED (a key that is no index) are for the caller to
 * refuse. */
enum rtl_shape rtl_table_shape(lua_State *L, int index, lua_Unsigned *length);

/* json.encode, a Lua function. */
int rtl_json_encode(lua_State *L);

#endif
