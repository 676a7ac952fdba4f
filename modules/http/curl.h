/* libcurl, loaded on first use: linking it costs every start 10 ms and 6 MB. */
#ifndef RTL_HTTP_CURL_H
#define RTL_HTTP_CURL_H

#define CURL_DISABLE_TYPECHECK 1 /* its macros would call the functions directly */
#include <curl/curl.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define RTL_CURL_FUNCTIONS(X)                                                             \
  X(curl_easy_cleanup) X(curl_easy_getinfo) X(curl_easy_init) X(curl_easy_pause)          \
  X(curl_easy_recv) X(curl_easy_reset) X(curl_easy_send) X(curl_easy_setopt)              \
  X(curl_easy_strerror)                                                                   \
  X(curl_free) X(curl_global_init) X(curl_multi_add_handle) X(curl_multi_assign)          \
  X(curl_multi_cleanup) X(curl_multi_info_read) X(curl_multi_init)                        \
  X(curl_multi_remove_handle) X(curl_multi_setopt) X(curl_multi_socket_action)            \
  X(curl_slist_append) X(curl_slist_free_all) X(curl_url) X(curl_url_cleanup)             \
  X(curl_url_get) X(curl_url_set) X(curl_version_info)

/* The functions, under their own names: rtl_curl.curl_easy_init(). */
struct rtl_curl {
#define RTL_CURL_POINTER(name) __typeof__(&name) name;
  RTL_CURL_FUNCTIONS(RTL_CURL_POINTER)
#undef RTL_CURL_POINTER
};
extern struct rtl_curl rtl_curl;

/* Loads it once. NULL, or why it can't be used (a static text). */
const char *rtl_curl_load(void);

#endif
