--- A group of capacity reservations (Resource Groups): launch templates name it instead of one
-- reservation, so that replacements still start, as ordinary On-Demand ones, after that has ended.
-- It costs nothing.
-- reservation_group "gpu" { members = { hold.arn } } → arn, group_name

local array = require "rtl.array"
local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local POOL = "AWS::EC2::CapacityReservationPool"

-- EC2 launches into a group of this make only.
local CONFIGURATION = array {
  { Type = POOL },
  { Type = "AWS::ResourceGroups::Generic", Parameters = array { {
    Name = "allowed-resource-types", Values = array { "AWS::EC2::CapacityReservation" } } } },
}

local function arn_of(ctx, name)
  return ("arn:%s:resource-groups:%s:%s:group/%s"):format(ctx.partition, ctx.region, ctx.account,
    name)
end

local function groups(ctx)
  return ctx:aws "resource_groups"
end

local function members_of(ctx, name)
  local list, failure = groups(ctx):all("list_group_resources", { Group = name })
  if not list then return nil, failure end
  local arns = {}
  for i, one in ipairs(list) do arns[i] = one.ResourceArn end
  table.sort(arns)
  return arns
end

-- The tags of a group; nil where it is gone meanwhile.
local function tags_of(ctx, arn)
  local answer, failure = support.absent_if_missing(groups(ctx):get_tags { Arn = arn })
  return answer and (answer.Tags or {}), failure
end

local function read(ctx, res)
  local name = ctx:own_name(res)
  local answer, failure = support.absent_if_missing(groups(ctx):get_group { Group = name })
  if not answer then return nil, failure end
  local arn = answer.Group.GroupArn
  local tags, refused = tags_of(ctx, arn)
  if not tags then return nil, refused end
  if not support.is_ours(ctx, tags) then
    return nil, support.stranger(res, "resource group " .. name)
  end
  local members, unread = support.absent_if_missing(members_of(ctx, name))
  if not members then return nil, unread end
  return { id = name, group_name = name, arn = arn, members = members }
end

local function lacking(wanted, have)
  local there, list = {}, array {}
  for _, arn in ipairs(have) do there[arn] = true end
  for _, arn in ipairs(wanted or {}) do
    if not there[arn] then list[#list + 1] = arn end
  end
  return list
end

-- What is wanted must be in it. What else is in it has ended or will: it takes no launches then.
local function diff(_, _, f, live)
  if #lacking(f.members, live.members or {}) == 0 then return {} end
  return { { field = "members", want = f.members, have = live.members } }
end

-- A reservation that was just made may not be known here yet.
local function passing(failure)
  return failure.code == "NotFoundException" or failure.code == "RESOURCE_NOT_FOUND"
end

-- Puts reservations in. One that is refused is told in an answer of its own.
local function put(ctx, res, name, arns)
  if #arns == 0 then return true end
  return support.insist(ctx, res, 60, passing, function ()
    local answer, failure = groups(ctx):group_resources { Group = name, ResourceArns = arns }
    if not answer then return nil, failure end
    local refused = (answer.Failed or {})[1]
    if not refused then return true end
    return err.fail { code = refused.ErrorCode or "RTL-PLAN-017", doing = res.key,
      message = ("%s can't be put into group %s: %s"):format(refused.ResourceArn, name,
        refused.ErrorMessage or "no reason given") }
  end)
end

local function create(ctx, res, f)
  local name = ctx:own_name(res)
  local answer, failure = groups(ctx):create_group { Name = name, Tags = ctx:tags_for(res),
    Description = "Capacity held for " .. ctx.deployment, Configuration = CONFIGURATION }
  local live = { id = name, group_name = name, arn = arn_of(ctx, name), members = {} }
  if not answer then
    local there = failure.code == "BadRequestException" and read(ctx, res)
    if not there then return nil, failure end
    live = there
  end
  local done, refused = put(ctx, res, name, lacking(f.members, live.members))
  if not done then return nil, refused, live end
  return live
end

local function update(ctx, res, f, live)
  return put(ctx, res, live.id, lacking(f.members, live.members or {}))
end

-- Members that wait to be put in count as in when they are listed.
local function wait(ctx, res, f, live)
  return support.wait({ ctx = ctx, res = res, every = 3, limit = 120, what = "members" },
    function ()
      local members, failure = members_of(ctx, live.id)
      if not members and not support.not_found(failure) then return nil, failure end
      local missing = lacking(f.members, members or {})
      if #missing > 0 then return false, missing[1] .. " is not in it yet" end
      live.members = members
      return live
    end)
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return groups(ctx):delete_group { Group = item.id }
  end, { look = function ()
    return support.absent_if_missing(groups(ctx):get_group { Group = item.id })
  end })
end

-- Only groups whose name begins as ours do are looked at: no right is needed on others'.
local function find(ctx)
  local list, failure = groups(ctx):all("list_groups", { Filters = array { {
    Name = "configuration-type", Values = array { POOL } } } })
  if not list then return nil, failure end
  local found = {}
  for _, one in ipairs(list) do
    local named = one.GroupName:sub(1, #ctx.deployment + 1) == ctx.deployment .. "-"
    local tags, refused
    if named then tags, refused = tags_of(ctx, one.GroupArn) end
    if refused then return nil, refused end
    if tags and support.is_ours(ctx, tags) then
      found[#found + 1] = { id = one.GroupName, outputs = { arn = one.GroupArn },
        name = (tags["rtl:resource"] or ""):match("/(.*)$") or one.GroupName }
    end
  end
  return found
end

return kind.define {
  name = "reservation_group",
  outputs = { "arn", "group_name" },
  fields = { members = "list?" },
  known = function (ctx, res)
    local name = ctx:own_name(res)
    return { group_name = name, arn = arn_of(ctx, name) }
  end,
  read = read,
  diff = diff,
  create = create,
  update = update,
  delete = delete,
  ready = { wait = wait, usual = 3, delete_usual = 2 },
  depends = { "capacity_reservation" },
  find = find,
  actions = { "resource-groups:ListGroups",
    { "resource-groups:GetGroup", "resource-groups:GetTags", "resource-groups:ListGroupResources",
      on = "group/{deployment}-*" },
    { "resource-groups:CreateGroup", new = "*" }, -- takes no resource
    { "resource-groups:GroupResources", "resource-groups:DeleteGroup", ours = "group/*" },
    { "resource-groups:Tag", on = "group/{group_name}" },
  },
}
