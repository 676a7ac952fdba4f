--- A service with a bucket of tokens and a crowd that asks it, in virtual time.

local clock = require "rtl.clock"
local task = require "rtl.task"

local M = {}

--- Seconds that an answer takes.
M.ANSWER_TAKES = 0.05

--- Runs f() with a clock of its own, which begins at 0 and passes only when all wait.
function M.in_virtual_time(f)
  local now = 0
  local former = clock.use {
    mono = function () return now end, utc = function () return now end,
    advance = function (to) now = to end,
  }
  local _ <close> = setmetatable({}, { __close = function () clock.use(former) end })
  return f()
end

--- A service that admits `refill` calls a second and a burst of `holds`; both may be changed.
-- s.ask() → whether the call was admitted; s.between(from, to) → admitted a second, refused.
function M.service(holds, refill)
  local s = { holds = holds, refill = refill, tokens = holds, at = 0, log = {} }
  function s.ask()
    task.sleep(M.ANSWER_TAKES)
    local now = clock.mono()
    s.tokens, s.at = math.min(s.holds, s.tokens + (now - s.at) * s.refill), now
    local admitted = s.tokens >= 1
    if admitted then s.tokens = s.tokens - 1 end
    s.log[#s.log + 1] = { at = now, admitted = admitted }
    return admitted
  end
  function s.between(from, to)
    local admitted, refused = 0, 0
    for _, call in ipairs(s.log) do
      if call.at >= from and call.at < to then
        if call.admitted then admitted = admitted + 1 else refused = refused + 1 end
      end
    end
    return admitted / (to - from), refused
  end
  return s
end

--- `count` tasks ask `s` for `seconds`, through the limiter `l` (nil: as fast as they can); who is
-- refused asks again after a second.
function M.ask(l, s, count, seconds)
  local function ask()
    local sent = clock.mono()
    return s.ask(), sent
  end
  local function go_on()
    while clock.mono() < seconds do
      local admitted, sent
      if l then admitted, sent = l:with(ask) else admitted, sent = ask() end
      if not admitted then
        if l then l:throttled(sent) end
        task.sleep(1)
      end
    end
  end
  task.run(function ()
    task.group(function (g)
      for _ = 1, count do g:spawn(go_on) end
    end)
  end)
end

return M
