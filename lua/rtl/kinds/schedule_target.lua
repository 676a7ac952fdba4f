--- The id in a schedule of a lease, for a thing whose id is known only once it is made. Put in as
-- soon as its create is answered, before it is ready.
-- schedule_target "nat_gateway-ray-train" { group = s.group, schedule = s.schedule_name,
--   input = { NatGatewayId = nat.id } }
-- If the program dies between the two calls, the ledger's intent leads the next run to the thing
-- and this puts its id in; until then its schedule ends nothing.

local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local schedule = require "rtl.kinds.schedule"
local support = require "rtl.kinds.support"

-- The schedule as it stands: live | nil | nil, err.
local function standing(ctx, f)
  local found, failure = support.absent_if_missing(
    ctx:aws("scheduler"):get_schedule { Name = f.schedule, GroupName = f.group })
  return found and schedule.live_of(found), failure
end

local function read(ctx, _, f)
  return standing(ctx, f)
end

local function create(ctx, res, f)
  local live, failure = standing(ctx, f)
  if not live then
    return nil, failure or err.new { code = "RTL-LEASE-004", doing = res.key,
      message = ("schedule %s of group %s is gone"):format(f.schedule, f.group),
      hint = "Run the same command again: it is made anew" }
  end
  local done, refused = schedule.change(ctx, res, live, { input = f.input })
  if not done then return nil, refused end
  return live
end

return kind.define {
  name = "schedule_target",
  outputs = {},
  fields = { group = "string", schedule = "string", input = "table" },
  early = { "input" },
  reads_with = { "group", "schedule" },
  within = { "schedule" },
  read = read,
  compare = { "input" },
  update = create,
  create = create,
  ephemeral = true,
  ready = { usual = 1 },
  actions = {
    { "scheduler:GetSchedule", on = "schedule/{group}/*" },
    { "scheduler:UpdateSchedule", on = "schedule/{group}/*" },
  },
}
