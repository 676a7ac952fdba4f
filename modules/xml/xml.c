#include "xml/xml.h"

#include "secret/secret.h"

#include <expat.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 1 << 14 };

struct xml_block {
  struct xml_block *next;
  size_t used, size;
  max_align_t bytes[];
};

struct builder {
  XML_Parser parser;
  struct xml_doc *doc;
  const struct xml_limits *limits;
  struct xml_node *open; /* the innermost element */
  size_t depth, nodes;
  char *text; /* texts of all open elements, the innermost one's last */
  size_t size, capacity;
  size_t starts_capacity;
  size_t *starts;      /* where in text each open element's begins */
  const char *problem; /* static text; NULL while all is well */
};

/* expat's memory, wiped when it is freed: a header keeps the size. */
struct cell {
  size_t size;
  max_align_t bytes[];
};

static void *cell_new(size_t size) {
  struct cell *cell = size > SIZE_MAX - sizeof *cell ? NULL : malloc(sizeof *cell + size);
  if (cell == NULL) {
    return NULL;
  }
  cell->size = size;
  return cell->bytes;
}

static void cell_free(void *bytes) {
  if (bytes != NULL) {
    struct cell *cell = (struct cell *)(void *)((char *)bytes - offsetof(struct cell, bytes));
    rtl_wipe(cell->bytes, cell->size);
    free(cell);
  }
}

static void *cell_resize(void *bytes, size_t size) {
  void *grown = cell_new(size);
  if (grown != NULL && bytes != NULL) {
    const struct cell *old = (struct cell *)(void *)((char *)bytes - offsetof(struct cell, bytes));
    memcpy(grown, bytes, old->size < size ? old->size : size);
    cell_free(bytes);
  }
  return grown;
}

static void fail(struct builder *b, const char *problem) {
  if (b->problem == NULL) {
    b->problem = problem;
    XML_StopParser(b->parser, XML_FALSE);
  }
}

static void *allocate(struct builder *b, size_t size) {
  struct xml_block *block = b->doc->blocks;
  size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
  if (block == NULL || block->size - block->used < size) {
    size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    block = malloc(sizeof *block + room);
    if (block == NULL) {
      fail(b, "not enough memory");
      return NULL;
    }
    *block = (struct xml_block){.next = b->doc->blocks, .size = room};
    b->doc->blocks = block;
  }
  void *result = (char *)block->bytes + block->used;
  block->used += size;
  return result;
}

static struct xml_text keep(struct builder *b, const char *bytes, size_t size) {
  char *copy = allocate(b, size + 1);
  if (copy == NULL) {
    return (struct xml_text){"", 0};
  }
  if (size > 0) {
    memcpy(copy, bytes, size);
  }
  copy[size] = '\0';
  return (struct xml_text){copy, size};
}

/* Makes room for `more` bytes of text. */
static int reserve_text(struct builder *b, size_t more) {
  if (more <= b->capacity - b->size) {
    return 1;
  }
  size_t capacity = b->capacity * 2 + more + 256;
  char *grown = malloc(capacity);
  if (grown == NULL) {
    fail(b, "not enough memory");
    return 0;
  }
  if (b->size > 0) {
    memcpy(grown, b->text, b->size);
    rtl_wipe(b->text, b->size);
  }
  free(b->text);
  b->text = grown;
  b->capacity = capacity;
  return 1;
}

static int push_start(struct builder *b) {
  if (b->depth == b->starts_capacity) {
    size_t capacity = b->starts_capacity * 2 + 16;
    size_t *grown = realloc(b->starts, capacity * sizeof *grown);
    if (grown == NULL) {
      fail(b, "not enough memory");
      return 0;
    }
    b->starts = grown;
    b->starts_capacity = capacity;
  }
  b->starts[b->depth++] = b->size;
  return 1;
}

static int is_one_too_many(struct builder *b) {
  if (b->nodes == b->limits->nodes) {
    fail(b, "more elements than the limit");
    return 1;
  }
  b->nodes++;
  return 0;
}

static void add_attributes(struct builder *b, struct xml_node *node, const XML_Char **pairs) {
  for (; *pairs != NULL && b->problem == NULL; pairs += 2) {
    struct xml_attribute *attribute =
        is_one_too_many(b) ? NULL : allocate(b, sizeof *attribute);
    if (attribute == NULL) {
      return;
    }
    attribute->name = keep(b, pairs[0], strlen(pairs[0]));
    attribute->value = keep(b, pairs[1], strlen(pairs[1]));
    attribute->next = node->attributes;
    node->attributes = attribute;
  }
}

static void link_node(struct builder *b, struct xml_node *node) {
  struct xml_node *parent = b->open;
  node->parent = parent;
  if (parent == NULL) {
    b->doc->root = node;
  } else if (parent->last == NULL) {
    parent->first = parent->last = node;
  } else {
    parent->last = parent->last->next = node;
  }
  b->open = node;
}

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **attributes) {
  struct builder *b = data;
  if (b->depth == b->limits->depth) {
    fail(b, "elements nested too deep");
    return;
  }
  struct xml_node *node = is_one_too_many(b) ? NULL : allocate(b, sizeof *node);
  if (node == NULL || !push_start(b)) {
    return;
  }
  memset(node, 0, sizeof *node);
  node->name = keep(b, name, strlen(name));
  add_attributes(b, node, attributes);
  link_node(b, node);
}

static int is_blank(const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (strchr(" \t\r\n", bytes[i]) == NULL) {
      return 0;
    }
  }
  return 1;
}

static void XMLCALL on_end(void *data, const XML_Char *name) {
  struct builder *b = data;
  struct xml_node *node = b->open;
  (void)name;
  if (b->problem != NULL) {
    return;
  }
  size_t start = b->starts[--b->depth];
  size_t size = b->size - start;
  int between = node->first != NULL && size > 0 && is_blank(b->text + start, size);
  node->text = between || size == 0 ? keep(b, "", 0) : keep(b, b->text + start, size);
  b->size = start;
  b->open = node->parent;
}

static void XMLCALL on_text(void *data, const XML_Char *bytes, int size) {
  struct builder *b = data;
  if (b->problem == NULL && reserve_text(b, (size_t)size)) {
    memcpy(b->text + b->size, bytes, (size_t)size);
    b->size += (size_t)size;
  }
}

/* Before anything of a document type is looked at: no entities, no files, no bombs. */
static void XMLCALL on_doctype(void *data, const XML_Char *name, const XML_Char *system,
                               const XML_Char *public, int internal) {
  (void)name;
  (void)system;
  (void)public;
  (void)internal;
  fail(data, "a document type is refused");
}

static int run(struct builder *b, const char *text, size_t size, struct xml_error *error) {
  XML_SetUserData(b->parser, b);
  XML_SetElementHandler(b->parser, on_start, on_end);
  XML_SetCharacterDataHandler(b->parser, on_text);
  XML_SetStartDoctypeDeclHandler(b->parser, on_doctype);
  if (XML_Parse(b->parser, text, (int)size, 1) == XML_STATUS_OK && b->problem == NULL) {
    return 1;
  }
  error->message =
      b->problem != NULL ? b->problem : XML_ErrorString(XML_GetErrorCode(b->parser));
  error->line = XML_GetCurrentLineNumber(b->parser);
  error->column = XML_GetCurrentColumnNumber(b->parser) + 1;
  return 0;
}

int xml_parse(const char *text, size_t size, const struct xml_limits *limits, struct xml_doc *doc,
              struct xml_error *error) {
  static const XML_Memory_Handling_Suite wiping = {cell_new, cell_resize, cell_free};
  struct builder b = {.doc = doc, .limits = limits};
  *doc = (struct xml_doc){.wipe = limits->wipe};
  *error = (struct xml_error){"not enough memory", 1, 1};
  if (size > limits->size || size > INT_MAX) {
    error->message = "text is larger than the limit";
    return 0;
  }
  b.parser = XML_ParserCreate_MM(NULL, limits->wipe ? &wiping : NULL, NULL);
  int done = b.parser != NULL && run(&b, text, size, error);
  XML_ParserFree(b.parser);
  rtl_wipe(b.text, b.capacity);
  free(b.text);
  free(b.starts);
  if (!done) {
    xml_free(doc);
  }
  return done;
}

void xml_free(struct xml_doc *doc) {
  while (doc->blocks != NULL) {
    struct xml_block *block = doc->blocks;
    doc->blocks = block->next;
    if (doc->wipe) {
      rtl_wipe(block->bytes, block->used);
    }
    free(block);
  }
  doc->root = NULL;
}
