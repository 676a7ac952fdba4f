--- The world's journal: one JSON line for what was done to the world, and when.
--
-- A line is written (as one write of its own, in order) before the call that it belongs to is
-- answered: a process that is killed at any point is found again by the next one. It is not forced
-- to the disk each time, since what it keeps is a play: after a power cut the play may be behind,
-- never out of order.

local array = require "rtl.array"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local fs = require "rtl.fs"
local json = require "rtl.native.json"

local M = {}

local VERSION = 1

local Journal = {}
Journal.__index = Journal

--- Where the journal of a world lies under the state folder; `name` tells worlds apart.
function M.path(state_folder, name)
  return fs.join(state_folder, "rehearsal", (name or "world") .. ".ndjson")
end

-- Whole lines of a file ("" where it is not there), after a line that a death tore was cut off: the
-- next record would be glued to it.
local function mended(path)
  if not fs.exists(path) then return "" end
  local text, e = fs.read(path)
  if not text then return nil, e end
  local whole = text:match("^(.*\n)") or ""
  if #whole < #text then
    local ok, failure = fs.write(path, whole, tonumber("600", 8))
    if not ok then return nil, failure end
  end
  return whole
end

--- Opens the journal at `path` for appending; makes it, with `head` as its first line, if it is not
-- there. Returns the journal.
function M.open(path, head)
  local made, why = fs.mkdirs(fs.dirname(path))
  if not made then return nil, why end
  local text, unread = mended(path)
  if not text then return nil, unread end
  local fresh = text == ""
  local handle, e = fs.append(path)
  if not handle then return nil, e end
  local journal = setmetatable({ handle = handle, path = path }, Journal)
  if fresh then
    head.version = VERSION
    journal:append(head)
  end
  return journal
end

local BYTES = "$bytes"

-- Strings that are no UTF-8 (a file on its way into a pod) stand as base64 in JSON.
local function packed(value)
  if type(value) == "string" then
    return utf8.len(value) and value or { [BYTES] = crypto.base64_encode(value) }
  end
  if type(value) ~= "table" then return value end
  local out = {}
  for key, item in next, value do out[key] = packed(item) end
  return array.is(value) and array(out) or out
end

local function unpacked(value)
  if type(value) ~= "table" then return value end
  if value[BYTES] then return crypto.base64_decode(value[BYTES]) end
  for key, item in next, value do value[key] = unpacked(item) end
  return value
end

--- Appends one record.
function Journal:append(record)
  assert(self.handle:append(json.encode(packed(record)) .. "\n", true))
end

--- Closes the file; further appends raise.
function Journal:close()
  self.handle:close()
end

local function decode_lines(text)
  local records = {}
  for line in text:gmatch "([^\n]*)\n" do
    local record, e = json.decode(line)
    if type(record) ~= "table" then return nil, e end
    records[#records + 1] = unpacked(record)
  end
  return records
end

--- Reads the journal at `path`: returns its head and the array of its records, or nil if there is
-- none. A last line that was cut off by the end of the process counts as not written; so
-- does the head.
-- Errors: RTL-WORLD-002 (not a journal of this version).
function M.read(path)
  if not fs.exists(path) then return nil end
  local text, e = fs.read(path)
  if not text then return nil, e end
  if not text:find("\n", 1, true) then return nil end
  local records, cause = decode_lines(text)
  local head = records and table.remove(records, 1)
  if not head or head.version ~= VERSION then
    return err.fail { code = "RTL-WORLD-002", message = "the world's journal can not be read",
                      cause = cause, hint = "Remove " .. path .. " to begin with a new world" }
  end
  return head, records
end

return M
