--- Label and field selectors.

local M = {}

local function trim(text)
  return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

-- Splits at commas that are not inside of parentheses.
local function clauses(text)
  local list, depth, from = {}, 0, 1
  for i = 1, #text do
    local char = text:sub(i, i)
    if char == "(" then depth = depth + 1 elseif char == ")" then depth = depth - 1 end
    if char == "," and depth == 0 then
      list[#list + 1] = trim(text:sub(from, i - 1))
      from = i + 1
    end
  end
  list[#list + 1] = trim(text:sub(from))
  return list
end

local function values_of(text)
  local set = {}
  for value in text:gmatch "[^,]+" do set[trim(value)] = true end
  return set
end

local function clause_test(text)
  local key, op, list = text:match "^(%S+)%s+(%a+)%s*%((.*)%)$"
  if key then
    local set = values_of(list)
    if op == "in" then return function (labels) return set[labels[key] or false] == true end end
    if op == "notin" then
      return function (labels) return labels[key] == nil or not set[labels[key]] end
    end
    return nil
  end
  local name, value = text:match "^([^=!]+)!=(.*)$"
  if name then
    name, value = trim(name), trim(value)
    return function (labels) return labels[name] ~= value end
  end
  name, value = text:match "^([^=!]+)==?(.*)$"
  if name then
    name, value = trim(name), trim(value)
    return function (labels) return labels[name] == value end
  end
  name = text:match "^!%s*(%S+)$"
  if name then return function (labels) return labels[name] == nil end end
  return text:match "^%S+$" and function (labels) return labels[text] ~= nil end or nil
end

local function all_of(tests)
  return function (labels)
    for i = 1, #tests do
      if not tests[i](labels) then return false end
    end
    return true
  end
end

--- A test of an object's labels for a selector in text form; nil if the text is no selector.
function M.labels(text)
  local tests = {}
  for i, clause in ipairs(clauses(text)) do
    local test = clause_test(clause)
    if not test then return nil end
    tests[i] = test
  end
  local all = all_of(tests)
  return function (object) return all(object.metadata.labels or {}) end
end

local function text_of(value)
  if value == nil then return "" end
  return tostring(value)
end

local FIELDS = {
  ["metadata.name"] = true, ["metadata.namespace"] = true,
}
local MORE = {
  pods = { ["spec.nodeName"] = true, ["status.phase"] = true, ["spec.restartPolicy"] = true,
           ["spec.serviceAccountName"] = true, ["status.podIP"] = true },
  secrets = { type = true },
  events = { ["involvedObject.kind"] = true, ["involvedObject.name"] = true,
             ["involvedObject.namespace"] = true, ["involvedObject.uid"] = true, reason = true,
             type = true },
  nodes = { ["spec.unschedulable"] = true },
  namespaces = { ["status.phase"] = true },
}

local function field_value(object, path)
  local value = object
  for step in path:gmatch "[^.]+" do
    if type(value) ~= "table" then return nil end
    value = value[step]
  end
  return value
end

--- A test of an object for a field selector; nil and the field's name if the resource has no such
-- selectable field.
function M.fields(text, plural)
  local tests = {}
  for _, clause in ipairs(clauses(text)) do
    local path, op, value = clause:match "^([%w.]+)(!?=?=)(.*)$"
    if not path or op == "!" then return nil, clause end
    if not FIELDS[path] and not (MORE[plural] and MORE[plural][path]) then return nil, path end
    local wanted = op ~= "!="
    tests[#tests + 1] = function (object)
      return (text_of(field_value(object, path)) == value) == wanted
    end
  end
  return all_of(tests)
end

--- Whether `labels` fulfil a LabelSelector object (matchLabels, matchExpressions).
function M.matches(selector, labels)
  labels = labels or {}
  for key, value in next, selector.matchLabels or {} do
    if labels[key] ~= value then return false end
  end
  for _, rule in ipairs(selector.matchExpressions or {}) do
    if not M.expression(rule, labels) then return false end
  end
  return true
end

local function contains(list, value)
  for _, item in ipairs(list or {}) do
    if item == value then return true end
  end
  return false
end

--- Whether `labels` fulfil one expression {key, operator, values}.
function M.expression(rule, labels)
  local value, op = labels[rule.key], rule.operator
  if op == "Exists" then return value ~= nil end
  if op == "DoesNotExist" then return value == nil end
  if op == "In" then return value ~= nil and contains(rule.values, value) end
  if op == "NotIn" then return value == nil or not contains(rule.values, value) end
  local bound = tonumber(rule.values and rule.values[1])
  local number = tonumber(value)
  if not bound or not number then return false end
  if op == "Gt" then return number > bound end
  return op == "Lt" and number < bound
end

return M
