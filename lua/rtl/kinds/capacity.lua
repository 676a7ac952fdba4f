--- Where the GPUs can be: zones ranked by what the account may do and what EC2 offers there.
-- Reads only. An offering is not capacity: only a launch or a reservation shows that.

local choice = require "rtl.kinds.capacity.choice"
local err = require "rtl.err"
local instances = require "rtl.kinds.instances"
local quota = require "rtl.kinds.capacity.quota"
local region_of = require "rtl.kinds.capacity.region"
local task = require "rtl.task"

local M = {}

M.choose = choice.choose
M.note = choice.note
M.request_quota = quota.request
M.wait_for_quota = quota.wait

--- What ranking and choosing need of IAM (rtl.plan.policy).
M.actions = { "ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTypeOfferings",
  "ec2:DescribeInstanceTypes", "ec2:DescribeCapacityReservations", "ec2:DescribeInstances",
  { "ec2:DescribeCapacityBlockOfferings", optional = true }, "ec2:DescribeSubnets",
  "ec2:DescribeNatGateways",
  "servicequotas:GetServiceQuota", "servicequotas:GetAWSDefaultServiceQuota",
  { "eks:DescribeCluster", on = "arn:{partition}:eks:*:{account}:cluster/{deployment}" } }

--- What asking for more quota needs besides.
M.quota_actions = { "servicequotas:ListRequestedServiceQuotaChangeHistoryByQuota",
  { "servicequotas:RequestServiceQuotaIncrease", on = "ec2/*" } }

-- The rank of a zone as a list of numbers, the smaller the better: usable; our own hold; a
-- reservation that fits; a Capacity Block on sale; the order of the regions, or the price.
local function rank_of(zone, order, by_price)
  local held = zone.reservation
  return { zone.usable and 0 or 1, held and held.own and 0 or 1, held and 0 or 1,
    (zone.usable or zone.block) and 0 or 1, by_price and (zone.price or math.huge) or 0,
    order[zone.region] }
end

local function before(order, by_price)
  return function (a, b)
    local first, second = rank_of(a, order, by_price), rank_of(b, order, by_price)
    for i, value in ipairs(first) do
      if value ~= second[i] then return value < second[i] end
    end
    return a.zone_id < b.zone_id
  end
end

-- A reservation of the account that the instances would fit in: it is a part of what is used.
local function fitting(ranked, region)
  for _, zone in ipairs(ranked.zones) do
    if zone.region == region and zone.reservation and not zone.reservation.own then
      return zone.reservation
    end
  end
end

local function quota_error(short, held)
  return err.new { code = "RTL-CAP-001", exit = "refused", short = short,
    message = ("%d vCPU of %s (%s) are needed in %s: %s granted, %d used"):format(short.need,
      short.code, short.name, short.region, tostring(short.granted), short.used),
    hint = held and ("%s has %d free: --reservation %s launches into it and needs no more quota")
      :format(held.id, held.free, held.id)
      or ("Ask for %s = %d: --request-quota does, and --quota-wait waits; reviews take hours to "
        .. "days"):format(short.code, short.ask) }
end

-- Why nothing can be built, or nil. A region with too small a quota is no place.
local function overall_problem(ranked, spec)
  for _, zone in ipairs(ranked.zones) do
    if zone.usable then return nil end
  end
  for _, region in ipairs(ranked.regions) do
    if region.lacks_quota then
      local of_gpus = region.short.code == instances.of(spec.instance).quota
      return quota_error(region.short, of_gpus and fitting(ranked, region.region))
    end
  end
  for _, region in ipairs(ranked.regions) do
    if region.problem then return region.problem end
  end
  return err.new { code = "RTL-CAP-002", exit = "refused",
    message = ("no zone of %s offers %s with EFA and can be used with EKS")
      :format(table.concat(spec.regions, ", "), spec.instance) }
end

-- The user's reservation among all regions; it decides the zone, or why nothing can be done.
local function take_reservation(ranked, spec)
  if not spec.reservation then return end
  for _, region in ipairs(ranked.regions) do
    ranked.reservation = ranked.reservation or region.reservation
  end
  local found = ranked.reservation
  ranked.problem = ranked.problem or found and found.problem
    or not found and region_of.reservation_error(spec, "is not active in "
      .. table.concat(spec.regions, ", ")) or nil
end

-- The failure of the only region, or of all: then there is nothing to rank.
local function nothing_read(regions)
  for _, region in ipairs(regions) do
    if not region.failure then return nil end
  end
  return regions[1] and regions[1].failure
end

--- Ranks the zones for `count` instances. spec: instance, count, regions (default: the context's),
-- system = {instance, count}, reservation (id: the quota for the GPUs is not needed then),
-- placement_group (one is asked for), block_hours (of Capacity Blocks, 24), by_price (the order of
-- the regions says nothing), cluster (name of the deployment's, looked for in each region; one of
-- others with given_cluster). All regions are read at once; one that can't be read is a row with
-- its reason.
-- Returns { zones = {{zone_id, zone_name, region, offered, efa, refused, usable, why, price (of all
-- instances, an hour), reservation = {id, free, own, block, …}, block = {id, starts, ends, hours,
-- price}}, best first}, regions = {{region, zones, why, failure, short, problem, stands, quotas =
-- {{code, name, need, granted, used, own, ask, enough}}}}, reservation = {id, zone_id, region,
-- free, block, placement_group} of the given one, problem = err or nil }; problem: RTL-CAP-001
-- quota, -002 offered nowhere, -005 and -006 a reservation that does not fit, -008 the table is
-- wrong.
-- nil, err when no region can be read.
function M.rank(ctx, spec)
  spec.regions = spec.regions or { ctx.region }
  local order = {}
  for i, region in ipairs(spec.regions) do order[region] = i end
  local regions = task.map(spec.regions, function (region)
    return region_of.read(ctx, spec, region)
  end, #spec.regions)
  local failure = nothing_read(regions)
  if failure then return nil, failure end
  local ranked = { zones = {}, regions = regions }
  for _, region in ipairs(regions) do
    table.move(region.zones, 1, #region.zones, #ranked.zones + 1, ranked.zones)
  end
  table.sort(ranked.zones, before(order, spec.by_price))
  ranked.problem = overall_problem(ranked, spec)
  take_reservation(ranked, spec)
  return ranked
end

--- Whether an error of a step says that another zone may have what this one has not.
function M.is_capacity(failure)
  return err.find(failure, function (e) return e.replan == true end) ~= nil
end

return M
