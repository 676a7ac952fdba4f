--- EC2: placement groups, capacity reservations, capacity blocks; and whether a zone has capacity.

local array = require "rtl.array"
local common = require "rtl.rehearse.aws.ec2.common"
local fault = require "rtl.rehearse.aws.fault"
local places = require "rtl.rehearse.aws.places"
local quotas = require "rtl.rehearse.aws.quota_values"
local types = require "rtl.rehearse.aws.types"

local M = { operations = {} }
local ops = M.operations

local function is_running(item)
  return item.State.Name == "pending" or item.State.Name == "running"
end

--- vCPUs that count against a quota in a region: instances and reservations.
function M.vcpus_used(region, quota)
  local sum = 0
  for _, item in ipairs(region.instances:all(is_running)) do
    local kind = types.of(item.InstanceType)
    if kind.quota == quota and not item.CapacityReservationId then sum = sum + kind.vcpu end
  end
  for _, item in ipairs(region.reservations:all(function (it) return it.State == "active" end)) do
    local kind = types.of(item.InstanceType)
    if kind.quota == quota then sum = sum + kind.vcpu * item.TotalInstanceCount end
  end
  return sum
end

--- Whether a zone has GPU machines now. In the scenario where the first zone that is asked for is
-- empty, asking settles which one that is.
function M.available(world, kind, zone_id)
  if kind.gpus == 0 then return true end
  if world.weather.capacity == "first-zone-empty" then
    world.aws.empty_zone = world.aws.empty_zone or zone_id
    return world.aws.empty_zone ~= zone_id
  end
  return world.weather.capacity ~= "none"
end

--- Why `count` more machines of a type can not start in a zone: code and message; nil if they can.
function M.obstacle(call, kind, zone, count)
  local limit = quotas.value(call.world, kind.quota)
  local used = M.vcpus_used(call.region, kind.quota)
  if used + kind.vcpu * count > limit then
    return "VcpuLimitExceeded", ("You have requested more vCPU capacity than your current vCPU "
      .. "limit of %d allows for the instance bucket that the specified instance type belongs to. "
      .. "Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to "
      .. "this limit."):format(limit)
  end
  if not types.offered(kind, call.region.name, zone) then
    return "Unsupported", ("Your requested instance type (%s) is not supported in your requested "
      .. "Availability Zone (%s)."):format(kind.name, zone.name)
  end
  if not M.available(call.world, kind, zone.id) then
    return "InsufficientInstanceCapacity", ("We currently do not have sufficient %s capacity in "
      .. "the Availability Zone you requested (%s). Our system will be working on provisioning "
      .. "additional capacity."):format(kind.name, zone.name)
  end
  return nil
end

local PLACEMENT_FILTERS = { ["group-name"] = "GroupName", state = "State", strategy = "Strategy",
                            ["group-arn"] = "GroupArn" }

function ops.describe_placement_groups(call, p)
  local list, refused = common.select(call.region.placement_groups, { ids = p.GroupNames,
    filters = p.Filters, missing = "InvalidPlacementGroup.Unknown", known = PLACEMENT_FILTERS })
  return list and { PlacementGroups = list }, refused
end

function ops.create_placement_group(call, p)
  local refused = common.wrong_tags(p, "placement-group")
  if refused then return nil, refused end
  if call.region.placement_groups:get(p.GroupName) then
    return fault.fail("InvalidPlacementGroup.Duplicate", ("The placement group '%s' already "
                                                          .. "exists."):format(p.GroupName))
  end
  local group = call.region.placement_groups:add(p.GroupName, { GroupName = p.GroupName,
    GroupId = call.world:id "pg", Strategy = p.Strategy or "cluster", State = "available",
    GroupArn = ("arn:aws:ec2:%s:%s:placement-group/%s"):format(call.region.name, call.account,
                                                               p.GroupName),
    Tags = common.tags_for(p, "placement-group") })
  return { PlacementGroup = group }
end

function ops.delete_placement_group(call, p)
  local group = call.region.placement_groups:get(p.GroupName)
  if not group then
    return fault.fail("InvalidPlacementGroup.Unknown", ("The Placement Group '%s' is unknown.")
                                                       :format(p.GroupName))
  end
  local used = call.region.instances:first(function (it)
    return it.Placement.GroupName == p.GroupName and it.State.Name ~= "terminated"
  end) or call.region.reservations:first(function (it)
    return it.PlacementGroupArn == group.GroupArn and it.State == "active"
  end)
  if used then
    return fault.fail("InvalidPlacementGroup.InUse", ("The placement group '%s' is in use and may "
                                                      .. "not be deleted."):format(p.GroupName))
  end
  call.region.placement_groups:remove(p.GroupName)
  return {}
end

local RESERVATION_FILTERS = { state = "State", ["instance-type"] = "InstanceType",
  ["availability-zone"] = "AvailabilityZone", ["availability-zone-id"] = "AvailabilityZoneId",
  ["instance-match-criteria"] = "InstanceMatchCriteria", ["end-date-type"] = "EndDateType",
  ["placement-group-arn"] = "PlacementGroupArn", tenancy = "Tenancy",
  ["owner-id"] = "OwnerId" }

function ops.describe_capacity_reservations(call, p)
  local list, refused = common.select(call.region.reservations, { filters = p.Filters,
    ids = p.CapacityReservationIds, missing = "InvalidCapacityReservationId.NotFound",
    known = RESERVATION_FILTERS })
  return list and { CapacityReservations = list }, refused
end

local function end_at(call, item)
  if not item.EndDate then return end
  local left = item.EndDate - call.world:now() + call.world:spread(0, 3600,
                                                                   item.CapacityReservationId)
  local date = item.EndDate
  call.world:after(math.max(0, left), function ()
    if item.State == "active" and item.EndDate == date then
      item.State, item.ended_at = "expired", call.world:now()
    end
  end)
end

function ops.create_capacity_reservation(call, p)
  local kind = types.of(p.InstanceType)
  if not kind then
    return fault.fail("InvalidParameterValue", "Invalid instance type: " .. p.InstanceType)
  end
  local wanted = p.AvailabilityZone or p.AvailabilityZoneId
  local zone = wanted and places.zone(call.region.name, wanted)
  if not zone then return nil, fault.missing "AvailabilityZone" end
  local refused = common.wrong_tags(p, "capacity-reservation")
  if refused then return nil, refused end
  local code, message = M.obstacle(call, kind, zone, p.InstanceCount)
  if code == "VcpuLimitExceeded" then code = "InstanceLimitExceeded" end
  if code then return fault.fail(code, message) end
  local id = call.world:id "cr"
  local item = call.region.reservations:add(id, { CapacityReservationId = id, State = "active",
    OwnerId = call.account, InstanceType = p.InstanceType, InstancePlatform = p.InstancePlatform,
    AvailabilityZone = zone.name, AvailabilityZoneId = zone.id, Tenancy = p.Tenancy or "default",
    TotalInstanceCount = p.InstanceCount, AvailableInstanceCount = p.InstanceCount,
    EndDateType = p.EndDateType or "unlimited", EndDate = p.EndDate,
    InstanceMatchCriteria = p.InstanceMatchCriteria or "open", CreateDate = call.world:second(),
    StartDate = call.world:second(), PlacementGroupArn = p.PlacementGroupArn,
    CapacityReservationArn = ("arn:aws:ec2:%s:%s:capacity-reservation/%s")
                             :format(call.region.name, call.account, id),
    ReservationType = "default", Tags = common.tags_for(p, "capacity-reservation") })
  end_at(call, item)
  return { CapacityReservation = item }
end

local function need_reservation(call, p)
  return common.need(call.region.reservations, p.CapacityReservationId,
                     "InvalidCapacityReservationId.NotFound", "capacity reservation")
end

function ops.modify_capacity_reservation(call, p)
  local item, refused = need_reservation(call, p)
  if not item then return nil, refused end
  if item.State ~= "active" then
    return fault.fail("InvalidState", "The capacity reservation is not active.")
  end
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
  local item, refused = need_reservation(call, p)
  if not item then return nil, refused end
  item.State, item.ended_at = "cancelled", item.ended_at or call.world:now()
  return { Return = true }
end

function ops.describe_capacity_block_offerings(call, p)
  local kind = types.of(p.InstanceType or "")
  local list = array {}
  if kind and kind.quota == "L-417A185B" then
    for _, zone in ipairs(places.regions[call.region.name]) do
      if types.offered(kind, call.region.name, zone) then
        local start = (call.world:second() // 86400 + 1) * 86400 + 41400
        list[#list + 1] = { CapacityBlockOfferingId = "cbr-0" .. require "rtl.rehearse.chance"
            .hex(16, call.world.seed, "block", zone.id, p.InstanceType),
          InstanceType = p.InstanceType, AvailabilityZone = zone.name, CurrencyCode = "USD",
          InstanceCount = p.InstanceCount or 1, StartDate = start, Tenancy = "default",
          EndDate = start + p.CapacityDurationHours * 3600,
          CapacityBlockDurationHours = p.CapacityDurationHours,
          UpfrontFee = ("%.2f"):format(kind.vcpu * 0.2 * p.CapacityDurationHours
                                       * (p.InstanceCount or 1)) }
      end
    end
  end
  return { CapacityBlockOfferings = list }
end

return M
