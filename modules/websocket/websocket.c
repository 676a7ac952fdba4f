#include "websocket/websocket.h"

#include "secret/secret.h"

#include <stdlib.h>
#include <string.h>

enum { MASK = 4, CONTROL_MAX = 125 };

/* ---- wslay's callbacks ---- */

static ssize_t on_recv(wslay_event_context_ptr context, uint8_t *out, size_t room, int flags,
                       void *data) {
  struct rtl_websocket *self = data;
  size_t size = self->in.size < room ? self->in.size : room;
  (void)flags;
  if (size == 0) {
    wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
    return -1;
  }
  memcpy(out, self->in.bytes, size);
  self->in.bytes += size;
  self->in.size -= size;
  return (ssize_t)size;
}

static ssize_t on_send(wslay_event_context_ptr context, const uint8_t *bytes, size_t size,
                       int flags, void *data) {
  struct rtl_websocket *self = data;
  (void)flags;
  if (rtl_buffer_add(&self->out, (const char *)bytes, size) != 0) {
    self->lacks_memory = 1;
    wslay_event_set_error(context, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
  }
  return (ssize_t)size;
}

static int on_mask(wslay_event_context_ptr context, uint8_t *out, size_t size, void *data) {
  struct rtl_websocket *self = data;
  if (self->masks.size < size) {
    wslay_event_set_error(context, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
  }
  memcpy(out, self->masks.bytes, size);
  self->masks.bytes += size;
  self->masks.size -= size;
  return 0;
}

static void on_message(wslay_event_context_ptr context,
                       const struct wslay_event_on_msg_recv_arg *message, void *data) {
  struct rtl_websocket *self = data;
  size_t skip = message->opcode == WSLAY_CONNECTION_CLOSE && message->msg_length >= 2 ? 2 : 0;
  struct rtl_websocket_event *event = malloc(sizeof *event + message->msg_length - skip);
  (void)context;
  if (event == NULL) {
    self->lacks_memory = 1;
    return;
  }
  event->next = NULL;
  event->kind = (enum rtl_websocket_kind)message->opcode;
  event->code = message->status_code;
  event->size = message->msg_length - skip;
  if (event->size > 0) {
    memcpy(event->bytes, message->msg + skip, event->size);
  }
  *self->last = event;
  self->last = &event->next;
}

/* ---- the codec ---- */

enum rtl_websocket_error rtl_websocket_open(struct rtl_websocket *self, int is_client,
                                            uint64_t max_message) {
  static const struct wslay_event_callbacks callbacks = {
      .recv_callback = on_recv,
      .send_callback = on_send,
      .genmask_callback = on_mask,
      .on_msg_recv_callback = on_message,
  };
  *self = (struct rtl_websocket){.is_client = is_client};
  self->last = &self->first;
  int result = is_client ? wslay_event_context_client_init(&self->context, &callbacks, self)
                         : wslay_event_context_server_init(&self->context, &callbacks, self);
  if (result != 0) {
    self->context = NULL;
    return RTL_WEBSOCKET_MEMORY;
  }
  wslay_event_config_set_max_recv_msg_length(self->context, max_message);
  return RTL_WEBSOCKET_OK;
}

/* wslay answers what it refuses with a close frame of its own; its code says what was wrong. */
enum rtl_websocket_error rtl_websocket_refusal(const struct rtl_websocket *self) {
  if (wslay_event_get_read_enabled(self->context) ||
      wslay_event_get_close_received(self->context)) {
    return RTL_WEBSOCKET_OK;
  }
  switch (wslay_event_get_status_code_sent(self->context)) {
    case WSLAY_CODE_INVALID_FRAME_PAYLOAD_DATA: return RTL_WEBSOCKET_UTF8;
    case WSLAY_CODE_MESSAGE_TOO_BIG: return RTL_WEBSOCKET_TOO_LARGE;
    default: return RTL_WEBSOCKET_PROTOCOL;
  }
}

enum rtl_websocket_error rtl_websocket_feed(struct rtl_websocket *self, struct rtl_span bytes) {
  self->in = bytes;
  int result = 0;
  while (result == 0 && self->in.size > 0 && wslay_event_get_read_enabled(self->context)) {
    result = wslay_event_recv(self->context);
  }
  self->in = (struct rtl_span){NULL, 0};
  return self->lacks_memory || result == WSLAY_ERR_NOMEM ? RTL_WEBSOCKET_MEMORY : RTL_WEBSOCKET_OK;
}

struct rtl_websocket_event *rtl_websocket_next(struct rtl_websocket *self) {
  struct rtl_websocket_event *event = self->first;
  if (event != NULL) {
    self->first = event->next;
    if (self->first == NULL) {
      self->last = &self->first;
    }
  }
  return event;
}

static enum rtl_websocket_error queued(int result) {
  switch (result) {
    case 0: return RTL_WEBSOCKET_OK;
    case WSLAY_ERR_NOMEM: return RTL_WEBSOCKET_MEMORY;
    case WSLAY_ERR_NO_MORE_MSG: return RTL_WEBSOCKET_CLOSED;
    default: return RTL_WEBSOCKET_PROTOCOL;
  }
}

enum rtl_websocket_error rtl_websocket_send(struct rtl_websocket *self,
                                            enum rtl_websocket_kind kind, struct rtl_span bytes) {
  if (kind >= RTL_WEBSOCKET_CLOSE && bytes.size > CONTROL_MAX) {
    return RTL_WEBSOCKET_PROTOCOL;
  }
  if (self->close_asked) {
    return RTL_WEBSOCKET_CLOSED;
  }
  struct wslay_event_msg message = {(uint8_t)kind, (const uint8_t *)bytes.bytes, bytes.size};
  return queued(wslay_event_queue_msg(self->context, &message));
}

enum rtl_websocket_error rtl_websocket_close(struct rtl_websocket *self, uint16_t code,
                                             struct rtl_span reason) {
  if (self->close_asked || wslay_event_get_close_sent(self->context)) {
    return RTL_WEBSOCKET_CLOSED;
  }
  if (reason.size > CONTROL_MAX - 2) {
    return RTL_WEBSOCKET_PROTOCOL;
  }
  if (rtl_buffer_add(&self->close_reason, reason.bytes, reason.size) != 0) {
    return RTL_WEBSOCKET_MEMORY;
  }
  self->close_asked = 1;
  self->close_code = code;
  return RTL_WEBSOCKET_OK;
}

static int close_waits(const struct rtl_websocket *self) {
  return self->close_asked && wslay_event_get_write_enabled(self->context) &&
         !wslay_event_get_close_sent(self->context);
}

size_t rtl_websocket_mask_bytes(const struct rtl_websocket *self) {
  if (!self->is_client) {
    return 0;
  }
  return MASK * (wslay_event_get_queued_msg_count(self->context) + (close_waits(self) ? 1 : 0));
}

/* A close that is queued beside data would overtake it, so it comes when the queue is empty. */
enum rtl_websocket_error rtl_websocket_output(struct rtl_websocket *self, struct rtl_span masks) {
  self->masks = masks;
  int result = wslay_event_send(self->context);
  if (result == 0 && close_waits(self)) {
    result = wslay_event_queue_close(self->context, self->close_code,
                                     (const uint8_t *)self->close_reason.bytes,
                                     self->close_code == 0 ? 0 : self->close_reason.size);
    result = result == 0 ? wslay_event_send(self->context) : result;
  }
  self->masks = (struct rtl_span){NULL, 0};
  return self->lacks_memory ? RTL_WEBSOCKET_MEMORY : queued(result);
}

int rtl_websocket_finished(const struct rtl_websocket *self) {
  return wslay_event_get_close_received(self->context) &&
         wslay_event_get_close_sent(self->context);
}

void rtl_websocket_free(struct rtl_websocket *self) {
  if (self->context == NULL) {
    return;
  }
  wslay_event_context_free(self->context);
  for (struct rtl_websocket_event *event; (event = rtl_websocket_next(self)) != NULL;) {
    rtl_wipe(event->bytes, event->size);
    free(event);
  }
  rtl_buffer_free(&self->out);
  rtl_buffer_free(&self->close_reason);
  *self = (struct rtl_websocket){0};
}
