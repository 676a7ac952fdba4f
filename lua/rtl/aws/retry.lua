--- When a call is tried again: full jitter, what the service asks for, and a bucket of tokens that
-- empties when a service is down, so that a client does not hammer it.
--
-- The modes of the SDKs: `standard` (the default) and `adaptive` make three attempts, `legacy`
-- five; when the service only asks for patience it is eight, unless the user set a number
-- (AWS_MAX_ATTEMPTS, max_attempts), which counts the first attempt and holds for all. The rest is
-- the same in all three: legacy has the bucket, too, and the pace that adaptive learns from
-- throttling is always learnt (rtl.aws.limiter).

local clock = require "rtl.clock"
local entropy = require "rtl.entropy"
local task = require "rtl.task"
local value = require "rtl.aws.value"

local M = {}

local bucket = { __name = "rtl.aws.retry" }
bucket.__index = bucket

local CAPACITY, COST, COST_TIMEOUT = 500, 5, 10
local LONGEST = 20
-- By how much x-amz-retry-after may lengthen a wait.
local LONGER = 5
local ATTEMPTS, PATIENT = { legacy = 5, standard = 3, adaptive = 3 }, 8
-- Where an endpoint answered before and now nothing gets through to it (the network of the machine
-- is gone): about a minute and a half. Such an attempt burdens nobody, and costs nothing.
local UNREACHED = 14

--- A new bucket. `attempts` counts the first one (default: by `mode`; 8 for throttling).
function M.new(attempts, mode)
  return setmetatable({
    tokens = CAPACITY, attempts = attempts or ATTEMPTS[mode or "standard"],
    patient = attempts or PATIENT, unreached = attempts or UNREACHED,
  }, bucket)
end

-- Whether attempt `n` was the last that an error like `e` allows.
function bucket:ended(n, e)
  if e.unreached then return n >= self.unreached end
  return n >= (e.throttled and self.patient or self.attempts)
end

-- What an attempt after this error costs; nil when the bucket has not enough.
function bucket:take(e)
  if e.unreached then return 0 end
  local cost = (e.code == "RTL-NET-005" or e.code == "RTL-NET-006" or e.code == "RTL-NET-007")
    and COST_TIMEOUT or COST
  if self.tokens < cost then return nil end
  self.tokens = self.tokens - cost
  return cost
end

function bucket:give(cost)
  self.tokens = math.min(CAPACITY, self.tokens + (cost or 1))
end

-- Retry-After: seconds, or a date.
local function asked_seconds(text)
  local seconds = tonumber(text)
  if seconds then return seconds end
  local date = text and value.parse_http_date(text)
  return date and date - clock.utc()
end

--- Seconds to wait before attempt `n + 1`: random below 2^n, at most 20. What the service asks for
-- is honoured: `Retry-After` (seconds or a date) up to 20, `x-amz-retry-after` (milliseconds) up to
-- 5 more than it would have been. `headers` are those of the answer, or nil.
function M.delay(n, headers)
  local delay = entropy.number() * math.min(2 ^ n, LONGEST)
  local asked = headers and asked_seconds(headers["retry-after"])
  if asked then delay = math.max(delay, math.min(asked, LONGEST)) end
  local milliseconds = headers and tonumber(headers["x-amz-retry-after"])
  if milliseconds then delay = math.max(delay, math.min(milliseconds / 1000, delay + LONGER)) end
  return delay
end

--- Waits before attempt `n + 1`.
function M.wait(n, headers)
  task.sleep(M.delay(n, headers))
end

return M
