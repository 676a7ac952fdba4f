#ifndef RTL_LCRYPTO_H
#define RTL_LCRYPTO_H

#include <lua.h>

/* Pushes the table of crypto.sigv4. */
void rtl_push_sigv4(lua_State *L);

#endif
