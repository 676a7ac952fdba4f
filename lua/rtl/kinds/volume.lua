--- Volumes of claims in clusters of ours: data. Kept at teardown and listed with their price, or
-- deleted with --purge. Only found, never made.

local kind = require "rtl.plan.kind"
local pricing = require "rtl.kinds.pricing"
local support = require "rtl.kinds.support"

local SPEC = { op = "describe_volumes", ids = "VolumeIds" }

local function find_inside(ctx, found)
  local all, seen = {}, {}
  for _, item in ipairs(found) do
    if item.kind_name == "eks_cluster" and item.id and not seen[item.id] then
      seen[item.id] = true
      local list, failure = ctx:aws("ec2"):all("describe_volumes", { Filters = {
        support.filter("tag:kubernetes.io/cluster/" .. item.id, "owned"),
        support.filter("status", "available", "in-use", "creating") } })
      if not list then return nil, failure end
      for _, volume in ipairs(list) do
        all[#all + 1] = { id = volume.VolumeId, name = volume.VolumeId,
          hourly = pricing.storage(ctx, "gp3_gb_month", volume.Size or 0) }
      end
    end
  end
  return all
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):delete_volume { VolumeId = item.id }
  end, { spec = SPEC })
end

return kind.define {
  name = "volume",
  strays = true,
  delete = delete,
  data = true,
  find_inside = find_inside,
  actions = {
    "ec2:DescribeVolumes",
    { "ec2:DeleteVolume", on = "volume/*", purge = true, when = { StringEquals = {
      ["aws:ResourceTag/kubernetes.io/cluster/{deployment}"] = "owned" } } },
  },
}
