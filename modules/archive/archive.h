/* tar by libarchive, gzip by zlib (libarchive's gzip reader does not check the checksum), both as
 * streams, with hostile names and bombs refused. Pure C. */
#ifndef RTL_ARCHIVE_H
#define RTL_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

enum archive_fault { ARC_NONE, ARC_UNREADABLE, ARC_HOSTILE, ARC_TOO_LARGE };

struct archive_error {
  enum archive_fault fault;
  char message[300];
};

/* What unpacking may cost. */
struct archive_limits {
  uint64_t bytes;   /* unpacked, in all */
  uint64_t entries;
  uint64_t ratio;   /* unpacked to packed, looked at beyond the first MiB */
};

/* gzip of the whole text. Both return malloc'ed bytes, given to the caller; NULL with `error`. */
char *gzip_pack(const char *bytes, size_t size, int level, size_t *out_size,
                struct archive_error *error);
char *gzip_unpack(const char *bytes, size_t size, const struct archive_limits *limits,
                  size_t *out_size, struct archive_error *error);

/* A gzip or plain source that is read in pieces; checks limits and checksums. */
struct gzip_source; /* memory: borrowed until it is freed */
struct gzip_source *gzip_source_memory(const char *bytes, size_t size,
                                       const struct archive_limits *limits);
struct gzip_source *gzip_source_file(const char *path, const struct archive_limits *limits,
                                     struct archive_error *error);
void gzip_source_free(struct gzip_source *source); /* takes; NULL is fine */

/* The next piece, borrowed until the next call; its size, 0 at the end, -1 with `error`. */
int64_t gzip_source_read(struct gzip_source *source, const void **piece,
                         struct archive_error *error);

/* A gzip stream that is written in pieces: append calls `write` with what is packed; 0 on
 * failure. */
struct gzip_sink;
typedef int gzip_write(void *data, const char *bytes, size_t size);
struct gzip_sink *gzip_sink_new(int level, gzip_write *write, void *data);
int gzip_sink_append(struct gzip_sink *sink, const char *bytes, size_t size, int last);
void gzip_sink_free(struct gzip_sink *sink); /* takes; NULL is fine */

enum tar_kind { TAR_FILE, TAR_DIRECTORY, TAR_SYMLINK, TAR_HARDLINK };

struct tar_entry {
  const char *name, *target; /* target: of links, else NULL */
  enum tar_kind kind;
  int64_t size, mtime;
  unsigned mode;
};

/* NULL, or why an entry must not be unpacked (static text): its name or its link leads out of the
 * tree. Links seen before are judged by the reader. */
const char *tar_refusal(const struct tar_entry *entry);

struct tar_reader;
/* `source` is taken, also on failure (NULL). */
struct tar_reader *tar_reader_new(struct gzip_source *source, const struct archive_limits *limits,
                                  struct archive_error *error);
void tar_reader_free(struct tar_reader *reader); /* takes; NULL is fine */

/* The next entry, its texts borrowed until the next call: 1, 0 at the end, -1 with `error`. */
int tar_reader_next(struct tar_reader *reader, struct tar_entry *entry,
                    struct archive_error *error);

/* Bytes of the current entry, into `out`: how many, 0 at its end, -1 with `error`. */
int64_t tar_reader_read(struct tar_reader *reader, void *out, size_t size,
                        struct archive_error *error);

struct tar_writer;
struct tar_writer *tar_writer_new(int gzip, int level); /* NULL when out of memory */
void tar_writer_free(struct tar_writer *writer);        /* takes; NULL is fine */

/* 1, or 0 with `error`. An entry's bytes follow it, exactly as many as its size says. */
int tar_writer_entry(struct tar_writer *writer, const struct tar_entry *entry,
                     struct archive_error *error);
int tar_writer_write(struct tar_writer *writer, const void *bytes, size_t size,
                     struct archive_error *error);
int tar_writer_finish(struct tar_writer *writer, struct archive_error *error);

/* What was made since the last tar_writer_drop; borrowed until the next call. */
const char *tar_writer_output(const struct tar_writer *writer, size_t *size);
void tar_writer_drop(struct tar_writer *writer);

#endif
