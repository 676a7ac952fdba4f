/* rtl: Lua 5.4 with native modules, run by lua/rtl/cli/main.lua. */
#include "host.h"

#include <fcntl.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { INTERRUPTED = 130 }; /* the other exit codes: lua/rtl/cli/exit.lua */

/* Pushes what require(name) returns. */
static void require(lua_State *L, const char *name) {
  lua_getglobal(L, "require");
  lua_pushstring(L, name);
  lua_call(L, 1, 1);
}

/* (argc, argv as light userdata) → exit code. Runs protected. */
static int run_program(lua_State *L) {
  int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  luaL_checkversion(L);
  luaL_openlibs(L);
  rtl_open_modules(L);
  lua_gc(L, LUA_GCGEN, 0, 0);
  const char *spec = rtl_take_rehearse(&argc, argv);
  require(L, "rtl.task"); /* first: its pcall is the one that everything else sees */
  require(L, "rtl.cli.main");
  lua_createtable(L, argc, 1);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i);
  }
  rtl_push_rehearsal(L, spec);
  lua_call(L, 2, 1);
  return 1;
}

/* A standard descriptor that is closed is taken by one that fails, before a file or socket of ours
 * gets its number and what is printed goes there. */
static void fill_standard_descriptors(void) {
  for (int fd = 0; fd <= 2; fd++) {
    if (fcntl(fd, F_GETFD) < 0) {
      (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
  }
}

int main(int argc, char **argv) {
  fill_standard_descriptors();
  lua_State *L = rtl_new_state();
  if (L == NULL) {
    fputs("rtl: not enough memory for a Lua state\n", stderr);
    return EXIT_FAILURE;
  }
  signal(SIGPIPE, SIG_IGN); /* a closed stdout is an error of the write, not a death */
  rtl_interrupt_install();
  lua_pushcfunction(L, run_program);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  int code;
  if (rtl_call(L, 2, 1) == LUA_OK) {
    code = (int)lua_tointeger(L, -1);
  } else {
    rtl_report(L);
    code = rtl_interrupted() ? INTERRUPTED : EXIT_FAILURE;
  }
  rtl_interrupt_remove();
  lua_close(L);
  return code;
}
