/* Preloaded in front of the C library's malloc: lets allocation n, or all from n on, fail inside one
 * protected call. For test/fault/alloc_spec.lua, which builds it as a Lua module. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <lauxlib.h>
#include <pthread.h>
#include <stddef.h>

int luaopen_fault(lua_State *L);

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

static volatile int armed;
static pthread_t armed_thread; /* libcurl's resolver threads are left alone */
static long countdown, failed;
static int once, only_lua;
static long live; /* blocks that are not freed yet: Lua's, and those of others */
static lua_Alloc former; /* Lua's allocator */
static void *former_data;
static __thread int inside; /* it: what it asks of malloc is no block of its own */

/* `lua`: Lua's own allocator asks. */
static int fails(int lua) {
  if (!armed || inside || (only_lua && !lua) || !pthread_equal(pthread_self(), armed_thread) || --countdown > 0) {
    return 0;
  }
  if (once && failed > 0) {
    return 0;
  }
  failed++;
  errno = ENOMEM;
  return 1;
}

static void count(int more) {
  if (!inside) {
    __atomic_add_fetch(&live, more, __ATOMIC_RELAXED);
  }
}

static void *counted(void *block) {
  count(block != NULL);
  return block;
}

void *malloc(size_t size) {
  return fails(0) ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
  return fails(0) ? NULL : counted(__libc_calloc(count, size));
}

static void *resize(void *block, size_t size) {
  void *moved = __libc_realloc(block, size);
  if (block == NULL) {
    counted(moved);
  } else if (moved == NULL && size == 0) {
    count(-1);
  }
  return moved;
}

void *realloc(void *block, size_t size) {
  return size > 0 && fails(0) ? NULL : resize(block, size);
}

void free(void *block) {
  count(-(block != NULL));
  __libc_free(block);
}

/* Before Lua's allocator: a block that shrinks never fails. */
static void *lua_allocator(void *data, void *block, size_t old_size, size_t new_size) {
  (void)data;
  if (new_size > 0 && (block == NULL || new_size > old_size) && fails(1)) {
    return NULL;
  }
  inside = 1;
  void *moved = former(former_data, block, old_size, new_size);
  inside = 0;
  count((moved != NULL) - (block != NULL && (moved != NULL || new_size == 0)));
  return moved;
}

/* try(n, once, only_lua, f) → how many failed, pcall's results. */
static int try(lua_State *L) {
  countdown = (long)luaL_checkinteger(L, 1);
  once = lua_toboolean(L, 2);
  only_lua = lua_toboolean(L, 3);
  luaL_checktype(L, 4, LUA_TFUNCTION);
  lua_settop(L, 4);
  lua_remove(L, 3);
  luaL_checkstack(L, 40, NULL);
  failed = 0;
  armed_thread = pthread_self();
  armed = 1;
  int status = lua_pcall(L, 0, 2, 0);
  armed = 0;
  lua_settop(L, status == LUA_OK ? 4 : 3);
  lua_pushinteger(L, failed);
  lua_replace(L, 1);
  lua_pushboolean(L, status == LUA_OK);
  lua_replace(L, 2); /* failed ok results… */
  return lua_gettop(L);
}

static int live_blocks(lua_State *L) {
  lua_pushinteger(L, live);
  return 1;
}

int luaopen_fault(lua_State *L) {
  static const luaL_Reg functions[] = {{"try", try}, {"live", live_blocks}, {NULL, NULL}};
  former = lua_getallocf(L, &former_data);
  lua_setallocf(L, lua_allocator, NULL);
  luaL_newlib(L, functions);
  return 1;
}
