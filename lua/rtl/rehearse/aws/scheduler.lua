--- EventBridge Scheduler: schedule groups and schedules with a fixed time or rate, in UTC, whose
-- universal targets really call the service. What it does not play (cron, other time zones,
-- flexible windows, other targets, a time that has passed) it refuses as such: 501, NotSimulated.

local array = require "rtl.array"
local clock = require "rtl.clock"
local fault = require "rtl.rehearse.aws.fault"
local language = require "rtl.rehearse.rights.language"
local rights = require "rtl.rehearse.rights"

local M = { operations = {} }
local ops = M.operations

local function no_group(name)
  return fault.fail("ResourceNotFoundException", ("Schedule group %s does not exist."):format(name))
end

local function arn_of(call, kind, name)
  return ("arn:aws:scheduler:%s:%s:%s/%s"):format(call.region.name, call.account, kind, name)
end

function ops.create_schedule_group(call, p)
  if call.region.schedule_groups:get(p.Name) then
    return fault.fail("ConflictException", ("Schedule group %s already exists."):format(p.Name))
  end
  local group = call.region.schedule_groups:add(p.Name, { Name = p.Name, State = "ACTIVE",
    Arn = arn_of(call, "schedule-group", p.Name), CreationDate = call.world:second(),
    LastModificationDate = call.world:second(), Tags = p.Tags or array {} })
  return { ScheduleGroupArn = group.Arn }
end

function ops.get_schedule_group(call, p)
  local group = call.region.schedule_groups:get(p.Name)
  if not group then return no_group(p.Name) end
  return group
end

function ops.list_schedule_groups(call, p)
  local prefix = p.NamePrefix or ""
  return { ScheduleGroups = array(call.region.schedule_groups:all(function (it)
    return it.Name:sub(1, #prefix) == prefix
  end)) }
end

function ops.list_tags_for_resource(call, p)
  local group = call.region.schedule_groups:first(function (it) return it.Arn == p.ResourceArn end)
  if group then return { Tags = group.Tags } end
  return fault.fail("ResourceNotFoundException", ("%s does not exist."):format(p.ResourceArn))
end

local function remove_all(call, group)
  for _, schedule in ipairs(call.region.schedules:all(function (it)
    return it.GroupName == group
  end)) do
    call.region.schedules:remove(schedule.key)
  end
end

-- A group is DELETING until its schedules are gone; its name is taken as long.
function ops.delete_schedule_group(call, p)
  local group = call.region.schedule_groups:get(p.Name)
  if not group then return no_group(p.Name) end
  if group.State == "DELETING" then return {} end
  group.State = "DELETING"
  remove_all(call, p.Name)
  call.world:after(call.world:spread(2, 8, "end", group.Arn), function ()
    call.region.schedule_groups:remove(p.Name)
  end)
  return {}
end

local function capital(name)
  return name:sub(1, 1):upper() .. name:sub(2)
end

-- "eks:deleteNodegroup" of a universal target's ARN as service and operation of our tables.
local function operation_of(arn)
  local model = require "rtl.aws.model"
  local service, action = arn:match "^arn:aws[%w-]*:scheduler:::aws%-sdk:([%w-]+):(%w+)$"
  if not service then return nil end
  local ok, svc = pcall(model.service, service)
  return ok and svc.by_name[capital(action)], ok and svc
end

-- Members of a universal target's input begin with a capital, also where the API's own begin small.
local function params_of(op, input)
  local out = {}
  for _, member in ipairs(op.input.members) do out[member.name] = input[capital(member.name)] end
  return out
end

-- What is wrong with a universal target: reads are not allowed, and the input is checked when the
-- schedule is made.
local function wrong_target(target)
  local op = operation_of(target.Arn)
  if op.reads then return op.name .. " is not supported: it only reads" end
  local known = {}
  for _, member in ipairs(op.input.members) do
    known[capital(member.name)] = true
    if member.required and (target.Input or {})[capital(member.name)] == nil then
      return ("Invalid RequestJson provided. Reason: %s is required"):format(capital(member.name))
    end
  end
  for name in pairs(target.Input or {}) do
    if not known[name] then
      return ("Invalid RequestJson provided. Reason: Unrecognized field: %s"):format(name)
    end
  end
  return nil
end

local function role_of(call, arn)
  return call.aws.iam.roles:first(function (it) return it.Arn == arn end)
end

local function trusts_scheduler(role)
  for _, statement in ipairs(language.statements(role.AssumeRolePolicyDocument)) do
    local principal = statement.Principal or {}
    for _, service in ipairs(language.list_of(principal.Service)) do
      if service == "scheduler.amazonaws.com" then return true end
    end
  end
  return false
end

-- One call of the target: nil, or the code and status of its refusal.
local function call_target(call, schedule)
  local op, svc = operation_of(schedule.Target.Arn)
  local role = role_of(call, schedule.Target.RoleArn)
  local params = params_of(op, schedule.Target.Input or {})
  if not role or not rights.role_may(call, role, op, params) then return "AccessDenied", 403 end
  local result, refused = call.world.performers.aws(call.world, { s = svc.name,
    r = call.region.name, o = op.key, p = params })
  if result then return nil end
  fault.complete(svc, refused)
  return refused.code, refused.status
end

-- Calls the target. What fails on the service's side or is throttled is tried again as the retry
-- policy says, until so many seconds have passed since `began`; what the service refuses is not (it
-- is not known whether AWS tries that again, and nothing may rely on it).
local function fire(call, schedule, began, tries)
  local code, status = call_target(call, schedule)
  local fired = call.aws.fired or {}
  call.aws.fired = fired
  fired[#fired + 1] = { at = call.world:now(), name = schedule.Name, code = code,
    target = schedule.Target.Arn }
  local policy, pause = schedule.Target.RetryPolicy or {}, 2 ^ math.min(tries, 8)
  local passes = code and (status >= 500 or status == 429)
  local young = call.world:now() + pause - began <= (policy.MaximumEventAgeInSeconds or 86400)
  if passes and young and tries < (policy.MaximumRetryAttempts or 185) then
    call.world:after(pause, function () fire(call, schedule, began, tries + 1) end)
  end
end

local UNIT = { minute = 60, minutes = 60, hour = 3600, hours = 3600, day = 86400, days = 86400 }

-- Seconds between two invocations of a rate expression.
local function every(expression)
  local count, unit = expression:match "^rate%((%d+) (%a+)%)$"
  return count and UNIT[unit] and tonumber(count) * UNIT[unit]
end

-- The time of a one-time expression: unix seconds; nil if it is none, or not written as AWS wants.
local function once(expression)
  local time = expression:match "^at%((%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d)%)$"
  return time and clock.parse_iso(time .. "Z")
end

-- When a schedule is to call first; of one-time ones AWS ignores begin and end.
local function first_of(schedule, now)
  return once(schedule.ScheduleExpression) or math.max(schedule.StartDate or 0, now)
end

local function complete(call, schedule)
  if schedule.ActionAfterCompletion == "DELETE" then call.region.schedules:remove(schedule.key) end
end

local MINUTE = 60 -- seconds within which an invocation comes: AWS promises no more

-- Sets the alarm for the next invocation at `at`; a later update makes an older alarm void.
local function arm(call, schedule, at)
  local alarm, world = {}, call.world
  schedule.alarm = alarm
  local late = world:spread(0, MINUTE, "invocation", schedule.Arn)
  world:after(math.max(0, at - world:now()) + late, function ()
    local stands = call.region.schedules:get(schedule.key) == schedule
    if not stands or schedule.alarm ~= alarm then return end
    if schedule.State == "ENABLED" then fire(call, schedule, world:now(), 0) end
    local pause = every(schedule.ScheduleExpression)
    local again = pause and at + pause
    if not again or again >= (schedule.EndDate or math.huge) then
      return complete(call, schedule)
    end
    arm(call, schedule, again)
  end)
end

local function key_of(p)
  return (p.GroupName or "default") .. "/" .. p.Name
end

local function fill(call, schedule, p)
  for _, name in ipairs { "ScheduleExpression", "StartDate", "EndDate", "Description",
                          "ScheduleExpressionTimezone", "Target", "FlexibleTimeWindow" } do
    schedule[name] = p[name]
  end
  schedule.State = p.State or "ENABLED"
  schedule.ActionAfterCompletion = p.ActionAfterCompletion or "NONE"
  schedule.LastModificationDate = call.world:second()
  arm(call, schedule, first_of(schedule, call.world:now()))
end

local UTC = { UTC = true, ["Etc/UTC"] = true, GMT = true }

-- What of a schedule the world does not play, though AWS does.
local function not_played(call, p)
  local at = once(p.ScheduleExpression)
  if p.ScheduleExpression:find "^cron%(" then return "cron expressions" end
  if at and at < call.world:now() then return "a time that has passed: " .. p.ScheduleExpression end
  if not UTC[p.ScheduleExpressionTimezone or "UTC"] then
    return "the time zone " .. p.ScheduleExpressionTimezone
  end
  if p.FlexibleTimeWindow.Mode ~= "OFF" then return "flexible time windows" end
  if not operation_of(p.Target.Arn) then return "the target " .. p.Target.Arn end
end

local function wrong_expression(expression)
  if once(expression) or every(expression) then return nil end
  return "Invalid Schedule Expression " .. expression .. "."
end

local BACK = 300 -- seconds that the begin of a schedule may lie back

local function wrong_dates(call, p)
  if p.StartDate and every(p.ScheduleExpression) and p.StartDate < call.world:now() - BACK then
    return "The StartDate you specify cannot be earlier than 5 minutes ago."
  elseif p.StartDate and p.EndDate and p.EndDate <= p.StartDate then
    return "The EndDate you specify must be after the StartDate."
  end
end

-- The fault of a schedule to make or to change: what the world does not play, or what AWS refuses.
local function refusal(call, p)
  local missing = not_played(call, p)
  if missing then
    return fault.new("NotSimulated", "the world's scheduler does not know " .. missing, 501)
  end
  local role, wrong = role_of(call, p.Target.RoleArn), nil
  if not role or role.usable_at > call.world:now() or not trusts_scheduler(role) then
    wrong = "The execution role you provide must allow AWS EventBridge Scheduler to assume the "
      .. "role."
  end
  wrong = wrong or wrong_dates(call, p) or wrong_expression(p.ScheduleExpression)
    or wrong_target(p.Target)
  return wrong and fault.new("ValidationException", wrong)
end

function ops.create_schedule(call, p)
  local group = p.GroupName or "default"
  if group ~= "default" and not call.region.schedule_groups:get(group) then
    return no_group(group)
  end
  if call.region.schedules:get(key_of(p)) then
    return fault.fail("ConflictException", ("Schedule %s already exists."):format(p.Name))
  end
  local wrong = refusal(call, p)
  if wrong then return nil, wrong end
  local schedule = call.region.schedules:add(key_of(p), { Name = p.Name, GroupName = group,
    key = key_of(p), Arn = arn_of(call, "schedule", group .. "/" .. p.Name),
    CreationDate = call.world:second() })
  fill(call, schedule, p)
  return { ScheduleArn = schedule.Arn }
end

local function need(call, p)
  local schedule = call.region.schedules:get(key_of(p))
  if schedule then return schedule end
  return fault.fail("ResourceNotFoundException", ("Schedule %s does not exist."):format(p.Name))
end

function ops.get_schedule(call, p)
  return need(call, p)
end

function ops.list_schedules(call, p)
  local prefix = p.NamePrefix or ""
  return { Schedules = array(call.region.schedules:all(function (it)
    return it.Name:sub(1, #prefix) == prefix and (not p.GroupName or it.GroupName == p.GroupName)
       and (not p.State or it.State == p.State)
  end)) }
end

function ops.update_schedule(call, p)
  local schedule, refused = need(call, p)
  if not schedule then return nil, refused end
  local wrong = refusal(call, p)
  if wrong then return nil, wrong end
  fill(call, schedule, p)
  return { ScheduleArn = schedule.Arn }
end

function ops.delete_schedule(call, p)
  local schedule, refused = need(call, p)
  if not schedule then return nil, refused end
  call.region.schedules:remove(schedule.key)
  return {}
end

return M
