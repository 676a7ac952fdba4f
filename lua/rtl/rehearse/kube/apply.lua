--- Server-side apply: who owns which field, conflicts, merging.
--
-- Ownership is kept as Kubernetes writes it, in metadata.managedFields: a tree of `f:NAME` (field),
-- `k:{…}` (item of a list with keys) and `v:…` (item of a set); a leaf is an empty table. Lists
-- of custom resources, and those not named here, are one value each, as without a list type.

local json = require "rtl.native.json"
local store = require "rtl.rehearse.kube.store"
local array = require "rtl.array"

local M = {}

local copy, equal = store.copy, store.equal

-- The lists of built-in kinds whose items have keys, and the maps that are one value.
local KEYED = {
  containers = { "name" }, initContainers = { "name" }, env = { "name" }, volumes = { "name" },
  imagePullSecrets = { "name" }, volumeMounts = { "mountPath" }, conditions = { "type" },
  ownerReferences = { "uid" }, hostAliases = { "ip" },
}
local SETS = { finalizers = true }
local WHOLE = { selector = true, nodeSelector = true, matchLabels = true, fieldRef = true,
                configMapKeyRef = true, secretKeyRef = true, resourceFieldRef = true }

local function keys_of(name, list)
  if name == "ports" then
    local first = list[1]
    return { type(first) == "table" and first.containerPort ~= nil and "containerPort" or "port",
             "protocol" }
  end
  return KEYED[name]
end

local function item_key(keys, item)
  local parts = {}
  for _, key in ipairs(keys) do
    local value = item[key]
    if value == nil and key == "protocol" then value = "TCP" end
    parts[key] = value
  end
  return "k:" .. json.encode(parts)
end

-- How a value is split into fields: "map", "keyed" (with its keys), "set" or nil (one value).
local function split(name, value, custom)
  if type(value) ~= "table" then return nil end
  if array.is(value) or value[1] ~= nil then
    if custom then return nil end
    if SETS[name] then return "set" end
    local keys = keys_of(name, value)
    return keys and "keyed" or nil, keys
  end
  if next(value) == nil or (WHOLE[name] and not custom) then return nil end
  return "map"
end

-- Calls visit(owner key, item, name of the field) for each part of a value.
local function each(how, keys, value, visit)
  if how == "map" then
    for name, item in next, value do visit("f:" .. name, item, name) end
  elseif how == "keyed" then
    for _, item in ipairs(value) do visit(item_key(keys, item), item, "") end
  else
    for _, item in ipairs(value) do visit("v:" .. json.encode(item), item, "") end
  end
end

local function owned(name, value, custom)
  local how, keys = split(name, value, custom)
  if not how then return {} end
  local tree = {}
  each(how, keys, value, function (key, item, field) tree[key] = owned(field, item, custom) end)
  return tree
end

-- What a manager says with an object: all but what names the object.
local function intent(object)
  local out = copy(object)
  out.apiVersion, out.kind, out.status = nil, nil, nil
  local meta = out.metadata
  for _, name in ipairs { "name", "namespace", "uid", "resourceVersion", "generation",
                          "creationTimestamp", "managedFields", "selfLink" } do
    meta[name] = nil
  end
  if next(meta) == nil then out.metadata = nil end
  return out
end

--- The tree of fields that `object` sets.
function M.fields(object, custom)
  return owned("", intent(object), custom)
end

local function find_item(keys, list, wanted)
  for i, item in ipairs(list or {}) do
    if item_key(keys, item) == wanted then return i, item end
  end
  return nil
end

local function set_item(list, wanted)
  for i, item in ipairs(list or {}) do
    if "v:" .. json.encode(item) == wanted then return i, item end
  end
  return nil
end

-- The part of `value` that an owner key names.
local function part(how, keys, value, key)
  if type(value) ~= "table" then return nil end
  if how == "map" then return value[key:sub(3)] end
  if how == "keyed" then return (select(2, find_item(keys, value, key))) end
  return (select(2, set_item(value, key)))
end

-- Fields of `wanted` that another manager owns and that have another value now.
local function conflicts(name, wanted, live, other, custom, path, found)
  local how, keys = split(name, wanted, custom)
  if not how then
    if not equal(wanted, live) then found[#found + 1] = path end
    return
  end
  local names = {}
  each(how, keys, wanted, function (key, item, field) names[#names + 1] = { key, item, field } end)
  table.sort(names, function (a, b) return a[1] < b[1] end)
  for _, entry in ipairs(names) do
    local key, item, field = entry[1], entry[2], entry[3]
    if other[key] then
      local step = key:sub(1, 2) == "f:" and "." .. key:sub(3) or "[" .. key:sub(3) .. "]"
      conflicts(field, item, part(how, keys, live, key), other[key], custom, path .. step, found)
    end
  end
end

local function merge(name, live, wanted, custom)
  local how, keys = split(name, wanted, custom)
  if not how or type(live) ~= "table" then return copy(wanted) end
  if how == "map" then
    if array.is(live) then return copy(wanted) end
    for field, item in next, wanted do live[field] = merge(field, live[field], item, custom) end
    return live
  end
  for _, item in ipairs(wanted) do
    local key = how == "keyed" and item_key(keys, item) or "v:" .. json.encode(item)
    local at, old
    if how == "keyed" then at, old = find_item(keys, live, key) else at = set_item(live, key) end
    if not at then
      live[#live + 1] = copy(item)
    elseif how == "keyed" then
      live[at] = merge("", old, item, custom)
    end
  end
  return live
end

-- Takes out of `live` what `before` owns and neither `now` nor `others` own.
local function prune(name, live, before, now, others, custom)
  local how, keys = split(name, live, custom)
  if not how then return end
  local gone = {}
  for key, tree in next, before do
    local item = part(how, keys, live, key)
    if item ~= nil then
      local kept_by = {}
      for _, other in ipairs(others) do
        if other[key] then kept_by[#kept_by + 1] = other[key] end
      end
      if now[key] == nil and #kept_by == 0 then
        gone[key] = true
      else
        prune(key:sub(1, 2) == "f:" and key:sub(3) or "", item, tree, now[key] or {}, kept_by,
              custom)
      end
    end
  end
  if how == "map" then
    for key in next, gone do live[key:sub(3)] = nil end
    return
  end
  for i = #live, 1, -1 do
    local key = how == "keyed" and item_key(keys, live[i]) or "v:" .. json.encode(live[i])
    if gone[key] then table.remove(live, i) end
  end
end

local function subtract(tree, taken)
  for key, sub in next, taken do
    if tree[key] then
      if next(sub) == nil or next(tree[key]) == nil then
        tree[key] = nil
      else
        subtract(tree[key], sub)
        if next(tree[key]) == nil then tree[key] = nil end
      end
    end
  end
end

local function unite(tree, added)
  for key, sub in next, added do
    if tree[key] == nil then tree[key] = copy(sub) else unite(tree[key], sub) end
  end
end

local function entry_of(fields, manager, operation)
  for i, entry in ipairs(fields) do
    if entry.manager == manager and entry.operation == operation and not entry.subresource then
      return entry, i
    end
  end
  return nil
end

local function new_entry(api_version, manager, operation, time, tree)
  return { manager = manager, operation = operation, apiVersion = api_version, time = time,
           fieldsType = "FieldsV1", fieldsV1 = tree }
end

local function all_conflicts(live, wanted, manager, custom)
  local list = {}
  for _, entry in ipairs(live.metadata.managedFields or {}) do
    if entry.manager ~= manager then
      local found = {}
      conflicts("", wanted, intent(live), entry.fieldsV1, custom, "", found)
      for _, path in ipairs(found) do
        list[#list + 1] = { field = path, manager = entry.manager, entry = entry }
      end
    end
  end
  return list
end

--- Applies `object` over `live` (nil to make it) for `manager`. `options`: force, custom, time,
-- api_version. Returns the merged object, not yet stored, or nil and the array of conflicts
-- {field, manager, entry}.
function M.apply(live, object, manager, options)
  local wanted = intent(object)
  local tree = owned("", wanted, options.custom)
  if not live then
    local made = copy(object)
    made.metadata.managedFields = array { new_entry(options.api_version, manager, "Apply",
                                                    options.time, tree) }
    return made
  end
  local found = all_conflicts(live, wanted, manager, options.custom)
  if #found > 0 and not options.force then return nil, found end
  local merged = copy(live)
  local fields = merged.metadata.managedFields or array {}
  merged.metadata.managedFields = nil
  local others, mine = {}, nil
  for _, entry in ipairs(fields) do
    if entry.manager == manager and entry.operation == "Apply" then
      mine = entry
    else
      others[#others + 1] = entry.fieldsV1
    end
  end
  if mine then prune("", merged, mine.fieldsV1, tree, others, options.custom) end
  merged = merge("", merged, wanted, options.custom)
  merged.metadata.managedFields = fields
  if #found > 0 then
    for _, other in ipairs(others) do subtract(other, tree) end
  end
  if not mine then
    fields[#fields + 1] = new_entry(options.api_version, manager, "Apply", options.time, tree)
  elseif not equal(mine.fieldsV1, tree) then
    mine.fieldsV1, mine.time = tree, options.time
  end
  return merged
end

-- The fields in which two objects differ.
local function difference(name, old, new, custom)
  if equal(old, new) then return nil end
  local how, keys = split(name, new, custom)
  if not how or type(old) ~= "table" then return owned(name, new, custom) end
  local tree
  each(how, keys, new, function (key, item, field)
    local sub = difference(field, part(how, keys, old, key), item, custom)
    if sub then
      tree = tree or {}
      tree[key] = sub
    end
  end)
  return tree
end

--- Notes in `new` that `manager` wrote it over `old` (nil: made it) by another verb than apply.
function M.updated(old, new, manager, options)
  local tree = difference("", old and intent(old) or {}, intent(new), options.custom)
  local fields = copy(old and old.metadata.managedFields or array {})
  new.metadata.managedFields = fields
  if not tree then return new end
  for _, entry in ipairs(fields) do
    if entry.manager ~= manager then subtract(entry.fieldsV1, tree) end
  end
  local mine = entry_of(fields, manager, "Update")
  if mine then
    unite(mine.fieldsV1, tree)
    mine.time = options.time
  else
    fields[#fields + 1] = new_entry(options.api_version, manager, "Update", options.time, tree)
  end
  return new
end

return M
