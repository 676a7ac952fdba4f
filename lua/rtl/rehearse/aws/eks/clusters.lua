--- EKS: clusters and their versions. A cluster that gets ACTIVE has a Kubernetes API behind its
-- endpoint.

local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local cluster_module = require "rtl.rehearse.kube.cluster"
local crypto = require "rtl.native.crypto"
local fault = require "rtl.rehearse.aws.fault"
local groups = require "rtl.rehearse.aws.ec2.groups"
local iam = require "rtl.rehearse.aws.iam"
local network = require "rtl.rehearse.aws.ec2.network"
local places = require "rtl.rehearse.aws.places"
local shared = require "rtl.rehearse.aws.eks.shared"
local shelf = require "rtl.rehearse.aws.shelf"

local M = { operations = {} }
local ops = M.operations

local VERSIONS = {
  { "1.36", "STANDARD_SUPPORT", true }, { "1.35", "STANDARD_SUPPORT" },
  { "1.34", "STANDARD_SUPPORT" }, { "1.33", "EXTENDED_SUPPORT" }, { "1.32", "EXTENDED_SUPPORT" },
}

local function version_known(version)
  for _, row in ipairs(VERSIONS) do
    if row[1] == version then return true end
  end
  return false
end

local function in_extended_support(version)
  for _, row in ipairs(VERSIONS) do
    if row[1] == version then return row[2] == "EXTENDED_SUPPORT" end
  end
  return false
end

local function subnet_list(call, ids)
  local list = {}
  for i, id in ipairs(ids or {}) do
    list[i] = call.region.subnets:get(id)
    if not list[i] then
      return fault.fail("InvalidParameterException", ("The subnet ID '%s' does not exist")
                                                     :format(id))
    end
  end
  return list
end

local function subnet_refusal(call, subnets)
  local zones, valid = {}, array {}
  for _, zone in ipairs(places.regions[call.region.name]) do
    if zone.eks then valid[#valid + 1] = zone.name end
  end
  for _, subnet in ipairs(subnets) do
    zones[subnet.AvailabilityZone] = true
    if subnet.VpcId ~= subnets[1].VpcId then
      return fault.new("InvalidParameterException", "Subnets specified must be in the same VPC")
    end
    if not places.zone(call.region.name, subnet.AvailabilityZone).eks then
      return fault.new("UnsupportedAvailabilityZoneException", ("Cannot create cluster because %s, "
        .. "the targeted availability zone, does not currently have sufficient capacity to support "
        .. "the cluster."):format(subnet.AvailabilityZone), nil, { validZones = valid })
    end
    if subnet.AvailableIpAddressCount < 6 then
      return fault.new("InvalidParameterException", "The subnet has too few free addresses")
    end
  end
  if not next(zones) or next(zones, next(zones)) == nil then
    return fault.new("InvalidParameterException", "Subnets specified must be in at least two "
                     .. "different AZs")
  end
  return nil
end

local function authority_of(world, name)
  local bytes = chance.bytes(720, world.seed, "authority", name)
  local text = crypto.base64_encode(bytes):gsub(("."):rep(64), "%0\n")
  return ("-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----\n"):format(text)
end

local function make_group(call, cluster, vpc_id)
  local group = groups.make(call, { VpcId = vpc_id, native = true,
    GroupName = ("eks-cluster-sg-%s-%d"):format(cluster.name,
                                                chance.hash(call.world.seed, cluster.arn) >> 32),
    Description = "EKS created security group applied to ENI that is attached to EKS Control "
      .. "Plane master nodes, as well as any managed workloads.",
    Tags = array { { Key = "Name", Value = "eks-cluster-sg-" .. cluster.name },
                   { Key = "kubernetes.io/cluster/" .. cluster.name, Value = "owned" },
                   { Key = "aws:eks:cluster-name", Value = cluster.name } } },
    { self_ingress = true, self_egress = true })
  return group.GroupId
end

local function admits(cluster)
  return function (principal)
    if cluster.status == "CREATING" or cluster.status == "FAILED" then return false end
    if principal == cluster.creator and cluster.accessConfig.bootstrapClusterCreatorAdminPermissions
    then
      return true
    end
    local entry = cluster.entries:get(principal)
    return entry ~= nil and #entry.policies.order > 0
  end
end

local function activate(call, cluster, subnets)
  if cluster.status ~= "CREATING" then return end
  local struck = call.world:strikes "cluster-failure"
  if struck then
    cluster.status = "FAILED"
    cluster.health.issues = array { { code = struck.issue[1], message = struck.issue[2],
                                      resourceIds = array {} } }
    return
  end
  local world, id = call.world, chance.hex(32, call.world.seed, "endpoint", cluster.arn,
                                           cluster.createdAt):upper()
  local host = ("%s.gr7.%s.eks.amazonaws.com"):format(id:lower(), call.region.name)
  cluster.status, cluster.endpoint = "ACTIVE", "https://" .. id .. host:sub(#id + 1)
  cluster.identity = { oidc = { issuer = ("https://oidc.eks.%s.amazonaws.com/id/%s")
                                         :format(call.region.name, id) } }
  local authority = authority_of(world, cluster.arn .. cluster.createdAt)
  cluster.certificateAuthority = { data = crypto.base64_encode(authority) }
  cluster.host = host
  cluster.kube = cluster_module.new(world, { name = cluster.name, region = call.region.name,
    version = cluster.version, key = cluster.arn, host = host, authority = authority,
    admits = admits(cluster) })
  world.clusters[host] = cluster.kube
  local group = cluster.resourcesVpcConfig.clusterSecurityGroupId
  for i = 1, math.min(#subnets, 2) do
    cluster.interfaces[i] = network.make_interface(call, { subnet = subnets[i],
      groups = { group }, Description = "Amazon EKS " .. cluster.name, RequesterManaged = true,
      RequesterId = "amazon-eks" })
  end
  require "rtl.rehearse.aws.eks.addons".cluster_active(call, cluster)
end

local function new_cluster(call, p, subnets)
  local vpc, config, access = p.resourcesVpcConfig, p.kubernetesNetworkConfig or {},
                              p.accessConfig or {}
  local cluster = { name = p.name, arn = shared.arn(call, "cluster", p.name), status = "CREATING",
    createdAt = call.world:second(), version = p.version or VERSIONS[1][1], roleArn = p.roleArn,
    extended = in_extended_support(p.version or VERSIONS[1][1]),
    platformVersion = "eks.4", health = { issues = array {} }, tags = p.tags or {},
    creator = call.caller.principal, creator_admin = true, logging = p.logging or {
      clusterLogging = array { { enabled = false, types = array { "api", "audit",
        "authenticator", "controllerManager", "scheduler" } } } },
    upgradePolicy = { supportType = (p.upgradePolicy or {}).supportType or "EXTENDED" },
    accessConfig = { authenticationMode = access.authenticationMode or "CONFIG_MAP",
      bootstrapClusterCreatorAdminPermissions =
        access.bootstrapClusterCreatorAdminPermissions ~= false },
    kubernetesNetworkConfig = { serviceIpv4Cidr = config.serviceIpv4Cidr or "172.20.0.0/16",
                                ipFamily = config.ipFamily or "ipv4" },
    resourcesVpcConfig = { subnetIds = vpc.subnetIds, vpcId = subnets[1].VpcId,
      securityGroupIds = vpc.securityGroupIds or array {},
      endpointPublicAccess = vpc.endpointPublicAccess ~= false,
      endpointPrivateAccess = vpc.endpointPrivateAccess == true,
      publicAccessCidrs = vpc.publicAccessCidrs or array { "0.0.0.0/0" } },
    bootstrap_addons = p.bootstrapSelfManagedAddons ~= false, interfaces = {}, updates = {},
    nodegroups = shelf.new(), addons = shelf.new(), entries = shelf.new(),
    associations = shelf.new() }
  return cluster
end

function ops.create_cluster(call, p)
  if call.region.clusters:get(p.name) then
    return fault.fail("ResourceInUseException", ("Cluster already exists with name: %s")
                                                :format(p.name), nil, { clusterName = p.name })
  end
  if p.name:find "^[^%w]" or p.name:find "[^%w_-]" then
    return fault.fail("InvalidParameterException", "The cluster name is invalid")
  end
  if p.version and not version_known(p.version) then
    return fault.fail("InvalidParameterException", ("unsupported Kubernetes version %s")
                                                   :format(p.version))
  end
  local subnets, refused = subnet_list(call, p.resourcesVpcConfig.subnetIds)
  if not subnets then return nil, refused end
  refused = subnet_refusal(call, subnets)
  if refused then return nil, refused end
  local role
  role, refused = shared.role(call, p.roleArn, "eks.amazonaws.com",
                              { { "AmazonEKSClusterPolicy" } })
  if not role then return nil, refused end
  iam.linked_role(call, "eks.amazonaws.com", "AWSServiceRoleForAmazonEKS")
  local cluster = call.region.clusters:add(p.name, new_cluster(call, p, subnets))
  cluster.resourcesVpcConfig.clusterSecurityGroupId = make_group(call, cluster, subnets[1].VpcId)
  local slow = call.world:strikes "slow-cluster"
  local usual = call.world:spread(520, 700, "cluster", cluster.arn)
  call.world:after(usual + (slow and slow.seconds or 0), function ()
    activate(call, cluster, subnets)
  end)
  return { cluster = cluster }
end

function ops.describe_cluster(call, p)
  local cluster, refused = shared.need_cluster(call, p.name)
  return cluster and { cluster = cluster }, refused
end

function ops.list_clusters(call)
  local names = table.move(call.region.clusters.order, 1, #call.region.clusters.order, 1, {})
  table.sort(names)
  return { clusters = array(names) }
end

local function finish_delete(call, cluster)
  for _, interface in ipairs(cluster.interfaces) do
    network.drop_interface(call.region, interface)
  end
  groups.drop(call.region, cluster.resourcesVpcConfig.clusterSecurityGroupId)
  call.region.clusters:remove(cluster.name)
end

function ops.delete_cluster(call, p)
  local cluster, refused = shared.need_cluster(call, p.name)
  if not cluster then return nil, refused end
  if #cluster.nodegroups.order > 0 then
    return fault.fail("ResourceInUseException", "Cluster has nodegroups attached", nil,
                      { clusterName = cluster.name, nodegroupName = cluster.nodegroups.order[1] })
  end
  if call.world:strikes "busy-cluster" then
    return fault.fail("ResourceInUseException", "Cluster has an update in progress", nil,
                      { clusterName = cluster.name })
  end
  if cluster.status == "CREATING" then
    return fault.fail("ResourceInUseException", "Cluster is being created, creation in progress",
                      nil, { clusterName = cluster.name })
  end
  if cluster.status ~= "DELETING" then
    cluster.status = "DELETING"
    if cluster.kube then
      cluster.kube:destroy()
      call.world.clusters[cluster.host] = nil
    end
    call.world:after(call.world:spread(120, 240, "end", cluster.arn), function ()
      finish_delete(call, cluster)
    end)
  end
  return { cluster = cluster }
end

local MODES = { CONFIG_MAP = 1, API_AND_CONFIG_MAP = 2, API = 3 }

local function config_changes(cluster, p)
  local changes, vpc = {}, p.resourcesVpcConfig or {}
  for _, name in ipairs { "endpointPublicAccess", "endpointPrivateAccess", "publicAccessCidrs",
                          "subnetIds", "securityGroupIds" } do
    if vpc[name] ~= nil then
      changes[#changes + 1] = { cluster.resourcesVpcConfig, name, vpc[name] }
    end
  end
  local mode = (p.accessConfig or {}).authenticationMode
  if mode then changes[#changes + 1] = { cluster.accessConfig, "authenticationMode", mode } end
  local support = (p.upgradePolicy or {}).supportType
  if support then changes[#changes + 1] = { cluster.upgradePolicy, "supportType", support } end
  if p.logging then changes[#changes + 1] = { cluster, "logging", p.logging } end
  return changes, mode
end

function ops.update_cluster_config(call, p)
  local cluster, refused = shared.need_cluster(call, p.name)
  if not cluster then return nil, refused end
  refused = shared.not_active(cluster)
  if refused then return nil, refused end
  local changes, mode = config_changes(cluster, p)
  if mode and MODES[mode] < MODES[cluster.accessConfig.authenticationMode] then
    return fault.fail("InvalidParameterException", "The authentication mode can not go back")
  end
  if #changes == 0 then
    return fault.fail("InvalidParameterException", "No changes needed for the cluster")
  end
  cluster.status = "UPDATING"
  return { update = shared.update(call, cluster, "VpcConfigUpdate", {}, function ()
    for _, change in ipairs(changes) do change[1][change[2]] = change[3] end
    if cluster.status == "UPDATING" then cluster.status = "ACTIVE" end
  end) }
end

function ops.update_cluster_version(call, p)
  local cluster, refused = shared.need_cluster(call, p.name)
  if not cluster then return nil, refused end
  refused = shared.not_active(cluster)
  if refused then return nil, refused end
  if not version_known(p.version) then
    return fault.fail("InvalidParameterException", "unsupported Kubernetes version")
  end
  cluster.status = "UPDATING"
  return { update = shared.update(call, cluster, "VersionUpdate", { { "Version", p.version } },
    function ()
      cluster.version, cluster.kube.version = p.version, p.version
      if cluster.status == "UPDATING" then cluster.status = "ACTIVE" end
    end) }
end

function ops.describe_update(call, p)
  local cluster, refused = shared.need_cluster(call, p.name)
  if not cluster then return nil, refused end
  local update = cluster.updates[p.updateId]
  if not update then
    return fault.fail("ResourceNotFoundException", "No update found for id " .. p.updateId)
  end
  return { update = update }
end

function ops.list_updates(call, p)
  local cluster, refused = shared.need_cluster(call, p.name)
  if not cluster then return nil, refused end
  local ids = array {}
  for id in next, cluster.updates do ids[#ids + 1] = id end
  table.sort(ids)
  return { updateIds = ids }
end

function ops.describe_cluster_versions(_, p)
  local list = array {}
  for _, row in ipairs(VERSIONS) do
    if (not p.defaultOnly or row[3]) and (not p.versionStatus or p.versionStatus == row[2]) then
      list[#list + 1] = { clusterVersion = row[1], clusterType = "eks", versionStatus = row[2],
        status = row[2]:lower():gsub("_", "-"), defaultVersion = row[3] or false,
        defaultPlatformVersion = "eks.4", kubernetesPatchVersion = row[1] .. ".2" }
    end
  end
  return { clusterVersions = list }
end

-- The thing that an ARN of EKS names.
local function tagged(call, arn)
  local kind, rest = arn:match "^arn:aws:eks:[^:]+:%d+:([%w-]+)/(.+)$"
  local parts = {}
  for part in (rest or ""):gmatch "[^/]+" do parts[#parts + 1] = part end
  local cluster = call.region.clusters:get(parts[1])
  if kind == "cluster" then return cluster end
  if not cluster then return nil end
  if kind == "nodegroup" then return cluster.nodegroups:get(parts[2]) end
  if kind == "addon" then return cluster.addons:get(parts[2]) end
  return cluster.entries:first(function (it) return it.accessEntryArn == arn end)
      or cluster.associations:first(function (it) return it.associationArn == arn end)
end

local function with_tagged(call, p, change)
  local item = tagged(call, p.resourceArn)
  if not item then
    return fault.fail("NotFoundException", "No resource found for " .. p.resourceArn)
  end
  item.tags = item.tags or {}
  return change(item) or {}
end

function ops.tag_resource(call, p)
  return with_tagged(call, p, function (item)
    for key, value in next, p.tags do item.tags[key] = value end
  end)
end

function ops.untag_resource(call, p)
  return with_tagged(call, p, function (item)
    for _, key in ipairs(p.tagKeys) do item.tags[key] = nil end
  end)
end

function ops.list_tags_for_resource(call, p)
  return with_tagged(call, p, function (item) return { tags = item.tags } end)
end

return M
