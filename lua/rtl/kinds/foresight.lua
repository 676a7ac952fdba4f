--- Whether the caller may do what a plan needs, asked of IAM before anything is made: else a deploy
-- would find out when the cluster stands and bills, and a teardown when everything should go.
-- IAM's simulator looks at the caller's own policies, boundary and organization. It is not the
-- judge: what it can't tell for lack of a condition key is left to the calls themselves.

local array = require "rtl.array"
local err = require "rtl.err"
local json = require "rtl.native.json"
local keys = require "rtl.keys"
local task = require "rtl.task"

local M = {}

local AT_ONCE = 4
local PATIENCE = 30 -- seconds for all questions together

-- Why IAM was not asked, or gave no answer, in few words.
local function reason_of(failure)
  local action = err.is(failure) and failure.denied and failure.denied.action
  return action and action .. " is not allowed to the caller" or tostring(failure)
end

-- The user or role behind the caller, which is what policies hang on: ARN | nil, why not.
local function principal_of(ctx, arn)
  if arn:match(":user/") then return arn end
  local role = arn:match(":assumed%-role/([^/]+)/")
  if not role then return nil, arn .. " is neither a user nor a role" end
  local answer, failure = ctx:aws("iam"):get_role { RoleName = role }
  return answer and answer.Role.Arn, failure and reason_of(failure)
end

--- What the caller with this ARN needs to ask about itself, as a kind's `actions`; empty where its
-- user or role is not known.
function M.actions(ctx, arn)
  local principal = principal_of(ctx, arn)
  if not principal then return {} end
  local asks = { "iam:SimulatePrincipalPolicy", on = principal, optional = true }
  if principal:match ":role/" then table.insert(asks, "iam:GetRole") end
  return { asks }
end

-- Services that are asked in one region only.
local ONE_PLACE = { iam = "us-east-1", pricing = "us-east-1" }

local function entries_of(conditions, region)
  local entries = array { { ContextKeyName = "aws:RequestedRegion", ContextKeyType = "string",
    ContextKeyValues = array { region } } }
  for _, block in keys.pairs(conditions) do
    for key, value in keys.pairs(block) do
      local values = type(value) == "table" and value or { value }
      -- A key holds one value in a request; whatever the first is, the others are like it.
      entries[#entries + 1] = { ContextKeyName = key, ContextKeyType = "string",
        ContextKeyValues = array { (values[1]:gsub("%*", "x")) } }
    end
  end
  return entries
end

-- What stands for the thing of a pattern.
local function concrete(arn)
  return arn == "*" and arn or (arn:gsub("%*", "rtl-simulated"))
end

-- One question for all that has the same conditions in the same region; only the pairs of action
-- and resource that were meant count in its answer.
local function questions_of(ctx, statements)
  local list, by_key = {}, {}
  for _, statement in ipairs(statements) do
    local anywhere = statement.resources[1] == "*"
    local region = ONE_PLACE[statement.actions[1]:match("^[%w-]+")] or ctx.region
    local key = table.concat({ region, anywhere and "*" or "", json.encode(
      statement.conditions) }, " ")
    local question = by_key[key]
    if not question then
      question = { actions = {}, resources = {}, pairs = {}, anywhere = anywhere,
        region = region, conditions = statement.conditions }
      by_key[key], list[#list + 1] = question, question
    end
    for _, action in ipairs(statement.actions) do
      question.actions[action] = true
      for _, arn in ipairs(statement.resources) do
        question.resources[concrete(arn)] = true
        question.pairs[action .. " " .. concrete(arn)] = arn
      end
    end
  end
  return list
end

local function by_of(result)
  local organization, boundary = result.OrganizationsDecisionDetail,
    result.PermissionsBoundaryDecisionDetail
  if organization and organization.AllowedByOrganizations == false then
    return "service control policy"
  elseif boundary and boundary.AllowedByPermissionsBoundary == false then
    return "permissions boundary"
  end
  return "identity-based policy"
end

-- Denied for sure: a decision that no condition key could turn.
local function is_denied(decision, missing)
  return decision ~= nil and decision ~= "allowed" and #(missing or {}) == 0
end

local function add_denied(list, question, result)
  local found = result.ResourceSpecificResults or {}
  if #found == 0 then
    found = { { EvalResourceName = "*", EvalResourceDecision = result.EvalDecision,
      MissingContextValues = result.MissingContextValues } }
  end
  for _, one in ipairs(found) do
    local arn = question.pairs[result.EvalActionName .. " " .. one.EvalResourceName]
    if arn and is_denied(one.EvalResourceDecision, one.MissingContextValues) then
      list[#list + 1] = { action = result.EvalActionName, resource = arn, by = by_of(result),
        explicit = one.EvalResourceDecision == "explicitDeny" or nil }
    end
  end
end

local function ask(ctx, principal, question)
  local results, failure = ctx:aws("iam"):all("simulate_principal_policy", {
    PolicySourceArn = principal, ActionNames = array(keys.sorted(question.actions)),
    ResourceArns = not question.anywhere and array(keys.sorted(question.resources)) or nil,
    ContextEntries = entries_of(question.conditions, question.region), MaxItems = 1000 })
  if not results then return nil, failure end
  local denied = {}
  for _, result in ipairs(results) do add_denied(denied, question, result) end
  return denied
end

-- The first answer tells whether the caller may ask at all; a later question that IAM does not
-- take says nothing about the others.
local function ask_all(ctx, principal, questions)
  local first, failure = ask(ctx, principal, questions[1])
  if not first then return nil, failure end
  local rest = task.map(table.move(questions, 2, #questions, 1, {}), function (question)
    return ask(ctx, principal, question) or {}
  end, AT_ONCE)
  return table.move(rest, 1, #rest, 2, { first })
end

-- Each action once, sorted.
local function together(answers)
  local all, seen = {}, {}
  for _, denied in ipairs(answers) do
    for _, one in ipairs(denied) do
      if not seen[one.action] then all[#all + 1], seen[one.action] = one, true end
    end
  end
  table.sort(all, function (a, b) return a.action < b.action end)
  return all
end

-- Left out: what the plan does without, and EC2's tags, which the first create misses at once.
local function needed(statements)
  local list = {}
  for _, statement in ipairs(statements) do
    if not statement.optional and statement.class ~= "Tag" then list[#list + 1] = statement end
  end
  return list
end

--- The rights among `statements` (rtl.plan.policy.statements) that the caller with this ARN surely
-- lacks: array of { action, resource, by (kind of policy), explicit }, each action once; or nil and
-- why that can't be told, as a text.
function M.lacking(ctx, arn, statements)
  local questions = questions_of(ctx, needed(statements))
  local principal, why = principal_of(ctx, arn)
  if not principal then return nil, why end
  if #questions == 0 then return {} end
  local answers, failure = task.deadline(PATIENCE, ask_all, ctx, principal, questions)
  if not answers then return nil, reason_of(failure) end
  return together(answers)
end

return M
