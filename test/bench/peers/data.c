/* A peer of test/bench/data.lua: `data json FILE` parses with cJSON alone. Prints nanoseconds for
 * one round. */
#define _GNU_SOURCE
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

int main(int argc, char **argv) {
  return argc > 2 ? bench_json(argv[2]) : 1;
}
