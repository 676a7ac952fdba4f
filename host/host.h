/* What the parts of the program share. All functions follow Lua's stack conventions. */
#ifndef RTL_HOST_H
#define RTL_HOST_H

#include <lua.h>

/* Makes the process' one Lua state, without libraries; lua_close ends it. NULL: not enough
 * memory. */
lua_State *rtl_new_state(void);

/* Calls the function below its `nargs` arguments, with a traceback added to plain string errors.
 * Leaves `nresults` values, or one error value. Returns Lua's status. Every script, step and REPL
 * line goes through here. */
int rtl_call(lua_State *L, int nargs, int nresults);

/* Prints the error value on top of the stack to stderr and pops it. Never raises. */
void rtl_report(lua_State *L);

/* Adds native modules (rtl.native.NAME) and the searcher for embedded Lua. RTL_LUA=DIR reads
 * lua/rtl from DIR instead. Leaves the stack as it was. */
void rtl_open_modules(lua_State *L);

/* Binding of rtl.native.host: embedded files, the interrupt, the version. */
int luaopen_rtl_native_host(lua_State *L);

/* Ctrl-C: installs the handlers. See interrupt.c for what one and two presses do. */
void rtl_interrupt_install(void);

/* To be called before lua_close: no signal touches Lua after it. */
void rtl_interrupt_remove(void);

/* Whether Ctrl-C was pressed since the last clear. */
int rtl_interrupted(void);

/* An interrupt that was raised in L has reached its end: what follows runs undisturbed. */
void rtl_interrupt_settle(lua_State *L);

/* Forgets earlier presses, and the hook that they have set on L. */
void rtl_interrupt_clear(lua_State *L);

/* Takes --rehearse[=SPEC] before "--" out of argv. Returns SPEC ("" when bare; points into argv),
 * or NULL when the option is not there; the last one counts. */
const char *rtl_take_rehearse(int *argc, char **argv);

/* Pushes a function that calls require("rtl.rehearse").install(spec), after which the world is a
 * simulated one; nil when `spec` is NULL. The string is copied. */
void rtl_push_rehearsal(lua_State *L, const char *spec);

/* Registers rtl.native.host's resume() and others that belong to the interrupt into the table on
 * top of the stack. */
void rtl_interrupt_bind(lua_State *L);

/* Registers rtl.native.host's repl() into the table on top of the stack. */
void rtl_repl_bind(lua_State *L);

#endif
