--- A capacity reservation: the user's, checked and used; or a hold that rtl makes, targeted, with
-- an end date as a net. It bills from `active` on, used or not.
-- capacity_reservation "gpu" { given = "cr-…", instance_type = "g6.12xlarge", count = 2 }
-- capacity_reservation "gpu" { instance_type = …, count = 2, zone_id = …, hours = 4 } → id, arn
-- `ends` (UTC seconds) in place of `hours` is kept up: a lease that is extended moves it.

local clock = require "rtl.clock"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local instances = require "rtl.kinds.instances"
local kind = require "rtl.plan.kind"
local pricing = require "rtl.kinds.pricing"
local support = require "rtl.kinds.support"

local OVER = { cancelling = true, cancelled = true, expired = true, failed = true,
  unsupported = true, ["payment-failed"] = true }

local SPEC = { op = "describe_capacity_reservations", items = "CapacityReservations",
  id = "CapacityReservationId", ids = "CapacityReservationIds", -- the API has no filter of ids
  gone = function (item) return OVER[item.State] end }

local function live_of(item)
  return { id = item.CapacityReservationId, arn = item.CapacityReservationArn, state = item.State,
    zone_id = item.AvailabilityZoneId, zone_name = item.AvailabilityZone,
    instance_type = item.InstanceType, total = item.TotalInstanceCount,
    free = item.AvailableInstanceCount, placement_group = item.PlacementGroupArn,
    block = item.ReservationType == "capacity-block",
    match = item.InstanceMatchCriteria, ends = item.EndDate }
end

-- The reservation that this deployment holds: item | nil | nil, err. The ledger's first: tags of
-- what was just made may not be found for some seconds, and a second hold would bill unseen.
local function held(ctx, res)
  local entry = ctx.ledger and ctx.ledger:state()[res.key]
  local known = entry and entry.state == "made"
    and support.by_known_id(ctx, res, SPEC, entry.id)
  if known and not OVER[known.State] then return known end
  local list, failure = support.list(ctx, SPEC, support.own_filters(ctx, res))
  for _, item in ipairs(list or {}) do
    if not OVER[item.State] then return item end
  end
  return nil, failure
end

local function read(ctx, res)
  local item, failure
  if res.given then
    item, failure = support.by_id(ctx, SPEC, res.given)
  else
    item, failure = held(ctx, res)
  end
  if not item then return nil, failure end
  local live = live_of(item)
  if not res.given and item.State ~= "active" then live.ready = false end
  return live
end

local NEAR = 120 -- seconds by which an end may differ

-- A reservation in use by our own nodes has none free and is still the right one: the count that
-- matters is the total, the free ones are preflight's business.
local function diff(_, res, f, live)
  local changes = {}
  local function want(field, wanted, have)
    if wanted ~= nil and wanted ~= have then
      changes[#changes + 1] = { field = field, want = wanted, have = have }
    end
  end
  want("instance_type", f.instance_type, live.instance_type)
  want("zone_id", f.zone_id, live.zone_id)
  if f.count and (live.total or 0) < f.count then want("count", f.count, live.total) end
  if f.ends and math.abs(f.ends - (live.ends or 0)) > NEAR then want("ends", f.ends, live.ends) end
  if res.given and live.state ~= "active" then want("state", "active", live.state) end
  return changes
end

local function none_left(res, f, failure)
  local wrapped = err.wrap(failure, { code = "RTL-CAP-003", doing = res.key,
    message = "no capacity for a hold in " .. f.zone_id })
  wrapped.replan, wrapped.zone_id = true, f.zone_id
  return wrapped
end

-- The quota is used up by something that preflight did not see.
local function no_quota(res, f, failure)
  local row = instances.find(f.instance_type)
  return err.wrap(failure, { code = "RTL-CAP-007", doing = res.key, exit = "refused",
    message = "the vCPU quota does not allow the hold",
    hint = row and ("Ask for %s: %d vCPU are needed"):format(row.quota, row.vcpu * f.count) })
end

local function explained(res, f, failure)
  if errors.no_capacity(failure) then return none_left(res, f, failure) end
  if errors.quota(failure) then return no_quota(res, f, failure) end
  return failure
end

-- A dead run sent this token with another end date: what came of it shows up by its tags.
local function taken_over(ctx, res, failure)
  return support.insist(ctx, res, 60, function (e) return e == failure end, function ()
    local live, refused = read(ctx, res)
    if live or refused then return live, refused end
    return nil, failure
  end)
end

local function create(ctx, res, f, token)
  local answer, failure = ctx:aws("ec2"):create_capacity_reservation {
    InstanceType = f.instance_type, InstancePlatform = "Linux/UNIX", InstanceCount = f.count,
    AvailabilityZoneId = f.zone_id, InstanceMatchCriteria = "targeted", EndDateType = "limited",
    EndDate = math.floor(f.ends or clock.utc() + (f.hours or 1) * 3600),
    PlacementGroupArn = f.placement_group, ClientToken = token,
    TagSpecifications = support.tag_specifications(ctx, res, "capacity-reservation") }
  if answer then return live_of(answer.CapacityReservation) end
  if failure.code == "IdempotentParameterMismatch" then return taken_over(ctx, res, failure) end
  return nil, explained(res, f, failure)
end

local function update(ctx, res, f, live)
  local params = { CapacityReservationId = live.id }
  if f.ends then params.EndDateType, params.EndDate = "limited", math.floor(f.ends) end
  if f.count > (live.total or 0) then params.InstanceCount = f.count end
  local done, failure = ctx:aws("ec2"):modify_capacity_reservation(params)
  if done then return true end
  return nil, explained(res, f, failure)
end

local function wait(ctx, res, _, live)
  return support.wait({ ctx = ctx, res = res, every = 5, limit = 300, what = "active" }, function ()
    local item, failure = support.by_id(ctx, SPEC, live.id)
    if failure then return nil, failure end
    if not item then return false, "not visible yet" end
    if item.State == "active" then return live_of(item) end
    if OVER[item.State] then
      return nil, err.new { code = "RTL-CAP-003", doing = res.key, replan = true,
        zone_id = item.AvailabilityZoneId, message = "the reservation is " .. item.State }
    end
    return false, item.State
  end)
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):cancel_capacity_reservation { CapacityReservationId = item.id }
  end, { spec = SPEC })
end

local IDLE = 900 -- seconds that a hold usually waits for its nodes: a cluster comes first

-- Its nodes are billed as nodes; until they start, the hold itself is.
local function cost(ctx, _, f)
  local price, source = pricing.of(ctx, f.instance_type)
  if not price then return { unknown = true, what = "the idle hold" } end
  return { once = price * f.count * IDLE / 3600, what = "the idle hold", source = source,
    hold = price * f.count, units = f.count }
end

-- It bills from the second in which it became active.
local function used(ctx, item)
  local one = support.by_id(ctx, SPEC, item.id)
  return one and { since = one.StartDate or one.CreateDate }
end

local function lease(res)
  return { action = "ec2:cancelCapacityReservation", input = { CapacityReservationId = res.id },
    delay = 0, late = true, resource = "capacity-reservation/*" }
end

local function find(ctx)
  local list, failure = support.find(ctx, SPEC, live_of)
  for _, item in ipairs(list or {}) do
    local price = pricing.of(ctx, item.outputs.instance_type)
    item.hourly = price and price * (item.outputs.free or 0)
  end
  return list, failure
end

return kind.define {
  name = "capacity_reservation",
  outputs = { "id", "arn", "zone_id", "zone_name" },
  fields = { instance_type = "string", count = "integer", zone_id = "string?", hours = "number?",
    ends = "number?", placement_group = "string?" },
  identity = { "instance_type", "zone_id" },
  read = read,
  diff = diff,
  replace_when = { "instance_type", "zone_id" },
  create = create,
  update = update,
  delete = delete,
  tokened = true,
  ready = { wait = wait, usual = 5, delete_usual = 5 },
  depends = { "placement_group", "schedule_group" },
  cost = cost,
  lease = lease,
  used = used,
  find = find,
  actions = {
    "ec2:DescribeCapacityReservations",
    { "ec2:CreateCapacityReservation", new = "capacity-reservation/*" },
    { "ec2:CancelCapacityReservation", "ec2:ModifyCapacityReservation",
      ours = "capacity-reservation/*" },
    { "ec2:RunInstances", ours = "capacity-reservation/*", when = support.BY_TEMPLATE },
  },
}
