--- What controllers make for the objects that they look after: names, owner references, pods.

local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local defaults = require "rtl.rehearse.kube.defaults"
local pods = require "rtl.rehearse.kube.pods"
local store_module = require "rtl.rehearse.kube.store"

local M = {}

local copy = store_module.copy

--- A new object that `owner` controls, named after it.
function M.name(kube, prefix)
  return prefix .. "-" .. chance.letters(5, kube.world.seed, kube.key, prefix,
                                         kube.world:count("name " .. kube.key))
end

--- The ownerReferences of what `owner` controls.
function M.reference(owner)
  return array { { apiVersion = owner.apiVersion, kind = owner.kind, name = owner.metadata.name,
                   uid = owner.metadata.uid, controller = true, blockOwnerDeletion = true } }
end

--- Makes a pod from a template for `owner`.
function M.make_pod(kube, owner, template, name, change)
  local meta = copy(template.metadata or {})
  meta.name, meta.namespace = name, owner.metadata.namespace
  meta.ownerReferences = M.reference(owner)
  local pod = { apiVersion = "v1", kind = "Pod", metadata = meta, spec = copy(template.spec) }
  if change then change(pod) end
  defaults.fill(kube.pods, pod)
  pods.admit(kube, pod)
  return kube.store:create(kube.pods, pod)
end

--- Whether `owner` owns an object.
function M.by(object, owner)
  for _, reference in ipairs(object.metadata.ownerReferences or {}) do
    if reference.uid == owner.metadata.uid then return true end
  end
  return false
end

-- Owner's uid → its pods, by name; made anew when a pod has changed.
local function pods_by_owner(kube)
  local store = kube.store
  if kube.owner_index and kube.owner_epoch == store:epoch(kube.pods) then
    return kube.owner_index
  end
  local index = {}
  for _, pod in ipairs(store:list(kube.pods)) do
    for _, reference in ipairs(pod.metadata.ownerReferences or {}) do
      local list = index[reference.uid] or {}
      index[reference.uid] = list
      list[#list + 1] = pod
    end
  end
  kube.owner_index, kube.owner_epoch = index, store:epoch(kube.pods)
  return index
end

--- The pods that an object owns, by name. Not to be changed.
function M.pods_of(kube, owner)
  return pods_by_owner(kube)[owner.metadata.uid] or {}
end

return M
