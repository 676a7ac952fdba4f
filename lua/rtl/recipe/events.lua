--- Events of a run: everything that happens passes here once and goes to every sink.
--
-- An event is a table with a `type` and fields. The bus adds seq, time (UTC) and run. A sink is a
-- function(event); it never stops the run: one that fails is dropped.

local array = require "rtl.array"
local clock = require "rtl.clock"
local err = require "rtl.err"
local json = require "rtl.native.json"
local redact = require "rtl.redact"

local M = {}

local Bus = {}
Bus.__index = Bus

--- A bus without sinks; `run` is the run's id.
function M.bus(run)
  return setmetatable({ run = run, seq = 0, sinks = {}, lost = {} }, Bus)
end

--- Adds a sink: function(event).
function Bus:add(sink)
  self.sinks[#self.sinks + 1] = sink
end

--- Sends an event to every sink. Never fails and never waits.
function Bus:emit(event)
  self.seq = self.seq + 1
  event.seq, event.run = self.seq, self.run
  event.time = clock.iso(clock.utc())
  local kept = {}
  for _, sink in ipairs(self.sinks) do
    local ok, problem = pcall(sink, event)
    if ok then kept[#kept + 1] = sink else self.lost[#self.lost + 1] = problem end
  end
  self.sinks = kept
end

local plain

local function plain_error(e)
  return {
    code = e.code, message = e.message, status = e.status, request_id = e.request_id,
    doing = e.doing, hint = e.hint, cause = e.cause and plain(e.cause, 0) or nil,
  }
end

local MAX_DEPTH = 12

-- A copy that JSON can hold: errors as their fields, other objects as text.
function plain(value, depth)
  if err.is(value) then return plain_error(value) end
  local kind = type(value)
  if kind == "table" then
    if depth > MAX_DEPTH then return "…" end
    local copy = {}
    for key, item in pairs(value) do
      copy[math.type(key) == "integer" and key or tostring(key)] = plain(item, depth + 1)
    end
    return array.is(value) and array(copy) or copy
  end
  if kind == "function" or kind == "thread" then return tostring(kind) end
  if kind == "userdata" and value ~= require "rtl.null" then return tostring(value) end
  return value
end

--- The event as one line of JSON, keys sorted, without secrets.
function M.line(event)
  return (redact.text(json.encode(plain(event, 0))):gsub("\n", " "))
end

return M
