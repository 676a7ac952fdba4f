--- Resource Groups Tagging API: everything with a tag, by ARN.

local array = require "rtl.array"
local fault = require "rtl.rehearse.aws.fault"
local late = require "rtl.rehearse.weather.late"

local M = { operations = {} }
local ops = M.operations

-- Shelf → type in the ARN and the field of the id.
local EC2 = {
  { "vpcs", "vpc", "VpcId" }, { "subnets", "subnet", "SubnetId" },
  { "internet_gateways", "internet-gateway", "InternetGatewayId" },
  { "addresses", "elastic-ip", "AllocationId" }, { "nat_gateways", "natgateway", "NatGatewayId" },
  { "route_tables", "route-table", "RouteTableId" },
  { "vpc_endpoints", "vpc-endpoint", "VpcEndpointId" },
  { "security_groups", "security-group", "GroupId" },
  { "launch_templates", "launch-template", "LaunchTemplateId" },
  { "placement_groups", "placement-group", "GroupName" },
  { "reservations", "capacity-reservation", "CapacityReservationId" },
  { "instances", "instance", "InstanceId" },
  { "interfaces", "network-interface", "NetworkInterfaceId" }, { "volumes", "volume", "VolumeId" },
}

local function list_of_map(map)
  local keys, list = {}, array {}
  for key in next, map or {} do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do list[i] = { Key = key, Value = map[key] } end
  return list
end

local function add_ec2(call, list)
  for _, row in ipairs(EC2) do
    local shelf = call.region[row[1]]
    for _, item in ipairs(shelf:all()) do
      list[#list + 1] = { ResourceARN = ("arn:aws:ec2:%s:%s:%s/%s"):format(call.region.name,
        call.account, row[2], item[row[3]]), Tags = not late.by_tags(shelf, item[row[3]])
        and (item.Tags or item.TagSet) or nil }
    end
  end
end

local function add_eks(call, list)
  for _, cluster in ipairs(call.region.clusters:all()) do
    list[#list + 1] = { ResourceARN = cluster.arn, Tags = list_of_map(cluster.tags) }
    for _, group in ipairs(cluster.nodegroups:all()) do
      list[#list + 1] = { ResourceARN = group.nodegroupArn, Tags = list_of_map(group.tags) }
    end
    for _, addon in ipairs(cluster.addons:all()) do
      list[#list + 1] = { ResourceARN = addon.addonArn, Tags = list_of_map(addon.tags) }
    end
    for _, item in ipairs(cluster.associations:all()) do
      list[#list + 1] = { ResourceARN = item.associationArn, Tags = list_of_map(item.tags) }
    end
  end
end

local function add_others(call, list)
  for _, parameter in ipairs(call.region.parameters:all()) do
    list[#list + 1] = { ResourceARN = parameter.ARN, Tags = parameter.Tags }
  end
  for _, bucket in ipairs(call.region.buckets:all()) do
    list[#list + 1] = { ResourceARN = "arn:aws:s3:::" .. bucket.Name, Tags = bucket.tags }
  end
  for _, group in ipairs(call.region.resource_groups:all()) do
    list[#list + 1] = { ResourceARN = group.GroupArn, Tags = list_of_map(group.tags) }
  end
  for _, group in ipairs(call.region.schedule_groups:all()) do
    list[#list + 1] = { ResourceARN = group.Arn, Tags = group.Tags }
  end
end

local function passes(item, filters)
  for _, filter in ipairs(filters or {}) do
    local found = false
    for _, tag in ipairs(item.Tags) do
      if tag.Key == filter.Key then
        found = not filter.Values or #filter.Values == 0
        for _, value in ipairs(filter.Values or {}) do
          if value == tag.Value then found = true end
        end
      end
    end
    if not found then return false end
  end
  return true
end

local function of_type(arn, filters)
  if not filters or #filters == 0 then return true end
  local service, rest = arn:match "^arn:aws:([^:]*):[^:]*:[^:]*:(.*)$"
  local kind = rest and rest:match "^([%w-]+)[/:]"
  for _, filter in ipairs(filters) do
    if filter == service or filter == service .. ":" .. tostring(kind) then return true end
  end
  return false
end

function ops.get_resources(call, p)
  local all, list = {}, array {}
  add_ec2(call, all)
  add_eks(call, all)
  add_others(call, all)
  for _, item in ipairs(all) do
    if item.Tags and #item.Tags > 0 and passes(item, p.TagFilters)
      and of_type(item.ResourceARN, p.ResourceTypeFilters) then
      list[#list + 1] = item
    end
  end
  return { ResourceTagMappingList = list }
end

function ops.get_tag_keys(call)
  local seen, keys = {}, array {}
  for _, item in ipairs(ops.get_resources(call, {}).ResourceTagMappingList) do
    for _, tag in ipairs(item.Tags) do
      if not seen[tag.Key] then
        seen[tag.Key] = true
        keys[#keys + 1] = tag.Key
      end
    end
  end
  table.sort(keys)
  return { TagKeys = keys }
end

local function not_here()
  return fault.fail("InvalidParameterException", "tag by the service's own operation here")
end

ops.tag_resources, ops.untag_resources = not_here, not_here

return M
