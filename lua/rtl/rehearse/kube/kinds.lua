--- The resources that a world's Kubernetes API serves: data, and look-ups over it.

local M = {}

local ALL = { "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch" }
local READ = { "get", "list", "watch" }

-- group, version, plural, singular, kind, namespaced, short names, verbs, subresources
local ROWS = {
  { "", "v1", "configmaps", "configmap", "ConfigMap", true, { "cm" }, ALL },
  { "", "v1", "endpoints", "endpoints", "Endpoints", true, { "ep" }, ALL },
  { "", "v1", "events", "event", "Event", true, { "ev" }, ALL },
  { "", "v1", "namespaces", "namespace", "Namespace", false, { "ns" }, ALL, { "status" } },
  { "", "v1", "nodes", "node", "Node", false, { "no" }, ALL, { "status" } },
  { "", "v1", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", true,
    { "pvc" }, ALL, { "status" } },
  { "", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume", false, { "pv" }, ALL,
    { "status" } },
  { "", "v1", "pods", "pod", "Pod", true, { "po" }, ALL, { "exec", "log", "status" } },
  { "", "v1", "secrets", "secret", "Secret", true, {}, ALL },
  { "", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", true, { "sa" }, ALL },
  { "", "v1", "services", "service", "Service", true, { "svc" }, ALL, { "status" } },
  { "apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition",
    "CustomResourceDefinition", false, { "crd", "crds" }, ALL, { "status" } },
  { "apps", "v1", "daemonsets", "daemonset", "DaemonSet", true, { "ds" }, ALL, { "status" } },
  { "apps", "v1", "deployments", "deployment", "Deployment", true, { "deploy" }, ALL,
    { "status" } },
  { "apps", "v1", "replicasets", "replicaset", "ReplicaSet", true, { "rs" }, ALL, { "status" } },
  { "apps", "v1", "statefulsets", "statefulset", "StatefulSet", true, { "sts" }, ALL,
    { "status" } },
  { "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "selfsubjectaccessreview",
    "SelfSubjectAccessReview", false, {}, { "create" } },
  { "batch", "v1", "jobs", "job", "Job", true, {}, ALL, { "status" } },
  { "coordination.k8s.io", "v1", "leases", "lease", "Lease", true, {}, ALL },
  { "networking.k8s.io", "v1", "ingresses", "ingress", "Ingress", true, { "ing" }, ALL },
  { "networking.k8s.io", "v1", "networkpolicies", "networkpolicy", "NetworkPolicy", true,
    { "netpol" }, ALL },
  { "policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", true,
    { "pdb" }, ALL },
  { "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "clusterrolebinding",
    "ClusterRoleBinding", false, {}, ALL },
  { "rbac.authorization.k8s.io", "v1", "clusterroles", "clusterrole", "ClusterRole", false, {},
    ALL },
  { "rbac.authorization.k8s.io", "v1", "rolebindings", "rolebinding", "RoleBinding", true, {},
    ALL },
  { "rbac.authorization.k8s.io", "v1", "roles", "role", "Role", true, {}, ALL },
  { "resource.k8s.io", "v1", "deviceclasses", "deviceclass", "DeviceClass", false, {}, ALL },
  { "resource.k8s.io", "v1", "resourceslices", "resourceslice", "ResourceSlice", false, {}, ALL },
  { "scheduling.k8s.io", "v1", "priorityclasses", "priorityclass", "PriorityClass", false,
    { "pc" }, ALL },
  { "storage.k8s.io", "v1", "storageclasses", "storageclass", "StorageClass", false, { "sc" },
    ALL },
  { "storage.k8s.io", "v1", "csinodes", "csinode", "CSINode", false, {}, READ },
}

local function resource_of(row)
  local subresources = {}
  for _, name in ipairs(row[9] or {}) do subresources[name] = true end
  return {
    group = row[1], version = row[2], plural = row[3], singular = row[4], kind = row[5],
    namespaced = row[6], short = row[7], verbs = row[8], subresources = subresources,
    api_version = row[1] == "" and row[2] or row[1] .. "/" .. row[2],
    key = row[3] .. "." .. row[1],
  }
end

M.builtin = {}
for i, row in ipairs(ROWS) do M.builtin[i] = resource_of(row) end

--- The resources that a CustomResourceDefinition makes, one for each version that it serves.
function M.of_definition(definition)
  local spec, list = definition.spec, {}
  for _, version in ipairs(spec.versions or {}) do
    if version.served then
      local resource = resource_of {
        spec.group, version.name, spec.names.plural,
        spec.names.singular or spec.names.kind:lower(), spec.names.kind,
        spec.scope == "Namespaced", spec.names.shortNames or {}, ALL,
        version.subresources and version.subresources.status and { "status" } or {},
      }
      resource.custom = true
      list[#list + 1] = resource
    end
  end
  return list
end

--- The resource of `list` with this group, version and plural name; nil if there is none.
function M.find(list, group, version, plural)
  for _, resource in ipairs(list) do
    if resource.plural == plural and resource.group == group and resource.version == version then
      return resource
    end
  end
  return nil
end

--- The resource of `list` of this kind (of any group and version); nil if there is none.
function M.of_kind(list, kind)
  for _, resource in ipairs(list) do
    if resource.kind == kind then return resource end
  end
  return nil
end

return M
