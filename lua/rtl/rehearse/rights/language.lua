--- The language of IAM policies, as far as the world reads it: whether statements apply to a
-- request.
--
-- A request is { action, arn, keys }: keys are the condition keys by lower-case name, each a text.
-- What this does not know of the language (variables, principals, other operators) is refused when
-- a document is read, never guessed.

local M = {}

--- What a member of a document holds, one value or an array of them, as an array.
function M.list_of(value)
  return type(value) == "table" and value or { value }
end
local list_of = M.list_of

--- The statements of a document: an array, also where it has a single one in place of it.
function M.statements(document)
  local statements = document.Statement
  return statements.Effect and { statements } or statements
end

local patterns = {}

-- * stands for any text, ? for one character.
local function matches(text, pattern)
  local known = patterns[pattern]
  if not known then
    known = pattern:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".")
    known = "^" .. known .. "$"
    patterns[pattern] = known
  end
  return text:find(known) ~= nil
end

local function any_matches(text, list)
  for _, pattern in ipairs(list_of(list)) do
    if matches(text, pattern) then return true end
  end
  return false
end

local function equals(have, wanted) return have == wanted end

-- Each tells whether a value that is there satisfies one wanted value. "Not" is added below.
local OPERATORS = {
  StringEquals = equals,
  StringEqualsIgnoreCase = function (have, wanted) return have:lower() == wanted:lower() end,
  StringLike = matches,
  ArnEquals = matches,
  ArnLike = matches,
  Bool = function (have, wanted) return have:lower() == tostring(wanted):lower() end,
}

-- "StringNotEqualsIfExists" → function, negated, if_exists
local function operator_of(name)
  local base, if_exists = name:gsub("IfExists$", "")
  local positive, negated = base:gsub("Not", "", 1)
  return OPERATORS[positive], negated > 0, if_exists > 0
end

local function one_of(operator, have, wanted)
  for _, value in ipairs(list_of(wanted)) do
    if operator(have, value) then return true end
  end
  return false
end

-- Null asks whether a key is there at all.
local function null_holds(have, wanted)
  return (have == nil) == (tostring(list_of(wanted)[1]):lower() == "true")
end

local function condition_holds(name, key, wanted, keys)
  local have = keys[key:lower()]
  if name == "Null" then return null_holds(have, wanted) end
  local operator, negated, if_exists = operator_of(name)
  if have == nil then return if_exists or negated end
  return one_of(operator, have, wanted) ~= negated
end

local function conditions_hold(statement, keys)
  for name, block in pairs(statement.Condition or {}) do
    for key, wanted in pairs(block) do
      if not condition_holds(name, key, wanted, keys) then return false end
    end
  end
  return true
end

local function action_matches(statement, action)
  action = action:lower()
  for _, pattern in ipairs(list_of(statement.Action)) do
    if matches(action, pattern:lower()) then return true end
  end
  return false
end

local function applies(statement, request)
  if not action_matches(statement, request.action) then return false end
  if not any_matches(request.arn, statement.Resource) then return false end
  return conditions_hold(statement, request.keys)
end

--- "Allow", "Deny" (which wins), or nil when no statement of the documents applies.
function M.effect(documents, request)
  local effect
  for _, document in ipairs(documents) do
    for _, statement in ipairs(document.Statement) do
      if applies(statement, request) then
        if statement.Effect == "Deny" then return "Deny" end
        effect = "Allow"
      end
    end
  end
  return effect
end

--- The condition keys that statements about the request ask for and the request has not: sorted.
function M.missing(documents, request)
  local seen, list = {}, {}
  for _, document in ipairs(documents) do
    for _, statement in ipairs(document.Statement) do
      local about = action_matches(statement, request.action)
        and any_matches(request.arn, statement.Resource)
      for name, block in pairs(about and statement.Condition or {}) do
        for key in pairs(block) do
          local asks = name ~= "Null" and request.keys[key:lower()] == nil
          if asks and not seen[key] then list[#list + 1], seen[key] = key, true end
        end
      end
    end
  end
  table.sort(list)
  return list
end

local MEMBERS = { Sid = true, Effect = true, Action = true, Resource = true, Condition = true }

local function statement_problem(statement)
  if type(statement) ~= "table" then return "a statement is no object" end
  for member in pairs(statement) do
    if not MEMBERS[member] then return "statements with " .. tostring(member) end
  end
  if not (statement.Action and statement.Resource) then return "a statement without action" end
  if statement.Effect ~= "Allow" and statement.Effect ~= "Deny" then return "no effect" end
  for name, block in pairs(statement.Condition or {}) do
    if name ~= "Null" and not operator_of(name) then return "the operator " .. name end
    for key, wanted in pairs(block) do
      for _, value in ipairs(list_of(wanted)) do
        if tostring(value):find("${", 1, true) then return "variables, in " .. key end
      end
    end
  end
  return nil
end

--- What of a document the world does not understand, as a text; nil when it understands all.
function M.problem(document)
  if type(document) ~= "table" or type(document.Statement) ~= "table" then
    return "it has no statements"
  end
  for _, statement in ipairs(document.Statement) do
    local problem = statement_problem(statement)
    if problem then return problem end
  end
  return nil
end

return M
