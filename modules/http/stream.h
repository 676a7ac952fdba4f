/* Bytes over TLS (or plain TCP): a connection that libcurl makes, through its proxy and with its
 * checks, and then leaves to us. The same rules for memory as in http.h. */
#ifndef RTL_HTTP_STREAM_H
#define RTL_HTTP_STREAM_H

#include "http/http.h"

struct rtl_stream {
  struct rtl_transfer transfer; /* first */
  struct rtl_multi multi;
  uint64_t read_token, write_token; /* 0: inert. Connecting counts as reading */
  struct rtl_watch watch;
  struct rtl_http_hold hold;
  struct rtl_buffer out, later; /* out is being sent: TLS wants a retry with the same bytes at the
                                   same place, so what comes meanwhile goes to `later` */
  size_t sent;
  int connected;
  enum rtl_http_error error; /* the text is hold.message */
};

enum rtl_stream_result {
  RTL_STREAM_READY,
  RTL_STREAM_NOT_YET, /* the token will be posted */
  RTL_STREAM_END,     /* the other side closed in good order */
  RTL_STREAM_FAILED,  /* error and message say why */
};

/* Starts to connect. An error here is final too: the next call says FAILED. -1: no memory for that,
 * and the object is inert. */
int rtl_stream_open(struct rtl_stream *self, const struct rtl_http_route *route);
enum rtl_stream_result rtl_stream_connected(struct rtl_stream *self);

/* Reads up to `room` bytes, as soon as there are any. */
enum rtl_stream_result rtl_stream_read(struct rtl_stream *self, char *out, size_t room,
                                       size_t *got);

/* Takes bytes to be sent (copied). -1: no memory. */
int rtl_stream_write(struct rtl_stream *self, struct rtl_span bytes);

/* Sends; READY when nothing is left. */
enum rtl_stream_result rtl_stream_flush(struct rtl_stream *self);

/* Closes the connection and frees everything. Idempotent. */
void rtl_stream_close(struct rtl_stream *self);

#endif
