/* Cuts the bodies of Kubernetes lists and watches into their items while they arrive, so that
 * memory holds one item and not the whole answer; and the frames of exec. No I/O, no Lua. */
#ifndef RTL_KUBE_H
#define RTL_KUBE_H

#include <stdbool.h>
#include <stddef.h>

enum rtl_kube_mode {
  RTL_KUBE_STREAM, /* JSON objects one behind another: a watch */
  RTL_KUBE_LIST,   /* one object; the elements of its top-level "items" are cut out */
};

enum rtl_kube_status {
  RTL_KUBE_OK,
  RTL_KUBE_MORE,      /* no whole item in what was fed so far */
  RTL_KUBE_NOT_JSON,  /* something else than an object where one must stand */
  RTL_KUBE_TOO_DEEP,  /* nested deeper than 256 */
  RTL_KUBE_TOO_LARGE, /* an item, or what stands around the items, is over the limit */
  RTL_KUBE_CUT,       /* the end came inside of an object */
  RTL_KUBE_NO_MEMORY,
};

struct rtl_kube_splitter;

/* A splitter whose items, and the text around them, may have `limit` bytes each. NULL: no
 * memory. */
struct rtl_kube_splitter *rtl_kube_splitter_new(enum rtl_kube_mode mode, size_t limit);
void rtl_kube_splitter_free(struct rtl_kube_splitter *s);

/* Takes in more of the body; `bytes` is copied. RTL_KUBE_OK or RTL_KUBE_NO_MEMORY. */
enum rtl_kube_status rtl_kube_splitter_feed(struct rtl_kube_splitter *s, const char *bytes,
                                            size_t size);

/* The next item: RTL_KUBE_OK sets *item and *size (borrowed until the next call on `s`);
 * RTL_KUBE_MORE asks for bytes; all else is the end of it, and comes again. */
enum rtl_kube_status rtl_kube_splitter_next(struct rtl_kube_splitter *s, const char **item,
                                            size_t *size);

/* Says that the body is over: RTL_KUBE_OK sets *rest and *size (borrowed) to the text of a list
 * without its items, or to nothing for a stream. */
enum rtl_kube_status rtl_kube_splitter_finish(struct rtl_kube_splitter *s, const char **rest,
                                              size_t *size);

/* What a status means, in words. Static text. */
const char *rtl_kube_status_text(enum rtl_kube_status status);

/* Channels of exec and attach: the first byte of each message. */
enum {
  RTL_KUBE_STDIN = 0,
  RTL_KUBE_STDOUT = 1,
  RTL_KUBE_STDERR = 2,
  RTL_KUBE_ERROR = 3,
  RTL_KUBE_RESIZE = 4,
  RTL_KUBE_CLOSE = 255, /* v5 only: the payload names the channel that is half-closed */
};

/* Whether a message is a frame; sets *channel, *payload and *size (borrowed from `message`). */
bool rtl_kube_unframe(const char *message, size_t length, int *channel, const char **payload,
                      size_t *size);

#endif
