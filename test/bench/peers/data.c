/* Peers and C-side loops for test/bench/data.lua: `data json FILE` parses with cJSON alone,
 * `data sigv4` signs with a cached key. Prints nanoseconds for one round. */
#include "crypto/sigv4.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int bench_json(const char *path) {
  static char text[64 << 20];
  FILE *file = fopen(path, "rb");
  size_t size = file == NULL ? 0 : fread(text, 1, sizeof text, file);
  double best = 1e18;
  for (int i = 0; i < 7; i++) {
    double start = now();
    cJSON *tree = cJSON_ParseWithLength(text, size);
    double took = now() - start;
    best = took < best ? took : best;
    cJSON_Delete(tree);
  }
  return printf("%.0f\n", best) < 0;
}

static struct sigv4_text text_of(const char *text) {
  return (struct sigv4_text){text, strlen(text)};
}

static int bench_sigv4(void) {
  enum { ROUNDS = 20000 };
  struct sigv4_header headers[] = {
      {{"content-type", 12}, {"application/x-amz-json-1.1", 26}},
      {{"x-amz-target", 12}, {"Service.Operation", 17}},
  };
  struct sigv4_request request = {
      .method = text_of("POST"), .url = text_of("https://eks.us-east-2.amazonaws.com/clusters"),
      .headers = headers, .header_count = 2, .body = text_of("{\"name\":\"ray-train\"}"),
      .region = text_of("us-east-2"), .service = text_of("eks"),
      .time = text_of("20150830T123600Z"), .key_id = text_of("AKIDEXAMPLE"),
      .secret = text_of("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), .secret_id = 1,
      .double_encode = 1, .normalize_path = 1,
  };
  double best = 1e18;
  for (int round = 0; round < 5; round++) {
    double start = now();
    for (int i = 0; i < ROUNDS; i++) {
      struct sigv4 s;
      sigv4_init(&s);
      if (!sigv4_sign(&s, &request)) {
        return 1;
      }
      sigv4_free(&s);
    }
    double took = (now() - start) / ROUNDS;
    best = took < best ? took : best;
  }
  return printf("%.0f\n", best) < 0;
}

int main(int argc, char **argv) {
  return argc > 2 ? bench_json(argv[2]) : bench_sigv4();
}
