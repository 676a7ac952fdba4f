--- A schedule of a lease: from its start on it calls one AWS API, again and again, until its end.
-- schedule "eks_cluster-ray-train" { group = g.group_name, role_arn = r.arn, asked = "4h",
--   action = "eks:deleteCluster", input = { Name = "ray-train" }, at = unix seconds, delay = 600 }
--   → schedule_name, group
-- It calls again every ten minutes because it can't wait: a cluster can be deleted only once its
-- node groups are gone, and whether AWS repeats a call that the service refused is not known. What
-- is gone already refuses, which costs nothing.
-- `asked` is what the user asked for, kept in the description: while it stays the same, so does the
-- time that stands, which `rtl recipes/lease.lua extend` may have moved.
-- Without `input` the schedule has one that names nothing, until schedule_target puts the id in.

local clock = require "rtl.clock"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local EVERY_MINUTES = 10
local LASTS = 4 * 3600       -- s for which it tries
local UNTIL_USABLE = 120     -- s until IAM has told the scheduler of a new role

-- An id that no thing has, in the form that the API takes.
local NOTHING = { NatGatewayId = "nat-00000000000000000",
  AllocationId = "eipalloc-00000000000000000", CapacityReservationId = "cr-00000000000000000" }
local ID_OF = { ["ec2:deleteNatGateway"] = "NatGatewayId", ["ec2:releaseAddress"] = "AllocationId",
  ["ec2:cancelCapacityReservation"] = "CapacityReservationId" }

local function target_arn(ctx, action)
  local service, name = action:match("^([^:]+):(.+)$")
  return ("arn:%s:scheduler:::aws-sdk:%s:%s"):format(ctx.partition, service, name)
end

local function asked_of(description)
  return description and description:match("asked: (.*)$") or ""
end

--- What GetSchedule answers, as what a schedule of a lease is: id, schedule_name, group, action,
-- input, starts and ends (unix seconds), asked, delay, role_arn.
local function live_of(found)
  local target = found.Target or {}
  local delay = found.Description and tonumber(found.Description:match("(%d+) s after"))
  return { id = found.Name, schedule_name = found.Name, group = found.GroupName,
    action = (target.Arn or ""):match("aws%-sdk:(.+)$"), input = target.Input,
    role_arn = target.RoleArn, starts = found.StartDate, ends = found.EndDate, delay = delay or 0,
    asked = asked_of(found.Description) }
end

local function get(ctx, group, name)
  return support.absent_if_missing(
    ctx:aws("scheduler"):get_schedule { Name = name, GroupName = group })
end

local function read(ctx, res, f)
  local found, failure = get(ctx, f.group, res.name)
  if not found then return nil, failure end
  return live_of(found)
end

-- The body of a create or an update, which replaces all that was there. spec: group, name, action,
-- input, role_arn, starts, delay, asked.
local function body(ctx, spec)
  local id = ID_OF[spec.action]
  local starts = math.floor(spec.starts)
  return { Name = spec.name, GroupName = spec.group,
    ScheduleExpression = ("rate(%d minutes)"):format(EVERY_MINUTES),
    StartDate = starts, EndDate = starts + LASTS, State = "ENABLED",
    FlexibleTimeWindow = { Mode = "OFF" }, ActionAfterCompletion = "DELETE",
    Description = ("rtl lease of %s, %d s after its end; asked: %s"):format(ctx.deployment,
      spec.delay, spec.asked),
    Target = { Arn = target_arn(ctx, spec.action), RoleArn = spec.role_arn,
      Input = spec.input or { [id] = NOTHING[id] },
      RetryPolicy = { MaximumRetryAttempts = 5, MaximumEventAgeInSeconds = EVERY_MINUTES * 60 } } }
end

local function role_not_seen(failure)
  return failure.code == "ValidationException" and failure.message:find("assume", 1, true) ~= nil
end

-- Notes in the ledger when the lease ends, for the receipt (rtl.plan.meter): nobody may be there
-- to see it.
local function note_end(ctx, ends)
  local notes = ctx.ledger and ctx.ledger:notes "lease" or {}
  if not ctx.ledger or notes[1] and notes[#notes].ends == ends then return true end
  return ctx.ledger:note("lease", { ends = ends })
end

local function send(ctx, res, op, spec, token)
  local params = body(ctx, spec)
  params.ClientToken = token
  local answer, failure = support.insist(ctx, res, UNTIL_USABLE, role_not_seen, function ()
    return ctx:aws("scheduler"):call(op, params)
  end)
  if not answer then return nil, failure end
  return note_end(ctx, clock.iso(params.StartDate - spec.delay))
end

local function wanted(res, f, live)
  return { group = f.group, name = res.name, action = f.action, role_arn = f.role_arn,
    input = f.input or live and live.input, starts = f.at + (f.delay or 0), delay = f.delay or 0,
    asked = f.asked }
end

local function create(ctx, res, f, token)
  local done, failure = send(ctx, res, "create_schedule", wanted(res, f), token)
  if not done then return nil, failure end
  return { id = res.name, schedule_name = res.name, group = f.group }
end

-- The time is compared by what was asked for; one that has passed ends nothing more that is made
-- from now on.
local function diff(_, _, f, live)
  local changes = {}
  local function want(field, value, have)
    if value ~= have then changes[#changes + 1] = { field = field, want = value, have = have } end
  end
  want("role_arn", f.role_arn, live.role_arn)
  want("action", f.action, live.action)
  want("asked", f.asked, live.asked)
  if live.starts and live.starts <= clock.utc() then
    want("start", clock.iso(f.at + (f.delay or 0)), clock.iso(live.starts))
  end
  for name, value in pairs(f.input or {}) do want(name, value, (live.input or {})[name]) end
  return changes
end

--- Puts a changed schedule in place of the standing one `live` (as live_of gives it). `fields`:
-- what changes of input, starts, asked. Returns true | nil, err.
local function change(ctx, res, live, fields)
  return send(ctx, res, "update_schedule", { group = live.group, name = live.schedule_name,
    action = live.action, input = fields.input or live.input, role_arn = live.role_arn,
    starts = fields.starts or live.starts, delay = live.delay, asked = fields.asked or live.asked })
end

local function update(ctx, res, f, live)
  return send(ctx, res, "update_schedule", wanted(res, f, live))
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("scheduler"):delete_schedule { Name = item.id,
      GroupName = item.outputs.group }
  end, { look = function () return get(ctx, item.outputs.group, item.id) end })
end

-- All schedules in groups of ours.
local function find_inside(ctx, found)
  local list = {}
  for _, item in ipairs(found) do
    if item.kind_name == "schedule_group" and item.id then
      local schedules, failure = ctx:aws("scheduler"):all("list_schedules", { GroupName = item.id })
      if not schedules then return nil, failure end
      for _, one in ipairs(schedules) do
        list[#list + 1] = { id = one.Name, name = one.Name,
          outputs = { group = item.id, schedule_name = one.Name } }
      end
    end
  end
  return list
end

local function carrier(item, other)
  return other.kind_name == "schedule_group" and other.id ~= nil and other.id == item.outputs.group
end

return kind.define {
  name = "schedule",
  outputs = { "schedule_name", "group" },
  fields = { group = "string", role_arn = "string", action = "string", input = "table?",
    at = "number", delay = "integer?", asked = "string" },
  identity = { "action" },
  known = function (_, res) return { schedule_name = res.name } end,
  reads_with = { "group" },
  within = { "group" },
  read = read,
  diff = diff,
  create = create,
  update = update,
  delete = delete,
  tokened = true,
  ready = { usual = 10, delete_usual = 1 },
  depends = { "schedule_group", "iam_role" },
  find_inside = find_inside,
  carrier = carrier,
  change = change,
  live_of = live_of,
  actions = {
    "scheduler:ListSchedules",
    { "scheduler:GetSchedule", on = "schedule/{deployment}-*/*" },
    { "scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule",
      on = "schedule/{group}/*" },
    { "iam:PassRole", on = "{role_arn}", when = { StringEquals = {
      ["iam:PassedToService"] = "scheduler.amazonaws.com" } } },
  },
}
