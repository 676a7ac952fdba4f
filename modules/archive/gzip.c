/* gzip on zlib. */
#include "archive/archive.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PIECE = 1 << 16, GZIP = 15 + 16, RATIO_FROM = 1 << 20 };

struct gzip_source {
  const char *bytes; /* of memory, what is left */
  size_t size;
  FILE *file; /* or a file */
  struct archive_limits limits;
  uint64_t packed, unpacked;
  z_stream zlib;
  int inflating, started, ended;
  unsigned char in[PIECE], out[PIECE];
};

static int fail(struct archive_error *error, enum archive_fault fault, const char *message) {
  error->fault = fault;
  snprintf(error->message, sizeof error->message, "%s", message);
  return -1;
}

static struct gzip_source *new_source(const struct archive_limits *limits) {
  struct gzip_source *source = calloc(1, sizeof *source);
  if (source != NULL) {
    source->limits = *limits;
  }
  return source;
}

struct gzip_source *gzip_source_memory(const char *bytes, size_t size,
                                       const struct archive_limits *limits) {
  struct gzip_source *source = new_source(limits);
  if (source != NULL) {
    source->bytes = bytes;
    source->size = size;
  }
  return source;
}

struct gzip_source *gzip_source_file(const char *path, const struct archive_limits *limits,
                                     struct archive_error *error) {
  struct gzip_source *source = new_source(limits);
  if (source == NULL) {
    fail(error, ARC_UNREADABLE, "not enough memory");
    return NULL;
  }
  source->file = fopen(path, "rbe");
  if (source->file == NULL) {
    error->fault = ARC_UNREADABLE;
    snprintf(error->message, sizeof error->message, "%.200s: %s", path, strerror(errno));
    gzip_source_free(source);
    return NULL;
  }
  return source;
}

void gzip_source_free(struct gzip_source *source) {
  if (source != NULL) {
    if (source->inflating) {
      inflateEnd(&source->zlib);
    }
    if (source->file != NULL) {
      fclose(source->file);
    }
    free(source);
  }
}

/* The next packed bytes, as they are. 0 at the end, -1 on failure. */
static int64_t fill(struct gzip_source *s, const unsigned char **piece,
                    struct archive_error *error) {
  size_t size;
  if (s->file != NULL) {
    size = fread(s->in, 1, PIECE, s->file);
    if (size == 0 && ferror(s->file)) {
      return fail(error, ARC_UNREADABLE, strerror(errno));
    }
    *piece = s->in;
  } else {
    size = s->size < PIECE ? s->size : PIECE;
    *piece = (const unsigned char *)s->bytes;
    s->bytes = size > 0 ? s->bytes + size : s->bytes;
    s->size -= size;
  }
  s->packed += size;
  return (int64_t)size;
}

static int check_limits(const struct gzip_source *s, struct archive_error *error) {
  if (s->unpacked > s->limits.bytes) {
    error->fault = ARC_TOO_LARGE;
    snprintf(error->message, sizeof error->message, "unpacks to more than max_bytes = %llu",
             (unsigned long long)s->limits.bytes);
    return -1;
  }
  if (s->inflating && s->unpacked > RATIO_FROM && s->unpacked / s->limits.ratio > s->packed) {
    error->fault = ARC_TOO_LARGE;
    snprintf(error->message, sizeof error->message,
             "unpacks to more than max_ratio = %llu times its size",
             (unsigned long long)s->limits.ratio);
    return -1;
  }
  return 0;
}

/* One step of zlib, with input from the source: its status, or Z_ERRNO with `error`. */
static int inflate_some(struct gzip_source *s, struct archive_error *error) {
  if (s->zlib.avail_in == 0) {
    const unsigned char *piece = NULL;
    int64_t size = fill(s, &piece, error);
    if (size < 0) {
      return Z_ERRNO;
    }
    s->zlib.next_in = (z_const unsigned char *)(uintptr_t)piece;
    s->zlib.avail_in = (unsigned)size;
  }
  return inflate(&s->zlib, Z_NO_FLUSH);
}

/* Behind a member's end: another one, or the end of all. */
static int next_member(struct gzip_source *s, struct archive_error *error) {
  if (s->zlib.avail_in == 0) {
    const unsigned char *piece = NULL;
    int64_t size = fill(s, &piece, error);
    if (size <= 0) {
      s->ended = 1;
      return (int)size;
    }
    s->zlib.next_in = (z_const unsigned char *)(uintptr_t)piece;
    s->zlib.avail_in = (unsigned)size;
  }
  if (*s->zlib.next_in != 0x1F) {
    s->ended = 1; /* padding behind the stream, as gzip itself ignores it */
    return 0;
  }
  return inflateReset(&s->zlib) == Z_OK ? 0 : fail(error, ARC_UNREADABLE, "not gzip");
}

static int64_t read_inflated(struct gzip_source *s, const void **piece,
                             struct archive_error *error) {
  s->zlib.next_out = s->out;
  s->zlib.avail_out = PIECE;
  while (s->zlib.avail_out == PIECE && !s->ended) {
    int status = inflate_some(s, error);
    if (status == Z_ERRNO) {
      return -1;
    }
    if (status == Z_BUF_ERROR) {
      return fail(error, ARC_UNREADABLE, "gzip stream is cut short");
    }
    if (status != Z_OK && status != Z_STREAM_END) {
      const char *why = s->zlib.msg != NULL ? s->zlib.msg : "gzip stream is broken";
      return fail(error, ARC_UNREADABLE, why);
    }
    if (status == Z_STREAM_END && next_member(s, error) < 0) {
      return -1;
    }
  }
  *piece = s->out;
  s->unpacked += PIECE - s->zlib.avail_out;
  return check_limits(s, error) < 0 ? -1 : (int64_t)(PIECE - s->zlib.avail_out);
}

/* Looks at the first bytes: gzip or not. */
static int64_t start(struct gzip_source *s, const void **piece, struct archive_error *error) {
  const unsigned char *first = NULL;
  int64_t size = fill(s, &first, error);
  s->started = 1;
  if (size < 2 || first[0] != 0x1F || first[1] != 0x8B) {
    *piece = first;
    s->unpacked += size > 0 ? (uint64_t)size : 0;
    return size;
  }
  if (inflateInit2(&s->zlib, GZIP) != Z_OK) {
    return fail(error, ARC_UNREADABLE, "not enough memory");
  }
  s->inflating = 1;
  s->zlib.next_in = (z_const unsigned char *)(uintptr_t)first;
  s->zlib.avail_in = (unsigned)size;
  return read_inflated(s, piece, error);
}

int64_t gzip_source_read(struct gzip_source *s, const void **piece, struct archive_error *error) {
  if (!s->started) {
    return start(s, piece, error);
  }
  if (s->inflating) {
    return s->ended ? 0 : read_inflated(s, piece, error);
  }
  const unsigned char *bytes = NULL;
  int64_t size = fill(s, &bytes, error);
  *piece = bytes;
  s->unpacked += size > 0 ? (uint64_t)size : 0;
  return size < 0 || check_limits(s, error) < 0 ? -1 : size;
}

/* Appends to malloc'ed bytes; 0 when out of memory. */
struct growing {
  char *bytes;
  size_t size, capacity;
};

static int grow(void *data, const char *bytes, size_t size) {
  struct growing *g = data;
  if (size > g->capacity - g->size) {
    size_t capacity = g->capacity * 2 + size;
    char *grown = realloc(g->bytes, capacity);
    if (grown == NULL) {
      return 0;
    }
    g->bytes = grown;
    g->capacity = capacity;
  }
  memcpy(g->bytes + g->size, bytes, size);
  g->size += size;
  return 1;
}

/* 1 when all was read into `out`. */
static int unpack_all(struct gzip_source *source, struct growing *out,
                      struct archive_error *error) {
  const void *piece = NULL;
  int64_t size;
  while ((size = gzip_source_read(source, &piece, error)) > 0) {
    if (!source->inflating) {
      break;
    }
    if (!grow(out, piece, (size_t)size)) {
      fail(error, ARC_UNREADABLE, "not enough memory");
      return 0;
    }
  }
  if (size >= 0 && !source->inflating) {
    size = fail(error, ARC_UNREADABLE, "not gzip");
  }
  return size == 0;
}

char *gzip_unpack(const char *bytes, size_t size, const struct archive_limits *limits,
                  size_t *out_size, struct archive_error *error) {
  struct growing out = {malloc(1), 0, 1};
  struct gzip_source *source = gzip_source_memory(bytes, size, limits);
  int done = 0;
  if (source == NULL || out.bytes == NULL) {
    fail(error, ARC_UNREADABLE, "not enough memory");
  } else {
    done = unpack_all(source, &out, error);
  }
  gzip_source_free(source);
  if (!done) {
    free(out.bytes);
    return NULL;
  }
  *out_size = out.size;
  return out.bytes;
}

struct gzip_sink {
  z_stream zlib;
  gzip_write *write;
  void *data;
  unsigned char out[PIECE];
};

struct gzip_sink *gzip_sink_new(int level, gzip_write *write, void *data) {
  struct gzip_sink *sink = calloc(1, sizeof *sink);
  if (sink != NULL &&
      deflateInit2(&sink->zlib, level, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    free(sink);
    return NULL;
  }
  if (sink != NULL) {
    sink->write = write;
    sink->data = data;
  }
  return sink;
}

void gzip_sink_free(struct gzip_sink *sink) {
  if (sink != NULL) {
    deflateEnd(&sink->zlib);
    free(sink);
  }
}

/* Runs zlib until it has room left, which means that it took all its input. */
static int deflate_some(struct gzip_sink *sink, int flush) {
  do {
    sink->zlib.next_out = sink->out;
    sink->zlib.avail_out = PIECE;
    if (deflate(&sink->zlib, flush) == Z_STREAM_ERROR ||
        !sink->write(sink->data, (const char *)sink->out, PIECE - sink->zlib.avail_out)) {
      return 0;
    }
  } while (sink->zlib.avail_out == 0);
  return 1;
}

int gzip_sink_append(struct gzip_sink *sink, const char *bytes, size_t size, int last) {
  do {
    size_t part = size < INT_MAX ? size : INT_MAX;
    sink->zlib.next_in = (z_const unsigned char *)(uintptr_t)bytes;
    sink->zlib.avail_in = (unsigned)part;
    bytes = size > 0 ? bytes + part : bytes;
    size -= part;
    if (!deflate_some(sink, last && size == 0 ? Z_FINISH : Z_NO_FLUSH)) {
      return 0;
    }
  } while (size > 0);
  return 1;
}

char *gzip_pack(const char *bytes, size_t size, int level, size_t *out_size,
                struct archive_error *error) {
  struct growing out = {NULL, 0, 0};
  struct gzip_sink *sink = gzip_sink_new(level, grow, &out);
  int done = sink != NULL && gzip_sink_append(sink, bytes, size, 1);
  gzip_sink_free(sink);
  if (!done) {
    free(out.bytes);
    fail(error, ARC_UNREADABLE, "not enough memory");
    return NULL;
  }
  *out_size = out.size;
  return out.bytes;
}
