--- EC2: capacity reservations, Capacity Blocks, and which of them a launch goes into.

local array = require "rtl.array"
local capacity = require "rtl.rehearse.aws.ec2.capacity"
local common = require "rtl.rehearse.aws.ec2.common"
local fault = require "rtl.rehearse.aws.fault"
local machines = require "rtl.rehearse.aws.ec2.machines"
local places = require "rtl.rehearse.aws.places"
local types = require "rtl.rehearse.aws.types"

local M = { operations = {} }
local ops = M.operations

local FILTERS = { state = "State", ["instance-type"] = "InstanceType",
  ["availability-zone"] = "AvailabilityZone", ["availability-zone-id"] = "AvailabilityZoneId",
  ["instance-match-criteria"] = "InstanceMatchCriteria", ["end-date-type"] = "EndDateType",
  ["placement-group-arn"] = "PlacementGroupArn", tenancy = "Tenancy",
  ["owner-id"] = "OwnerId" }

function ops.describe_capacity_reservations(call, p)
  local list, refused = common.select(call.region.reservations, { filters = p.Filters,
    ids = p.CapacityReservationIds, missing = "InvalidCapacityReservationId.NotFound",
    known = FILTERS })
  return list and { CapacityReservations = list }, refused
end

-- Instances inside go on as ordinary On-Demand ones; what they were started in stays on them.
local function finish(call, item, state)
  item.State, item.ended_at, item.AvailableInstanceCount = state, call.world:now(), 0
end

-- It ends within the hour after its end date.
local function end_at(call, item)
  if not item.EndDate then return end
  local late = call.world:spread(0, 3600, item.CapacityReservationId)
  local date = item.EndDate
  call.world:after(math.max(0, date - call.world:now()) + late, function ()
    if item.State == "active" and item.EndDate == date then finish(call, item, "expired") end
  end)
end

local function wrong_end(call, p)
  if p.EndDateType == "limited" and not p.EndDate then
    return fault.new("InvalidParameterCombination",
                     "An end date is required for an end date type of limited.")
  elseif p.EndDateType ~= "limited" and p.EndDate then
    return fault.new("InvalidParameterCombination",
                     "An end date goes with the end date type limited only.")
  elseif p.EndDate and p.EndDate <= call.world:second() then
    return fault.new("InvalidParameterValue", "The end date must be in the future.")
  end
end

local function wrong_placement(call, arn)
  local found = not arn or call.region.placement_groups:first(function (it)
    return it.GroupArn == arn
  end)
  if found then return nil end
  return fault.new("InvalidPlacementGroup.Unknown", "The placement group is unknown: " .. arn)
end

-- Why `count` more machines can't be held.
local function no_room(call, kind, zone, count)
  local code, message = capacity.obstacle(call, kind, zone, count)
  if code == "VcpuLimitExceeded" then code = "InstanceLimitExceeded" end
  return code and fault.new(code, message)
end

local function refusal(call, p, kind, zone)
  return common.wrong_tags(p, "capacity-reservation") or wrong_end(call, p)
         or wrong_placement(call, p.PlacementGroupArn)
         or no_room(call, kind, zone, p.InstanceCount)
end

local function new_reservation(call, p, zone)
  local id = call.world:id "cr"
  return call.region.reservations:add(id, { CapacityReservationId = id, State = "active",
    OwnerId = call.account, InstanceType = p.InstanceType, InstancePlatform = p.InstancePlatform,
    AvailabilityZone = zone.name, AvailabilityZoneId = zone.id, Tenancy = p.Tenancy or "default",
    TotalInstanceCount = p.InstanceCount, AvailableInstanceCount = p.InstanceCount,
    EndDateType = p.EndDateType or "unlimited", EndDate = p.EndDate,
    InstanceMatchCriteria = p.InstanceMatchCriteria or "open", CreateDate = call.world:second(),
    StartDate = call.world:second(), PlacementGroupArn = p.PlacementGroupArn,
    CapacityReservationArn = ("arn:aws:ec2:%s:%s:capacity-reservation/%s")
                             :format(call.region.name, call.account, id),
    ReservationType = "default", Tags = common.tags_for(p, "capacity-reservation") })
end

function ops.create_capacity_reservation(call, p)
  local kind = types.of(p.InstanceType)
  if not kind then
    return fault.fail("InvalidParameterValue", "Invalid instance type: " .. p.InstanceType)
  end
  local wanted = p.AvailabilityZone or p.AvailabilityZoneId
  local zone = wanted and places.zone(call.region.name, wanted)
  if not zone then return nil, fault.missing "AvailabilityZone" end
  local refused = refusal(call, p, kind, zone)
  if refused then return nil, refused end
  local item = new_reservation(call, p, zone)
  end_at(call, item)
  return { CapacityReservation = item }
end

local function need(call, p)
  return common.need(call.region.reservations, p.CapacityReservationId,
                     "InvalidCapacityReservationId.NotFound", "capacity reservation")
end

function ops.modify_capacity_reservation(call, p)
  local item, refused = need(call, p)
  if not item then return nil, refused end
  if item.State ~= "active" then
    return fault.fail("InvalidState", "The capacity reservation is not active.")
  end
  local more = (p.InstanceCount or 0) - item.TotalInstanceCount
  refused = wrong_end(call, p) or more > 0 and no_room(call, types.of(item.InstanceType),
    places.zone(call.region.name, item.AvailabilityZone), more)
  if refused then return nil, refused end
  if p.InstanceCount then
    local used = item.TotalInstanceCount - item.AvailableInstanceCount
    item.AvailableInstanceCount = p.InstanceCount - used
    item.TotalInstanceCount = p.InstanceCount
  end
  if p.EndDateType then item.EndDateType, item.EndDate = p.EndDateType, p.EndDate end
  if p.InstanceMatchCriteria then item.InstanceMatchCriteria = p.InstanceMatchCriteria end
  end_at(call, item)
  return { Return = true }
end

function ops.cancel_capacity_reservation(call, p)
  local item, refused = need(call, p)
  if not item then return nil, refused end
  if item.ReservationType == "capacity-block" then
    return fault.fail("InvalidRequest", "Capacity Blocks can not be cancelled.")
  end
  if item.State == "active" then finish(call, item, "cancelled") end
  return { Return = true }
end

-- ---- Capacity Blocks ----

local index_of = {}
for i, name in ipairs(types.names) do index_of[name] = i end

local DAY, MORNING = 86400, 41400 -- a block begins at 11:30 UTC of a day

-- The id says what is offered: a read leaves nothing behind that a purchase could look up.
local function offering(kind, zone, count, hours, day)
  local start = day * DAY + MORNING
  return { InstanceType = kind.name, AvailabilityZone = zone.name, InstanceCount = count,
    CapacityBlockOfferingId = ("cbr-0%02x%02x%04x%04x%04x"):format(index_of[kind.name], zone.index,
                                                                   count, hours, day),
    StartDate = start, EndDate = start + hours * 3600, CapacityBlockDurationHours = hours,
    Tenancy = "default", CurrencyCode = "USD",
    UpfrontFee = ("%.2f"):format(kind.vcpu * 0.2 * hours * count) }
end

local function offered_as(call, id)
  local digits = id:match "^cbr%-0(%x+)$"
  if not digits or #digits ~= 16 then return nil end
  local numbers = {}
  for at, size in ("1:2 3:2 5:4 9:4 13:4"):gmatch "(%d+):(%d)" do
    numbers[#numbers + 1] = tonumber(digits:sub(at, at + size - 1), 16)
  end
  local name, zone = types.names[numbers[1]], places.regions[call.region.name][numbers[2]]
  return name and zone and offering(types.of(name), zone, table.unpack(numbers, 3))
end

function ops.describe_capacity_block_offerings(call, p)
  local kind, list = types.of(p.InstanceType or ""), array {}
  if not kind or kind.quota ~= "L-417A185B" then return { CapacityBlockOfferings = list } end
  for _, zone in ipairs(places.regions[call.region.name]) do
    if types.offered(kind, call.region.name, zone) then
      list[#list + 1] = offering(kind, zone, p.InstanceCount or 1, p.CapacityDurationHours,
                                 call.world:second() // DAY + 1)
    end
  end
  return { CapacityBlockOfferings = list }
end

local STOPS = 1800 -- seconds before its end at which EC2 begins to stop what runs in a block

local function end_block(call, item)
  for _, instance in ipairs(call.region.instances:all()) do
    if instance.CapacityReservationId == item.CapacityReservationId then
      machines.stop(call, instance)
    end
  end
end

local PAYMENT = 12 * 3600 -- seconds after which a block that is not paid is released

-- Payment-pending until it is paid, scheduled until it begins, active until it ends; what runs in
-- it is stopped a bit before. One that is not paid in time is payment-failed.
local function plan_block(call, item)
  local world = call.world
  local function at(time, happen) world:after(math.max(0, time - world:now()), happen) end
  if world:strikes "unpaid-block" then
    return world:after(PAYMENT, function () finish(call, item, "payment-failed") end)
  end
  world:after(world:spread(60, 600, "payment", item.CapacityReservationId), function ()
    item.State = "scheduled"
  end)
  at(item.StartDate, function ()
    item.State, item.AvailableInstanceCount = "active", item.TotalInstanceCount
  end)
  at(item.EndDate - STOPS, function () end_block(call, item) end)
  at(item.EndDate, function () finish(call, item, "expired") end)
end

function ops.purchase_capacity_block(call, p)
  local one = offered_as(call, p.CapacityBlockOfferingId)
  if not one then
    return fault.fail("InvalidCapacityBlockOfferingId.NotFound",
                      "There is no such offering: " .. p.CapacityBlockOfferingId)
  end
  local refused = common.wrong_tags(p, "capacity-reservation")
  if refused then return nil, refused end
  local zone = places.zone(call.region.name, one.AvailabilityZone)
  local item = new_reservation(call, { InstanceType = one.InstanceType, EndDateType = "limited",
    InstancePlatform = p.InstancePlatform, InstanceCount = one.InstanceCount,
    EndDate = one.EndDate, InstanceMatchCriteria = "targeted",
    TagSpecifications = p.TagSpecifications }, zone)
  item.ReservationType, item.State = "capacity-block", "payment-pending"
  item.StartDate, item.AvailableInstanceCount = one.StartDate, 0
  plan_block(call, item)
  return { CapacityReservation = item, CapacityBlocks = array {} }
end

-- ---- launches ----

local function group_members(call, arn)
  local group = call.region.resource_groups:first(function (it) return it.GroupArn == arn end)
  local members = {}
  for _, member in ipairs(group and group.members or {}) do members[member] = true end
  return members
end

-- A reservation in a placement group takes launches into that group, and only those.
local function same_placement(call, data, item)
  local name = data.Placement and data.Placement.GroupName
  local group = name and call.region.placement_groups:get(name)
  return item.PlacementGroupArn == (group and group.GroupArn or nil)
end

local function wants_block(launch)
  local market = launch.data.InstanceMarketOptions
  return market ~= nil and market.MarketType == "capacity-block"
end

local function fits(call, launch, item)
  return item.State == "active" and item.InstanceType == launch.kind.name
    and item.AvailabilityZone == launch.zone_name and item.AvailableInstanceCount > 0
    and (item.ReservationType == "capacity-block") == wants_block(launch)
    and same_placement(call, launch.data, item)
end

-- What a launch asks for: the id of one reservation, the members of a group of them (a set), or
-- neither; and the preference beside it.
local function asked(call, launch)
  local specification = launch.data.CapacityReservationSpecification or {}
  local target = specification.CapacityReservationTarget or {}
  local arn = target.CapacityReservationResourceGroupArn
  return { id = target.CapacityReservationId, members = arn and group_members(call, arn),
    preference = specification.CapacityReservationPreference }
end

-- Whether a launch would go into a reservation if it fits. Without a target it is open ones.
local function takes(wish, item)
  if wish.id then return item.CapacityReservationId == wish.id end
  if wish.members then return wish.members[item.CapacityReservationArn] end
  return item.InstanceMatchCriteria == "open"
end

local ONLY = "capacity-reservations-only"

local EXCEEDED = "The requested reservation does not have sufficient compatible and available "
                 .. "capacity for this request."
local BOTH = "You can specify CapacityReservationPreference and CapacityReservationTarget only if "
             .. "the CapacityReservationPreference is capacity-reservations-only."

--- The reservation that a launch goes into. `launch`: data (of the launch template), kind (type),
-- zone_name. Returns it, or nil for an ordinary On-Demand launch, or nil, code, message. A launch
-- that names one reservation, wants reservations only, or a Capacity Block, does not fall back; one
-- that names a group does. With the preference "none" it goes into no reservation.
function M.for_launch(call, launch)
  local wish = asked(call, launch)
  local targets = wish.id or wish.members
  if targets and wish.preference and wish.preference ~= ONLY then
    return nil, "InvalidParameterCombination", BOTH
  end
  if wish.preference == "none" then return nil end
  for _, item in ipairs(call.region.reservations:all()) do
    if takes(wish, item) and fits(call, launch, item) then return item end
  end
  if wish.id or wish.preference == ONLY or wants_block(launch) then
    return nil, "ReservationCapacityExceeded", EXCEEDED
  end
  return nil
end

return M
