--- A cluster of others in which a deployment stands. What rtl made in it does not go with it, so a
-- teardown must know it, also when it is told only the deployment's name.

local array = require "rtl.array"
local keys = require "rtl.keys"
local settings = require "rtl.recipe.settings"

local M = {}

-- By the ledger: whatever was made in a cluster has its name.
local function by_ledger(ctx)
  for _, entry in keys.pairs(ctx.ledger and ctx.ledger:state() or {}) do
    local cluster = entry.outputs and entry.outputs.cluster
    if cluster and cluster ~= ctx.deployment then return cluster end
  end
end

-- By tags: the ARN of whatever stands in a cluster has its name, "…:nodegroup/CLUSTER/NAME/ID".
local function by_tags(ctx)
  local list = assert(ctx:aws("tagging"):all("get_resources", {
    TagFilters = array { { Key = "rtl:deployment", Values = array { ctx.deployment } } },
    ResourceTypeFilters = array { "eks" } }))
  for _, item in ipairs(list) do
    local cluster = item.ResourceARN:match(":%l[%l-]*/([^/]+)/")
    if cluster and cluster ~= ctx.deployment then return cluster end
  end
end

--- Finds the given cluster of the run's deployment by the setting, the ledger or tags; the run's
-- context and its Kubernetes client then know it. Nothing happens where there is none.
function M.enter(run)
  if not run:has_aws() then return end
  local set = settings.optional(run.settings, "use_cluster") or ""
  local name = set ~= "" and set or by_ledger(run.ctx) or by_tags(run.ctx)
  run.ctx.given_cluster, run.link.cluster = name, name
end

return M
