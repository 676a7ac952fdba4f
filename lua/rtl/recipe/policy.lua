--- `--policy`: the least IAM policy for what a recipe makes and a teardown of it removes.

local array = require "rtl.array"
local json = require "rtl.native.json"
local plan = require "rtl.plan"

local M = {}

-- What steps call beside their resources, and the run itself.
local function more_actions(run)
  local more = { require("rtl.kinds.account_lock").actions }
  for _, step in ipairs(run.recipe.steps) do
    local actions = step.actions
    more[#more + 1] = type(actions) == "function" and actions(run) or actions
  end
  return more
end

--- The documents for the resources that the run's steps declared: array, as rtl.plan.policy makes
-- them.
function M.documents(run)
  return plan.policy.documents(run.graph, run.ctx, {
    kinds = run:all_kinds(), regions = run.settings.region, purge = run.settings.purge,
    more = more_actions(run),
  })
end

local function lines_of(documents)
  local lines = {}
  for _, document in ipairs(documents) do
    for line in json.encode(document, { pretty = true }):gmatch("[^\n]+") do
      lines[#lines + 1] = line
    end
  end
  return lines
end

--- Shows the documents: nothing but JSON on standard output, so that it can go into a file.
function M.show(run)
  if not run:has_aws() then
    return run:fail { code = "RTL-SET-006", doing = "make an IAM policy", exit = "usage",
      message = "this run has a kubeconfig and no AWS account" }
  end
  local documents = M.documents(run)
  run:emit { type = "policy", documents = array(documents), limit = plan.policy.LIMIT }
  run:emit { type = "text", lines = lines_of(documents) }
  if #documents > 1 then
    run:emit { type = "aside", text = ("rtl: %d documents, since IAM takes %d characters a managed "
      .. "policy: attach all of them"):format(#documents, plan.policy.LIMIT) }
  end
end

return M
