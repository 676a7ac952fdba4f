--- A subnet in one zone, named by zone id (zone names differ from account to account).
-- subnet "private-a" { vpc_id = v.id, zone_id = "use2-az2", cidr = "10.42.64.0/18" }
-- public = true: instances get a public address; the route decides what is really reachable.

local kind = require "rtl.plan.kind"
local leftover = require "rtl.kinds.leftover"
local support = require "rtl.kinds.support"

local SPEC = { op = "describe_subnets", items = "Subnets", id = "SubnetId",
  id_filter = "subnet-id" }

local function live_of(item)
  return { id = item.SubnetId, cidr = item.CidrBlock, vpc_id = item.VpcId,
    zone_id = item.AvailabilityZoneId, zone_name = item.AvailabilityZone, state = item.State,
    public = item.MapPublicIpOnLaunch or false, free = item.AvailableIpAddressCount }
end

local function read(ctx, res)
  local item, failure = support.look_up(ctx, res, SPEC)
  if not item then return nil, failure end
  return live_of(item)
end

local function set_public(ctx, res, id, value)
  return support.insist(ctx, res, 120, support.not_found, function ()
    return ctx:aws("ec2"):modify_subnet_attribute {
      SubnetId = id, MapPublicIpOnLaunch = { Value = value } }
  end)
end

local function tags(ctx, res, f)
  local specifications = support.tag_specifications(ctx, res, "subnet")
  local role = f.public and "kubernetes.io/role/elb" or "kubernetes.io/role/internal-elb"
  table.insert(specifications[1].Tags, { Key = role, Value = "1" })
  return specifications
end

local function create(ctx, res, f)
  local answer, failure = support.insist(ctx, res, 120, support.not_found, function ()
    return ctx:aws("ec2"):create_subnet { VpcId = f.vpc_id, CidrBlock = f.cidr,
      AvailabilityZoneId = f.zone_id, TagSpecifications = tags(ctx, res, f) }
  end)
  if not answer then return nil, failure end
  local live = live_of(answer.Subnet)
  local public = f.public or false
  if live.public ~= public then
    local done, refused = set_public(ctx, res, live.id, public)
    if not done then return nil, refused, live end
    live.public = public
  end
  return live
end

local function wait(ctx, res, _, live)
  return support.wait({ ctx = ctx, res = res, every = 2, limit = 300 }, function ()
    local list, failure = support.list(ctx, SPEC, { support.filter("subnet-id", live.id) })
    if not list then return nil, failure end
    local item = list[1]
    if item and item.State == "available" then return live_of(item) end
    return false, item and item.State or "not visible yet"
  end)
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):delete_subnet { SubnetId = item.id }
  end, { spec = SPEC, clear = function () leftover.clear(ctx, "subnet-id", item.id) end,
    blockers = function () return leftover.blockers(ctx, "subnet-id", item.id) end })
end

return kind.define {
  name = "subnet",
  outputs = { "id", "cidr", "vpc_id", "zone_id", "zone_name" },
  fields = { vpc_id = "string", zone_id = "string", cidr = "string", public = "boolean?" },
  identity = { "zone_id", "cidr" },
  within = { "vpc_id" },
  read = read,
  compare = { "vpc_id", "zone_id", "cidr", "public" },
  replace_when = { "vpc_id", "zone_id", "cidr" },
  replaceable = false,
  known = function (_, res) return { zone_id = res.fields.zone_id, cidr = res.fields.cidr } end,
  create = create,
  update = function (ctx, res, f, live) return set_public(ctx, res, live.id, f.public) end,
  delete = delete,
  ready = { wait = wait, usual = 3, delete_usual = 3 },
  depends = { "vpc" },
  find = function (ctx) return support.find(ctx, SPEC, live_of) end,
  actions = {
    "ec2:DescribeSubnets",
    { "ec2:CreateSubnet", new = "subnet/*", uses = "vpc/{vpc_id}" },
    { "ec2:ModifySubnetAttribute", "ec2:DeleteSubnet", ours = "subnet/*" },
  },
}
