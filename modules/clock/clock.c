#include "clock/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t rtl_clock_mono_ns(void) {
  return read_ns(CLOCK_BOOTTIME);
}

int64_t rtl_clock_utc_ns(void) {
  return read_ns(CLOCK_REALTIME);
}
