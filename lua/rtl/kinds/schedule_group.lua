--- The group of schedules that a lease is made of (rtl.kinds.lease). Its schedules go with it.
-- schedule_group "lease" {} → group_name, arn

local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local function name_of(ctx, res)
  return ctx:own_name(res)
end

local function arn_of(ctx, name)
  return ("arn:%s:scheduler:%s:%s:schedule-group/%s"):format(ctx.partition, ctx.region,
    ctx.account, name)
end

-- The group of that name and its tags: group | nil | nil, err.
local function look(ctx, name)
  local scheduler = ctx:aws "scheduler"
  local group, failure = support.absent_if_missing(scheduler:get_schedule_group { Name = name })
  if not group or group.State == "DELETING" then return nil, failure end
  local answer, refused = support.absent_if_missing(
    scheduler:list_tags_for_resource { ResourceArn = group.Arn })
  if not answer then return nil, refused end
  group.tags = support.tags_of(answer.Tags)
  return group
end

local function live_of(group)
  return { id = group.Name, group_name = group.Name, arn = group.Arn, made_at = group.CreationDate }
end

local function read(ctx, res)
  local group, failure = look(ctx, name_of(ctx, res))
  if not group then return nil, failure end
  if not support.is_ours(ctx, group.tags) then
    return nil, support.stranger(res, "schedule group " .. group.Name)
  end
  return live_of(group)
end

-- A group of that name may still be on its way out with its schedules.
local function is_leaving(failure)
  return failure.code == "ConflictException" and not failure.sent
end

local function create(ctx, res, _, token)
  local name = name_of(ctx, res)
  local answer, failure = support.insist(ctx, res, 180, is_leaving, function ()
    return ctx:aws("scheduler"):create_schedule_group { Name = name, ClientToken = token,
      Tags = support.tag_list(ctx:tags_for(res)) }
  end)
  if not answer then return nil, failure end
  return { id = name, group_name = name, arn = answer.ScheduleGroupArn }
end

-- Gone with all its schedules; AWS takes them away one by one meanwhile.
local function delete(ctx, item)
  local scheduler = ctx:aws "scheduler"
  local done, failure = support.delete(ctx, item, function ()
    return scheduler:delete_schedule_group { Name = item.id }
  end, { look = function () return look(ctx, item.id) end })
  if not done then return nil, failure end
  if ctx.ledger then ctx.ledger:note "lease" end -- it ends nothing from now on
  return support.wait({ ctx = ctx, res = item, every = 5, limit = 600, what = "deleted" },
    function ()
      local group, refused = support.absent_if_missing(
        scheduler:get_schedule_group { Name = item.id })
      if refused then return nil, refused end
      return group == nil, group and group.State
    end)
end

local function find(ctx)
  local list, failure = ctx:aws("scheduler"):all("list_schedule_groups",
    { NamePrefix = (ctx.deployment .. "-"):sub(1, 64) })
  if not list then return nil, failure end
  local found = {}
  for _, one in ipairs(list) do
    local group, refused = look(ctx, one.Name)
    if refused then return nil, refused end
    if group and support.is_ours(ctx, group.tags) then
      found[#found + 1] = { id = group.Name, outputs = live_of(group),
        name = (group.tags["rtl:resource"] or ""):match("/(.*)$") }
    end
  end
  return found
end

return kind.define {
  name = "schedule_group",
  outputs = { "group_name", "arn" },
  fields = {},
  known = function (ctx, res)
    local name = name_of(ctx, res)
    return { group_name = name, arn = arn_of(ctx, name) }
  end,
  read = read,
  create = create,
  delete = delete,
  tokened = true,
  ready = { usual = 1, delete_usual = 5 },
  depends = {},
  find = find,
  -- Deleting a group is allowed only to those who may delete the schedules in it.
  actions = {
    "scheduler:ListScheduleGroups",
    { "scheduler:GetScheduleGroup", "scheduler:ListTagsForResource",
      on = "schedule-group/{deployment}-*" },
    { "scheduler:CreateScheduleGroup", "scheduler:TagResource",
      new = "schedule-group/{group_name}" },
    { "scheduler:DeleteScheduleGroup", ours = "schedule-group/{group_name}" },
    { "scheduler:DeleteSchedule", on = "schedule/{group_name}/*" },
  },
}
