/* curl multi handles, driven by the event loop.
 *
 * All requests share one, since the connection cache and the parsed CA store live in it. Each byte
 * stream has its own: to libcurl a stream's connection is an idle one, which any other transfer of
 * the same multi may find "dead" and close. */
#ifndef RTL_HTTP_MULTI_H
#define RTL_HTTP_MULTI_H

#include "http/curl.h"
#include "loop/loop.h"

struct rtl_transfer;

struct rtl_multi {
  CURLM *handle; /* NULL: closed; a zeroed struct is closed */
  struct rtl_timer timer, end;
  size_t live;                 /* transfers in it */
  CURL *spare;                 /* the easy handle of one that ended well, for the next, or NULL */
  struct rtl_transfer *doomed; /* its socket can't be watched: to be ended outside of libcurl */
};

/* What every easy handle in a multi belongs to; first member of its owner. */
struct rtl_transfer {
  struct rtl_multi *multi;
  CURL *easy;     /* NULL: not in the multi */
  int ended_well; /* its easy handle may serve again */
  void (*done)(struct rtl_transfer *self, CURLcode result);
};

/* The one for requests. */
extern struct rtl_multi rtl_multi_shared;

/* Loads libcurl and opens the multi, if need be; it must not move until it is closed. NULL, or why
 * not (a static text). */
const char *rtl_multi_open(struct rtl_multi *self);

/* Closes it and its connections, if no transfer is live. Idempotent. */
void rtl_multi_close(struct rtl_multi *self);

/* An easy handle with no option set, for a transfer of this multi; NULL: no memory. */
CURL *rtl_multi_easy(struct rtl_multi *self);

/* Adds self->easy (whose private data becomes `self`) to self->multi. -1: refused, easy freed. */
int rtl_transfer_start(struct rtl_transfer *self);

/* Lets a transfer that is done begin again, with the options that its easy handle has now. -1:
 * refused. */
int rtl_transfer_restart(struct rtl_transfer *self);

/* Stops the transfer at once and gives self->easy up. Idempotent. Not from a libcurl callback. */
void rtl_transfer_end(struct rtl_transfer *self);

#endif
