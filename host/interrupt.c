/* Ctrl-C (SIGINT) and a polite kill (SIGTERM).
 *
 * A press asks: the event loop wakes, and the scheduler cancels what waits: once up to the shields,
 * twice the shields too. Code that does not come by the scheduler in time is raised into: two
 * seconds after the first press, a fifth of a second after each further one. That is done by a hook
 * on the coroutine that runs now, which resume() keeps in `current`: a hook on the main state never
 * fires inside another coroutine. The hook stays set, and follows the error from coroutine to
 * coroutine up to the task, so that no loop around pcall or resume swallows it. */
#include "host.h"

#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

static const struct itimerval GRACE_FIRST = {{0, 0}, {2, 0}};
static const struct itimerval GRACE_NEXT = {{0, 0}, {0, 200000}};
static const struct itimerval NONE = {{0, 0}, {0, 0}};

static lua_State *volatile current;
static volatile sig_atomic_t presses;
static volatile sig_atomic_t torn; /* a hook is set: the error is on its way up */
static int wake_fd = -1;

static void raise_interrupted(lua_State *L, lua_Debug *ar) {
  (void)ar;
  luaL_error(L, "interrupted");
}

static void hook(lua_State *L) {
  lua_sethook(L, raise_interrupted, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

static void on_signal(int signal_number) {
  (void)signal_number;
  int saved = errno;
  presses++;
  eventfd_write(wake_fd, 1);
  setitimer(ITIMER_REAL, presses == 1 ? &GRACE_FIRST : &GRACE_NEXT, NULL);
  errno = saved;
}

static void on_patience_ended(int signal_number) {
  (void)signal_number;
  if (current != NULL) {
    torn = 1;
    hook(current);
  }
}

/* A signal that was ignored when we started (nohup, a script's background job) stays so. */
static void catch_signal(int signal_number, void (*handler)(int), int flags) {
  struct sigaction action;
  sigaction(signal_number, NULL, &action);
  if (action.sa_handler == SIG_IGN) {
    return;
  }
  action = (struct sigaction){.sa_handler = handler, .sa_flags = flags};
  sigemptyset(&action.sa_mask);
  sigaction(signal_number, &action, NULL);
}

void rtl_interrupt_install(void) {
  wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  catch_signal(SIGINT, on_signal, SA_RESTART);
  catch_signal(SIGTERM, on_signal, SA_RESTART);
  catch_signal(SIGALRM, on_patience_ended, 0); /* no restart: it also ends a blocking read */
}

void rtl_interrupt_remove(void) {
  current = NULL;
  setitimer(ITIMER_REAL, &NONE, NULL);
}

int rtl_interrupted(void) {
  return presses > 0;
}

void rtl_interrupt_clear(lua_State *L) {
  eventfd_t drained;
  setitimer(ITIMER_REAL, &NONE, NULL);
  presses = 0;
  torn = 0;
  lua_sethook(L, NULL, 0, 0);
  (void)eventfd_read(wake_fd, &drained);
}

/*** host.interrupt_fd() → integer
 * A descriptor that becomes readable at Ctrl-C; the event loop watches it. Owned by the host. */
static int interrupt_fd(lua_State *L) {
  lua_pushinteger(L, wake_fd);
  return 1;
}

/*** host.interrupts() → integer
 * How often Ctrl-C was pressed since the last interrupts_clear(). Asking tells the host that the
 * scheduler has seen it, so that nothing is raised into. */
static int interrupts(lua_State *L) {
  eventfd_t drained;
  if (presses > 0) {
    setitimer(ITIMER_REAL, &NONE, NULL);
    (void)eventfd_read(wake_fd, &drained);
  }
  lua_pushinteger(L, presses);
  return 1;
}

/*** host.interrupts_clear()
 * Forgets earlier presses. */
static int interrupts_clear(lua_State *L) {
  rtl_interrupt_clear(L);
  return 0;
}

/* Resumes the coroutine at 1 with the arguments above it; as coroutine.resume. */
static int resume_it(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "coroutine");
  int nargs = lua_gettop(L) - 1;
  if (!lua_checkstack(co, nargs) || (lua_status(co) == LUA_OK && lua_gettop(co) == 0)) {
    lua_pushboolean(L, 0);
    lua_pushliteral(L, "cannot resume dead coroutine");
    return 2;
  }
  lua_xmove(L, co, nargs);
  lua_State *outer = current;
  int nresults = 0;
  current = co;
  int status = lua_resume(co, L, nargs, &nresults);
  current = outer;
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    lua_pushboolean(L, 0);
    lua_insert(L, -2); /* in this order: co may be L, when it resumes itself */
    return 2;
  }
  if (!lua_checkstack(L, nresults + 1)) {
    lua_pop(co, nresults);
    return luaL_error(L, "too many results to resume");
  }
  lua_pushboolean(L, 1);
  lua_xmove(co, L, nresults);
  return nresults + 1;
}

/*** host.resume(coroutine, ...) → true, values… | false, error
 * coroutine.resume that tells the interrupt which coroutine runs. An interrupt that was raised
 * inside goes on in the caller. */
static int resume(lua_State *L) {
  int results = resume_it(L);
  if (torn) {
    hook(L);
  }
  return results;
}

/*** host.resume_task(coroutine, ...) → true, values… | false, error
 * The same for the scheduler: an interrupt that was raised inside ends here. */
static int resume_task(lua_State *L) {
  int results = resume_it(L);
  torn = 0;
  return results;
}

void rtl_interrupt_settle(lua_State *L) {
  torn = 0;
  lua_sethook(L, NULL, 0, 0);
}

/* After the call of outermost(), whether it waited in between or not. */
static int caught(lua_State *L, int status, lua_KContext context) {
  (void)context;
  rtl_interrupt_settle(L);
  lua_pushboolean(L, status == LUA_OK || status == LUA_YIELD);
  lua_replace(L, 1); /* over the handler */
  return lua_gettop(L);
}

/*** host.outermost(f, handler, ...) → true, values… | false, handler(error)
 * xpcall that is the end of an interrupt: what comes after it runs undisturbed. */
static int outermost(lua_State *L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_replace(L, 1);
  lua_replace(L, 2); /* handler f ... */
  return caught(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 1, 0, caught), 0);
}

void rtl_interrupt_bind(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"interrupt_fd", interrupt_fd},
      {"interrupts", interrupts},
      {"interrupts_clear", interrupts_clear},
      {"resume", resume},
      {"resume_task", resume_task},
      {"outermost", outermost},
      {NULL, NULL},
  };
  luaL_setfuncs(L, functions, 0);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  current = lua_tothread(L, -1);
  lua_pop(L, 1);
}
