--- A network that the user gives: whether nodes can live in its subnets. A node that can't reach
-- the internet never joins, and one with several interfaces gets no public address.

local array = require "rtl.array"
local instances = require "rtl.kinds.instances"
local support = require "rtl.kinds.support"

local M = {}

local ADDRESSES = 16 -- that a node takes at least: its own, and a first batch for its pods

local function refuse(run, message, hint)
  return run:fail { code = "RTL-STEP-002", exit = "refused", message = message, hint = hint }
end

local function subnets_of(run, ids)
  local list, failure = run:aws("ec2"):all("describe_subnets", { SubnetIds = array(ids) })
  if not list and support.not_found(failure) then
    refuse(run, ("private_subnets, in %s: %s"):format(run.region, failure.message),
      "Check the ids, the region and the account")
  end
  local by_id = {}
  for _, one in ipairs(list or error(failure, 0)) do by_id[one.SubnetId] = one end
  local sorted = {}
  for i, id in ipairs(ids) do sorted[i] = by_id[id] end
  return sorted
end

local function in_table(one, subnet)
  local is_main = false
  for _, association in ipairs(one.Associations or {}) do
    if association.SubnetId == subnet.SubnetId then return true end
    is_main = is_main or association.Main
  end
  return false, is_main
end

-- The route table of a subnet: its own, else the VPC's main one.
local function table_of(tables, subnet)
  local main
  for _, one in ipairs(tables) do
    local own, is_main = in_table(one, subnet)
    if own then return one end
    if is_main then main = one end
  end
  return main
end

local function default_route(one)
  for _, route in ipairs(one and one.Routes or {}) do
    if route.DestinationCidrBlock == "0.0.0.0/0" then return route end
  end
end

-- What a node without a way out needs to join: EKS user guide, private clusters.
local JOIN_ENDPOINTS = { "ec2", "ecr.api", "ecr.dkr", "s3" }

-- Those of them that the VPC lacks.
local function missing_endpoints(run)
  local list, have = assert(run:aws("ec2"):all("describe_vpc_endpoints", {
    Filters = array { support.filter("vpc-id", run.settings.vpc_id) } })), {}
  for _, one in ipairs(list) do
    have[(one.ServiceName or ""):match("amazonaws%.[^.]+%.(.+)$") or ""] = true
  end
  local missing = {}
  for _, name in ipairs(JOIN_ENDPOINTS) do
    if not have[name] then missing[#missing + 1] = name end
  end
  return missing
end

-- Why nodes in this subnet would not reach what they need to join; nil when they would. A default
-- route to an internet gateway is of use only to what has a public address.
local function no_way_out(run, route)
  if not route then
    local missing = missing_endpoints(run)
    return missing[1] and ("has no default route, and its VPC no endpoints for %s"):format(
      table.concat(missing, ", "))
  elseif route.State == "blackhole" then
    return ("has a default route to %s, which is gone (blackhole)"):format(
      route.NatGatewayId or route.GatewayId or route.NetworkInterfaceId or "something")
  elseif (route.GatewayId or ""):match("^igw%-") then
    return ("is a public one (0.0.0.0/0 goes to %s), and nodes have no public address"):format(
      route.GatewayId)
  end
end

local function check_way_out(run, tables, subnet)
  local why = no_way_out(run, default_route(table_of(tables, subnet)))
  if why then
    refuse(run, ("subnet %s %s: nodes would never join"):format(subnet.SubnetId, why),
      "Give private subnets, with a default route to a NAT gateway")
  end
end

-- What GPU nodes that are still to come need of their subnet.
local function check_gpu_subnet(run, subnet)
  local s = run.settings
  if s.use_gpu_group ~= "" then return end
  local count = #instances.interfaces(s.gpu_type, run.facts.instance.efa)
  if subnet.MapPublicIpOnLaunch and count > 1 then
    refuse(run, ("subnet %s gives public addresses (MapPublicIpOnLaunch), which a %s with its %d "
      .. "interfaces can't have"):format(subnet.SubnetId, s.gpu_type, count),
      "Use a private subnet with NAT, or switch the attribute off")
  end
  local need, free = s.gpu_count * ADDRESSES, subnet.AvailableIpAddressCount
  if free and free < need then
    refuse(run, ("subnet %s has %d free addresses; %d GPU nodes take %d at least"):format(
      subnet.SubnetId, free, s.gpu_count, need))
  end
end

local function check_places(run, subnets)
  local zones, count = {}, 0
  for _, subnet in ipairs(subnets) do
    if subnet.VpcId ~= run.settings.vpc_id then
      refuse(run, ("subnet %s is in %s, not in %s"):format(subnet.SubnetId, subnet.VpcId,
        run.settings.vpc_id))
    end
    if not zones[subnet.AvailabilityZoneId] then count = count + 1 end
    zones[subnet.AvailabilityZoneId] = true
  end
  if count < 2 and run.settings.use_cluster == "" then
    refuse(run, "the given private_subnets are all in one zone; EKS needs two",
      "Add a subnet of another zone, after the GPU nodes' own")
  end
end

--- Checks the given private subnets, once a run: their VPC, two zones, a way out, free addresses.
-- Returns the id of the GPU nodes' zone, which is the first one's; nil where none are given. Raises
-- RTL-STEP-002.
function M.zone(run)
  local ids = run.settings.private_subnets
  if #ids == 0 then return nil end
  if not run.facts.given_zone then
    local subnets = subnets_of(run, ids)
    check_places(run, subnets)
    local tables = assert(run:aws("ec2"):all("describe_route_tables", {
      Filters = array { support.filter("vpc-id", run.settings.vpc_id) } }))
    for _, subnet in ipairs(subnets) do check_way_out(run, tables, subnet) end
    check_gpu_subnet(run, subnets[1])
    run.facts.given_zone = subnets[1].AvailabilityZoneId
  end
  return run.facts.given_zone
end

return M
