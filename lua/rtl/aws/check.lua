--- Checks the parameters of a call against its operation, before anything is sent.

local clock = require "rtl.clock"
local keys = require "rtl.keys"
local nearest = require "rtl.nearest"
local secret = require "rtl.native.secret"

local M = {}

local check

-- What is wrong with a value. `at`, the way to it, is put together on the way out of structures,
-- lists and maps: most values are right, and need none.
local function wrong(text)
  return { at = "", text = text }
end

local function within(step, problem)
  problem.at = step .. problem.at
  return problem
end

local function wrong_type(value, kind)
  return wrong(kind .. " expected, got " .. type(value))
end

local function names_of(shape)
  local names = {}
  for i, member in ipairs(shape.members) do names[i] = member.name end
  return names
end

local function range(count, shape, what)
  if shape.min and count < shape.min then
    return wrong(("%s must be at least %d, got %s"):format(what, shape.min, count))
  elseif shape.max and count > shape.max then
    return wrong(("%s must be at most %d, got %s"):format(what, shape.max, count))
  end
end

local function unknown(shape, key)
  local hint = type(key) == "string" and nearest.hint(key, names_of(shape)) or ""
  return wrong("unknown member '" .. tostring(key) .. "'" .. hint)
end

local function given_member(shape, key, value)
  local member = shape.by_name[key]
  if not member then return unknown(shape, key) end
  local problem = check(member.shape, value)
  return problem and within("." .. key, problem)
end

-- Of several problems, that of the first name is told: pairs() has no order.
local function structure(shape, value)
  if type(value) ~= "table" then return wrong_type(value, "table") end
  local found, first
  for key, inner in pairs(value) do
    local problem = given_member(shape, key, inner)
    if problem and (not first or tostring(key) < first) then
      found, first = problem, tostring(key)
    end
  end
  if found then return found end
  for _, member in ipairs(shape.required) do
    if value[member.name] == nil then
      return within("." .. member.name, wrong "required, but not given")
    end
  end
end

local function list(shape, value)
  if type(value) ~= "table" then return wrong_type(value, "table") end
  local count = #value
  for key in pairs(value) do
    if math.type(key) ~= "integer" or key < 1 or key > count then
      return wrong("a list expected, but it has the key '" .. tostring(key) .. "'")
    end
  end
  local problem = range(count, shape, "its length")
  if problem then return problem end
  for i = 1, count do
    problem = check(shape.member, value[i])
    if problem then return within("[" .. i .. "]", problem) end
  end
end

local function entry(shape, key, value)
  if type(key) ~= "string" then return wrong "the keys of a map must be strings" end
  local problem = check(shape.key, key)
  if problem then return within(" key '" .. key .. "'", problem) end
  problem = check(shape.member, value)
  return problem and within("." .. key, problem)
end

local function map(shape, value)
  if type(value) ~= "table" then return wrong_type(value, "table") end
  local sorted = keys.sorted(value)
  local problem = range(#sorted, shape, "its number of keys")
  if problem then return problem end
  for _, key in ipairs(sorted) do
    problem = entry(shape, key, value[key])
    if problem then return problem end
  end
end

local function text(shape, value)
  if secret.is(value) then return nil end
  if type(value) ~= "string" then return wrong_type(value, "string") end
  local length = utf8.len(value)
  if not length then return wrong "text in UTF-8 expected" end
  if not shape.enum then return range(length, shape, "its length") end
  for _, word in ipairs(shape.enum) do
    if word == value then return nil end
  end
  return wrong(("'%s' is none of %s%s"):format(value, table.concat(shape.enum, ", "),
    nearest.hint(value, shape.enum)))
end

local function integer(shape, value)
  if type(value) ~= "number" then return wrong_type(value, "number") end
  if not math.tointeger(value) then return wrong("an integer expected, got " .. value) end
  return range(value, shape, "it")
end

local function float(shape, value)
  if type(value) ~= "number" then return wrong_type(value, "number") end
  if value - value ~= 0 then return wrong("a finite number expected, got " .. value) end
  return range(value, shape, "it")
end

-- The first second of the year 1 and of the year 10000: no date is written before or after.
local FIRST, LAST = -62135596800, 253402300800

local function time(_, value)
  if type(value) == "number" then
    if value >= FIRST and value < LAST then return nil end -- NaN is neither
    return wrong("seconds since 1970 expected, got " .. value)
  end
  if type(value) ~= "string" then return wrong_type(value, "string") end
  if not clock.parse_iso(value) then
    return wrong("seconds or an ISO 8601 date expected, got '" .. value .. "'")
  end
end

local function json(shape, value)
  if type(value) ~= "table" then return text(shape, value) end
end

local function bool(_, value)
  if type(value) ~= "boolean" then return wrong_type(value, "boolean") end
end

local function blob(_, value)
  if type(value) ~= "string" then return wrong_type(value, "string") end
end

local CHECKS = {
  structure = structure, list = list, map = map, string = text, token = text, secret = text,
  int = integer, float = float, bool = bool, time = time, blob = blob, json = json, urljson = json,
}

function check(shape, value)
  return CHECKS[shape.kind](shape, value)
end

--- Raises misuse at the line of the first caller outside of rtl.aws (tail calls and tasks between
-- make levels useless).
function M.misuse(message)
  local level = 2
  local info = debug.getinfo(level, "S")
  while info and (info.what == "C" or info.source:find("rtl/aws/", 1, true)) do
    level = level + 1
    info = debug.getinfo(level, "S")
  end
  error(message, info and level or 1)
end

--- What is wrong with the parameters of an operation: {at = path, text} of the first unknown,
-- wrong or missing member ("LaunchTemplateData.NetworkInterfaces[1].Groups"); nil when they fit.
function M.problem(op, params)
  local problem = check(op.input, params)
  if problem then problem.at = problem.at == "" and "parameters" or problem.at:match "^%.?(.*)" end
  return problem
end

--- Raises when `params` does not fit the operation.
function M.parameters(op, params)
  local problem = M.problem(op, params)
  if problem then
    M.misuse(("bad argument #1 to '%s' (%s: %s)"):format(op.key, problem.at, problem.text))
  end
end

return M
