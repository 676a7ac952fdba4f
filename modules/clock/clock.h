/* The two clocks. */
#ifndef RTL_CLOCK_H
#define RTL_CLOCK_H

#include <stdint.h>

/* Nanoseconds of CLOCK_BOOTTIME: never set back, goes on while the machine sleeps. For waits. */
int64_t rtl_clock_mono_ns(void);

/* Nanoseconds since 1970 (CLOCK_REALTIME), as the machine believes. For dates and signatures. */
int64_t rtl_clock_utc_ns(void);

#endif
