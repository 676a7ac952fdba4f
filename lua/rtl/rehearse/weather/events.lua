--- Weather that comes at its hour, whatever the run does meanwhile; and the neighbours in the
-- account, who use up what rtl might need.

local array = require "rtl.array"
local capacity = require "rtl.rehearse.aws.ec2.capacity"
local gateways = require "rtl.rehearse.aws.ec2.gateways"
local machines = require "rtl.rehearse.aws.ec2.machines"
local network = require "rtl.rehearse.aws.ec2.network"
local places = require "rtl.rehearse.aws.places"
local quotas = require "rtl.rehearse.aws.quota_values"
local region_module = require "rtl.rehearse.aws.region"
local types = require "rtl.rehearse.aws.types"

local M = {}

local HOME = "us-east-2" -- the region of the default settings

local function each_key(world, change)
  for _, keys in pairs(world.keys_of) do change(keys) end
end

local AT = {}

-- The operator's session ends. Who runs rtl again has logged in again.
AT["expired-keys"] = function (world)
  each_key(world, function (keys) keys.expires = world:now() end)
end

local function belongs_to_others(region, item)
  item.neighbour = true
  for _, interface in ipairs(item.NetworkInterfaces) do
    region.interfaces:get(interface.NetworkInterfaceId).neighbour = true
  end
  for _, mapping in ipairs(item.BlockDeviceMappings) do
    region.volumes:get(mapping.Ebs.VolumeId).neighbour = true
  end
end

-- Others start as many as the account's quota lets them, `count` at most. Returns how many.
local function started(world, call, count, seconds)
  local kind = types.of "g6.12xlarge"
  local subnet = call.region.subnets:first(function (it)
    return it.DefaultForAz and types.offered(kind, call.region.name,
      places.zone(call.region.name, it.AvailabilityZone))
  end)
  local limit = quotas.value(world, kind.quota, call.region)
  for i = 1, count do
    if capacity.vcpus_used(call.region, kind.quota) + kind.vcpu > limit then return i - 1 end
    local item = machines.start(call, { type = "g6.12xlarge", subnet = subnet, data = {},
      image = "ami-00000000000000001", groups = {},
      tags = { { Key = "Name", Value = "another team's" } } })
    belongs_to_others(call.region, item)
    world:after(seconds, function () machines.stop(call, item) end)
  end
  return count
end

AT["quota-taken"] = function (world, draw)
  local count = started(world, region_module.call(world, HOME), 3, draw.seconds)
  if count > 0 then world:struck "quota-taken" end
end

AT["vpc-quota"] = function (world)
  world:struck "vpc-quota"
  local call = region_module.call(world, HOME)
  for i = 1, 4 do
    network.operations.create_vpc(call, { CidrBlock = ("10.%d.0.0/16"):format(100 + i),
                                          TagSpecifications = array {} })
  end
  for _, vpc in ipairs(call.region.vpcs:all()) do vpc.neighbour = true end
end

AT["address-quota"] = function (world)
  world:struck "address-quota"
  local call = region_module.call(world, HOME)
  for _ = 1, 5 do
    local made = gateways.operations.allocate_address(call, { Domain = "vpc" })
    call.region.addresses:get(made.AllocationId).neighbour = true
  end
end

-- The rules of all groups to themselves go, but those of the default VPC's.
AT["altered-group"] = function (world)
  local region = region_module.call(world, HOME).region
  for _, rule in ipairs(region.rules:all()) do
    local to = rule.ReferencedGroupInfo
    if to and to.GroupId == rule.GroupId then
      world:struck "altered-group"
      region.rules:remove(rule.SecurityGroupRuleId)
    end
  end
end

--- Puts what has its hour into a new world's queue.
function M.begin(world)
  for _, name in ipairs(require "rtl.rehearse.weather".names()) do
    local draw = world.sky[name]
    if draw and draw.at and AT[name] then
      local function come()
        if world.sky[name] then AT[name](world, draw) end
      end
      if draw.at == 0 then come() else world:after(draw.at, come) end
    end
  end
end

--- A run of rtl begins: its environment has keys that hold.
function M.new_run(world)
  each_key(world, function (keys) keys.expires = nil end)
end

return M
