/* HTTP/1.1 requests and TLS byte streams on libcurl, in the event loop.
 *
 * An object (struct rtl_http, struct rtl_stream) is plain memory of the caller, zeroed before its
 * first use: zeroed means inert, and close makes it inert again. While it is open it must not
 * move. Nothing here calls back: the token is posted, the caller looks with rtl_http_next().
 *
 * All pointers in options are borrowed until the call returns, except where a comment says that
 * they are borrowed until close. */
#ifndef RTL_HTTP_HTTP_H
#define RTL_HTTP_HTTP_H

#include "http/buffer.h"
#include "http/multi.h"

/* Why a transfer failed; names for Lua in rtl_http_error_name(). */
enum rtl_http_error {
  RTL_HTTP_OK,
  RTL_HTTP_DNS,
  RTL_HTTP_CONNECT,
  RTL_HTTP_CERTIFICATE,
  RTL_HTTP_ROOTS, /* the CA certificates to trust can't be read */
  RTL_HTTP_TLS,
  RTL_HTTP_CONNECT_TIMEOUT,
  RTL_HTTP_IDLE,
  RTL_HTTP_TIMEOUT,
  RTL_HTTP_LOST,      /* the connection ended before the answer's head was complete */
  RTL_HTTP_CUT,       /* the answer's body ended early or is garbled */
  RTL_HTTP_NOT_HTTP,  /* or packed as nobody asked for */
  RTL_HTTP_TOO_LARGE,
  RTL_HTTP_PROXY,
  RTL_HTTP_PROXY_BUSY, /* it may take the tunnel later */
  RTL_HTTP_URL,
  RTL_HTTP_MEMORY,
};
const char *rtl_http_error_name(enum rtl_http_error error);

/* How to reach the other end; common to requests and streams. Texts are NUL-terminated; NULL: the
 * default. */
struct rtl_http_route {
  const char *url;
  const char *connect_to;  /* "::HOST:PORT": dial this instead of the URL's host */
  const char *proxy;       /* NULL: none; the environment is not looked at */
  const char *ca_file;
  struct rtl_span ca, cert; /* PEM; ca replaces every other root */
  struct rtl_span key;
  int insecure;
  int64_t connect_timeout_ns;
};

struct rtl_http_options {
  struct rtl_http_route route;
  const char *method;
  struct curl_slist *headers; /* borrowed until close */
  int has_body;
  int upload;                 /* the body comes by rtl_http_feed */
  struct rtl_span body;
  int copy_body;              /* else it is borrowed until close */
  int64_t length;             /* of an upload; -1: chunked */
  int once;                   /* never sent a second time */
  int gzip;                   /* ask for gzip and decode it */
  int entire;                 /* the answer is given when all of it is there */
  size_t max_headers, max_body; /* max_body 0: no limit */
  int64_t timeout_ns, idle_ns;  /* 0: none */
};

/* What libcurl borrows from the owner of a route: wiped and freed with it. */
struct rtl_http_hold {
  struct curl_slist *connect_to;
  struct rtl_buffer key;
  char message[CURL_ERROR_SIZE]; /* why it failed */
};

struct rtl_http {
  struct rtl_transfer transfer; /* first */
  uint64_t token;               /* 0: inert */
  struct rtl_timer timer;
  int64_t active_ns, deadline_ns, idle_ns;

  struct rtl_http_hold hold;
  struct rtl_span body;  /* what is still to be sent */
  struct rtl_span whole; /* the body from its start, for a repeat */
  struct rtl_buffer chunk;
  size_t chunk_sent;
  int upload, upload_ended, wants, asked; /* wants: libcurl waits for a chunk; asked: Lua knows */
  int once, attempts;
  int stale; /* the kept connection was no good: nothing was sent on it */

  struct rtl_buffer head; /* header lines of the answer, each ended by '\n' */
  size_t head_bytes, max_headers;
  int gzip, codings;      /* asked for; seen in the head */
  int entire, status, head_done, head_taken;
  struct rtl_buffer data;
  uint64_t received;
  size_t max_body;
  int paused;

  int done;
  enum rtl_http_error error, refusal; /* the text is hold.message */
};

/* What there is to take now. */
enum rtl_http_event {
  RTL_HTTP_NOTHING,
  RTL_HTTP_HEAD,   /* status and head are complete, if entire also data; given once */
  RTL_HTTP_DATA,   /* data is not empty; rtl_http_taken() when it was copied */
  RTL_HTTP_WANT,   /* the next chunk of the upload, by rtl_http_feed(); given once a chunk */
  RTL_HTTP_END,
  RTL_HTTP_FAILED, /* error and message say why */
};

/* Starts a request. An error here is final too: the object stays open, its next event FAILED. -1:
 * no memory for that, and the object is inert. */
int rtl_http_start(struct rtl_http *self, const struct rtl_http_options *options);
enum rtl_http_event rtl_http_next(struct rtl_http *self);
void rtl_http_taken(struct rtl_http *self);

/* Gives the next chunk of an upload (copied); size 0 ends it. -1: no memory. */
int rtl_http_feed(struct rtl_http *self, struct rtl_span chunk);

/* Stops at once, closes the connection if it is in use, frees everything. Idempotent. */
void rtl_http_close(struct rtl_http *self);

/* Where a URL leads; the port is the scheme's if it names none. -1: not a URL, or too long. */
struct rtl_http_origin {
  char scheme[16], host[256], port[8];
};
int rtl_http_origin(const char *url, struct rtl_http_origin *out);

/* ---- shared by http.c and stream.c ---- */

/* An easy handle for the multi with the route set, or NULL: no memory, or *refused says what
 * libcurl refused. */
CURL *rtl_http_easy(struct rtl_multi *multi, const struct rtl_http_route *route,
                    struct rtl_http_hold *hold, CURLcode *refused);
void rtl_http_let_go(struct rtl_http_hold *hold);
enum rtl_http_error rtl_http_error_of(CURL *easy, CURLcode code, int head_done, int sent);

/* Writes the reason into message, unless libcurl wrote one there. */
void rtl_http_describe(char *message, CURLcode code);

#endif
