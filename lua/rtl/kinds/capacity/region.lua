--- One region's zones for a number of GPU instances: all that can be read, in one round of calls.

local array = require "rtl.array"
local clock = require "rtl.clock"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local instances = require "rtl.kinds.instances"
local keys = require "rtl.keys"
local pricing = require "rtl.kinds.pricing"
local quota = require "rtl.kinds.capacity.quota"
local support = require "rtl.kinds.support"
local task = require "rtl.task"

local M = {}

-- Zones (by id) in which EKS makes no control plane, and so no network of ours.
local REFUSED = { ["use1-az3"] = true, ["usw1-az2"] = true, ["cac1-az3"] = true }

local PATIENCE = 40 -- seconds for all answers of a region

-- ---- reading ----

local function zones_in(ec2)
  local answer, failure = ec2:describe_availability_zones { Filters = array {
    support.filter("zone-type", "availability-zone"), support.filter("state", "available") } }
  return answer and answer.AvailabilityZones, failure
end

local function offered_in(ec2, instance)
  local list, failure = ec2:all("describe_instance_type_offerings", {
    LocationType = "availability-zone-id",
    Filters = array { support.filter("instance-type", instance) } })
  if not list then return nil, failure end
  local offered = {}
  for _, one in ipairs(list) do offered[one.Location] = true end
  return offered
end

-- What EC2 says of a type, or false where the region does not know it.
local function type_in(ec2, name)
  local list, failure = ec2:all("describe_instance_types", { InstanceTypes = array { name } })
  if not list and failure.code ~= "InvalidInstanceType" then return nil, failure end
  return list and list[1] or false
end

-- Those that hold something or will; with one that was given also what has ended, to say how.
local function reservations_in(ec2, spec)
  if spec.reservation then return ec2:all("describe_capacity_reservations", {}) end
  return ec2:all("describe_capacity_reservations", { Filters = array { support.filter("state",
    "active", "pending", "scheduled", "payment-pending", "assessing", "delayed") } })
end

local function running_in(ec2)
  local list, failure = ec2:all("describe_instances", { Filters = array {
    support.filter("instance-state-name", "pending", "running", "stopping") } })
  if not list then return nil, failure end
  local running = {}
  for _, reservation in ipairs(list) do
    for _, instance in ipairs(reservation.Instances or {}) do running[#running + 1] = instance end
  end
  return running
end

-- Capacity Blocks on sale, or why that can't be told. A region without them is none the worse.
local function blocks_in(ec2, spec)
  if not instances.of(spec.instance).blocks then return { list = {} } end
  local list, failure = ec2:all("describe_capacity_block_offerings", {
    InstanceType = spec.instance, InstanceCount = spec.count,
    CapacityDurationHours = spec.block_hours or 24 })
  return { list = list or {}, why = not list and tostring(failure) or nil }
end

-- The quotas that matter: { code, need }. None is needed inside a reservation.
local function wants_of(spec)
  local row = instances.of(spec.instance)
  local wants = { { code = row.quota, need = spec.reservation and 0 or row.vcpu * spec.count } }
  if spec.system then
    local system = instances.of(spec.system.instance)
    wants[2] = { code = system.quota, need = system.vcpu * spec.system.count }
  end
  return wants
end

-- Whether a cluster of this deployment stands in the region; true or false, since nil is an error.
local function stands_in(ctx, region, spec)
  local eks = ctx:aws("eks", { region = region })
  local answer, failure = eks:describe_cluster { name = spec.cluster }
  if answer then
    return spec.given_cluster or support.is_ours(ctx, answer.cluster.tags or {})
  end
  if errors.not_found(failure) then return false end
  return nil, failure
end

-- Calls all functions of a table at once; their values by the same names. Raises what one returns
-- as an error.
local function together(functions)
  local values = {}
  task.group(function (group)
    for name, f in keys.pairs(functions) do
      group:spawn(function ()
        local value, failure = f()
        if value == nil then error(failure, 0) end
        values[name] = value
      end)
    end
  end)
  return values
end

local function read(ctx, spec, region)
  local ec2 = ctx:aws("ec2", { region = region })
  local asked = {
    zones = function () return zones_in(ec2) end,
    offered = function () return offered_in(ec2, spec.instance) end,
    info = function () return type_in(ec2, spec.instance) end,
    reservations = function () return reservations_in(ec2, spec) end,
    running = function () return running_in(ec2) end,
    blocks = function () return blocks_in(ec2, spec) end,
    price = function ()
      pricing.load(ctx, { region = region, types = { spec.instance } })
      return true
    end,
  }
  if spec.cluster then
    asked.stands = function () return stands_in(ctx, region, spec) end
  end
  for _, want in ipairs(wants_of(spec)) do
    asked[want.code] = function () return quota.granted(ctx, region, want.code) end
  end
  return together(asked)
end

-- ---- reservations ----

local function placement_of(one)
  return one.PlacementGroupArn and one.PlacementGroupArn:match("placement%-group/(.+)$")
end

local function reservation_of(ctx, one)
  return { id = one.CapacityReservationId, zone_id = one.AvailabilityZoneId,
    free = one.AvailableInstanceCount or 0, total = one.TotalInstanceCount,
    block = one.ReservationType == "capacity-block", state = one.State, ends = one.EndDate,
    match = one.InstanceMatchCriteria, placement_group = placement_of(one),
    own = support.is_ours(ctx, support.tags_of(one.Tags)) or nil }
end

local function better(a, b)
  if not b then return true end
  if (a.own or false) ~= (b.own or false) then return a.own or false end
  return a.free > b.free
end

-- The reservation of a zone that the instances fit in: our own hold first.
local function best_reservation(ctx, list, spec, zone_id)
  local best
  for _, one in ipairs(list) do
    local active = one.State == nil or one.State == "active"
    if active and one.InstanceType == spec.instance and one.AvailabilityZoneId == zone_id then
      local found = reservation_of(ctx, one)
      local fits = found.own or found.free >= spec.count
      if fits and better(found, best) then best = found end
    end
  end
  return best
end

-- Instances of this deployment that run inside a reservation: for them it is as good as free.
local function own_inside(ctx, running, id)
  local count = 0
  for _, instance in ipairs(running) do
    local own = support.is_ours(ctx, support.tags_of(instance.Tags))
    if own and instance.CapacityReservationId == id then count = count + 1 end
  end
  return count
end

local LINUX = "Linux/UNIX"

-- What is wrong with the reservation that the user gave, as text.
local function unfit(spec, one, free)
  if one.InstanceType ~= spec.instance then return "is for " .. one.InstanceType end
  if one.State and one.State ~= "active" then
    local begins = (one.StartDate or 0) > clock.utc()
    return ("is %s%s"):format(one.State, begins and ", from " .. clock.iso(one.StartDate) or "")
  end
  if (one.InstancePlatform or LINUX) ~= LINUX then return "is for " .. one.InstancePlatform end
  if (one.Tenancy or "default") ~= "default" then return "has the tenancy " .. one.Tenancy end
  if free < spec.count then return ("has %d free, %d are needed"):format(free, spec.count) end
  if spec.placement_group and not one.PlacementGroupArn then
    return "is in no placement group, and one is asked for", "RTL-CAP-006"
  end
end

--- The error of a given reservation that can't be used.
function M.reservation_error(spec, text, code)
  return err.new { code = code or "RTL-CAP-005", exit = "refused",
    message = ("reservation %s %s"):format(spec.reservation, text) }
end

-- The user's reservation in a region: what it is, and the error when it does not fit.
local function given_reservation(ctx, spec, region, answers)
  for _, one in ipairs(answers.reservations) do
    if one.CapacityReservationId == spec.reservation then
      local found = reservation_of(ctx, one)
      found.region, found.free = region, found.free
        + own_inside(ctx, answers.running, spec.reservation)
      local text, code = unfit(spec, one, found.free)
      found.problem = text and M.reservation_error(spec, text, code)
      return found
    end
  end
end

-- ---- zones ----

local function block_of(one)
  return { id = one.CapacityBlockOfferingId, zone_name = one.AvailabilityZone,
    count = one.InstanceCount, hours = one.CapacityBlockDurationHours, starts = one.StartDate,
    ends = one.EndDate, price = tonumber(one.UpfrontFee), currency = one.CurrencyCode }
end

-- The block of a zone that begins first; of equals the cheaper one.
local function best_block(list, zone_name)
  local best
  for _, one in ipairs(list) do
    local block = one.AvailabilityZone == zone_name and block_of(one)
    local earlier = block and best and (block.starts or 0) < (best.starts or 0)
    local cheaper = block and best and block.starts == best.starts
      and (block.price or 0) < (best.price or 0)
    if block and (not best or earlier or cheaper) then best = block end
  end
  return best
end

local function why_not(zone)
  if zone.refused then return "EKS refuses this zone" end
  if not zone.offered then return "not offered here" end
  if not zone.efa then return "no EFA" end
end

local function zone_rows(ctx, spec, region, answers)
  local info, price = answers.info, pricing.of(ctx, spec.instance, region)
  local efa = info and info.NetworkInfo and info.NetworkInfo.EfaSupported or false
  local rows = {}
  for _, zone in ipairs(answers.zones) do
    local id = zone.ZoneId
    local row = { zone_id = id, zone_name = zone.ZoneName, region = region,
      refused = REFUSED[id] or false, offered = answers.offered[id] or false, efa = efa,
      reservation = best_reservation(ctx, answers.reservations, spec, id),
      block = best_block(answers.blocks.list, zone.ZoneName),
      price = price and price * spec.count }
    row.why = why_not(row)
    row.usable = row.why == nil
    rows[#rows + 1] = row
  end
  return rows
end

-- The table against what EC2 says: wrong figures would build a wrong template.
local function disagreement(spec, info)
  local first = info and instances.differences(spec.instance, info)[1]
  return first and err.new { code = "RTL-CAP-008", exit = "refused", field = first.field,
    message = ("%s: %s is %s by EC2, %s by rtl's table"):format(spec.instance, first.field,
      tostring(first.have), tostring(first.want)),
    hint = "Correct the type in a file named by the setting instance_types" }
end

local function short_quota(quotas)
  for _, one in ipairs(quotas) do
    if not one.enough then return one end
  end
end

-- Closes the zones that could be used otherwise; says whether there was one.
local function close(region, why)
  local closed = false
  for _, zone in ipairs(region.zones) do
    if zone.usable then zone.usable, zone.why, closed = false, why, true end
  end
  return closed
end

local function quotas_of(ctx, spec, region, answers)
  local list = {}
  for i, want in ipairs(wants_of(spec)) do
    list[i] = assert(quota.reckon(ctx, region, want, answers[want.code], answers.running,
      answers.reservations))
  end
  return list
end

local function region_of(ctx, spec, region)
  local answers = read(ctx, spec, region)
  local found = { region = region, known = answers.info ~= false, stands = answers.stands,
    problem = disagreement(spec, answers.info or nil),
    quotas = quotas_of(ctx, spec, region, answers),
    zones = zone_rows(ctx, spec, region, answers), blocks_why = answers.blocks.why,
    reservation = spec.reservation and given_reservation(ctx, spec, region, answers) or nil }
  found.short = short_quota(found.quotas)
  if found.short then found.lacks_quota = close(found, "quota: " .. found.short.code) end
  if found.problem then close(found, "not as in rtl's table: " .. found.problem.field) end
  return found
end

-- ---- a region that can't be read ----

local NOT_HERE = { AuthFailure = true, OptInRequired = true, UnrecognizedClientException = true,
  InvalidClientTokenId = true }

-- Why a region gives no answer, in few words.
local function reason(failure)
  local code = tostring(failure.code)
  if NOT_HERE[code] then return ("not enabled for this account (%s)"):format(code) end
  if code == "RTL-TASK-001" then return ("no answer within %d s"):format(PATIENCE) end
  if code:match("^RTL%-NET") then return "not reachable: " .. failure.message end
  return ("%s: %s"):format(code, failure.message)
end

--- Reads a region for `spec` (rtl.kinds.capacity). Never fails: a region that can't be read has
-- `failure` (the error), `why` (a text) and no zones. Else { region, zones, quotas, short (the
-- quota that is too small), lacks_quota (nothing else stands in the way), problem (RTL-CAP-008),
-- reservation (the given one), known (whether the type is), stands (whether spec.cluster does),
-- blocks_why (why Capacity Blocks can't be told) }.
function M.read(ctx, spec, region)
  local ok, found, failure = pcall(task.deadline, PATIENCE, region_of, ctx, spec, region)
  if not ok and not err.is(found) then error(found, 0) end
  if not ok then failure, found = found, nil end
  if found then return found end
  return { region = region, zones = {}, quotas = {}, failure = failure, why = reason(failure) }
end

return M
