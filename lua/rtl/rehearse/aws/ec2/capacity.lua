--- EC2: placement groups; and whether more machines can start: quota, offering, capacity.

local common = require "rtl.rehearse.aws.ec2.common"
local fault = require "rtl.rehearse.aws.fault"
local quotas = require "rtl.rehearse.aws.quota_values"
local stock = require "rtl.rehearse.aws.stock"
local types = require "rtl.rehearse.aws.types"

local M = { operations = {} }
local ops = M.operations

local function is_running(item)
  return item.State.Name == "pending" or item.State.Name == "running"
end

local function is_active(item)
  return item.State == "active"
end

--- vCPUs that count against a quota in a region: instances and reservations.
function M.vcpus_used(region, quota)
  local sum = 0
  for _, item in ipairs(region.instances:all(is_running)) do
    local kind = types.of(item.InstanceType)
    local held = region.reservations:get(item.CapacityReservationId)
    if kind.quota == quota and not (held and is_active(held)) then sum = sum + kind.vcpu end
  end
  for _, item in ipairs(region.reservations:all(is_active)) do
    local kind = types.of(item.InstanceType)
    local counts = kind.quota == quota and item.ReservationType ~= "capacity-block"
    if counts then sum = sum + kind.vcpu * item.TotalInstanceCount end
  end
  return sum
end

--- Whether a zone has `count` GPU machines more now.
function M.available(call, kind, zone, count)
  return stock.free(call.world, call.region, kind, zone) >= count
end

--- Why `count` more machines of a type can not start in a zone: code and message; nil if they can.
function M.obstacle(call, kind, zone, count)
  local limit = quotas.value(call.world, kind.quota, call.region)
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
  if not M.available(call, kind, zone, count) then
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

return M
