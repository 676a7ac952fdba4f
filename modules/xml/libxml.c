#include "xml/libxml.h"

#include "secret/secret.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct libxml libxml;

static int wiping;

/* libxml2's memory: it copies the text, and keeps names and parts of texts in buffers of its own.
 * Blocks are malloc's: one that was made before this can be freed here. */
static void give_back(void *block) {
  if (wiping && block != NULL) {
    rtl_wipe(block, malloc_usable_size(block));
  }
  free(block);
}

static void *resize(void *block, size_t size) {
  if (!wiping) {
    return realloc(block, size);
  }
  void *grown = malloc(size);
  if (grown != NULL && block != NULL) {
    size_t old = malloc_usable_size(block);
    memcpy(grown, block, old < size ? old : size);
    give_back(block);
  }
  return grown;
}

static int resolve(void *library, struct libxml *out) {
  int complete = 1;
#define RESOLVE(name)                                                                             \
  *(void **)(&out->name) = dlsym(library, #name);                                                 \
  complete = complete && out->name != NULL;
#define EACH(name) RESOLVE(name)
  RTL_LIBXML_FUNCTIONS(EACH)
#undef EACH
#undef RESOLVE
  return complete;
}

void libxml_wipe(int on) {
  wiping = on;
}

const char *libxml_load(void) {
  static void *library;
  struct libxml found;
  if (libxml.xmlInitParser != NULL) {
    return NULL;
  }
  if (library == NULL) {
    library = dlopen("libxml2.so.2", RTLD_NOW | RTLD_LOCAL);
  }
  if (library == NULL) {
    return "libxml2.so.2 can't be loaded";
  }
  if (!resolve(library, &found)) {
    return "libxml2.so.2 lacks a function";
  }
  found.xmlMemSetup(give_back, malloc, resize, strdup);
  found.xmlInitParser();
  libxml = found;
  return NULL;
}
