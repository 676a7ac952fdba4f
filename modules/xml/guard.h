/* What libxml2 takes too long for, and is kept from. */
#ifndef RTL_XML_GUARD_H
#define RTL_XML_GUARD_H

#include <stddef.h>

enum {
  XML_ATTRIBUTES = 1000, /* of one element */
  XML_NAMES = 1 << 16    /* different ones: its dictionary has a few thousand chains */
};

enum xml_units { XML_NEITHER, XML_BYTES, XML_UTF16 };

/* What the first bytes say: a text of an encoding that extends ASCII, one in UTF-16 (by its byte
 * order mark), or nothing that begins as XML does. */
enum xml_units xml_units(const char *text, size_t size);

/* Whether an element may have more attributes than XML_ATTRIBUTES: libxml2 compares the name of
 * each with all before it, which for megabytes of them takes minutes. The answer is exact where the
 * text is well-formed up to there; in UTF-16 it is yes for more "=" than that in the whole text. */
int xml_is_crowded(const char *text, size_t size, enum xml_units units);

#endif
