--- From a kind, in whatever way a person names it, to the path of its objects.
-- The kinds of Kubernetes itself stand in a table and need no request; others are asked for, in one
-- aggregated answer where the server has it, else group by group.

local err = require "rtl.err"
local request = require "rtl.k8s.request"

local M = {}

local AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
  .. "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

-- group/version, then kind:plural[:short names][!] per kind; "!" marks what has no namespace.
local BUILT_IN = {
  { "", "v1", [[Namespace:namespaces:ns! Node:nodes:no! PersistentVolume:persistentvolumes:pv!
    Pod:pods:po
    Service:services:svc ServiceAccount:serviceaccounts:sa Secret:secrets ConfigMap:configmaps:cm
    Event:events:ev Endpoints:endpoints:ep PersistentVolumeClaim:persistentvolumeclaims:pvc
    ReplicationController:replicationcontrollers:rc LimitRange:limitranges:limits
    ResourceQuota:resourcequotas:quota PodTemplate:podtemplates]] },
  { "apps", "v1", [[Deployment:deployments:deploy DaemonSet:daemonsets:ds ReplicaSet:replicasets:rs
    StatefulSet:statefulsets:sts ControllerRevision:controllerrevisions]] },
  { "batch", "v1", "Job:jobs CronJob:cronjobs:cj" },
  { "rbac.authorization.k8s.io", "v1", [[Role:roles RoleBinding:rolebindings
    ClusterRole:clusterroles!
    ClusterRoleBinding:clusterrolebindings!]] },
  { "apiextensions.k8s.io", "v1", "CustomResourceDefinition:customresourcedefinitions:crd,crds!" },
  { "apiregistration.k8s.io", "v1", "APIService:apiservices!" },
  { "scheduling.k8s.io", "v1", "PriorityClass:priorityclasses:pc!" },
  { "storage.k8s.io", "v1", [[StorageClass:storageclasses:sc! CSIDriver:csidrivers!
    CSINode:csinodes!
    VolumeAttachment:volumeattachments!]] },
  { "networking.k8s.io", "v1", [[NetworkPolicy:networkpolicies:netpol Ingress:ingresses:ing
    IngressClass:ingressclasses!]] },
  { "policy", "v1", "PodDisruptionBudget:poddisruptionbudgets:pdb" },
  { "coordination.k8s.io", "v1", "Lease:leases" },
  { "autoscaling", "v2", "HorizontalPodAutoscaler:horizontalpodautoscalers:hpa" },
  { "discovery.k8s.io", "v1", "EndpointSlice:endpointslices" },
  { "node.k8s.io", "v1", "RuntimeClass:runtimeclasses!" },
  { "admissionregistration.k8s.io", "v1", [[
    ValidatingWebhookConfiguration:validatingwebhookconfigurations!
    MutatingWebhookConfiguration:mutatingwebhookconfigurations!]] },
}

local function make(group, version, kind, plural, namespaced)
  local root = group == "" and "/api/" .. version or "/apis/" .. group .. "/" .. version
  return { group = group, version = version, kind = kind, plural = plural, namespaced = namespaced,
    root = root, api_version = group == "" and version or group .. "/" .. version }
end

local built_in, built_in_names = {}, {}
for _, row in ipairs(BUILT_IN) do
  for word in row[3]:gmatch("%S+") do
    local kind, plural, short = word:gsub("!", ""):match("^(%w+):(%w+):?([%w,]*)$")
    local entry = make(row[1], row[2], kind, plural, not word:match("!$"))
    built_in[entry.api_version .. "/" .. kind] = entry
    for name in (kind:lower() .. "," .. plural .. "," .. short):gmatch("[^,]+") do
      built_in_names[name] = entry
      if row[1] ~= "" then built_in_names[name .. "." .. row[1]] = entry end
    end
  end
end

-- Reading answers -----------------------------------------------------------------------------

local function text(v, default) return type(v) == "string" and v or default end

local function list(v) return type(v) == "table" and v or {} end

-- Entries of one group and version out of an APIResourceList.
local function from_legacy(group, version, body)
  local out = {}
  for _, resource in ipairs(list(body.resources)) do
    local name = text(resource.name, "")
    if name ~= "" and not name:find("/", 1, true) then
      local entry = make(group, version, text(resource.kind, ""), name, resource.namespaced == true)
      entry.singular = text(resource.singularName, "")
      entry.short = list(resource.shortNames)
      out[#out + 1] = entry
    end
  end
  return out
end

local function from_aggregated(body)
  local out = {}
  for _, item in ipairs(list(body.items)) do
    local group = text(type(item.metadata) == "table" and item.metadata.name, "")
    for _, version in ipairs(list(item.versions)) do
      for _, resource in ipairs(list(version.resources)) do
        local about = type(resource.responseKind) == "table" and resource.responseKind or {}
        local entry = make(group, text(version.version, ""), text(about.kind, ""),
          text(resource.resource, ""), resource.scope == "Namespaced")
        entry.singular = text(resource.singularResource, "")
        entry.short = list(resource.shortNames)
        entry.stale = version.freshness == "Stale"
        out[#out + 1] = entry
      end
    end
  end
  return out
end

local function get(client, path, accept)
  return request.call(client, { path = path, accept = accept, doing = "discover " .. path })
end

local function add(out, entries)
  table.move(entries, 1, #entries, #out + 1, out)
end

-- One group and version; a group whose server is down fails alone.
local function read_version(client, out, partial, group, version)
  local path = (group == "" and "/api/" or "/apis/" .. group .. "/") .. version
  local body, problem = get(client, path)
  if type(body) == "table" then
    add(out, from_legacy(group, version, body))
  else
    partial[group == "" and version or group .. "/" .. version] = problem
  end
end

local function read_groups(client, body, out, partial)
  for _, group in ipairs(list(body.groups)) do
    local preferred = list(group.preferredVersion).version
    local versions = {}
    for _, version in ipairs(list(group.versions)) do
      table.insert(versions, version.version == preferred and 1 or #versions + 1, version.version)
    end
    for _, version in ipairs(versions) do
      read_version(client, out, partial, text(group.name, ""), text(version, ""))
    end
  end
end

--- All that the server has: { resources = array of entries, partial = { group → err } } | nil, err.
function M.all(client)
  local out, partial = {}, {}
  local body, problem = get(client, "/apis", AGGREGATED)
  if type(body) ~= "table" then return nil, problem end
  if body.kind == "APIGroupDiscoveryList" then
    add(out, from_aggregated(body))
  else
    read_groups(client, body, out, partial)
  end
  read_version(client, out, partial, "", "v1")
  return { resources = out, partial = partial }
end

-- Finding -------------------------------------------------------------------------------------

local function named(entry, name)
  if entry.kind:lower() == name or entry.plural == name or entry.singular == name then
    return true
  end
  for _, short in ipairs(entry.short or {}) do
    if short == name then return true end
  end
  return false
end

-- "raycluster.ray.io" → "raycluster", "ray.io"; a plain name has no group.
local function search(resources, wanted)
  local name = wanted:lower()
  for _, entry in ipairs(resources) do
    if named(entry, name) then return entry end
  end
  local first, group = name:match("^([^.]+)%.(.+)$")
  for _, entry in ipairs(first and resources or {}) do
    if named(entry, first) and entry.group == group then return entry end
    if named(entry, first) and entry.version .. "." .. entry.group == group then return entry end
  end
end

local function unknown(client, wanted, problem)
  return nil, err.new { code = "RTL-K8S-010", message = "the cluster knows no kind " .. wanted,
    doing = "look for " .. wanted .. " on " .. client.server, cause = problem,
    hint = "is its CustomResourceDefinition installed and Established?" }
end

-- A kind in a known group and version: one small request instead of the whole discovery.
local function in_version(client, api_version, kind)
  local key = api_version .. "/" .. kind
  local known = built_in[key] or client.kinds[key]
  if known then return known end
  local group, version = api_version:match("^(.+)/([^/]+)$")
  local entries, partial = {}, {}
  read_version(client, entries, partial, group or "", version or api_version)
  for _, entry in ipairs(entries) do
    if entry.kind ~= "" then client.kinds[api_version .. "/" .. entry.kind] = entry end
  end
  local found = client.kinds[key]
  if found then return found end
  local problem = partial[api_version]
  if problem and problem.status ~= 404 then return nil, problem end
  return unknown(client, key, problem)
end

--- The entry of a kind: { group, version, kind, plural, namespaced, root, api_version } | nil, err.
-- `kind` is a kind, a plural, a short name, NAME.GROUP or GROUP/VERSION/KIND; `api_version` settles
-- it.
function M.resolve(client, kind, api_version)
  if api_version then return in_version(client, api_version, kind) end
  local prefix, last = kind:match("^(.+)/([^/]+)$")
  if prefix then return in_version(client, prefix, last) end
  local known = built_in_names[kind:lower()] or client.named[kind:lower()]
  if known then return known end
  local discovered, problem = M.all(client)
  if not discovered then return nil, problem end
  client.discovered = discovered
  local entry = search(discovered.resources, kind)
  if not entry then return unknown(client, kind) end
  client.named[kind:lower()] = entry
  return entry
end

--- Forgets what was discovered: a CRD has come or gone.
function M.forget(client)
  client.kinds, client.named, client.discovered = {}, {}, nil
end

return M
