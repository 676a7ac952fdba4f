/* libcurl's codes, made into the few that callers act upon. */
#include "http/http.h"

#include <stdio.h>

const char *rtl_http_error_name(enum rtl_http_error error) {
  static const char *const names[] = {
      [RTL_HTTP_OK] = "ok",
      [RTL_HTTP_DNS] = "dns",
      [RTL_HTTP_CONNECT] = "connect",
      [RTL_HTTP_CERTIFICATE] = "certificate",
      [RTL_HTTP_ROOTS] = "roots",
      [RTL_HTTP_TLS] = "tls",
      [RTL_HTTP_CONNECT_TIMEOUT] = "connect_timeout",
      [RTL_HTTP_IDLE] = "idle",
      [RTL_HTTP_TIMEOUT] = "timeout",
      [RTL_HTTP_LOST] = "lost",
      [RTL_HTTP_CUT] = "cut",
      [RTL_HTTP_NOT_HTTP] = "not_http",
      [RTL_HTTP_TOO_LARGE] = "too_large",
      [RTL_HTTP_PROXY] = "proxy",
      [RTL_HTTP_PROXY_BUSY] = "proxy_busy",
      [RTL_HTTP_URL] = "url",
      [RTL_HTTP_MEMORY] = "memory",
  };
  return names[error];
}

/* What a proxy answered when it was asked for the tunnel, 0 if nothing: libcurl's own code for a
 * refusal changes with its version. */
static long proxy_status(CURL *easy) {
  long status = 0;
  if (easy != NULL) {
    rtl_curl.curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &status);
  }
  return status;
}

static enum rtl_http_error lost_or_cut(int head_done) {
  return head_done ? RTL_HTTP_CUT : RTL_HTTP_LOST;
}

enum rtl_http_error rtl_http_error_of(CURL *easy, CURLcode code, int head_done, int sent) {
  long refused = sent || code == CURLE_OK ? 0 : proxy_status(easy);
  if (refused >= 300) {
    return refused >= 500 ? RTL_HTTP_PROXY_BUSY : RTL_HTTP_PROXY;
  }
  switch (code) {
    case CURLE_OK: return RTL_HTTP_OK;
    case CURLE_COULDNT_RESOLVE_HOST: return RTL_HTTP_DNS;
    case CURLE_COULDNT_CONNECT: return RTL_HTTP_CONNECT;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY: return RTL_HTTP_PROXY;
    case CURLE_OPERATION_TIMEDOUT: return RTL_HTTP_CONNECT_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS: return RTL_HTTP_CERTIFICATE;
    case CURLE_SSL_CACERT_BADFILE: return RTL_HTTP_ROOTS;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED: return RTL_HTTP_TLS;
    case CURLE_URL_MALFORMAT:
    case CURLE_LOGIN_DENIED: return RTL_HTTP_URL;
    case CURLE_UNSUPPORTED_PROTOCOL: return sent ? RTL_HTTP_NOT_HTTP : RTL_HTTP_URL;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING: return RTL_HTTP_NOT_HTTP;
    case CURLE_OUT_OF_MEMORY: return RTL_HTTP_MEMORY;
    default: return sent ? lost_or_cut(head_done) : RTL_HTTP_CONNECT;
  }
}

void rtl_http_describe(char *message, CURLcode code) {
  if (message[0] == '\0') {
    snprintf(message, CURL_ERROR_SIZE, "%s", rtl_curl.curl_easy_strerror(code));
  }
}
