/* Between the two files of the binding. */
#ifndef RTL_LXML_H
#define RTL_LXML_H

#include <lua.h>

struct xml_doc;
struct xml_error;

/* What a document may have where its reader says nothing else (xml_limits). */
enum { XML_DEPTH = 256, XML_SIZE = 64 << 20, XML_NODES = 1 << 19 };

/* Pushes an empty document that the collector frees if a walk raises. Borrowed. */
struct xml_doc *rtl_push_xml_doc(lua_State *L);

/* Pushes nil and the error object; returns 2. */
int rtl_xml_fail(lua_State *L, const struct xml_error *error);

/* Sets plan and read in the module's table, on top of the stack. */
void rtl_push_xml_read(lua_State *L);

#endif
