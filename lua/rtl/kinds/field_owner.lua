--- Whose fields are whose. helm 3 upgrades by patches, under the manager "helm" as an Update; what
-- it wrote so would stay for ever, since a server-side apply drops only what an Apply of the same
-- manager wrote. So the one becomes part of the other first, as kubectl and helm 4 do it.

local keys = require "rtl.keys"
local kube = require "rtl.kinds.kube"

local M = {}

local function union(into, from)
  for key, value in keys.pairs(from) do
    if type(value) == "table" and type(into[key]) == "table" then
      union(into[key], value)
    elseif into[key] == nil then
      into[key] = value
    end
  end
end

-- The entries with the manager's updates made part of its apply; nil when there is none.
local function merged(entries, manager)
  local kept, updates, applied = {}, {}, nil
  for _, entry in ipairs(entries) do
    local own = entry.manager == manager and not entry.subresource
    if own and entry.operation == "Update" then
      updates[#updates + 1] = entry
    else
      kept[#kept + 1] = entry
      if own and entry.operation == "Apply" then applied = entry end
    end
  end
  if #updates == 0 then return nil end
  if not applied then
    applied = table.remove(updates, 1)
    applied.operation = "Apply"
    kept[#kept + 1] = applied
  end
  for _, entry in ipairs(updates) do union(applied.fieldsV1, entry.fieldsV1) end
  return kept
end

--- Makes what `manager` wrote by updates its own for applies: true | nil, err. An object that is
-- not there is fine.
function M.take_over(client, object, namespace, manager)
  local name, options = object.metadata.name, { namespace = object.metadata.namespace or namespace }
  local live, failure = client:get(kube.kind_of(object), name, options)
  if not live then
    if kube.is_absent(failure) then return true end
    return nil, failure
  end
  local entries = merged(live.metadata.managedFields or {}, manager)
  if not entries then return true end
  options.type = "json"
  return client:patch(kube.kind_of(object), name, {
    { op = "replace", path = "/metadata/managedFields", value = entries },
    { op = "replace", path = "/metadata/resourceVersion", value = live.metadata.resourceVersion },
  }, options)
end

return M
