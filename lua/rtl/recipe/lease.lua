--- The lease of a deployment: settings → the time at which AWS ends what bills, with nobody there.
--
-- Everything in the graph whose kind says how it ends (`lease`) gets a schedule, which is made
-- before that thing is. Ids that are known only later are put into their schedule as soon as the
-- create is answered (schedule_target). What a lease does not end costs nothing by the hour.

local array = require "rtl.array"
local clock = require "rtl.clock"
local cost = require "rtl.plan.cost"
local err = require "rtl.err"
local iam_role = require "rtl.kinds.iam_role"
local lease = require "rtl.kinds.lease"
local receipt = require "rtl.recipe.receipt"
local ref = require "rtl.ref"
local schedule = require "rtl.kinds.schedule"
local schedule_group = require "rtl.kinds.schedule_group"
local schedule_target = require "rtl.kinds.schedule_target"
local text = require "rtl.recipe.text"
local value = require "rtl.recipe.value"

local M = {}

local SHORTEST = 600          -- s; less would end things before they are made
local LONGEST = 365 * 86400   -- s; a large --max-cost would end in another century
local LONGEST_NAME = 64

-- What the settings ask for, as text; nil when they ask for nothing.
local function asked_by(s)
  local parts = {}
  if s.down_after > 0 then parts[1] = "down-after " .. value.show_duration(s.down_after) end
  if s.max_cost > 0 then parts[#parts + 1] = ("max-cost %.14g"):format(s.max_cost) end
  return parts[1] and table.concat(parts, ", ")
end

--- Refuses a lease where no AWS account is in the run: nothing of it is made or ended by rtl.
function M.refuse(run)
  if asked_by(run.settings) then
    run:fail { code = "RTL-LEASE-006", exit = "usage",
      message = "--down-after and --max-cost need an AWS account; with a kubeconfig rtl made none "
        .. "of what bills" }
  end
end

--- Reads the lease that stands and checks what the settings ask for. Raises RTL-LEASE-001 where a
-- lease is over and no new one is asked for: its schedules would end what is made now.
function M.preflight(run)
  local s = run.settings
  local standing = lease.read(run.ctx)
  run.facts.standing_lease, run.facts.lease_from = standing, clock.utc()
  run.facts.spent = receipt.of(run)
  if s.down_after > 0 and s.down_after < SHORTEST then
    run:fail { code = "RTL-LEASE-002", exit = "usage",
      message = ("--down-after %s is less than %s"):format(value.show_duration(s.down_after),
        value.show_duration(SHORTEST)) }
  end
  if standing and standing.over and not asked_by(s) then
    run:fail { code = "RTL-LEASE-001", exit = "refused",
      message = "the lease of this deployment ended at " .. clock.iso(standing.at),
      hint = "Begin a new one with --down-after, end its time with 'rtl recipes/lease.lua cancel', "
        .. "or remove the rest with rtl recipes/teardown.lua" }
  end
end

-- The resources that a lease ends, with how: array of {res, how}.
local function ended(run)
  local list = {}
  for _, res in ipairs(run.graph.list) do
    if res.kind.lease and not res.given then
      list[#list + 1] = { res = res, how = res.kind.lease(res) }
    end
  end
  return list
end

-- What ending takes costs, too: each thing bills until its schedule fires and it is gone.
local function tail_of(run, things)
  local sum = 0.0
  for _, thing in ipairs(things) do
    local price = cost.of_resource(run.ctx, thing.res)
    local lasts = thing.how.delay + (thing.res.kind.ready.delete_usual or 0)
    sum = sum + (price and price.hourly or 0) * lasts / 3600
  end
  return sum
end

-- What it has cost by now, and what is still to be paid once.
local function spent_of(run, rate)
  local paid, receipt_so_far, to_pay = {}, run.facts.spent, 0.0
  for _, line in ipairs(receipt_so_far and receipt_so_far.lines or {}) do
    if not line.till then paid[line.key] = true end
  end
  for _, line in ipairs(rate.lines) do
    if not paid[line.resource] then to_pay = to_pay + line.once end
  end
  return next(paid) and receipt_so_far.total or 0.0, to_pay
end

-- The time at which the deployment will have cost `max_cost`, things on their way out included.
local function time_of_cost(run, things, now)
  local rate = cost.of_resources(run.ctx, run.graph.list)
  if rate.unknown[1] then
    run:fail { code = "RTL-LEASE-003", exit = "usage", message = "no price is known of "
      .. table.concat(rate.unknown, ", ") .. ": when --max-cost is reached can't be reckoned",
      hint = "Say --down-after instead" }
  end
  local spent, to_pay = spent_of(run, rate)
  local left = run.settings.max_cost - spent - to_pay - tail_of(run, things)
  local seconds = rate.hourly > 0 and math.min(left / rate.hourly * 3600, LONGEST) or LONGEST
  if seconds < SHORTEST then
    run:fail { code = "RTL-LEASE-002", exit = "usage",
      message = ("--max-cost %.2f is spent in %s, at %s/h, with %s spent already and %s to be paid "
        .. "once"):format(run.settings.max_cost, text.about(math.max(0, seconds)),
        text.money(rate.hourly), text.money(spent), text.money(to_pay)) }
  end
  return now + seconds
end

-- When the lease that the settings ask for would end; it begins with the run.
local function wanted_end(run, things)
  local s, now, at = run.settings, run.facts.lease_from, math.huge
  if s.down_after > 0 then at = now + s.down_after end
  if s.max_cost > 0 then at = math.min(at, time_of_cost(run, things, now)) end
  return at
end

-- asked and at of the lease to declare, which stands or is asked for.
local function terms(run, things)
  local standing, asked = run.facts.standing_lease, asked_by(run.settings)
  local same = standing and not standing.over and (not asked or standing.asked == asked)
  if same then return standing.asked, standing.at end
  return asked, wanted_end(run, things)
end

-- The values of a lease's input and resource as far as they are known before anything is made.
local function early(run, wanted)
  return (ref.resolve(wanted, function (key, output)
    local res = run.graph.by_key[key]
    return res.kind.known and res.kind.known(run.ctx, res)[output]
  end))
end

local function arn(ctx, action, resource)
  return ("arn:%s:%s:%s:%s:%s"):format(ctx.partition, action:match("^[^:]+"), ctx.region,
    ctx.account, resource)
end

local function permission(run, thing)
  local ctx, how = run.ctx, thing.how
  local service, name = how.action:match("^(.-):(.*)$")
  return { Effect = "Allow", Action = ("%s:%s"):format(service, name:gsub("^%l", string.upper)),
    Resource = arn(ctx, how.action, early(run, how.resource)),
    Condition = how.late and { StringEquals = {
      ["aws:ResourceTag/rtl:deployment"] = ctx.deployment } } or nil }
end

-- The role that the scheduler takes: it may end these things and nothing else, and only this
-- group's schedules may take it.
local function declare_role(run, group, things)
  local ctx, statements = run.ctx, array {}
  for i, thing in ipairs(things) do statements[i] = permission(run, thing) end
  return run:declare(iam_role(lease.GROUP) { service = "scheduler.amazonaws.com",
    boundary = value.given(run.settings.permissions_boundary),
    conditions = { StringEquals = { ["aws:SourceAccount"] = ctx.account,
      ["aws:SourceArn"] = group.kind.known(ctx, group).arn } },
    inline = { ["end"] = { Version = "2012-10-17", Statement = statements } } })
end

local function declare_one(run, group, role, thing, asked, at)
  local res, how = thing.res, thing.how
  local name = (res.kind_name .. "-" .. res.name):sub(1, LONGEST_NAME)
  local one = run:declare(schedule(name) { group = group.group_name, role_arn = role.arn,
    action = how.action, input = not how.late and early(run, how.input) or nil, at = at,
    delay = how.delay, asked = asked })
  if how.late then
    run:declare(schedule_target(name) { group = one.group, schedule = one.schedule_name,
      input = how.input })
  end
  return one
end

--- Declares the lease of all that the graph has so far, if one stands or is asked for, and makes
-- each thing that it ends wait for all of its schedules.
function M.declare(run)
  run.facts.lease = nil
  if not run.facts.standing_lease and not asked_by(run.settings) then return end
  local things = ended(run)
  if #things == 0 then return end
  local asked, at = terms(run, things)
  run.facts.lease = { asked = asked, at = at }
  local group = run:declare(schedule_group(lease.GROUP) {})
  local role = declare_role(run, group, things)
  local schedules = { group }
  for _, thing in ipairs(things) do
    schedules[#schedules + 1] = declare_one(run, group, role, thing, asked, at)
  end
  for _, thing in ipairs(things) do
    local after = table.move(thing.res.after, 1, #thing.res.after, 1, {})
    thing.res.after = table.move(schedules, 1, #schedules, #after + 1, after)
  end
end

--- The line of a plan or a last screen that tells of the lease; nil where there is none.
function M.line(run)
  local l = run.facts.lease
  if not l then return nil end
  local left = l.at - clock.utc()
  return ("Lease    AWS ends what bills at %s, %s (%s)"):format(clock.iso(l.at),
    left > 0 and "in " .. text.about(left) or "now", l.asked)
end

--- A time from now as the words "2h" or "90m" say, in seconds. Raises RTL-LEASE-002.
function M.seconds(word)
  local seconds, _, wanted = value.parse(word or "", { type = "duration", min = 1 })
  if seconds then return seconds end
  return error(err.new { code = "RTL-LEASE-002", exit = "usage",
    message = "extend: " .. wanted,
    hint = "rtl recipes/lease.lua extend 2h" }, 0)
end

return M
