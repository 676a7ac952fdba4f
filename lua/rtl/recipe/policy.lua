--- `--policy`: the least IAM policy for what a recipe makes and a teardown of it removes.

local array = require "rtl.array"
local err = require "rtl.err"
local foresight = require "rtl.kinds.foresight"
local iam_forms = require "rtl.kinds.iam_forms"
local json = require "rtl.native.json"
local plan = require "rtl.plan"
local settings = require "rtl.recipe.settings"
local text = require "rtl.recipe.text"

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

local function options_of(run)
  return { forms = iam_forms, kinds = run:all_kinds(), regions = run.settings.region,
    purge = run.settings.purge, more = more_actions(run) }
end

--- The documents for the resources that the run's steps declared, and for the caller to ask IAM
-- about itself: array, as rtl.plan.policy makes them.
function M.documents(run)
  local options = options_of(run)
  table.insert(options.more, foresight.actions(run.ctx, run.link.caller))
  return plan.policy.documents(run.graph, run.ctx, options)
end

local MOST = 20 -- missing rights that are listed

local function place_of(one)
  return one.resource == "*" and "" or " on " .. one.resource
end

local function lacking_error(lacking)
  local problems = {}
  for i = 1, math.min(#lacking, MOST) do
    local one = lacking[i]
    problems[i] = { message = one.action .. place_of(one)
      .. (one.by ~= "identity-based policy" and ": the " .. one.by or "") }
  end
  if #lacking > MOST then
    problems[MOST + 1] = { message = ("and %d more"):format(#lacking - MOST) }
  end
  return err.new { code = "RTL-PLAN-025", exit = "refused", problems = problems,
    denied = lacking[1], message = ("the caller lacks %s that the plan or its teardown needs")
      :format(text.count(#lacking, "right")),
    hint = "--no-check-rights goes on without asking IAM beforehand" }
end

--- Asks IAM whether the caller may do all that the plan needs, where the caller may ask and the
-- setting check_rights says so. Raises RTL-PLAN-025 with all that is surely lacking.
function M.check(run)
  if not (run:has_aws() and settings.optional(run.settings, "check_rights")) then return end
  run:progress("asking IAM about the caller's rights")
  local statements = plan.policy.statements(run.graph, run.ctx, options_of(run))
  local lacking, why = foresight.lacking(run.ctx, run.link.caller, statements)
  if not lacking then
    run:note("the caller's rights were not checked beforehand: " .. why)
  elseif #lacking > 0 then
    error(lacking_error(lacking), 0)
  end
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
