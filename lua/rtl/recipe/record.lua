--- The record of a run: its events and files, in runs/ID below the deployment's folder.

local fs = require "rtl.fs"
local json = require "rtl.native.json"
local redact = require "rtl.redact"
local events = require "rtl.recipe.events"

local M = {}

local Record = {}
Record.__index = Record

local BATCH = 64 -- lines kept back: what a death may lose of the record (never of the ledger)

--- Opens the record of run `id` below `folder` (made when the first file is written).
function M.open(folder, id)
  local dir = fs.join(folder, "runs", id)
  return setmetatable({ folder = folder, dir = dir, id = id, lines = {}, written = 0 }, Record)
end

local function append(self)
  if #self.lines == 0 then return end
  assert(fs.mkdirs(self.dir))
  local path = fs.join(self.dir, "events.ndjson")
  local handle = assert(fs.append(path))
  local ok, failure = handle:append(table.concat(self.lines, "\n") .. "\n")
  handle:close()
  self.lines = {}
  assert(ok, failure)
end

--- Records an event.
function Record:event(event)
  self.lines[#self.lines + 1] = events.line(event)
  if #self.lines >= BATCH then append(self) end
end

--- Writes out what was kept back.
function Record:flush()
  append(self)
end

local function path_of(self, name)
  if name:match("^/") or name:match("%.%.") then
    error(("bad argument #1 to 'save' (plain name expected, got '%s')"):format(name), 3)
  end
  return fs.join(self.dir, name)
end

--- Saves bytes (secrets removed) as a file of the run, for readers; returns its path or nil, err.
-- No later run depends on it, so it is not forced to the disk.
function Record:save(name, bytes)
  local path = path_of(self, name)
  local made, failure = fs.mkdirs(fs.dirname(path))
  if not made then return nil, failure end
  local done, why = fs.write(path, redact.text(bytes), nil, true)
  if not done then return nil, why end
  return path
end

--- Remembers a table under a name for later runs of the deployment.
function Record:remember(name, value)
  local made, failure = fs.mkdirs(self.folder)
  if not made then return nil, failure end
  return fs.write(fs.join(self.folder, name .. ".json"),
    redact.text(json.encode(value, { pretty = true })) .. "\n")
end

-- What is remembered, with the types of the fields that its readers rely on.
local SHAPES = {
  job = { id = "string", run = "string", at = "string", seconds = "number", verdict = "table" },
  submitted = { id = "string", before = "table", env = "table" },
}

--- What was remembered under a name; nil where nothing was, or what is there is damaged.
function Record:recall(name)
  local path = fs.join(self.folder, name .. ".json")
  local text = fs.exists(path) and fs.read(path)
  local value = text and json.decode(text)
  if type(value) ~= "table" then return nil end
  for field, wanted in pairs(SHAPES[name] or {}) do
    if type(value[field]) ~= wanted then return nil end
  end
  return value
end

return M
