/* XML text to a tree, on libxml2: what AWS answers need. Document types and entities of one's own
 * are refused. Pure C. */
#ifndef RTL_XML_H
#define RTL_XML_H

#include <stddef.h>

struct xml_text {
  const char *bytes; /* a NUL follows */
  size_t size;
};

struct xml_attribute {
  struct xml_attribute *next;
  const char *name;
  struct xml_text value;
};

struct xml_node {
  struct xml_node *next;  /* the sibling after it */
  struct xml_node *first; /* child */
  size_t count;           /* of children */
  const void *sense;      /* what the filter says of it */
  struct xml_attribute *attributes; /* the last one first */
  const char *name;     /* as written, with its prefix; in a document one name has one address */
  struct xml_text text; /* its own text, without that of its children; between children only white
                           space counts as none */
};

struct xml_doc {
  struct xml_node *root;
  struct xml_block *blocks; /* all of it but the names lies here */
  void *names;              /* libxml2's dictionary */
  int wipe;
};

/* What to keep of a document: only elements of which `enter` says something, without attributes. */
struct xml_filter {
  /* The sense of an element of that name in one of the sense `outer` (NULL: it is the root). NULL:
   * it and all in it is left out; the root is kept anyhow. Must not jump. */
  const void *(*enter)(void *data, const void *outer, const char *name);
  void *data;
};

struct xml_limits {
  size_t depth; /* elements inside each other */
  size_t size;  /* bytes of text */
  size_t nodes; /* elements, attributes and instructions, also those left out */
  int wipe;     /* overwrite everything that held text when it is freed */
};

struct xml_error {
  const char *message; /* static text */
  size_t line, column; /* from 1; 0: libxml2 can't be loaded */
};

/* Parses `text` (borrowed) into `doc`, which the caller frees. `filter` may be NULL: all is kept.
 * 1, or 0 with `error` filled and nothing to free. */
int xml_parse(const char *text, size_t size, const struct xml_limits *limits,
              const struct xml_filter *filter, struct xml_doc *doc, struct xml_error *error);
void xml_free(struct xml_doc *doc); /* fine on a zeroed or freed one */

#endif
