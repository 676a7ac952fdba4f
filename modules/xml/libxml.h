/* libxml2, loaded on first use: with ICU, which it brings along, it costs a start 1.3 ms. */
#ifndef RTL_XML_LIBXML_H
#define RTL_XML_LIBXML_H

#include <libxml/parser.h>
#include <libxml/parserInternals.h>

#define RTL_LIBXML_FUNCTIONS(X)                                                           \
  X(inputPush) X(xmlBufContent) X(xmlBufUse) X(xmlCtxtReset) X(xmlCtxtUseOptions)         \
  X(xmlDictFree) X(xmlDictReference) X(xmlDictSize) X(xmlFreeInputStream)                 \
  X(xmlFreeParserCtxt) X(xmlFreeParserInputBuffer) X(xmlInitParser) X(xmlMemSetup)        \
  X(xmlNewIOInputStream) X(xmlNewParserCtxt) X(xmlParseDocument)                          \
  X(xmlParserInputBufferCreateMem) X(xmlResetLastError) X(xmlSetStructuredErrorFunc)

/* The functions, under their own names: libxml.xmlParseDocument(). */
struct libxml {
#define RTL_LIBXML_POINTER(name) __typeof__(&name) name;
  RTL_LIBXML_FUNCTIONS(RTL_LIBXML_POINTER)
#undef RTL_LIBXML_POINTER
};
extern struct libxml libxml;

/* Loads it once. NULL, or why it can't be used (a static text). */
const char *libxml_load(void);

/* Whether it wipes what it frees from now on; not at first. Nothing that it keeps from one text to
 * the next holds parts of them. */
void libxml_wipe(int on);

#endif
