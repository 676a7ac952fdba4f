--- Discovery: which groups, versions and resources are served, in the plain and the aggregated
-- form.

local array = require "rtl.array"

local M = {}

local function has_version(group, version)
  for _, have in ipairs(group.versions) do
    if have.version == version then return have end
  end
  local made = { version = version, resources = {} }
  group.versions[#group.versions + 1] = made
  return made
end

-- The named groups in the order in which they were first served.
local function groups_of(store)
  local groups, by_name = {}, {}
  for _, resource in ipairs(store.resources) do
    local group = by_name[resource.group]
    if not group then
      group = { name = resource.group, versions = {} }
      by_name[resource.group] = group
      groups[#groups + 1] = group
    end
    local version = has_version(group, resource.version)
    version.resources[#version.resources + 1] = resource
  end
  return groups, by_name
end

local function aggregated_resource(resource)
  local subresources, names = array {}, {}
  for name in pairs(resource.subresources) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    subresources[i] = { subresource = name, verbs = array { "get", "patch", "update" },
                        responseKind = { group = resource.group, version = resource.version,
                                         kind = resource.kind } }
  end
  return { resource = resource.plural, scope = resource.namespaced and "Namespaced" or "Cluster",
           singularResource = resource.singular, verbs = array { table.unpack(resource.verbs) },
           shortNames = #resource.short > 0 and array { table.unpack(resource.short) } or nil,
           responseKind = { group = resource.group, version = resource.version,
                            kind = resource.kind },
           subresources = #subresources > 0 and subresources or nil }
end

local function aggregated_group(group)
  local versions = array {}
  for i, version in ipairs(group.versions) do
    local resources = array {}
    for k, resource in ipairs(version.resources) do
      resources[k] = aggregated_resource(resource)
    end
    versions[i] = { version = version.version, resources = resources, freshness = "Current" }
  end
  return { metadata = { name = group.name ~= "" and group.name or nil }, versions = versions }
end

local AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

local function aggregated(groups, core)
  local items = array {}
  for _, group in ipairs(groups) do
    if (group.name == "") == core then items[#items + 1] = aggregated_group(group) end
  end
  return { status = 200, content_type = AGGREGATED,
           body = { kind = "APIGroupDiscoveryList", apiVersion = "apidiscovery.k8s.io/v2",
                    metadata = {}, items = items } }
end

local function group_entry(group)
  local versions = array {}
  for i, version in ipairs(group.versions) do
    versions[i] = { groupVersion = group.name .. "/" .. version.version,
                    version = version.version }
  end
  return { name = group.name, versions = versions, preferredVersion = versions[1] }
end

local function plain(groups, core)
  if core then
    return { status = 200, body = { kind = "APIVersions", versions = array { "v1" } } }
  end
  local list = array {}
  for _, group in ipairs(groups) do
    if group.name ~= "" then list[#list + 1] = group_entry(group) end
  end
  return { status = 200, body = { kind = "APIGroupList", apiVersion = "v1", groups = list } }
end

--- Answers GET /api (`core`) and GET /apis.
function M.roots(store, core, accept)
  local groups = groups_of(store)
  if (accept or ""):find("as=APIGroupDiscoveryList", 1, true)
    and accept:find("v=v2;", 1, true) then
    return aggregated(groups, core)
  end
  return plain(groups, core)
end

local function plain_resource(resource)
  return { name = resource.plural, singularName = resource.singular, kind = resource.kind,
           namespaced = resource.namespaced, verbs = array { table.unpack(resource.verbs) },
           shortNames = #resource.short > 0 and array { table.unpack(resource.short) } or nil }
end

--- Answers GET /api/v1 and GET /apis/GROUP/VERSION; nil if that is not served.
function M.version(store, group_name, version_name)
  local _, by_name = groups_of(store)
  local group = by_name[group_name]
  for _, version in ipairs(group and group.versions or {}) do
    if version.version == version_name then
      local list = array {}
      for _, resource in ipairs(version.resources) do
        list[#list + 1] = plain_resource(resource)
        for sub in pairs(resource.subresources) do
          list[#list + 1] = { name = resource.plural .. "/" .. sub, singularName = "",
                              kind = resource.kind, namespaced = resource.namespaced,
                              verbs = array { "get", "patch", "update" } }
        end
      end
      table.sort(list, function (a, b) return a.name < b.name end)
      local name = group_name == "" and version_name or group_name .. "/" .. version_name
      return { status = 200, body = { kind = "APIResourceList", apiVersion = "v1",
                                      groupVersion = name, resources = list } }
    end
  end
  return nil
end

return M
