--- One Kubernetes cluster of a world: its store, its nodes, and what its controllers ask for.

local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local controllers = require "rtl.rehearse.kube.controllers"
local images = require "rtl.rehearse.kube.images"
local jobs = require "rtl.rehearse.ray.jobs"
local kubelet = require "rtl.rehearse.kube.kubelet"
local nodes = require "rtl.rehearse.kube.nodes"
local pods = require "rtl.rehearse.kube.pods"
local store_module = require "rtl.rehearse.kube.store"

local M = {}

local Cluster = {}
Cluster.__index = Cluster

local NAMESPACES = { "default", "kube-node-lease", "kube-public", "kube-system" }

local function first_objects(kube)
  local defaults = require "rtl.rehearse.kube.defaults"
  for _, name in ipairs(NAMESPACES) do
    local object = { metadata = { name = name } }
    defaults.fill(kube.namespaces, object)
    kube.store:create(kube.namespaces, object)
  end
  kube.store:create(kube.store:of_kind "Service", { metadata = { name = "kubernetes",
    namespace = "default" }, spec = { clusterIP = "172.20.0.1", type = "ClusterIP",
    ports = array { { name = "https", port = 443, protocol = "TCP", targetPort = 443 } } } })
  for _, row in ipairs { { "system-node-critical", 2000001000 },
                         { "system-cluster-critical", 2000000000 } } do
    kube.store:create(kube.store:of_kind "PriorityClass", { metadata = { name = row[1] },
                                                            value = row[2] })
  end
end

--- Makes a cluster. `options`: name, region, version ("1.36"), key (unlike any other's), host (of
-- its endpoint), authority (PEM text of its CA), admits (whether a principal's ARN may use it).
function M.new(world, options)
  local kube = setmetatable({ world = world, name = options.name, region = options.region,
                              version = options.version, key = options.key, host = options.host,
                              authority = options.authority, admits = options.admits,
                              good_tokens = {}, images_on = {}, address_of = {}, files = {},
                              jobs = {}, machines = {}, output = {}, taken = {}, dirty = {},
                              container_ids = {}, since = world:age() },
                            Cluster)
  kube.store = store_module.new(world, options.key)
  for field, kind in pairs { pods = "Pod", nodes = "Node", namespaces = "Namespace" } do
    kube[field] = kube.store:of_kind(kind)
  end
  first_objects(kube)
  kube.store.changed = function (resource, object, kind)
    if resource == kube.pods and (kind == "DELETED" or pods.ended(object)) then
      jobs.pod_lost(kube, object.metadata.uid)
    end
    if kind == "DELETED" or object.metadata.deletionTimestamp then kube.something_went = true end
    controllers.note(kube, resource, object)
    kube:kick()
  end
  return kube
end

local KICK = 0.15

--- Lets the controllers look at the cluster soon.
function Cluster:kick()
  if self.kicked or self.store.gone then return end
  self.kicked = true
  self.world:after(KICK, function ()
    self.kicked = false
    if not self.store.gone then controllers.pass(self) end
  end)
end

--- The cluster is gone: watches end, nothing happens any more.
function Cluster:destroy()
  self.store.gone = true
end

--- Binds a pod to a node.
function Cluster:bind(pod, node)
  local bound = self.store:edit(self.pods, pod, function (copy)
    copy.spec.nodeName = node.metadata.name
    pods.set_condition(copy.status, "PodScheduled", "True", self.store:timestamp())
  end)
  if bound then self:take(bound) end
end

--- Gives a pod that has a node to that node's kubelet, once.
function Cluster:take(pod)
  if self.taken[pod.metadata.uid] then return end
  self.taken[pod.metadata.uid] = true
  kubelet.take(self, pod)
end

--- Notes on a pod why it can not be scheduled.
function Cluster:unschedulable(pod, text)
  self.store:edit_status(self.pods, pod, function (status)
    pods.set_condition(status, "PodScheduled", "False", self.store:timestamp(),
                       "Unschedulable", text)
  end)
end

--- The address of a node.
function Cluster:node_address(name)
  return self.address_of[name]
end

--- A free address for a pod on a node.
function Cluster:new_pod_address(node)
  local base = (self.address_of[node] or "10.0.0.9"):match "^(%d+%.%d+%.%d+)%."
  self.addresses = (self.addresses or 19) + 1
  return ("%s.%d"):format(base, self.addresses % 230 + 20)
end

--- Gives a Service its cluster address, unless it is headless or has one.
function Cluster:give_address(service)
  local spec = service.spec
  if spec.clusterIP == nil and spec.type ~= "ExternalName" then
    self.services = (self.services or 9) + 1
    spec.clusterIP = ("172.20.%d.%d"):format(self.services // 250 + 1, self.services % 250 + 1)
  end
  if spec.clusterIP and not spec.clusterIPs then spec.clusterIPs = array { spec.clusterIP } end
  spec.ipFamilies = spec.ipFamilies or array { "IPv4" }
  spec.ipFamilyPolicy = spec.ipFamilyPolicy or "SingleStack"
end

--- Makes an Event about an object.
function Cluster:event(object, kind, reason, message)
  local meta, time = object.metadata, self.store:timestamp()
  local resource = self.store:of_kind "Event"
  self.store:create(resource, {
    metadata = { name = meta.name .. "." .. chance.hex(16, self.world.seed, self.key, "event",
                                                       self.world:count "event"),
                 namespace = meta.namespace or "default" },
    involvedObject = { kind = object.kind, namespace = meta.namespace, name = meta.name,
                       uid = meta.uid, apiVersion = object.apiVersion },
    reason = reason, message = message, type = kind, firstTimestamp = time, lastTimestamp = time,
    count = 1, source = { component = "kubelet" },
  })
end

--- Lets a new CustomResourceDefinition get established.
function Cluster:establish(object)
  local resource = self.store:of_kind "CustomResourceDefinition"
  self.world:after(self.world:spread(0.4, 1.2, "crd", object.metadata.name), function ()
    local now = self.store:get(resource, nil, object.metadata.name)
    if not now then return end
    self.store:serve(now)
    self.store:edit(resource, now, function (copy)
      local time = self.store:timestamp()
      copy.status = { acceptedNames = copy.spec.names, storedVersions = array {
        copy.spec.versions[1].name } }
      pods.set_condition(copy.status, "NamesAccepted", "True", time, "NoConflicts",
                         "no conflicts found")
      pods.set_condition(copy.status, "Established", "True", time, "InitialNamesAccepted",
                         "the initial names have been accepted")
    end)
  end)
end

local function has_finalizer(object)
  local list = object.metadata.finalizers
  return list and #list > 0
end

local function mark_deleted(kube, resource, object, change)
  if object.metadata.deletionTimestamp then return object end
  return kube.store:edit(resource, object, function (copy)
    copy.metadata.deletionTimestamp = kube.store:timestamp()
    if change then change(copy) end
  end)
end

local function delete_definition(kube, resource, object)
  for _, served in ipairs(kube.store.resources) do
    if served.custom and served.group == object.spec.group
      and served.plural == object.spec.names.plural then
      for _, item in ipairs(kube.store:list(served)) do kube:delete(served, item, {}) end
    end
  end
  kube.store:unserve(object)
  kube.store:remove(resource, object)
end

local function orphan_dependents(kube, object)
  for _, resource in ipairs(kube.store.resources) do
    for _, item in ipairs(kube.store:list(resource)) do
      for _, owner in ipairs(item.metadata.ownerReferences or {}) do
        if owner.uid == object.metadata.uid then
          kube.store:edit(resource, item, function (copy) copy.metadata.ownerReferences = nil end)
        end
      end
    end
  end
end

--- Deletes an object. `options`: policy, grace (s). Returns the object if it lives on for a while.
function Cluster:delete(resource, object, options)
  if resource.kind == "Pod" then
    local marked = mark_deleted(self, resource, object, function (copy)
      copy.metadata.deletionGracePeriodSeconds = options.grace
        or copy.spec.terminationGracePeriodSeconds
    end)
    if marked and not object.metadata.deletionTimestamp then
      kubelet.let_go(self, marked, options.grace)
    end
    return marked
  elseif resource.kind == "Namespace" then
    return mark_deleted(self, resource, object, function (copy)
      copy.status.phase = "Terminating"
    end)
  elseif resource.kind == "CustomResourceDefinition" then
    return delete_definition(self, resource, object)
  elseif options.policy == "Orphan" then
    orphan_dependents(self, object)
  elseif options.policy == "Foreground" or has_finalizer(object) then
    return mark_deleted(self, resource, object, function (copy)
      if options.policy ~= "Foreground" then return end
      copy.metadata.finalizers = copy.metadata.finalizers or array {}
      table.insert(copy.metadata.finalizers, "foregroundDeletion")
    end)
  end
  self.store:remove(resource, object)
  return nil
end

--- A pod got ready: what it does to its node or its cluster.
function Cluster:pod_ready(pod)
  nodes.pod_ready(self, pod)
  self:kick()
end

--- When a started pod gets ready, and whether and how it ends: { ready_after, ends_after, code }.
function Cluster:course_of(pod)
  local low, high = images.ready_bounds(pod.spec.containers[1].image)
  local course = { ready_after = self.world:spread(low, high, "ready", pod.metadata.name) }
  if pod.spec.restartPolicy == "Always" then return course end
  local ends = require "rtl.rehearse.kube.exec".run_to_end(self, pod)
  if ends then course.ends_after, course.code = ends.seconds, ends.code end
  return course
end

--- Whether an init container has ended: one of a Ray worker waits for the head.
function Cluster:init_done(pod)
  local labels = pod.metadata.labels or {}
  if labels["ray.io/node-type"] ~= "worker" then return true end
  for _, other in ipairs(self.store:list(self.pods, pod.metadata.namespace)) do
    local theirs = other.metadata.labels or {}
    if theirs["ray.io/cluster"] == labels["ray.io/cluster"] and pods.ready(other)
      and theirs["ray.io/node-type"] == "head" then
      return true
    end
  end
  return false
end

--- Answers GET …/pods/POD/log.
function Cluster:logs(target, query)
  return require "rtl.rehearse.kube.exec".logs(self, target, query)
end

return M
