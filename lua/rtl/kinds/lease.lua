--- A deployment's lease as it stands in the account: when AWS itself ends what bills.
-- It is a group of schedules (rtl.kinds.schedule_group, rtl.kinds.schedule), each of which deletes
-- one thing from the lease's end on. The account is the truth: another machine reads the same.

local clock = require "rtl.clock"
local schedule = require "rtl.kinds.schedule"
local support = require "rtl.kinds.support"
local task = require "rtl.task"

local M = {}

M.GROUP = "lease" -- name of the resources that carry a lease: the group's and the role's

local function group_name(ctx)
  return ("%s-%s"):format(ctx.deployment, M.GROUP)
end

local function read_schedules(ctx, names)
  return task.map(names, function (name)
    local found, failure = ctx:aws("scheduler"):get_schedule { Name = name,
      GroupName = group_name(ctx) }
    if failure and not support.not_found(failure) then error(failure, 0) end
    return found and schedule.live_of(found) or false
  end, 8)
end

--- The lease that stands: { at = its end (unix seconds), over = whether that has passed, asked =
-- what was asked for, schedules = array of what schedule.live_of gives }; nil where there is none.
-- Raises where it can't be read.
function M.read(ctx)
  local list, failure = support.absent_if_missing(
    ctx:aws("scheduler"):all("list_schedules", { GroupName = group_name(ctx) }))
  if failure then error(failure, 0) end
  local names = {}
  for i, one in ipairs(list or {}) do names[i] = one.Name end
  table.sort(names)
  local lease = { schedules = {} }
  for _, live in ipairs(read_schedules(ctx, names)) do
    if live and live.starts then
      lease.schedules[#lease.schedules + 1] = live
      lease.at = math.min(lease.at or math.huge, live.starts - live.delay)
      lease.asked = live.asked
    end
  end
  if not lease.at then return nil end
  lease.over = lease.at <= clock.utc()
  return lease
end

--- Moves the end of a lease (as M.read gives it) to `at` (unix seconds); the stagger stays. Returns
-- true, or nil and the error of the first schedule that can't be moved.
function M.move(ctx, lease, at)
  for _, live in ipairs(lease.schedules) do
    local res = { key = "schedule/" .. live.schedule_name, kind_name = "schedule",
      name = live.schedule_name }
    local moved, failure = schedule.change(ctx, res, live, { starts = at + live.delay })
    if not moved then return nil, failure end
    live.starts = at + live.delay
  end
  lease.at, lease.over = at, at <= clock.utc()
  return true
end

return M
