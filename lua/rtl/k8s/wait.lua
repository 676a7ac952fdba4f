--- Waiting until an object is as it should be, or gone; and what "ready" means for the kinds at
-- hand.

local clock = require "rtl.clock"
local err = require "rtl.err"
local objects = require "rtl.k8s.objects"
local task = require "rtl.task"
local watches = require "rtl.k8s.watch"

local M = { ready = {} }

local DEFAULT_TIMEOUT = 300

-- What ready means ----------------------------------------------------------------------------

--- The condition of a type (letters' case does not matter), or nil.
function M.condition(object, kind)
  local conditions = type(object.status) == "table" and object.status.conditions
  for _, condition in ipairs(type(conditions) == "table" and conditions or {}) do
    if type(condition.type) == "string" and condition.type:lower() == kind:lower() then
      return condition
    end
  end
end

local function status_of(object) return type(object.status) == "table" and object.status or {} end

-- Whether the controller has seen the object as it is now.
local function observed(object, condition)
  local seen = condition and condition.observedGeneration or status_of(object).observedGeneration
  local generation = object.metadata.generation
  return not (math.type(seen) == "integer" and math.type(generation) == "integer"
    and seen < generation)
end

local function condition_is(object, kind, wanted)
  local condition = M.condition(object, kind)
  return condition ~= nil and tostring(condition.status):lower() == (wanted or "True"):lower()
    and observed(object, condition)
end

--- A test for wait: condition `kind` has `status` ("True"), seen for the object's newest
-- generation.
function M.ready.condition(kind, status)
  return function (object) return object ~= nil and condition_is(object, kind, status) end
end

--- A CustomResourceDefinition serves its kind.
function M.ready.crd(object)
  return object ~= nil and condition_is(object, "Established")
    and condition_is(object, "NamesAccepted")
end

--- A Deployment has rolled out; its progress deadline is an error that waiting can't heal.
function M.ready.deployment(object)
  if not object then return false end
  local progressing = M.condition(object, "Progressing")
  if progressing and progressing.status == "False"
    and progressing.reason == "ProgressDeadlineExceeded" then
    return nil, err.new { code = "RTL-K8S-021", message = tostring(progressing.message),
      doing = "wait for Deployment " .. object.metadata.name }
  end
  local status = status_of(object)
  local wanted = object.spec.replicas or 1
  return status.observedGeneration ~= nil and observed(object)
    and (status.updatedReplicas or 0) >= wanted
    and (status.replicas or 0) == (status.updatedReplicas or 0)
    and (status.availableReplicas or 0) == (status.updatedReplicas or 0)
end

--- A DaemonSet runs on each node it wants; none wanted is not ready.
function M.ready.daemonset(object)
  if not object then return false end
  local status = status_of(object)
  local wanted = status.desiredNumberScheduled or 0
  return status.observedGeneration ~= nil and observed(object) and wanted > 0
    and (status.updatedNumberScheduled or 0) >= wanted and (status.numberAvailable or 0) >= wanted
end

--- A Pod is Ready and not on its way out; a failed one is an error.
function M.ready.pod(object)
  if not object then return false end
  if status_of(object).phase == "Failed" then
    return nil, err.new { code = "RTL-K8S-021", doing = "wait for Pod " .. object.metadata.name,
      message = tostring(object.status.reason or object.status.message or "the pod failed") }
  end
  return object.metadata.deletionTimestamp == nil and condition_is(object, "Ready")
end

-- Waiting -------------------------------------------------------------------------------------

-- Watches one object until `test` is content. Returns the object (true when it is gone), or nil,
-- err.
local function follow(client, kind, name, options, state)
  local opened, problem = watches.open(client, kind, { namespace = options.namespace, name = name,
    api_version = options.api_version })
  if not opened then return nil, problem end
  local watch <close> = opened
  local there, unlisted = watch:prime(state.seed)
  if there == nil then return nil, unlisted end
  if not there and not options.deleted then
    local done, refused = state.test(nil)
    if done or refused then return done or nil, refused end
  end
  while true do
    local event, trouble = watch:next()
    if not event then return nil, trouble end
    state.last = event.type ~= "DELETED" and event.object or nil
    local done, refused = state.test(state.last, event)
    if refused then return nil, refused end
    if done then return state.last or true end
  end
end

local function deletion_test(uid)
  return function (object, event)
    if event and event.type == "DELETED" then
      return not uid or event.object.metadata.uid == uid
    end
    return uid ~= nil and object ~= nil and object.metadata.uid ~= uid
  end
end

-- Until the object that is there now (by uid, not by name) is gone.
local function wait_deleted(client, kind, name, options, state)
  local object, problem = objects.get(client, kind, name, options)
  if not object then
    if problem.status == 404 or problem.code == "RTL-K8S-010" then return true end
    return nil, problem
  end
  local uid = options.uid or object.metadata.uid
  if object.metadata.uid ~= uid then return true end
  state.last, state.seed = object, object
  state.test = deletion_test(uid)
  return follow(client, kind, name, options, state)
end

local function describe(object)
  if not object then return "it is not there" end
  local parts = {}
  local conditions = status_of(object).conditions
  for _, condition in ipairs(type(conditions) == "table" and conditions or {}) do
    if condition.status ~= "True" then
      parts[#parts + 1] = tostring(condition.type) .. "=" .. tostring(condition.status)
        .. (condition.reason and " (" .. tostring(condition.reason) .. ")" or "")
    end
  end
  if object.metadata.deletionTimestamp then
    local finalizers = object.metadata.finalizers
    parts[#parts + 1] = "being deleted, finalizers: "
      .. (type(finalizers) == "table" and table.concat(finalizers, ", ") or "none")
  end
  return #parts > 0 and table.concat(parts, "; ") or "its status says no more"
end

local function timed_out(kind, name, timeout, last)
  return nil, err.new { code = "RTL-K8S-020", last = last, doing = "wait for " .. kind .. " "
    .. name,
    message = ("not done within %g s: %s"):format(timeout, describe(last)) }
end

--- Waits for an object. `options`: namespace, timeout (seconds, default 300) and one of: condition
-- (a type; `status`, default "True"), deleted = true (the one there now, by uid), test = function
-- (object or nil) → done[, err]. Returns the object (true when it is gone) | nil, err: RTL-K8S-020
-- with `last` when the time is over.
function M.wait(client, kind, name, options)
  options = options or {}
  local timeout = options.timeout or DEFAULT_TIMEOUT
  local state = { test = options.test }
  if options.condition then state.test = M.ready.condition(options.condition, options.status) end
  if not state.test and not options.deleted then
    error("bad argument #3 to 'wait' (condition, deleted or test expected)", 2)
  end
  local start = clock.mono()
  local value, problem = task.deadline(timeout, function ()
    if options.deleted then return wait_deleted(client, kind, name, options, state) end
    return follow(client, kind, name, options, state)
  end)
  if value == nil and err.has_code(problem, "RTL-TASK-001") and clock.mono() - start >= timeout then
    return timed_out(kind, name, timeout, state.last)
  end
  return value, problem
end

return M
