/* Between the files of the binding. */
#ifndef RTL_HTTP_LHTTP_H
#define RTL_HTTP_LHTTP_H

#include <lua.h>

int rtl_http_l_headers(lua_State *L); /* http.headers */

#endif
