--- What the Kubernetes kinds share: names of kinds, labels of ours, reads that know "no cluster"
-- and "no such kind yet" from "refused", and waits with the pods' own reasons.

local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local keys = require "rtl.keys"
local support = require "rtl.kinds.support"
local task = require "rtl.task"

local M = {}

M.LABEL = "rtl/deployment"

--- How the client is asked for objects of this apiVersion and kind.
function M.kind_of(object)
  if object.apiVersion == "v1" then return object.kind end
  return object.apiVersion .. "/" .. object.kind
end

--- Adds the deployment's label to an object (a copy of its metadata).
function M.label(ctx, object)
  local copy = {}
  for key, value in pairs(object) do copy[key] = value end
  copy.metadata = {}
  for key, value in pairs(object.metadata) do copy.metadata[key] = value end
  copy.metadata.labels = {}
  for key, value in pairs(object.metadata.labels or {}) do copy.metadata.labels[key] = value end
  copy.metadata.labels[M.LABEL] = ctx.deployment
  return copy
end

--- Whether an object carries the deployment's label.
function M.is_ours(ctx, object)
  return (object.metadata.labels or {})[M.LABEL] == ctx.deployment
end

--- Absent, and so is what would hold it: the kind itself may come with a chart that is not in yet.
local function is_absent(failure)
  return failure.status == 404 or failure.code == "NotFound" or failure.code == "RTL-K8S-010"
end
M.is_absent = is_absent

--- The conditions of an object's status: an array. Where there are none yet, some are null.
function M.conditions(object)
  local status = object.status
  local list = type(status) == "table" and status.conditions
  return type(list) == "table" and list or {}
end

--- Whether a condition is there and "True"; and its message or reason. nil: it is not there.
function M.condition(object, name)
  for _, one in ipairs(M.conditions(object)) do
    if one.type == name then return one.status == "True", one.message or one.reason end
  end
end

--- Reads an object: object | nil | nil, err.
function M.get(ctx, kind, name, namespace)
  local client, failure = ctx:k8s()
  if not client then return nil, failure end
  local object, refused = client:get(kind, name, { namespace = namespace })
  if object then return object end
  if is_absent(refused) then return nil end
  return nil, refused
end

--- The client, or nil and the error.
function M.client(ctx)
  return ctx:k8s()
end

-- A cluster of ours takes its objects with it: where it can't be reached any more, they are gone.
local function goes_with_cluster(ctx)
  for _, entry in keys.pairs(ctx.ledger and ctx.ledger:state() or {}) do
    if entry.kind == "eks_cluster" and entry.state ~= "refused" then return true end
  end
  return false
end

local PATIENCE = 10 -- seconds for an API that may be gone to answer a look
local REACH = 30    -- seconds for a young cluster's API to answer at all, where it may not

-- Nobody answers there: remembered in the context, so that only the first look waits for it.
local function out_of_reach(ctx, failure)
  local away = failure.code:find("^RTL%-NET%-") ~= nil or failure.code == "RTL-TASK-001"
  if away then ctx.no_kubernetes = true end
  return away
end

--- For `holder`: a cluster of ours takes with it what Kubernetes does not let go.
function M.in_cluster(_, other)
  return other.kind_name == "eks_cluster"
end

--- Runs `act(client)` of a delete; without a cluster there is nothing to delete.
function M.delete(ctx, act)
  if ctx.no_kubernetes and goes_with_cluster(ctx) then return true end
  local client, failure = ctx:k8s()
  if not client then
    if failure.absent or goes_with_cluster(ctx) then return true end
    return nil, failure
  end
  local done, refused = act(client)
  if done or is_absent(refused) then return true end
  if out_of_reach(ctx, refused) and goes_with_cluster(ctx) then return true end
  return nil, refused
end

--- For find(): the objects of a kind with our label.
function M.ours(ctx, kind)
  return M.all(ctx, kind, M.LABEL .. "=" .. ctx.deployment)
end

--- For find(): the objects of a kind in all namespaces (with these labels), or an empty array where
-- there is no cluster, no such kind, or no way in: a teardown goes on with AWS then.
function M.all(ctx, kind, labels)
  if not ctx.k8s_of or ctx.no_kubernetes then return {} end
  local client, unreached = task.deadline(REACH, ctx.k8s, ctx)
  if not client then
    out_of_reach(ctx, unreached)
    return {}
  end
  local list, failure = task.deadline(PATIENCE, client.list, client, kind,
    { namespace = false, labels = labels })
  if not list then out_of_reach(ctx, failure) end
  return list and list.items or {}
end

--- What a wait may add to its reason: the objects of a kind (`options` of the client's list), or an
-- empty array where that can't be told in ten seconds. Nothing may depend on it.
function M.glance(ctx, kind, options)
  local list = ctx.k8s_of and task.deadline(PATIENCE, function ()
    local client, failure = ctx:k8s()
    if not client then return nil, failure end
    return client:list(kind, options)
  end)
  return list and list.items or {}
end

local function waiting_reason(status)
  for _, list in ipairs { status.initContainerStatuses or {}, status.containerStatuses or {} } do
    for _, container in ipairs(list) do
      local state = container.state or {}
      local waiting, ended = state.waiting, state.terminated
      if waiting and waiting.reason and waiting.reason ~= "ContainerCreating"
        and waiting.reason ~= "PodInitializing" then
        return ("%s: %s"):format(container.name, waiting.message or waiting.reason)
      elseif ended and ended.exitCode ~= 0 then
        return ("%s ended with %s"):format(container.name, ended.reason or ended.exitCode)
      end
    end
  end
end

-- A container that runs now but was started again: what ended it before.
local function restart_reason(status)
  for _, container in ipairs(status.containerStatuses or {}) do
    local last = (container.lastState or {}).terminated
    if last and (container.restartCount or 0) > 0 then
      return ("%s was started again %d times; it ended with %s (exit code %s)"):format(
        container.name, container.restartCount, last.reason or "an error", last.exitCode)
    end
  end
end

--- Why a pod is not ready, as a text; nil when it is.
function M.pod_reason(pod)
  local status = pod.status or {}
  for _, condition in ipairs(M.conditions(pod)) do
    if condition.type == "PodScheduled" and condition.status ~= "True" then
      return condition.message or condition.reason or "not scheduled"
    elseif condition.type == "Ready" and condition.status == "True" then
      return nil
    end
  end
  return waiting_reason(status) or restart_reason(status) or status.reason or status.phase
    or "not started"
end

--- The first reason among the pods with these labels: "pod NAME: reason", or nil.
function M.first_reason(client, namespace, labels)
  local list = client:list("Pod", { namespace = namespace, labels = labels })
  for _, pod in ipairs(list and list.items or {}) do
    local reason = M.pod_reason(pod)
    if reason then return ("pod %s: %s"):format(pod.metadata.name, reason) end
  end
end

local function time_of(event)
  return event.lastTimestamp or event.eventTime or event.metadata.creationTimestamp or ""
end

-- The newest warning about a pod, as a text; nil when there is none.
local function last_warning(ctx, pod)
  local last
  for _, event in ipairs(M.glance(ctx, "Event", { namespace = pod.metadata.namespace,
    fields = "involvedObject.name=" .. pod.metadata.name })) do
    local is_newer = not last or time_of(event) >= time_of(last)
    if event.type == "Warning" and is_newer then last = event end
  end
  return last and ("%s: %s"):format(last.reason or "Warning", last.message or "")
end

--- How a DaemonSet or Deployment stands, as a text: "DaemonSet aws-node: 0 of 2 ready; pod
-- aws-node-x: REASON; its last event: …"; nil when that can't be told, or all are ready.
function M.workload_state(ctx, kind, name, namespace)
  local object
  for _, one in ipairs(M.glance(ctx, kind, { namespace = namespace,
    fields = "metadata.name=" .. name })) do
    if one.metadata.name == name then object = one end
  end
  if not object or M.workload_ready(object) then return nil end
  local status, spec = object.status or {}, object.spec or {}
  local text = ("%s %s: %s of %s ready"):format(kind, name,
    status.numberReady or status.readyReplicas or 0,
    status.desiredNumberScheduled or spec.replicas or 1)
  for _, pod in ipairs(M.glance(ctx, "Pod", { namespace = namespace,
    labels = M.selector(spec.selector and spec.selector.matchLabels) })) do
    local reason = M.pod_reason(pod)
    if reason then
      local event = last_warning(ctx, pod)
      return ("%s; pod %s: %s%s"):format(text, pod.metadata.name, reason,
        event and "; its last event: " .. event or "")
    end
  end
  return text
end

--- Label selector text of a matchLabels table.
function M.selector(labels)
  local parts = {}
  for key, value in keys.pairs(labels or {}) do parts[#parts + 1] = key .. "=" .. value end
  return table.concat(parts, ",")
end

local function count_of(value)
  return math.tointeger(value) or 0
end

--- Whether a Deployment or DaemonSet has all the pods that it wants, of the newest template.
function M.workload_ready(object)
  local status, spec = object.status or {}, object.spec or {}
  if (status.observedGeneration or 0) < (object.metadata.generation or 0) then return false end
  if object.kind == "DaemonSet" then
    local wanted = count_of(status.desiredNumberScheduled)
    return count_of(status.numberReady) >= wanted
      and count_of(status.updatedNumberScheduled) >= wanted
  end
  local wanted = spec.replicas == nil and 1 or count_of(spec.replicas)
  return count_of(status.availableReplicas) >= wanted and count_of(status.updatedReplicas) >= wanted
end

--- Waits for a Deployment or DaemonSet; RTL-PLAN-021 with the pod's reason when it takes too long.
function M.wait_workload(ctx, res, object, limit)
  local meta = object.metadata
  local done, failure = support.wait({ ctx = ctx, res = res, every = 3, limit = limit,
    what = object.kind .. " " .. meta.name }, function ()
    local client, refused = ctx:k8s()
    if not client then return nil, refused end
    local live, unread = client:get(M.kind_of(object), meta.name, { namespace = meta.namespace })
    if not live and not is_absent(unread) then return nil, unread end
    if live and M.workload_ready(live) then return true end
    local labels = object.spec and object.spec.selector and object.spec.selector.matchLabels
    local reason = labels and M.first_reason(client, meta.namespace, M.selector(labels))
    return false, reason or meta.name .. " is not ready"
  end)
  if done then return true end
  if failure.code ~= "RTL-PLAN-014" then return nil, failure end
  return nil, err.wrap(failure, { code = "RTL-PLAN-021", doing = res.key,
    message = ("%s %s is not ready"):format(object.kind, meta.name) })
end

-- What holds an object that is to go: its finalizers; of a namespace, what is still in it.
local function holders(object)
  local texts = { table.unpack(object.metadata.finalizers or {}) }
  for _, one in ipairs(M.conditions(object)) do
    local tells = one.type:find("^Namespace") and one.status == "True"
    if tells then texts[#texts + 1] = one.message end
  end
  return texts[1] and "held by " .. table.concat(texts, "; ") or "terminating"
end

--- Deletes an object and waits until it is gone; names what holds it when it does not go.
function M.delete_and_wait(ctx, item, kind, name, namespace, limit)
  return M.delete(ctx, function (client)
    local done, failure = client:delete(kind, name, { namespace = namespace })
    if not done then return nil, failure end
    return support.wait({ ctx = ctx, res = item, every = 3, what = "deleted",
      limit = item.hurry and 30 or limit or 600 }, function ()
      local live, refused = client:get(kind, name, { namespace = namespace })
      if not live then
        if errors.not_found(refused) or is_absent(refused) then return true end
        return nil, refused
      end
      return false, holders(live)
    end)
  end)
end

return M
