/* The option --rehearse[=SPEC]: the only thing that chooses a simulated world. */
#include "host.h"

#include <lauxlib.h>
#include <string.h>

static const char OPTION[] = "--rehearse";

/* SPEC ("" for the bare option) when `word` is the option, else NULL. */
static const char *spec_of(const char *word) {
  size_t length = sizeof OPTION - 1;
  if (strncmp(word, OPTION, length) != 0 || (word[length] != '\0' && word[length] != '=')) {
    return NULL;
  }
  return word[length] == '=' ? word + length + 1 : "";
}

const char *rtl_take_rehearse(int *argc, char **argv) {
  const char *found = NULL;
  int kept = 0;
  int options = 1; /* until "--" */
  for (int i = 0; i < *argc; i++) {
    options = options && strcmp(argv[i], "--") != 0;
    const char *spec = i > 0 && options ? spec_of(argv[i]) : NULL;
    if (spec != NULL) {
      found = spec;
    } else {
      argv[kept++] = argv[i];
    }
  }
  argv[kept] = NULL;
  *argc = kept;
  return found;
}

static int install(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "rtl.rehearse");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "install");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_call(L, 1, 0);
  return 0;
}

void rtl_push_rehearsal(lua_State *L, const char *spec) {
  if (spec == NULL) {
    lua_pushnil(L);
    return;
  }
  lua_pushstring(L, spec);
  lua_pushcclosure(L, install, 1);
}
