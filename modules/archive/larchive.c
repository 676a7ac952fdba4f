/* rtl.native.archive */
#include "archive/archive.h"
#include "fail.h"
#include "secret/lsecret.h"

#include <lauxlib.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

int luaopen_rtl_native_archive(lua_State *L);

#define READER "rtl.archive.reader"
#define WRITER "rtl.archive.writer"
#define BYTES "rtl.archive.bytes"

static const char *const kinds[] = {"file", "directory", "symlink", "hardlink", NULL};

static int refuse(lua_State *L, const struct archive_error *error) {
  static const char *const codes[] = {"RTL-DATA-005", "RTL-DATA-005", "RTL-DATA-006",
                                      "RTL-DATA-007"};
  return rtl_fail(L, codes[error->fault], error->message);
}

/* An integer field of the options at `index` (a table or nil). */
static lua_Integer option(lua_State *L, int index, const char *name, lua_Integer otherwise) {
  lua_Integer value = otherwise;
  if (!lua_isnoneornil(L, index)) {
    luaL_checktype(L, index, LUA_TTABLE);
    if (lua_getfield(L, index, name) != LUA_TNIL) {
      int is_integer;
      value = lua_tointegerx(L, -1, &is_integer);
      if (!is_integer || value < 0) {
        luaL_error(L, "bad argument #%d (field '%s': an integer from 0 expected)", index, name);
      }
    }
    lua_pop(L, 1);
  }
  return value;
}

static struct archive_limits read_limits(lua_State *L, int index) {
  struct archive_limits limits = {
      .bytes = (uint64_t)option(L, index, "max_bytes", 256 << 20),
      .entries = (uint64_t)option(L, index, "max_entries", 100000),
      .ratio = (uint64_t)option(L, index, "max_ratio", 200),
  };
  luaL_argcheck(L, limits.ratio > 0, index, "field 'max_ratio': above 0 expected");
  return limits;
}

static int read_level(lua_State *L, int index) {
  lua_Integer level = option(L, index, "level", 6);
  luaL_argcheck(L, level <= 9, index, "field 'level': 0 to 9 expected");
  return (int)level;
}

static int bytes_close(lua_State *L) {
  char **box = luaL_checkudata(L, 1, BYTES);
  free(*box);
  *box = NULL;
  return 0;
}

static void set_gc(lua_State *L, const char *name, lua_CFunction close) {
  if (luaL_newmetatable(L, name)) {
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
}

/* Pushes a box that frees what is put in. */
static char **push_box(lua_State *L) {
  char **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  set_gc(L, BYTES, bytes_close);
  return box;
}

/* Pushes the malloc'ed bytes in the box as a string and frees them. */
static int push_boxed(lua_State *L, char **box, size_t size) {
  lua_pushlstring(L, *box, size);
  free(*box);
  *box = NULL;
  return 1;
}

/*** archive.gzip(bytes, {level = 0…9}) → string
 * Packs bytes with gzip (level 6 unless given); the same bytes give the same result. */
static int l_gzip(lua_State *L) {
  size_t size;
  size_t out_size;
  struct archive_error error = {ARC_NONE, ""};
  const char *bytes = rtl_check_bytes(L, 1, &size);
  int level = read_level(L, 2);
  char **box = push_box(L);
  *box = gzip_pack(bytes, size, level, &out_size, &error);
  return *box != NULL ? push_boxed(L, box, out_size) : luaL_error(L, "%s", error.message);
}

/*** archive.gunzip(bytes, {max_bytes = n, max_ratio = n}) → string or nil, err
 * Unpacks gzip (all members) and checks its checksums. More than max_bytes (256 MiB) or, beyond the
 * first MiB, max_ratio (200) times the packed size is refused (RTL-DATA-007). */
static int l_gunzip(lua_State *L) {
  size_t size;
  size_t out_size;
  struct archive_error error = {ARC_NONE, ""};
  const char *bytes = rtl_check_bytes(L, 1, &size);
  struct archive_limits limits = read_limits(L, 2);
  char **box = push_box(L);
  *box = gzip_unpack(bytes, size, &limits, &out_size, &error);
  return *box != NULL ? push_boxed(L, box, out_size) : refuse(L, &error);
}

static struct tar_reader *check_reader(lua_State *L) {
  struct tar_reader **box = luaL_checkudata(L, 1, READER);
  luaL_argcheck(L, *box != NULL, 1, "reader is closed");
  return *box;
}

static int reader_close(lua_State *L) {
  struct tar_reader **box = luaL_checkudata(L, 1, READER);
  tar_reader_free(*box);
  *box = NULL;
  return 0;
}

static void push_entry(lua_State *L, const struct tar_entry *entry) {
  lua_createtable(L, 0, 6);
  lua_pushstring(L, entry->name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, kinds[entry->kind]);
  lua_setfield(L, -2, "type");
  lua_pushinteger(L, entry->size);
  lua_setfield(L, -2, "size");
  lua_pushinteger(L, entry->mtime);
  lua_setfield(L, -2, "mtime");
  lua_pushinteger(L, (lua_Integer)entry->mode);
  lua_setfield(L, -2, "mode");
  lua_pushstring(L, entry->target); /* nil when there is none */
  lua_setfield(L, -2, "target");
}

/*** reader:next() → entry, or nil at the end, or nil, err
 * The next entry: {name, type = "file|directory|symlink|hardlink", size, mtime, mode, target}. An
 * entry that could write outside the tree is refused (RTL-DATA-006). */
static int reader_next(lua_State *L) {
  struct tar_entry entry;
  struct archive_error error = {ARC_NONE, ""};
  switch (tar_reader_next(check_reader(L), &entry, &error)) {
    case 1: push_entry(L, &entry); return 1;
    case 0: lua_pushnil(L); return 1;
    default: return refuse(L, &error);
  }
}

/*** reader:read(n) → string, or nil at the entry's end, or nil, err
 * Up to n bytes of the current entry; without n, all that is left. */
static int reader_read(lua_State *L) {
  struct tar_reader *reader = check_reader(L);
  struct archive_error error = {ARC_NONE, ""};
  lua_Integer wanted = luaL_optinteger(L, 2, LUA_MAXINTEGER);
  luaL_argcheck(L, wanted > 0, 2, "a size above 0 expected");
  luaL_Buffer buffer;
  luaL_buffinit(L, &buffer);
  lua_Integer got = 0;
  while (got < wanted) {
    char *room = luaL_prepbuffsize(&buffer, 1 << 16);
    size_t part = wanted - got < 1 << 16 ? (size_t)(wanted - got) : 1 << 16;
    int64_t size = tar_reader_read(reader, room, part, &error);
    if (size < 0) {
      return refuse(L, &error);
    }
    if (size == 0) {
      break;
    }
    luaL_addsize(&buffer, (size_t)size);
    got += size;
  }
  luaL_pushresult(&buffer);
  if (got == 0) {
    lua_pushnil(L);
  }
  return 1;
}

/* The iterator of reader:entries(): raises what next() returns as an error. */
static int entries_step(lua_State *L) {
  lua_settop(L, 1);
  int results = reader_next(L);
  return results == 1 ? 1 : lua_error(L);
}

/*** reader:entries() → iterator
 * `for entry in reader:entries() do … reader:read() … end`; what can't be read raises. */
static int reader_entries(lua_State *L) {
  check_reader(L);
  lua_pushcfunction(L, entries_step);
  lua_pushvalue(L, 1);
  return 2; /* iterator reader */
}

static void push_metatable(lua_State *L, const char *name, const luaL_Reg *methods) {
  if (luaL_newmetatable(L, name)) {
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
  }
}

/* The source that the options at 1 name; NULL with `error`. The reader at 2 keeps its bytes. */
static struct gzip_source *open_source(lua_State *L, const struct archive_limits *limits,
                                       struct archive_error *error) {
  size_t size;
  struct gzip_source *source;
  if (lua_getfield(L, 1, "path") != LUA_TNIL) {
    return gzip_source_file(luaL_checkstring(L, -1), limits, error);
  }
  lua_getfield(L, 1, "data");
  const char *bytes = rtl_test_bytes(L, -1, &size);
  luaL_argcheck(L, bytes != NULL, 1, "field 'data' (string or secret) or 'path' (string) expected");
  lua_setiuservalue(L, 2, 1);
  source = gzip_source_memory(bytes, size, limits);
  return source != NULL ? source : (luaL_error(L, "not enough memory"), NULL);
}

/*** archive.reader({data = bytes or path = file name, …}) → reader or nil, err
 * Reads a tar archive, gzip or plain, from memory or from a file, in flat memory. Limits: max_bytes
 * (256 MiB unpacked), max_entries (100000), max_ratio (200). Names that are absolute or hold '..',
 * links that lead out of the tree, entries behind a link, devices and pipes are refused. */
static int l_reader(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"next", reader_next},   {"read", reader_read},  {"entries", reader_entries},
      {"close", reader_close}, {"__gc", reader_close}, {"__close", reader_close},
      {NULL, NULL},
  };
  struct archive_error error = {ARC_NONE, ""};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  struct archive_limits limits = read_limits(L, 1);
  struct tar_reader **box = lua_newuserdatauv(L, sizeof *box, 1);
  *box = NULL;
  push_metatable(L, READER, methods);
  lua_setmetatable(L, -2);
  struct gzip_source *source = open_source(L, &limits, &error);
  *box = source == NULL ? NULL : tar_reader_new(source, &limits, &error);
  if (*box == NULL) {
    return refuse(L, &error);
  }
  lua_settop(L, 2);
  return 1;
}

static struct tar_writer *check_writer(lua_State *L) {
  struct tar_writer **box = luaL_checkudata(L, 1, WRITER);
  luaL_argcheck(L, *box != NULL, 1, "writer is closed");
  return *box;
}

static int writer_close(lua_State *L) {
  struct tar_writer **box = luaL_checkudata(L, 1, WRITER);
  tar_writer_free(*box);
  *box = NULL;
  return 0;
}

static const char *text_field(lua_State *L, int index, const char *name, const char *otherwise) {
  const char *text = otherwise;
  if (lua_getfield(L, index, name) != LUA_TNIL) {
    text = lua_tostring(L, -1);
  }
  lua_pop(L, 1); /* the table keeps it */
  if (text == NULL) {
    luaL_error(L, "bad argument #%d (field '%s': string expected)", index - 1, name);
  }
  return text;
}

static enum tar_kind kind_field(lua_State *L, int index) {
  const char *text = text_field(L, index, "type", "file");
  for (int i = 0; kinds[i] != NULL; i++) {
    if (strcmp(kinds[i], text) == 0) {
      return (enum tar_kind)i;
    }
  }
  luaL_error(L, "bad argument #%d (field 'type': file, directory, symlink or hardlink expected)",
             index - 1);
  return TAR_FILE;
}

static void check_name(lua_State *L, const struct tar_entry *entry) {
  const char *why = tar_refusal(entry);
  if (why != NULL) {
    luaL_error(L, "entry '%s' %s", entry->name, why);
  }
}

static int write_failed(lua_State *L, const struct archive_error *error) {
  return luaL_error(L, "archive: %s", error->message);
}

/*** writer:entry({name =, size =, type =, mode =, mtime =, target =}) → writer
 * Begins an entry: a file of `size` bytes, which writer:write gives, or a directory, symlink or
 * hardlink (with target). mode 0644 (directories 0755), mtime 0 (unix seconds). Raises for a name
 * that the reader would refuse. */
static int writer_entry(lua_State *L) {
  struct tar_writer *writer = check_writer(L);
  struct archive_error error = {ARC_NONE, ""};
  luaL_checktype(L, 2, LUA_TTABLE);
  struct tar_entry entry = {.kind = kind_field(L, 2)};
  entry.name = text_field(L, 2, "name", NULL);
  if (entry.kind == TAR_SYMLINK || entry.kind == TAR_HARDLINK) {
    entry.target = text_field(L, 2, "target", NULL);
  }
  entry.size = entry.kind == TAR_FILE ? option(L, 2, "size", 0) : 0;
  entry.mtime = option(L, 2, "mtime", 0);
  entry.mode = (unsigned)option(L, 2, "mode", entry.kind == TAR_DIRECTORY ? 0755 : 0644);
  check_name(L, &entry);
  if (!tar_writer_entry(writer, &entry, &error)) {
    return write_failed(L, &error);
  }
  lua_settop(L, 1);
  return 1;
}

/*** writer:write(bytes) → writer
 * Bytes of the entry that was begun last. Raises when there are more than its size. */
static int writer_write(lua_State *L) {
  size_t size;
  struct archive_error error = {ARC_NONE, ""};
  const char *bytes = rtl_check_bytes(L, 2, &size);
  if (!tar_writer_write(check_writer(L), bytes, size, &error)) {
    return write_failed(L, &error);
  }
  lua_settop(L, 1);
  return 1;
}

/*** writer:add(name, bytes, {mode =, mtime =}) → writer
 * A whole file at once. */
static int writer_add(lua_State *L) {
  struct tar_writer *writer = check_writer(L);
  struct archive_error error = {ARC_NONE, ""};
  size_t size;
  struct tar_entry entry = {.name = luaL_checkstring(L, 2), .kind = TAR_FILE};
  const char *bytes = rtl_check_bytes(L, 3, &size);
  entry.size = (int64_t)size;
  entry.mtime = option(L, 4, "mtime", 0);
  entry.mode = (unsigned)option(L, 4, "mode", 0644);
  check_name(L, &entry);
  if (!tar_writer_entry(writer, &entry, &error) ||
      !tar_writer_write(writer, bytes, size, &error)) {
    return write_failed(L, &error);
  }
  lua_settop(L, 1);
  return 1;
}

/*** writer:finish() → writer
 * Writes the archive's end; the rest is there for writer:take(). Raises when an entry lacks
 * bytes. */
static int writer_finish(lua_State *L) {
  struct archive_error error = {ARC_NONE, ""};
  if (!tar_writer_finish(check_writer(L), &error)) {
    return write_failed(L, &error);
  }
  lua_settop(L, 1);
  return 1;
}

/*** writer:take() → string
 * What was made since the last take; "" if that is nothing yet. */
static int writer_take(lua_State *L) {
  size_t size;
  struct tar_writer *writer = check_writer(L);
  const char *bytes = tar_writer_output(writer, &size);
  lua_pushlstring(L, bytes, size);
  tar_writer_drop(writer);
  return 1;
}

/*** archive.writer({gzip = boolean, level = 0…9}) → writer
 * Writes a tar archive (pax where ustar can't hold a name) in pieces: w:entry{…}, w:write(bytes),
 * or w:add(name, bytes); w:take() between them; w:finish() and a last w:take(). */
static int l_writer(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"entry", writer_entry},   {"write", writer_write}, {"add", writer_add},
      {"finish", writer_finish}, {"take", writer_take},   {"close", writer_close},
      {"__gc", writer_close},    {"__close", writer_close}, {NULL, NULL},
  };
  int gzip = 0;
  int level = read_level(L, 1);
  if (!lua_isnoneornil(L, 1)) {
    lua_getfield(L, 1, "gzip");
    gzip = lua_toboolean(L, -1);
  }
  struct tar_writer **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  push_metatable(L, WRITER, methods);
  lua_setmetatable(L, -2);
  *box = tar_writer_new(gzip, level);
  return *box != NULL ? 1 : luaL_error(L, "not enough memory");
}

int luaopen_rtl_native_archive(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"gzip", l_gzip},
      {"gunzip", l_gunzip},
      {"reader", l_reader},
      {"writer", l_writer},
      {NULL, NULL},
  };
  setlocale(LC_CTYPE, "C.UTF-8"); /* libarchive needs it for names beyond ASCII */
  luaL_newlib(L, functions);
  return 1;
}
