#include "http/stream.h"

#include <stdio.h>
#include <sys/epoll.h>

static void on_ready(struct rtl_watch *watch, uint32_t events) {
  struct rtl_stream *self = watch->data;
  uint32_t seen = events & (EPOLLERR | EPOLLHUP) ? EPOLLIN | EPOLLOUT : events;
  uint32_t rest = watch->events & ~seen; /* silent until the next try wants it again */
  if (seen & EPOLLIN) {
    rtl_loop_post(rtl_loop_default(), self->read_token);
  }
  if (seen & EPOLLOUT) {
    rtl_loop_post(rtl_loop_default(), self->write_token);
  }
  rtl_loop_rewatch(rtl_loop_default(), watch, rest);
}

static void fail(struct rtl_stream *self, enum rtl_http_error error, CURLcode code) {
  self->error = error;
  rtl_http_describe(self->hold.message, code);
  rtl_loop_post(rtl_loop_default(), self->read_token);
  rtl_loop_post(rtl_loop_default(), self->write_token);
}

/* The socket is libcurl's until here, and ours from here on. */
static void on_done(struct rtl_transfer *transfer, CURLcode result) {
  struct rtl_stream *self = (struct rtl_stream *)transfer;
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (result == CURLE_OK) {
    rtl_curl.curl_easy_getinfo(transfer->easy, CURLINFO_ACTIVESOCKET, &socket);
    result = socket == CURL_SOCKET_BAD ? CURLE_COULDNT_CONNECT : CURLE_OK;
  }
  if (result != CURLE_OK) {
    fail(self, rtl_http_error_of(transfer->easy, result, 0, 0), result);
    return;
  }
  self->watch = (struct rtl_watch){.fd = socket, .ready = on_ready, .data = self};
  if (rtl_loop_watch(rtl_loop_default(), &self->watch) != 0) {
    fail(self, RTL_HTTP_MEMORY, CURLE_OUT_OF_MEMORY);
    return;
  }
  self->connected = 1;
  rtl_loop_post(rtl_loop_default(), self->read_token);
}

static CURLcode start(struct rtl_stream *self, const struct rtl_http_route *route) {
  CURLcode code = CURLE_OK;
  if (rtl_multi_open(&self->multi) != NULL) {
    return CURLE_OUT_OF_MEMORY;
  }
  CURL *easy = rtl_http_easy(&self->multi, route, &self->hold, &code);
  if (easy == NULL) {
    return code;
  }
  rtl_curl.curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  rtl_curl.curl_easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
  self->transfer.easy = easy;
  return rtl_transfer_start(&self->transfer) == 0 ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

int rtl_stream_open(struct rtl_stream *self, const struct rtl_http_route *route) {
  struct rtl_loop *loop = rtl_loop_default();
  *self = (struct rtl_stream){.transfer = {.multi = &self->multi, .done = on_done}};
  self->read_token = loop != NULL ? rtl_loop_new_token(loop) : 0;
  if (self->read_token == 0) {
    return -1;
  }
  self->write_token = rtl_loop_new_token(loop);
  if (self->write_token == 0) {
    rtl_stream_close(self);
    return -1;
  }
  CURLcode code = start(self, route);
  if (code != CURLE_OK) {
    fail(self, rtl_http_error_of(NULL, code, 0, 0), code);
  }
  return 0;
}

enum rtl_stream_result rtl_stream_connected(struct rtl_stream *self) {
  if (self->error != RTL_HTTP_OK) {
    return RTL_STREAM_FAILED;
  }
  return self->connected ? RTL_STREAM_READY : RTL_STREAM_NOT_YET;
}

static enum rtl_stream_result again(struct rtl_stream *self, uint32_t event, CURLcode code) {
  if (code == CURLE_AGAIN) {
    rtl_loop_rewatch(rtl_loop_default(), &self->watch, self->watch.events | event);
    return RTL_STREAM_NOT_YET;
  }
  fail(self, RTL_HTTP_LOST, code);
  return RTL_STREAM_FAILED;
}

/* Tries at once: TLS may hold bytes that no readiness of the socket tells of. */
enum rtl_stream_result rtl_stream_read(struct rtl_stream *self, char *out, size_t room,
                                       size_t *got) {
  *got = 0;
  enum rtl_stream_result state = rtl_stream_connected(self);
  if (state != RTL_STREAM_READY) {
    return state;
  }
  CURLcode code = rtl_curl.curl_easy_recv(self->transfer.easy, out, room, got);
  if (code != CURLE_OK) {
    return again(self, EPOLLIN, code);
  }
  return *got > 0 ? RTL_STREAM_READY : RTL_STREAM_END;
}

int rtl_stream_write(struct rtl_stream *self, struct rtl_span bytes) {
  struct rtl_buffer *buffer = self->out.size == 0 ? &self->out : &self->later;
  return rtl_buffer_add(buffer, bytes.bytes, bytes.size);
}

static void swap_buffers(struct rtl_stream *self) {
  struct rtl_buffer done = self->out;
  self->out = self->later;
  self->later = done;
  self->later.size = 0;
  self->sent = 0;
}

enum rtl_stream_result rtl_stream_flush(struct rtl_stream *self) {
  enum rtl_stream_result state = rtl_stream_connected(self);
  while (state == RTL_STREAM_READY && self->out.size > 0) {
    size_t sent = 0;
    CURLcode code = rtl_curl.curl_easy_send(self->transfer.easy, self->out.bytes + self->sent,
                                            self->out.size - self->sent, &sent);
    if (code != CURLE_OK) {
      return again(self, EPOLLOUT, code);
    }
    self->sent += sent;
    if (self->sent == self->out.size) {
      swap_buffers(self);
    }
  }
  return state;
}

void rtl_stream_close(struct rtl_stream *self) {
  if (self->read_token == 0) {
    return;
  }
  rtl_loop_unwatch(rtl_loop_default(), &self->watch);
  rtl_transfer_end(&self->transfer);
  rtl_multi_close(&self->multi);
  rtl_loop_end_token(rtl_loop_default(), self->read_token);
  rtl_loop_end_token(rtl_loop_default(), self->write_token);
  rtl_http_let_go(&self->hold);
  rtl_buffer_free(&self->out);
  rtl_buffer_free(&self->later);
  *self = (struct rtl_stream){0};
}
