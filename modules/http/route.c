/* What requests and streams have in common: where to, through what, trusted how. */
#include "http/http.h"

#include "http/sockets.h"

#include <stdio.h>
#include <string.h>

#define SET(option, value) (code = code != CURLE_OK ? code : set(easy, option, value))
#define set rtl_curl.curl_easy_setopt

static struct curl_blob blob_of(struct rtl_span span, unsigned flags) {
  /* libcurl reads it only */
  union {
    const void *in;
    void *out;
  } data = {.in = span.bytes};
  return (struct curl_blob){.data = data.out, .len = span.size, .flags = flags};
}

/* A pinned CA replaces the file and the folder of roots, which Debian's libcurl would add. A proxy
 * that speaks TLS itself is trusted by the file of roots, never by a CA that is pinned for one
 * host, and always verified. */
static CURLcode set_trust(CURL *easy, const struct rtl_http_route *route) {
  CURLcode code = CURLE_OK;
  SET(CURLOPT_SSL_VERIFYPEER, route->insecure ? 0L : 1L);
  SET(CURLOPT_SSL_VERIFYHOST, route->insecure ? 0L : 2L);
  SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  if (route->ca_file != NULL) {
    SET(CURLOPT_CAINFO, route->ca_file);
    SET(CURLOPT_CAPATH, NULL);
    SET(CURLOPT_PROXY_CAINFO, route->ca_file);
    SET(CURLOPT_PROXY_CAPATH, NULL);
  }
  SET(CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  if (route->ca.bytes != NULL) {
    struct curl_blob blob = blob_of(route->ca, CURL_BLOB_COPY);
    SET(CURLOPT_CAINFO_BLOB, &blob);
    SET(CURLOPT_CAINFO, NULL);
    SET(CURLOPT_CAPATH, NULL);
  }
  return code;
}

static CURLcode set_client_cert(CURL *easy, const struct rtl_http_route *route,
                                struct rtl_http_hold *hold) {
  CURLcode code = CURLE_OK;
  if (route->cert.bytes != NULL) {
    struct curl_blob blob = blob_of(route->cert, CURL_BLOB_COPY);
    SET(CURLOPT_SSLCERTTYPE, "PEM");
    SET(CURLOPT_SSLCERT_BLOB, &blob);
  }
  if (route->key.bytes != NULL) {
    if (rtl_buffer_add(&hold->key, route->key.bytes, route->key.size) != 0) {
      return CURLE_OUT_OF_MEMORY;
    }
    struct rtl_span key = {hold->key.bytes, hold->key.size};
    struct curl_blob blob = blob_of(key, CURL_BLOB_NOCOPY); /* libcurl wipes no copy of its own */
    SET(CURLOPT_SSLKEYTYPE, "PEM");
    SET(CURLOPT_SSLKEY_BLOB, &blob);
  }
  return code;
}

static CURLcode set_path(CURL *easy, const struct rtl_http_route *route,
                         struct rtl_http_hold *hold) {
  CURLcode code = CURLE_OK;
  SET(CURLOPT_URL, route->url);
  SET(CURLOPT_PATH_AS_IS, 1L); /* the signature covers the path as it stands */
  SET(CURLOPT_PROTOCOLS_STR, "http,https");
  SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  SET(CURLOPT_PROXY, route->proxy != NULL ? route->proxy : ""); /* "": not the environment's */
  SET(CURLOPT_NOPROXY, "");
  SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (route->connect_to != NULL) {
    hold->connect_to = rtl_curl.curl_slist_append(NULL, route->connect_to);
    code = hold->connect_to == NULL ? CURLE_OUT_OF_MEMORY : code;
    SET(CURLOPT_CONNECT_TO, hold->connect_to);
  }
  return code;
}

static CURLcode set_manners(CURL *easy, const struct rtl_http_route *route, char *message) {
  CURLcode code = CURLE_OK;
  SET(CURLOPT_ERRORBUFFER, message);
  SET(CURLOPT_NOSIGNAL, 1L);
  SET(CURLOPT_QUICK_EXIT, 1L); /* a cancel does not wait for the resolver's thread */
  SET(CURLOPT_OPENSOCKETFUNCTION, rtl_socket_open);
  SET(CURLOPT_CLOSESOCKETFUNCTION, rtl_socket_close);
  SET(CURLOPT_TCP_KEEPALIVE, 1L);
  SET(CURLOPT_TCP_KEEPIDLE, 30L);
  SET(CURLOPT_TCP_KEEPINTVL, 15L);
  SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(route->connect_timeout_ns / 1000000));
  return code;
}

CURL *rtl_http_easy(struct rtl_multi *multi, const struct rtl_http_route *route,
                    struct rtl_http_hold *hold, CURLcode *refused) {
  CURL *easy = rtl_multi_easy(multi);
  if (easy == NULL) {
    *refused = CURLE_OUT_OF_MEMORY;
    return NULL;
  }
  CURLcode code = set_manners(easy, route, hold->message);
  code = code != CURLE_OK ? code : set_path(easy, route, hold);
  code = code != CURLE_OK ? code : set_trust(easy, route);
  code = code != CURLE_OK ? code : set_client_cert(easy, route, hold);
  *refused = code;
  if (code != CURLE_OK) {
    rtl_curl.curl_easy_cleanup(easy);
    return NULL;
  }
  return easy;
}

void rtl_http_let_go(struct rtl_http_hold *hold) {
  if (hold->connect_to != NULL) {
    rtl_curl.curl_slist_free_all(hold->connect_to);
    hold->connect_to = NULL;
  }
  rtl_buffer_free(&hold->key);
}

static int get_part(CURLU *url, CURLUPart part, char *out, size_t room) {
  char *text = NULL;
  if (rtl_curl.curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) {
    return -1;
  }
  int length = snprintf(out, room, "%s", text);
  rtl_curl.curl_free(text);
  return length < 0 || (size_t)length >= room ? -1 : 0;
}

int rtl_http_origin(const char *url, struct rtl_http_origin *out) {
  CURLU *parsed = rtl_curl.curl_url();
  int result = -1;
  if (parsed != NULL &&
      rtl_curl.curl_url_set(parsed, CURLUPART_URL, url, CURLU_PATH_AS_IS) == CURLUE_OK &&
      get_part(parsed, CURLUPART_SCHEME, out->scheme, sizeof out->scheme) == 0 &&
      get_part(parsed, CURLUPART_HOST, out->host, sizeof out->host) == 0 &&
      get_part(parsed, CURLUPART_PORT, out->port, sizeof out->port) == 0) {
    result = 0;
  }
  rtl_curl.curl_url_cleanup(parsed);
  return result;
}
