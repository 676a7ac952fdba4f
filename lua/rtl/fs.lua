--- Files. They are real in every world: a simulated one reads and writes its state here too.
-- What the file system refuses is nil and an error: RTL-FS-001 not there, -002 locked, -003 not
-- allowed, -004 disk full, -005 anything else; `err.errno` has the system's name (ENOENT).

local clock = require "rtl.clock"
local err = require "rtl.err"
local native = require "rtl.native.file"
local process = require "rtl.process"

local M = {}

local CODES = {
  ENOENT = "RTL-FS-001", ENOTDIR = "RTL-FS-001",
  EACCES = "RTL-FS-003", EPERM = "RTL-FS-003", EROFS = "RTL-FS-003",
  ENOSPC = "RTL-FS-004", EDQUOT = "RTL-FS-004",
}

local function checked(doing, path, value, message, errno)
  if value ~= nil then return value end
  return err.fail {
    code = CODES[errno] or "RTL-FS-005", message = message, errno = errno,
    doing = doing .. " " .. path, path = path,
  }
end

--- The whole file as a string.
function M.read(path)
  return checked("read", path, native.read(path))
end

--- Writes a whole file in one step, on the disk when it returns: after a crash the old or the new
-- one is there. `mode`: permissions, default 0644 (octal 0600 is tonumber("600", 8)). With `lazy`
-- it would outlive this process, but maybe not a power cut. Returns true.
function M.write(path, bytes, mode, lazy)
  return checked("write", path, native.replace(path, bytes, mode, lazy))
end

local appender_mt = { __name = "rtl.fs.appender" }
appender_mt.__index = appender_mt

--- Appends bytes; true when they are on the disk, or with `lazy` when they would outlive this
-- process (one write, in order; a power cut may lose the last ones). On failure the file is as it
-- was.
function appender_mt:append(bytes, lazy)
  return checked("append to", self.path, self.native:append(bytes, lazy))
end

--- Closes. Idempotent.
function appender_mt:close()
  self.native:close()
end

appender_mt.__close = appender_mt.close

--- Opens a file for appending, making it (mode 0600 by default). Returns h with h:append(bytes) and
-- h:close(); also a <close> value.
function M.append(path, mode)
  local handle, e = checked("open", path, native.append(path, mode))
  if not handle then return nil, e end
  return setmetatable({ native = handle, path = path }, appender_mt)
end

--- Takes the lock file at `path` for this process; it ends with lock:close() (also a <close> value)
-- or with the process. nil, RTL-FS-002 when another process has it, whose line is in `err.holder`.
function M.lock(path)
  local info = ("process %d on %s since %s"):format(process.pid(), process.hostname(),
    clock.iso(clock.utc()))
  local lock, message, errno = native.lock(path, info .. "\n")
  if lock then return lock end
  if errno ~= "EAGAIN" then return checked("lock", path, nil, message, errno) end
  local holder = ((native.read(path)) or ""):match("^[^\n]+") or "another process"
  return err.fail {
    code = "RTL-FS-002", message = "held by " .. holder, holder = holder, errno = errno,
    doing = "lock " .. path, path = path,
  }
end

--- Facts of a path: { type = "file"|"directory"|"link"|"other", size, mode, mtime }. Links are
-- followed unless `follow` is false.
function M.stat(path, follow)
  return checked("stat", path, native.stat(path, follow))
end

--- Whether something is at the path (a dangling link is not).
function M.exists(path)
  return native.stat(path) ~= nil
end

--- The names in a folder, sorted.
function M.list(path)
  local names, e = checked("list", path, native.list(path))
  if not names then return nil, e end
  table.sort(names)
  return names
end

-- True where a folder is made or there, else nil and what mkdir said. (/proc says that a folder is
-- not there whatever is above it.)
local function mkdir(path, mode)
  local made, message, errno = native.mkdir(path, mode)
  if made then return true end
  local info = native.stat(path)
  if info and info.type == "directory" then return true end
  return nil, message, errno
end

--- Makes a folder and those above it (permissions `mode`, default 0777 less the umask). True, also
-- when it is there.
function M.mkdirs(path, mode)
  local made, message, errno = mkdir(path, mode)
  local above = M.dirname(path)
  if not made and errno == "ENOENT" and above ~= path then
    local ok, e = M.mkdirs(above, mode)
    if not ok then return nil, e end
    made, message, errno = mkdir(path, mode)
  end
  return checked("make", path, made, message, errno)
end

--- Removes a file, link or empty folder. True, also when nothing is there.
function M.remove(path)
  local removed, message, errno = native.remove(path)
  if removed or errno == "ENOENT" then return true end
  return checked("remove", path, nil, message, errno)
end

--- Removes a path and all that is below it; links are removed, not followed.
function M.remove_tree(path)
  local info = native.stat(path, false)
  if info and info.type == "directory" then
    local names, e = M.list(path)
    if not names then return nil, e end
    for _, name in ipairs(names) do
      local ok, inner = M.remove_tree(M.join(path, name))
      if not ok then return nil, inner end
    end
  end
  return M.remove(path)
end

--- Renames in one step, over what is at `to`.
function M.rename(from, to)
  return checked("rename", from, native.rename(from, to))
end

--- Changes permissions.
function M.chmod(path, mode)
  return checked("chmod", path, native.chmod(path, mode))
end

--- Makes a new folder in $TMPDIR or /tmp whose name starts with `prefix`; returns its path.
function M.temp_dir(prefix)
  local base = M.join(process.getenv("TMPDIR") or "/tmp", (prefix or "rtl") .. "-")
  return checked("make", base, native.temp_dir(base))
end

--- What a symbolic link holds. M.readlink "/proc/self/exe" is where this program lies.
function M.readlink(path)
  return checked("read link", path, native.readlink(path))
end

--- The folder in which rtl was started.
function M.cwd()
  return checked("find", ".", native.cwd())
end

--- Joins parts with "/"; an absolute part starts anew.
function M.join(...)
  local path = ""
  for _, part in ipairs { ... } do
    if part:sub(1, 1) == "/" or path == "" then
      path = part
    else
      path = path:gsub("/+$", "") .. "/" .. part
    end
  end
  return path
end

--- The folder of a path ("." when it has none).
function M.dirname(path)
  path = path:match("^(.-)/*$")
  if path == "" then return "/" end
  local above = path:match("^(.*)/[^/]*$")
  if not above then return "." end
  return above:match("^(.-)/*$") == "" and "/" or above:match("^(.-)/*$")
end

--- The last part of a path.
function M.basename(path)
  return path:match("([^/]*)/*$")
end

return M
