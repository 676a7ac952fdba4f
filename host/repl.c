/* The line editor under the REPL; what a line means is lua/rtl/cli/repl.lua's. */
#include "host.h"

void rtl_repl_bind(lua_State *L) {
  (void)L;
}
