--- What the API server does to an object before it stores it: checks of names and unknown fields,
-- and the defaults that clients see.

local answer = require "rtl.rehearse.kube.answer"
local array = require "rtl.array"

local M = {}

local function set_of(text)
  local set = {}
  for word in text:gmatch "%S+" do set[word] = true end
  return set
end

local META = set_of [[name namespace labels annotations ownerReferences finalizers generateName uid
  resourceVersion generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds
  managedFields selfLink]]
local POD_SPEC = set_of [[activeDeadlineSeconds affinity automountServiceAccountToken containers
  dnsConfig dnsPolicy enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID
  hostUsers hostname hostnameOverride imagePullSecrets initContainers nodeName nodeSelector os
  overhead preemptionPolicy priority priorityClassName readinessGates resourceClaims resources
  restartPolicy runtimeClassName schedulerName schedulingGates securityContext serviceAccount
  serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
  terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes]]
local CONTAINER = set_of [[args command env envFrom image imagePullPolicy lifecycle livenessProbe
  name ports readinessProbe resizePolicy resources restartPolicy restartPolicyRules
  securityContext startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty
  volumeDevices volumeMounts workingDir]]
local TOP = {
  ConfigMap = set_of "data binaryData immutable",
  Secret = set_of "data stringData type immutable",
  ServiceAccount = set_of "secrets imagePullSecrets automountServiceAccountToken",
  ClusterRole = set_of "rules aggregationRule", Role = set_of "rules",
  ClusterRoleBinding = set_of "subjects roleRef", RoleBinding = set_of "subjects roleRef",
  PriorityClass = set_of "value globalDefault description preemptionPolicy",
  StorageClass = set_of [[provisioner parameters reclaimPolicy mountOptions allowVolumeExpansion
    volumeBindingMode allowedTopologies]],
  Event = set_of [[involvedObject reason message source firstTimestamp lastTimestamp count type
    eventTime series action related reportingComponent reportingInstance]],
  Endpoints = set_of "subsets",
}
local SPECIAL = set_of "apiVersion kind metadata"
local SPEC = set_of "spec status"

local function unknown_in(value, known, path, found)
  for name in next, value or {} do
    if not known[name] and not SPECIAL[name] then found[#found + 1] = path .. name end
  end
end

local function unknown_in_pod(spec, path, found)
  unknown_in(spec, POD_SPEC, path, found)
  for _, list in ipairs { "initContainers", "containers" } do
    for i, container in ipairs(spec[list] or {}) do
      unknown_in(container, CONTAINER, ("%s%s[%d]."):format(path, list, i - 1), found)
    end
  end
end

--- The pod template's spec of a workload, or a pod's own; nil for other kinds. Second result: path.
function M.pod_spec(object)
  local spec = object.spec
  if object.kind == "Pod" then return spec, "spec." end
  if type(spec) == "table" and type(spec.template) == "table"
    and type(spec.template.spec) == "table" then
    return spec.template.spec, "spec.template.spec."
  end
  return nil
end

--- The paths of fields that the server does not know, in order.
function M.unknown(resource, object)
  local found = {}
  unknown_in(object.metadata, META, "metadata.", found)
  if resource.custom then
    unknown_in(object, SPEC, "", found)
  else
    unknown_in(object, TOP[resource.kind] or SPEC, "", found)
    local spec, path = M.pod_spec(object)
    if spec then unknown_in_pod(spec, path, found) end
  end
  table.sort(found)
  return found
end

local function default_ports(ports)
  for _, port in ipairs(ports or {}) do port.protocol = port.protocol or "TCP" end
end

local function default_container(container)
  container.terminationMessagePath = container.terminationMessagePath or "/dev/termination-log"
  container.terminationMessagePolicy = container.terminationMessagePolicy or "File"
  if not container.imagePullPolicy then
    local latest = not container.image:find ":[^/]+$" or container.image:find ":latest$"
    container.imagePullPolicy = latest and "Always" or "IfNotPresent"
  end
  default_ports(container.ports)
  local resources = container.resources or {}
  container.resources = resources
  for name, value in next, resources.limits or {} do
    resources.requests = resources.requests or {}
    if resources.requests[name] == nil then resources.requests[name] = value end
  end
end

local function default_pod(spec)
  spec.restartPolicy = spec.restartPolicy or "Always"
  spec.dnsPolicy = spec.dnsPolicy or "ClusterFirst"
  spec.schedulerName = spec.schedulerName or "default-scheduler"
  spec.terminationGracePeriodSeconds = spec.terminationGracePeriodSeconds or 30
  spec.securityContext = spec.securityContext or {}
  for _, container in ipairs(spec.initContainers or {}) do default_container(container) end
  for _, container in ipairs(spec.containers or {}) do default_container(container) end
end

local DEFAULTS = {
  Namespace = function (object)
    object.spec = object.spec or {}
    object.spec.finalizers = object.spec.finalizers or array { "kubernetes" }
    object.status = object.status or { phase = "Active" }
    object.metadata.labels = object.metadata.labels or {}
    object.metadata.labels["kubernetes.io/metadata.name"] = object.metadata.name
  end,
  Service = function (object)
    local spec = object.spec or {}
    spec.type = spec.type or "ClusterIP"
    spec.sessionAffinity = spec.sessionAffinity or "None"
    default_ports(spec.ports)
    for _, port in ipairs(spec.ports or {}) do port.targetPort = port.targetPort or port.port end
  end,
  Deployment = function (object)
    object.spec.replicas = object.spec.replicas or 1
    object.spec.progressDeadlineSeconds = object.spec.progressDeadlineSeconds or 600
    object.spec.revisionHistoryLimit = object.spec.revisionHistoryLimit or 10
    object.spec.strategy = object.spec.strategy or { type = "RollingUpdate", rollingUpdate =
      { maxSurge = "25%", maxUnavailable = "25%" } }
  end,
  DaemonSet = function (object)
    object.spec.updateStrategy = object.spec.updateStrategy or { type = "RollingUpdate",
      rollingUpdate = { maxSurge = 0, maxUnavailable = 1 } }
  end,
  Secret = function (object)
    object.type = object.type or "Opaque"
  end,
}

--- Fills in the defaults of a kind, in place.
function M.fill(resource, object)
  if resource.custom then return end
  if DEFAULTS[resource.kind] then DEFAULTS[resource.kind](object) end
  local spec = M.pod_spec(object)
  if spec then default_pod(spec) end
end

local function good_name(name)
  return #name <= 253 and name:find "^[%w]" and name:find "[%w]$" and not name:find "[^%w.:-]"
end

--- Checks what a client sent. Returns nil, or the answer that refuses it.
function M.refusal(resource, object, name, namespace, strict)
  local meta = object.metadata
  if object.kind ~= resource.kind or object.apiVersion ~= resource.api_version then
    return answer.failure(400, ("the API version in the data (%s) does not match the expected API "
      .. "version (%s)"):format(tostring(object.apiVersion), resource.api_version))
  end
  if name and meta.name ~= name then
    return answer.failure(400, "the name of the object does not match the name on the URL")
  end
  if resource.namespaced and meta.namespace and meta.namespace ~= namespace then
    return answer.failure(400, "the namespace of the provided object does not match the namespace "
                               .. "sent on the request")
  end
  if meta.name and (meta.name:find "%u" or not good_name(meta.name)) and
    not resource.group:find "^rbac" then
    return answer.invalid(resource, meta.name, "metadata.name", "a lowercase RFC 1123 subdomain "
                          .. "must consist of lower case alphanumeric characters, '-' or '.'")
  end
  local unknown = strict and M.unknown(resource, object) or {}
  if #unknown > 0 then
    local parts = {}
    for i, path in ipairs(unknown) do parts[i] = ('unknown field "%s"'):format(path) end
    return answer.failure(400, ('%s in version "%s" cannot be handled as a %s: strict decoding '
      .. "error: %s"):format(resource.kind, resource.version, resource.kind,
                             table.concat(parts, ", ")))
  end
  return nil
end

return M
