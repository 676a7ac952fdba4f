--- The standard retry mode: three attempts, full jitter, and a bucket of tokens that empties when a
-- service is down, so that a client does not hammer it.

local entropy = require "rtl.entropy"
local task = require "rtl.task"

local M = {}

local bucket = { __name = "rtl.aws.retry" }
bucket.__index = bucket

local CAPACITY, COST, COST_TIMEOUT = 500, 5, 10
local LONGEST = 20

--- A new bucket. `attempts` (default 3) counts the first one.
function M.new(attempts)
  return setmetatable({ tokens = CAPACITY, attempts = attempts or 3 }, bucket)
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
