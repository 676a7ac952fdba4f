/* The Lua state: its memory and its warnings. One a process. */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
enum { SMALL = 0 }; /* the sanitizer is to see each block */
#else
enum { SMALL = 256 };
#endif
enum { STEP = 16, SIZES = SMALL / STEP, CHUNK = 1 << 14 };

/* Small blocks come from free lists, one for each size: a collection frees thousands at once, more
 * than malloc keeps at hand. What was small once stays here until the process ends. */
struct block {
  struct block *next;
};

static struct block *spare[SIZES + 1]; /* by their size in steps */
static char *fresh, *end;              /* what is left of the newest chunk */

static size_t steps_of(size_t size) {
  return (size + STEP - 1) / STEP;
}

static void *take(size_t steps) {
  struct block *block = spare[steps];
  if (block != NULL) {
    spare[steps] = block->next;
    return block;
  }
  size_t size = steps * STEP;
  if ((size_t)(end - fresh) < size) {
    char *chunk = malloc(CHUNK);
    if (chunk == NULL) {
      return NULL;
    }
    fresh = chunk;
    end = chunk + CHUNK;
  }
  block = (struct block *)(void *)fresh;
  fresh += size;
  return block;
}

static void *make(size_t size) {
  return size > SMALL ? malloc(size) : take(steps_of(size));
}

static void give_back(void *block, size_t size) {
  if (size > SMALL) {
    free(block);
  } else {
    struct block *small = block;
    small->next = spare[steps_of(size)];
    spare[steps_of(size)] = small;
  }
}

static void *resize(void *block, size_t old_size, size_t size) {
  if (old_size > SMALL && size > SMALL) {
    return realloc(block, size);
  }
  if (old_size <= SMALL && size <= SMALL && steps_of(old_size) == steps_of(size)) {
    return block;
  }
  void *moved = make(size);
  if (moved != NULL) {
    memcpy(moved, block, old_size < size ? old_size : size);
    give_back(block, old_size);
  }
  return moved;
}

/* A lua_Alloc. */
static void *allocate(void *data, void *block, size_t old_size, size_t size) {
  (void)data;
  if (block == NULL) { /* old_size is then the kind of the object */
    return size == 0 ? NULL : make(size);
  }
  if (size == 0) {
    give_back(block, old_size);
    return NULL;
  }
  return resize(block, old_size, size);
}

enum warnings { OFF, ON, WITHIN }; /* within: one that comes in pieces */

/* A lua_WarnFunction, as lua5.4's own: off until warn "@on". */
static void on_warning(void *data, const char *piece, int goes_on) {
  enum warnings *now = data;
  if (*now != WITHIN && !goes_on && *piece == '@') {
    *now = strcmp(piece, "@on") == 0 ? ON : strcmp(piece, "@off") == 0 ? OFF : *now;
  } else if (*now != OFF) {
    fprintf(stderr, "%s%s%s", *now == ON ? "Lua warning: " : "", piece, goes_on ? "" : "\n");
    *now = goes_on ? WITHIN : ON;
  }
}

lua_State *rtl_new_state(void) {
  static enum warnings warnings = OFF;
  lua_State *L = lua_newstate(allocate, NULL);
  if (L != NULL) {
    lua_setwarnf(L, on_warning, &warnings);
  }
  return L;
}
