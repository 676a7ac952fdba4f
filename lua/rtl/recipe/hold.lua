--- The hold of GPUs that --probe makes: a capacity reservation that is kept and launched into.
--
-- It is made before anything else, since a cluster takes a quarter of an hour before its nodes can
-- fail. Launch templates name a group of reservations, not the hold itself: replacements still
-- start after it has ended. It is cancelled when a run stops before its nodes use it, by teardown
-- after the nodes, and by AWS at its end date, which a lease sets.

local capacity_reservation = require "rtl.kinds.capacity_reservation"
local clock = require "rtl.clock"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local nodes = require "rtl.recipe.nodes"
local plan = require "rtl.plan"
local pricing = require "rtl.kinds.pricing"
local reservation_group = require "rtl.kinds.reservation_group"
local task = require "rtl.task"
local text = require "rtl.recipe.text"
local value = require "rtl.recipe.value"

local M = {}

local GROUP = "gpu"      -- name of the group of reservations
local LEAVING = 30       -- seconds that giving back an idle hold may take
local LOOK_AGAIN = 3     -- seconds between looks for a hold whose create was cut off

-- Whether the settings ask for a hold: several regions can only be told apart by one.
local function wanted(run)
  local s = run.settings
  return s.probe or #s.region > 1
end

-- A group of reservations that stands keeps being named by the template: to leave it out would
-- replace the nodes.
local function group_stands(run)
  local res = reservation_group(GROUP) {}
  local live, failure = res.kind.read(run.ctx, res, {})
  if failure then error(failure, 0) end
  return live ~= nil
end

local STANDS = { ACTIVE = true, UPDATING = true, DEGRADED = true, CREATING = true }

-- Whether the node group stands that the hold would be for.
local function nodes_stand(run)
  local group = nodes.group(run)
  local answer, failure = run:aws("eks"):describe_nodegroup {
    clusterName = value.given(run.settings.use_cluster) or run.deployment,
    nodegroupName = nodes.name_among_others(run, group) or group }
  if answer then return STANDS[answer.nodegroup.status] or false end
  if errors.not_found(failure) then return false end
  return error(failure, 0)
end

local function own_hold(zone)
  return zone.reservation and zone.reservation.own and zone.reservation or nil
end

--- Decides, for the zone that was chosen, whether a hold is made or kept (facts.hold). None is
-- where the user gives a reservation, or where the nodes stand and the hold has ended.
function M.preflight(run)
  run.facts.hold = nil
  if run.settings.reservation ~= "" then return end
  local zone = run.facts.choice.gpu
  local lives, asked = own_hold(zone), wanted(run)
  local grouped = group_stands(run)
  if not (asked or lives or grouped) then return end
  local needed = lives or (asked and not nodes_stand(run))
  run.facts.hold = { grouped = true, needed = needed and true or false, lives = lives }
end

--- Declares the hold in the zone that was chosen, if there is to be one. `placement`: the placement
-- group's resource, or nil. Returns the resource, or nil.
function M.declare(run, placement)
  local hold = run.facts.hold
  if not (hold and hold.needed) then return nil end
  local s = run.settings
  hold.resource = run:declare(capacity_reservation(nodes.group(run)) {
    instance_type = s.gpu_type, count = s.gpu_count, zone_id = run.facts.choice.gpu.zone_id,
    hours = s.hold_for / 3600, placement_group = placement and placement.arn })
  return hold.resource
end

--- Declares the group of reservations with the hold (may be nil) in it; nil where there is none.
function M.declare_group(run, hold)
  if not run.facts.hold then return nil end
  return run:declare(reservation_group(GROUP) { members = hold and { hold.arn } or nil })
end

--- Gives the declared hold the end of the lease, which is known last.
function M.end_with_lease(run, hold)
  if hold and run.facts.lease then hold.fields.ends = math.floor(run.facts.lease.at) end
end

-- What an hour of it costs while nothing runs in it, as text.
local function price_of(run, count)
  local price = pricing.of(run.ctx, run.settings.gpu_type)
  return price and text.money(price * count) .. "/h" or "its full price"
end

local function until_when(run)
  local hold, lease = run.facts.hold, run.facts.lease
  if lease then return "until " .. clock.iso(lease.at) end
  if hold.lives and hold.lives.ends then return "until " .. clock.iso(hold.lives.ends) end
  return "for " .. value.show_duration(run.settings.hold_for)
end

--- The lines of a plan that tell of the hold: what, how long, what it costs idle. Empty where there
-- is none.
function M.lines(run)
  local hold, s = run.facts.hold, run.settings
  if not (hold and hold.needed) then return {} end
  local idle = hold.lives and hold.lives.free or s.gpu_count
  local cost = idle == 0 and "the nodes run in it"
    or ("idle it costs %s, until the nodes start"):format(price_of(run, idle))
  return {
    ("Hold     %d × %s in %s %s, %s"):format(s.gpu_count, s.gpu_type,
      run.facts.choice.gpu.zone_id, until_when(run),
      hold.lives and "held as " .. hold.lives.id or "made before anything else"),
    ("         %s; AWS may end it up to an hour late"):format(cost),
  }
end

-- The hold as it is now; where its create was cut off, it may show up by its tags a bit later.
local function look(run, res)
  local entry = run.ctx.ledger:state()[res.key]
  if not entry or entry.state == "deleted" or entry.state == "refused" then return nil end
  for _ = 1, entry.state == "open" and 3 or 1 do
    local live, failure = res.kind.read(run.ctx, res, res.fields)
    if live or failure then return live, failure end
    task.sleep(LOOK_AGAIN)
  end
  return nil
end

-- A hold whose node group stands is used, or will be in a minute.
local function give_back(run, res)
  local live, failure = look(run, res)
  if failure then error(failure, 0) end
  if not live or (live.free or 0) == 0 or nodes_stand(run) then return end
  local item = { key = res.key, kind = res.kind, kind_name = res.kind_name, name = res.name,
    id = live.id, outputs = live }
  local result = plan.teardown.remove(run.ctx, { item })
  if result.left[1] then error(result.left[1].err, 0) end
  run:note(("hold %s is given back: idle it would cost %s"):format(live.id,
    price_of(run, live.free)), { sign = "→" })
end

--- Gives back the declared hold when a run stops before all of it is used; also while the run is
-- being cancelled. What can't be given back is said, with its id and how it ends.
function M.leave(run)
  local res = run.facts.hold and run.facts.hold.resource
  if not res or not run.ctx.ledger then return end
  local ok, problem = pcall(task.shield, LEAVING, give_back, run, res)
  if ok then return end
  local entry = run.ctx.ledger:state()[res.key] or {}
  run:note(("the hold %s could not be given back (%s): the next run or teardown does; it ends by "
    .. "itself at its end date"):format(entry.id or res.name, err.is(problem) and problem.message
    or tostring(problem)), { sign = "✗" })
end

return M
