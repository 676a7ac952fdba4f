/* Which entries must not be unpacked. */
#include "archive/archive.h"

#include <string.h>

enum { MAX_NAME = 4096 };

static int is_parent(const char *part, size_t size) {
  return size == 2 && part[0] == '.' && part[1] == '.';
}

static int has_parent(const char *path) {
  for (const char *part = path; *part != '\0';) {
    size_t size = strcspn(part, "/");
    if (is_parent(part, size)) {
      return 1;
    }
    part += size;
    part += strspn(part, "/");
  }
  return 0;
}

static const char *path_refusal(const char *path) {
  if (*path == '\0') {
    return "has an empty name";
  }
  if (strlen(path) > MAX_NAME) {
    return "has a name of more than 4096 bytes";
  }
  if (*path == '/') {
    return "has an absolute name";
  }
  return has_parent(path) ? "has '..' in its name" : NULL;
}

/* How many folders a path lies deep: "a/b/c" is 2. */
static size_t depth_of(const char *path) {
  size_t depth = 0;
  for (const char *part = path; *part != '\0';) {
    size_t size = strcspn(part, "/");
    const char *rest = part + size + strspn(part + size, "/");
    depth += *rest != '\0' && !(size == 1 && *part == '.');
    part = rest;
  }
  return depth;
}

/* A symbolic link may climb only at its start, and no higher than the tree's root: behind a first
 * name, '..' could climb from wherever another link leads. */
static const char *target_refusal(const char *name, const char *target) {
  size_t left = depth_of(name);
  const char *part = target;
  if (*target == '\0' || *target == '/') {
    return *target == '/' ? "links to an absolute name" : "links to an empty name";
  }
  for (; *part != '\0'; part += strspn(part, "/")) {
    size_t size = strcspn(part, "/");
    if (is_parent(part, size) && left-- == 0) {
      return "links out of the tree";
    }
    part += size;
    if (!is_parent(part - size, size) && !(size == 1 && part[-1] == '.')) {
      break;
    }
  }
  return has_parent(part) ? "links through '..' behind a name" : NULL;
}

const char *tar_refusal(const struct tar_entry *entry) {
  const char *why = path_refusal(entry->name);
  if (why != NULL || entry->target == NULL) {
    return why;
  }
  if (entry->kind == TAR_HARDLINK) {
    return path_refusal(entry->target) == NULL ? NULL : "links out of the tree";
  }
  return target_refusal(entry->name, entry->target);
}
