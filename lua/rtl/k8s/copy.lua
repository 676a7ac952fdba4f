--- Copying a file into and out of a pod over exec, checked by size and SHA-256 on both sides. One
-- file goes as plain bytes of known length: no tar that a cut could spoil, no end of input that an
-- old server can't tell; out of the pod it comes in ranges, so that a cut costs one range.

local archive = require "rtl.native.archive"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local exec = require "rtl.k8s.exec"
local fs = require "rtl.fs"

local M = {}

local RANGE = 4 << 20
local TRIES = 3

-- $1 target, $2 size, $3 SHA-256, $4 mode.
local PUT = [[mkdir -p "${1%/*}/" || exit 8
umask 077; part="$1.rtl-part"; head -c "$2" >"$part" || exit 8
sum=$(sha256sum <"$part") || exit 8
[ "${sum%% *}" = "$3" ] || { echo "$sum"; rm -f "$part"; exit 9; }
chmod "$4" "$part" && mv -f "$part" "$1"]]

-- $1 folder, $2 size, $3 SHA-256 of a tar: unpacked only when all of it has come.
local PUT_TREE = [[mkdir -p "$1" && part=$(mktemp) || exit 8
trap 'rm -f "$part"' EXIT
head -c "$2" >"$part" || exit 8
sum=$(sha256sum <"$part") || exit 8
[ "${sum%% *}" = "$3" ] || { echo "$sum"; exit 9; }
tar -xf "$part" -C "$1"]]

-- $1 file: its size and SHA-256.
local STAT = [[[ -f "$1" ] || exit 3; wc -c <"$1"; sha256sum <"$1"]]

-- $1 file, $2 offset from 1, $3 length.
local GET = [[tail -c "+$2" "$1" | head -c "$3"]]

local function run(client, options, script, args, stdin)
  return exec.exec(client, { namespace = options.namespace, pod = options.pod, stdin = stdin,
    container = options.container, argv = { "sh", "-c", script, "rtl-cp", table.unpack(args) },
    timeout = options.timeout })
end

local function failed(options, message, fields)
  fields = fields or {}
  fields.code, fields.message = fields.code or "RTL-K8S-040", message
  fields.doing = "copy " .. (options.to or options.from) .. " of pod " .. options.pod
  return nil, err.new(fields)
end

-- Sends bytes to a script that checks them, and again if they arrive damaged.
local function put(client, options, script, args, bytes)
  local last
  for _ = 1, TRIES do
    local r, problem = run(client, options, script, args, bytes)
    if r and r.code == 0 then return true end
    if r and r.code ~= 9 then
      return failed(options, "the pod refuses: " .. (r.stderr:match("[^\n]+") or "exit " .. r.code))
    end
    if not r and problem.code ~= "RTL-K8S-030" then return nil, problem end
    last = problem
  end
  return failed(options, "what arrives is not what was sent", { cause = last })
end

--- Copies a file into a pod: { size, sha256 } | nil, err. `options`: namespace, pod, container, to
-- (absolute path), bytes or path (a local file), mode (octal text, "0644").
function M.to(client, options)
  local bytes = options.bytes
  if not bytes then
    local problem
    bytes, problem = fs.read(options.path)
    if not bytes then return nil, problem end
  end
  local digest = crypto.sha256_hex(bytes)
  local ok, problem = put(client, options, PUT,
    { options.to, tostring(#bytes), digest, options.mode or "0644" }, bytes)
  if not ok then return nil, problem end
  return { size = #bytes, sha256 = digest }
end

local function add_folder(files, root, prefix)
  local names, problem = fs.list(fs.join(root, prefix))
  if not names then return nil, problem end
  for _, name in ipairs(names) do
    local path = prefix == "" and name or prefix .. "/" .. name
    local info, unknown = fs.stat(fs.join(root, path))
    if not info then return nil, unknown end
    local ok, unread = true, nil
    if info.type == "directory" then
      ok, unread = add_folder(files, root, path)
    elseif info.type == "file" then
      local data
      data, unread = fs.read(fs.join(root, path))
      ok = data ~= nil
      files[#files + 1] = { name = path, data = data, mode = info.mode }
    end
    if not ok then return nil, unread end
  end
  return true
end

--- Copies a folder into a pod, as one tar that is checked before it is unpacked: { files, size,
-- sha256 } | nil, err. `options`: namespace, pod, container, to (absolute path of the folder), path
-- (a local folder; links in it are left out) or files = { { name, data, mode }… }.
function M.tree_to(client, options)
  local files = options.files
  if not files then
    files = {}
    local ok, problem = add_folder(files, options.path, "")
    if not ok then return nil, problem end
  end
  local writer = archive.writer()
  for _, file in ipairs(files) do
    writer:add(file.name, file.data, { mode = file.mode and file.mode & 0x1FF or 420 })
  end
  writer:finish()
  local bytes = writer:take()
  local digest = crypto.sha256_hex(bytes)
  local ok, problem = put(client, options, PUT_TREE, { options.to, tostring(#bytes), digest },
    bytes)
  if not ok then return nil, problem end
  return { files = #files, size = #bytes, sha256 = digest }
end

local function remote_stat(client, options)
  local r, problem = run(client, options, STAT, { options.from })
  if not r then return nil, problem end
  local size, digest = r.stdout:match("^%s*(%d+)%s+(%x+)")
  if r.code == 3 then return failed(options, "there is no such file", { code = "RTL-K8S-041" }) end
  if r.code ~= 0 or not size then
    return failed(options, "the pod refuses: " .. (r.stderr:match("[^\n]+") or "exit " .. r.code))
  end
  return { size = math.tointeger(tonumber(size)), sha256 = digest }
end

-- One range; a short answer is asked for again from where it ended.
local function range(client, options, offset, length)
  local parts, got = {}, 0
  for _ = 1, TRIES do
    local r, problem = run(client, options, GET,
      { options.from, tostring(offset + got + 1), tostring(length - got) })
    local bytes = r and r.stdout or problem and problem.stdout or ""
    parts[#parts + 1], got = bytes, got + #bytes
    if got >= length then return table.concat(parts) end
    if not r and problem.code ~= "RTL-K8S-030" then return nil, problem end
  end
  return failed(options, ("short by %d bytes at offset %d"):format(length - got, offset))
end

--- Copies a file out of a pod. `options`: namespace, pod, container, from, path (local file: then
-- the result is { size, sha256 }, else the bytes) | nil, err: RTL-K8S-040 not what the pod has, 041
-- no file.
function M.from(client, options)
  local about, problem = remote_stat(client, options)
  if not about then return nil, problem end
  local parts = {}
  for offset = 0, about.size - 1, RANGE do
    local bytes, trouble = range(client, options, offset, math.min(RANGE, about.size - offset))
    if not bytes then return nil, trouble end
    parts[#parts + 1] = bytes
  end
  local bytes = table.concat(parts)
  if #bytes ~= about.size or crypto.sha256_hex(bytes) ~= about.sha256 then
    return failed(options, "what came is not what the pod has: is the file being written?")
  end
  if not options.path then return bytes end
  local ok, unwritten = fs.write(options.path, bytes)
  if not ok then return nil, unwritten end
  return about
end

return M
