--- The world as a whole: its time, what is going to happen, and the one way in by which it changes.
--
-- A world is a function of its seed, its scenario and the list of what was done to it and when. So
-- the journal keeps just that list, and reading it back is doing it again (without the wire).
-- Nothing here yields: tasks wait outside, in the seams.

local chance = require "rtl.rehearse.chance"

local M = {}

local World = {}
World.__index = World

--- Where every world begins: 2026-12-01T10:00:00Z, in microseconds since 1970.
M.BEGIN_US = 1796119200 * 1000000

--- Makes an empty world. `options`: seed (integer), scenario (name), weather (the scenario's
-- fields).
function M.new(options)
  return setmetatable({
    seed = options.seed, scenario = options.scenario, weather = options.weather or {},
    keys = options.keys or {}, now_us = M.BEGIN_US, queue = {}, queued = 0, counters = {},
    performers = {}, waiters = {}, changes = 0, mutations = 0, runs = 0, last_mark_us = M.BEGIN_US,
    sky = {}, struck_by = {},
  }, World)
end

--- The option that goes on with this world; only one with a name of its own must be named.
function World:option()
  return self.keys.name and "--rehearse=" .. self.title or "--rehearse"
end

--- The virtual time as seconds since 1970 (float).
function World:now()
  return self.now_us / 1000000
end

--- How long the world has been there, in seconds (float).
function World:age()
  return (self.now_us - M.BEGIN_US) / 1000000
end

--- Notes that a kind of weather hit something.
function World:struck(kind)
  self.struck_by[kind] = (self.struck_by[kind] or 0) + 1
end

--- Whether the weather `kind` hits the thing of its sort that comes by now: of all that come, the
-- kind's `skip` first ones get away, and `times` after them do not. Returns the draw, or nil.
function World:strikes(kind)
  local draw = self.sky[kind]
  if not draw then return nil end
  local n = self:count("weather " .. kind)
  if n <= draw.skip or n > draw.skip + draw.times then return nil end
  self:struck(kind)
  return draw
end

--- The virtual time as whole seconds since 1970.
function World:second()
  return self.now_us // 1000000
end

-- The queue is a binary heap, ordered by time and, within one instant, by when it was put in.
local function earlier(a, b)
  if a.at ~= b.at then return a.at < b.at end
  return a.order < b.order
end

local function sift_up(queue, i)
  while i > 1 and earlier(queue[i], queue[i // 2]) do
    queue[i], queue[i // 2] = queue[i // 2], queue[i]
    i = i // 2
  end
end

local function sift_down(queue)
  local i, n = 1, #queue
  while true do
    local least = i
    for child = 2 * i, math.min(2 * i + 1, n) do
      if earlier(queue[child], queue[least]) then least = child end
    end
    if least == i then return end
    queue[i], queue[least] = queue[least], queue[i]
    i = least
  end
end

local function pop(queue)
  local top, last = queue[1], table.remove(queue)
  if not queue[1] then return top end
  queue[1] = last
  sift_down(queue)
  return top
end

--- Lets `happen()` run `seconds` from now, in virtual time.
function World:after(seconds, happen)
  self.queued = self.queued + 1
  local event = { at = self.now_us + math.floor(seconds * 1000000 + 0.5), order = self.queued,
                  happen = happen }
  self.queue[#self.queue + 1] = event
  sift_up(self.queue, #self.queue)
end

--- Goes on to `to_us`; all that was to happen until then happens, each at its own time.
function World:advance(to_us)
  local queue = self.queue
  while queue[1] and queue[1].at <= to_us do
    local event = pop(queue)
    if event.at > self.now_us then self.now_us = event.at end
    event.happen()
    self:signal()
  end
  if to_us > self.now_us then self.now_us = to_us end
end

--- Seconds until something happens by itself, or nil if nothing will.
function World:next_in()
  local first = self.queue[1]
  return first and math.max(0, (first.at - self.now_us) / 1000000)
end

--- Wakes everyone who waits for a change.
function World:signal()
  self.changes = self.changes + 1
  local waiters = self.waiters
  if not waiters[1] then return end
  self.waiters = {}
  for i = 1, #waiters do waiters[i]() end
end

--- Says that what is being performed changed the world, so that it gets into the journal.
function World:touch()
  self.dirty = true
end

--- The next number of a series, from 1.
function World:count(series)
  local n = (self.counters[series] or 0) + 1
  self.counters[series] = n
  self.dirty = true
  return n
end

--- A new id as EC2 writes them: `prefix-` and 17 hexadecimal digits.
function World:id(prefix)
  return prefix .. "-0" .. chance.hex(16, self.seed, "id", prefix, self:count("id " .. prefix))
end

--- A new UUID.
function World:uuid(series)
  return chance.uuid(self.seed, "uuid", series, self:count("uuid " .. series))
end

--- A duration between `low` and `high` seconds that belongs to the further words.
function World:spread(low, high, ...)
  return chance.between(low, high, self.seed, "spread", ...)
end

--- Does `args` by way of the performer `kind`; what changed the world is in the journal when this
-- returns. Returns the performer's results.
function World:perform(kind, args)
  self.dirty = false
  local a, b = self.performers[kind](self, args)
  if self.dirty then
    self.mutations = self.mutations + 1
    if self.journal then
      self.journal:append { t = self.now_us, n = self.calls, k = kind, a = args }
      self.last_mark_us = self.now_us
    end
    self:signal()
  end
  return a, b
end

--- Does again what a journal's record says.
function World:redo(record)
  self:advance(record.t)
  local perform = self.performers[record.k]
  if not perform then return end
  self.dirty = false
  perform(self, record.a)
  if self.dirty then self.mutations = self.mutations + 1 end
end

local MARK_US = 30 * 1000000

--- Notes in the journal how far time has gone, if that is worth a line (or `always`).
function World:mark(always)
  if not self.journal or self.now_us == self.last_mark_us then return end
  if not always and self.now_us - self.last_mark_us < MARK_US then return end
  self.last_mark_us = self.now_us
  self.journal:append { t = self.now_us, n = self.calls, k = "time" }
end

return M
