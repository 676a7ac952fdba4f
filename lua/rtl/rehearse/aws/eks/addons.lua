--- EKS add-ons: what they put into the cluster, and when they are ACTIVE.

local array = require "rtl.array"
local fault = require "rtl.rehearse.aws.fault"
local pods = require "rtl.rehearse.kube.pods"
local shared = require "rtl.rehearse.aws.eks.shared"

local M = { operations = {} }
local ops = M.operations

-- Versions are the add-on's own and the Kubernetes release.
local KNOWN = {
  ["vpc-cni"] = { "v1.21.1-eksbuild.1", "networking" },
  ["kube-proxy"] = { "v%s.2-eksbuild.1", "networking" },
  coredns = { "v1.13.1-eksbuild.1", "networking" },
  ["eks-pod-identity-agent"] = { "v1.3.10-eksbuild.1", "security" },
  ["aws-ebs-csi-driver"] = { "v1.53.0-eksbuild.1", "storage" },
  ["metrics-server"] = { "v0.8.0-eksbuild.3", "observability" },
}

local NAMES = { "aws-ebs-csi-driver", "coredns", "eks-pod-identity-agent", "kube-proxy",
                "metrics-server", "vpc-cni" }

local function version_of(name, kubernetes)
  return (KNOWN[name][1]:gsub("%%s", kubernetes))
end

local REGISTRY = "602401143452.dkr.ecr.%s.amazonaws.com/"

local EVERYWHERE = array { { operator = "Exists" } }

local function daemon(name, image, host_network)
  return function (kube)
    local labels = { ["k8s-app"] = name }
    return "DaemonSet", { metadata = { name = name, namespace = "kube-system", labels = labels },
      spec = { selector = { matchLabels = labels }, template = { metadata = { labels = labels },
        spec = { hostNetwork = host_network or nil, tolerations = EVERYWHERE,
                 priorityClassName = "system-node-critical", containers = array { { name = name,
                   image = REGISTRY:format(kube.region) .. image,
                   resources = { requests = { cpu = "50m" } } } } } } } }
  end
end

local function dns(kube)
  local labels = { ["k8s-app"] = "kube-dns", ["eks.amazonaws.com/component"] = "coredns" }
  return "Deployment", {
    metadata = { name = "coredns", namespace = "kube-system", labels = labels },
    spec = { replicas = 2, selector = { matchLabels = labels },
      template = { metadata = { labels = labels }, spec = {
        tolerations = array { { key = "CriticalAddonsOnly", operator = "Exists" },
          { key = "node-role.kubernetes.io/control-plane", effect = "NoSchedule" } },
        containers = array { { name = "coredns",
          image = REGISTRY:format(kube.region) .. "eks/coredns:v1.13.1-eksbuild.1",
          resources = { limits = { memory = "170Mi" }, requests = { cpu = "100m",
                                                                    memory = "70Mi" } } } } } } } }
end

local WORKLOADS = {
  ["vpc-cni"] = daemon("aws-node", "amazon-k8s-cni:v1.21.1-eksbuild.1", true),
  ["kube-proxy"] = daemon("kube-proxy", "eks/kube-proxy:v1.36.2-minimal-eksbuild.1", true),
  ["eks-pod-identity-agent"] = daemon("eks-pod-identity-agent",
                                      "eks/eks-pod-identity-agent:v0.1.36", true),
  coredns = dns,
}

local function put_workload(kube, name)
  local make = WORKLOADS[name]
  if not make then return nil end
  local defaults = require "rtl.rehearse.kube.defaults"
  local kind, object = make(kube)
  local resource = kube.store:of_kind(kind)
  object.kind, object.apiVersion = kind, resource.api_version
  defaults.fill(resource, object)
  if not kube.store:get(resource, "kube-system", object.metadata.name) then
    kube.store:create(resource, object)
  end
  return resource, object.metadata.name
end

local function workload_ready(addon)
  local kube = addon.kube
  local object = kube.store:get(addon.resource, "kube-system", addon.workload)
  local status = object and object.status or {}
  if addon.resource.kind == "DaemonSet" then
    return (status.numberReady or 0) >= (status.desiredNumberScheduled or 0)
  end
  local available = object and pods.condition(object, "Available")
  return available ~= nil and available.status == "True"
end

local ISSUE = { code = "InsufficientNumberOfReplicas", message = "The add-on is unhealthy because "
  .. "it doesn't have the desired number of replicas.", resourceIds = array {} }

-- Looks at the workload until it is ready; a Deployment without nodes is DEGRADED meanwhile.
local function watch_health(call, addon, tries)
  if addon.status == "DELETING" or addon.kube.store.gone then return end
  if addon.ill_until and call.world:now() < addon.ill_until then
    addon.status, addon.health.issues = "DEGRADED", array { ISSUE }
    call.world:after(10, function () watch_health(call, addon, 1) end)
    return
  end
  if not addon.resource or workload_ready(addon) then
    addon.status, addon.health.issues = "ACTIVE", array {}
    addon.modifiedAt = call.world:second()
    return
  end
  if tries > 2 then addon.status, addon.health.issues = "DEGRADED", array { ISSUE } end
  call.world:after(10, function () watch_health(call, addon, tries + 1) end)
end

local function install(call, cluster, addon)
  if not cluster.kube or cluster.kube.store.gone or addon.status ~= "CREATING" then return end
  addon.kube = cluster.kube
  local failed, ill = call.world:strikes "addon-failure", call.world:strikes "addon-degraded"
  if failed then
    addon.status = "CREATE_FAILED"
    addon.health.issues = array { { code = failed.issue[1], message = failed.issue[2],
                                    resourceIds = array {} } }
    return
  end
  addon.ill_until = ill and call.world:now() + ill.seconds or nil
  addon.resource, addon.workload = put_workload(cluster.kube, addon.addonName)
  call.world:after(call.world:spread(6, 20, "addon", addon.addonArn), function ()
    watch_health(call, addon, 1)
  end)
end

local function add(call, cluster, p)
  local addon = cluster.addons:add(p.addonName, { addonName = p.addonName,
    clusterName = cluster.name, status = "CREATING", createdAt = call.world:second(),
    modifiedAt = call.world:second(), health = { issues = array {} }, tags = p.tags or {},
    addonVersion = p.addonVersion or version_of(p.addonName, cluster.version), owner = "aws",
    publisher = "eks", configurationValues = p.configurationValues,
    serviceAccountRoleArn = p.serviceAccountRoleArn,
    addonArn = shared.arn(call, "addon", cluster.name, p.addonName,
                          shared.suffix(call, cluster.name, p.addonName)) })
  call.world:after(call.world:spread(3, 8, "install", addon.addonArn), function ()
    install(call, cluster, addon)
  end)
  return addon
end

--- The cluster got ACTIVE: with bootstrapSelfManagedAddons EKS puts the three basic ones in itself.
function M.cluster_active(_, cluster)
  if not cluster.bootstrap_addons then return end
  for _, name in ipairs { "vpc-cni", "kube-proxy", "coredns" } do
    put_workload(cluster.kube, name)
  end
end

function ops.create_addon(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  refused = shared.not_active(cluster)
  if refused then return nil, refused end
  if not KNOWN[p.addonName] then
    return fault.fail("InvalidParameterException", ("Addon %s specified is not supported in %s "
      .. "kubernetes version"):format(p.addonName, cluster.version))
  end
  if p.addonVersion and p.addonVersion ~= version_of(p.addonName, cluster.version) then
    return fault.fail("InvalidParameterException", "Addon version specified is not supported")
  end
  if cluster.addons:get(p.addonName) then
    return fault.fail("ResourceInUseException", "Addon already exists.", nil,
                      { clusterName = cluster.name, addonName = p.addonName })
  end
  return { addon = add(call, cluster, p) }
end

local function need_addon(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  local addon = cluster.addons:get(p.addonName)
  if addon then return addon, cluster end
  return fault.fail("ResourceNotFoundException", ("No addon: %s found in cluster: %s")
                    :format(p.addonName, cluster.name))
end

function ops.describe_addon(call, p)
  local addon, refused = need_addon(call, p)
  return addon and { addon = addon }, not addon and refused or nil
end

function ops.list_addons(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  local names = table.move(cluster.addons.order, 1, #cluster.addons.order, 1, {})
  table.sort(names)
  return { addons = array(names) }
end

function ops.update_addon(call, p)
  local addon, cluster = need_addon(call, p)
  if not addon then return nil, cluster end
  addon.status = "UPDATING"
  return { update = shared.update(call, cluster, "AddonUpdate", {}, function ()
    addon.addonVersion = p.addonVersion or addon.addonVersion
    addon.configurationValues = p.configurationValues or addon.configurationValues
    if addon.status == "UPDATING" then addon.status = "ACTIVE" end
  end) }
end

function ops.delete_addon(call, p)
  local addon, cluster = need_addon(call, p)
  if not addon then return nil, cluster end
  if addon.status ~= "DELETING" then
    addon.status = "DELETING"
    call.world:after(call.world:spread(8, 25, "end", addon.addonArn), function ()
      cluster.addons:remove(addon.addonName)
      if not p.preserve and addon.resource and not cluster.kube.store.gone then
        local object = addon.kube.store:get(addon.resource, "kube-system", addon.workload)
        if object then addon.kube:delete(addon.resource, object, {}) end
      end
    end)
  end
  return { addon = addon }
end

function ops.describe_addon_versions(_, p)
  local list = array {}
  for _, name in ipairs(NAMES) do
    if not p.addonName or p.addonName == name then
      local kubernetes = p.kubernetesVersion or "1.36"
      list[#list + 1] = { addonName = name, type = KNOWN[name][2], publisher = "eks",
        owner = "aws", addonVersions = array { { addonVersion = version_of(name, kubernetes),
          architecture = array { "amd64", "arm64" }, requiresConfiguration = false,
          compatibilities = array { { clusterVersion = kubernetes, defaultVersion = true,
                                      platformVersions = array { "*" } } } } } }
    end
  end
  return { addons = list }
end

function ops.describe_addon_configuration(_, p)
  if not KNOWN[p.addonName] then
    return fault.fail("ResourceNotFoundException", "no such add-on")
  end
  return { addonName = p.addonName, addonVersion = p.addonVersion,
           configurationSchema = { type = "object" }, podIdentityConfiguration = array {} }
end

return M
