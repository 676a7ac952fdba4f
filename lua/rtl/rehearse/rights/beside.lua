--- What a call needs of IAM beside its own action, since a service does more with the caller's
-- rights: it is passed a role, makes its service-linked role, or tries a launch.

local templates = require "rtl.rehearse.aws.ec2.templates"
local things = require "rtl.rehearse.rights.things"

local M = {}

local function pass(arn, service)
  if not arn then return {} end
  return { { action = "iam:PassRole", arn = arn, keys = { ["iam:passedtoservice"] = service } } }
end

-- Only where the account has no such role yet.
local function linked(call, service, name)
  if call.aws.iam.roles:get(name) then return {} end
  return { { action = "iam:CreateServiceLinkedRole",
    arn = ("arn:aws:iam::%s:role/aws-service-role/%s/%s"):format(call.account, service, name),
    keys = { ["iam:awsservicename"] = service } } }
end

local function join(...)
  local all = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #all + 1, all) end
  return all
end

-- ---- a launch from a template, as EKS tries it before it makes a node group ----

local function launch_keys(template_arn, tags, prefix)
  return things.add_tags({ ["ec2:launchtemplate"] = template_arn }, prefix, tags)
end

-- The types of new things in a launch, and the tags that the template gives them.
local NEW = { "instance", "network-interface", "volume" }

local function tags_by_type(data)
  local by_type = {}
  for _, specification in ipairs(data.TagSpecifications or {}) do
    by_type[specification.ResourceType] = things.tag_map(specification.Tags)
  end
  return by_type
end

local function security_groups(cluster, data)
  local ids = {}
  for _, interface in ipairs(data.NetworkInterfaces or {}) do
    for _, id in ipairs(interface.Groups or {}) do ids[#ids + 1] = id end
  end
  if #ids == 0 then ids[1] = cluster.resourcesVpcConfig.clusterSecurityGroupId end
  return ids
end

local function target_of(data)
  return (data.CapacityReservationSpecification or {}).CapacityReservationTarget or {}
end

local function used(call, cluster, data, subnets)
  local list = {}
  local function add(kind, id)
    if id then list[#list + 1] = things.of[kind](call, id) end
  end
  for _, id in ipairs(security_groups(cluster, data)) do add("security-group", id) end
  for _, id in ipairs(subnets) do add("subnet", id) end
  add("capacity-reservation", target_of(data).CapacityReservationId)
  add("placement-group", (data.Placement or {}).GroupName)
  return list
end

local function launch(call, named, cluster_name, subnets)
  local cluster = call.region.clusters:get(cluster_name)
  local template = named and templates.need(call, named.id, named.name)
  local version = template and templates.version(template, named.version)
  if not (cluster and version) then return {} end
  local data, id = version.LaunchTemplateData, template.LaunchTemplateId
  local own, by_type, checks = things.of["launch-template"](call, id), tags_by_type(data), {}
  local function add(action, arn, keys)
    checks[#checks + 1] = { action = action, arn = arn, keys = keys, form = "launch" }
  end
  local function run(arn, tags, prefix)
    add("ec2:RunInstances", arn, launch_keys(own.arn, tags, prefix))
  end
  run(own.arn, own.tags, "resourcetag")
  run(("arn:aws:ec2:%s::image/ami-eks"):format(call.region.name), {}, "resourcetag")
  for _, kind in ipairs(NEW) do
    run(things.arn(call, "ec2", kind .. "/*"), by_type[kind] or {}, "requesttag")
  end
  for _, one in ipairs(used(call, cluster, data, subnets)) do
    run(one.arn, one.tags, "resourcetag")
  end
  local group = target_of(data).CapacityReservationResourceGroupArn
  if group then add("ec2:RunInstances", group, {}) end
  for _, kind in ipairs(NEW) do
    if by_type[kind] then
      local keys = launch_keys(own.arn, by_type[kind], "requesttag")
      keys["ec2:createaction"] = "RunInstances"
      add("ec2:CreateTags", things.arn(call, "ec2", kind .. "/*"), keys)
    end
  end
  return checks
end

--- "SERVICE:OPERATION" → function (call, params) that gives an array of { action, arn, keys,
-- form }.
M.of = {
  ["eks:create_cluster"] = function (call, p)
    return join(pass(p.roleArn, "eks.amazonaws.com"),
      linked(call, "eks.amazonaws.com", "AWSServiceRoleForAmazonEKS"))
  end,
  ["eks:create_nodegroup"] = function (call, p)
    return join(pass(p.nodeRole, "eks.amazonaws.com"),
      linked(call, "eks-nodegroup.amazonaws.com", "AWSServiceRoleForAmazonEKSNodegroup"),
      launch(call, p.launchTemplate, p.clusterName, p.subnets or {}))
  end,
  ["eks:update_nodegroup_version"] = function (call, p)
    local cluster = call.region.clusters:get(p.clusterName)
    local group = cluster and cluster.nodegroups:get(p.nodegroupName)
    return launch(call, p.launchTemplate, p.clusterName, group and group.subnets or {})
  end,
  ["eks:create_pod_identity_association"] = function (_, p)
    return pass(p.roleArn, "pods.eks.amazonaws.com")
  end,
  ["eks:update_pod_identity_association"] = function (_, p)
    return pass(p.roleArn, "pods.eks.amazonaws.com")
  end,
  ["eks:create_addon"] = function (_, p)
    return pass(p.serviceAccountRoleArn, "eks.amazonaws.com")
  end,
  ["scheduler:create_schedule"] = function (_, p)
    return pass(p.Target and p.Target.RoleArn, "scheduler.amazonaws.com")
  end,
  ["scheduler:delete_schedule_group"] = function (call, p)
    return { { action = "scheduler:DeleteSchedule", keys = {},
      arn = things.arn(call, "scheduler", ("schedule/%s/*"):format(p.Name)) } }
  end,
  ["scheduler:update_schedule"] = function (_, p)
    return pass(p.Target and p.Target.RoleArn, "scheduler.amazonaws.com")
  end,
}

return M
