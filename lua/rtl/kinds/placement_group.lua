--- A cluster placement group; only when asked for.
-- placement_group "gpu" {} → group_name, arn

local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local SPEC = { op = "describe_placement_groups", items = "PlacementGroups", id = "GroupName",
  id_filter = "group-name", paged = false,
  gone = function (item) return item.State == "deleted" or item.State == "deleting" end }

local function live_of(item)
  return { id = item.GroupName, group_name = item.GroupName, arn = item.GroupArn,
    strategy = item.Strategy, state = item.State }
end

local function read(ctx, res)
  local name = res.given or ctx:own_name(res)
  local list, failure = support.list(ctx, SPEC, { support.filter("group-name", name) })
  if not list then return nil, failure end
  local item = list[1]
  if not item or SPEC.gone(item) then return nil end
  if not res.given and not support.is_ours(ctx, support.tags_of(item.Tags)) then
    return nil, support.stranger(res, "placement group " .. name)
  end
  return live_of(item)
end

local function create(ctx, res)
  local name = ctx:own_name(res)
  local answer, failure = ctx:aws("ec2"):create_placement_group { GroupName = name,
    Strategy = "cluster",
    TagSpecifications = support.tag_specifications(ctx, res, "placement-group") }
  if not answer and failure.code == "InvalidPlacementGroup.Duplicate" then return read(ctx, res) end
  if not answer then return nil, failure end
  return { id = name, group_name = name, arn = answer.PlacementGroup
    and answer.PlacementGroup.GroupArn }
end

-- Fails while instances are shutting down in it, or a reservation sits in it.
local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):delete_placement_group { GroupName = item.id }
  end, { spec = SPEC })
end

local function find(ctx)
  return support.find(ctx, SPEC, live_of)
end

return kind.define {
  name = "placement_group",
  outputs = { "group_name", "arn" },
  fields = {},
  known = function (ctx, res) return { group_name = res.given or ctx:own_name(res) } end,
  read = read,
  -- One of another strategy spreads what is to stand together.
  diff = function (_, res, _, live)
    if not res.given or live.strategy == "cluster" then return {} end
    return { { field = "strategy", want = "cluster", have = live.strategy } }
  end,
  create = create,
  delete = delete,
  tokened = true,
  ready = { usual = 2, delete_usual = 30 },
  find = find,
  actions = {
    "ec2:DescribePlacementGroups",
    { "ec2:CreatePlacementGroup", new = "placement-group/*" },
    { "ec2:DeletePlacementGroup", ours = "placement-group/*" },
    { "ec2:RunInstances", ours = "placement-group/*", when = support.BY_TEMPLATE },
  },
}
