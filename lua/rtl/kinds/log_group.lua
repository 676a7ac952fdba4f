--- The log group of a cluster's control plane. It outlives the cluster and may come back while the
-- control plane still writes: data, kept and listed, or deleted with --purge. Never made by rtl.

local kind = require "rtl.plan.kind"
local pricing = require "rtl.kinds.pricing"
local support = require "rtl.kinds.support"

local function find_inside(ctx, found)
  local all, seen = {}, {}
  for _, item in ipairs(found) do
    if item.kind_name == "eks_cluster" and item.id and not seen[item.id] then
      seen[item.id] = true
      local name = ("/aws/eks/%s/cluster"):format(item.id)
      local list, failure = ctx:aws("logs"):all("describe_log_groups",
        { logGroupNamePrefix = name })
      if not list then return nil, failure end
      for _, group in ipairs(list) do
        if group.logGroupName == name then
          local gib = (group.storedBytes or 0) / 2 ^ 30
          all[#all + 1] = { id = name, name = item.id,
            hourly = pricing.storage(ctx, "logs_gb_month", gib) }
        end
      end
    end
  end
  return all
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("logs"):delete_log_group { logGroupName = item.id }
  end)
end

return kind.define {
  name = "log_group",
  strays = true,
  delete = delete,
  data = true,
  depends = {},
  find_inside = find_inside,
  actions = {
    "logs:DescribeLogGroups",
    { "logs:DeleteLogGroup", on = "log-group:/aws/eks/{deployment}/cluster*", purge = true },
  },
}
