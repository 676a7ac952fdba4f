--- Interfaces that the VPC CNI left behind in a VPC of ours: they block subnets and groups. Only
-- found and deleted, never made; one that is in use is never touched, nor AWS' own ones.

local kind = require "rtl.plan.kind"
local leftover = require "rtl.kinds.leftover"
local support = require "rtl.kinds.support"

local SPEC = { op = "describe_network_interfaces", ids = "NetworkInterfaceIds" }

local function find_inside(ctx, found)
  local all = {}
  for _, item in ipairs(found) do
    if item.kind_name == "vpc" and item.id then
      local list, failure = leftover.interfaces(ctx, "vpc-id", item.id)
      if not list then return nil, failure end
      for _, id in ipairs(list) do
        all[#all + 1] = { id = id, name = id, outputs = { vpc_id = item.id } }
      end
    end
  end
  return all
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):delete_network_interface { NetworkInterfaceId = item.id }
  end, { spec = SPEC })
end

return kind.define {
  name = "network_interface",
  strays = true,
  delete = delete,
  depends = { "subnet", "security_group", "vpc" },
  find_inside = find_inside,
  actions = {
    "ec2:DescribeNetworkInterfaces",
    { "ec2:DeleteNetworkInterface", on = "network-interface/*", when = { StringEquals = {
      ["aws:ResourceTag/cluster.k8s.amazonaws.com/name"] = "{deployment}" } } },
  },
}
