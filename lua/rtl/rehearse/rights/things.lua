--- The resources that a request is about, as IAM names them: ARN and tags.

local M = {}

-- Type of EC2 → shelf.
local EC2 = { vpc = "vpcs", subnet = "subnets", ["internet-gateway"] = "internet_gateways",
  ["elastic-ip"] = "addresses", natgateway = "nat_gateways", ["route-table"] = "route_tables",
  ["vpc-endpoint"] = "vpc_endpoints", ["security-group"] = "security_groups",
  ["launch-template"] = "launch_templates", ["placement-group"] = "placement_groups",
  ["capacity-reservation"] = "reservations", instance = "instances",
  ["network-interface"] = "interfaces", volume = "volumes" }

-- Prefix of an id → type.
local PREFIXES = { vpc = "vpc", subnet = "subnet", igw = "internet-gateway",
  eipalloc = "elastic-ip", nat = "natgateway", rtb = "route-table", vpce = "vpc-endpoint",
  sg = "security-group", lt = "launch-template", cr = "capacity-reservation", i = "instance",
  eni = "network-interface", vol = "volume" }

--- AWS' list of tags, or a map, as a map.
function M.tag_map(tags)
  local map = {}
  for key, value in pairs(tags or {}) do
    if type(value) == "table" then map[value.Key] = value.Value or "" else map[key] = value end
  end
  return map
end

--- Adds a map of tags to condition keys, as those of `prefix` ("resourcetag", "requesttag").
-- Returns the keys.
function M.add_tags(keys, prefix, tags)
  for key, value in pairs(tags) do keys[("aws:%s/%s"):format(prefix, key):lower()] = value end
  return keys
end

--- The ARN of a thing of a service in the call's region.
function M.arn(call, service, rest)
  return ("arn:aws:%s:%s:%s:%s"):format(service, call.region.name, call.account, rest)
end

-- What is not there has no tags: a right that depends on them is none, and the service refuses the
-- call before it looks whether there is such a thing (EKS: aws/eks-hybrid#450; IAM:
-- keikoproj/iam-manager#31; of EC2 it is not known).
local function thing(arn, tags)
  return { arn = arn, tags = M.tag_map(tags) }
end

local function ec2(kind)
  return function (call, id)
    local item = call.region[EC2[kind]]:get(id)
    return thing(M.arn(call, "ec2", kind .. "/" .. id), item and (item.Tags or item.TagSet))
  end
end

-- Something of an EKS cluster: on which shelf, by which key, and where its ARN stands.
local function of_cluster(kind, shelf, arn_member)
  return function (call, name, key)
    local cluster = call.region.clusters:get(name)
    local item = cluster and cluster[shelf]:get(key)
    local arn = item and item[arn_member]
      or M.arn(call, "eks", ("%s/%s/%s/*"):format(kind, name, tostring(key):match("[^/]+$")))
    return thing(arn, item and item.tags)
  end
end

local function role(call, name, p)
  local item = call.aws.iam.roles:get(name)
  local arn = item and item.Arn
    or ("arn:aws:iam::%s:role%s%s"):format(call.account, p.Path or "/", name)
  local found = thing(arn, item and item.Tags)
  found.boundary = item and item.PermissionsBoundary
    and item.PermissionsBoundary.PermissionsBoundaryArn
  return found
end

local function parameter(call, name)
  local item = call.region.parameters:get(name)
  return thing(M.arn(call, "ssm", "parameter/" .. name:gsub("^/", "")), item and item.Tags)
end

-- Names, or ARNs as they are.
local function named(service, kind, shelf, separator)
  return function (call, name)
    if name:find "^arn:" then return thing(name) end
    local item = shelf and call.region[shelf]:get(name)
    return thing(M.arn(call, service, kind .. (separator or "/") .. name),
      item and (item.tags or item.Tags))
  end
end

local function global(kind)
  return function (call, name)
    if name:find "^arn:" then return thing(name) end
    return thing(("arn:aws:iam::%s:%s/%s"):format(call.account, kind, name))
  end
end

-- What is named by an id or an ARN of any type.
local function any(call, id)
  if id:find "^arn:" then return thing(id) end
  local kind = PREFIXES[id:match "^(%l+)%-" or ""]
  return kind and ec2(kind)(call, id) or thing(M.arn(call, "ec2", "*/" .. id))
end

--- Type → function (call, parts…, params) that gives { arn, tags (map), boundary }.
M.of = {
  any = any,
  cluster = function (call, name)
    local item = call.region.clusters:get(name)
    return thing(M.arn(call, "eks", "cluster/" .. name), item and item.tags)
  end,
  nodegroup = of_cluster("nodegroup", "nodegroups", "nodegroupArn"),
  addon = of_cluster("addon", "addons", "addonArn"),
  ["access-entry"] = of_cluster("access-entry", "entries", "accessEntryArn"),
  podidentityassociation = of_cluster("podidentityassociation", "associations",
    "associationArn"),
  role = role,
  policy = global "policy",
  ["instance-profile"] = global "instance-profile",
  parameter = parameter,
  bucket = function (_, name) return thing("arn:aws:s3:::" .. name) end,
  object = function (_, bucket, key)
    return thing(("arn:aws:s3:::%s/%s"):format(bucket, key))
  end,
  ["log-group"] = named("logs", "log-group", nil, ":"),
  schedule = function (call, group, name)
    return thing(M.arn(call, "scheduler", ("schedule/%s/%s"):format(group or "default", name)))
  end,
  ["schedule-group"] = named("scheduler", "schedule-group", "schedule_groups"),
  quota = function (call, service, code)
    return thing(M.arn(call, "servicequotas", service .. "/" .. code))
  end,
  group = named("resource-groups", "group", "resource_groups"),
}
for kind in pairs(EC2) do M.of[kind] = ec2(kind) end

local function table_of(call, association)
  for _, route_table in ipairs(call.region.route_tables:all()) do
    for _, one in ipairs(route_table.Associations or {}) do
      if one.RouteTableAssociationId == association then return route_table, one end
    end
  end
end

local function attached(call, attachment)
  return call.region.interfaces:first(function (it)
    return it.Attachment and it.Attachment.AttachmentId == attachment
  end)
end

--- Lookups of "=*": type and parameter → function (call, params) that gives an array of ids, or of
-- arrays of parts.
M.find = {
  ["route-table AssociationId"] = function (call, p)
    local found = table_of(call, p.AssociationId)
    return { found and found.RouteTableId or "rtb-unknown" }
  end,
  ["subnet AssociationId"] = function (call, p)
    local _, one = table_of(call, p.AssociationId)
    return { one and one.SubnetId }
  end,
  ["elastic-ip AssociationId"] = function (call, p)
    local found = call.region.addresses:first(function (it)
      return it.AssociationId == p.AssociationId
    end)
    return { found and found.AllocationId }
  end,
  ["network-interface AttachmentId"] = function (call, p)
    local found = attached(call, p.AttachmentId)
    return { found and found.NetworkInterfaceId }
  end,
  ["instance AttachmentId"] = function (call, p)
    local found = attached(call, p.AttachmentId)
    return { found and found.Attachment.InstanceId }
  end,
  ["object Delete"] = function (_, p)
    local list = {}
    for i, object in ipairs(p.Delete.Objects) do list[i] = { p.Bucket, object.Key } end
    return list
  end,
  ["role AWSServiceName"] = function (_, p)
    return { ("aws-service-role/%s/AWSServiceRoleFor*"):format(p.AWSServiceName) }
  end,
}

return M
