--- What the EKS kinds share: health as a text, updates followed to their end, deletes waited for.

local err = require "rtl.err"
local next_steps = require "rtl.kinds.health_issues"
local support = require "rtl.kinds.support"

local M = {}

--- What EKS finds wrong with a cluster, an add-on or a node group: a text and the first issue; nil
-- when there is nothing.
function M.issues(thing)
  local list, texts = thing.health and thing.health.issues or {}, {}
  for i, issue in ipairs(list) do texts[i] = ("%s: %s"):format(issue.code, issue.message or "") end
  if texts[1] then return table.concat(texts, "; "), list[1] end
end

--- The error of a thing that EKS gave up on: `what` happened to it, EKS' own reason, the next step.
function M.gave_up(res, what, thing)
  local text, issue = M.issues(thing)
  return err.new { code = "RTL-PLAN-017", doing = res.key, hint = issue and next_steps[issue.code],
    message = ("%s: %s"):format(what, text or "no reason given") }
end

--- Whether a refusal says that another change of the same thing is under way.
function M.busy(failure)
  return failure.code == "ResourceInUseException"
end

-- What EKS says while IAM has not told it of a new role yet. Other such texts are final.
local ROLE_TEXTS = { "error in role params", "could not be assumed", "does not exist",
  "doesn't have the amazon eks managed policies", "iam role's policy must include" }

--- Whether a refusal means that EKS does not see a new role yet: worth another try.
function M.role_not_seen(failure)
  if failure.code ~= "InvalidParameterException" then return false end
  local text = failure.message:lower()
  for _, part in ipairs(ROLE_TEXTS) do
    if text:find(part, 1, true) then return true end
  end
  return false
end

--- Sends an update when EKS takes one (one at a time), and follows it to its end: true | nil, err.
-- `act()` sends it; `where`: what it is an update of, for DescribeUpdate ({ name = cluster,
-- addonName = or nodegroupName = }).
function M.update(ctx, res, where, act)
  local answer, failure = support.insist(ctx, res, 1200, M.busy, act)
  if not answer then return nil, failure end
  where.updateId = answer.update.id
  return support.wait({ ctx = ctx, res = res, every = 10, limit = 3600, what = "update" },
    function ()
      local now, refused = ctx:aws("eks"):describe_update(where)
      if not now then return nil, refused end
      if now.update.status == "Successful" then return true end
      if now.update.status == "InProgress" then return false, "update in progress" end
      local problem = now.update.errors and now.update.errors[1] or {}
      return nil, err.new { code = problem.errorCode or "RTL-PLAN-017", doing = res.key,
        message = problem.errorMessage or "the update is " .. now.update.status,
        hint = next_steps[problem.errorCode or ""] }
    end)
end

--- Waits until a thing that is being deleted is gone: true | nil, err. `look()` gives what EKS says
-- of it, nil when there is none, or nil, err. options: every, limit (s).
function M.wait_deleted(ctx, item, look, options)
  return support.wait({ ctx = ctx, res = item, every = options.every, limit = options.limit,
    what = "deleted" }, function ()
    local thing, refused = look()
    if refused then return nil, refused end
    if thing and thing.status == "DELETE_FAILED" then
      return nil, M.gave_up(item, "DELETE_FAILED", thing)
    end
    return thing == nil, thing and (M.issues(thing) or thing.status)
  end)
end

return M
