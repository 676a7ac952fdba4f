/* YAML text to a tree and back, on libyaml, read as Kubernetes tools read it. Pure C.
 *
 * Plain scalars mean what kubectl takes them for (facts in test/vectors/yaml), keys stay the text
 * that was written, a key that stands twice is an error, aliases are expanded within a bound. */
#ifndef RTL_YAML_H
#define RTL_YAML_H

#include <stddef.h>
#include <stdint.h>

enum {
  TREE_MAX_DEPTH = 256,
  TREE_MAX_EXPANDED = 100000, /* values that aliases may add */
  TREE_MAX_ANCHORS = 1000
};

enum tree_kind {
  TREE_NULL, TREE_BOOL, TREE_INTEGER, TREE_FLOAT, TREE_STRING, TREE_ARRAY, TREE_OBJECT
};

struct tree_node;

struct tree_entry {
  const struct tree_node *key; /* a TREE_STRING; NULL in arrays */
  const struct tree_node *value;
  int merged; /* came from a merge key */
};

struct tree_node {
  enum tree_kind kind;
  size_t line, column; /* from 1 */
  size_t weight;       /* values in it, with its aliases expanded */
  union {
    int truth;
    int64_t integer;
    double number;
    struct { const char *bytes; size_t size; } string;
    struct { struct tree_entry *entries; size_t count; } items; /* later entries win */
  } as;
};

struct tree_warning {
  const char *message; /* static text */
  size_t line, column;
};

struct tree_error {
  char message[256];
  size_t line, column; /* from 1 */
};

/* All documents of a text. Nodes live as long as it; an alias shares its anchor's node. */
struct tree {
  const struct tree_node **documents; /* those that hold something */
  size_t count;
  size_t empty; /* comment-only or null documents, which are skipped */
  struct tree_warning *warnings;
  size_t warning_count;
  struct tree_block *blocks;
  int wipe;
};

/* Reads `text` (borrowed) into `tree`, which the caller frees. 1, or 0 with `error` filled and
 * nothing to free. `wipe`: what holds text is overwritten when it is freed (but for what libyaml
 * leaves behind when one of its buffers moves). */
int tree_parse(const char *text, size_t size, int wipe, struct tree *tree,
               struct tree_error *error);
void tree_free(struct tree *tree); /* fine on a zeroed or freed one */

/* Memory that lives as long as the tree; NULL when out of memory. */
void *tree_allocate(struct tree *tree, size_t size);

/* The stage before: a malloc'ed copy of the text, given to the caller, without the byte order marks
 * that begin documents; `size` is adjusted. NULL, with `error` filled, when a line begins with
 * '---' and text right after it. */
char *tree_prepare(const char *text, size_t *size, struct tree_error *error);

/* What a plain scalar stands for; fills `as` of a node of that kind (strings: borrowed from text).
 * TREE_OUTSIDE: infinity or NaN. `warning` becomes a static text or NULL. */
enum { TREE_OUTSIDE = -1 };
int tree_resolve(const char *text, size_t size, struct tree_node *node, const char **warning);

/* Whether a string may be written without quotes: no reader of YAML 1.1, 1.2 or Go's takes it for
 * something else. Errs on the side of quotes. */
int tree_is_plain(const char *text, size_t size);

/* A writer over libyaml's emitter. Each call returns 1, or 0 with tree_writer_problem(). */
struct tree_writer;
struct tree_writer *tree_writer_new(void); /* NULL when out of memory; owned by the caller */
void tree_writer_free(struct tree_writer *writer); /* takes; NULL is fine */
int tree_write_document(struct tree_writer *writer, int first);
int tree_write_document_end(struct tree_writer *writer);
int tree_write_start(struct tree_writer *writer, enum tree_kind kind); /* array or object */
int tree_write_end(struct tree_writer *writer, enum tree_kind kind);
int tree_write_plain(struct tree_writer *writer, const char *text); /* numbers, true, null */
int tree_write_string(struct tree_writer *writer, const char *bytes, size_t size, int is_key);
const char *tree_writer_problem(const struct tree_writer *writer);

/* After the last document: the whole text, borrowed from the writer; NULL on failure. */
const char *tree_writer_finish(struct tree_writer *writer, size_t *size);

#endif
