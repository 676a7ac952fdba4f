/* tar on libarchive. */
#include "archive/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINKS = 4096 };

/* libarchive's writers call this helper, whose object file would pull in every write format there
 * is; with it here, only tar comes in. */
void __archive_write_entry_filetype_unsupported(struct archive *a, struct archive_entry *entry,
                                                const char *format);

void __archive_write_entry_filetype_unsupported(struct archive *a, struct archive_entry *entry,
                                                const char *format) {
  (void)entry;
  archive_set_error(a, EINVAL, "%s can't hold an entry of this kind", format);
}

struct tar_reader {
  struct archive *archive;
  struct gzip_source *source;
  struct archive_limits limits;
  struct archive_error error; /* of the source */
  uint64_t entries;
  char *links[MAX_LINKS]; /* names of the symbolic links seen */
  size_t link_count;
};

static int fail(struct archive_error *error, enum archive_fault fault, const char *message) {
  error->fault = fault;
  snprintf(error->message, sizeof error->message, "%s", message);
  return -1;
}

static ssize_t on_read(struct archive *a, void *data, const void **piece) {
  struct tar_reader *r = data;
  int64_t size = gzip_source_read(r->source, piece, &r->error);
  if (size < 0) {
    archive_set_error(a, EIO, "%s", r->error.message);
    return -1;
  }
  return (ssize_t)size;
}

/* The source's own failure, else what libarchive says. Returns -1. */
static int failed(struct tar_reader *r, struct archive_error *error) {
  if (r->error.fault != ARC_NONE) {
    *error = r->error;
    return -1;
  }
  const char *text = archive_error_string(r->archive);
  return fail(error, ARC_UNREADABLE, text != NULL ? text : "archive can't be read");
}

struct tar_reader *tar_reader_new(struct gzip_source *source, const struct archive_limits *limits,
                                  struct archive_error *error) {
  struct tar_reader *r = calloc(1, sizeof *r);
  if (r == NULL || (r->archive = archive_read_new()) == NULL) {
    free(r);
    gzip_source_free(source);
    fail(error, ARC_UNREADABLE, "not enough memory");
    return NULL;
  }
  r->source = source;
  r->limits = *limits;
  archive_read_support_format_tar(r->archive);
  if (archive_read_open(r->archive, r, NULL, on_read, NULL) != ARCHIVE_OK) {
    failed(r, error);
    tar_reader_free(r);
    return NULL;
  }
  return r;
}

void tar_reader_free(struct tar_reader *r) {
  if (r != NULL) {
    archive_read_free(r->archive);
    gzip_source_free(r->source);
    for (size_t i = 0; i < r->link_count; i++) {
      free(r->links[i]);
    }
    free(r);
  }
}

/* Reads what follows the last entry, so that a gzip stream's checksum is looked at. */
static int drain(struct tar_reader *r, struct archive_error *error) {
  const void *piece;
  int64_t size;
  while ((size = gzip_source_read(r->source, &piece, error)) > 0) {
  }
  return (int)size;
}

/* Whether `name` lies below the symbolic link `link`. */
static int lies_below(const char *name, const char *link) {
  size_t size = strlen(link);
  return strncmp(name, link, size) == 0 && name[size] == '/';
}

static const char *link_refusal(struct tar_reader *r, const struct tar_entry *e) {
  for (size_t i = 0; i < r->link_count; i++) {
    if (lies_below(e->name, r->links[i]) ||
        (e->kind == TAR_HARDLINK && lies_below(e->target, r->links[i]))) {
      return "lies behind a symbolic link of the archive";
    }
  }
  if (e->kind != TAR_SYMLINK) {
    return NULL;
  }
  if (r->link_count == MAX_LINKS) {
    return "is one symbolic link too many";
  }
  const char *name = strncmp(e->name, "./", 2) == 0 ? e->name + 2 : e->name;
  char *copy = strdup(name);
  if (copy == NULL) {
    return "needs more memory than there is";
  }
  for (size_t end = strlen(copy); end > 0 && copy[end - 1] == '/'; end--) {
    copy[end - 1] = '\0';
  }
  r->links[r->link_count++] = copy;
  return NULL;
}

static int hostile(struct archive_error *error, const char *name, const char *why) {
  error->fault = ARC_HOSTILE;
  snprintf(error->message, sizeof error->message, "entry '%.150s' %s", name, why);
  return -1;
}

static int is_known_kind(struct archive_entry *from, struct tar_entry *to) {
  to->target = archive_entry_hardlink(from);
  if (to->target != NULL) {
    to->kind = TAR_HARDLINK;
    return 1;
  }
  switch (archive_entry_filetype(from)) {
    case AE_IFREG: to->kind = TAR_FILE; return 1;
    case AE_IFDIR: to->kind = TAR_DIRECTORY; return 1;
    case AE_IFLNK:
      to->kind = TAR_SYMLINK;
      to->target = archive_entry_symlink(from);
      return to->target != NULL;
    default: return 0;
  }
}

static int check_entry(struct tar_reader *r, struct archive_entry *from, struct tar_entry *to,
                       struct archive_error *error) {
  to->name = archive_entry_pathname(from);
  if (to->name == NULL) {
    return fail(error, ARC_UNREADABLE, "an entry's name can't be read");
  }
  if (!is_known_kind(from, to)) {
    return hostile(error, to->name, "is a device, a pipe or a socket");
  }
  while (strncmp(to->name, "./", 2) == 0 && to->name[2] != '\0') {
    to->name += 2;
  }
  const char *why = tar_refusal(to);
  if (why == NULL) {
    why = link_refusal(r, to);
  }
  if (why != NULL) {
    return hostile(error, to->name, why);
  }
  to->size = to->kind == TAR_FILE ? archive_entry_size(from) : 0;
  to->mtime = archive_entry_mtime(from);
  to->mode = (unsigned)archive_entry_perm(from) & 0777;
  if ((uint64_t)to->size > r->limits.bytes || ++r->entries > r->limits.entries) {
    return fail(error, ARC_TOO_LARGE, r->entries > r->limits.entries
                                          ? "holds more than max_entries entries"
                                          : "holds an entry larger than max_bytes");
  }
  return 1;
}

int tar_reader_next(struct tar_reader *r, struct tar_entry *entry, struct archive_error *error) {
  struct archive_entry *from;
  int status = archive_read_next_header(r->archive, &from);
  if (status == ARCHIVE_EOF) {
    return drain(r, error);
  }
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
    return failed(r, error);
  }
  return check_entry(r, from, entry, error);
}

int64_t tar_reader_read(struct tar_reader *r, void *out, size_t size,
                        struct archive_error *error) {
  la_ssize_t got = archive_read_data(r->archive, out, size);
  return got < 0 ? failed(r, error) : (int64_t)got;
}

struct tar_writer {
  struct archive *archive;
  struct gzip_sink *sink; /* NULL: plain tar */
  char *output;
  size_t size, capacity;
  int64_t missing; /* bytes that the current entry still lacks */
};

static int keep_output(void *data, const char *bytes, size_t size) {
  struct tar_writer *w = data;
  if (size > w->capacity - w->size) {
    size_t capacity = w->capacity * 2 + size;
    char *grown = realloc(w->output, capacity);
    if (grown == NULL) {
      return 0;
    }
    w->output = grown;
    w->capacity = capacity;
  }
  if (size > 0) {
    memcpy(w->output + w->size, bytes, size);
  }
  w->size += size;
  return 1;
}

static ssize_t on_write(struct archive *a, void *data, const void *bytes, size_t size) {
  struct tar_writer *w = data;
  int done = w->sink != NULL ? gzip_sink_append(w->sink, bytes, size, 0)
                             : keep_output(w, bytes, size);
  if (!done) {
    archive_set_error(a, ENOMEM, "not enough memory");
    return -1;
  }
  return (ssize_t)size;
}

struct tar_writer *tar_writer_new(int gzip, int level) {
  struct tar_writer *w = calloc(1, sizeof *w);
  if (w == NULL) {
    return NULL;
  }
  w->archive = archive_write_new();
  w->sink = gzip ? gzip_sink_new(level, keep_output, w) : NULL;
  if (w->archive == NULL || (gzip && w->sink == NULL)) {
    tar_writer_free(w);
    return NULL;
  }
  archive_write_set_format_pax_restricted(w->archive);
  archive_write_set_bytes_per_block(w->archive, 0);
  archive_write_set_bytes_in_last_block(w->archive, 1);
  if (archive_write_open(w->archive, w, NULL, on_write, NULL) != ARCHIVE_OK) {
    tar_writer_free(w);
    return NULL;
  }
  return w;
}

void tar_writer_free(struct tar_writer *w) {
  if (w != NULL) {
    archive_write_free(w->archive); /* may still write */
    gzip_sink_free(w->sink);
    free(w->output);
    free(w);
  }
}

static int write_failed(struct tar_writer *w, struct archive_error *error) {
  const char *text = archive_error_string(w->archive);
  fail(error, ARC_UNREADABLE, text != NULL ? text : "archive can't be written");
  return 0;
}

static int check_complete(struct tar_writer *w, struct archive_error *error) {
  if (w->missing > 0) {
    snprintf(error->message, sizeof error->message, "the entry before lacks %lld bytes",
             (long long)w->missing);
    error->fault = ARC_UNREADABLE;
    return 0;
  }
  return 1;
}

static void fill_entry(struct archive_entry *to, const struct tar_entry *from) {
  static const unsigned kinds[] = {AE_IFREG, AE_IFDIR, AE_IFLNK, AE_IFREG};
  archive_entry_set_pathname(to, from->name);
  archive_entry_set_filetype(to, kinds[from->kind]);
  archive_entry_set_perm(to, from->mode);
  archive_entry_set_mtime(to, from->mtime, 0);
  archive_entry_set_size(to, from->kind == TAR_FILE ? from->size : 0);
  if (from->kind == TAR_SYMLINK) {
    archive_entry_set_symlink(to, from->target);
  } else if (from->kind == TAR_HARDLINK) {
    archive_entry_set_hardlink(to, from->target);
  }
}

int tar_writer_entry(struct tar_writer *w, const struct tar_entry *entry,
                     struct archive_error *error) {
  struct archive_entry *made = check_complete(w, error) ? archive_entry_new() : NULL;
  if (made == NULL) {
    return 0;
  }
  fill_entry(made, entry);
  int status = archive_write_header(w->archive, made);
  archive_entry_free(made);
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
    return write_failed(w, error);
  }
  w->missing = entry->kind == TAR_FILE ? entry->size : 0;
  return 1;
}

int tar_writer_write(struct tar_writer *w, const void *bytes, size_t size,
                     struct archive_error *error) {
  if ((uint64_t)size > (uint64_t)w->missing) {
    fail(error, ARC_UNREADABLE, "more bytes than the entry's size");
    return 0;
  }
  if (size > 0 && archive_write_data(w->archive, bytes, size) != (la_ssize_t)size) {
    return write_failed(w, error);
  }
  w->missing -= (int64_t)size;
  return 1;
}

int tar_writer_finish(struct tar_writer *w, struct archive_error *error) {
  if (!check_complete(w, error)) {
    return 0;
  }
  if (archive_write_close(w->archive) != ARCHIVE_OK) {
    return write_failed(w, error);
  }
  if (w->sink != NULL && !gzip_sink_append(w->sink, "", 0, 1)) {
    fail(error, ARC_UNREADABLE, "not enough memory");
    return 0;
  }
  return 1;
}

const char *tar_writer_output(const struct tar_writer *w, size_t *size) {
  *size = w->size;
  return w->output != NULL ? w->output : "";
}

void tar_writer_drop(struct tar_writer *w) {
  w->size = 0;
}
