#include "xml/xml.h"

#include "secret/secret.h"
#include "xml/guard.h"
#include "xml/libxml.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 1 << 14, SPARE_NAMES = 2048 };

struct xml_block {
  struct xml_block *next;
  size_t used, size;
  max_align_t bytes[];
};

/* An element whose end is not read yet. */
struct open {
  struct xml_node *node, *last; /* last: child */
  size_t start;                 /* where in the builder's text its own begins */
};

struct builder {
  xmlParserCtxtPtr parser;
  struct xml_doc *doc;
  const struct xml_limits *limits;
  const struct xml_filter *filter;
  struct open *open; /* room for limits->depth */
  size_t depth, nodes;
  size_t skipped; /* open elements that are left out: the innermost ones */
  char *text;     /* texts of all open elements, the innermost one's last */
  size_t size, capacity;
  struct xml_error *error;
  enum xml_units units;
  int failed;
};

/* What libxml2 has not read yet of the text that it has decoded. Not from input->cur on, which is
 * stale where an error is found while its buffer grows. */
static xmlChar *rest_of_text(const struct builder *b, size_t *size) {
  const xmlParserInput *input = b->parser->input;
  if (input == NULL || input->buf == NULL) {
    *size = 0;
    return NULL;
  }
  size_t read = (size_t)(input->cur - input->base), used = libxml.xmlBufUse(input->buf->buffer);
  *size = used > read ? used - read : 0;
  return *size == 0 ? NULL : libxml.xmlBufContent(input->buf->buffer) + read;
}

/* After some errors libxml2 goes on, and to stop it would free what it still looks at: so it finds
 * nothing but NULs from here. */
static void stop(struct builder *b) {
  size_t size;
  xmlChar *rest = rest_of_text(b, &size);
  if (size > 0) {
    memset(rest, 0, size);
  }
  if (b->parser->input != NULL && b->parser->input->buf != NULL) {
    b->parser->input->buf->readcallback = NULL; /* nothing more is decoded */
  }
  b->parser->disableSAX = 1;
  b->failed = 1;
}

static void fail_at(struct builder *b, const char *problem, int line, int column) {
  if (!b->failed) {
    *b->error = (struct xml_error){problem, line > 0 ? (size_t)line : 1,
                                   column > 0 ? (size_t)column : 1};
    stop(b);
  }
}

static void fail(struct builder *b, const char *problem) {
  const xmlParserInput *input = b->parser->input;
  fail_at(b, problem, input == NULL ? 1 : input->line, input == NULL ? 1 : input->col);
}

/* Words of our own: libxml2's hold parts of the text, which may be a secret's. */
static const char *words(int code) {
  static const struct {
    int code;
    const char *words;
  } known[] = {
      {XML_ERR_NO_MEMORY, "not enough memory"},
      {XML_ERR_DOCUMENT_EMPTY, "no element found"},
      {XML_ERR_DOCUMENT_END, "junk after document element"},
      {XML_ERR_TAG_NAME_MISMATCH, "mismatched tag"},
      {XML_ERR_TAG_NOT_FINISHED, "an element that is not closed"},
      {XML_ERR_ATTRIBUTE_REDEFINED, "duplicate attribute"},
      {XML_ERR_ATTRIBUTE_NOT_STARTED, "not well-formed: an attribute without quotes"},
      {XML_ERR_UNDECLARED_ENTITY, "undefined entity"},
      {XML_ERR_INVALID_CHAR, "not well-formed: an invalid character"},
      {XML_ERR_INVALID_ENCODING, "not well-formed: bytes that are none of its encoding"},
      {XML_ERR_UNKNOWN_ENCODING, "unknown encoding"},
      {XML_ERR_UNSUPPORTED_ENCODING, "unknown encoding"},
      {XML_ERR_COMMENT_NOT_FINISHED, "unclosed comment"},
      {XML_ERR_CDATA_NOT_FINISHED, "unclosed CDATA section"},
      {XML_ERR_MISPLACED_CDATA_END, "not well-formed: ]]> outside of a CDATA section"},
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (known[i].code == code) {
      return known[i].words;
    }
  }
  return "not well-formed";
}

static int is_one_of(const xmlChar *name, const char *const names[]) {
  while (*names != NULL && strcasecmp((const char *)name, *names) != 0) {
    names++;
  }
  return *names != NULL;
}

/* Whether the encoding that the text names, if any, is one that libxml2 reads without ICU, and that
 * the guard has understood. */
static int is_known_encoding(const struct builder *b) {
  static const char *const bytes[] = {"UTF-8", "ISO-8859-1", "US-ASCII", NULL};
  static const char *const utf16[] = {"UTF-16", NULL};
  const xmlParserInput *input = b->parser->input;
  const xmlChar *name =
      input != NULL && input->encoding != NULL ? input->encoding : b->parser->encoding;
  return name == NULL || is_one_of(name, b->units == XML_UTF16 ? utf16 : bytes);
}

/* What ends a text for libxml2 without an error of its own: a NUL, or bytes that can't be decoded;
 * else XML_ERR_OK. */
static int cause_of_end(const struct builder *b) {
  size_t size;
  const xmlChar *rest = rest_of_text(b, &size);
  if (size > 0) {
    return *rest == '\0' ? XML_ERR_INVALID_CHAR : XML_ERR_OK;
  }
  const xmlParserInput *input = b->parser->input;
  int is_left = input != NULL && input->buf != NULL && input->buf->raw != NULL &&
                libxml.xmlBufUse(input->buf->raw) > 0;
  return is_left ? XML_ERR_INVALID_ENCODING : XML_ERR_OK;
}

static void on_error(void *data, xmlErrorPtr error) {
  struct builder *b = data;
  if (error->level < XML_ERR_ERROR || b->failed) {
    return;
  }
  if (b->parser == NULL) { /* its own memory */
    b->failed = 1;
    return;
  }
  int code = error->code, end = cause_of_end(b);
  if (code != XML_ERR_NO_MEMORY && !is_known_encoding(b)) {
    code = XML_ERR_UNKNOWN_ENCODING;
  } else if (code != XML_ERR_NO_MEMORY && end != XML_ERR_OK) {
    code = end;
  }
  if (error->line > 0) {
    fail_at(b, words(code), error->line, error->int2);
  } else {
    fail(b, words(code));
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
  char *copy = size == 0 ? NULL : allocate(b, size + 1);
  if (copy == NULL) {
    return (struct xml_text){"", 0};
  }
  memcpy(copy, bytes, size);
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

static void count_node(struct builder *b) {
  if (++b->nodes > b->limits->nodes) {
    fail(b, "more elements than the limit");
  } else if (b->nodes % 1024 == 0 && libxml.xmlDictSize(b->parser->dict) > XML_NAMES) {
    fail(b, "more different names than the limit");
  }
}

/* An element and its attributes: pairs up to a NULL. */
static void count_element(struct builder *b, const xmlChar **attributes) {
  if (b->depth + b->skipped == b->limits->depth) {
    fail(b, "elements nested too deep");
  }
  count_node(b);
  for (; attributes != NULL && *attributes != NULL; attributes += 2) {
    count_node(b);
  }
}

/* Left out, but its name is kept until the end. */
static void on_instruction(void *data, const xmlChar *name, const xmlChar *text) {
  (void)name;
  (void)text;
  count_node(data);
}

/* Whether to keep an element of that name, and its sense. */
static int is_asked(struct builder *b, const char *name, const void **sense) {
  const struct open *outer = b->depth == 0 ? NULL : &b->open[b->depth - 1];
  *sense = NULL;
  if (b->filter == NULL) {
    return 1;
  }
  if (b->skipped == 0 && (outer == NULL || outer->node->sense != NULL)) {
    *sense = b->filter->enter(b->filter->data, outer == NULL ? NULL : outer->node->sense, name);
  }
  return outer == NULL || *sense != NULL;
}

/* Puts a new node into the open one, and opens it. */
static void link_node(struct builder *b, struct xml_node *node) {
  if (b->depth == 0) {
    b->doc->root = node;
  } else {
    struct open *outer = &b->open[b->depth - 1];
    *(outer->last == NULL ? &outer->node->first : &outer->last->next) = node;
    outer->last = node;
    outer->node->count++;
  }
  b->open[b->depth++] = (struct open){.node = node, .start = b->size};
}

static void add_attributes(struct builder *b, struct xml_node *node, const xmlChar **pairs) {
  for (; *pairs != NULL && !b->failed; pairs += 2) {
    struct xml_attribute *attribute = allocate(b, sizeof *attribute);
    if (attribute != NULL) {
      const char *value = (const char *)pairs[1];
      attribute->name = (const char *)pairs[0];
      attribute->value = keep(b, value, strlen(value));
      attribute->next = node->attributes;
      node->attributes = attribute;
    }
  }
}

static void on_start(void *data, const xmlChar *xml_name, const xmlChar **attributes) {
  struct builder *b = data;
  const char *name = (const char *)xml_name;
  const void *sense;
  count_element(b, attributes);
  if (b->failed) {
    return;
  }
  if (!is_asked(b, name, &sense)) {
    b->skipped++;
    return;
  }
  struct xml_node *node = allocate(b, sizeof *node);
  if (node != NULL) {
    *node = (struct xml_node){.name = name, .sense = sense};
    link_node(b, node);
    if (attributes != NULL && b->filter == NULL) {
      add_attributes(b, node, attributes);
    }
  }
}

static int is_blank(const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (strchr(" \t\r\n", bytes[i]) == NULL) {
      return 0;
    }
  }
  return 1;
}

static void on_end(void *data, const xmlChar *name) {
  struct builder *b = data;
  (void)name;
  if (b->failed) {
    return;
  }
  if (b->skipped > 0) {
    b->skipped--;
    return;
  }
  const struct open *open = &b->open[--b->depth];
  size_t size = b->size - open->start;
  const char *text = size == 0 ? "" : b->text + open->start;
  int between = open->node->first != NULL && is_blank(text, size);
  open->node->text = keep(b, text, between ? 0 : size);
  b->size = open->start;
}

static void on_text(void *data, const xmlChar *bytes, int size) {
  struct builder *b = data;
  if (size > 0 && !b->failed && b->skipped == 0 && reserve_text(b, (size_t)size)) {
    memcpy(b->text + b->size, bytes, (size_t)size);
    b->size += (size_t)size;
  }
}

/* Before anything of a document type is looked at: no entities, no files, no bombs. */
static void on_doctype(void *data, const xmlChar *name, const xmlChar *public,
                       const xmlChar *system) {
  (void)name;
  (void)public;
  (void)system;
  fail(data, "a document type is refused");
}

/* The first event: the encoding is known. */
static void on_document(void *data) {
  struct builder *b = data;
  xmlParserInputBuffer *buffer = b->parser->input->buf;
  if (!is_known_encoding(b)) {
    fail(b, words(XML_ERR_UNKNOWN_ENCODING));
  } else if (buffer->encoder == NULL) {
    buffer->readcallback = NULL; /* all is there: near its end, each token would ask for more */
  }
}

/* Version 1 of the interface: names as they are written. */
static void prepare(struct builder *b) {
  libxml.xmlCtxtUseOptions(b->parser, XML_PARSE_HUGE | XML_PARSE_NONET);
  *b->parser->sax = (xmlSAXHandler){
      .initialized = 1,
      .startDocument = on_document,
      .internalSubset = on_doctype,
      .startElement = on_start,
      .endElement = on_end,
      .characters = on_text,
      .ignorableWhitespace = on_text,
      .cdataBlock = on_text,
      .processingInstruction = on_instruction,
  };
  b->parser->userData = b;
}

static void run(struct builder *b) {
  prepare(b);
  libxml.xmlParseDocument(b->parser);
  int end = cause_of_end(b);
  if (end != XML_ERR_OK || !b->parser->wellFormed) {
    fail(b, words(end));
  }
  if (!b->failed && libxml.xmlDictReference(b->parser->dict) == 0) {
    b->doc->names = b->parser->dict;
  }
}

/* Gives a parser the text, of which it makes a copy. 0: not enough memory. */
static int feed(xmlParserCtxtPtr parser, const char *text, size_t size) {
  xmlParserInputBufferPtr copy =
      libxml.xmlParserInputBufferCreateMem(text, (int)size, XML_CHAR_ENCODING_NONE);
  xmlParserInputPtr input =
      copy == NULL ? NULL : libxml.xmlNewIOInputStream(parser, copy, XML_CHAR_ENCODING_NONE);
  if (input == NULL) {
    libxml.xmlFreeParserInputBuffer(copy);
    return 0;
  }
  if (libxml.inputPush(parser, input) < 0) {
    libxml.xmlFreeInputStream(input);
    return 0;
  }
  return 1;
}

/* The parser of a text that ended well, for the next one: to make one takes as long as to read a
 * small answer. Its dictionary still has the names of former texts, and is shared with
 * documents. */
static xmlParserCtxtPtr spare;

static xmlParserCtxtPtr open_parser(const char *text, size_t size, int wipe) {
  xmlParserCtxtPtr parser = wipe || spare == NULL ? libxml.xmlNewParserCtxt() : spare;
  if (parser == spare) {
    spare = NULL;
  }
  if (parser != NULL && !feed(parser, text, size)) {
    libxml.xmlFreeParserCtxt(parser);
    return NULL;
  }
  return parser;
}

static void close_parser(const struct builder *b) {
  int keep_it = spare == NULL && !b->failed && !b->limits->wipe &&
                libxml.xmlDictSize(b->parser->dict) <= SPARE_NAMES;
  if (keep_it) {
    libxml.xmlCtxtReset(b->parser);
    spare = b->parser;
  } else {
    libxml.xmlFreeParserCtxt(b->parser);
  }
}

static int parse(struct builder *b, const char *text, size_t size) {
  b->open = malloc(b->limits->depth * sizeof *b->open);
  libxml_wipe(b->limits->wipe);
  libxml.xmlSetStructuredErrorFunc(b, on_error);
  b->parser = b->open == NULL ? NULL : open_parser(text, size, b->limits->wipe);
  if (b->parser != NULL) {
    run(b);
    close_parser(b);
  }
  libxml.xmlSetStructuredErrorFunc(NULL, NULL);
  libxml.xmlResetLastError();
  libxml_wipe(0);
  if (b->limits->wipe) {
    rtl_wipe(b->text, b->capacity);
  }
  free(b->text);
  free(b->open);
  return b->doc->names != NULL;
}

/* NULL, or why libxml2 is not to see the text. */
static const char *refuse(const char *text, size_t size, const struct xml_limits *limits,
                          enum xml_units units) {
  if (size > limits->size || size > INT_MAX) {
    return "text is larger than the limit";
  }
  if (units == XML_NEITHER) {
    return words(XML_ERR_DOCUMENT_EMPTY);
  }
  return xml_is_crowded(text, size, units) ? "more attributes of an element than the limit" : NULL;
}

int xml_parse(const char *text, size_t size, const struct xml_limits *limits,
              const struct xml_filter *filter, struct xml_doc *doc, struct xml_error *error) {
  struct builder b = {.doc = doc, .limits = limits, .filter = filter, .error = error};
  *doc = (struct xml_doc){.wipe = limits->wipe};
  *error = (struct xml_error){libxml_load(), 0, 0};
  if (error->message != NULL) {
    return 0;
  }
  b.units = xml_units(text, size);
  const char *refused = refuse(text, size, limits, b.units);
  *error = (struct xml_error){refused != NULL ? refused : "not enough memory", 1, 1};
  int done = refused == NULL && parse(&b, text, size);
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
  if (doc->names != NULL) {
    libxml_wipe(doc->wipe);
    libxml.xmlDictFree(doc->names);
    libxml_wipe(0);
  }
  doc->root = NULL;
  doc->names = NULL;
}
