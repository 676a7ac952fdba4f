#include "http/multi.h"

#include <stdlib.h>
#include <sys/epoll.h>

enum { KEPT_CONNECTIONS = 64 };

struct rtl_multi rtl_multi_shared;

static void collect_done(struct rtl_multi *self) {
  CURLMsg *message;
  int left;
  while ((message = rtl_curl.curl_multi_info_read(self->handle, &left)) != NULL) {
    struct rtl_transfer *transfer = NULL;
    CURLcode result = message->data.result; /* the message dies with the handle */
    rtl_curl.curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    transfer->done(transfer, result);
  }
}

static void act(struct rtl_multi *self, curl_socket_t socket, int events) {
  int running;
  rtl_curl.curl_multi_socket_action(self->handle, socket, events, &running);
  collect_done(self);
}

static void on_ready(struct rtl_watch *watch, uint32_t events) {
  int seen = 0;
  seen |= events & EPOLLIN ? CURL_CSELECT_IN : 0;
  seen |= events & EPOLLOUT ? CURL_CSELECT_OUT : 0;
  seen |= events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0;
  act(watch->data, watch->fd, seen); /* may free the watch */
}

static void end_doomed(struct rtl_timer *timer) {
  struct rtl_multi *self = timer->data;
  struct rtl_transfer *transfer = self->doomed;
  self->doomed = NULL;
  if (transfer != NULL) {
    transfer->done(transfer, CURLE_OUT_OF_MEMORY);
  }
}

static void on_fire(struct rtl_timer *timer) {
  act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* libcurl forbids acting in here; a time-out of 0 fires in the next round. */
static int on_timer(CURLM *handle, long timeout_ms, void *data) {
  struct rtl_multi *self = data;
  (void)handle;
  if (timeout_ms < 0) {
    rtl_loop_timer_clear(rtl_loop_default(), &self->timer);
  } else {
    int64_t at = rtl_loop_now() + timeout_ms * INT64_C(1000000);
    rtl_loop_timer_set(rtl_loop_default(), &self->timer, at);
  }
  return 0;
}

static uint32_t wanted(int what) {
  uint32_t events = 0;
  events |= what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0;
  events |= what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0;
  return events;
}

static int watch_socket(struct rtl_multi *self, curl_socket_t socket, int what) {
  struct rtl_watch *watch = calloc(1, sizeof *watch);
  if (watch == NULL) {
    return -1;
  }
  *watch = (struct rtl_watch){.fd = socket, .ready = on_ready, .data = self};
  watch->events = wanted(what);
  if (rtl_loop_watch(rtl_loop_default(), watch) != 0) {
    free(watch);
    return -1;
  }
  rtl_curl.curl_multi_assign(self->handle, socket, watch);
  return 0;
}

/* Told of a failure, libcurl would give up the whole multi; this way one transfer ends. */
static void doom(struct rtl_multi *self, CURL *easy) {
  rtl_curl.curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self->doomed);
  rtl_loop_timer_set(rtl_loop_default(), &self->end, rtl_loop_now());
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *data, void *assigned) {
  struct rtl_multi *self = data;
  struct rtl_watch *watch = assigned;
  int result = 0;
  if (what != CURL_POLL_REMOVE) {
    result = watch != NULL ? rtl_loop_rewatch(rtl_loop_default(), watch, wanted(what))
                           : watch_socket(self, socket, what);
  } else if (watch != NULL) {
    rtl_curl.curl_multi_assign(self->handle, socket, NULL);
    rtl_loop_unwatch(rtl_loop_default(), watch);
    free(watch);
  }
  if (result != 0) {
    doom(self, easy);
  }
  return 0;
}

const char *rtl_multi_open(struct rtl_multi *self) {
  if (self->handle != NULL) {
    return NULL;
  }
  const char *refused = rtl_curl_load();
  if (refused != NULL) {
    return refused;
  }
  self->handle = rtl_loop_default() != NULL ? rtl_curl.curl_multi_init() : NULL;
  if (self->handle == NULL) {
    return "out of memory or descriptors";
  }
  self->timer = (struct rtl_timer){.fire = on_fire, .data = self};
  self->end = (struct rtl_timer){.fire = end_doomed, .data = self};
  rtl_curl.curl_multi_setopt(self->handle, CURLMOPT_SOCKETFUNCTION, on_socket);
  rtl_curl.curl_multi_setopt(self->handle, CURLMOPT_SOCKETDATA, self);
  rtl_curl.curl_multi_setopt(self->handle, CURLMOPT_TIMERFUNCTION, on_timer);
  rtl_curl.curl_multi_setopt(self->handle, CURLMOPT_TIMERDATA, self);
  rtl_curl.curl_multi_setopt(self->handle, CURLMOPT_MAXCONNECTS, (long)KEPT_CONNECTIONS);
  rtl_curl.curl_multi_setopt(self->handle, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
  return NULL;
}

void rtl_multi_close(struct rtl_multi *self) {
  if (self->handle != NULL && self->live == 0) {
    if (self->spare != NULL) {
      rtl_curl.curl_easy_cleanup(self->spare);
      self->spare = NULL;
    }
    rtl_curl.curl_multi_cleanup(self->handle);
    rtl_loop_timer_clear(rtl_loop_default(), &self->timer);
    rtl_loop_timer_clear(rtl_loop_default(), &self->end);
    self->handle = NULL;
  }
}

CURL *rtl_multi_easy(struct rtl_multi *self) {
  CURL *easy = self->spare;
  self->spare = NULL;
  return easy != NULL ? easy : rtl_curl.curl_easy_init();
}

/* To make a handle costs more than to reset one, and most requests come one after another. */
static void give_up(struct rtl_multi *self, CURL *easy, int may_serve_again) {
  if (may_serve_again && self->spare == NULL) {
    rtl_curl.curl_easy_reset(easy);
    self->spare = easy;
  } else {
    rtl_curl.curl_easy_cleanup(easy);
  }
}

int rtl_transfer_start(struct rtl_transfer *self) {
  rtl_curl.curl_easy_setopt(self->easy, CURLOPT_PRIVATE, self);
  if (rtl_curl.curl_multi_add_handle(self->multi->handle, self->easy) != CURLM_OK) {
    rtl_curl.curl_easy_cleanup(self->easy);
    self->easy = NULL;
    return -1;
  }
  self->multi->live++;
  return 0;
}

int rtl_transfer_restart(struct rtl_transfer *self) {
  rtl_curl.curl_multi_remove_handle(self->multi->handle, self->easy);
  return rtl_curl.curl_multi_add_handle(self->multi->handle, self->easy) == CURLM_OK ? 0 : -1;
}

void rtl_transfer_end(struct rtl_transfer *self) {
  if (self->easy == NULL) {
    return;
  }
  rtl_curl.curl_multi_remove_handle(self->multi->handle, self->easy);
  give_up(self->multi, self->easy, self->ended_well);
  self->easy = NULL;
  self->multi->live--;
  if (self->multi->doomed == self) {
    self->multi->doomed = NULL;
  }
}
