/* libFuzzer target of the XML core: the tree is sound, and neither wiping nor a filter that keeps all
 * changes anything in it.
 * Sources: xml.c, guard.c and libxml.c of modules/xml, modules/secret/secret.c */
#include "xml/xml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static size_t check(const struct xml_node *node, size_t depth) {
  size_t nodes = 1, children = 0;
  if (depth > 64 || node->name[0] == '\0' || node->text.bytes[node->text.size] != '\0') {
    abort();
  }
  for (const struct xml_node *child = node->first; child != NULL; child = child->next) {
    nodes += check(child, depth + 1);
    children++;
  }
  return children == node->count ? nodes : (abort(), 0);
}

static const void *enter(void *data, const void *outer, const char *name) {
  (void)data;
  (void)outer;
  return name;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const struct xml_filter all = {enter, NULL};
  size_t nodes[3] = {0, 0, 0};
  for (int way = 0; way < 3; way++) {
    struct xml_doc doc;
    struct xml_error error;
    struct xml_limits limits = {64, 1 << 16, 1 << 12, way == 1};
    if (xml_parse((const char *)bytes, size, &limits, way == 2 ? &all : NULL, &doc, &error)) {
      nodes[way] = check(doc.root, 1);
      xml_free(&doc);
    } else if (error.line == 0 || error.column == 0) {
      abort();
    }
  }
  return nodes[0] == nodes[1] && nodes[0] == nodes[2] ? 0 : (abort(), 0);
}
