--- How fast a service is asked: how many calls at once, and, once it has said that it is too much,
-- how many a second. One limiter for all clients of a session that ask one service in one region.
--
-- The pace is learnt as TCP learns it. Nothing is held back until the service throttles. Then the
-- pace is 0.7 of what was sent, at least 5 a second (who sends little was not the cause) and at
-- most the refill rate that AWS documents (`rate` of the operation table); each further
-- throttling takes it to 0.7 again, and it grows by a twentieth a second in between. A minute
-- without throttling ends it. The SDKs' adaptive mode grows by the cube of the time: over a bucket
-- that holds a burst it runs far past the rate before the service says anything, and is thrown back
-- as far. And where that counts each refusal, here those of calls that were under way when the pace
-- was last taken down don't count: they say nothing new. (Beside botocore's own classes, in
-- test/contract: as fast, with a third of the refusals.)

local clock = require "rtl.clock"
local task = require "rtl.task"

local M = {}

local limiter = { __name = "rtl.aws.limiter" }
limiter.__index = limiter

-- As many connections a host as the SDKs keep.
local AT_ONCE = 10
local FIRST, SLOWER, GROWTH, SLOWEST, QUIET = 5, 0.7, 1 / 20, 0.5, 60

--- new(rate) → limiter. `rate`: the calls a second that AWS documents, or nil.
function M.new(rate)
  return setmetatable({
    slots = task.limit(AT_ONCE), gate = task.limit(1), documented = rate or math.huge,
    sent_rate = 0, sent_at = -math.huge, next_at = 0, base = nil, since = nil,
  }, limiter)
end

-- Calls a second that are allowed now, or nil: as many as come.
function limiter:rate(now)
  if not self.base then return nil end
  local quiet = now - self.since
  if quiet > QUIET then
    self.base = nil
    return nil
  end
  return self.base * (1 + GROWTH * quiet)
end

-- Waits for this call's turn. One at a time, so that a pace that changed holds for the next one.
local function take_turn(self)
  while true do
    local now = clock.mono()
    local rate = self:rate(now)
    if not rate or now >= self.next_at then
      self.next_at = rate and now + 1 / rate or now
      return
    end
    task.sleep(math.min(self.next_at, now + 1 / rate) - now)
  end
end

-- The rate of sending, forgotten by the second: each call adds one.
local function count(self, now)
  self.sent_rate = self.sent_rate * math.exp(self.sent_at - now) + 1
  self.sent_at = now
end

--- Calls f(...) when it is this call's turn, and returns what it returns.
function limiter:with(f, ...)
  local _ <close> = self.slots:enter()
  if self.base then self.gate:with(take_turn, self) end
  count(self, clock.mono())
  return f(...)
end

--- Tells that the service has throttled a call which was sent at `sent` (clock.mono seconds).
function limiter:throttled(sent)
  local now = clock.mono()
  local rate = self:rate(now)
  if rate and sent <= self.since then return end
  local base = SLOWER * (rate or self.sent_rate)
  if not rate then base = math.min(math.max(base, FIRST), self.documented) end
  self.base, self.since = math.max(base, SLOWEST), now
end

return M
