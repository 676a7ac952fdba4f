--- What tasks share: limits, futures, queues. Used as functions of rtl.task, which connects this
-- file to its ways to wait and to wake.

local M = {}

local run, in_task, wait_in, wake_one, wake_all

--- Called once, by rtl.task.
function M.connect(scheduler)
  run, in_task = scheduler.run, scheduler.in_task
  wait_in, wake_one, wake_all = scheduler.wait_in, scheduler.wake_one, scheduler.wake_all
end

local limit_methods = {}
local limit_mt = { __index = limit_methods, __name = "rtl.limit" }

--- Described at rtl.task.limit.
function M.limit(n)
  return setmetatable({ free = n, waiters = {} }, limit_mt)
end

--- Waits until fewer than n others are inside, and goes in. Returns a `<close>` value: where it is
-- closed, one is out again.
function limit_methods:enter()
  if not in_task() then return run(self.enter, self) end
  if self.free == 0 then wait_in(self.waiters, function () return self.free > 0 end) end
  self.free = self.free - 1
  return self
end

function limit_mt:__close()
  self.free = self.free + 1
  wake_one(self.waiters)
end

--- Calls `f(...)` when fewer than n others are inside; returns what it returns.
function limit_methods:with(f, ...)
  if not in_task() then return run(self.with, self, f, ...) end
  local _ <close> = self:enter()
  return f(...)
end

local future_methods = {}
local future_mt = { __index = future_methods, __name = "rtl.future" }

--- Described at rtl.task.future.
function M.future()
  return setmetatable({ waiters = {} }, future_mt)
end

local function settle_future(f, ok, ...)
  if f.values then error("this future is set already", 3) end
  f.ok, f.values = ok, table.pack(...)
  wake_all(f.waiters)
end

--- Gives the future its values.
function future_methods:set(...)
  settle_future(self, true, ...)
end

--- Makes get raise `e`.
function future_methods:fail(e)
  settle_future(self, false, e)
end

--- Whether it is set or failed.
function future_methods:ready()
  return self.values ~= nil
end

--- Waits for the values and returns them; raises what it was failed with.
function future_methods:get()
  if not in_task() then return run(self.get, self) end
  wait_in(self.waiters, function () return self.values end)
  if not self.ok then error(self.values[1], 0) end
  return table.unpack(self.values, 1, self.values.n)
end

local queue_methods = {}
local queue_mt = { __index = queue_methods, __name = "rtl.queue" }

--- Described at rtl.task.queue.
function M.queue(limit)
  return setmetatable({
    first = 1, last = 0, limit = limit or math.huge, getters = {}, putters = {},
  }, queue_mt)
end

--- Adds a value (not nil). Raises when the queue is closed.
function queue_methods:put(value)
  if value == nil then error("bad argument #1 to 'put' (value expected)", 2) end
  if self.last - self.first + 1 >= self.limit then
    if not in_task() then return run(self.put, self, value) end
    wait_in(self.putters, function ()
      return self.closed or self.last - self.first + 1 < self.limit
    end)
  end
  if self.closed then error("the queue is closed", 2) end
  self.last = self.last + 1
  self[self.last] = value
  wake_one(self.getters)
end

--- The oldest value; waits for one. nil when the queue is closed and empty.
function queue_methods:get()
  if not in_task() then return run(self.get, self) end
  wait_in(self.getters, function () return self.first <= self.last or self.closed end)
  local value = self[self.first]
  if value == nil then return nil end
  self[self.first] = nil
  self.first = self.first + 1
  wake_one(self.putters)
  return value
end

--- Says that nothing more comes. Idempotent.
function queue_methods:close()
  self.closed = true
  wake_all(self.getters)
  wake_all(self.putters)
end

return M
