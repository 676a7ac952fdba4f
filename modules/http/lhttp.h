/* Between the files of the binding. */
#ifndef RTL_HTTP_LHTTP_H
#define RTL_HTTP_LHTTP_H

#include <lua.h>

int rtl_http_l_headers(lua_State *L); /* http.headers */
int rtl_http_l_by_name(lua_State *L); /* http.by_name */

#endif
