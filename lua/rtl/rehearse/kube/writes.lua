--- Create, update, patch, apply and delete of objects.

local answer = require "rtl.rehearse.kube.answer"
local apply = require "rtl.rehearse.kube.apply"
local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local defaults = require "rtl.rehearse.kube.defaults"
local json = require "rtl.native.json"
local null = require "rtl.null"
local pods = require "rtl.rehearse.kube.pods"
local store_module = require "rtl.rehearse.kube.store"
local yaml = require "rtl.native.yaml"

local M = {}

local copy, equal = store_module.copy, store_module.equal

local function namespace_refusal(kube, resource, call, name)
  if not resource.namespaced then return nil end
  local space = kube.store:get(kube.store:of_kind "Namespace", nil, call.namespace)
  if not space then
    return answer.not_found(kube.store:of_kind "Namespace", call.namespace or "")
  end
  if space.metadata.deletionTimestamp then
    return answer.failure(403, ('%s "%s" is forbidden: unable to create new content in namespace '
      .. "%s because it is being terminated"):format(resource.plural, name, call.namespace), {
        details = { causes = array { { reason = "NamespaceTerminating" } } } })
  end
  return nil
end

-- Status is written by its own path only.
local function without_status(resource, object)
  if resource.custom or resource.subresources.status then object.status = nil end
  return object
end

-- What a server says of a definition that it has only just taken: null, not absent.
local function unknown_names()
  return { acceptedNames = { kind = "", plural = "" }, conditions = null, storedVersions = null }
end

local FILLED_BY_SERVER = { "uid", "resourceVersion", "generation", "creationTimestamp",
                           "deletionTimestamp", "selfLink" }

-- Puts a new object in: names, defaults, what the kind needs. Returns the answer.
local function insert(kube, resource, object, call)
  local meta = object.metadata
  if resource.namespaced then meta.namespace = call.namespace end
  local refused = namespace_refusal(kube, resource, call, meta.name or "")
  if refused then return refused end
  for _, name in ipairs(FILLED_BY_SERVER) do meta[name] = nil end
  without_status(resource, object)
  defaults.fill(resource, object)
  if resource.kind == "Pod" then pods.admit(kube, object) end
  if resource.kind == "Service" then kube:give_address(object) end
  if resource.kind == "CustomResourceDefinition" then object.status = unknown_names() end
  if call.dry_run then
    meta.uid, meta.creationTimestamp = chance.uuid(kube.world.seed, "dry", meta.name),
                                       kube.store:timestamp()
    return answer.object(object, 201)
  end
  kube.store:create(resource, object)
  if resource.kind == "CustomResourceDefinition" then kube:establish(object) end
  return answer.object(object, 201)
end

local function decode(call)
  local kind = call.content_type:match "^[^;]+" or ""
  local body, e
  if kind:find "yaml" then
    body, e = json.decode(call.body)
    if body == nil then body, e = yaml.decode(call.body) end
  else
    body, e = json.decode(call.body)
  end
  if type(body) ~= "table" then
    return nil, answer.failure(400, "the body can not be decoded: " .. tostring(e or "no object"))
  end
  return body
end

local function decode_object(call, resource)
  local object, refused = decode(call)
  if not object then return nil, refused end
  if type(object.metadata) ~= "table" then object.metadata = {} end
  refused = defaults.refusal(resource, object, call.name, call.namespace, call.strict)
  if refused then return nil, refused end
  return object
end

local function options_of(kube, resource)
  return { custom = resource.custom, time = kube.store:timestamp(),
           api_version = resource.api_version }
end

--- POST to a collection.
function M.create(kube, resource, call)
  local object, refused = decode_object(call, resource)
  if not object then return refused end
  local meta = object.metadata
  if not meta.name and meta.generateName then
    meta.name = meta.generateName .. chance.letters(5, kube.world.seed, "name",
                                                    kube.world:count "generated name")
  end
  if not meta.name then
    return answer.invalid(resource, "", "metadata.name", "Required value: name is required")
  end
  if kube.store:get(resource, call.namespace, meta.name) then
    return answer.exists(resource, meta.name)
  end
  apply.updated(nil, object, call.manager, options_of(kube, resource))
  return insert(kube, resource, object, call)
end

local function spec_differs(resource, old, new)
  if not resource.custom then return not equal(old.spec, new.spec) end
  local a, b = copy(old), copy(new)
  a.metadata, a.status, b.metadata, b.status = nil, nil, nil, nil
  return not equal(a, b)
end

local IMMUTABLE = {
  Deployment = { "selector" }, DaemonSet = { "selector" }, ReplicaSet = { "selector" },
  Job = { "selector", "template" }, Service = { "clusterIP" },
}

local function immutable_refusal(resource, old, new)
  for _, field in ipairs(IMMUTABLE[resource.kind] or {}) do
    if not equal(old.spec[field], new.spec[field]) then
      return answer.invalid(resource, new.metadata.name, "spec." .. field, "field is immutable")
    end
  end
  if resource.kind == "Pod" then
    local a, b = copy(old.spec), copy(new.spec)
    for _, spec in ipairs { a, b } do
      spec.tolerations, spec.activeDeadlineSeconds = nil, nil
      for _, container in ipairs(spec.containers) do container.image = nil end
    end
    if not equal(a, b) then
      return answer.invalid(resource, new.metadata.name, "spec", "Forbidden: pod updates may not "
                            .. "change fields other than image, activeDeadlineSeconds, tolerations")
    end
  end
  return nil
end

-- Finalizers that went away may have been the last thing that kept an object.
local function finish_delete(kube, resource, object)
  local left = object.metadata.finalizers
  if object.metadata.deletionTimestamp and (not left or #left == 0) then
    kube.store:remove(resource, object)
  end
end

-- Puts a changed object in, if it changed. Returns the answer.
local function replace(kube, resource, old, new, call)
  for _, name in ipairs(FILLED_BY_SERVER) do new.metadata[name] = old.metadata[name] end
  new.metadata.name, new.metadata.namespace = old.metadata.name, old.metadata.namespace
  if not call.status then
    new.status = old.status
    defaults.fill(resource, new)
    local refused = immutable_refusal(resource, old, new)
    if refused then return refused end
  end
  if equal(old, new) or call.dry_run then return answer.object(new) end
  kube.store:update(resource, new, spec_differs(resource, old, new))
  finish_delete(kube, resource, new)
  return answer.object(new)
end

--- PUT.
function M.update(kube, resource, call)
  local object, refused = decode_object(call, resource)
  if not object then return refused end
  local old = kube.store:get(resource, call.namespace, call.name)
  if not old then return answer.not_found(resource, call.name) end
  local version = object.metadata.resourceVersion
  if version and version ~= old.metadata.resourceVersion then
    return answer.stale(resource, call.name)
  end
  local new = object
  if call.status then
    new = copy(old)
    new.status = object.status
  end
  apply.updated(old, new, call.manager, options_of(kube, resource))
  return replace(kube, resource, old, new, call)
end

--- RFC 7386.
local function merge_patch(target, patch)
  if type(patch) ~= "table" or array.is(patch) then return patch end
  if type(target) ~= "table" or array.is(target) then target = {} end
  for key, value in next, patch do
    if value == null then target[key] = nil else target[key] = merge_patch(target[key], value) end
  end
  return target
end

local function pointer_steps(path)
  local steps = {}
  for step in path:gmatch "/([^/]*)" do
    steps[#steps + 1] = (step:gsub("~1", "/"):gsub("~0", "~"))
  end
  return steps
end

local function json_patch_one(object, operation)
  local steps = pointer_steps(operation.path)
  local at = object
  for i = 1, #steps - 1 do
    local step = array.is(at) and tonumber(steps[i]) + 1 or steps[i]
    at = at[step]
    if type(at) ~= "table" then return nil, "path does not exist: " .. operation.path end
  end
  local last = steps[#steps]
  if array.is(at) then
    local index = last == "-" and #at + 1 or tonumber(last) + 1
    if operation.op == "remove" then table.remove(at, index)
    elseif operation.op == "add" then table.insert(at, index, operation.value)
    elseif operation.op == "replace" then at[index] = operation.value
    elseif operation.op == "test" and not equal(at[index], operation.value) then
      return nil, "test failed"
    end
    return true
  end
  if operation.op == "remove" then
    at[last] = nil
  elseif operation.op == "test" then
    if not equal(at[last], operation.value) then return nil, "test failed" end
  else
    at[last] = operation.value
  end
  return true
end

local function patched(resource, old, call)
  local kind = call.content_type:match "^[^;]+"
  local patch, refused = decode(call)
  if not patch then return nil, refused end
  local new = copy(old)
  if kind == "application/json-patch+json" then
    for _, operation in ipairs(patch) do
      local ok, e = json_patch_one(new, operation)
      if not ok then return nil, answer.failure(422, e) end
    end
    return new
  end
  if kind == "application/strategic-merge-patch+json" and resource.custom then
    return nil, answer.failure(415, "the body of the request was in an unknown format - accepted "
      .. "media types include: application/json-patch+json, application/merge-patch+json, "
      .. "application/apply-patch+yaml")
  end
  return merge_patch(new, patch)
end

local function server_side_apply(kube, resource, call)
  if not call.manager_given then
    return answer.failure(400, "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required "
                               .. "value: is required for apply patch", { reason = "Invalid" })
  end
  local object, refused = decode_object(call, resource)
  if not object then return refused end
  if object.metadata.managedFields then
    return answer.failure(400, "metadata.managedFields must be nil")
  end
  object.metadata.name = call.name
  local old = kube.store:get(resource, call.namespace, call.name)
  local version = object.metadata.resourceVersion
  if version and (not old or version ~= old.metadata.resourceVersion) then
    return answer.stale(resource, call.name)
  end
  local options = options_of(kube, resource)
  options.force = call.force
  local merged, found = apply.apply(old, without_status(resource, object), call.manager, options)
  if not merged then return answer.conflicts(found) end
  if not old then return insert(kube, resource, merged, call) end
  return replace(kube, resource, old, merged, call)
end

local PATCHES = {
  ["application/merge-patch+json"] = true, ["application/json-patch+json"] = true,
  ["application/strategic-merge-patch+json"] = true,
}

--- PATCH, by its content type.
function M.patch(kube, resource, call)
  local kind = call.content_type:match "^[^;]+" or ""
  if kind == "application/apply-patch+yaml" then return server_side_apply(kube, resource, call) end
  if not PATCHES[kind] then
    return answer.failure(415, "the body of the request was in an unknown format")
  end
  local old = kube.store:get(resource, call.namespace, call.name)
  if not old then return answer.not_found(resource, call.name) end
  local new, refused = patched(resource, old, call)
  if not new then return refused end
  local version = new.metadata.resourceVersion
  if version and version ~= old.metadata.resourceVersion then
    return answer.stale(resource, call.name)
  end
  apply.updated(old, new, call.manager, options_of(kube, resource))
  return replace(kube, resource, old, new, call)
end

local function delete_options(call)
  local body = call.body ~= "" and json.decode(call.body) or {}
  return type(body) == "table" and body or {}
end

--- DELETE of one object.
function M.delete(kube, resource, call)
  local object = kube.store:get(resource, call.namespace, call.name)
  if not object then return answer.not_found(resource, call.name) end
  local options = delete_options(call)
  local conditions = options.preconditions or {}
  if conditions.uid and conditions.uid ~= object.metadata.uid then
    return answer.failure(409, ("Precondition failed: UID in precondition: %s, UID in object meta: "
                                .. "%s"):format(conditions.uid, object.metadata.uid))
  end
  if conditions.resourceVersion
    and conditions.resourceVersion ~= object.metadata.resourceVersion then
    return answer.stale(resource, call.name)
  end
  if call.dry_run then return answer.deleted(resource, object) end
  local lives = kube:delete(resource, object, {
    policy = options.propagationPolicy or call.propagation or "Background",
    grace = tonumber(options.gracePeriodSeconds) or tonumber(call.grace) })
  if lives then return answer.object(lives, 200) end
  return answer.deleted(resource, object)
end

--- DELETE of a collection.
function M.delete_collection(kube, resource, call, test)
  local items = array {}
  for _, object in ipairs(kube.store:list(resource, call.namespace)) do
    if test(object) then
      items[#items + 1] = object
      kube:delete(resource, object, { policy = call.propagation or "Background" })
    end
  end
  return answer.object { kind = resource.kind .. "List", apiVersion = resource.api_version,
                         metadata = { resourceVersion = tostring(kube.store.version) },
                         items = items }
end

return M
