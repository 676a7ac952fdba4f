--- Tasks: plain sequential code whose waiting lets others run.
-- All waiting ends here: this is the only file with a coroutine.yield. Outside of a task every
-- call works too: it runs as a task of its own and drives the event loop until that is done.
--
-- Cancellation (rtl.cancel) is an error raised where a task waits. pcall, xpcall and
-- coroutine.resume (replaced) pass it on, and it is raised again at each further wait, so that no
-- loop can swallow it; <close> values run.

local cancel = require "rtl.cancel"
local clock = require "rtl.clock"
local err = require "rtl.err"
local group = require "rtl.group"
local host = require "rtl.native.host"
local loop = require "rtl.native.loop"
local shared = require "rtl.shared"
local timers = require "rtl.timers"
local waiters = require "rtl.waiters"

local M = {}

local check, cancelled_in, raw_xpcall = cancel.check, cancel.cancelled_in, cancel.raw_xpcall
local raw_yield, raw_close, raw_create = coroutine.yield, coroutine.close, coroutine.create
local raw_resume = host.resume -- coroutine.resume that tells Ctrl-C which coroutine runs
local WAITING = {}             -- what a task yields to the scheduler; never seen by anyone else

local current                  -- the task that runs now; nil in the scheduler and outside
local ready = { first = 1, last = 0 }
local awaited = {}             -- token → the task that waits for it
local awaited_count, live_count = 0, 0

local function check_function(f, position, name)
  if type(f) == "function" then return end
  error(("bad argument #%d to '%s' (function expected, got %s)"):format(position, name, type(f)), 3)
end

local function check_seconds(s, position, name)
  if type(s) == "number" and s == s then return end
  error(("bad argument #%d to '%s' (seconds expected)"):format(position, name), 3)
end

-- Errors that are texts get the trace of where they were raised, once.
local function traced(e)
  if type(e) ~= "string" or e:find("\nstack traceback:\n", 1, true) then return e end
  return debug.traceback(e, 2)
end

local function wake(task)
  if task.parked then
    task.parked = false
    ready.last = ready.last + 1
    ready[ready.last] = task
  end
end

cancel.connect(wake)

local function enter_scope(task)
  task.scope = cancel.new_scope(task.scope)
  return task.scope
end

local function leave_scope(task, scope)
  task.scope = scope.parent
  cancel.end_scope(scope)
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

local function wake_one(queue)
  local task = waiters.take(queue)
  if task then wake(task) end
end

local function wake_all(queue)
  for task in waiters.take, queue do wake(task) end
end

-- A cancelled task leaves the queue; if it was woken already, the next one gets its turn.
local function leave_queue(queue, task)
  if not waiters.drop(queue, task) then wake_one(queue) end
end

-- Waits in the queue until test() holds.
local function wait_in(queue, test)
  local task = current
  check(task)
  while not test() do
    waiters.add(queue, task)
    park()
    if cancelled_in(task.scope) then
      leave_queue(queue, task)
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
  task.own = cancel.new_scope(scope)
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
  cancel.end_scope(task.own)
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
      finish(task, false, cancel.cancellation(cancelled_in(task.own))) -- cancelled before it began
    else
      resume(task)
    end
  end
  if ready.first > ready.last then ready.first, ready.last = 1, 0 end -- in places that are there
end

local interrupt = assert(loop.watch(host.interrupt_fd(), "r"))
local seen_presses = 0

-- Ctrl-C once cancels everything up to the shields, twice the shields too.
local function look_at_interrupt()
  local presses = host.interrupts()
  if presses > seen_presses then
    seen_presses = presses
    interrupt:take()
    cancel.cancel(cancel.root, "interrupted", presses > 1)
  end
end

local function poll(timeout)
  for _, token in ipairs(loop.wait(timeout)) do
    local task = awaited[token]
    if task then wake(task) end
  end
end

-- How long the loop may sleep: seconds, or nil for ever. Virtual time stands while something real
-- is on its way, and jumps to the next timer when nothing is. False: nothing can ever happen.
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
  if timers.next() then timers.fire(clock.mono()) end
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
      cancel.cancel(task.own, STUCK, stuck == 2)
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
  local task = new_task(cancel.root, nil, f, ...)
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
  return new_task(cancel.root, nil, f, ...)
end

--- Makes a fresh start after an interrupt (the REPL before each line): forgets the presses, and a
-- task that was torn out of the scheduler.
function M.recover()
  host.interrupts_clear()
  interrupt:take()
  current, seen_presses, cancel.root.reason, cancel.root.force = nil, 0, nil, nil
end

--- Cancels all that is still on its way and lets it end, for at most `seconds` (the REPL's end).
function M.shutdown(seconds)
  local at = clock.mono() + seconds
  cancel.cancel(cancel.root, "the program ends")
  timers.set(at, function () cancel.cancel(cancel.root, "the program ends", true) end)
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
  cancel.cancel(self.own, reason or "cancelled")
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

group.connect {
  run = M.run, current = M.current, new_task = new_task, park = park, wake_all = wake_all,
  enter_scope = enter_scope, leave_scope = leave_scope, traced = traced,
}

--- task.group(f): calls f(g), where g:spawn(f, ...) starts tasks, and returns what f returns when
-- all of them have ended. The first failure, of f or of a task, cancels the others and is raised
-- after they ended. g:cancel() ends the group without an error.
M.group = group.group

--- task.map(list, f, limit): the array of f(item, i) for each item, in order, computed by at most
-- `limit` tasks at once (default: all). The first failure cancels the rest and is raised.
M.map = group.map

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

--- Calls `f()`, which must not wait, in `seconds`, unless the value that this returns (a `<close>`
-- one) is closed before.
function M.after(seconds, f)
  check_seconds(seconds, 1, "after")
  check_function(f, 2, "after")
  return timers.set(clock.mono() + seconds, f)
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
  scope.timer = timers.set(clock.mono() + seconds, function () cancel.cancel(scope, "deadline") end)
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

--- Whether `value` is what a cancelled task raises (tostring gives the reason). Only code that
-- shows errors needs this, since pcall never returns one.
M.is_cancelled = cancel.is_cancelled

--- task.outermost(f, handler, ...): xpcall for the one outermost caller, who shows errors and ends.
-- It catches cancellation too; the handler gets it as an RTL-TASK-002.
M.outermost = cancel.outermost

-- ---- coroutines ----

-- luacheck: globals coroutine.resume coroutine.wrap

-- A coroutine inside a task may wait: its WAITING goes up to the scheduler, not to its consumer.
local function resumed(co, ok, first, ...)
  if ok and first == WAITING then return resumed(co, raw_resume(co, raw_yield(WAITING))) end
  if not ok and cancel.is_cancelled(first) then
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

shared.connect {
  run = M.run, in_task = M.in_task, wait_in = wait_in, wake_one = wake_one, wake_all = wake_all,
}

--- task.limit(n): lets `n` in at once; l:with(f, ...) calls f when fewer than n others are inside;
-- `local _ <close> = l:enter()` goes in until the end of the block.
M.limit = shared.limit

--- task.future(): a value that is there later. f:set(...) or f:fail(e) it once, f:get() it as often
-- as wanted (it waits, and raises what the future was failed with); f:ready() tells.
M.future = shared.future

--- task.queue(limit): q:put(value) (waits while the queue holds `limit`), q:get() (waits; nil when
-- it is closed and empty), q:close().
M.queue = shared.queue

return M
