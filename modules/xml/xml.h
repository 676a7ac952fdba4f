/* XML text to a tree, on expat: what AWS answers need. Document types and entities of one's own are
 * refused. Pure C. */
#ifndef RTL_XML_H
#define RTL_XML_H

#include <stddef.h>

struct xml_text {
  const char *bytes; /* a NUL follows */
  size_t size;
};

struct xml_attribute {
  struct xml_attribute *next;
  struct xml_text name, value;
};

struct xml_node {
  struct xml_node *parent, *next; /* next: the sibling after it */
  struct xml_node *first, *last;  /* children */
  struct xml_attribute *attributes;
  struct xml_text name; /* as written, with its prefix */
  struct xml_text text; /* its own text, without that of its children; between children only white
                           space counts as none */
};

struct xml_doc {
  struct xml_node *root;
  struct xml_block *blocks; /* all of it lies here */
  int wipe;
};

struct xml_limits {
  size_t depth; /* elements inside each other */
  size_t size;  /* bytes of text */
  size_t nodes; /* elements and attributes: each takes a hundred times its shortest text */
  int wipe;     /* overwrite everything that held text when it is freed */
};

struct xml_error {
  const char *message; /* static text */
  size_t line, column; /* from 1 */
};

/* Parses `text` (borrowed) into `doc`, which the caller frees. 1, or 0 with `error` filled and
 * nothing to free. */
int xml_parse(const char *text, size_t size, const struct xml_limits *limits, struct xml_doc *doc,
              struct xml_error *error);
void xml_free(struct xml_doc *doc); /* fine on a zeroed or freed one */

#endif
