--- EKS: managed node groups. EKS checks what it can, copies the template, makes an Auto Scaling
-- group that starts machines, and waits until their nodes are Ready.

local array = require "rtl.array"
local fault = require "rtl.rehearse.aws.fault"
local fleet = require "rtl.rehearse.aws.eks.fleet"
local iam = require "rtl.rehearse.aws.iam"
local shared = require "rtl.rehearse.aws.eks.shared"
local templates = require "rtl.rehearse.aws.ec2.templates"
local types = require "rtl.rehearse.aws.types"

local M = { operations = {} }
local ops = M.operations

local function invalid(text)
  return fault.new("InvalidParameterException", text)
end

-- The data of the version that a node group names, or nil and a fault.
local function template_data(call, named)
  if not named then return {} end
  local template = templates.need(call, named.id, named.name)
  local version = template and templates.version(template, named.version)
  if not version then
    return fault.fail("InvalidRequestException", ("Launch template details can't be found: %s")
                      :format(named.id or named.name or "?"))
  end
  return version.LaunchTemplateData, template
end

local function template_refusal(p, data)
  if data.IamInstanceProfile then
    return invalid "Launch template should not specify an instance profile"
  end
  for _, interface in ipairs(data.NetworkInterfaces or {}) do
    if interface.SubnetId then return invalid "Launch template should not specify a subnet" end
    if interface.InterfaceType == "efa-only" and (interface.DeviceIndex or 0) == 0
      and (interface.NetworkCardIndex or 0) == 0 then
      return invalid "An efa-only interface can not be the primary interface"
    end
  end
  if p.launchTemplate and p.diskSize then
    return invalid "Disk size must be specified within the launch template."
  end
  if data.InstanceType and p.instanceTypes and #p.instanceTypes > 0 then
    return invalid "Instance types can be specified in the launch template or in the request, not "
                   .. "in both"
  end
  return nil
end

local function interfaces_refusal(kind, data)
  local efa = 0
  for _, interface in ipairs(data.NetworkInterfaces or {}) do
    if (interface.NetworkCardIndex or 0) >= kind.cards then
      return invalid(("Network card index %d is too large for %s")
                     :format(interface.NetworkCardIndex, kind.name))
    end
    if (interface.InterfaceType or "interface"):find "^efa" then efa = efa + 1 end
  end
  if efa > kind.efa then
    return invalid(("Interface type efa: %s takes at most %d"):format(kind.name, kind.efa))
  end
  return nil
end

local function scaling_refusal(scaling)
  if scaling.maxSize < 1 then return invalid "maxSize must be at least 1" end
  if scaling.minSize > scaling.desiredSize or scaling.desiredSize > scaling.maxSize then
    return invalid "desiredSize must lie between minSize and maxSize"
  end
  return nil
end

local function subnets_of(call, cluster, ids)
  local list = {}
  for i, id in ipairs(ids) do
    local subnet = call.region.subnets:get(id)
    if not subnet or subnet.VpcId ~= cluster.resourcesVpcConfig.vpcId then
      return nil, invalid(("The subnet ID '%s' does not exist"):format(id))
    end
    list[i] = subnet
  end
  if #list == 0 then return nil, invalid "subnets must not be empty" end
  return list
end

local NODE_POLICIES = {
  { "AmazonEKSWorkerNodePolicy" },
  { "AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly" },
}

local AMI_TYPES = { AL2023_x86_64_STANDARD = true, AL2023_x86_64_NVIDIA = true,
  AL2023_ARM_64_STANDARD = true, BOTTLEROCKET_x86_64 = true, BOTTLEROCKET_x86_64_NVIDIA = true,
  CUSTOM = true, AL2023_x86_64_NEURON = true }

-- All that EKS checks before it answers: returns the type, the template's data and the subnets.
local function checked(call, cluster, p)
  local data, template = template_data(call, p.launchTemplate)
  if not data then return nil, template end
  local kind = types.of(data.InstanceType or (p.instanceTypes or {})[1] or "t3.medium")
  if not kind then return nil, invalid "The following supplied instance types do not exist" end
  if p.amiType and not AMI_TYPES[p.amiType] then return nil, invalid "Invalid AMI type" end
  local subnets, refused = subnets_of(call, cluster, p.subnets)
  refused = refused or template_refusal(p, data) or interfaces_refusal(kind, data)
            or scaling_refusal(p.scalingConfig)
  if refused then return nil, refused end
  local role
  role, refused = shared.role(call, p.nodeRole, "ec2.amazonaws.com", NODE_POLICIES)
  if not role then return nil, refused end
  return { kind = kind, data = data, template = template, subnets = subnets, role = role }
end

local function new_group(call, cluster, p, facts)
  local arn = shared.arn(call, "nodegroup", cluster.name, p.nodegroupName,
                         shared.suffix(call, cluster.name, p.nodegroupName, call.world:second()))
  local template = p.launchTemplate and { id = facts.template.LaunchTemplateId,
    name = facts.template.LaunchTemplateName,
    version = p.launchTemplate.version or tostring(facts.template.DefaultVersionNumber) }
  return { nodegroupName = p.nodegroupName, nodegroupArn = arn, clusterName = cluster.name,
    status = "CREATING", createdAt = call.world:second(), modifiedAt = call.world:second(),
    version = cluster.version, releaseVersion = cluster.version .. ".2-20261110",
    capacityType = p.capacityType or "ON_DEMAND", scalingConfig = p.scalingConfig,
    instanceTypes = not facts.data.InstanceType and array { facts.kind.name } or nil,
    subnets = p.subnets, amiType = p.amiType or "AL2023_x86_64_STANDARD", nodeRole = p.nodeRole,
    labels = p.labels or {}, taints = p.taints or array {}, tags = p.tags or {},
    diskSize = not p.launchTemplate and (p.diskSize or 20) or nil, launchTemplate = template,
    updateConfig = p.updateConfig or { maxUnavailable = 1 },
    nodeRepairConfig = p.nodeRepairConfig or { enabled = false },
    health = { issues = array {} }, resources = { autoScalingGroups = array {} }, facts = facts }
end

function ops.create_nodegroup(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  refused = shared.not_active(cluster)
  if refused then return nil, refused end
  if cluster.nodegroups:get(p.nodegroupName) then
    return fault.fail("ResourceInUseException", ("NodeGroup already exists with name %s and "
      .. "cluster name %s"):format(p.nodegroupName, cluster.name), nil,
      { clusterName = cluster.name, nodegroupName = p.nodegroupName })
  end
  p.scalingConfig = p.scalingConfig or { minSize = 1, maxSize = 2, desiredSize = 2 }
  local facts
  facts, refused = checked(call, cluster, p)
  if not facts then return nil, refused end
  iam.linked_role(call, "eks-nodegroup.amazonaws.com", "AWSServiceRoleForAmazonEKSNodegroup")
  iam.linked_role(call, "autoscaling.amazonaws.com", "AWSServiceRoleForAutoScaling")
  local group = cluster.nodegroups:add(p.nodegroupName, new_group(call, cluster, p, facts))
  fleet.create(call, cluster, group)
  return { nodegroup = group }
end

local function need_group(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  local group = cluster.nodegroups:get(p.nodegroupName)
  if group then return group, cluster end
  return fault.fail("ResourceNotFoundException", ("No node group found for name: %s.")
                                                 :format(p.nodegroupName))
end

function ops.describe_nodegroup(call, p)
  local group, refused = need_group(call, p)
  return group and { nodegroup = group }, not group and refused or nil
end

function ops.list_nodegroups(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  local names = table.move(cluster.nodegroups.order, 1, #cluster.nodegroups.order, 1, {})
  table.sort(names)
  return { nodegroups = array(names) }
end

local function busy(group)
  if group.status == "ACTIVE" or group.status == "DEGRADED" then return nil end
  return fault.new("ResourceInUseException", ("Nodegroup cannot be updated as it is currently not "
    .. "in Active State: %s"):format(group.status))
end

local function update_group(call, cluster, group, kind, change)
  group.status = "UPDATING"
  return { update = shared.update(call, cluster, kind, {}, function ()
    change()
    if group.status == "UPDATING" then group.status = "ACTIVE" end
  end) }
end

function ops.update_nodegroup_config(call, p)
  local group, cluster = need_group(call, p)
  if not group then return nil, cluster end
  local refused = busy(group) or p.scalingConfig and scaling_refusal(p.scalingConfig)
  if refused then return nil, refused end
  return update_group(call, cluster, group, "ConfigUpdate", function ()
    local labels = p.labels or {}
    for key, value in next, labels.addOrUpdateLabels or {} do group.labels[key] = value end
    for _, key in ipairs(labels.removeLabels or {}) do group.labels[key] = nil end
    group.updateConfig = p.updateConfig or group.updateConfig
    group.nodeRepairConfig = p.nodeRepairConfig or group.nodeRepairConfig
    if p.scalingConfig then
      group.scalingConfig = p.scalingConfig
      fleet.scale(call, cluster, group)
    end
  end)
end

function ops.update_nodegroup_version(call, p)
  local group, cluster = need_group(call, p)
  if not group then return nil, cluster end
  local refused = busy(group)
  if refused then return nil, refused end
  local named = p.launchTemplate
  if named and (not group.launchTemplate or (named.id or group.launchTemplate.id)
                ~= group.launchTemplate.id) then
    return fault.fail("InvalidParameterException", "The launch template of a node group can not be "
                      .. "changed to another one")
  end
  local data
  if named then
    data, refused = template_data(call, named)
    if not data then return nil, refused end
  end
  return update_group(call, cluster, group, "VersionUpdate", function ()
    if named then
      group.launchTemplate.version, group.facts.data = named.version, data
      fleet.replace(call, cluster, group)
    end
    group.version = p.version or group.version
  end)
end

function ops.delete_nodegroup(call, p)
  local group, cluster = need_group(call, p)
  if not group then return nil, cluster end
  if group.status ~= "DELETING" then
    group.status = "DELETING"
    fleet.delete(call, cluster, group)
  end
  return { nodegroup = group }
end

return M
