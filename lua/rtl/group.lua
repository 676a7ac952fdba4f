--- Groups: tasks that end together. Used as functions of rtl.task, which connects this file to its
-- scheduler.

local cancel = require "rtl.cancel"
local waiters = require "rtl.waiters"

local M = {}

local run, current, new_task, park, wake_all, enter_scope, leave_scope, traced

--- Called once, by rtl.task.
function M.connect(scheduler)
  run, current, new_task = scheduler.run, scheduler.current, scheduler.new_task
  park, wake_all, traced = scheduler.park, scheduler.wake_all, scheduler.traced
  enter_scope, leave_scope = scheduler.enter_scope, scheduler.leave_scope
end

local function check_function(f, position, name)
  if type(f) == "function" then return end
  error(("bad argument #%d to '%s' (function expected, got %s)"):format(position, name, type(f)), 3)
end

local group_methods = {}
local group_mt = { __index = group_methods, __name = "rtl.group" }

-- `own`: the scope of the task that has raised `e`; nil for the group's function.
local function fail_group(g, e, own)
  if not cancel.is_cancelled(e) then
    g.failure = g.failure or { e }
    cancel.cancel(g.scope, "another task of its group failed")
  elseif e.scope ~= own and e.scope ~= g.scope then
    g.cancelled = e -- from around the group: it goes on out
  end
end

--- Starts `f(...)` as a task of the group. Returns the task (see join and cancel).
function group_methods:spawn(f, ...)
  check_function(f, 1, "spawn")
  if self.scope.ended then error("the group has ended", 2) end
  self.pending = self.pending + 1
  return new_task(self.scope, self.on_end, f, ...)
end

--- Cancels all tasks of the group, and its function; the group then ends without an error.
function group_methods:cancel(reason)
  cancel.cancel(self.scope, reason or "cancelled")
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
    waiters.drop(g.waiters, task)
    waiters.add(g.waiters, task)
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
  if not current() then return run(M.group, f) end
  local task = current()
  local g = new_group(enter_scope(task))
  return leave_group(task, g, cancel.raw_xpcall(f, traced, g))
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

return M
