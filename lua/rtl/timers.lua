--- A heap of timers for the scheduler: earliest first, then in order of setting.

local M = {}

local heap = {}
local sequence = 0

local function before(a, b)
  return a.at < b.at or (a.at == b.at and a.sequence < b.sequence)
end

local function place(timer, i)
  heap[i] = timer
  timer.position = i
end

local function up(timer, i)
  while i > 1 and before(timer, heap[i // 2]) do
    place(heap[i // 2], i)
    i = i // 2
  end
  place(timer, i)
end

local function down(timer, i)
  local n = #heap
  while 2 * i <= n do
    local child = 2 * i
    if child < n and before(heap[child + 1], heap[child]) then child = child + 1 end
    if not before(heap[child], timer) then break end
    place(heap[child], i)
    i = child
  end
  place(timer, i)
end

local timer_mt = { __name = "rtl.timer" }

--- Calls `fire()` once when M.fire is told a time of at least `at`. Returns the timer, a `<close>`
-- value that is cleared where it is closed.
function M.set(at, fire)
  sequence = sequence + 1
  local timer = setmetatable({ at = at, sequence = sequence, fire = fire }, timer_mt)
  up(timer, #heap + 1)
  return timer
end

--- Takes a timer out; one that has fired or was cleared is ignored.
function M.clear(timer)
  local i = timer.position
  if not i then return end
  timer.position = nil
  local last = table.remove(heap)
  if last == timer then return end
  if i > 1 and before(last, heap[i // 2]) then up(last, i) else down(last, i) end
end

timer_mt.__close = M.clear

--- The time of the earliest timer, or nil.
function M.next()
  return heap[1] and heap[1].at
end

--- Fires all that is due at `now`, earliest first.
function M.fire(now)
  while heap[1] and heap[1].at <= now do
    local timer = heap[1]
    M.clear(timer)
    timer.fire()
  end
end

--- How many timers are set.
function M.count()
  return #heap
end

return M
