#include "http/curl.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* CURLOPT_QUICK_EXIT, without which a cancel waits for the resolver's thread. */
enum { OLDEST = 0x075700 };

struct rtl_curl rtl_curl;

static const struct {
  const char *name;
  size_t offset;
} functions[] = {
#define RTL_CURL_ENTRY(name) {#name, offsetof(struct rtl_curl, name)},
    RTL_CURL_FUNCTIONS(RTL_CURL_ENTRY)
#undef RTL_CURL_ENTRY
};

static const char *resolve(void *library, struct rtl_curl *out) {
  static char why[96];
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *found = dlsym(library, functions[i].name);
    if (found == NULL) {
      snprintf(why, sizeof why, "libcurl has no %s", functions[i].name);
      return why;
    }
    memcpy((char *)out + functions[i].offset, &found, sizeof found);
  }
  return NULL;
}

static const char *check_version(const struct rtl_curl *curl) {
  static char why[96];
  const curl_version_info_data *info = curl->curl_version_info(CURLVERSION_NOW);
  if (info->version_num < OLDEST || (info->features & CURL_VERSION_SSL) == 0) {
    snprintf(why, sizeof why, "libcurl %s is older than 7.87 or lacks TLS", info->version);
    return why;
  }
  return NULL;
}

const char *rtl_curl_load(void) {
  static char why[256];
  struct rtl_curl found;
  if (rtl_curl.curl_easy_init != NULL) {
    return NULL;
  }
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(why, sizeof why, "%s", dlerror());
    return why;
  }
  const char *refused = resolve(library, &found);
  refused = refused != NULL ? refused : check_version(&found);
  if (refused == NULL && found.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    refused = "libcurl could not be initialised";
  }
  if (refused != NULL) {
    dlclose(library);
    return refused;
  }
  rtl_curl = found;
  return NULL;
}
