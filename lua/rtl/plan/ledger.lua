--- The ledger: what was begun and what came of it, one JSON line each, on disk before the call.
-- Records: {event = "intent"}, {event = "outcome", ok = true|false}, "ready", "deleting",
-- "deleted", and notes. A line that a dying program tore is dropped; the intent before it stands.

local clock = require "rtl.clock"
local err = require "rtl.err"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local keys = require "rtl.keys"

local M = {}
local Ledger = {}
Ledger.__index = Ledger

local FILE = "ledger.ndjson"

--- Seconds after which what was made is surely found, by its id and by its tags.
M.VISIBLE = 60

--- Seconds since the thing of an entry of state() was begun; for ever, where that is not known.
function M.age(entry)
  local begun = entry and clock.parse_iso(entry.at or "")
  return begun and math.max(0, clock.utc() - begun) or math.huge
end

-- The records of a text; a line that does not decode is kept aside. Only the last one may be torn
-- by a death; one in the middle means that somebody edited the file.
local function parse(text)
  local records, bad = {}, {}
  local number = 0
  for line, ending in text:gmatch("([^\n]*)(\n?)") do
    number = number + 1
    local record = line ~= "" and json.decode(line)
    if type(record) == "table" and ending == "\n" then
      records[#records + 1] = record
    elseif line ~= "" then
      bad[#bad + 1] = { number = number, torn = ending == "" }
    end
  end
  return records, bad
end

local function damaged(path, bad)
  for _, line in ipairs(bad) do
    if not line.torn then
      return err.new { code = "RTL-PLAN-011",
        message = ("line %d of %s is not a record"):format(line.number, path),
        hint = "Move the file away: teardown also works without it, by tags" }
    end
  end
end

-- Cuts a torn last line off, so that the next record does not begin in its middle.
local function mend(path, text, bad)
  if #bad == 0 then return true end
  local whole = text:match("^(.*\n)") or ""
  return fs.write(path, whole)
end

local apply_record = {}

function apply_record.intent(entry, record)
  entry.state, entry.token, entry.at = "open", record.token, record.at
  entry.times = entry.times + 1
  entry.deps, entry.outputs, entry.id = record.deps, {}, nil
end

function apply_record.outcome(entry, record)
  if record.ok then
    entry.state, entry.id, entry.outputs = "made", record.id, record.outputs or {}
  else
    entry.state = "refused"
  end
end

function apply_record.ready(entry, record)
  entry.state, entry.outputs = "made", record.outputs or entry.outputs
  entry.id = record.id or entry.id
end

function apply_record.deleting(entry)
  entry.state = "deleting"
end

function apply_record.deleted(entry)
  entry.state = "deleted"
end

local function take_in(state, record)
  local change = apply_record[record.event]
  if not (change and record.key) then return end
  local entry = state[record.key] or { key = record.key, outputs = {}, times = 0 }
  state[record.key] = entry
  entry.kind, entry.name = record.kind or entry.kind, record.name or entry.name
  entry.run = record.run
  change(entry, record)
end

--- Whether the ledger in folder `dir` speaks of things that may still stand, other than those of
-- the kinds in `light` (name → true). Reads only, and takes no lock: another run may be writing.
function M.stands(dir, light)
  local path, now = fs.join(dir, FILE), {}
  local text = fs.exists(path) and fs.read(path)
  for _, record in ipairs(text and parse(text) or {}) do take_in(now, record) end
  for _, entry in pairs(now) do
    local counts = not (light and light[entry.kind])
    if counts and entry.state ~= "refused" and entry.state ~= "deleted" then return true end
  end
  return false
end

-- The ledger of a file, without a handle to write; its text and its bad lines beside it.
local function read(path, run)
  local text, unread = "", nil
  if fs.exists(path) then text, unread = fs.read(path) end
  if not text then return nil, unread end
  local records, bad = parse(text)
  local problem = damaged(path, bad)
  if problem then return nil, problem end
  return setmetatable({ path = path, records = records, run = run, now = {}, taken = 0 }, Ledger),
    text, bad
end

--- Opens (and makes) the ledger in folder `dir`; `run` is the id that its records carry. Only the
-- holder of the deployment's lock may: a torn last line is cut off, which would take the file from
-- under a run that is writing it.
-- Returns the ledger, or nil and RTL-PLAN-011 when its middle is damaged.
function M.open(dir, run)
  local made, failure = fs.mkdirs(dir)
  if not made then return nil, failure end
  local ledger, text, bad = read(fs.join(dir, FILE), run)
  if not ledger then return nil, text end
  local mended, why = mend(ledger.path, text, bad)
  if not mended then return nil, why end
  local handle, refused = fs.append(ledger.path)
  if not handle then return nil, refused end
  ledger.handle = handle
  return ledger
end

--- What the ledger in folder `dir` says by now, without a lock: another run may be writing it, and
-- its file stays as it is. Nothing can be appended. nil where there is none; nil, err as M.open.
function M.peek(dir)
  local path = fs.join(dir, FILE)
  if not fs.exists(path) then return nil end
  local ledger, failure = read(path)
  if not ledger then return nil, failure end
  return ledger
end

--- Appends a record; it is on disk when this returns true, or with `lazy` when the next one is.
-- Adds `at` (UTC) and `run`.
function Ledger:append(record, lazy)
  if not self.handle then error("this ledger is only read: its run has no lock", 2) end
  record.at = record.at or clock.iso(clock.utc())
  record.run = record.run or self.run
  local done, failure = self.handle:append(json.encode(record) .. "\n", lazy)
  if not done then return nil, failure end
  self.records[#self.records + 1] = record
  return true
end

--- Appends a note: something to remember that is not a resource (`ledger:note("capacity", {…})`).
function Ledger:note(event, fields)
  local record = { event = event }
  for key, value in pairs(fields or {}) do record[key] = value end
  return self:append(record)
end

--- What the records say, by resource key: {key, kind, name, state, id, outputs, token, deps, at,
-- run, times}. state: open (intent without outcome), made, refused, deleting, deleted; times: how
-- often it was begun. The table is the ledger's own and follows further records: read it only.
function Ledger:state()
  for i = self.taken + 1, #self.records do take_in(self.now, self.records[i]) end
  self.taken = #self.records
  return self.now
end

--- The intents that have no outcome, sorted by key: what a dead run may have made.
function Ledger:open_intents()
  local state, open = self:state(), {}
  for _, key in ipairs(keys.sorted(state)) do
    if state[key].state == "open" then open[#open + 1] = state[key] end
  end
  return open
end

--- The notes of that event, oldest first.
function Ledger:notes(event)
  local notes = {}
  for _, record in ipairs(self.records) do
    if record.event == event then notes[#notes + 1] = record end
  end
  return notes
end

function Ledger:close()
  if self.handle then self.handle:close() end
  self.handle = nil
end

Ledger.__close = Ledger.close

return M
