#include "kube/kube.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 256 };

struct bytes {
  char *data;
  size_t size, capacity;
};

/* Where the splitter stands between two items. */
enum place {
  AROUND, /* a stream between objects; a list outside of its items */
  AMONG,  /* between the elements of "items" */
  BEHIND, /* a list's object is over */
};

struct rtl_kube_splitter {
  enum rtl_kube_mode mode;
  enum rtl_kube_status broken; /* RTL_KUBE_OK while all is well */
  enum place place;
  size_t limit;
  struct bytes body;           /* what was fed and is not given out yet */
  size_t scan;                 /* how far it was looked at */
  size_t start;                /* where the item began */
  bool in_item, in_string, escaped;
  int depth;
  struct bytes rest;           /* of a list: all but the items */
  size_t name;                 /* where the string at depth 1 began in `rest` */
  bool named, valued;          /* the string was "items"; its colon was seen */
};

static bool append(struct bytes *b, const char *data, size_t size)
{
  if (b->capacity - b->size < size) {
    size_t capacity = b->capacity ? b->capacity : 4096;
    while (capacity - b->size < size) {
      if (capacity > ((size_t)-1) / 2) return false;
      capacity *= 2;
    }
    char *grown = realloc(b->data, capacity);
    if (!grown) return false;
    b->data = grown;
    b->capacity = capacity;
  }
  if (size) memcpy(b->data + b->size, data, size);
  b->size += size;
  return true;
}

struct rtl_kube_splitter *rtl_kube_splitter_new(enum rtl_kube_mode mode, size_t limit)
{
  struct rtl_kube_splitter *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->mode = mode;
  s->limit = limit;
  return s;
}

void rtl_kube_splitter_free(struct rtl_kube_splitter *s)
{
  if (!s) return;
  free(s->body.data);
  free(s->rest.data);
  free(s);
}

/* Drops what was given out already. */
static void compact(struct rtl_kube_splitter *s)
{
  size_t used = s->in_item ? s->start : s->scan;
  if (!used) return;
  memmove(s->body.data, s->body.data + used, s->body.size - used);
  s->body.size -= used;
  s->scan -= used;
  s->start = s->in_item ? 0 : s->scan;
}

enum rtl_kube_status rtl_kube_splitter_feed(struct rtl_kube_splitter *s, const char *bytes,
                                            size_t size)
{
  compact(s);
  return append(&s->body, bytes, size) ? RTL_KUBE_OK : RTL_KUBE_NO_MEMORY;
}

static bool is_space(char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Follows strings; whether `c` belongs to one (its quotes included). */
static bool string_step(struct rtl_kube_splitter *s, char c)
{
  if (!s->in_string) {
    s->in_string = c == '"';
    return s->in_string;
  }
  if (s->escaped) s->escaped = false;
  else if (c == '\\') s->escaped = true;
  else if (c == '"') s->in_string = false;
  return true;
}

/* Follows brackets. */
static enum rtl_kube_status depth_step(struct rtl_kube_splitter *s, char c)
{
  if (c == '{' || c == '[') {
    if (++s->depth > MAX_DEPTH) return RTL_KUBE_TOO_DEEP;
  } else if (c == '}' || c == ']') {
    s->depth--;
  }
  return RTL_KUBE_OK;
}

static void begin_item(struct rtl_kube_splitter *s)
{
  s->in_item = true;
  s->start = s->scan - 1;
  s->depth = 1;
}

/* One byte inside of an item; RTL_KUBE_OK when the item is whole with it. */
static enum rtl_kube_status item_step(struct rtl_kube_splitter *s, char c)
{
  if (s->scan - s->start > s->limit) return RTL_KUBE_TOO_LARGE;
  if (string_step(s, c)) return RTL_KUBE_MORE;
  enum rtl_kube_status status = depth_step(s, c);
  if (status != RTL_KUBE_OK) return status;
  return s->depth == 0 ? RTL_KUBE_OK : RTL_KUBE_MORE;
}

static bool name_is_items(const struct rtl_kube_splitter *s)
{
  static const char name[] = "\"items\"";
  size_t length = sizeof name - 1;
  return s->rest.size - s->name == length && memcmp(s->rest.data + s->name, name, length) == 0;
}

/* The names and values of a list's own object. */
static void name_step(struct rtl_kube_splitter *s, char c)
{
  if (c == ':') s->valued = s->named;
  else if (!is_space(c)) s->named = s->valued = false;
}

/* One byte of a list outside of its items. */
static enum rtl_kube_status around_step(struct rtl_kube_splitter *s, char c)
{
  if (s->rest.size >= s->limit) return RTL_KUBE_TOO_LARGE;
  if (s->depth == 0 && c != '{') return is_space(c) ? RTL_KUBE_MORE : RTL_KUBE_NOT_JSON;
  bool was_string = s->in_string;
  if (!append(&s->rest, &c, 1)) return RTL_KUBE_NO_MEMORY;
  if (string_step(s, c)) {
    if (!was_string) s->name = s->rest.size - 1;
    s->named = !s->in_string && s->depth == 1 && name_is_items(s);
    return RTL_KUBE_MORE;
  }
  if (c == '[' && s->depth == 1 && s->valued) {
    s->place = AMONG;
    return RTL_KUBE_MORE;
  }
  if (s->depth == 1) name_step(s, c);
  enum rtl_kube_status status = depth_step(s, c);
  if (status != RTL_KUBE_OK) return status;
  if (s->depth == 0) s->place = BEHIND;
  return RTL_KUBE_MORE;
}

/* One byte between the elements of "items". */
static enum rtl_kube_status among_step(struct rtl_kube_splitter *s, char c)
{
  if (is_space(c) || c == ',') return RTL_KUBE_MORE;
  if (c == '{') {
    begin_item(s);
    return RTL_KUBE_MORE;
  }
  if (c != ']') return RTL_KUBE_NOT_JSON;
  s->place = AROUND;
  s->depth = 1;
  s->named = s->valued = false;
  return append(&s->rest, &c, 1) ? RTL_KUBE_MORE : RTL_KUBE_NO_MEMORY;
}

static enum rtl_kube_status stream_step(struct rtl_kube_splitter *s, char c)
{
  if (is_space(c)) return RTL_KUBE_MORE;
  if (c != '{') return RTL_KUBE_NOT_JSON;
  begin_item(s);
  return RTL_KUBE_MORE;
}

static enum rtl_kube_status step(struct rtl_kube_splitter *s, char c)
{
  if (s->in_item) return item_step(s, c);
  if (s->mode == RTL_KUBE_STREAM) return stream_step(s, c);
  if (s->place == AMONG) return among_step(s, c);
  if (s->place == AROUND) return around_step(s, c);
  return is_space(c) ? RTL_KUBE_MORE : RTL_KUBE_NOT_JSON;
}

enum rtl_kube_status rtl_kube_splitter_next(struct rtl_kube_splitter *s, const char **item,
                                            size_t *size)
{
  if (s->broken != RTL_KUBE_OK) return s->broken;
  while (s->scan < s->body.size) {
    enum rtl_kube_status status = step(s, s->body.data[s->scan++]);
    if (status == RTL_KUBE_OK) {
      s->in_item = false;
      *item = s->body.data + s->start;
      *size = s->scan - s->start;
      return RTL_KUBE_OK;
    }
    if (status != RTL_KUBE_MORE) return s->broken = status;
  }
  return RTL_KUBE_MORE;
}

enum rtl_kube_status rtl_kube_splitter_finish(struct rtl_kube_splitter *s, const char **rest,
                                              size_t *size)
{
  if (s->broken != RTL_KUBE_OK) return s->broken;
  if (s->in_item || (s->mode == RTL_KUBE_LIST && s->place != BEHIND)) return RTL_KUBE_CUT;
  *rest = s->rest.data ? s->rest.data : "";
  *size = s->rest.size;
  return RTL_KUBE_OK;
}

const char *rtl_kube_status_text(enum rtl_kube_status status)
{
  static const char *const texts[] = {
    [RTL_KUBE_OK] = "whole",
    [RTL_KUBE_MORE] = "more bytes are needed",
    [RTL_KUBE_NOT_JSON] = "not a JSON object where one must stand",
    [RTL_KUBE_TOO_DEEP] = "nested too deeply",
    [RTL_KUBE_TOO_LARGE] = "an item is too large",
    [RTL_KUBE_CUT] = "the body was cut short",
    [RTL_KUBE_NO_MEMORY] = "not enough memory",
  };
  return texts[status];
}

bool rtl_kube_unframe(const char *message, size_t length, int *channel, const char **payload,
                      size_t *size)
{
  if (length == 0) return false;
  *channel = (unsigned char)message[0];
  *payload = message + 1;
  *size = length - 1;
  return true;
}
