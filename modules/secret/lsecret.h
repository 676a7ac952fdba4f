/* Secrets for bindings: take bytes from a string or a secret, make new secrets. */
#ifndef RTL_LSECRET_H
#define RTL_LSECRET_H

#include "secret/secret.h"

#include <lua.h>

/* The bytes of the string or secret at `index`; raises for anything else (numbers too) and for a
 * closed secret. Borrowed: valid while the value stays on the stack and open. NUL follows. */
const char *rtl_check_bytes(lua_State *L, int index, size_t *size);

/* The same, but NULL for what is neither string nor secret. */
const char *rtl_test_bytes(lua_State *L, int index, size_t *size);

/* The secret at `index`, or NULL if it is none. Raises for a closed one. Borrowed. */
struct rtl_secret *rtl_test_secret(lua_State *L, int index);

/* Pushes a new secret and returns its `size` zero bytes for the caller to fill. Borrowed. */
char *rtl_push_secret(lua_State *L, size_t size);

/* The set of the names in the array field `secret` of the options at `index` (a table or nil),
 * pushed for rtl_is_secret_name: its stack place, or 0, with nothing of use pushed, if there are
 * none. */
int rtl_push_secret_names(lua_State *L, int index);

/* Whether the string on top of the stack is in the set at stack place `names` (0: no set). */
int rtl_is_secret_name(lua_State *L, int names);

/* Pushes a copy of `bytes` as a secret if `hidden`, else as a string. */
void rtl_push_bytes(lua_State *L, const char *bytes, size_t size, int hidden);

#endif
