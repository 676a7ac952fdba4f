--- Interfaces that the VPC CNI left behind in a VPC of ours: they block subnets and groups. Only
-- found and deleted, never made; one that is in use is never touched, nor AWS' own ones.

local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local function is_left(eni)
  local tags = support.tags_of(eni.TagSet)
  local cni = (eni.Description or ""):match("^aws%-K8S%-")
    or tags["node.k8s.amazonaws.com/instance_id"] or tags["cluster.k8s.amazonaws.com/name"]
  return eni.Status == "available" and not eni.RequesterManaged and cni ~= nil
end

local function left_in(ctx, vpc_id)
  local list, failure = ctx:aws("ec2"):all("describe_network_interfaces", { Filters = {
    support.filter("vpc-id", vpc_id), support.filter("status", "available") } })
  if not list then return nil, failure end
  local found = {}
  for _, eni in ipairs(list) do
    if is_left(eni) then
      found[#found + 1] = { id = eni.NetworkInterfaceId, name = eni.NetworkInterfaceId,
        outputs = { vpc_id = vpc_id } }
    end
  end
  return found
end

local function find_inside(ctx, found)
  local all = {}
  for _, item in ipairs(found) do
    if item.kind_name == "vpc" and item.id then
      local list, failure = left_in(ctx, item.id)
      if not list then return nil, failure end
      table.move(list, 1, #list, #all + 1, all)
    end
  end
  return all
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):delete_network_interface { NetworkInterfaceId = item.id }
  end)
end

local function never()
  return err.fail { code = "RTL-PLAN-009", message = "network interfaces are not made by rtl" }
end

return kind.define {
  name = "network_interface",
  outputs = {},
  fields = {},
  read = function () return nil end,
  create = never,
  delete = delete,
  left_in = left_in,
  depends = { "subnet", "security_group", "vpc" },
  find_inside = find_inside,
  actions = { "ec2:DescribeNetworkInterfaces", "ec2:DeleteNetworkInterface" },
}
