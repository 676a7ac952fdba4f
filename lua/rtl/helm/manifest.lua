--- From rendered files to manifests: splitting, hooks, helm's install order, the text of a release.

local err = require "rtl.err"
local go = require "rtl.helm.go"
local yaml = require "rtl.native.yaml"

local M = {}

local order = {}
for i, kind in ipairs { "PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota",
  "LimitRange",
  "PodSecurityPolicy", "PodDisruptionBudget", "ServiceAccount", "Secret", "SecretList", "ConfigMap",
  "StorageClass", "PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition",
    "ClusterRole",
  "ClusterRoleList", "ClusterRoleBinding", "ClusterRoleBindingList", "Role", "RoleList",
    "RoleBinding",
  "RoleBindingList", "Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet",
    "Deployment",
  "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress",
    "APIService" } do
  order[kind] = i
end

local hook_events = {}
for _, name in ipairs { "pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade",
  "post-upgrade",
  "pre-rollback", "post-rollback", "test" } do
  hook_events[name] = name
end
hook_events["test-success"] = "test"

local function trim(s) return s:match("^%s*(.-)%s*$") end

--- The documents of a YAML stream, as helm cuts them: at lines that begin with "---".
local function split(text)
  text = trim(text)
  local docs = {}
  local at = text:match("^%-%-%-%s*()") or 1
  while true do
    local from, to = text:find("\n%-%-%-%s*", at)
    local doc = trim(text:sub(at, (from or #text + 1) - 1))
    if doc ~= "" then docs[#docs + 1] = doc end
    if not from then return docs end
    at = to + 1
  end
end
M.split = split

local function words(text)
  local out = {}
  for word in ((text or "") .. ","):gmatch("([^,]*),") do out[#out + 1] = trim(word):lower() end
  return out
end

local function hook_of(entry, annotations)
  local hook = { name = entry.object.metadata.name, kind = entry.kind, source = entry.source,
    text = entry.text,
    object = entry.object, events = {}, policies = {}, log_policies = {},
    weight = math.tointeger(tonumber(annotations["helm.sh/hook-weight"])) or 0 }
  for _, word in ipairs(words(annotations["helm.sh/hook"])) do
    if not hook_events[word] then return nil end
    table.insert(hook.events, hook_events[word])
  end
  if annotations["helm.sh/hook-delete-policy"] then
    hook.policies = words(annotations["helm.sh/hook-delete-policy"])
  end
  if annotations["helm.sh/hook-output-log-policy"] then
    hook.log_policies = words(annotations["helm.sh/hook-output-log-policy"])
  end
  return hook
end

local function annotations_of(object)
  local metadata = type(object) == "table" and object.metadata
  local annotations = type(metadata) == "table" and metadata.annotations
  return type(annotations) == "table" and annotations or {}
end

local function read(text, source)
  local object, problem = yaml.decode(text)
  if object == nil and problem then
    return nil, err.wrap(problem, { code = "RTL-HELM-006", message = "what it renders is not YAML",
      doing = source, text = text })
  end
  if go.kind(object) == "nil" then object = nil end
  if object ~= nil and go.kind(object) ~= "map" then
    return nil, err.new { code = "RTL-HELM-006", message = "what it renders is no object",
      doing = source }
  end
  return { source = source, text = text, object = object, kind = object and object.kind or "" }
end

local function by_kind(entries)
  for i, entry in ipairs(entries) do entry.at = i end
  table.sort(entries, function (a, b)
    local first, second = order[a.kind], order[b.kind]
    if first and second then
      if first ~= second then return first < second end
    elseif first or second then
      return first ~= nil
    elseif a.kind ~= b.kind then
      return a.kind < b.kind
    end
    return a.at < b.at
  end)
  return entries
end

--- Sorts rendered files { path → text } into manifests and hooks, each an array of { source, text,
-- object, kind } in install order (hooks have events, weight and policies too). Returns nil, err if
-- one is no YAML object.
function M.sort(files)
  local manifests, hooks = {}, {}
  for _, path in ipairs(go.keys(files)) do
    local content = files[path]
    if not path:match("[^/]*$"):match("^_") and content:find("%S") then
      for _, text in ipairs(split(content)) do
        local entry, problem = read(text, path)
        if not entry then return nil, problem end
        local annotations = annotations_of(entry.object)
        if annotations["helm.sh/hook"] then
          hooks[#hooks + 1] = hook_of(entry, annotations)
        else
          manifests[#manifests + 1] = entry
        end
      end
    end
  end
  return by_kind(manifests), by_kind(hooks)
end

--- The text of a release's manifests, as helm stores and prints it.
function M.text(entries)
  local parts = {}
  for i, entry in ipairs(entries) do parts[i] = "---\n# Source: " .. entry.source .. "\n"
    .. entry.text .. "\n" end
  return table.concat(parts)
end

return M
