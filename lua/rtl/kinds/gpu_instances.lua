--- A check on the live instances of a GPU group: zone, VPC, security groups and interface types are
-- what was asked for. An instance without its EFA interface runs, and trains over TCP.
-- gpu_instances "gpu" { cluster = c.cluster_name, group = g.group_name, count = 2,
--   instance_type = "g6.12xlarge", vpc_id = v.id, subnet_id = s.id, security_groups = { … } }
-- → instance_ids
local array = require "rtl.array"
local err = require "rtl.err"
local instances = require "rtl.kinds.instances"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local function list_instances(ctx, f)
  local reservations, failure = ctx:aws("ec2"):all("describe_instances", { Filters = array {
    support.filter("tag:eks:cluster-name", f.cluster),
    support.filter("tag:eks:nodegroup-name", f.group),
    support.filter("instance-state-name", "pending", "running") } })
  if not reservations then return nil, failure end
  local list = {}
  for _, reservation in ipairs(reservations) do
    for _, instance in ipairs(reservation.Instances or {}) do list[#list + 1] = instance end
  end
  return list
end

local function has_group(interface, id)
  for _, group in ipairs(interface.Groups or {}) do
    if group.GroupId == id then return true end
  end
  return false
end

-- How many of the interfaces can do EFA; types that EC2 answers as "efa" and "efa-only".
local function efa_count(instance)
  local count = 0
  for _, interface in ipairs(instance.NetworkInterfaces or {}) do
    local kind_name = interface.InterfaceType
    if kind_name == "efa" or kind_name == "efa-only" then count = count + 1 end
  end
  return count
end

local function wanted_efa(f)
  return f.efa or instances.of(f.instance_type).efa
end

local CHECKS = {
  { "type", function (i, f) return i.InstanceType, f.instance_type end },
  { "VPC", function (i, f) return i.VpcId, f.vpc_id end },
  { "zone", function (i, f)
    local placement = i.Placement or {}
    return placement.AvailabilityZoneId or f.zone_id, f.zone_id -- older answers have the name only
  end },
  { "subnet", function (i, f) return i.SubnetId, f.subnet_id end },
  { "EFA interfaces", function (i, f) return efa_count(i), wanted_efa(f) end },
}

-- The first thing that is not as asked for, as a text; nil when all is.
local function wrong(instance, f)
  for _, check in ipairs(CHECKS) do
    local have, want = check[2](instance, f)
    if want ~= nil and have ~= want then
      return ("%s: %s is %s, wanted %s"):format(instance.InstanceId, check[1], tostring(have),
        tostring(want))
    end
  end
  for _, interface in ipairs(instance.NetworkInterfaces or {}) do
    for _, id in ipairs(f.security_groups or {}) do
      if not has_group(interface, id) then
        return ("%s: interface %s lacks security group %s"):format(instance.InstanceId,
          interface.NetworkInterfaceId, id)
      end
    end
  end
end

local function read(ctx, _, f)
  local list, failure = list_instances(ctx, f)
  if not list then return nil, failure end
  if #list ~= f.count then return nil end
  local ids = {}
  for _, instance in ipairs(list) do
    if wrong(instance, f) then return nil end
    ids[#ids + 1] = instance.InstanceId
  end
  table.sort(ids)
  return { id = table.concat(ids, ","), instance_ids = ids }
end

local function create(ctx, res, f)
  return support.wait({ ctx = ctx, res = res, every = 10, limit = 300, what = "instances" },
    function ()
      local live, failure = read(ctx, res, f)
      if live or failure then return live, failure end
      local list = list_instances(ctx, f) or {}
      for _, instance in ipairs(list) do
        local text = wrong(instance, f)
        if text and instance.State and instance.State.Name == "running" then
          return nil, err.new { code = "RTL-PLAN-019", doing = res.key, message = text,
            hint = "EFA works within one subnet, with the group that names itself, on each card" }
        end
      end
      return false, ("%d of %d instances"):format(#list, f.count)
    end)
end

return kind.define {
  name = "gpu_instances",
  outputs = { "instance_ids" },
  fields = { cluster = "string", group = "string", count = "integer", instance_type = "string",
    vpc_id = "string?", zone_id = "string?", subnet_id = "string?", security_groups = "list?",
    efa = "integer?" },
  within = { "cluster", "group" },
  reads_with = { "cluster", "group", "vpc_id", "subnet_id", "security_groups" },
  read = read,
  create = create,
  ephemeral = true,
  ready = { usual = 5 },
  actions = { "ec2:DescribeInstances" },
}
