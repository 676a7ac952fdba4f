/* The headers of a request, in libcurl's spelling. */
#ifndef RTL_HTTP_HEADER_H
#define RTL_HTTP_HEADER_H

#include "http/buffer.h"
#include "http/curl.h"

/* A list for CURLOPT_HTTPHEADER; zeroed is empty. */
struct rtl_headers {
  struct curl_slist *first, *last;
};

/* Appends "name: value". -1: no memory, -2: not allowed in HTTP. */
int rtl_headers_add(struct rtl_headers *headers, struct rtl_span name, struct rtl_span value);

/* Unless they are there, says that libcurl's own headers are not to be sent: nobody asked for
 * them. -1: no memory. */
int rtl_headers_drop_unasked(struct rtl_headers *headers);

int rtl_headers_have(const struct rtl_headers *headers, const char *name);
void rtl_headers_free(struct rtl_headers *headers); /* wipes */

#endif
