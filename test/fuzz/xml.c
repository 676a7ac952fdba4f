/* libFuzzer target of the XML core: the tree is sound, and wiping changes nothing in it.
 * Sources: modules/xml/xml.c modules/secret/secret.c -lexpat */
#include "xml/xml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static size_t check(const struct xml_node *node, size_t depth) {
  size_t nodes = 1;
  if (depth > 64 || node->name.size == 0 || strlen(node->name.bytes) != node->name.size ||
      node->text.bytes[node->text.size] != '\0') {
    abort();
  }
  for (const struct xml_node *child = node->first; child != NULL; child = child->next) {
    if (child->parent != node || (child->next == NULL && node->last != child)) {
      abort();
    }
    nodes += check(child, depth + 1);
  }
  return nodes;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  size_t nodes[2] = {0, 0};
  for (int wipe = 0; wipe < 2; wipe++) {
    struct xml_doc doc;
    struct xml_error error;
    struct xml_limits limits = {64, 1 << 16, 1 << 12, wipe};
    if (xml_parse((const char *)bytes, size, &limits, &doc, &error)) {
      nodes[wipe] = check(doc.root, 1);
      xml_free(&doc);
    } else if (error.line == 0 || error.column == 0) {
      abort();
    }
  }
  return nodes[0] == nodes[1] ? 0 : (abort(), 0);
}
