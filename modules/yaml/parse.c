/* libyaml's events to a tree. */
#include "crypto/base64.h"
#include "secret/secret.h"
#include "yaml/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct anchor {
  char *name;
  const struct tree_node *node; /* NULL while its value is being read */
  size_t document;
};

struct reader {
  yaml_parser_t parser;
  yaml_event_t event; /* the current one */
  struct tree *tree;
  struct tree_error *error;
  struct anchor anchors[TREE_MAX_ANCHORS];
  size_t anchor_count, document, expanded;
  size_t document_capacity, warning_capacity;
};

/* Entries of a collection that is being read. */
struct entries {
  struct tree_entry *items; /* malloc'ed */
  size_t count, capacity;
};

static const struct tree_node *read_value(struct reader *r, int depth);

/* Says what is wrong at a mark of libyaml's, unless something was said already. Returns NULL. */
static void *fail(struct reader *r, const yaml_mark_t *mark, const char *message) {
  if (r->error->message[0] == '\0') {
    snprintf(r->error->message, sizeof r->error->message, "%s", message);
    r->error->line = mark->line + 1;
    r->error->column = mark->column + 1;
  }
  return NULL;
}

static void *no_memory(struct reader *r) {
  return fail(r, &r->event.start_mark, "not enough memory");
}

static int parser_failed(struct reader *r) {
  yaml_parser_t *p = &r->parser;
  const char *problem = p->problem != NULL ? p->problem : "not enough memory";
  char message[200];
  if (p->error == YAML_READER_ERROR) {
    yaml_mark_t mark = p->mark;
    snprintf(message, sizeof message, "%s (byte %zu)", problem, p->problem_offset + 1);
    fail(r, &mark, message);
    return 0;
  }
  snprintf(message, sizeof message, "%s%s%s", problem, p->context != NULL ? " " : "",
           p->context != NULL ? p->context : "");
  fail(r, &p->problem_mark, message);
  return 0;
}

static void forget_event(struct reader *r) {
  if (r->tree->wipe && r->event.type == YAML_SCALAR_EVENT) {
    rtl_wipe(r->event.data.scalar.value, r->event.data.scalar.length);
  }
}

/* Moves on to the next event. */
static int advance(struct reader *r) {
  forget_event(r);
  yaml_event_delete(&r->event);
  return yaml_parser_parse(&r->parser, &r->event) ? 1 : parser_failed(r);
}

/* Doubles an array; 0 when out of memory. */
static int reserve(void *array, size_t count, size_t *capacity, size_t size) {
  void **items = array;
  if (count < *capacity) {
    return 1;
  }
  size_t wanted = *capacity == 0 ? 8 : *capacity * 2;
  void *grown = realloc(*items, wanted * size);
  if (grown == NULL) {
    return 0;
  }
  *items = grown;
  *capacity = wanted;
  return 1;
}

static void warn(struct reader *r, const char *message) {
  struct tree *tree = r->tree;
  if (message != NULL && reserve(&tree->warnings, tree->warning_count, &r->warning_capacity,
                                 sizeof *tree->warnings)) {
    tree->warnings[tree->warning_count++] = (struct tree_warning){
        message, r->event.start_mark.line + 1, r->event.start_mark.column + 1};
  }
}

static struct tree_node *new_node(struct reader *r, enum tree_kind kind) {
  struct tree_node *node = tree_allocate(r->tree, sizeof *node);
  if (node == NULL) {
    return no_memory(r);
  }
  memset(node, 0, sizeof *node);
  node->kind = kind;
  node->line = r->event.start_mark.line + 1;
  node->column = r->event.start_mark.column + 1;
  node->weight = 1;
  return node;
}

/* The anchor of that name that was written last, or NULL. */
static struct anchor *find_anchor(struct reader *r, const char *name) {
  for (size_t i = r->anchor_count; i > 0; i--) {
    if (strcmp(r->anchors[i - 1].name, name) == 0) {
      return &r->anchors[i - 1];
    }
  }
  return NULL;
}

/* Notes an anchor whose value begins; its place, or -1 for none, or -2 on failure. */
static int add_anchor(struct reader *r, const yaml_char_t *name) {
  if (name == NULL) {
    return -1;
  }
  if (r->anchor_count == TREE_MAX_ANCHORS) {
    fail(r, &r->event.start_mark, "more than 1000 anchors");
    return -2;
  }
  char *copy = strdup((const char *)name);
  if (copy == NULL) {
    no_memory(r);
    return -2;
  }
  r->anchors[r->anchor_count] = (struct anchor){copy, NULL, r->document};
  return (int)r->anchor_count++;
}

static const struct tree_node *finish(struct reader *r, int anchor, const struct tree_node *node) {
  if (anchor >= 0) {
    r->anchors[anchor].node = node;
  }
  return node;
}

static const struct tree_node *read_alias(struct reader *r) {
  char message[160];
  const char *name = (const char *)r->event.data.alias.anchor;
  const struct anchor *anchor = find_anchor(r, name);
  if (anchor == NULL) {
    snprintf(message, sizeof message, "unknown anchor '%.100s'", name);
    return fail(r, &r->event.start_mark, message);
  }
  if (anchor->document != r->document) {
    snprintf(message, sizeof message, "anchor '%.100s' belongs to document %zu", name,
             anchor->document);
    return fail(r, &r->event.start_mark, message);
  }
  if (anchor->node == NULL) {
    snprintf(message, sizeof message, "anchor '%.100s' contains itself", name);
    return fail(r, &r->event.start_mark, message);
  }
  r->expanded += anchor->node->weight;
  if (r->expanded > TREE_MAX_EXPANDED) {
    return fail(r, &r->event.start_mark, "aliases expand to more than 100000 values");
  }
  return anchor->node;
}

/* What stands after yaml.org's tag prefix; the tag itself if it is local; NULL if there is none. */
static const char *short_tag(const yaml_char_t *tag) {
  static const char prefix[] = "tag:yaml.org,2002:";
  const char *text = (const char *)tag;
  if (text == NULL || strncmp(text, prefix, sizeof prefix - 1) != 0) {
    return text;
  }
  return text + sizeof prefix - 1;
}

static int set_string(struct reader *r, struct tree_node *node, const char *bytes, size_t size) {
  char *copy = tree_allocate(r->tree, size + 1);
  if (copy == NULL) {
    no_memory(r);
    return 0;
  }
  memcpy(copy, bytes, size);
  copy[size] = '\0';
  node->kind = TREE_STRING;
  node->as.string.bytes = copy;
  node->as.string.size = size;
  return 1;
}

static int set_binary(struct reader *r, struct tree_node *node, const char *text, size_t size) {
  char *packed = tree_allocate(r->tree, size + 1);
  char *bytes = tree_allocate(r->tree, base64_decoded_room(size));
  size_t used = 0;
  if (packed == NULL || bytes == NULL) {
    no_memory(r);
    return 0;
  }
  for (size_t i = 0; i < size; i++) {
    if (text[i] == '\0' || strchr(" \n\r\t", text[i]) == NULL) {
      packed[used++] = text[i];
    }
  }
  node->kind = TREE_STRING;
  node->as.string.bytes = bytes;
  if (!base64_decode(packed, used, bytes, &node->as.string.size, 0)) {
    fail(r, &r->event.start_mark, "!!binary is not base64");
    return 0;
  }
  return 1;
}

/* A scalar with one of YAML's own tags, that must be what the tag says. */
static int set_tagged(struct reader *r, struct tree_node *node, const char *tag) {
  static const struct { const char *tag; enum tree_kind kind; } kinds[] = {
      {"int", TREE_INTEGER}, {"float", TREE_FLOAT}, {"bool", TREE_BOOL}, {"null", TREE_NULL}};
  const char *text = (const char *)r->event.data.scalar.value;
  size_t size = r->event.data.scalar.length;
  const char *warning;
  if (strcmp(tag, "binary") == 0) {
    return set_binary(r, node, text, size);
  }
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (strcmp(tag, kinds[i].tag) == 0) {
      int whole_float = 0;
      if (tree_resolve(text, size, node, &warning) == 1) {
        whole_float = kinds[i].kind == TREE_FLOAT && node->kind == TREE_INTEGER;
      }
      if (node->kind == kinds[i].kind || whole_float) {
        return 1;
      }
      char message[80];
      snprintf(message, sizeof message, "scalar is no !!%s", tag);
      fail(r, &r->event.start_mark, message);
      return 0;
    }
  }
  return set_string(r, node, text, size);
}

/* libyaml calls a quoted scalar implicit, too, behind a lone '!'. */
static int is_plain(const yaml_event_t *e) {
  return e->data.scalar.plain_implicit && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static int set_plain(struct reader *r, struct tree_node *node) {
  const char *text = (const char *)r->event.data.scalar.value;
  size_t size = r->event.data.scalar.length;
  const char *warning;
  if (tree_resolve(text, size, node, &warning) == TREE_OUTSIDE) {
    fail(r, &r->event.start_mark, "infinity and NaN have no JSON form");
    return 0;
  }
  warn(r, warning);
  return node->kind == TREE_STRING ? set_string(r, node, text, size) : 1;
}

static const struct tree_node *read_scalar(struct reader *r) {
  const char *tag = short_tag(r->event.data.scalar.tag);
  int anchor = add_anchor(r, r->event.data.scalar.anchor);
  struct tree_node *node = anchor == -2 ? NULL : new_node(r, TREE_NULL);
  if (node == NULL) {
    return NULL;
  }
  int done;
  if (tag != NULL && strcmp(tag, "!") != 0) {
    done = set_tagged(r, node, tag);
  } else if (is_plain(&r->event)) {
    done = set_plain(r, node);
  } else {
    const char *text = (const char *)r->event.data.scalar.value;
    done = set_string(r, node, text, r->event.data.scalar.length);
  }
  return done ? finish(r, anchor, node) : NULL;
}

static int add_entry(struct reader *r, struct entries *list, struct tree_entry entry) {
  if (!reserve(&list->items, list->count, &list->capacity, sizeof *list->items)) {
    no_memory(r);
    return 0;
  }
  list->items[list->count++] = entry;
  return 1;
}

/* Moves the entries read into the node. */
static int take_entries(struct reader *r, struct tree_node *node, struct entries *list) {
  size_t size = list->count * sizeof *list->items;
  node->as.items.entries = tree_allocate(r->tree, size);
  if (node->as.items.entries == NULL) {
    no_memory(r);
    return 0;
  }
  if (size > 0) {
    memcpy(node->as.items.entries, list->items, size);
  }
  node->as.items.count = list->count;
  for (size_t i = 0; i < list->count; i++) {
    node->weight += list->items[i].value->weight;
  }
  return 1;
}

static int read_items(struct reader *r, struct entries *list, int depth) {
  while (advance(r)) {
    if (r->event.type == YAML_SEQUENCE_END_EVENT) {
      return 1;
    }
    const struct tree_node *value = read_value(r, depth);
    if (value == NULL || !add_entry(r, list, (struct tree_entry){NULL, value, 0})) {
      return 0;
    }
  }
  return 0;
}

/* The current event as a key: the text that was written, whatever it would stand for. */
static const struct tree_node *read_key(struct reader *r) {
  const yaml_event_t *e = &r->event;
  struct tree_node node;
  const char *warning;
  if (e->type == YAML_ALIAS_EVENT) {
    const struct tree_node *aliased = read_alias(r);
    return aliased == NULL || aliased->kind == TREE_STRING
               ? aliased
               : fail(r, &e->start_mark, "an alias used as a key must stand for a string");
  }
  if (e->type != YAML_SCALAR_EVENT) {
    return fail(r, &e->start_mark, "a mapping's key must be a scalar");
  }
  int anchor = add_anchor(r, e->data.scalar.anchor);
  struct tree_node *key = anchor == -2 ? NULL : new_node(r, TREE_STRING);
  const char *text = (const char *)e->data.scalar.value;
  if (key == NULL || !set_string(r, key, text, e->data.scalar.length)) {
    return NULL;
  }
  if (is_plain(e) && tree_resolve(text, e->data.scalar.length, &node, &warning) == 1 &&
      node.kind != TREE_STRING) {
    warn(r, node.kind == TREE_BOOL ? "kubectl reads this key as true or false: quote it"
                                   : "kubectl reads this key as a number or null: quote it");
  }
  return finish(r, anchor, key);
}

static int is_merge_key(const yaml_event_t *e) {
  return e->type == YAML_SCALAR_EVENT && is_plain(e) && e->data.scalar.length == 2 &&
         memcmp(e->data.scalar.value, "<<", 2) == 0;
}

static int merge_mapping(struct reader *r, struct entries *list, const struct tree_node *from) {
  if (from->kind != TREE_OBJECT) {
    fail(r, &r->event.start_mark, "a merge key needs a mapping or a sequence of mappings");
    return 0;
  }
  for (size_t i = 0; i < from->as.items.count; i++) {
    struct tree_entry entry = from->as.items.entries[i];
    entry.merged = 1;
    if (!add_entry(r, list, entry)) {
      return 0;
    }
  }
  return 1;
}

/* Like go-yaml: merged entries count where the merge key stands, so what is written below it wins;
 * of a sequence the first mapping wins. */
static int merge(struct reader *r, struct entries *list, const struct tree_node *value) {
  if (value->kind != TREE_ARRAY) {
    return merge_mapping(r, list, value);
  }
  for (size_t i = value->as.items.count; i > 0; i--) {
    if (!merge_mapping(r, list, value->as.items.entries[i - 1].value)) {
      return 0;
    }
  }
  return 1;
}

static int read_pairs(struct reader *r, struct entries *list, int depth) {
  while (advance(r)) {
    if (r->event.type == YAML_MAPPING_END_EVENT) {
      return 1;
    }
    int merges = is_merge_key(&r->event);
    const struct tree_node *key = merges ? NULL : read_key(r);
    if ((key == NULL && !merges) || !advance(r)) {
      return 0;
    }
    const struct tree_node *value = read_value(r, depth);
    if (value == NULL || !(merges ? merge(r, list, value)
                                  : add_entry(r, list, (struct tree_entry){key, value, 0}))) {
      return 0;
    }
  }
  return 0;
}

static int compare_entries(const void *a, const void *b) {
  const struct tree_node *x = (*(const struct tree_entry *const *)a)->key;
  const struct tree_node *y = (*(const struct tree_entry *const *)b)->key;
  size_t shorter = x->as.string.size < y->as.string.size ? x->as.string.size : y->as.string.size;
  int order = memcmp(x->as.string.bytes, y->as.string.bytes, shorter);
  if (order == 0) {
    order = (x->as.string.size > y->as.string.size) - (x->as.string.size < y->as.string.size);
  }
  return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

static int refuse_twin(struct reader *r, const struct tree_node *first,
                       const struct tree_node *second) {
  char message[160];
  yaml_mark_t mark = {.line = second->line - 1, .column = second->column - 1};
  snprintf(message, sizeof message, "key '%.80s' stands twice: already in line %zu",
           second->as.string.bytes, first->line);
  fail(r, &mark, message);
  return 0;
}

/* No key may be written twice in one mapping. */
static int check_keys(struct reader *r, const struct entries *list) {
  const struct tree_entry **sorted = malloc(list->count * sizeof *sorted + 1);
  size_t count = 0;
  int unique = 1;
  if (sorted == NULL) {
    no_memory(r);
    return 0;
  }
  for (size_t i = 0; i < list->count; i++) {
    if (!list->items[i].merged) {
      sorted[count++] = &list->items[i];
    }
  }
  qsort(sorted, count, sizeof *sorted, compare_entries);
  for (size_t i = 1; i < count && unique; i++) {
    const struct tree_node *a = sorted[i - 1]->key;
    const struct tree_node *b = sorted[i]->key;
    if (a->as.string.size == b->as.string.size &&
        memcmp(a->as.string.bytes, b->as.string.bytes, a->as.string.size) == 0) {
      unique = refuse_twin(r, a, b);
    }
  }
  free(sorted);
  return unique;
}

static const struct tree_node *read_collection(struct reader *r, enum tree_kind kind,
                                               const yaml_char_t *name, int depth) {
  struct entries list = {NULL, 0, 0};
  int anchor = add_anchor(r, name);
  struct tree_node *node = anchor == -2 ? NULL : new_node(r, kind);
  if (node != NULL && depth > TREE_MAX_DEPTH) {
    node = fail(r, &r->event.start_mark, "nested deeper than 256 levels");
  }
  if (node == NULL) {
    return NULL;
  }
  int done = kind == TREE_ARRAY ? read_items(r, &list, depth)
                                : read_pairs(r, &list, depth) && check_keys(r, &list);
  done = done && take_entries(r, node, &list);
  free(list.items);
  return done ? finish(r, anchor, node) : NULL;
}

/* The value that the current event begins, at `depth` collections. */
static const struct tree_node *read_value(struct reader *r, int depth) {
  switch (r->event.type) {
    case YAML_ALIAS_EVENT: return read_alias(r);
    case YAML_SCALAR_EVENT: return read_scalar(r);
    case YAML_SEQUENCE_START_EVENT:
      return read_collection(r, TREE_ARRAY, r->event.data.sequence_start.anchor, depth + 1);
    case YAML_MAPPING_START_EVENT:
      return read_collection(r, TREE_OBJECT, r->event.data.mapping_start.anchor, depth + 1);
    default: return fail(r, &r->event.start_mark, "a value expected");
  }
}

static int read_document(struct reader *r) {
  struct tree *tree = r->tree;
  r->document++;
  if (!advance(r)) {
    return 0;
  }
  const struct tree_node *root = read_value(r, 0);
  if (root == NULL) {
    return 0;
  }
  if (root->kind == TREE_NULL) {
    tree->empty++;
  } else if (!reserve(&tree->documents, tree->count, &r->document_capacity,
                      sizeof *tree->documents)) {
    no_memory(r);
    return 0;
  } else {
    tree->documents[tree->count++] = root;
  }
  return advance(r); /* to the document's end */
}

static int read_stream(struct reader *r) {
  while (advance(r)) {
    if (r->event.type == YAML_STREAM_END_EVENT) {
      return 1;
    }
    if (r->event.type == YAML_DOCUMENT_START_EVENT && !read_document(r)) {
      return 0;
    }
  }
  return 0;
}

static void reader_free(struct reader *r) {
  yaml_parser_t *p = &r->parser;
  if (r->tree->wipe) {
    rtl_wipe(p->buffer.start, (size_t)(p->buffer.end - p->buffer.start));
    rtl_wipe(p->raw_buffer.start, (size_t)(p->raw_buffer.end - p->raw_buffer.start));
  }
  forget_event(r);
  yaml_event_delete(&r->event);
  yaml_parser_delete(&r->parser);
  for (size_t i = 0; i < r->anchor_count; i++) {
    free(r->anchors[i].name);
  }
  free(r);
}

int tree_parse(const char *text, size_t size, int wipe, struct tree *tree,
               struct tree_error *error) {
  *tree = (struct tree){.wipe = wipe};
  memset(error, 0, sizeof *error);
  struct reader *r = calloc(1, sizeof *r);
  if (r == NULL || !yaml_parser_initialize(&r->parser)) {
    free(r);
    *error = (struct tree_error){"not enough memory", 1, 1};
    return 0;
  }
  r->tree = tree;
  r->error = error;
  char *copy = tree_prepare(text, &size, error);
  int done = 0;
  if (copy != NULL) {
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)copy, size);
    done = read_stream(r);
  }
  if (copy != NULL && wipe) {
    rtl_wipe(copy, size);
  }
  free(copy);
  reader_free(r);
  if (!done) {
    tree_free(tree);
  }
  return done;
}
