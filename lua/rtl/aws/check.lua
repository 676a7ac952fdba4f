--- Checks the parameters of a call against its operation, before anything is sent.

local clock = require "rtl.clock"
local nearest = require "rtl.nearest"
local secret = require "rtl.native.secret"

local M = {}

local check

local function refuse(path, text)
  error({ at = path ~= "" and path or "parameters", text = text }, 0)
end

local function names_of(shape)
  local names = {}
  for i, member in ipairs(shape.members) do names[i] = member.name end
  return names
end

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function (a, b) return tostring(a) < tostring(b) end)
  return keys
end

local function below(path, name)
  return path == "" and name or path .. "." .. name
end

local function expect(path, value, kind)
  if type(value) ~= kind then refuse(path, kind .. " expected, got " .. type(value)) end
end

local function range(path, count, shape, what)
  if shape.min and count < shape.min then
    refuse(path, ("%s must be at least %d, got %s"):format(what, shape.min, count))
  elseif shape.max and count > shape.max then
    refuse(path, ("%s must be at most %d, got %s"):format(what, shape.max, count))
  end
end

local function structure(path, shape, value)
  expect(path, value, "table")
  for _, key in ipairs(sorted_keys(value)) do
    local member = shape.by_name[key]
    if not member then
      local hint = type(key) == "string" and nearest.hint(key, names_of(shape)) or ""
      refuse(path, "unknown member '" .. tostring(key) .. "'" .. hint)
    end
    check(below(path, member.name), member.shape, value[key])
  end
  for _, member in ipairs(shape.members) do
    if member.required and value[member.name] == nil then
      refuse(below(path, member.name), "required, but not given")
    end
  end
end

local function list(path, shape, value)
  expect(path, value, "table")
  local count = #value
  for key in pairs(value) do
    if math.type(key) ~= "integer" or key < 1 or key > count then
      refuse(path, "a list expected, but it has the key '" .. tostring(key) .. "'")
    end
  end
  range(path, count, shape, "its length")
  for i = 1, count do check(("%s[%d]"):format(path, i), shape.member, value[i]) end
end

local function map(path, shape, value)
  expect(path, value, "table")
  local keys = sorted_keys(value)
  range(path, #keys, shape, "its number of keys")
  for _, key in ipairs(keys) do
    if type(key) ~= "string" then refuse(path, "the keys of a map must be strings") end
    check(path .. " key '" .. key .. "'", shape.key, key)
    check(below(path, key), shape.member, value[key])
  end
end

local function text(path, shape, value)
  if secret.is(value) then return end
  expect(path, value, "string")
  local length = utf8.len(value)
  if not length then refuse(path, "text in UTF-8 expected") end
  if not shape.enum then return range(path, length, shape, "its length") end
  for _, word in ipairs(shape.enum) do
    if word == value then return end
  end
  refuse(path, ("'%s' is none of %s%s"):format(value, table.concat(shape.enum, ", "),
    nearest.hint(value, shape.enum)))
end

local function integer(path, shape, value)
  expect(path, value, "number")
  if not math.tointeger(value) then refuse(path, "an integer expected, got " .. value) end
  range(path, value, shape, "it")
end

-- The first second of the year 1 and of the year 10000: no date is written before or after.
local FIRST, LAST = -62135596800, 253402300800

local function time(path, _, value)
  if type(value) == "number" then
    if value >= FIRST and value < LAST then return end -- NaN is neither
    refuse(path, "seconds since 1970 expected, got " .. value)
  end
  expect(path, value, "string")
  if not clock.parse_iso(value) then
    refuse(path, "seconds or an ISO 8601 date expected, got '" .. value .. "'")
  end
end

local function json(path, shape, value)
  if type(value) ~= "table" then text(path, shape, value) end
end

local CHECKS = {
  structure = structure, list = list, map = map, string = text, token = text, secret = text,
  int = integer, time = time, json = json, urljson = json,
  float = function (path, shape, value)
    expect(path, value, "number")
    if value - value ~= 0 then refuse(path, "a finite number expected, got " .. value) end
    range(path, value, shape, "it")
  end,
  bool = function (path, _, value) expect(path, value, "boolean") end,
  blob = function (path, _, value) expect(path, value, "string") end,
}

function check(path, shape, value)
  CHECKS[shape.kind](path, shape, value)
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
-- missing or wrong member ("LaunchTemplateData.NetworkInterfaces[1].Groups"); nil when they fit.
function M.problem(op, params)
  local good, failure = pcall(check, "", op.input, params)
  if good then return nil end
  if type(failure) ~= "table" then error(failure, 0) end
  return failure
end

--- Raises when `params` does not fit the operation.
function M.parameters(op, params)
  local problem = M.problem(op, params)
  if problem then
    M.misuse(("bad argument #1 to '%s' (%s: %s)"):format(op.key, problem.at, problem.text))
  end
end

return M
