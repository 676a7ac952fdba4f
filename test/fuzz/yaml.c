/* libFuzzer target of the YAML core: what it reads, it must write so that it reads the same again.
 * Sources: modules/yaml/{prepare,parse,resolve,write}.c modules/json/{scan,print}.c
 * modules/crypto/base64.c modules/secret/secret.c -lyaml -lcjson */
#include "json/json.h"
#include "yaml/yaml.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int write_node(struct tree_writer *w, const struct tree_node *node);

static int write_items(struct tree_writer *w, const struct tree_node *node) {
  int done = tree_write_start(w, node->kind);
  for (size_t i = 0; done && i < node->as.items.count; i++) {
    const struct tree_entry *entry = &node->as.items.entries[i];
    done = (entry->key == NULL || tree_write_string(w, entry->key->as.string.bytes,
                                                    entry->key->as.string.size, 1)) &&
           write_node(w, entry->value);
  }
  return done && tree_write_end(w, node->kind);
}

static int write_node(struct tree_writer *w, const struct tree_node *node) {
  char text[JSON_NUMBER_SIZE];
  switch (node->kind) {
    case TREE_NULL: return tree_write_plain(w, "null");
    case TREE_BOOL: return tree_write_plain(w, node->as.truth ? "true" : "false");
    case TREE_INTEGER: json_print_integer(node->as.integer, text); return tree_write_plain(w, text);
    case TREE_FLOAT:
      if (!json_print_float(node->as.number, text)) {
        abort();
      }
      return tree_write_plain(w, text);
    case TREE_STRING: return tree_write_string(w, node->as.string.bytes, node->as.string.size, 0);
    default: return write_items(w, node);
  }
}

static int same(const struct tree_node *a, const struct tree_node *b);

static int same_items(const struct tree_node *a, const struct tree_node *b) {
  if (a->as.items.count != b->as.items.count) {
    return 0;
  }
  for (size_t i = 0; i < a->as.items.count; i++) {
    const struct tree_entry *x = &a->as.items.entries[i];
    const struct tree_entry *y = &b->as.items.entries[i];
    if ((x->key != NULL && !same(x->key, y->key)) || !same(x->value, y->value)) {
      return 0;
    }
  }
  return 1;
}

static double number_of(const struct tree_node *node) {
  return node->kind == TREE_INTEGER ? (double)node->as.integer : node->as.number;
}

static int same(const struct tree_node *a, const struct tree_node *b) {
  if (a->kind == TREE_FLOAT) { /* 1e3 is written as 1000 */
    return (b->kind == TREE_FLOAT || b->kind == TREE_INTEGER) && number_of(a) == number_of(b);
  }
  if (a->kind != b->kind) {
    return 0;
  }
  switch (a->kind) {
    case TREE_NULL: return 1;
    case TREE_BOOL: return a->as.truth == b->as.truth;
    case TREE_INTEGER: return a->as.integer == b->as.integer;
    case TREE_STRING:
      return a->as.string.size == b->as.string.size &&
             memcmp(a->as.string.bytes, b->as.string.bytes, a->as.string.size) == 0;
    default: return same_items(a, b);
  }
}

/* Merged entries may repeat keys, and !!binary may hold what is no text: those are not written. */
static int is_writable(const struct tree_node *node) {
  if (node->kind == TREE_STRING) {
    const char *end = node->as.string.bytes + node->as.string.size;
    for (const char *at = node->as.string.bytes; at < end;) {
      size_t length = json_utf8(at, end);
      if (length == 0) {
        return 0;
      }
      at += length;
    }
  }
  if (node->kind != TREE_ARRAY && node->kind != TREE_OBJECT) {
    return 1;
  }
  for (size_t i = 0; i < node->as.items.count; i++) {
    const struct tree_entry *entry = &node->as.items.entries[i];
    if (entry->merged || !is_writable(entry->value)) {
      return 0;
    }
  }
  return 1;
}

static void check_round(const struct tree *tree) {
  struct tree again;
  struct tree_error error;
  size_t size = 0;
  struct tree_writer *w = tree_writer_new();
  if (w == NULL) {
    abort();
  }
  for (size_t i = 0; i < tree->count; i++) {
    if (!tree_write_document(w, i == 0) || !write_node(w, tree->documents[i]) ||
        !tree_write_document_end(w)) {
      abort();
    }
  }
  const char *text = tree_writer_finish(w, &size);
  if (text == NULL || !tree_parse(text, size, 1, &again, &error) || again.count != tree->count) {
    abort();
  }
  for (size_t i = 0; i < tree->count; i++) {
    if (!same(tree->documents[i], again.documents[i])) {
      abort();
    }
  }
  tree_free(&again);
  tree_writer_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct tree tree;
  struct tree_error error;
  if (!tree_parse((const char *)bytes, size, 0, &tree, &error)) {
    if (error.line == 0 || error.column == 0 || error.message[0] == '\0') {
      abort();
    }
    return 0;
  }
  int writable = 1;
  for (size_t i = 0; i < tree.count; i++) {
    writable = writable && tree.documents[i]->weight < 10000 && is_writable(tree.documents[i]);
  }
  if (writable) {
    check_round(&tree);
  }
  tree_free(&tree);
  return 0;
}
