--- EventBridge Scheduler: schedule groups and schedules with a fixed time, whose universal targets
-- really call the service.

local array = require "rtl.array"
local clock = require "rtl.clock"
local fault = require "rtl.rehearse.aws.fault"

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

local function remove_all(call, group)
  for _, schedule in ipairs(call.region.schedules:all(function (it)
    return it.GroupName == group
  end)) do
    call.region.schedules:remove(schedule.key)
  end
end

function ops.delete_schedule_group(call, p)
  if not call.region.schedule_groups:get(p.Name) then return no_group(p.Name) end
  remove_all(call, p.Name)
  call.region.schedule_groups:remove(p.Name)
  return {}
end

-- "eks:deleteNodegroup" of a universal target's ARN as service and operation of our tables.
local function operation_of(arn)
  local model = require "rtl.aws.model"
  local service, action = arn:match "^arn:aws:scheduler:::aws%-sdk:([%w-]+):(%w+)$"
  if not service then return nil end
  local ok, svc = pcall(model.service, service)
  local name = action:sub(1, 1):upper() .. action:sub(2)
  return ok and svc.by_name[name], ok and svc
end

-- Members of a universal target's input begin with a capital; EKS' own begin small.
local function params_of(op, input)
  local out = {}
  for _, member in ipairs(op.input.members) do
    local name = member.name
    local value = input[name] or input[name:sub(1, 1):upper() .. name:sub(2)]
    if value ~= nil then out[name] = value end
  end
  return out
end

local function fire(call, schedule)
  local op, svc = operation_of(schedule.Target.Arn)
  if not op then return end
  local performer = call.world.performers.aws
  performer(call.world, { s = svc.name, r = call.region.name, o = op.key,
                          p = params_of(op, schedule.Target.Input or {}) })
end

local function arm(call, schedule)
  local at = clock.parse_iso((schedule.ScheduleExpression:match "^at%((.*)%)$" or "") .. "Z")
  local stamp = schedule.LastModificationDate .. schedule.ScheduleExpression
  schedule.stamp = stamp
  if not at then return end
  call.world:after(math.max(0, at - call.world:now()), function ()
    local now = call.region.schedules:get(schedule.key)
    if now ~= schedule or schedule.stamp ~= stamp or schedule.State ~= "ENABLED" then return end
    fire(call, schedule)
    if schedule.ActionAfterCompletion == "DELETE" then
      call.region.schedules:remove(schedule.key)
    end
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
  arm(call, schedule)
end

function ops.create_schedule(call, p)
  local group = p.GroupName or "default"
  if group ~= "default" and not call.region.schedule_groups:get(group) then
    return no_group(group)
  end
  if call.region.schedules:get(key_of(p)) then
    return fault.fail("ConflictException", ("Schedule %s already exists."):format(p.Name))
  end
  if not p.ScheduleExpression:find "^at%(" and not p.ScheduleExpression:find "^rate%("
    and not p.ScheduleExpression:find "^cron%(" then
    return fault.fail("ValidationException", "Invalid Schedule Expression "
                      .. p.ScheduleExpression .. ".")
  end
  local role = call.aws.iam.roles:first(function (it) return it.Arn == p.Target.RoleArn end)
  if not role or role.usable_at > call.world:now() then
    return fault.fail("ValidationException", "The execution role you provide must allow AWS "
                      .. "EventBridge Scheduler to assume the role.")
  end
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
