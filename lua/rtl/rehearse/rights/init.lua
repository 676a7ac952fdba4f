--- What the caller of the simulated account may do. On an ordinary day everything; with policies, a
-- call passes only if they allow each action that it needs, on each resource that it is about.

local array = require "rtl.array"
local beside = require "rtl.rehearse.rights.beside"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local language = require "rtl.rehearse.rights.language"
local needs = require "rtl.rehearse.rights.needs"
local refusal = require "rtl.rehearse.rights.refusal"
local things = require "rtl.rehearse.rights.things"

local add_tags = things.add_tags

local M = {}

-- ---- which policies ----

-- The documents of a text: one after another, as `--policy` prints them, or an array of them.
local function documents_in(text)
  local list = {}
  for part in (text:gsub("\n}%s*\n{", "\n}\0{") .. "\0"):gmatch "(%Z*)%z" do
    local value, e = json.decode(part)
    if value == nil then return nil, tostring(e) end
    table.move(value[1] and value or { value }, 1, value[1] and #value or 1, #list + 1, list)
  end
  return list
end

--- The policy documents in a file, or nil and why not, as a text.
function M.read(path)
  local text, e = fs.read(path)
  if not text then return nil, tostring(e) end
  local documents, problem = documents_in(text)
  if not documents then return nil, path .. ": " .. problem end
  for _, document in ipairs(documents) do
    problem = language.problem(document)
    if problem then return nil, ("%s: the world does not know %s"):format(path, problem) end
  end
  return documents
end

local function without(documents, action)
  for _, document in ipairs(documents) do
    for i = #document.Statement, 1, -1 do
      local statement, kept = document.Statement[i], {}
      for _, one in ipairs(language.list_of(statement.Action)) do
        if one:lower() ~= action:lower() then kept[#kept + 1] = one end
      end
      statement.Action = kept
      if #kept == 0 then table.remove(document.Statement, i) end
    end
  end
  return documents
end

local EVERYTHING = { Statement = { { Effect = "Allow", Action = "*", Resource = "*" } } }

local function denying(action)
  return { Statement = { { Effect = "Deny", Action = action, Resource = "*" } } }
end

--- Gives the world's caller the policies of its scenario: keys.file (a file of documents),
-- keys.without (an action left out of them), keys.scp (an action that the organization denies).
function M.open(world)
  local keys = world.keys
  if not (keys.file or keys.scp) then return end
  local identity = keys.file and assert(M.read(keys.file)) or { EVERYTHING }
  if keys.without then without(identity, keys.without) end
  world.rights = { identity = identity,
    scp = { EVERYTHING, keys.scp and denying(keys.scp) or nil } }
end

-- ---- what a request needs ----

local function values_of(params, name)
  local value = params[name]
  if value == nil then return {} end
  return type(value) == "table" and value or { value }
end

-- The ids that the right side of "type=…" names: array of arrays of parts.
local function named(call, kind, how, params)
  if how:sub(1, 1) == "*" then
    local list = things.find[kind .. " " .. how:sub(2)](call, params)
    for i, parts in ipairs(list) do list[i] = type(parts) == "table" and parts or { parts } end
    return list
  end
  local head, tail = how:match "^([^/]+)/(.+)$"
  if head then
    return params[tail] and { { params[head] or "default", params[tail] } } or {}
  end
  local list = {}
  for i, value in ipairs(values_of(params, how)) do list[i] = { value } end
  return list
end

local function request_tags(op, params, kind)
  if op.service.name ~= "ec2" then return things.tag_map(params.tags or params.Tags) end
  for _, specification in ipairs(params.TagSpecifications or {}) do
    if specification.ResourceType == kind then return things.tag_map(specification.Tags) end
  end
  return op.key == "create_tags" and things.tag_map(params.Tags) or {}
end

-- Condition keys of IAM itself.
local function own_keys(op, params, found)
  if op.service.name ~= "iam" then return {} end
  return { ["iam:policyarn"] = params.PolicyArn, ["iam:awsservicename"] = params.AWSServiceName,
    ["iam:permissionsboundary"] = params.PermissionsBoundary or found.boundary }
end

local function existing(call, op, params, kind, how)
  local checks = {}
  for _, parts in ipairs(named(call, kind, how, params)) do
    local n = #parts
    parts[n + 1] = params
    local found = things.of[kind](call, table.unpack(parts, 1, n + 1))
    checks[#checks + 1] = { action = op.permission, arn = found.arn,
      keys = add_tags(own_keys(op, params, found), "resourcetag", found.tags) }
  end
  return checks
end

-- A new thing of EC2; its tags are an action of their own.
local function new(call, op, params, kind)
  local arn, tags = things.arn(call, "ec2", kind .. "/*"), request_tags(op, params, kind)
  local checks = { { action = op.permission, arn = arn, keys = add_tags({}, "requesttag", tags) } }
  if next(tags) then
    checks[2] = { action = "ec2:CreateTags", arn = arn,
      keys = add_tags({ ["ec2:createaction"] = op.name }, "requesttag", tags) }
  end
  return checks
end

-- The tags of a request that is about what was found already.
local function with_request_tags(checks, op, params)
  local tags = request_tags(op, params)
  for _, check in ipairs(checks) do add_tags(check.keys, "requesttag", tags) end
end

local function checks_of(call, op, text, params)
  local checks = {}
  local function add(list) table.move(list, 1, #list, #checks + 1, checks) end
  for word in text:gmatch "%S+" do
    local kind, how = word:match "^([%w-]+)=(.+)$"
    if word == "*" then
      add { { action = op.permission, arn = "*", keys = own_keys(op, params, {}) } }
    elseif word == "+" then
      with_request_tags(checks, op, params)
    elseif word:sub(1, 1) == "+" then
      add(new(call, op, params, word:sub(2)))
    else
      add(existing(call, op, params, kind, how))
    end
  end
  return checks
end

-- The action that the tags of a create need.
local function tag_checks(call, op, key, params)
  local row = needs.tagged[key]
  if not row or not next(request_tags(op, params)) then return {} end
  local kind, how = row[2]:match "^([%w-]+)=(.+)$"
  local checks = existing(call, op, params, kind, how)
  with_request_tags(checks, op, params)
  for _, check in ipairs(checks) do check.action = row[1] end
  return checks
end

--- What an operation needs, in the words of rtl.rehearse.rights.needs; nil when nobody has written
-- that down, false when it needs no right.
function M.words(op)
  local text = (needs[op.service.name] or {})[op.key]
  if text == nil and op.reads and needs.ANY[op.service.name] then return "*" end
  return text
end

--- Action → type of resource, of the actions that tags in a create need.
function M.tagging()
  local types = {}
  for _, row in pairs(needs.tagged) do types[row[1]] = row[2]:match "^([%w-]+)=" end
  return types
end

--- What a request needs: array of { action, arn, keys, form }; nil when nobody has written down
-- what its operation needs.
function M.needs(call, op, params)
  local text = M.words(op)
  if text == nil then return nil end
  if not text then return {} end
  local key = op.service.name .. ":" .. op.key
  local all = checks_of(call, op, text, params)
  for _, list in ipairs { tag_checks(call, op, key, params),
    beside.of[key] and beside.of[key](call, params) or {} } do
    table.move(list, 1, #list, #all + 1, all)
  end
  return all
end

-- ---- the decision ----

local ORDER = { "scp", "identity" }

-- Why a check is not passed: "deny scp", "no identity", …; nil when it is.
local function why_not(world, check)
  local effects = {}
  for _, name in ipairs(ORDER) do
    effects[name] = language.effect(world.rights[name], check)
    if effects[name] == "Deny" then return "deny " .. name end
  end
  for _, name in ipairs(ORDER) do
    if effects[name] ~= "Allow" then return "no " .. name end
  end
  return nil
end

-- The documents in a role itself; what AWS' own policies hold is not known here.
local function inline_of(role)
  local list = {}
  for i, policy in ipairs(role.inline:all()) do
    list[i] = { Statement = language.statements(policy.document) }
  end
  return list
end

--- Whether the policies in a role allow what an operation needs: for a service that calls in the
-- role's name.
function M.role_may(call, role, op, params)
  local documents = inline_of(role)
  for _, check in ipairs(M.needs(call, op, params) or { { action = op.permission, arn = "*",
    keys = {} } }) do
    check.keys["aws:requestedregion"] = call.region.name
    check.keys["aws:principalarn"] = role.Arn
    if language.effect(documents, check) ~= "Allow" then return false end
  end
  return true
end

-- ---- IAM's own simulator ----

local DECISIONS = { deny = "explicitDeny", no = "implicitDeny" }

local function simulated_keys(entries)
  local keys = {}
  for _, entry in ipairs(entries or {}) do
    keys[entry.ContextKeyName:lower()] = (entry.ContextKeyValues or {})[1]
  end
  return keys
end

local function simulate_one(world, action, arn, keys)
  local check = { action = action, arn = arn, keys = keys }
  local why = world.rights and why_not(world, check)
  return why and DECISIONS[why:match "^%a+"] or "allowed", why or "",
    array(world.rights and language.missing(world.rights.identity, check) or {})
end

--- The EvaluationResults of SimulatePrincipalPolicy for the world's caller. Two things are as in
-- AWS and easily forgotten: tags and other keys count only as far as they are given, and what is
-- missing of them is said.
function M.simulate(world, p)
  local list, keys = array {}, simulated_keys(p.ContextEntries)
  for i, action in ipairs(p.ActionNames) do
    local result = { EvalActionName = action, EvalResourceName = "*", EvalDecision = "allowed",
      ResourceSpecificResults = array {} }
    for j, arn in ipairs(p.ResourceArns or { "*" }) do
      local decision, why, missing = simulate_one(world, action, arn, keys)
      result.ResourceSpecificResults[j] = { EvalResourceName = arn,
        EvalResourceDecision = decision, MissingContextValues = missing }
      if decision ~= "allowed" then
        result.EvalDecision, result.EvalResourceName = decision, arn
        result.OrganizationsDecisionDetail = {
          AllowedByOrganizations = why:find "scp$" == nil }
      end
      if not p.ResourceArns then result.MissingContextValues = missing end
    end
    if not p.ResourceArns then result.ResourceSpecificResults = nil end
    list[i] = result
  end
  return list
end

--- The fault of a call that the caller's policies do not allow; nil when they do. `call` is what
-- handlers get.
function M.refusal(call, op, params)
  local world = call.world
  if not world.rights then return nil end
  local checks = M.needs(call, op, params)
  if not checks then
    return { fault = true, code = "NotSimulated", status = 501,
      message = "the world does not know what rights " .. op.action .. " needs" }
  end
  for _, check in ipairs(checks) do
    check.keys["aws:requestedregion"] = call.region.name
    check.keys["aws:principalarn"] = call.caller.principal
    check.why = why_not(world, check)
    if check.why then return refusal.of(world, call.caller, op, check) end
  end
  return nil
end

return M
