/* A writer over libyaml's emitter: block style, nothing folded, every doubtful string quoted. */
#include "json/json.h"
#include "yaml/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct tree_writer {
  yaml_emitter_t emitter;
  char *text;
  size_t size, capacity;
  const char *problem; /* static text */
};

static int append(void *data, unsigned char *bytes, size_t size) {
  struct tree_writer *w = data;
  if (size > w->capacity - w->size) {
    size_t capacity = w->capacity * 2 + size;
    char *grown = realloc(w->text, capacity);
    if (grown == NULL) {
      return 0;
    }
    w->text = grown;
    w->capacity = capacity;
  }
  memcpy(w->text + w->size, bytes, size);
  w->size += size;
  return 1;
}

static int emit(struct tree_writer *w, int made, yaml_event_t *event) {
  if (!made || !yaml_emitter_emit(&w->emitter, event)) {
    int starved = w->emitter.problem == NULL || w->emitter.error == YAML_WRITER_ERROR;
    w->problem = starved ? "not enough memory" : w->emitter.problem;
    return 0;
  }
  return 1;
}

struct tree_writer *tree_writer_new(void) {
  yaml_event_t event;
  struct tree_writer *w = calloc(1, sizeof *w);
  if (w == NULL || !yaml_emitter_initialize(&w->emitter)) {
    free(w);
    return NULL;
  }
  yaml_emitter_set_output(&w->emitter, append, w);
  yaml_emitter_set_unicode(&w->emitter, 1);
  yaml_emitter_set_width(&w->emitter, -1);
  if (!emit(w, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), &event)) {
    tree_writer_free(w);
    return NULL;
  }
  return w;
}

void tree_writer_free(struct tree_writer *w) {
  if (w != NULL) {
    yaml_emitter_delete(&w->emitter);
    free(w->text);
    free(w);
  }
}

int tree_write_document(struct tree_writer *w, int first) {
  yaml_event_t event;
  return emit(w, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, first), &event);
}

int tree_write_document_end(struct tree_writer *w) {
  yaml_event_t event;
  return emit(w, yaml_document_end_event_initialize(&event, 1), &event);
}

int tree_write_start(struct tree_writer *w, enum tree_kind kind) {
  yaml_event_t event;
  int made = kind == TREE_ARRAY ? yaml_sequence_start_event_initialize(
                                      &event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE)
                                : yaml_mapping_start_event_initialize(
                                      &event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE);
  return emit(w, made, &event);
}

int tree_write_end(struct tree_writer *w, enum tree_kind kind) {
  yaml_event_t event;
  return emit(w, kind == TREE_ARRAY ? yaml_sequence_end_event_initialize(&event)
                                    : yaml_mapping_end_event_initialize(&event),
              &event);
}

static int write_scalar(struct tree_writer *w, const char *bytes, size_t size,
                        yaml_scalar_style_t style) {
  yaml_event_t event;
  const yaml_char_t *text = (const yaml_char_t *)bytes;
  int made = size <= INT32_MAX && yaml_scalar_event_initialize(&event, NULL, NULL, text, (int)size,
                                                               1, 1, style);
  return emit(w, made, &event);
}

int tree_write_plain(struct tree_writer *w, const char *text) {
  return write_scalar(w, text, strlen(text), YAML_PLAIN_SCALAR_STYLE);
}

/* Whether a text of several lines reads back the same from a block scalar: printable, without the
 * separators that YAML calls line breaks, without blanks at line ends or at the start. */
static int is_literal(const char *bytes, size_t size) {
  if (memchr(bytes, '\n', size) == NULL || strchr(" \t\n", bytes[0]) != NULL) {
    return 0;
  }
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)bytes[i];
    int breaks = c == 0xC2 || c == 0xE2 || c == 0xEF; /* U+0085, U+2028, U+FEFF lie here */
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F || breaks) {
      return 0;
    }
    if ((c == ' ' || c == '\t') && (i + 1 == size || bytes[i + 1] == '\n')) {
      return 0;
    }
  }
  return 1;
}

static yaml_scalar_style_t style_of(const char *bytes, size_t size, int is_key) {
  if (tree_is_plain(bytes, size)) {
    return YAML_PLAIN_SCALAR_STYLE;
  }
  return !is_key && is_literal(bytes, size) ? YAML_LITERAL_SCALAR_STYLE
                                            : YAML_DOUBLE_QUOTED_SCALAR_STYLE;
}

/* A copy with U+FFFD for each byte that is not UTF-8; malloc'ed. */
static char *repaired(const char *bytes, size_t *size) {
  const char *end = bytes + *size;
  char *out = malloc(*size * 3 + 1);
  char *to = out;
  while (out != NULL && bytes < end) {
    size_t length = json_utf8(bytes, end);
    const char *from = length > 0 ? bytes : "\xEF\xBF\xBD";
    size_t used = length > 0 ? length : 3;
    memcpy(to, from, used);
    to += used;
    bytes += length > 0 ? length : 1;
  }
  *size = out == NULL ? 0 : (size_t)(to - out);
  return out;
}

static int is_utf8(const char *bytes, size_t size) {
  for (const char *at = bytes; at < bytes + size;) {
    size_t length = json_utf8(at, bytes + size);
    if (length == 0) {
      return 0;
    }
    at += length;
  }
  return 1;
}

int tree_write_string(struct tree_writer *w, const char *bytes, size_t size, int is_key) {
  if (is_utf8(bytes, size)) {
    return write_scalar(w, bytes, size, style_of(bytes, size, is_key));
  }
  char *clean = repaired(bytes, &size);
  int done = clean != NULL && write_scalar(w, clean, size, style_of(clean, size, is_key));
  free(clean);
  return done;
}

const char *tree_writer_problem(const struct tree_writer *w) {
  return w->problem != NULL ? w->problem : "not enough memory";
}

const char *tree_writer_finish(struct tree_writer *w, size_t *size) {
  yaml_event_t event;
  if (!emit(w, yaml_stream_end_event_initialize(&event), &event)) {
    return NULL;
  }
  *size = w->size;
  return w->size > 0 ? w->text : "";
}
