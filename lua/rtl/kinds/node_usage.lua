--- What the nodes of a node group used: how long each stood, and what it pulled through the NAT.

local clock = require "rtl.clock"
local support = require "rtl.kinds.support"

local M = {}

-- When an instance began to end: "User initiated (2026-12-01 10:00:00 GMT)".
local function end_of(instance)
  local day, time = (instance.StateTransitionReason or ""):match("%((%S+) (%S+) GMT%)")
  return day and clock.parse_iso(day .. "T" .. time .. "Z") or nil
end

local ENDING = { ["shutting-down"] = true, terminated = true, stopping = true, stopped = true }

-- The instances of the group, from launch to the beginning of their end; what has ended stays
-- visible for about an hour.
local function spans_of(ctx, item)
  local list = ctx:aws("ec2"):all("describe_instances", { Filters = {
    support.filter("tag:eks:cluster-name", item.outputs.cluster),
    support.filter("tag:eks:nodegroup-name", item.id) } })
  local spans = {}
  for _, reservation in ipairs(list or {}) do
    for _, one in ipairs(reservation.Instances or { reservation }) do
      local ending = ENDING[(one.State or {}).Name]
      spans[#spans + 1] = one.LaunchTime and { id = one.InstanceId, since = one.LaunchTime,
        till = ending and end_of(one) or nil, within = one.CapacityReservationId } or nil
    end
  end
  return list and spans
end

local ZONE_ID = "topology.k8s.aws/zone-id"

-- Layers of the region's own registry come by the S3 endpoint, and some images with the machine.
local function crosses_nat(name)
  return not name:find("%.dkr%.ecr%.") and not name:find("^localhost/")
end

-- The GB of images that the nodes pulled through the NAT gateway; nodes report the packed size.
local function pulls_of(ctx, item)
  local client = ctx:k8s()
  local list = client and client:list("Node", { labels = "eks.amazonaws.com/nodegroup="
    .. item.id })
  local pulls = {}
  for _, node in ipairs(list and list.items or {}) do
    for _, image in ipairs(node.status.images or {}) do
      local name = image.names and image.names[1] or "?"
      if crosses_nat(name) then
        pulls[#pulls + 1] = { id = node.metadata.name .. " " .. name,
          count = (image.sizeBytes or 0) / 1e9, place = node.metadata.labels[ZONE_ID] }
      end
    end
  end
  return list and pulls
end

--- What the nodes of a group used, for its receipt: { spans = {{id, since, till, within}},
-- counted = {{id, count = GB of images, place}} }.
function M.of(ctx, item)
  return { spans = spans_of(ctx, item), counted = pulls_of(ctx, item) }
end

return M
