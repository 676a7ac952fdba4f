--- Tasks: plain sequential code whose waiting lets others run.
-- All waiting ends here: this is the only file with a coroutine.yield. Outside of a task every
-- call works too: it runs as a task of its own and drives the event loop until that is done.
--
-- Cancellation is an error raised where a task waits. pcall, xpcall and coroutine.resume (replaced
-- here) pass it on, and it is raised again at each further wait, so that no loop can swallow it;
-- <close> values run. What it unwinds to is a *scope*: each deadline, group, shield and task is
-- one. A task is cancelled when one of the scopes around it is, up to the next shield.

local clock = require "rtl.clock"
local err = require "rtl.err"
local host = require "rtl.native.host"
local loop = require "rtl.native.loop"
local timers = require "rtl.timers"

local M = {}

local raw_pcall, raw_xpcall = pcall, xpcall
local raw_yield, raw_close, raw_create = coroutine.yield, coroutine.close, coroutine.create
local raw_resume = host.resume -- coroutine.resume that tells Ctrl-C which coroutine runs
local WAITING = {}             -- what a task yields to the scheduler; never seen by anyone else

local current                  -- the task that runs now; nil in the scheduler and outside
local ready = { first = 1, last = 0 }
local awaited = {}             -- token → the task that waits for it
local awaited_count, live_count, sequence = 0, 0, 0

local function check_function(f, position, name)
  if type(f) == "function" then return end
  error(("bad argument #%d to '%s' (function expected, got %s)"):format(position, name, type(f)), 3)
end

local function check_seconds(s, position, name)
  if type(s) == "number" and s == s then return end
  error(("bad argument #%d to '%s' (seconds expected)"):format(position, name), 3)
end

-- ---- scopes and cancellation ----

local cancelled_mt = { __name = "rtl.cancelled" }

function cancelled_mt.__tostring(c)
  return c.reason
end

--- Whether `value` is what a cancelled task raises (tostring gives the reason). Only code that
-- shows errors needs this, since pcall never returns one.
function M.is_cancelled(value)
  return getmetatable(value) == cancelled_mt
end

-- Errors that are texts get the trace of where they were raised, once.
local function traced(e)
  if type(e) ~= "string" or e:find("\nstack traceback:\n", 1, true) then return e end
  return debug.traceback(e, 2)
end

local function new_scope(parent)
  sequence = sequence + 1
  local scope = { parent = parent, id = sequence, inner = {} }
  if parent then parent.inner[scope] = true end
  return scope
end

local function end_scope(scope)
  scope.ended = true
  scope.parent.inner[scope] = nil
  if scope.timer then timers.clear(scope.timer) end
end

local root = new_scope(nil)

-- The outermost cancelled scope that `scope` is not shielded from.
local function cancelled_in(scope)
  local found, shielded = nil, false
  while scope do
    if scope.reason and (not shielded or scope.force) then found = scope end
    shielded = shielded or scope.shield
    scope = scope.parent
  end
  return found
end

local function cancellation(scope)
  return setmetatable({ scope = scope, reason = scope.reason, code = "RTL-TASK-002" }, cancelled_mt)
end

local function check(task)
  local scope = cancelled_in(task.scope)
  if scope then error(cancellation(scope), 0) end
end

local function wake(task)
  if task.parked then
    task.parked = false
    ready.last = ready.last + 1
    ready[ready.last] = task
  end
end

-- Wakes what waits inside a cancelled scope, in order of creation: pairs() has none.
local function deliver(scope, force)
  if scope.waiting then wake(scope.waiting) end
  local inner = {}
  for s in pairs(scope.inner) do
    if force or not s.shield then inner[#inner + 1] = s end
  end
  table.sort(inner, function (a, b) return a.id < b.id end)
  for _, s in ipairs(inner) do deliver(s, force) end
end

local function cancel(scope, reason, force)
  if scope.ended or (scope.reason and (scope.force or not force)) then return end
  scope.reason, scope.force = scope.reason or reason, force
  deliver(scope, force)
end

local function enter_scope(task)
  task.scope = new_scope(task.scope)
  return task.scope
end

local function leave_scope(task, scope)
  task.scope = scope.parent
  end_scope(scope)
end

-- ---- waiting ----

-- Lets others run until someone wakes this task, for whatever reason: callers look again.
-- `awake`: only lets them run.
local function park(awake)
  local task = current
  local scope = task.scope
  if not coroutine.isyieldable() then
    error("this call waits, which can't be done inside require, sort, gsub and their like", 0)
  end
  task.parked, scope.waiting = true, task
  if awake then wake(task) end
  raw_yield(WAITING)
  scope.waiting = nil
end

local function wake_one(waiters)
  local task = table.remove(waiters, 1)
  if task then wake(task) end
end

local function wake_all(waiters)
  for i = 1, #waiters do
    wake(waiters[i])
    waiters[i] = nil
  end
end

-- A cancelled task leaves the queue; if it was woken already, the next one gets its turn.
local function leave_queue(waiters, task)
  for i, waiter in ipairs(waiters) do
    if waiter == task then
      table.remove(waiters, i)
      return
    end
  end
  wake_one(waiters)
end

-- Waits in the queue `waiters` until test() holds.
local function wait_in(waiters, test)
  local task = current
  check(task)
  while not test() do
    waiters[#waiters + 1] = task
    park()
    if cancelled_in(task.scope) then
      leave_queue(waiters, task)
      check(task)
    end
  end
end

-- ---- tasks and the scheduler ----

local task_methods = {}
local task_mt = { __index = task_methods, __name = "rtl.task" }

local function body(f, ...)
  return raw_xpcall(f, traced, ...) -- inside the coroutine, so that <close> values run and may wait
end

local function new_task(scope, on_end, f, ...)
  local task = setmetatable({ args = table.pack(f, ...), joiners = {}, on_end = on_end }, task_mt)
  task.own = new_scope(scope)
  task.scope = task.own
  task.co = raw_create(body)
  live_count = live_count + 1
  task.parked = true
  wake(task)
  return task
end

local function finish(task, ok, ...)
  task.done, task.ok, task.results = true, ok, table.pack(...)
  live_count = live_count - 1
  end_scope(task.own)
  wake_all(task.joiners)
  if task.on_end then task.on_end(task) end
end

-- What a resume has returned: the task waits, has ended, or broke out of its xpcall.
local function settle(task, ok, ...)
  if ok and coroutine.status(task.co) == "suspended" then
    if (...) == WAITING then return end
    raw_close(task.co)
    return finish(task, false, "coroutine.yield in a task, outside of a coroutine of its own")
  end
  if ok then return finish(task, ...) end
  raw_close(task.co)
  finish(task, false, ...)
end

local function resume(task)
  current = task
  local args = task.args
  if args then
    task.args = nil
    settle(task, host.resume_task(task.co, table.unpack(args, 1, args.n)))
  else
    settle(task, host.resume_task(task.co))
  end
  current = nil
end

local function run_ready()
  for i = ready.first, ready.last do
    local task = ready[i]
    ready[i] = nil
    ready.first = i + 1
    if task.args and task.on_end and cancelled_in(task.own) then
      task.args = nil
      finish(task, false, cancellation(cancelled_in(task.own))) -- cancelled before it began
    else
      resume(task)
    end
  end
end

local interrupt = assert(loop.watch(host.interrupt_fd(), "r"))
local seen_presses = 0

-- Ctrl-C once cancels everything up to the shields, twice the shields too.
local function look_at_interrupt()
  local presses = host.interrupts()
  if presses > seen_presses then
    seen_presses = presses
    interrupt:take()
    cancel(root, "interrupted", presses > 1)
  end
end

local function poll(timeout)
  for _, token in ipairs(loop.wait(timeout)) do
    local task = awaited[token]
    if task then wake(task) end
  end
end

-- How long the loop may sleep: seconds, or nil for ever. Virtual time stands while something real is
-- on its way, and jumps to the next timer when nothing is. False: nothing can ever happen.
local function time_to_sleep()
  local at, virtual = timers.next(), clock.is_virtual()
  if ready.first <= ready.last then return 0 end
  if awaited_count > 0 and (virtual or not at) then return nil end
  if not at then return false end
  if virtual then
    clock.advance(at)
    return 0
  end
  return math.max(0, at - clock.mono())
end

-- One round. Returns false when all tasks wait for each other.
local function turn()
  timers.fire(clock.mono())
  run_ready()
  local timeout = time_to_sleep()
  if timeout == false then return false end
  if timeout ~= 0 or awaited_count > 0 then poll(timeout) end
  look_at_interrupt()
  return true
end

local STUCK = "all tasks wait for each other"

local function drive(task)
  local stuck = 0
  while not task.done do
    if not turn() and not task.done then
      stuck = stuck + 1
      if stuck > 2 then error(STUCK .. " (RTL-TASK-003)", 0) end
      cancel(task.own, STUCK, stuck == 2)
    end
  end
  return stuck > 0
end

local function values_of(task)
  if task.ok then return table.unpack(task.results, 1, task.results.n) end
  error(task.results[1], 0)
end

--- Runs `f(...)` as a task and the event loop until it is done; returns what f returns, or raises
-- what it raises. Inside a task it is a plain call.
function M.run(f, ...)
  check_function(f, 1, "run")
  if current then return f(...) end
  local task = new_task(root, nil, f, ...)
  local stuck = drive(task)
  if stuck and not task.ok and M.is_cancelled(task.results[1]) then
    error(err.new { code = "RTL-TASK-003", message = STUCK }, 0)
  end
  return values_of(task)
end

--- Starts `f(...)` beside everything else, in no group: for the REPL, whose lines are plain calls.
-- Nobody waits for it; Ctrl-C cancels it. Returns the task.
function M.background(f, ...)
  check_function(f, 1, "background")
  return new_task(root, nil, f, ...)
end

--- Makes a fresh start after an interrupt (the REPL before each line): forgets the presses, and a
-- task that was torn out of the scheduler.
function M.recover()
  host.interrupts_clear()
  interrupt:take()
  current, seen_presses, root.reason, root.force = nil, 0, nil, nil
end

--- Cancels all that is still on its way and lets it end, for at most `seconds` (the REPL's end).
function M.shutdown(seconds)
  local at = clock.mono() + seconds
  cancel(root, "the program ends")
  timers.set(at, function () cancel(root, "the program ends", true) end)
  while live_count > 0 and clock.mono() <= at and turn() do end
end

--- Waits until the task has ended; returns its results or raises its error. A task that was
-- cancelled gives nil and an RTL-TASK-002.
function task_methods:join()
  if not current then return M.run(self.join, self) end
  wait_in(self.joiners, function () return self.done end)
  if not self.ok and M.is_cancelled(self.results[1]) then
    return err.fail { code = "RTL-TASK-002", message = self.results[1].reason }
  end
  return values_of(self)
end

--- Cancels the task at its next wait. `reason` is a text.
function task_methods:cancel(reason)
  cancel(self.own, reason or "cancelled")
end

--- The task that runs now, or nil.
function M.current()
  return current
end

--- Whether this is called by a task.
function M.in_task()
  return current ~= nil
end

--- What is in use: { tasks = not ended, timers = set, awaited = handles that tasks wait for }.
function M.live()
  return { tasks = live_count, timers = timers.count(), awaited = awaited_count }
end

-- ---- groups ----

local group_methods = {}
local group_mt = { __index = group_methods, __name = "rtl.group" }

-- `own`: the scope of the task that has raised `e`; nil for the group's function.
local function fail_group(g, e, own)
  if not M.is_cancelled(e) then
    g.failure = g.failure or { e }
    cancel(g.scope, "another task of its group failed")
  elseif e.scope ~= own and e.scope ~= g.scope then
    g.cancelled = e -- from around the group: it goes on out
  end
end

--- Starts `f(...)` as a task of the group. Returns the task (see join and cancel).
function group_methods:spawn(f, ...)
  check_function(f, 2, "spawn")
  if self.scope.ended then error("the group has ended", 2) end
  self.pending = self.pending + 1
  return new_task(self.scope, self.on_end, f, ...)
end

--- Cancels all tasks of the group, and its function; the group then ends without an error.
function group_methods:cancel(reason)
  cancel(self.scope, reason or "cancelled")
end

local function new_group(scope)
  local g = setmetatable({ scope = scope, pending = 0, waiters = {} }, group_mt)
  function g.on_end(task)
    g.pending = g.pending - 1
    if not task.ok then fail_group(g, task.results[1], task.own) end
    wake_all(g.waiters)
  end
  return g
end

local function leave_group(task, g, ok, ...)
  if not ok then fail_group(g, (...)) end
  while g.pending > 0 do -- also when cancelled: the tasks are, too, and end at their next wait
    g.waiters[1] = task
    park()
  end
  leave_scope(task, g.scope)
  if g.failure then error(g.failure[1], 0) end
  if g.cancelled then error(g.cancelled, 0) end
  if ok then return ... end
end

--- Calls `f(g)`, where g:spawn starts tasks, and returns what f returns when all of them have
-- ended. The first failure, of f or of a task, cancels the others and is raised after they ended.
function M.group(f)
  check_function(f, 1, "group")
  if not current then return M.run(M.group, f) end
  local g = new_group(enter_scope(current))
  return leave_group(current, g, raw_xpcall(f, traced, g))
end

--- The array of f(item, i) for each item of `list`, in its order, computed by at most `limit` tasks
-- at once (default: all). The first failure cancels the rest and is raised.
function M.map(list, f, limit)
  check_function(f, 2, "map")
  local results, taken = {}, 0
  local function work()
    while taken < #list do
      taken = taken + 1
      local i = taken
      results[i] = f(list[i], i)
    end
  end
  M.group(function (g)
    for _ = 1, math.min(limit or #list, #list) do g:spawn(work) end
  end)
  return results
end

-- ---- time ----

--- Lets the others run once.
function M.yield()
  if not current then return M.run(M.yield) end
  local task = current
  check(task)
  park(true)
  check(task)
end

--- Waits for `seconds`.
function M.sleep(seconds)
  check_seconds(seconds, 1, "sleep")
  if not current then return M.run(M.sleep, seconds) end
  local task = current
  local fired
  local timer = timers.set(clock.mono() + seconds, function ()
    fired = true
    wake(task)
  end)
  while not fired do
    if cancelled_in(task.scope) then
      timers.clear(timer)
      check(task)
    end
    park()
  end
  check(task)
end

local function leave_timed(task, scope, seconds, ok, ...)
  leave_scope(task, scope)
  if ok then return ... end
  local e = ...
  if M.is_cancelled(e) and e.scope == scope then
    return err.fail { code = "RTL-TASK-001", message = ("not done within %g s"):format(seconds) }
  end
  error(e, 0)
end

local function timed(seconds, shield, f, ...)
  local scope = enter_scope(current)
  scope.shield = shield
  scope.timer = timers.set(clock.mono() + seconds, function () cancel(scope, "deadline") end)
  return leave_timed(current, scope, seconds, raw_xpcall(f, traced, ...))
end

--- Calls `f(...)` and returns what it returns; after `seconds` it is cancelled at its next wait,
-- with everything that it started, and the results are nil and an RTL-TASK-001. Deadlines around
-- this one still hold.
function M.deadline(seconds, f, ...)
  check_seconds(seconds, 1, "deadline")
  check_function(f, 2, "deadline")
  return M.run(timed, seconds, false, f, ...)
end

--- As M.deadline, but what is cancelled around it does not reach `f` (the second Ctrl-C does): for
-- clean-up that waits.
function M.shield(seconds, f, ...)
  check_seconds(seconds, 1, "shield")
  check_function(f, 2, "shield")
  return M.run(timed, seconds, true, f, ...)
end

--- Seconds until the nearest deadline around this call (0 when it has passed), or nil.
function M.remaining()
  local scope = current and current.scope
  local at
  while scope do
    if scope.timer and (not at or scope.timer.at < at) then at = scope.timer.at end
    if scope.shield then break end
    scope = scope.parent
  end
  return at and math.max(0, at - clock.mono())
end

-- ---- native handles ----

local function wait_token(task, token)
  if awaited[token] then error("another task waits for this handle", 0) end
  awaited[token], awaited_count = task, awaited_count + 1
  task.token = token
  park()
  task.token = nil
  awaited[token], awaited_count = nil, awaited_count - 1
  check(task)
end

local function taken(task, handle, ok, ...)
  if ok then return ... end
  wait_token(task, handle:token())
  return taken(task, handle, handle:take())
end

--- Waits until `handle` (of the loop's protocol) has something, and returns what its take gives.
function M.await(handle)
  if not current then return M.run(M.await, handle) end
  check(current)
  return taken(current, handle, handle:take())
end

-- ---- pcall and its like pass cancellation on ----

local function pass_on(ok, e, ...)
  if not ok and getmetatable(e) == cancelled_mt then error(e, 0) end
  return ok, e, ...
end

function _G.pcall(f, ...)
  return pass_on(raw_pcall(f, ...))
end

function _G.xpcall(f, handler, ...)
  return pass_on(raw_xpcall(f, function (e)
    if getmetatable(e) == cancelled_mt then return e end
    return handler(e)
  end, ...))
end

--- xpcall for the one outermost caller, who shows errors and ends: it catches cancellation too, which
-- the handler gets as an RTL-TASK-002.
function M.outermost(f, handler, ...)
  return host.outermost(f, function (e)
    if getmetatable(e) == cancelled_mt then e = err.new { code = "RTL-TASK-002", message = e.reason } end
    return handler(e)
  end, ...)
end

-- A coroutine inside a task may wait: its WAITING goes up to the scheduler, not to its consumer.
local function resumed(co, ok, first, ...)
  if ok and first == WAITING then return resumed(co, raw_resume(co, raw_yield(WAITING))) end
  if not ok and getmetatable(first) == cancelled_mt then
    raw_close(co)
    error(first, 0)
  end
  return ok, first, ...
end

function coroutine.resume(co, ...)
  return resumed(co, raw_resume(co, ...))
end

local function unwrapped(co, ok, ...)
  if ok then return ... end
  raw_close(co)
  error((...), 0)
end

function coroutine.wrap(f)
  local co = raw_create(f)
  return function (...) return unwrapped(co, coroutine.resume(co, ...)) end
end

-- ---- what tasks share ----

local limit_methods = {}
local limit_mt = { __index = limit_methods, __name = "rtl.limit" }

--- A limit of `n` at once: l:with(f, ...).
function M.limit(n)
  return setmetatable({ free = n, waiters = {} }, limit_mt)
end

local function give_back(l)
  l.free = l.free + 1
  wake_one(l.waiters)
end

--- Calls `f(...)` when fewer than n others are inside; returns what it returns.
function limit_methods:with(f, ...)
  if not current then return M.run(self.with, self, f, ...) end
  wait_in(self.waiters, function () return self.free > 0 end)
  self.free = self.free - 1
  local _ <close> = setmetatable({}, { __close = function () give_back(self) end })
  return f(...)
end

local future_methods = {}
local future_mt = { __index = future_methods, __name = "rtl.future" }

--- A value that is there later: set or fail it once, get it as often as wanted.
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
  if not current then return M.run(self.get, self) end
  wait_in(self.waiters, function () return self.values end)
  if not self.ok then error(self.values[1], 0) end
  return table.unpack(self.values, 1, self.values.n)
end

local queue_methods = {}
local queue_mt = { __index = queue_methods, __name = "rtl.queue" }

--- A queue between tasks; with `limit`, put waits while it holds that many.
function M.queue(limit)
  return setmetatable({ first = 1, last = 0, limit = limit or math.huge, getters = {}, putters = {} },
    queue_mt)
end

--- Adds a value (not nil). Raises when the queue is closed.
function queue_methods:put(value)
  if value == nil then error("bad argument #1 to 'put' (value expected)", 2) end
  if self.last - self.first + 1 >= self.limit then
    if not current then return M.run(self.put, self, value) end
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
  if not current then return M.run(self.get, self) end
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
