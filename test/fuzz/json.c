/* libFuzzer target of the JSON core: the notes of the scan must fit the tree that cJSON made, and
 * any bytes must survive quoting.
 * Sources: modules/json/scan.c modules/json/print.c -lcjson */
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Takes the notes of a tree in document order; what does not fit aborts. */
static const struct json_note *walk(const cJSON *item, const struct json_note *next, int depth) {
  if (depth > JSON_MAX_DEPTH) {
    abort();
  }
  if (cJSON_IsString(item)) {
    if (next->kind != JSON_STRING || strlen(item->valuestring) > next->as.length) {
      abort();
    }
    return next + 1;
  }
  if (cJSON_IsNumber(item)) {
    if (next->kind == JSON_FLOAT && next->as.number != item->valuedouble) {
      abort();
    }
    return next->kind == JSON_STRING ? (abort(), NULL) : next + 1;
  }
  for (const cJSON *child = item->child; child != NULL; child = child->next) {
    if (cJSON_IsObject(item) && strlen(child->string) > (next++)->as.length) {
      abort();
    }
    next = walk(child, next, depth + 1);
  }
  return next;
}

static void check_quoting(const char *bytes, size_t size) {
  struct json_doc doc;
  struct json_error error;
  char *quoted = json_quote(bytes, size);
  if (quoted == NULL || !json_parse(quoted, strlen(quoted), &doc, &error)) {
    abort();
  }
  if (json_is_plain(bytes, size) && (doc.notes[0].as.length != size ||
                                     memcmp(doc.root->valuestring, bytes, size) != 0)) {
    abort();
  }
  json_free(&doc);
  free(quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct json_doc doc;
  struct json_error error;
  const char *text = (const char *)bytes;
  if (json_parse(text, size, &doc, &error)) {
    const struct json_note *end = doc.notes;
    if (doc.count > 0) { /* else notes is NULL, which nothing may be added to */
      end += doc.count;
    }
    if (walk(doc.root, doc.notes, 0) != end) {
      abort();
    }
    json_free(&doc);
  } else if (error.line == 0 || error.column == 0 || error.message == NULL) {
    abort();
  }
  check_quoting(text, size);
  return 0;
}
