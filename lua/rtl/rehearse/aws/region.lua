--- What lies in one region of the account: a shelf for each kind, and the default VPC that every
-- account has.

local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local places = require "rtl.rehearse.aws.places"
local shelf = require "rtl.rehearse.aws.shelf"

local M = {}

-- Kinds and the field that holds their id.
M.KINDS = {
  { "vpcs", "VpcId" }, { "subnets", "SubnetId" }, { "internet_gateways", "InternetGatewayId" },
  { "addresses", "AllocationId" }, { "nat_gateways", "NatGatewayId" },
  { "route_tables", "RouteTableId" }, { "vpc_endpoints", "VpcEndpointId" },
  { "security_groups", "GroupId" }, { "rules", "SecurityGroupRuleId" },
  { "launch_templates", "LaunchTemplateId" }, { "placement_groups", "GroupName" },
  { "reservations", "CapacityReservationId" }, { "instances", "InstanceId" },
  { "interfaces", "NetworkInterfaceId" }, { "volumes", "VolumeId" }, { "clusters", "name" },
  { "groups", "AutoScalingGroupName" }, { "activities", "ActivityId" }, { "parameters", "Name" },
  { "log_groups", "logGroupName" }, { "load_balancers", "LoadBalancerArn" },
  { "schedules", "key" }, { "schedule_groups", "Name" }, { "resource_groups", "Name" },
  { "buckets", "Name" },
}

local function default_id(world, region, prefix, n)
  return ("%s-0%s"):format(prefix, chance.hex(16, world.seed, "default", region, prefix, n or 0))
end

local function default_network(world, region)
  local vpc = region.vpcs:add(default_id(world, region.name, "vpc"), {
    VpcId = default_id(world, region.name, "vpc"), CidrBlock = "172.31.0.0/16", IsDefault = true,
    State = "available", InstanceTenancy = "default", OwnerId = world.aws.account,
    DhcpOptionsId = default_id(world, region.name, "dopt"), Tags = array {}, native = true,
    dns_support = true, dns_hostnames = true })
  local gateway = default_id(world, region.name, "igw")
  region.internet_gateways:add(gateway, { InternetGatewayId = gateway, Tags = array {},
    OwnerId = world.aws.account, native = true,
    Attachments = array { { State = "available", VpcId = vpc.VpcId } } })
  for i, zone in ipairs(places.regions[region.name]) do
    local id = default_id(world, region.name, "subnet", i)
    region.subnets:add(id, { SubnetId = id, VpcId = vpc.VpcId, State = "available", native = true,
      CidrBlock = ("172.31.%d.0/20"):format((i - 1) * 16), AvailableIpAddressCount = 4091,
      AvailabilityZone = zone.name, AvailabilityZoneId = zone.id, DefaultForAz = true,
      MapPublicIpOnLaunch = true, OwnerId = world.aws.account, Tags = array {} })
  end
  local table_id = default_id(world, region.name, "rtb")
  local group = default_id(world, region.name, "sg")
  region.route_tables:add(table_id, { RouteTableId = table_id, VpcId = vpc.VpcId, native = true,
    OwnerId = world.aws.account, Tags = array {},
    Associations = array { { Main = true, RouteTableId = table_id,
      RouteTableAssociationId = default_id(world, region.name, "rtbassoc"),
      AssociationState = { State = "associated" } } },
    Routes = array {
      { DestinationCidrBlock = "172.31.0.0/16", GatewayId = "local", State = "active",
        Origin = "CreateRouteTable" },
      { DestinationCidrBlock = "0.0.0.0/0", GatewayId = gateway, State = "active",
        Origin = "CreateRoute" } } })
  region.security_groups:add(group, { GroupId = group, GroupName = "default", native = true,
    Description = "default VPC security group", VpcId = vpc.VpcId, OwnerId = world.aws.account,
    Tags = array {} })
end

--- The region's state, made when it is first looked at.
function M.of(world, name)
  local region = world.aws.regions[name]
  if region then return region end
  region = { name = name, world = world }
  for _, kind in ipairs(M.KINDS) do region[kind[1]] = shelf.new(world) end
  world.aws.regions[name] = region
  world.aws.region_names[#world.aws.region_names + 1] = name
  table.sort(world.aws.region_names)
  default_network(world, region)
  return region
end

--- What a handler of an operation is called with: by the world's caller, in that region.
function M.call(world, name)
  return { world = world, aws = world.aws, account = world.aws.account, partition = "aws",
           caller = world.aws.caller, region = M.of(world, name) }
end

-- Whether an item only stays visible for a while after its end.
local function ended(item)
  local state = item.State
  if type(state) == "table" then state = state.Name end
  return state == "terminated" or state == "deleted" or state == "cancelled" or state == "expired"
end

local NO_RESOURCE = { activities = true, rules = true }

--- Adds what stands in a region and was made by a call to `list`: { service, kind, id, region }.
function M.standing(region, list)
  for _, kind in ipairs(M.KINDS) do
    if not NO_RESOURCE[kind[1]] then
      for _, item in ipairs(region[kind[1]]:all()) do
        if not item.native and not ended(item) then
          list[#list + 1] = { kind = kind[1], id = item[kind[2]], region = region.name }
        end
      end
    end
  end
end

return M
