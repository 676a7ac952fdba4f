#include "xml/libxml.h"

#include "secret/secret.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct libxml libxml;

/* libxml2's memory, wiped when it is freed: it copies the text, and keeps names and parts of texts
 * in buffers of its own. Blocks are malloc's: one that was made before this can be freed here. */
static void wiping_free(void *block) {
  if (block != NULL) {
    rtl_wipe(block, malloc_usable_size(block));
    free(block);
  }
}

static void *wiping_realloc(void *block, size_t size) {
  void *grown = malloc(size);
  if (grown != NULL && block != NULL) {
    size_t old = malloc_usable_size(block);
    memcpy(grown, block, old < size ? old : size);
    wiping_free(block);
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
  found.xmlMemSetup(wiping_free, malloc, wiping_realloc, strdup);
  found.xmlInitParser();
  libxml = found;
  return NULL;
}
