--- The definitions (CRDs) that a chart brings. Made only where they are missing, as helm does, and
-- marked then, so that they go with the release; helm leaves them behind. One whose objects are
-- still there stays, and so does what somebody else made.

local err = require "rtl.err"
local kube = require "rtl.kinds.kube"
local support = require "rtl.kinds.support"

local M = {}

local KIND = "CustomResourceDefinition"
local RELEASE = "rtl/release"

-- The definition, marked as made for this release (id "namespace/name").
local function marked(ctx, definition, id)
  local object = kube.label(ctx, definition)
  local annotations = { [RELEASE] = id }
  for key, value in pairs(definition.metadata.annotations or {}) do annotations[key] = value end
  object.metadata.annotations = annotations
  return object
end

local function is_made_for(ctx, definition, id)
  return kube.is_ours(ctx, definition) and (definition.metadata.annotations or {})[RELEASE] == id
end

local function apply(ctx, client, definition, id)
  local live, failure = client:get(KIND, definition.metadata.name)
  if not live and not kube.is_absent(failure) then return nil, failure end
  if live and not is_made_for(ctx, live, id) then return true end
  return client:apply(marked(ctx, definition, id), { manager = "helm", force = true })
end

local function wait(ctx, res, client, name)
  return support.wait({ ctx = ctx, res = res, every = 1, limit = 120,
    what = "definition " .. name }, function ()
    local live, refused = client:get(KIND, name)
    if not live then return nil, refused end
    local known = kube.condition(live, "Established") or false
    return known, "definition " .. name .. " is not established"
  end)
end

--- Makes the definitions that are missing and waits until the server knows them. `id` is the
-- release's.
function M.apply(ctx, res, client, definitions, id)
  for _, definition in ipairs(definitions) do
    local done, failure = apply(ctx, client, definition, id)
    if not done then
      return nil, err.wrap(failure, { doing = "apply " .. definition.metadata.name })
    end
  end
  for _, definition in ipairs(definitions) do
    local done, failure = wait(ctx, res, client, definition.metadata.name)
    if not done then return nil, failure end
  end
  if #definitions > 0 and client.discover then client:discover { refresh = true } end
  return true
end

-- Whether objects of this definition are there; all of them would go with it.
local function is_used(client, definition)
  local spec = definition.spec
  local list, failure = client:list(("%s/%s/%s"):format(spec.group, spec.versions[1].name,
    spec.names.kind), { namespace = false, limit = 1 })
  if list then return #list.items > 0 end
  if kube.is_absent(failure) then return false end
  return nil, failure
end

local function delete(ctx, client, item, definition)
  local used, failure = is_used(client, definition)
  if used == nil then return nil, failure end
  if used then return true end
  return kube.delete_and_wait(ctx, item, KIND, definition.metadata.name)
end

--- Deletes what was made for this release and is not used any more.
function M.delete(ctx, client, item)
  for _, definition in ipairs(kube.ours(ctx, KIND)) do
    if is_made_for(ctx, definition, item.id) then
      local done, failure = delete(ctx, client, item, definition)
      if not done then return nil, failure end
    end
  end
  return true
end

return M
