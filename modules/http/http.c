#include "http/http.h"

#include "http/head.h"
#include "http/sockets.h"
#include "secret/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* What an answer may run ahead of its reader. */
enum { WINDOW = 256 * 1024 };

/* Bytes of a body that are sent together with the head. */
enum { IN_ONE = 16 * 1024 };

static void post(struct rtl_http *self) {
  rtl_loop_post(rtl_loop_default(), self->token);
}

/* Some of the answer is there; who wants all of it is told at its end. */
static void post_piece(struct rtl_http *self) {
  if (!self->entire) {
    post(self);
  }
}

static void touch(struct rtl_http *self) {
  self->active_ns = rtl_loop_now();
}

static int64_t earlier(int64_t a, int64_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

static void set_timer(struct rtl_http *self) {
  int64_t idle = self->idle_ns > 0 ? self->active_ns + self->idle_ns : 0;
  int64_t at = earlier(self->deadline_ns, idle);
  if (at != 0) {
    rtl_loop_timer_set(rtl_loop_default(), &self->timer, at);
  }
}

/* ---- libcurl's callbacks ---- */

static size_t refuse(struct rtl_http *self, enum rtl_http_error error) {
  self->refusal = error;
  return 0;
}

/* A status line starts a head; an interim answer (1xx) is dropped when the next one starts. */
static void begin_head(struct rtl_http *self, const char *line, size_t size) {
  self->head.size = 0;
  self->status = self->codings = 0;
  for (size_t i = 0; i < size; i++) {
    if (line[i] == ' ') {
      self->status = i + 3 < size ? atoi(line + i + 1) : 0;
      break;
    }
  }
}

static int is_final(int status) {
  return status >= 200 || status == 101;
}

/* The value of a header line, without blanks, if it has that name. */
static struct rtl_span value_of(const char *line, size_t size, const char *name) {
  size_t length = strlen(name);
  struct rtl_span value = {NULL, 0};
  if (size > length && line[length] == ':' && strncasecmp(line, name, length) == 0) {
    value = (struct rtl_span){line + length + 1, size - length - 1};
    while (value.size > 0 && (*value.bytes == ' ' || *value.bytes == '\t')) {
      value.bytes++;
      value.size--;
    }
    while (value.size > 0 && strchr(" \t", value.bytes[value.size - 1]) != NULL) {
      value.size--;
    }
  }
  return value;
}

static int is_word(struct rtl_span value, const char *word) {
  return value.size == strlen(word) && strncasecmp(value.bytes, word, value.size) == 0;
}

/* libcurl undoes whatever packing an answer names, up to five of them one in another: a few bytes
 * can keep it busy for hours. What was asked for is one, gzip. */
static int is_packed_otherwise(struct rtl_http *self, const char *line, size_t size) {
  struct rtl_span transfer = value_of(line, size, "Transfer-Encoding");
  struct rtl_span content = value_of(line, size, "Content-Encoding");
  if (transfer.size > 0 && !is_word(transfer, "chunked") && !is_word(transfer, "identity")) {
    return 1;
  }
  if (!self->gzip || content.size == 0 || is_word(content, "identity")) {
    return 0;
  }
  return ++self->codings > 1 || !is_word(content, "gzip");
}

static size_t on_header(char *line, size_t one, size_t size, void *data) {
  struct rtl_http *self = data;
  size_t whole = size * one;
  touch(self);
  self->head_bytes += whole;
  if (self->head_bytes > self->max_headers) {
    return refuse(self, RTL_HTTP_TOO_LARGE);
  }
  while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r')) {
    size--;
  }
  if (self->head_done) {
    return whole; /* a trailer */
  }
  if (size >= 5 && memcmp(line, "HTTP/", 5) == 0) {
    begin_head(self, line, size);
  }
  if (is_packed_otherwise(self, line, size)) {
    return refuse(self, RTL_HTTP_NOT_HTTP);
  }
  if (size == 0 && is_final(self->status)) {
    self->head_done = 1;
    post_piece(self);
    return whole;
  }
  if (rtl_head_add(&self->head, (struct rtl_span){line, size}) != 0) {
    return refuse(self, RTL_HTTP_MEMORY);
  }
  return whole;
}

static size_t on_data(char *bytes, size_t one, size_t count, void *data) {
  struct rtl_http *self = data;
  size_t size = one * count;
  touch(self);
  if (!self->entire && self->data.size > 0 && self->data.size + size > WINDOW) {
    self->paused = 1;
    return CURL_WRITEFUNC_PAUSE; /* libcurl keeps these bytes and hands them in again */
  }
  self->received += size;
  if (self->max_body > 0 && self->received > self->max_body) {
    return refuse(self, RTL_HTTP_TOO_LARGE);
  }
  if (rtl_buffer_add(&self->data, bytes, size) != 0) {
    return refuse(self, RTL_HTTP_MEMORY);
  }
  post_piece(self);
  return size;
}

static size_t send_span(struct rtl_span *span, char *out, size_t room) {
  size_t size = span->size < room ? span->size : room;
  if (size > 0) {
    memcpy(out, span->bytes, size);
  }
  span->bytes += size;
  span->size -= size;
  return size;
}

static size_t send_chunk(struct rtl_http *self, char *out, size_t room) {
  size_t sent = self->chunk_sent;
  struct rtl_span rest = {self->chunk.bytes + sent, self->chunk.size - sent};
  size_t size = send_span(&rest, out, room);
  self->chunk_sent += size;
  return size;
}

static size_t on_read(char *out, size_t one, size_t count, void *data) {
  struct rtl_http *self = data;
  touch(self);
  if (!self->upload) {
    return send_span(&self->body, out, one * count);
  }
  if (self->chunk_sent < self->chunk.size) {
    return send_chunk(self, out, one * count);
  }
  if (self->upload_ended) {
    return 0;
  }
  self->wants = 1;
  self->asked = 0;
  post(self);
  return CURL_READFUNC_PAUSE;
}

/* libcurl goes back to the start when it repeats a request that a dead kept-alive connection
 * swallowed. An upload can't; a `once` request never gets here (on_sending). */
static int on_seek(void *data, curl_off_t offset, int origin) {
  struct rtl_http *self = data;
  if (self->upload || origin != SEEK_SET || offset < 0 || (uint64_t)offset > self->whole.size) {
    return CURL_SEEKFUNC_FAIL;
  }
  self->body = (struct rtl_span){self->whole.bytes + offset, self->whole.size - (size_t)offset};
  return CURL_SEEKFUNC_OK;
}

/* A kept connection on which something lies before anything was asked: its end, or an answer to
 * nobody's question, which libcurl would take for the answer to this one. */
static int is_stale(struct rtl_http *self, int local_port, int remote_port) {
  long made = 1;
  char byte;
  rtl_curl.curl_easy_getinfo(self->transfer.easy, CURLINFO_NUM_CONNECTS, &made);
  curl_socket_t fd = made == 0 ? rtl_socket_between(local_port, remote_port) : CURL_SOCKET_BAD;
  return fd != CURL_SOCKET_BAD && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/* Called when a connection stands and before each sending of the request: the one place where a
 * repeat by libcurl can be seen, and refused, before a byte of it has left. */
static int on_sending(void *data, char *remote, char *local, int remote_port, int local_port) {
  struct rtl_http *self = data;
  (void)remote;
  (void)local;
  touch(self);
  if (is_stale(self, local_port, remote_port)) {
    self->stale = 1;
    return CURL_PREREQFUNC_ABORT;
  }
  self->attempts++;
  if (self->attempts > 1 && (self->once || self->upload)) {
    self->refusal = RTL_HTTP_LOST;
    return CURL_PREREQFUNC_ABORT;
  }
  self->body = self->whole;
  set_timer(self);
  return CURL_PREREQFUNC_OK;
}

/* ---- the end ---- */

static void finish(struct rtl_http *self, enum rtl_http_error error) {
  self->done = 1;
  self->error = error;
  self->transfer.ended_well = error == RTL_HTTP_OK;
  rtl_loop_timer_clear(rtl_loop_default(), &self->timer);
  rtl_transfer_end(&self->transfer);
  post(self);
}

static void describe_refusal(struct rtl_http *self) {
  const char *text = "out of memory";
  if (self->refusal == RTL_HTTP_TOO_LARGE) {
    text = self->head_done ? "the body is larger than allowed" : "the headers are too large";
  } else if (self->refusal == RTL_HTTP_NOT_HTTP) {
    text = "the answer is not packed as it says, or as was asked for";
  } else if (self->refusal == RTL_HTTP_LOST) {
    text = "the connection ended before the answer; the request is not repeated";
  }
  snprintf(self->hold.message, sizeof self->hold.message, "%s", text);
}

/* Nothing was sent, so that also what is sent once may take another connection, a new one. */
static int starts_anew(struct rtl_http *self) {
  if (!self->stale) {
    return 0;
  }
  self->stale = 0;
  self->hold.message[0] = '\0';
  rtl_curl.curl_easy_setopt(self->transfer.easy, CURLOPT_FRESH_CONNECT, 1L);
  return rtl_transfer_restart(&self->transfer) == 0;
}

static void on_done(struct rtl_transfer *transfer, CURLcode result) {
  struct rtl_http *self = (struct rtl_http *)transfer;
  if (starts_anew(self)) {
    return;
  }
  enum rtl_http_error error = RTL_HTTP_OK;
  if (result == CURLE_OK && !self->head_done) { /* to libcurl, a head may end anywhere */
    error = RTL_HTTP_LOST;
    snprintf(self->hold.message, sizeof self->hold.message, "the answer ended in its headers");
  }
  if (result == CURLE_OUT_OF_MEMORY && self->attempts > 0) {
    self->refusal = RTL_HTTP_TOO_LARGE; /* libcurl's word for a header line above 100 KB, and for
                                           gzip that swells beyond what it holds for us */
  }
  if (result == CURLE_WRITE_ERROR && self->refusal == RTL_HTTP_OK) {
    self->refusal = RTL_HTTP_NOT_HTTP; /* no callback of ours refused it: what unpacks it did */
  }
  if (self->refusal != RTL_HTTP_OK) { /* whatever libcurl made of it */
    error = self->refusal;
    describe_refusal(self);
  } else if (result != CURLE_OK) {
    rtl_http_describe(self->hold.message, result);
    error = rtl_http_error_of(transfer->easy, result, self->head_done, self->attempts > 0);
  }
  finish(self, error);
}

/* While the caller is the slow one, nothing is idle. */
static void on_timer(struct rtl_timer *timer) {
  struct rtl_http *self = timer->data;
  int64_t now = rtl_loop_now();
  if (self->paused || self->wants) {
    self->active_ns = now;
  }
  if (self->deadline_ns != 0 && now >= self->deadline_ns) {
    snprintf(self->hold.message, sizeof self->hold.message, "not done within its time-out");
    finish(self, RTL_HTTP_TIMEOUT);
  } else if (self->idle_ns > 0 && now >= self->active_ns + self->idle_ns) {
    snprintf(self->hold.message, sizeof self->hold.message, "no byte either way for %.3g s",
             (double)self->idle_ns / 1e9);
    finish(self, RTL_HTTP_IDLE);
  } else {
    set_timer(self);
  }
}

/* ---- the start ---- */

#define SET(option, value) (code = code != CURLE_OK ? code : set(easy, option, value))
#define set rtl_curl.curl_easy_setopt

/* A body that leaves with its head, in one packet: libcurl takes a small one from memory. Larger
 * ones it asks for, so that each piece counts as life (on_read). */
static int in_one(const struct rtl_http_options *options) {
  return !options->upload && options->body.size > 0 && options->body.size <= IN_ONE;
}

static CURLcode set_method(CURL *easy, const struct rtl_http *self,
                           const struct rtl_http_options *options) {
  CURLcode code = CURLE_OK;
  int empty_post = strcmp(options->method, "POST") == 0 || strcmp(options->method, "PUT") == 0 ||
                   strcmp(options->method, "PATCH") == 0;
  if (options->has_body || empty_post) {
    int64_t size = options->upload ? options->length : (int64_t)options->body.size;
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDS, in_one(options) ? self->whole.bytes : NULL);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
  } else if (strcmp(options->method, "HEAD") == 0) {
    SET(CURLOPT_NOBODY, 1L);
  } else {
    SET(CURLOPT_HTTPGET, 1L);
  }
  SET(CURLOPT_CUSTOMREQUEST, options->method);
  SET(CURLOPT_HTTPHEADER, options->headers);
  SET(CURLOPT_FOLLOWLOCATION, 0L);
  SET(CURLOPT_BUFFERSIZE, options->gzip ? 16384L : 65536L); /* one of these swells at once */
  if (options->gzip) {
    SET(CURLOPT_ACCEPT_ENCODING, "gzip");
  }
  return code;
}

static CURLcode set_callbacks(CURL *easy, struct rtl_http *self) {
  CURLcode code = CURLE_OK;
  SET(CURLOPT_HEADERFUNCTION, on_header);
  SET(CURLOPT_HEADERDATA, self);
  SET(CURLOPT_WRITEFUNCTION, on_data);
  SET(CURLOPT_WRITEDATA, self);
  SET(CURLOPT_READFUNCTION, on_read);
  SET(CURLOPT_READDATA, self);
  SET(CURLOPT_SEEKFUNCTION, on_seek);
  SET(CURLOPT_SEEKDATA, self);
  SET(CURLOPT_PREREQFUNCTION, on_sending);
  SET(CURLOPT_PREREQDATA, self);
  return code;
}

static int keep_body(struct rtl_http *self, const struct rtl_http_options *options) {
  self->whole = options->body;
  if (options->copy_body) {
    if (rtl_buffer_add(&self->chunk, options->body.bytes, options->body.size) != 0) {
      return -1;
    }
    self->whole.bytes = self->chunk.bytes;
  }
  self->body = self->whole;
  return 0;
}

static void init(struct rtl_http *self, const struct rtl_http_options *options) {
  int64_t now = rtl_loop_now();
  self->transfer.multi = &rtl_multi_shared;
  self->transfer.done = on_done;
  self->timer.fire = on_timer;
  self->timer.data = self;
  self->upload = options->upload;
  self->once = options->once;
  self->gzip = options->gzip;
  self->entire = options->entire;
  self->max_headers = options->max_headers;
  self->max_body = options->max_body;
  self->idle_ns = options->idle_ns;
  self->active_ns = now + options->route.connect_timeout_ns; /* connecting has its own limit */
  self->deadline_ns = options->timeout_ns > 0 ? now + options->timeout_ns : 0;
}

static CURLcode start(struct rtl_http *self, const struct rtl_http_options *options) {
  CURLcode code = CURLE_OK;
  CURL *easy = rtl_http_easy(self->transfer.multi, &options->route, &self->hold, &code);
  if (easy == NULL) {
    return code;
  }
  code = set_method(easy, self, options);
  code = code != CURLE_OK ? code : set_callbacks(easy, self);
  self->transfer.easy = easy;
  return rtl_transfer_start(&self->transfer) == 0 ? code : CURLE_OUT_OF_MEMORY;
}

int rtl_http_start(struct rtl_http *self, const struct rtl_http_options *options) {
  CURLcode code = CURLE_OK;
  struct rtl_loop *loop = rtl_loop_default();
  *self = (struct rtl_http){.token = loop != NULL ? rtl_loop_new_token(loop) : 0};
  if (self->token == 0) {
    return -1;
  }
  init(self, options);
  code = keep_body(self, options) == 0 ? start(self, options) : CURLE_OUT_OF_MEMORY;
  if (code != CURLE_OK) {
    rtl_http_describe(self->hold.message, code);
    finish(self, rtl_http_error_of(NULL, code, 0, 0));
    return 0;
  }
  set_timer(self);
  return 0;
}

/* ---- taking and giving ---- */

static int has_head(const struct rtl_http *self) {
  return self->entire ? self->done && self->error == RTL_HTTP_OK : self->head_done;
}

enum rtl_http_event rtl_http_next(struct rtl_http *self) {
  if (!self->head_taken && has_head(self)) {
    self->head_taken = 1;
    return RTL_HTTP_HEAD;
  }
  if (self->data.size > 0 && !self->entire) {
    return RTL_HTTP_DATA;
  }
  if (self->done) {
    return self->error == RTL_HTTP_OK ? RTL_HTTP_END : RTL_HTTP_FAILED;
  }
  if (self->wants && !self->asked) {
    self->asked = 1;
    return RTL_HTTP_WANT;
  }
  return RTL_HTTP_NOTHING;
}

/* Goes on with what is no longer paused. The callbacks run inside of curl_easy_pause; what they
 * refuse there is no failure of the transfer to libcurl, which may end it well without those
 * bytes. */
static void resume(struct rtl_http *self) {
  if (self->transfer.easy != NULL) {
    int still = (self->paused ? CURLPAUSE_RECV : 0) | (self->wants ? CURLPAUSE_SEND : 0);
    CURLcode code = rtl_curl.curl_easy_pause(self->transfer.easy, still);
    if (code != CURLE_OK) {
      on_done(&self->transfer, code);
    }
  }
}

void rtl_http_taken(struct rtl_http *self) {
  rtl_wipe(self->data.bytes, self->data.size);
  self->data.size = 0;
  if (self->paused) {
    self->paused = 0;
    touch(self);
    resume(self);
  }
}

int rtl_http_feed(struct rtl_http *self, struct rtl_span chunk) {
  self->chunk.size = 0;
  self->chunk_sent = 0;
  if (rtl_buffer_add(&self->chunk, chunk.bytes, chunk.size) != 0) {
    return -1;
  }
  self->upload_ended = chunk.size == 0;
  if (self->wants) {
    self->wants = 0;
    touch(self);
    resume(self);
  }
  return 0;
}

void rtl_http_close(struct rtl_http *self) {
  if (self->token == 0) {
    return;
  }
  rtl_loop_timer_clear(rtl_loop_default(), &self->timer);
  rtl_transfer_end(&self->transfer);
  rtl_loop_end_token(rtl_loop_default(), self->token);
  rtl_http_let_go(&self->hold);
  rtl_buffer_free(&self->chunk);
  rtl_buffer_free(&self->head);
  rtl_buffer_free(&self->data);
  *self = (struct rtl_http){0};
}
