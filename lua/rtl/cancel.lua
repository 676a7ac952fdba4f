--- Cancellation: an error that pcall and its like pass on, and the scopes that it unwinds to.
-- A scope is a deadline, shield, group or task; they form a tree. What waits is cancelled when a
-- scope around it is, up to the next shield. Used by rtl.task only.

local err = require "rtl.err"
local host = require "rtl.native.host"
local timers = require "rtl.timers"

local M = {}

local raw_pcall, raw_xpcall = pcall, xpcall
local sequence = 0
local wake -- function (task): makes a waiting task look again; rtl.task gives it

--- xpcall as it was: for rtl.task, which knows what to do with a cancellation.
M.raw_xpcall = raw_xpcall

--- Called once, by rtl.task.
function M.connect(wake_task)
  wake = wake_task
end

local cancelled_mt = { __name = "rtl.cancelled" }

function cancelled_mt.__tostring(c)
  return c.reason
end

local function is_cancelled(value)
  return getmetatable(value) == cancelled_mt
end
--- Described at rtl.task.is_cancelled.
M.is_cancelled = is_cancelled

--- A scope inside `parent`.
function M.new_scope(parent)
  sequence = sequence + 1
  local scope = { parent = parent, id = sequence, inner = {} }
  if parent then parent.inner[scope] = true end
  return scope
end

--- Ends a scope, and its deadline.
function M.end_scope(scope)
  scope.ended = true
  scope.parent.inner[scope] = nil
  if scope.timer then timers.clear(scope.timer) end
end

-- Everything is inside this one.
M.root = M.new_scope(nil)

--- The outermost cancelled scope that `scope` is not shielded from.
function M.cancelled_in(scope)
  local found, shielded = nil, false
  while scope do
    if scope.reason and (not shielded or scope.force) then found = scope end
    shielded = shielded or scope.shield
    scope = scope.parent
  end
  return found
end

--- What is raised where something waits inside the cancelled `scope`.
function M.cancellation(scope)
  return setmetatable({ scope = scope, reason = scope.reason, code = "RTL-TASK-002" }, cancelled_mt)
end

--- Raises when the task is cancelled.
function M.check(task)
  local scope = M.cancelled_in(task.scope)
  if scope then error(M.cancellation(scope), 0) end
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

--- Cancels what is inside; with `force` also what is shielded in there.
function M.cancel(scope, reason, force)
  if scope.ended or (scope.reason and (scope.force or not force)) then return end
  scope.reason, scope.force = scope.reason or reason, force
  deliver(scope, force)
end

-- ---- pcall and its like pass cancellation on ----

local function pass_on(ok, e, ...)
  if not ok and is_cancelled(e) then error(e, 0) end
  return ok, e, ...
end

function _G.pcall(f, ...)
  return pass_on(raw_pcall(f, ...))
end

function _G.xpcall(f, handler, ...)
  return pass_on(raw_xpcall(f, function (e)
    if is_cancelled(e) then return e end
    return handler(e)
  end, ...))
end

--- Described at rtl.task.outermost.
function M.outermost(f, handler, ...)
  return host.outermost(f, function (e)
    if is_cancelled(e) then e = err.new { code = "RTL-TASK-002", message = e.reason } end
    return handler(e)
  end, ...)
end

return M
