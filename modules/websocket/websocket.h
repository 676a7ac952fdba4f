/* WebSocket frames (RFC 6455) without I/O, both roles, on wslay.
 *
 * Bytes that came in go through rtl_websocket_feed(), which makes events; what is to be sent is
 * queued by send and close, and by wslay itself (pongs, the answer to a close), and comes out of
 * rtl_websocket_output(). Masks are made of random bytes that the caller gives. */
#ifndef RTL_WEBSOCKET_H
#define RTL_WEBSOCKET_H

#include "http/buffer.h"

#include <stdint.h>
#include <wslay/wslay.h>

enum rtl_websocket_kind {
  RTL_WEBSOCKET_TEXT = 1,
  RTL_WEBSOCKET_BINARY = 2,
  RTL_WEBSOCKET_CLOSE = 8,
  RTL_WEBSOCKET_PING = 9,
  RTL_WEBSOCKET_PONG = 10,
};

/* One message from the other side. */
struct rtl_websocket_event {
  struct rtl_websocket_event *next;
  enum rtl_websocket_kind kind;
  int code; /* of a close; 0: it had none */
  size_t size;
  char bytes[];
};

enum rtl_websocket_error {
  RTL_WEBSOCKET_OK,
  RTL_WEBSOCKET_MEMORY,
  RTL_WEBSOCKET_PROTOCOL,
  RTL_WEBSOCKET_UTF8,
  RTL_WEBSOCKET_TOO_LARGE,
  RTL_WEBSOCKET_CLOSED, /* nothing more can be sent */
};

struct rtl_websocket {
  wslay_event_context_ptr context; /* NULL: inert; a zeroed struct is inert */
  int is_client;
  struct rtl_span in, masks;       /* borrowed during feed and output */
  struct rtl_buffer out;
  struct rtl_websocket_event *first, **last;
  int lacks_memory;
  int close_asked;
  uint16_t close_code;
  struct rtl_buffer close_reason;
};

/* Makes an inert codec live; it must not move until it is freed. */
enum rtl_websocket_error rtl_websocket_open(struct rtl_websocket *self, int is_client,
                                            uint64_t max_message);

/* Takes bytes from the other side (borrowed for the call): OK or MEMORY. For what the protocol
 * forbids a close frame is queued, and nothing more is read. */
enum rtl_websocket_error rtl_websocket_feed(struct rtl_websocket *self, struct rtl_span bytes);

/* Whether bytes were refused, and why: PROTOCOL, UTF8 or TOO_LARGE. Known when the close frame for
 * it was put out. */
enum rtl_websocket_error rtl_websocket_refusal(const struct rtl_websocket *self);

/* The oldest event, now the caller's to free(); NULL when there is none. */
struct rtl_websocket_event *rtl_websocket_next(struct rtl_websocket *self);

/* Queues a whole message or a ping (a copy). Pings and pongs hold 125 bytes at most: PROTOCOL. */
enum rtl_websocket_error rtl_websocket_send(struct rtl_websocket *self,
                                            enum rtl_websocket_kind kind, struct rtl_span bytes);

/* Queues a close after what is queued already. Code 0: none; the reason holds 123 bytes at most. */
enum rtl_websocket_error rtl_websocket_close(struct rtl_websocket *self, uint16_t code,
                                             struct rtl_span reason);

/* How many random bytes rtl_websocket_output needs now. */
size_t rtl_websocket_mask_bytes(const struct rtl_websocket *self);

/* Frames everything that is queued into self->out, which the caller empties. */
enum rtl_websocket_error rtl_websocket_output(struct rtl_websocket *self, struct rtl_span masks);

/* Whether close frames went both ways. */
int rtl_websocket_finished(const struct rtl_websocket *self);

void rtl_websocket_free(struct rtl_websocket *self); /* idempotent */

#endif
