--- The controllers: one pass over the cluster brings each thing one step further.

local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local crypto = require "rtl.native.crypto"
local json = require "rtl.native.json"
local nodes = require "rtl.rehearse.kube.nodes"
local operator = require "rtl.rehearse.kube.operator"
local owned = require "rtl.rehearse.kube.owned"
local pods = require "rtl.rehearse.kube.pods"
local scheduler = require "rtl.rehearse.kube.scheduler"
local store_module = require "rtl.rehearse.kube.store"
local volumes = require "rtl.rehearse.kube.volumes"

local M = {}

local copy = store_module.copy

local function alive(list)
  local out = {}
  for _, pod in ipairs(list) do
    if not pod.metadata.deletionTimestamp and not pods.ended(pod) then out[#out + 1] = pod end
  end
  return out
end

local function count_ready(list)
  local n = 0
  for _, pod in ipairs(list) do
    if pods.ready(pod) then n = n + 1 end
  end
  return n
end

local hashes = setmetatable({}, { __mode = "k" })

-- Ten characters for a pod template, the same for the same template.
local function template_hash(template)
  local hash = hashes[template]
  if not hash then
    hash = chance.letters(10, 0, crypto.sha256_hex(json.encode(template)))
    hashes[template] = hash
  end
  return hash
end

local function replica_set(kube, sets, deployment)
  local hash = template_hash(deployment.spec.template)
  local name = deployment.metadata.name .. "-" .. hash
  local current
  for _, set in ipairs(kube.store:list(sets, deployment.metadata.namespace)) do
    if owned.by(set, deployment) then
      if set.metadata.name == name then
        current = set
      else
        kube:delete(sets, set, {})
      end
    end
  end
  if current then return current end
  local template = copy(deployment.spec.template)
  template.metadata = template.metadata or {}
  template.metadata.labels = template.metadata.labels or {}
  template.metadata.labels["pod-template-hash"] = hash
  return kube.store:create(sets, {
    metadata = { name = name, namespace = deployment.metadata.namespace,
                 labels = copy(template.metadata.labels),
                 ownerReferences = owned.reference(deployment) },
    spec = { replicas = deployment.spec.replicas, selector = copy(deployment.spec.selector),
             template = template }, status = { replicas = 0 } })
end

local function scale(kube, owner, template, wanted, prefix)
  local have = alive(owned.pods_of(kube, owner))
  for _ = #have + 1, wanted do
    owned.make_pod(kube, owner, template, owned.name(kube, prefix))
  end
  for i = wanted + 1, #have do kube:delete(kube.pods, have[i], {}) end
  return alive(owned.pods_of(kube, owner))
end

local function deployment_pass(kube, resource, sets, deployment)
  if deployment.metadata.deletionTimestamp then return end
  local wanted = deployment.spec.replicas
  local set = replica_set(kube, sets, deployment)
  local list = scale(kube, set, set.spec.template, wanted, set.metadata.name)
  local ready = count_ready(list)
  if set.spec.replicas ~= wanted then
    kube.store:edit(sets, set, function (object) object.spec.replicas = wanted end)
  end
  kube.store:edit_status(sets, set, function (status, object)
    status.replicas, status.readyReplicas, status.availableReplicas = #list, ready, ready
    status.observedGeneration = object.metadata.generation
  end)
  kube.store:edit_status(resource, deployment, function (status, object)
    status.observedGeneration = object.metadata.generation
    status.replicas, status.updatedReplicas = #list, #list
    status.readyReplicas, status.availableReplicas = ready > 0 and ready or nil,
                                                     ready > 0 and ready or nil
    status.unavailableReplicas = wanted > ready and wanted - ready or nil
    local time = kube.store:timestamp()
    pods.set_condition(status, "Available", ready >= wanted and "True" or "False", time,
                       ready >= wanted and "MinimumReplicasAvailable"
                       or "MinimumReplicasUnavailable")
    pods.set_condition(status, "Progressing", "True", time, ready >= wanted
                       and "NewReplicaSetAvailable" or "ReplicaSetUpdated")
  end)
end

local EVERYWHERE = { "not-ready", "unreachable", "disk-pressure", "memory-pressure",
                     "pid-pressure", "unschedulable" }

local daemon_specs = setmetatable({}, { __mode = "k" })

-- The pod spec as the controller makes it: it tolerates what a node may be ill with.
local function daemon_spec(template)
  if daemon_specs[template] then return daemon_specs[template] end
  local spec = copy(template.spec)
  daemon_specs[template] = spec
  spec.tolerations = spec.tolerations or array {}
  for _, name in ipairs(EVERYWHERE) do
    spec.tolerations[#spec.tolerations + 1] = { key = "node.kubernetes.io/" .. name,
                                                operator = "Exists" }
  end
  if spec.hostNetwork then
    spec.tolerations[#spec.tolerations + 1] = { key = "node.kubernetes.io/network-unavailable",
                                                operator = "Exists", effect = "NoSchedule" }
  end
  return spec
end

local function daemon_pass(kube, resource, set)
  if set.metadata.deletionTimestamp then return end
  local spec = daemon_spec(set.spec.template)
  local by_node = {}
  for _, pod in ipairs(alive(owned.pods_of(kube, set))) do by_node[pod.spec.nodeName] = pod end
  local desired, list = 0, {}
  for _, node in ipairs(kube.store:list(kube.nodes)) do
    local name = node.metadata.name
    if pods.selects(spec, node) and not pods.untolerated(spec, node) then
      desired = desired + 1
      if not by_node[name] and (spec.hostNetwork or nodes.ready(node)) then
        by_node[name] = owned.make_pod(kube, set, { metadata = set.spec.template.metadata,
                                                spec = spec },
                                   owned.name(kube, set.metadata.name))
        kube:bind(by_node[name], node)
      end
      list[#list + 1] = by_node[name]
      by_node[name] = nil
    end
  end
  local strays = {}
  for name in pairs(by_node) do strays[#strays + 1] = name end
  table.sort(strays)
  for _, name in ipairs(strays) do kube:delete(kube.pods, by_node[name], {}) end
  local ready = 0
  for _, pod in ipairs(list) do
    local now = kube.store:get(kube.pods, pod.metadata.namespace, pod.metadata.name)
    if now and pods.ready(now) then ready = ready + 1 end
  end
  kube.store:edit_status(resource, set, function (status, object)
    status.desiredNumberScheduled, status.currentNumberScheduled = desired, #list
    status.numberReady, status.numberMisscheduled = ready, 0
    status.updatedNumberScheduled = #list > 0 and #list or nil
    status.numberAvailable = ready > 0 and ready or nil
    status.numberUnavailable = desired > ready and desired - ready or nil
    status.observedGeneration = object.metadata.generation
  end)
end

-- Namespaces that are being deleted lose their content, then go.
local function namespace_pass(kube, space)
  if not space.metadata.deletionTimestamp then return end
  local left = false
  for _, resource in ipairs(kube.store.resources) do
    if resource.namespaced then
      for _, object in ipairs(kube.store:list(resource, space.metadata.name)) do
        if kube:delete(resource, object, {}) then left = true end
      end
    end
  end
  if not left then
    kube.store:remove(kube.namespaces, space)
  end
end

local function uids_of(kube)
  local uids = {}
  for _, resource in ipairs(kube.store.resources) do
    for _, object in ipairs(kube.store:list(resource)) do
      uids[object.metadata.uid] = object
    end
  end
  return uids
end

local function foreground_done(kube, resource, object, has_dependents)
  if has_dependents[object.metadata.uid] then return end
  for i, finalizer in ipairs(object.metadata.finalizers or {}) do
    if finalizer == "foregroundDeletion" then
      local after = kube.store:edit(resource, object, function (new)
        table.remove(new.metadata.finalizers, i)
      end)
      if after and #after.metadata.finalizers == 0 then kube.store:remove(resource, after) end
      return
    end
  end
end

-- Objects whose owners are gone, or go in the foreground, go too.
local function garbage_pass(kube)
  local uids, has_dependents = uids_of(kube), {}
  for _, resource in ipairs(kube.store.resources) do
    for _, object in ipairs(kube.store:list(resource)) do
      local owners = object.metadata.ownerReferences
      if owners and #owners > 0 then
        local lives = false
        for _, owner in ipairs(owners) do
          local there = uids[owner.uid]
          if there and not there.metadata.deletionTimestamp then lives = true end
          if there then has_dependents[owner.uid] = true end
        end
        if not lives and not object.metadata.deletionTimestamp then
          kube:delete(resource, object, {})
        end
      end
    end
  end
  for _, resource in ipairs(kube.store.resources) do
    for _, object in ipairs(kube.store:list(resource)) do
      if object.metadata.deletionTimestamp then
        foreground_done(kube, resource, object, has_dependents)
      end
    end
  end
end

local function each(kube, kind, visit)
  local resource = kube.store:of_kind(kind)
  for _, object in ipairs(kube.store:list(resource)) do visit(resource, object) end
end

local WORKLOADS = { DaemonSet = true, Deployment = true, ReplicaSet = true, RayCluster = true }

--- Notes that an object changed, so that the next pass looks at what has to do with it.
function M.note(kube, resource, object)
  if kube.in_pass then return end
  local kind = resource.kind
  if kind == "Node" then kube.nodes_changed = true end
  if WORKLOADS[kind] then kube.dirty[object.metadata.uid] = true end
  if kind == "Pod" or kind == "ReplicaSet" then
    for _, owner in ipairs(object.metadata.ownerReferences or {}) do
      kube.dirty[owner.uid] = true
      if owner.kind == "ReplicaSet" then kube.dirty[owner.name] = true end
    end
  end
end

-- Whether a deployment or one of its replica sets' pods changed.
local function deployment_dirty(dirty, deployment)
  if dirty[deployment.metadata.uid] then return true end
  return dirty[deployment.metadata.name .. "-" .. template_hash(deployment.spec.template)]
end

local function workloads_pass(kube, dirty, nodes_changed)
  local sets = kube.store:of_kind "ReplicaSet"
  each(kube, "Deployment", function (resource, object)
    if deployment_dirty(dirty, object) then deployment_pass(kube, resource, sets, object) end
  end)
  each(kube, "DaemonSet", function (resource, object)
    if nodes_changed or dirty[object.metadata.uid] then daemon_pass(kube, resource, object) end
  end)
  operator.pass(kube)
end

--- One pass of all controllers.
function M.pass(kube)
  each(kube, "Namespace", function (_, object) namespace_pass(kube, object) end)
  local went = kube.something_went
  kube.something_went = false
  if went then
    garbage_pass(kube)
    volumes.pass(kube)
  end
  local dirty, nodes_changed = kube.dirty, kube.nodes_changed
  kube.dirty, kube.nodes_changed, kube.in_pass = {}, false, true
  workloads_pass(kube, dirty, nodes_changed)
  kube.in_pass = false
  scheduler.pass(kube)
  if went then nodes.check_devices(kube) end
end

return M
