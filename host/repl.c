/* The line editor under the REPL: libedit, history, prompt. What a line means is
 * lua/rtl/cli/repl.lua's. While the editor waits for a key the event loop runs, so that background
 * tasks go on. */
#include "host.h"

#include <errno.h>
#include <histedit.h>
#include <lauxlib.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#define REPL "rtl.repl"

enum { KEPT_LINES = 1000, OPTIONS = 1 };

struct repl {
  EditLine *editor;
  History *history;
  lua_State *L;
  char prompt[128];
  int interrupted; /* Ctrl-C while waiting for a key */
};

static int repl_close(lua_State *L) {
  struct repl *repl = luaL_checkudata(L, 1, REPL);
  if (repl->editor != NULL) {
    el_end(repl->editor);
    repl->editor = NULL;
  }
  if (repl->history != NULL) {
    history_end(repl->history);
    repl->history = NULL;
  }
  return 0;
}

static char *show_prompt(EditLine *editor) {
  struct repl *repl = NULL;
  el_get(editor, EL_CLIENTDATA, &repl);
  return repl->prompt;
}

/* Cuts the frames of the REPL itself off the trace of the error on top of the stack. */
static void trim_trace(lua_State *L) {
  if (lua_type(L, -1) == LUA_TSTRING) {
    const char *text = lua_tostring(L, -1);
    const char *frames = strstr(text, "\n\t[C]: in function 'rtl.native.host.repl'");
    if (frames != NULL) {
      lua_pushlstring(L, text, (size_t)(frames - text));
      lua_replace(L, -2);
    }
  }
}

/* Calls options.NAME with the `nargs` arguments on top; leaves `nresults` values or, when it
 * failed, reports the error and leaves nothing. */
static int call_option(lua_State *L, const char *name, int nargs, int nresults) {
  lua_getfield(L, OPTIONS, name);
  lua_insert(L, -nargs - 1);
  if (rtl_call(L, nargs, nresults) == LUA_OK) {
    return 1;
  }
  if (rtl_interrupted()) {
    lua_pop(L, 1);
    fputs("interrupted\n", stderr);
  } else {
    trim_trace(L);
    rtl_report(L);
  }
  return 0;
}

/* Runs the event loop until a key can be read. Returns 0 when Ctrl-C or an error ended that. */
static int pump(struct repl *repl) {
  lua_State *L = repl->L;
  lua_getfield(L, OPTIONS, "wait");
  if (rtl_call(L, 0, 0) == LUA_OK) {
    return 1;
  }
  repl->interrupted = rtl_interrupted();
  if (repl->interrupted) {
    lua_pop(L, 1);
  } else {
    rtl_report(L);
  }
  return 0;
}

/* EL_GETCFN: one character of UTF-8 input. 1, 0 at the end, -1 on failure. */
static int read_key(EditLine *editor, wchar_t *out) {
  struct repl *repl = NULL;
  mbstate_t state;
  memset(&state, 0, sizeof state);
  el_get(editor, EL_CLIENTDATA, &repl);
  for (;;) {
    char byte;
    if (!pump(repl)) {
      return -1;
    }
    ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got <= 0) {
      return got == 0 ? 0 : -1;
    }
    size_t used = mbrtowc(out, &byte, 1, &state);
    if (used == (size_t)-1) {
      memset(&state, 0, sizeof state);
    } else if (used != (size_t)-2) {
      return 1;
    }
  }
}

static void open_editor(struct repl *repl, const char *history_file) {
  HistEvent event;
  repl->history = history_init();
  repl->editor = el_init("rtl", stdin, stdout, stderr);
  if (repl->history == NULL || repl->editor == NULL) {
    luaL_error(repl->L, "no line editor: %s", strerror(errno));
  }
  history(repl->history, &event, H_SETSIZE, KEPT_LINES);
  history(repl->history, &event, H_SETUNIQUE, 1);
  if (history_file != NULL) {
    history(repl->history, &event, H_LOAD, history_file);
  }
  el_set(repl->editor, EL_CLIENTDATA, repl);
  el_set(repl->editor, EL_EDITOR, "emacs");
  el_set(repl->editor, EL_PROMPT, show_prompt);
  el_set(repl->editor, EL_HIST, history, repl->history);
  el_set(repl->editor, EL_GETCFN, read_key);
  el_source(repl->editor, NULL); /* the user's .editrc */
}

static void fetch_prompt(struct repl *repl) {
  lua_State *L = repl->L;
  strcpy(repl->prompt, "> ");
  if (call_option(L, "prompt", 0, 1)) {
    const char *text = lua_tostring(L, -1);
    snprintf(repl->prompt, sizeof repl->prompt, "%s", text != NULL ? text : "> ");
    lua_pop(L, 1);
  }
}

static void remember(struct repl *repl, const char *line, const char *history_file) {
  HistEvent event;
  if (line[strspn(line, " \t\r\n")] == '\0') {
    return;
  }
  history(repl->history, &event, H_ENTER, line);
  if (history_file != NULL) {
    history(repl->history, &event, H_SAVE, history_file);
  }
}

/* Reads one line and has it evaluated. 0 at the end of input. */
static int one_line(struct repl *repl, const char *history_file) {
  lua_State *L = repl->L;
  int length = 0;
  rtl_interrupt_clear(L);
  call_option(L, "recover", 0, 0);
  fetch_prompt(repl);
  el_resize(repl->editor);
  repl->interrupted = 0;
  const char *line = el_gets(repl->editor, &length);
  if (line == NULL || length <= 0) {
    fputs(repl->interrupted ? "^C\n" : "\n", stdout);
    if (repl->interrupted) {
      rtl_interrupt_clear(L);
      call_option(L, "abandon", 0, 0);
    }
    return repl->interrupted;
  }
  remember(repl, line, history_file);
  lua_pushlstring(L, line, (size_t)length);
  call_option(L, "accept", 1, 0);
  fflush(stdout);
  return 1;
}

/*** host.repl{prompt, accept, abandon, wait, recover, history}
 * Reads lines from the terminal until its end. prompt() gives the prompt's text, accept(line) does
 * what the line says, abandon() forgets what was begun, wait() runs the event loop until standard
 * input can be read, recover() makes a fresh start after an interrupt; history: the path of the
 * file that keeps the lines, or nil. */
static int host_repl(lua_State *L) {
  luaL_checktype(L, OPTIONS, LUA_TTABLE);
  lua_settop(L, OPTIONS);
  lua_getfield(L, OPTIONS, "history"); /* stays on the stack */
  const char *history_file = lua_tostring(L, -1);
  struct repl *repl = lua_newuserdatauv(L, sizeof *repl, 0);
  memset(repl, 0, sizeof *repl);
  repl->L = L;
  if (luaL_newmetatable(L, REPL)) {
    lua_pushcfunction(L, repl_close);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, repl_close);
    lua_setfield(L, -2, "__close");
  }
  lua_setmetatable(L, -2);
  lua_toclose(L, -1);
  setlocale(LC_CTYPE, "C.UTF-8");
  open_editor(repl, history_file);
  while (one_line(repl, history_file)) {
  }
  return 0;
}

void rtl_repl_bind(lua_State *L) {
  lua_pushcfunction(L, host_repl);
  lua_setfield(L, -2, "repl");
}
