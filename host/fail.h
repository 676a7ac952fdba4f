/* How a binding returns what the world refused: nil and an rtl.err object. */
#ifndef RTL_FAIL_H
#define RTL_FAIL_H

#include <lua.h>
#include <stddef.h>

/* Pushes nil and an error object with this code and message; returns 2, so that a binding ends in
 * `return rtl_fail(…)`. Both texts are copied. */
int rtl_fail(lua_State *L, const char *code, const char *message);

/* The same, with the place in the text that was refused: fields line and column (from 1), and the
 * place in front of the message. */
int rtl_fail_at(lua_State *L, const char *code, const char *message, size_t line, size_t column);

#endif
