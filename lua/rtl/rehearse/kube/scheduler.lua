--- Which pod goes to which node.

local pods = require "rtl.rehearse.kube.pods"
local quantity = require "rtl.rehearse.kube.quantity"
local select_by = require "rtl.rehearse.kube.select"

local M = {}

-- Node name → what is left of its allocatable resources.
local function free_resources(kube, node_list)
  local free = {}
  for _, node in ipairs(node_list) do
    local left = {}
    for name, value in next, node.status.allocatable or {} do
      left[name] = quantity.value(value)
    end
    free[node.metadata.name] = left
  end
  for _, pod in ipairs(kube.store:list(kube.pods)) do
    local left = pod.spec.nodeName and not pods.ended(pod) and free[pod.spec.nodeName]
    if left then
      left.pods = (left.pods or 0) - 1
      for name, value in next, pods.requests(pod.spec) do left[name] = (left[name] or 0) - value end
    end
  end
  return free
end

-- Whether a pod that a term of anti-affinity names runs in the node's part of the topology.
local function repelled_by(kube, pod, term, node)
  local place = (node.metadata.labels or {})[term.topologyKey]
  for _, other in ipairs(kube.store:list(kube.pods, pod.metadata.namespace)) do
    local there = other.spec.nodeName and kube.store:get(kube.nodes, nil, other.spec.nodeName)
    if there and other.metadata.uid ~= pod.metadata.uid and not pods.ended(other)
      and (there.metadata.labels or {})[term.topologyKey] == place
      and select_by.matches(term.labelSelector or {}, other.metadata.labels) then
      return true
    end
  end
  return false
end

local function repelled(kube, pod, node)
  local affinity = pod.spec.affinity and pod.spec.affinity.podAntiAffinity
  local terms = affinity and affinity.requiredDuringSchedulingIgnoredDuringExecution
  for _, term in ipairs(terms or {}) do
    if repelled_by(kube, pod, term, node) then return true end
  end
  return false
end

-- Why a pod does not fit a node, in the scheduler's words; nil if it fits.
local function obstacle(kube, pod, requests, node, left)
  local spec = pod.spec
  local taint = pods.untolerated(spec, node)
  if taint then
    local value = taint.value and taint.value ~= "" and ": " .. taint.value or ""
    return ("node(s) had untolerated taint {%s%s}"):format(taint.key, value)
  end
  if not pods.selects(spec, node) then
    return "node(s) didn't match Pod's node affinity/selector"
  end
  if (left.pods or 0) < 1 then return "Too many pods" end
  local short = {}
  for name, value in next, requests do
    if value > (left[name] or 0) then short[#short + 1] = "Insufficient " .. name end
  end
  table.sort(short)
  if short[1] then return short[1] end
  return repelled(kube, pod, node) and "node(s) didn't match pod anti-affinity rules" or nil
end

local function count_reasons(reasons, total)
  local names = {}
  for reason in next, reasons do names[#names + 1] = reason end
  table.sort(names)
  local parts = {}
  for i, reason in ipairs(names) do parts[i] = ("%d %s"):format(reasons[reason], reason) end
  return ("0/%d nodes are available: %s."):format(total, table.concat(parts, ", "))
end

-- The fitting node with the most free CPU; the first by name among equals.
local function choose(kube, pod, requests, node_list, free)
  local best, best_cpu, reasons = nil, -1, {}
  for _, node in ipairs(node_list) do
    local left = free[node.metadata.name]
    local reason = obstacle(kube, pod, requests, node, left)
    if reason then
      reasons[reason] = (reasons[reason] or 0) + 1
    elseif (left.cpu or 0) > best_cpu then
      best, best_cpu = node, left.cpu or 0
    end
  end
  return best, reasons
end

local function bind(kube, pod, node, requests, left)
  left.pods = left.pods - 1
  for name, value in next, requests do left[name] = (left[name] or 0) - value end
  kube:bind(pod, node)
end

--- Binds every pod that waits and fits, and says of the others why they do not. A pod that names
-- its node itself is the kubelet's at once.
function M.pass(kube)
  local waiting = {}
  for _, pod in ipairs(kube.store:list(kube.pods)) do
    if pod.spec.nodeName and kube.machines[pod.spec.nodeName] then kube:take(pod) end
    if not pod.spec.nodeName and not pod.metadata.deletionTimestamp and not pods.ended(pod) then
      waiting[#waiting + 1] = pod
    end
  end
  if #waiting == 0 then return end
  local node_list = kube.store:list(kube.nodes)
  local free = free_resources(kube, node_list)
  for _, pod in ipairs(waiting) do
    local requests = pods.requests(pod.spec)
    local node, reasons = choose(kube, pod, requests, node_list, free)
    if node then
      bind(kube, pod, node, requests, free[node.metadata.name])
    else
      local text = #node_list == 0 and "no nodes available to schedule pods"
                   or count_reasons(reasons, #node_list)
      kube:unschedulable(pod, text)
    end
  end
end

return M
