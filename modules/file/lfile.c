/* rtl.native.file: the calls under rtl.fs. Each returns its value, or nil, a text and an errno
 * name. */
#include "file/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int luaopen_rtl_native_file(lua_State *L);

#define APPENDER "rtl.file.appender"
#define LOCK "rtl.file.lock"
#define READER "rtl.file.reader"
#define FOLDER "rtl.file.folder"

enum { CHUNK = 65536 };

static int fail(lua_State *L, int error) {
  luaL_pushfail(L);
  lua_pushstring(L, strerror(error));
  lua_pushstring(L, strerrorname_np(error));
  return 3;
}

static int result(lua_State *L, int status) {
  if (status != 0) {
    return fail(L, errno);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* A path; one with a NUL inside would be cut. */
static const char *check_path(lua_State *L, int arg) {
  size_t length;
  const char *path = luaL_checklstring(L, arg, &length);
  luaL_argcheck(L, strlen(path) == length, arg, "a NUL inside a path");
  return path;
}

/* A userdata of one descriptor, closed yet. */
static int *push_descriptor(lua_State *L, const char *class) {
  int *fd = lua_newuserdatauv(L, sizeof *fd, 0);
  *fd = -1;
  luaL_setmetatable(L, class);
  return fd;
}

static int close_descriptor(lua_State *L) {
  int *fd = lua_touserdata(L, 1);
  if (fd != NULL && *fd >= 0) {
    close(*fd);
    *fd = -1;
  }
  return 0;
}

/* ---- whole files ---- */

static int read_all(lua_State *L, int fd) {
  luaL_Buffer buffer;
  luaL_buffinit(L, &buffer);
  for (;;) {
    ssize_t got = read(fd, luaL_prepbuffsize(&buffer, CHUNK), CHUNK);
    if (got == 0) {
      luaL_pushresult(&buffer);
      return 1;
    }
    if (got < 0 && errno != EINTR) {
      return fail(L, errno);
    }
    luaL_addsize(&buffer, got > 0 ? (size_t)got : 0);
  }
}

/*** native.file.read(path) → string
 * All bytes of a file. */
static int l_read(lua_State *L) {
  const char *path = check_path(L, 1);
  int *fd = push_descriptor(L, READER);
  *fd = open(path, O_RDONLY | O_CLOEXEC);
  if (*fd < 0) {
    return fail(L, errno);
  }
  int results = read_all(L, *fd);
  close(*fd);
  *fd = -1;
  return results;
}

/*** native.file.replace(path, bytes, mode[, lazy]) → true
 * Atomically and, unless `lazy`, fsync'ed; mode is a number (default 0644). */
static int l_replace(lua_State *L) {
  size_t size;
  const char *path = check_path(L, 1);
  const char *bytes = luaL_checklstring(L, 2, &size);
  mode_t mode = (mode_t)luaL_optinteger(L, 3, 0644);
  return result(L, rtl_file_replace(path, bytes, size, mode, lua_toboolean(L, 4)));
}

/* ---- append ---- */

/*** native.file.append(path, mode) → appender
 * Opens for fsync'ed appends; makes the file with mode (default 0600). */
static int l_append(lua_State *L) {
  const char *path = check_path(L, 1);
  mode_t mode = (mode_t)luaL_optinteger(L, 2, 0600);
  int *fd = push_descriptor(L, APPENDER);
  *fd = rtl_file_open_append(path, mode);
  return *fd < 0 ? fail(L, errno) : 1;
}

/*** appender:append(bytes[, lazy]) → true
 * Returns when the bytes are on the disk, or with `lazy` when the kernel has them (they outlive the
 * process, not a power cut); on failure the file is as it was. */
static int appender_append(lua_State *L) {
  size_t size;
  int *fd = luaL_checkudata(L, 1, APPENDER);
  luaL_argcheck(L, *fd >= 0, 1, "closed");
  const char *bytes = luaL_checklstring(L, 2, &size);
  return result(L, rtl_file_append(*fd, bytes, size, lua_toboolean(L, 3)));
}

/* ---- lock ---- */

/*** native.file.lock(path, info) → lock
 * Locks for this process without waiting; the file then holds `info`. nil, text, "EAGAIN" when
 * another one has it. */
static int l_lock(lua_State *L) {
  size_t size;
  const char *path = check_path(L, 1);
  const char *info = luaL_checklstring(L, 2, &size);
  int *fd = push_descriptor(L, LOCK);
  *fd = rtl_file_lock(path, info, size);
  return *fd < 0 ? fail(L, errno) : 1;
}

static int lock_close(lua_State *L) {
  int *fd = luaL_checkudata(L, 1, LOCK);
  if (*fd >= 0) {
    rtl_file_unlock(*fd);
    *fd = -1;
  }
  return 0;
}

/* ---- folders ---- */

struct folder {
  DIR *dir;
};

static int folder_close(lua_State *L) {
  struct folder *folder = luaL_checkudata(L, 1, FOLDER);
  if (folder->dir != NULL) {
    closedir(folder->dir);
    folder->dir = NULL;
  }
  return 0;
}

/*** native.file.list(path) → {name, …}
 * The names in a folder, in no order, without "." and "..". */
static int l_list(lua_State *L) {
  const char *path = check_path(L, 1);
  struct folder *folder = lua_newuserdatauv(L, sizeof *folder, 0);
  folder->dir = NULL;
  luaL_setmetatable(L, FOLDER);
  folder->dir = opendir(path);
  if (folder->dir == NULL) {
    return fail(L, errno);
  }
  lua_newtable(L);
  lua_Integer count = 0;
  for (struct dirent *entry; (entry = readdir(folder->dir)) != NULL;) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      lua_pushstring(L, entry->d_name);
      lua_rawseti(L, -2, ++count);
    }
  }
  closedir(folder->dir);
  folder->dir = NULL;
  return 1;
}

static const char *type_of(mode_t mode) {
  return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "directory" : S_ISLNK(mode) ? "link" : "other";
}

/*** native.file.stat(path, follow) → {type=, size=, mode=, mtime=}
 * type: file, directory, link or other; links are followed unless `follow` is false. */
static int l_stat(lua_State *L) {
  struct stat info;
  const char *path = check_path(L, 1);
  int follow = lua_isnoneornil(L, 2) || lua_toboolean(L, 2);
  if ((follow ? stat(path, &info) : lstat(path, &info)) != 0) {
    return fail(L, errno);
  }
  lua_createtable(L, 0, 4);
  lua_pushstring(L, type_of(info.st_mode));
  lua_setfield(L, -2, "type");
  lua_pushinteger(L, info.st_size);
  lua_setfield(L, -2, "size");
  lua_pushinteger(L, info.st_mode & 07777);
  lua_setfield(L, -2, "mode");
  lua_pushnumber(L, (lua_Number)info.st_mtim.tv_sec + (lua_Number)info.st_mtim.tv_nsec / 1e9);
  lua_setfield(L, -2, "mtime");
  return 1;
}

/*** native.file.mkdir(path, mode) → true
 * Makes one folder (mode 0777 less the umask unless given). */
static int l_mkdir(lua_State *L) {
  return result(L, mkdir(check_path(L, 1), (mode_t)luaL_optinteger(L, 2, 0777)));
}

/*** native.file.remove(path) → true
 * A file, link or empty folder. */
static int l_remove(lua_State *L) {
  const char *path = check_path(L, 1);
  int status = unlink(path);
  if (status != 0 && (errno == EISDIR || errno == EPERM)) {
    status = rmdir(path);
  }
  return result(L, status);
}

/*** native.file.rename(from, to) → true
 * One step, also over an existing file; the folder of `to` is fsync'ed. */
static int l_rename(lua_State *L) {
  const char *from = check_path(L, 1);
  const char *to = check_path(L, 2);
  return result(L, rename(from, to) != 0 ? -1 : rtl_file_sync_folder(to));
}

/*** native.file.chmod(path, mode) → true
 * Sets the permission bits. */
static int l_chmod(lua_State *L) {
  return result(L, chmod(check_path(L, 1), (mode_t)luaL_checkinteger(L, 2)));
}

/*** native.file.temp_dir(prefix) → path
 * Makes PREFIX followed by six random characters, mode 0700. */
static int l_temp_dir(lua_State *L) {
  size_t size;
  luaL_checklstring(L, 1, &size);
  const char *prefix = check_path(L, 1);
  char *path = lua_newuserdatauv(L, size + sizeof "XXXXXX", 0);
  memcpy(path, prefix, size);
  memcpy(path + size, "XXXXXX", sizeof "XXXXXX");
  if (mkdtemp(path) == NULL) {
    return fail(L, errno);
  }
  lua_pushstring(L, path);
  return 1;
}

/*** native.file.readlink(path) → target
 * What a symbolic link holds. */
static int l_readlink(lua_State *L) {
  char target[PATH_MAX];
  ssize_t length = readlink(check_path(L, 1), target, sizeof target);
  if (length < 0) {
    return fail(L, errno);
  }
  lua_pushlstring(L, target, (size_t)length);
  return 1;
}

/*** native.file.cwd() → path
 * The working directory. */
static int l_cwd(lua_State *L) {
  char *path = getcwd(NULL, 0);
  if (path == NULL) {
    return fail(L, errno);
  }
  char *copy = lua_newuserdatauv(L, strlen(path) + 1, 0);
  strcpy(copy, path);
  free(path);
  lua_pushstring(L, copy);
  return 1;
}

static void make_class(lua_State *L, const char *name, lua_CFunction close_function) {
  luaL_newmetatable(L, name);
  lua_pushcfunction(L, close_function);
  lua_setfield(L, -2, "close");
  lua_pushcfunction(L, close_function);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, close_function);
  lua_setfield(L, -2, "__close");
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
}

int luaopen_rtl_native_file(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"read", l_read},         {"replace", l_replace}, {"append", l_append}, {"lock", l_lock},
      {"list", l_list},         {"stat", l_stat},       {"mkdir", l_mkdir},   {"remove", l_remove},
      {"rename", l_rename},     {"chmod", l_chmod},     {"temp_dir", l_temp_dir}, {"cwd", l_cwd},
      {"readlink", l_readlink},
      {NULL, NULL},
  };
  make_class(L, READER, close_descriptor);
  make_class(L, LOCK, lock_close);
  make_class(L, FOLDER, folder_close);
  make_class(L, APPENDER, close_descriptor);
  lua_pushcfunction(L, appender_append);
  lua_setfield(L, -2, "append");
  lua_pop(L, 4);
  luaL_newlib(L, functions);
  return 1;
}
