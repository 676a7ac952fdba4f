--- A VPC with DNS support and DNS host names (EKS wants both).
-- vpc "main" { cidr = "10.42.0.0/16" } → id, cidr

local kind = require "rtl.plan.kind"
local leftover = require "rtl.kinds.leftover"
local support = require "rtl.kinds.support"

local SPEC = { op = "describe_vpcs", items = "Vpcs", id = "VpcId", id_filter = "vpc-id" }
local ATTRIBUTES = { dns_support = "EnableDnsSupport", dns_hostnames = "EnableDnsHostnames" }

local function attribute(ctx, id, field)
  local member = ATTRIBUTES[field]
  local answer, failure = ctx:aws("ec2"):describe_vpc_attribute {
    VpcId = id, Attribute = member:sub(1, 1):lower() .. member:sub(2) }
  if not answer then return nil, failure end
  return answer[member] and answer[member].Value or false
end

local function live_of(ctx, item)
  local live = { id = item.VpcId, cidr = item.CidrBlock, state = item.State }
  for _, field in ipairs { "dns_support", "dns_hostnames" } do
    local value, failure = attribute(ctx, live.id, field)
    if value == nil then return nil, failure end
    live[field] = value
  end
  return live
end

local function read(ctx, res)
  local item, failure = support.look_up(ctx, res, SPEC)
  if not item then return nil, failure end
  return live_of(ctx, item)
end

-- One attribute a call; reading them back is the next read's work.
local function set_attributes(ctx, res, id, live)
  for _, field in ipairs { "dns_support", "dns_hostnames" } do
    if not (live and live[field]) then
      local done, failure = support.insist(ctx, res, 120, support.not_found, function ()
        return ctx:aws("ec2"):modify_vpc_attribute {
          VpcId = id, [ATTRIBUTES[field]] = { Value = true } }
      end)
      if not done then return nil, failure end
    end
  end
  return true
end

local function diff(_, _, f, live)
  local changes = {}
  if f.cidr and f.cidr ~= live.cidr then
    changes[1] = { field = "cidr", want = f.cidr, have = live.cidr }
  end
  for _, field in ipairs { "dns_support", "dns_hostnames" } do
    if not live[field] then
      changes[#changes + 1] = { field = field, want = true, have = false }
    end
  end
  return changes
end

local function create(ctx, res, f)
  local answer, failure = ctx:aws("ec2"):create_vpc {
    CidrBlock = f.cidr, TagSpecifications = support.tag_specifications(ctx, res, "vpc") }
  if not answer then return nil, failure end
  local id = answer.Vpc.VpcId
  local done, refused = set_attributes(ctx, res, id)
  if not done then return nil, refused, { id = id, cidr = f.cidr } end
  return { id = id, cidr = f.cidr }
end

local function wait(ctx, res, _, live)
  return support.wait({ ctx = ctx, res = res, every = 2, limit = 300 }, function ()
    local list, failure = support.list(ctx, SPEC, { support.filter("vpc-id", live.id) })
    if not list then return nil, failure end
    local item = list[1]
    if item and item.State == "available" then return { id = live.id, cidr = item.CidrBlock } end
    return false, item and item.State or "not visible yet"
  end)
end

-- EC2 does not say what stands in a VPC: groups and interfaces of others, mostly.
local function blockers(ctx, id)
  local names = leftover.blockers(ctx, "vpc-id", id)
  local groups = support.list(ctx, { op = "describe_security_groups" },
    { support.filter("vpc-id", id) }) or {}
  for _, group in ipairs(groups) do
    if group.GroupName ~= "default" then
      names[#names + 1] = ("%s (%s)"):format(group.GroupId, group.GroupName)
    end
  end
  return names
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):delete_vpc { VpcId = item.id }
  end, { spec = SPEC, blockers = function () return blockers(ctx, item.id) end })
end

return kind.define {
  name = "vpc",
  outputs = { "id", "cidr" },
  fields = { cidr = "string" },
  identity = { "cidr" },
  read = read,
  diff = diff,
  replace_when = { "cidr" },
  replaceable = false,
  create = create,
  update = function (ctx, res, _, live) return set_attributes(ctx, res, live.id, live) end,
  delete = delete,
  ready = { wait = wait, usual = 3, delete_usual = 3 },
  find = function (ctx)
    return support.find(ctx, SPEC, function (item) return { cidr = item.CidrBlock } end)
  end,
  actions = {
    "ec2:DescribeVpcs",
    { "ec2:DescribeVpcAttribute", on = "vpc/*" },
    { "ec2:CreateVpc", new = "vpc/*" },
    { "ec2:ModifyVpcAttribute", "ec2:DeleteVpc", ours = "vpc/*" },
  },
}
