--- The world's own bill: what stood for how long, at the world's prices. It looks at what came and
-- went on the shelves, and knows nothing of what rtl wrote down: each checks the other.
--
-- Instances and volumes bill by the second, from launch to the beginning of the end; a NAT gateway
-- by the hour begun; a cluster and an address while they are there; a reservation for what of it no
-- instance uses.

local price_list = require "rtl.rehearse.aws.price_list"

local M = {}

-- What is or was on a shelf: array of { item, from, to }; `to` is nil while it is there.
local function spans(shelf)
  local list = {}
  for _, id in ipairs(shelf.order) do
    list[#list + 1] = { item = shelf.by_id[id], from = shelf.came[id] }
  end
  for _, one in ipairs(shelf.left) do list[#list + 1] = one end
  return list
end

local function hours(from, to)
  return math.max(0, to - from) / 3600
end

local LINES = {}

function LINES.clusters(region, one, now)
  local price = price_list.other(region.name, "cluster")
  if one.item.extended then price = price + price_list.other(region.name, "extended_support") end
  return "cluster", one.item.name, hours(one.item.createdAt, one.to or now),
    price
end

function LINES.addresses(region, one, now)
  return "address", one.item.AllocationId, hours(one.from, one.to or now),
    price_list.other(region.name, "address")
end

function LINES.nat_gateways(region, one, now)
  local item = one.item
  if item.State == "failed" then return nil end
  local to = item.DeleteTime or one.to or now
  return "NAT gateway", item.NatGatewayId, math.max(1, math.ceil(hours(one.from, to))),
    price_list.other(region.name, "nat_hour")
end

local function in_block(region, item)
  local held = region.reservations:get(item.CapacityReservationId)
  return held and held.ReservationType == "capacity-block"
end

-- Nothing here is free because nobody wrote down what it costs.
local function instance_price(region, item)
  local price = price_list.instance(region.name, item.InstanceType)
  if price then return price end
  error(("the world can't bill %s: it has no On-Demand price of %s, which is sold in Capacity "
    .. "Blocks (add one to lua/rtl/rehearse/aws/price_list.lua)"):format(item.InstanceId
    or item.CapacityReservationId, item.InstanceType), 0)
end

-- A Capacity Block was paid when it was bought, with all that runs in it.
function LINES.instances(region, one, now)
  local item = one.item
  if in_block(region, item) then return nil end
  local to = item.stopped_at and item.stopped_at // 1 or now
  return "instance", item.InstanceId, math.max(60 / 3600, hours(item.LaunchTime, to)),
    instance_price(region, item)
end

function LINES.volumes(region, one, now)
  local price = price_list.other(region.name, "gp3")
  return "volume", one.item.VolumeId, hours(one.item.CreateTime, one.to or now),
    price * one.item.Size / price_list.HOURS_A_MONTH
end

-- Hours of instances in the reservation, which are billed as instances, until `till`: they go on
-- when it has ended.
local function used_hours(region, id, till)
  local sum = 0
  for _, one in ipairs(spans(region.instances)) do
    if one.item.CapacityReservationId == id then
      local stopped = one.item.stopped_at and one.item.stopped_at // 1 or till
      sum = sum + hours(one.item.LaunchTime, math.min(stopped, till))
    end
  end
  return sum
end

function LINES.reservations(region, one, now)
  local item = one.item
  if item.ReservationType == "capacity-block" or item.native then return nil end
  local till = item.ended_at and item.ended_at // 1 or one.to or now
  local all = hours(item.StartDate or one.from, till) * item.TotalInstanceCount
  local unused = math.max(0, all - used_hours(region, item.CapacityReservationId, till))
  return "reservation", item.CapacityReservationId, unused,
    instance_price(region, item)
end

local KINDS = { "clusters", "addresses", "nat_gateways", "instances", "volumes", "reservations" }

local function pulls(world, lines)
  for _, name in ipairs(world.aws.region_names) do
    local gb = (world.aws.pulled or {})[name]
    if gb then
      lines[#lines + 1] = { what = "NAT bytes", region = name, id = name, hours = gb.all,
        price = price_list.other(name, "nat_gb") }
      lines[#lines + 1] = { what = "bytes across zones", region = name, id = name,
        hours = gb.across, price = 2 * price_list.other(name, "regional_gb") }
    end
  end
end

--- The bill until now, without what a neighbour has: array of { what, id, region, hours (GB for
-- bytes), price, amount } and the sum.
function M.lines(world)
  local lines, now, sum = {}, world:now(), 0.0
  for _, name in ipairs(world.aws.region_names) do
    local region = world.aws.regions[name]
    for _, kind in ipairs(KINDS) do
      for _, one in ipairs(spans(region[kind])) do
        local what, id, lasted, price = LINES[kind](region, one, now)
        if what and not one.item.neighbour then
          lines[#lines + 1] = { what = what, region = name, id = id, hours = lasted,
            price = price }
        end
      end
    end
  end
  pulls(world, lines)
  for _, line in ipairs(lines) do
    line.amount = line.hours * line.price
    sum = sum + line.amount
  end
  return lines, sum
end

local OVER = { deleted = true, failed = true, terminated = true, ["shutting-down"] = true,
  cancelled = true, expired = true }

local function state_of(item)
  local state = item.State
  return type(state) == "table" and state.Name or state
end

--- What of ours bills by the hour now: array of texts ("us-east-2 clusters ray-train"), sorted.
function M.running(world)
  local list = {}
  for _, name in ipairs(world.aws.region_names) do
    local region = world.aws.regions[name]
    for _, kind in ipairs(KINDS) do
      for _, id in ipairs(region[kind].order) do
        local item = region[kind].by_id[id]
        if not OVER[state_of(item) or ""] and not item.neighbour then
          list[#list + 1] = ("%s %s %s"):format(name, kind, id)
        end
      end
    end
  end
  table.sort(list)
  return list
end

-- A cluster that a test made by itself stands in a region where nothing else does.
local function in_zone_of_nat(region, zone)
  return not region or region.nat_gateways:first(function (nat)
    local subnet = region.subnets:get(nat.SubnetId)
    return nat.State == "available" and subnet and subnet.AvailabilityZone == zone
  end) ~= nil
end

--- Notes that an image of that many megabytes went through a NAT gateway to a node of the zone.
function M.pulled(world, region, megabytes, zone)
  local pulled = world.aws.pulled or {}
  world.aws.pulled = pulled
  pulled[region] = pulled[region] or { all = 0.0, across = 0.0 }
  local gb, sum = megabytes / 1000, pulled[region]
  sum.all = sum.all + gb
  if not in_zone_of_nat(world.aws.regions[region], zone) then sum.across = sum.across + gb end
end

return M
