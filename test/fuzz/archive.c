/* libFuzzer target of the archive core: no entry leads out of the tree, no limit is passed.
 * Sources: modules/archive/{gzip,tar,names}.c -larchive -lz */
#include "archive/archive.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const struct archive_limits LIMITS = {1 << 20, 100, 200};

static void check_entry(const struct tar_entry *entry) {
  if (entry->name[0] == '/' || entry->name[0] == '\0' || strcmp(entry->name, "..") == 0 ||
      strncmp(entry->name, "../", 3) == 0 || strstr(entry->name, "/../") != NULL ||
      entry->size > (int64_t)LIMITS.bytes || entry->mode > 0777) {
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static char piece[4096];
  struct archive_error error = {ARC_NONE, ""};
  struct tar_entry entry;
  struct gzip_source *source = gzip_source_memory((const char *)bytes, size, &LIMITS);
  struct tar_reader *reader = tar_reader_new(source, &LIMITS, &error);
  uint64_t total = 0;
  while (reader != NULL && tar_reader_next(reader, &entry, &error) == 1) {
    check_entry(&entry);
    for (int64_t got; (got = tar_reader_read(reader, piece, sizeof piece, &error)) > 0;) {
      total += (uint64_t)got;
    }
  }
  if (total > LIMITS.bytes * LIMITS.entries) {
    abort();
  }
  tar_reader_free(reader);
  return 0;
}
