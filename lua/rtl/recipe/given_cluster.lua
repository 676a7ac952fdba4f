--- A cluster of others in which a deployment stands. What rtl made in it does not go with it, so a
-- teardown must know it, also when it is told only the deployment's name.

local array = require "rtl.array"
local settings = require "rtl.recipe.settings"
local value = require "rtl.recipe.value"

local M = {}

local function set_name(run)
  return value.given(settings.optional(run.settings, "use_cluster"))
end

--- Notes the given cluster of a run in the ledger, before anything is put into it.
function M.note(run)
  local name, ledger = set_name(run), run.ctx.ledger
  if not name or not ledger then return end
  local notes = ledger:notes "given_cluster"
  if #notes > 0 and notes[#notes].name == name then return end
  assert(ledger:note("given_cluster", { name = name }))
end

local function by_ledger(ctx)
  local notes = ctx.ledger and ctx.ledger:notes "given_cluster" or {}
  return #notes > 0 and notes[#notes].name or nil
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
  local name = set_name(run) or by_ledger(run.ctx) or by_tags(run.ctx)
  run.ctx.given_cluster, run.link.cluster = name, name
end

return M
