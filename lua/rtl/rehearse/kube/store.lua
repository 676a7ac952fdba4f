--- What a Kubernetes API server keeps: objects by resource, each write with a new version, and the
-- events that watches read. An object that was put in is never changed again: who wants another
-- one copies it and puts the copy, so that events and answers can hold the old ones.

local chance = require "rtl.rehearse.chance"
local clock = require "rtl.clock"
local json = require "rtl.native.json"
local kinds = require "rtl.rehearse.kube.kinds"

local M = {}

local Store = {}
Store.__index = Store

local function copy_table(value)
  local out = {}
  for key, item in next, value do
    out[key] = type(item) == "table" and copy_table(item) or item
  end
  local mark = getmetatable(value) -- an array's
  return mark and setmetatable(out, mark) or out
end

--- A deep copy; arrays stay arrays.
function M.copy(value)
  return type(value) == "table" and copy_table(value) or value
end

local function shallow(value)
  local out = {}
  for key, item in next, value do out[key] = item end
  return out
end

--- Whether two decoded values are equal in depth.
function M.equal(a, b)
  if a == b then return true end
  if type(a) ~= "table" or type(b) ~= "table" then return false end
  for key, item in next, a do
    if not M.equal(item, b[key]) then return false end
  end
  for key in next, b do
    if a[key] == nil then return false end
  end
  return true
end

-- A function of an object that remembers what it gave for each one that still lives.
local function remembered(make)
  local known = setmetatable({}, { __mode = "k" })
  return function (object)
    local value = known[object]
    if not value then
      value = make(object)
      known[object] = value
    end
    return value
  end
end

--- An object that was put in, as JSON. Each is written once, however often it is read.
M.text = remembered(json.encode)

--- The same as an item of a list has it, whose kind and apiVersion stand at the list.
M.item_text = remembered(function (object)
  local bare = shallow(object)
  bare.apiVersion, bare.kind = nil, nil
  return json.encode(bare)
end)

--- Makes the store of a cluster. `world` gives time and ids, `name` tells clusters apart.
function M.new(world, name)
  local store = setmetatable({ world = world, name = name, version = 100, made = 0, resources = {},
                               objects = {}, events = {}, sorted = {}, epochs = {} }, Store)
  for i, resource in ipairs(kinds.builtin) do store.resources[i] = resource end
  return store
end

--- The time of the world as Kubernetes writes it.
function Store:timestamp()
  return clock.iso(self.world:second())
end

local function key_of(namespace, name)
  return (namespace or "") .. "/" .. name
end

local function shelf(store, resource)
  local objects = store.objects[resource.key]
  if not objects then
    objects = {}
    store.objects[resource.key] = objects
  end
  return objects
end

local function record(store, kind, resource, object, old)
  store.world:touch()
  store.epochs[resource.key] = (store.epochs[resource.key] or 0) + 1
  store.events[#store.events + 1] = { version = store.version, type = kind, key = resource.key,
                                      object = object, old = old }
  if store.changed then store.changed(resource, object, kind) end
end

--- The object, or nil. Not to be changed.
function Store:get(resource, namespace, name)
  return shelf(self, resource)[key_of(resource.namespaced and namespace, name)]
end

-- The keys of a shelf in order; kept until one comes or goes.
local function sorted_keys(store, resource, objects)
  local keys = store.sorted[resource.key]
  if not keys then
    keys = {}
    for key in next, objects do keys[#keys + 1] = key end
    table.sort(keys)
    store.sorted[resource.key] = keys
  end
  return keys
end

--- All objects of a resource (in one namespace, if given), in the order of their keys.
function Store:list(resource, namespace)
  local objects, list = shelf(self, resource), {}
  for _, key in ipairs(sorted_keys(self, resource, objects)) do
    local object = objects[key]
    if not namespace or object.metadata.namespace == namespace then list[#list + 1] = object end
  end
  return list
end

--- A number that grows with each change of a resource's objects.
function Store:epoch(resource)
  return self.epochs[resource.key] or 0
end

--- A new uid for an object.
function Store:uid()
  self.made = self.made + 1
  return chance.uuid(self.world.seed, "uid", self.name, self.made)
end

--- Fills in what the server gives a new object and puts it in.
function Store:create(resource, object)
  local meta = object.metadata
  object.apiVersion, object.kind = resource.api_version, resource.kind
  meta.uid = self:uid()
  meta.creationTimestamp = self:timestamp()
  if object.spec or resource.custom then meta.generation = 1 end
  self.version = self.version + 1
  meta.resourceVersion = tostring(self.version)
  shelf(self, resource)[key_of(resource.namespaced and meta.namespace, meta.name)] = object
  self.sorted[resource.key] = nil
  record(self, "ADDED", resource, object)
  return object
end

--- Puts in a changed copy of an object. With `spec_changed` its generation goes up.
function Store:update(resource, object, spec_changed)
  local meta = object.metadata
  if spec_changed and meta.generation then meta.generation = meta.generation + 1 end
  self.version = self.version + 1
  meta.resourceVersion = tostring(self.version)
  local objects = shelf(self, resource)
  local key = key_of(resource.namespaced and meta.namespace, meta.name)
  local old = objects[key]
  objects[key] = object
  record(self, "MODIFIED", resource, object, old)
  return object
end

--- Changes an object by `change(copy)`; returns what was put in. Nothing if it is gone.
function Store:edit(resource, object, change)
  local current = self:get(resource, object.metadata.namespace, object.metadata.name)
  if not current or current.metadata.uid ~= object.metadata.uid then return nil end
  local copy = M.copy(current)
  change(copy)
  if M.equal(copy, current) then return current end
  return self:update(resource, copy)
end

--- Changes the status of an object by `change(copy of the status, present object)`; returns what
-- stands then. Nothing if it is gone. Cheaper than edit: the rest of the object is shared.
function Store:edit_status(resource, object, change)
  local current = self:get(resource, object.metadata.namespace, object.metadata.name)
  if not current or current.metadata.uid ~= object.metadata.uid then return nil end
  local status = M.copy(current.status or {})
  change(status, current)
  if M.equal(status, current.status) then return current end
  local new = shallow(current)
  new.status, new.metadata = status, shallow(current.metadata)
  return self:update(resource, new)
end

--- Takes an object out.
function Store:remove(resource, object)
  local meta = object.metadata
  local key = key_of(resource.namespaced and meta.namespace, meta.name)
  if not shelf(self, resource)[key] then return end
  shelf(self, resource)[key] = nil
  self.sorted[resource.key] = nil
  self.version = self.version + 1
  local last = M.copy(object)
  last.metadata.resourceVersion = tostring(self.version)
  record(self, "DELETED", resource, last, object)
end

--- The served resource with this group, version and plural name.
function Store:resource(group, version, plural)
  return kinds.find(self.resources, group, version, plural)
end

--- The served resource of a kind, for controllers ("Pod", "RayCluster").
function Store:of_kind(kind)
  return kinds.of_kind(self.resources, kind)
end

--- Serves what a CustomResourceDefinition defines.
function Store:serve(definition)
  for _, resource in ipairs(kinds.of_definition(definition)) do
    if not self:resource(resource.group, resource.version, resource.plural) then
      self.resources[#self.resources + 1] = resource
    end
  end
end

--- Stops serving what a CustomResourceDefinition defined.
function Store:unserve(definition)
  local kept = {}
  for _, resource in ipairs(self.resources) do
    local gone = resource.custom and resource.group == definition.spec.group
                 and resource.plural == definition.spec.names.plural
    if not gone then kept[#kept + 1] = resource end
  end
  self.resources = kept
end

return M
