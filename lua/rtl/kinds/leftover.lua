--- Interfaces that the VPC CNI left behind when its node went: available, and the CNI's by their
-- description or tags. They block the deletion of subnets and groups. One that is in use, or that
-- AWS itself asked for, is never touched.

local support = require "rtl.kinds.support"

local M = {}

local function is_left(eni)
  local tags = support.tags_of(eni.TagSet)
  local cni = (eni.Description or ""):match("^aws%-K8S%-")
    or tags["node.k8s.amazonaws.com/instance_id"] or tags["cluster.k8s.amazonaws.com/name"]
  return eni.Status == "available" and not eni.RequesterManaged and cni ~= nil
end

--- The ids of such interfaces where the filter (`vpc-id`, `subnet-id`, `group-id`) has the value:
-- array | nil, err.
function M.interfaces(ctx, filter, value)
  local list, failure = ctx:aws("ec2"):all("describe_network_interfaces", { Filters = {
    support.filter(filter, value), support.filter("status", "available") } })
  if not list then return nil, failure end
  local ids = {}
  for _, eni in ipairs(list) do
    if is_left(eni) then ids[#ids + 1] = eni.NetworkInterfaceId end
  end
  table.sort(ids)
  return ids
end

--- Deletes them. What can't be deleted stands in the way still, and is named by who waits for it.
function M.clear(ctx, filter, value)
  for _, id in ipairs(M.interfaces(ctx, filter, value) or {}) do
    ctx:aws("ec2"):delete_network_interface { NetworkInterfaceId = id }
  end
end

--- The interfaces of any owner where the filter has the value, as texts for an error.
function M.blockers(ctx, filter, value)
  local list = ctx:aws("ec2"):all("describe_network_interfaces",
    { Filters = { support.filter(filter, value) } }) or {}
  local names = {}
  for _, eni in ipairs(list) do
    names[#names + 1] = ("%s (%s)"):format(eni.NetworkInterfaceId, eni.Description or eni.Status)
  end
  table.sort(names)
  return names
end

return M
