/* Ctrl-C.
 *
 * The first press asks: the event loop wakes, and the scheduler cancels the main task at its next
 * yield. Lua code that does not yield is left alone for GRACE seconds, then raised into. The second
 * press raises at once, also inside a coroutine, and the hook stays set so that a pcall loop can't
 * swallow it. The hook goes to the coroutine that runs now, which resume() keeps in `current`: a
 * hook on the main state never fires inside another coroutine. */
#include "host.h"

#include <lauxlib.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { GRACE = 2 };

static lua_State *volatile current;
static volatile sig_atomic_t presses;
static int wake_fd = -1;

static void raise_interrupted(lua_State *L, lua_Debug *ar) {
  (void)ar;
  luaL_error(L, "interrupted");
}

static void hook_current(void) {
  lua_State *L = current;
  if (L != NULL) {
    lua_sethook(L, raise_interrupted, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
  }
}

static void on_sigint(int signal_number) {
  (void)signal_number;
  presses++;
  if (wake_fd >= 0) {
    eventfd_write(wake_fd, 1);
  }
  if (presses == 1) {
    alarm(GRACE); /* the scheduler disarms it when it takes the request */
  } else {
    hook_current();
  }
}

static void on_sigalrm(int signal_number) {
  (void)signal_number;
  hook_current();
}

void rtl_interrupt_install(void) {
  struct sigaction action = {.sa_handler = on_sigint, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  sigaction(SIGINT, &action, NULL);
  action.sa_handler = on_sigalrm;
  sigaction(SIGALRM, &action, NULL);
}

/*** host.interrupt_fd() → integer
 * A descriptor that becomes readable at Ctrl-C; the event loop watches it. Owned by the host. */
static int interrupt_fd(lua_State *L) {
  lua_pushinteger(L, wake_fd);
  return 1;
}

/*** host.interrupts() → integer
 * How often Ctrl-C was pressed since the last interrupts_clear(). Taking the number tells the host
 * that the scheduler has seen it, so that no hook follows the first press. */
static int interrupts(lua_State *L) {
  eventfd_t drained;
  if (presses > 0) {
    alarm(0);
    if (wake_fd >= 0) {
      (void)eventfd_read(wake_fd, &drained);
    }
  }
  lua_pushinteger(L, presses);
  return 1;
}

/*** host.interrupts_clear()
 * Forgets earlier presses (the REPL starts a new line with none). */
static int interrupts_clear(lua_State *L) {
  presses = 0;
  lua_sethook(L, NULL, 0, 0);
  return interrupts(L);
}

/*** host.resume(coroutine, ...) → true, values… | false, error
 * coroutine.resume that tells the interrupt which coroutine runs. */
static int resume(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "coroutine");
  int nargs = lua_gettop(L) - 1;
  if (!lua_checkstack(co, nargs) || (lua_status(co) == LUA_OK && lua_gettop(co) == 0)) {
    lua_pushboolean(L, 0);
    lua_pushliteral(L, "cannot resume a dead coroutine");
    return 2;
  }
  lua_xmove(L, co, nargs);
  lua_State *outer = current;
  int nresults = 0;
  current = co;
  int status = lua_resume(co, L, nargs, &nresults);
  current = outer;
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_pushboolean(L, 0);
    lua_xmove(co, L, 1);
    return 2;
  }
  luaL_checkstack(L, nresults + 1, "too many results");
  lua_pushboolean(L, 1);
  lua_xmove(co, L, nresults);
  return nresults + 1;
}

void rtl_interrupt_bind(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"interrupt_fd", interrupt_fd},
      {"interrupts", interrupts},
      {"interrupts_clear", interrupts_clear},
      {"resume", resume},
      {NULL, NULL},
  };
  luaL_setfuncs(L, functions, 0);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  current = lua_tothread(L, -1);
  lua_pop(L, 1);
}
