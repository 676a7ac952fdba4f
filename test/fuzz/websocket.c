/* libFuzzer target of the WebSocket codec: any bytes, cut anywhere, in both roles.
 * Sources: modules/websocket/websocket.c modules/http/buffer.c modules/secret/secret.c -lwslay */
#include "websocket/websocket.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void drop_events(struct rtl_websocket *codec) {
  for (struct rtl_websocket_event *event; (event = rtl_websocket_next(codec)) != NULL;) {
    if (event->size > 4096) {
      abort(); /* above the limit that was set */
    }
    free(event);
  }
}

/* The codec's own answers must be readable by the other role, but that wslay gives back a close's
 * reason that is no UTF-8 where it came in pieces. The peer's refusal says why once it is sent. */
static void answer(struct rtl_websocket *codec, struct rtl_websocket *peer) {
  static const char zeros[1 << 16];
  size_t needed = rtl_websocket_mask_bytes(codec);
  if (needed > sizeof zeros) {
    return;
  }
  rtl_websocket_output(codec, (struct rtl_span){zeros, needed});
  rtl_websocket_feed(peer, (struct rtl_span){codec->out.bytes, codec->out.size});
  rtl_websocket_output(peer, (struct rtl_span){zeros, sizeof zeros});
  if (rtl_websocket_refusal(peer) == RTL_WEBSOCKET_PROTOCOL) {
    abort();
  }
  drop_events(peer);
  codec->out.size = peer->out.size = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct rtl_websocket codec = {0};
  struct rtl_websocket peer = {0};
  if (size < 2) {
    return 0;
  }
  size_t step = bytes[0] % 32 + 1;
  int is_client = bytes[1] & 1;
  rtl_websocket_open(&codec, is_client, 4096);
  rtl_websocket_open(&peer, !is_client, 1 << 20);
  for (size_t at = 2; at < size; at += step) {
    size_t part = size - at < step ? size - at : step;
    rtl_websocket_feed(&codec, (struct rtl_span){(const char *)bytes + at, part});
    drop_events(&codec);
    answer(&codec, &peer);
  }
  rtl_websocket_free(&codec);
  rtl_websocket_free(&peer);
  return 0;
}
