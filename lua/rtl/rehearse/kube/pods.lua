--- Pods as the API server and the scheduler see them: admission, resources, quality of service,
-- tolerations, and which node fits.

local array = require "rtl.array"
local quantity = require "rtl.rehearse.kube.quantity"
local select_by = require "rtl.rehearse.kube.select"

local M = {}

local function each_container(spec)
  local list = {}
  for _, container in ipairs(spec.initContainers or {}) do list[#list + 1] = container end
  for _, container in ipairs(spec.containers or {}) do list[#list + 1] = container end
  return list
end

--- "Guaranteed", "Burstable" or "BestEffort", by the rule of the kubelet: every container, init
-- containers too, has CPU and memory with request = limit.
function M.quality(spec)
  local any, guaranteed = false, true
  for _, container in ipairs(each_container(spec)) do
    local resources = container.resources or {}
    for _, name in ipairs { "cpu", "memory" } do
      local request = quantity.value((resources.requests or {})[name])
      local limit = quantity.value((resources.limits or {})[name])
      if request or limit then any = true end
      if not limit or (request or limit) ~= limit then guaranteed = false end
    end
  end
  if not any then return "BestEffort" end
  return guaranteed and "Guaranteed" or "Burstable"
end

--- What a pod takes of a node: resource name → number (the larger of all containers together and
-- of each init container).
function M.requests(spec)
  local sum = {}
  for _, container in ipairs(spec.containers or {}) do
    for name, value in next, (container.resources or {}).requests or {} do
      sum[name] = (sum[name] or 0) + (quantity.value(value) or 0)
    end
  end
  for _, container in ipairs(spec.initContainers or {}) do
    for name, value in next, (container.resources or {}).requests or {} do
      sum[name] = math.max(sum[name] or 0, quantity.value(value) or 0)
    end
  end
  return sum
end

local TOLERATED_BY_RESOURCE = { "nvidia.com/gpu", "vpc.amazonaws.com/efa" }

local function has_toleration(spec, key)
  for _, toleration in ipairs(spec.tolerations or {}) do
    if toleration.key == key and toleration.operator == "Exists" then return true end
  end
  return false
end

local function tolerate(spec, key, effect, seconds)
  if has_toleration(spec, key) then return end
  spec.tolerations = spec.tolerations or array {}
  spec.tolerations[#spec.tolerations + 1] = { key = key, operator = "Exists", effect = effect,
                                              tolerationSeconds = seconds }
end

--- What admission does to a new pod: tolerations, service account, status.
function M.admit(kube, pod)
  local spec = pod.spec
  local requests = M.requests(spec)
  for _, name in ipairs(TOLERATED_BY_RESOURCE) do
    if requests[name] then tolerate(spec, name) end
  end
  tolerate(spec, "node.kubernetes.io/not-ready", "NoExecute", 300)
  tolerate(spec, "node.kubernetes.io/unreachable", "NoExecute", 300)
  spec.serviceAccountName = spec.serviceAccountName or "default"
  pod.status = { phase = "Pending", qosClass = M.quality(spec) }
  kube:kick()
end

local function tolerates(spec, taint)
  for _, toleration in ipairs(spec.tolerations or {}) do
    local effect = not toleration.effect or toleration.effect == taint.effect
    local key = not toleration.key or toleration.key == taint.key
    local value = toleration.operator == "Exists" or (toleration.value or "") == (taint.value or "")
    if effect and key and value then return true end
  end
  return false
end

--- The first taint of a node that keeps a pod off it; nil if none does.
function M.untolerated(spec, node)
  for _, taint in ipairs(node.spec.taints or {}) do
    if taint.effect ~= "PreferNoSchedule" and not tolerates(spec, taint) then return taint end
  end
  return nil
end

local function term_matches(term, node)
  for _, rule in ipairs(term.matchExpressions or {}) do
    if not select_by.expression(rule, node.metadata.labels or {}) then return false end
  end
  for _, rule in ipairs(term.matchFields or {}) do
    if not select_by.expression(rule, { ["metadata.name"] = node.metadata.name }) then
      return false
    end
  end
  return true
end

--- Whether the node selector and the required node affinity of a pod let it onto a node.
function M.selects(spec, node)
  for key, value in next, spec.nodeSelector or {} do
    if (node.metadata.labels or {})[key] ~= value then return false end
  end
  local affinity = spec.affinity and spec.affinity.nodeAffinity
  local required = affinity and affinity.requiredDuringSchedulingIgnoredDuringExecution
  if not required then return true end
  for _, term in ipairs(required.nodeSelectorTerms or {}) do
    if term_matches(term, node) then return true end
  end
  return false
end

--- The condition of a type, or nil.
function M.condition(object, kind)
  for _, condition in ipairs(object.status and object.status.conditions or {}) do
    if condition.type == kind then return condition end
  end
  return nil
end

--- Whether a pod is Ready and stays.
function M.ready(pod)
  local condition = M.condition(pod, "Ready")
  return condition ~= nil and condition.status == "True" and not pod.metadata.deletionTimestamp
end

--- Whether a pod has ended.
function M.ended(pod)
  local phase = pod.status.phase
  return phase == "Succeeded" or phase == "Failed"
end

--- Sets a condition in place; its time of transition changes only with its status.
function M.set_condition(status, kind, value, time, reason, message)
  status.conditions = status.conditions or array {}
  for _, condition in ipairs(status.conditions) do
    if condition.type == kind then
      if condition.status ~= value then condition.lastTransitionTime = time end
      condition.status, condition.reason, condition.message = value, reason, message
      return
    end
  end
  status.conditions[#status.conditions + 1] = { type = kind, status = value, reason = reason,
                                                message = message, lastTransitionTime = time }
end

return M
