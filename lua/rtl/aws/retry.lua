--- The standard retry mode: three attempts (eight when the service only asks for patience), full
-- jitter, and a bucket of tokens that empties when a service is down, so that a client does not
-- hammer it.

local entropy = require "rtl.entropy"
local task = require "rtl.task"

local M = {}

local bucket = { __name = "rtl.aws.retry" }
bucket.__index = bucket

local CAPACITY, COST, COST_TIMEOUT = 500, 5, 10
local LONGEST = 20
local ATTEMPTS, PATIENT = 3, 8

--- A new bucket. `attempts` counts the first one (default 3; 8 for throttling).
function M.new(attempts)
  return setmetatable({
    tokens = CAPACITY, attempts = attempts or ATTEMPTS, patient = attempts or PATIENT,
  }, bucket)
end

-- Whether attempt `n` was the last that an error like `e` allows.
function bucket:ended(n, e)
  return n >= (e.throttled and self.patient or self.attempts)
end

-- What an attempt after this error costs; nil when the bucket has not enough.
function bucket:take(e)
  local cost = (e.code == "RTL-NET-005" or e.code == "RTL-NET-006" or e.code == "RTL-NET-007")
    and COST_TIMEOUT or COST
  if self.tokens < cost then return nil end
  self.tokens = self.tokens - cost
  return cost
end

function bucket:give(cost)
  self.tokens = math.min(CAPACITY, self.tokens + (cost or 1))
end

--- Seconds to wait before attempt `n + 1`: random below 2^n, at most 20; what the service asks for
-- (`Retry-After`) is honoured up to 20, too.
function M.delay(n, asked)
  local delay = entropy.number() * math.min(2 ^ n, LONGEST)
  if asked then delay = math.max(delay, math.min(asked, LONGEST)) end
  return delay
end

--- Waits before attempt `n + 1`.
function M.wait(n, asked)
  task.sleep(M.delay(n, asked))
end

return M
