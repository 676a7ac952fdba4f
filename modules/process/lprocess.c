/* rtl.native.process */
#include "loop/loop.h"
#include "process/process.h"

#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

int luaopen_rtl_native_process(lua_State *L);

#define CHILD "rtl.process.child"
#define PIPE "rtl.process.pipe"

enum { CHUNK = 65536 };

struct process {
  struct rtl_child child;
  uint64_t token; /* 0: closed */
  int ended, wait_status;
};

struct pipe {
  struct rtl_watch watch; /* fd -1: closed */
  uint64_t token;
  size_t written; /* of the string in the user value */
  int writing;
};

static int fail(lua_State *L, int error) {
  luaL_pushfail(L);
  lua_pushstring(L, strerror(error));
  lua_pushinteger(L, error);
  return 3;
}

static uint64_t check_token(lua_State *L) {
  struct rtl_loop *loop = rtl_loop_default();
  uint64_t token = loop != NULL ? rtl_loop_new_token(loop) : 0;
  if (token == 0) {
    luaL_error(L, loop != NULL ? "not enough memory" : "no event loop");
  }
  return token;
}

/* ---- pipes ---- */

static void on_pipe(struct rtl_watch *watch, uint32_t events) {
  struct pipe *pipe = watch->data;
  (void)events;
  rtl_loop_rewatch(rtl_loop_default(), watch, 0); /* take() asks again when it finds nothing */
  rtl_loop_post(rtl_loop_default(), pipe->token);
}

/* Pushes an inert pipe. */
static struct pipe *push_pipe(lua_State *L) {
  struct pipe *pipe = lua_newuserdatauv(L, sizeof *pipe, 1);
  memset(pipe, 0, sizeof *pipe);
  pipe->watch = (struct rtl_watch){.fd = -1, .ready = on_pipe, .data = pipe};
  luaL_setmetatable(L, PIPE);
  pipe->token = check_token(L);
  return pipe;
}

static void close_pipe(struct pipe *pipe) {
  if (pipe->watch.fd >= 0) {
    rtl_loop_unwatch(rtl_loop_default(), &pipe->watch);
    close(pipe->watch.fd);
    pipe->watch.fd = -1;
  }
  if (pipe->token != 0) {
    rtl_loop_end_token(rtl_loop_default(), pipe->token);
    pipe->token = 0;
  }
}

static struct pipe *check_pipe(lua_State *L) {
  struct pipe *pipe = luaL_checkudata(L, 1, PIPE);
  luaL_argcheck(L, pipe->watch.fd >= 0, 1, "closed");
  return pipe;
}

static int pipe_token(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_pipe(L)->token);
  return 1;
}

static int pipe_close(lua_State *L) {
  close_pipe(luaL_checkudata(L, 1, PIPE));
  return 0;
}

/* Nothing now: posts the token when the pipe is ready, and says false. */
static int not_yet(lua_State *L, struct pipe *pipe, uint32_t events) {
  struct rtl_loop *loop = rtl_loop_default();
  pipe->watch.events = pipe->watch.watched ? pipe->watch.events : events;
  int status = pipe->watch.watched ? rtl_loop_rewatch(loop, &pipe->watch, events)
                                   : rtl_loop_watch(loop, &pipe->watch);
  if (status != 0) {
    return luaL_error(L, "can't watch a pipe: %s", strerror(errno));
  }
  lua_pushboolean(L, 0);
  return 1;
}

static int take_failure(lua_State *L, int error) {
  lua_pushboolean(L, 1);
  return 1 + fail(L, error);
}

static int take_read(lua_State *L, struct pipe *pipe) {
  luaL_Buffer buffer;
  char *bytes = luaL_buffinitsize(L, &buffer, CHUNK);
  ssize_t got = rtl_pipe_read(pipe->watch.fd, bytes, CHUNK);
  int error = errno;
  luaL_pushresultsize(&buffer, got > 0 ? (size_t)got : 0);
  if (got < 0) {
    return error == EAGAIN ? not_yet(L, pipe, EPOLLIN) : take_failure(L, error);
  }
  lua_pushboolean(L, 1);
  lua_insert(L, -2); /* true bytes */
  if (got == 0) {
    lua_pop(L, 1);
  }
  return got == 0 ? 1 : 2;
}

static int take_write(lua_State *L, struct pipe *pipe) {
  size_t size = 0;
  lua_getiuservalue(L, 1, 1);
  const char *bytes = lua_tolstring(L, -1, &size);
  while (pipe->written < size) {
    ssize_t put = rtl_pipe_write(pipe->watch.fd, bytes + pipe->written, size - pipe->written);
    if (put < 0) {
      return errno == EAGAIN ? not_yet(L, pipe, EPOLLOUT) : take_failure(L, errno);
    }
    pipe->written += (size_t)put;
  }
  lua_pushnil(L);
  lua_setiuservalue(L, 1, 1);
  pipe->written = 0;
  lua_pushboolean(L, 1);
  lua_pushboolean(L, 1);
  return 2;
}

static int pipe_take(lua_State *L) {
  struct pipe *pipe = check_pipe(L);
  return pipe->writing ? take_write(L, pipe) : take_read(L, pipe);
}

/*** pipe:start(bytes) → pipe
 * Begins to write `bytes` (kept until written). take() then gives true when all is written, or nil,
 * a text and the error number (EPIPE: the child reads no more). */
static int pipe_start(lua_State *L) {
  struct pipe *pipe = check_pipe(L);
  luaL_argcheck(L, pipe->writing, 1, "this pipe is for reading");
  luaL_checktype(L, 2, LUA_TSTRING);
  luaL_argcheck(L, lua_getiuservalue(L, 1, 1) == LUA_TNIL, 1, "a write is on its way");
  pipe->written = 0;
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 1, 1);
  lua_settop(L, 1);
  return 1;
}

static int pipe_cancel(lua_State *L) {
  struct pipe *pipe = check_pipe(L);
  if (pipe->watch.watched) {
    rtl_loop_rewatch(rtl_loop_default(), &pipe->watch, 0);
  }
  pipe->written = 0;
  lua_pushnil(L);
  lua_setiuservalue(L, 1, 1);
  return 0;
}

/* ---- children ---- */

static void on_exit_of(struct rtl_child *child, int wait_status) {
  struct process *process = child->data;
  process->ended = 1;
  process->wait_status = wait_status;
  rtl_loop_post(rtl_loop_default(), process->token);
}

static struct process *check_process(lua_State *L) {
  struct process *process = luaL_checkudata(L, 1, CHILD);
  luaL_argcheck(L, process->token != 0, 1, "closed");
  return process;
}

static int child_token(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_process(L)->token);
  return 1;
}

static int child_take(lua_State *L) {
  struct process *process = check_process(L);
  lua_pushboolean(L, process->ended);
  if (!process->ended) {
    return 1;
  }
  int status = process->wait_status;
  lua_pushstring(L, WIFSIGNALED(status) ? "signal" : "exit");
  lua_pushinteger(L, WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  return 3;
}

/*** child:pid() → integer
 * Its process id; it means nothing after the child has ended. */
static int child_pid(lua_State *L) {
  lua_pushinteger(L, check_process(L)->child.pid);
  return 1;
}

/*** child:kill(signal) → boolean
 * Sends a signal (a number; default 15). False when the child has ended. */
static int child_kill(lua_State *L) {
  struct process *process = check_process(L);
  int signal_number = (int)luaL_optinteger(L, 2, SIGTERM);
  lua_pushboolean(L, !process->ended && kill(process->child.pid, signal_number) == 0);
  return 1;
}

/* A child that still runs is killed: nothing outlives its handle. */
static int child_close(lua_State *L) {
  struct process *process = luaL_checkudata(L, 1, CHILD);
  if (process->token != 0) {
    if (process->child.watched) {
      rtl_loop_child_forget(rtl_loop_default(), &process->child);
      rtl_process_end(process->child.pid);
    }
    rtl_loop_end_token(rtl_loop_default(), process->token);
    process->token = 0;
  }
  return 0;
}

/* ---- spawn ---- */

/* The field `name` of the options at 1 as a NULL-ended array in a userdata that stays on the stack;
 * its strings are kept alive by the options. NULL when the field is nil. */
static char **check_strings(lua_State *L, const char *name) {
  if (lua_getfield(L, 1, name) == LUA_TNIL) {
    return NULL;
  }
  luaL_argcheck(L, lua_istable(L, -1), 1, "argv and env are arrays of strings");
  lua_Integer count = luaL_len(L, -1);
  char **strings = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof *strings, 0);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_geti(L, -2, i);
    luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, 1, "argv and env are arrays of strings");
    size_t size;
    const char *text = lua_tolstring(L, -1, &size);
    luaL_argcheck(L, strlen(text) == size, 1, "a NUL inside a string of argv or env");
    memcpy(&strings[i - 1], &text, sizeof text); /* posix_spawn's char *const *, never written to */
    lua_pop(L, 1);
  }
  strings[count] = NULL;
  return strings;
}

static enum rtl_stdio check_stdio(lua_State *L, const char *name) {
  static const char *const names[] = {"pipe", "null", "inherit", NULL};
  lua_getfield(L, 1, name);
  const char *value = luaL_optstring(L, -1, "pipe");
  for (int i = 0; names[i] != NULL; i++) {
    if (strcmp(value, names[i]) == 0) {
      return (enum rtl_stdio)i;
    }
  }
  return luaL_argerror(L, 1, "stdin, stdout and stderr are pipe, null or inherit");
}

static void check_spawn(lua_State *L, struct rtl_spawn *spawn) {
  luaL_checktype(L, 1, LUA_TTABLE);
  spawn->argv = check_strings(L, "argv");
  luaL_argcheck(L, spawn->argv != NULL && spawn->argv[0] != NULL, 1, "argv is missing");
  spawn->envp = check_strings(L, "env");
  lua_getfield(L, 1, "cwd");
  spawn->cwd = luaL_optstring(L, -1, NULL);
  spawn->stdio[0] = check_stdio(L, "stdin");
  spawn->stdio[1] = check_stdio(L, "stdout");
  spawn->stdio[2] = check_stdio(L, "stderr");
  lua_getfield(L, 1, "own_group");
  spawn->own_group = lua_toboolean(L, -1);
}

/*** native.process.spawn{argv, env, cwd, …} → child, stdin, stdout, stderr
 * Starts a program (looked for in PATH). env: an array of "NAME=value", default ours; own_group: a
 * process group of its own. stdin, stdout, stderr: "pipe" (default), "null" or "inherit"; pipes are
 * returned, else nil. The child's take() gives "exit", code or "signal", number. nil, a text and
 * the error number when it can't start. */
static int l_spawn(lua_State *L) {
  struct rtl_spawn spawn;
  check_spawn(L, &spawn);
  struct process *process = lua_newuserdatauv(L, sizeof *process, 0);
  memset(process, 0, sizeof *process);
  luaL_setmetatable(L, CHILD);
  process->token = check_token(L);
  struct pipe *pipes[3] = {NULL, NULL, NULL};
  for (int i = 0; i < 3; i++) {
    if (spawn.stdio[i] == RTL_STDIO_PIPE) {
      pipes[i] = push_pipe(L);
      pipes[i]->writing = i == 0;
    } else {
      lua_pushnil(L);
    }
  }
  int descriptors[3];
  pid_t pid;
  if (rtl_process_spawn(&spawn, &pid, descriptors) != 0) {
    int error = errno;
    for (int i = 0; i < 3; i++) {
      if (pipes[i] != NULL) {
        close_pipe(pipes[i]);
      }
    }
    rtl_loop_end_token(rtl_loop_default(), process->token);
    process->token = 0;
    return fail(L, error);
  }
  process->child = (struct rtl_child){.pid = pid, .exited = on_exit_of, .data = process};
  rtl_loop_child_watch(rtl_loop_default(), &process->child);
  for (int i = 0; i < 3; i++) {
    if (pipes[i] != NULL) {
      pipes[i]->watch.fd = descriptors[i];
    }
  }
  return 4;
}

/* ---- environment ---- */

/*** native.process.getenv(name) → string or nil
 * A variable of the real environment. */
static int l_getenv(lua_State *L) {
  lua_pushstring(L, getenv(luaL_checkstring(L, 1)));
  return 1;
}

/*** native.process.environ() → {"NAME=value", …}
 * The real environment, in its own order. */
static int l_environ(lua_State *L) {
  lua_newtable(L);
  for (int i = 0; environ != NULL && environ[i] != NULL; i++) {
    lua_pushstring(L, environ[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/*** native.process.hostname() → string
 * The name of this machine. */
static int l_hostname(lua_State *L) {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0) {
    return fail(L, errno);
  }
  lua_pushstring(L, name);
  return 1;
}

/*** native.process.pid() → integer
 * Our own process id. */
static int l_pid(lua_State *L) {
  lua_pushinteger(L, getpid());
  return 1;
}

static void make_class(lua_State *L, const char *name, const luaL_Reg *methods) {
  luaL_newmetatable(L, name);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

int luaopen_rtl_native_process(lua_State *L) {
  static const luaL_Reg child[] = {
      {"token", child_token}, {"take", child_take},  {"pid", child_pid},
      {"kill", child_kill},   {"close", child_close}, {"cancel", child_close},
      {"__gc", child_close},  {"__close", child_close}, {NULL, NULL},
  };
  static const luaL_Reg pipe[] = {
      {"token", pipe_token}, {"take", pipe_take},   {"start", pipe_start}, {"cancel", pipe_cancel},
      {"close", pipe_close}, {"__gc", pipe_close}, {"__close", pipe_close}, {NULL, NULL},
  };
  static const luaL_Reg functions[] = {
      {"spawn", l_spawn},       {"getenv", l_getenv}, {"environ", l_environ},
      {"hostname", l_hostname}, {"pid", l_pid},       {NULL, NULL},
  };
  make_class(L, CHILD, child);
  make_class(L, PIPE, pipe);
  luaL_newlib(L, functions);
  return 1;
}
