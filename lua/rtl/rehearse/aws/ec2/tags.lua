--- EC2: tags of every kind of resource.

local array = require "rtl.array"
local common = require "rtl.rehearse.aws.ec2.common"
local fault = require "rtl.rehearse.aws.fault"

local M = { operations = {} }
local ops = M.operations

-- Prefix of the id → shelf, resource type in DescribeTags, code when it is not there.
local PREFIXES = {
  vpc = { "vpcs", "vpc", "InvalidVpcID.NotFound" },
  subnet = { "subnets", "subnet", "InvalidSubnetID.NotFound" },
  igw = { "internet_gateways", "internet-gateway", "InvalidInternetGatewayID.NotFound" },
  eipalloc = { "addresses", "elastic-ip", "InvalidAllocationID.NotFound" },
  nat = { "nat_gateways", "natgateway", "NatGatewayNotFound" },
  rtb = { "route_tables", "route-table", "InvalidRouteTableID.NotFound" },
  vpce = { "vpc_endpoints", "vpc-endpoint", "InvalidVpcEndpointId.NotFound" },
  sg = { "security_groups", "security-group", "InvalidGroup.NotFound" },
  sgr = { "rules", "security-group-rule", "InvalidSecurityGroupRuleId.NotFound" },
  lt = { "launch_templates", "launch-template", "InvalidLaunchTemplateId.NotFound" },
  cr = { "reservations", "capacity-reservation", "InvalidCapacityReservationId.NotFound" },
  i = { "instances", "instance", "InvalidInstanceID.NotFound" },
  eni = { "interfaces", "network-interface", "InvalidNetworkInterfaceID.NotFound" },
  vol = { "volumes", "volume", "InvalidVolume.NotFound" },
}

local ORDER = { "vpc", "subnet", "igw", "eipalloc", "nat", "rtb", "vpce", "sg", "sgr", "lt", "cr",
                "i", "eni", "vol" }

local function resource_of(call, id)
  local row = PREFIXES[id:match "^(%l+)%-" or ""]
  local item = row and call.region[row[1]]:get(id)
  if item then return item end
  if id:find "^pg%-" then
    item = call.region.placement_groups:first(function (it) return it.GroupId == id end)
    if item then return item end
  end
  return fault.fail(row and row[3] or "InvalidID", ("The ID '%s' is not valid"):format(id))
end

local function tags_of(item)
  if item.TagSet then return item.TagSet end
  item.Tags = item.Tags or array {}
  return item.Tags
end

local function each_resource(call, p, change)
  local items = {}
  for i, id in ipairs(p.Resources) do
    local item, refused = resource_of(call, id)
    if not item then return nil, refused end
    items[i] = item
  end
  for _, item in ipairs(items) do change(tags_of(item)) end
  return {}
end

function ops.create_tags(call, p)
  for _, tag in ipairs(p.Tags) do
    if (tag.Key or ""):find "^aws:" then
      return fault.fail("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for "
                        .. "internal use")
    end
  end
  return each_resource(call, p, function (tags) common.set_tags(tags, p.Tags) end)
end

function ops.delete_tags(call, p)
  return each_resource(call, p, function (tags)
    for i = #tags, 1, -1 do
      for _, gone in ipairs(p.Tags or {}) do
        if tags[i] and tags[i].Key == gone.Key
          and (gone.Value == nil or gone.Value == tags[i].Value) then
          table.remove(tags, i)
        end
      end
    end
  end)
end

local TAG_FILTERS = { key = "Key", value = "Value", ["resource-id"] = "ResourceId",
                      ["resource-type"] = "ResourceType" }

function ops.describe_tags(call, p)
  local shelf = require "rtl.rehearse.aws.shelf".new()
  for _, prefix in ipairs(ORDER) do
    local row = PREFIXES[prefix]
    for _, id in ipairs(call.region[row[1]].order) do
      for _, tag in ipairs(tags_of(call.region[row[1]].by_id[id])) do
        shelf:add(id .. " " .. tag.Key, { Key = tag.Key, Value = tag.Value, ResourceId = id,
                                          ResourceType = row[2] })
      end
    end
  end
  local list, refused = common.select(shelf, { filters = p.Filters, known = TAG_FILTERS })
  return list and { Tags = list }, refused
end

return M
