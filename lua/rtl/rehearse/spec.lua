--- The text behind the host's option: `SCENARIO[,key=value…]`.

local err = require "rtl.err"
local nearest = require "rtl.nearest"
local rights = require "rtl.rehearse.rights"
local scenarios = require "rtl.rehearse.scenarios"

local M = {}

local COMMON = { seed = "integer", name = "word" }

local function known_scenarios()
  local list = {}
  for name in pairs(scenarios) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function usage(message, hint)
  return err.fail { code = "RTL-WORLD-001", message = message, hint = hint, exit = "usage" }
end

-- `?` is a question, and this its answer: each scenario with what it does.
local function all_scenarios()
  local lines = {}
  for i, name in ipairs(known_scenarios()) do
    lines[i] = ("%-20s  %s"):format(name, scenarios[name].title)
  end
  return err.fail { code = "RTL-WORLD-001", exit = "done",
    message = "--rehearse=SCENARIO[,key=value…] takes one of these",
    hint = table.concat(lines, "\n") }
end

local function unknown_scenario(name)
  if name == "?" then return all_scenarios() end
  return usage(('no scenario "%s"%s'):format(name, nearest.hint(name, known_scenarios())),
               "rtl --rehearse=? lists them")
end

local function key_kinds(scenario)
  local kinds = {}
  for _, from in ipairs { COMMON, scenario.keys or {} } do
    for key, kind in pairs(from) do kinds[key] = kind end
  end
  return kinds
end

local function value_of(kind, key, text)
  if kind == "integer" then
    local number = math.tointeger(tonumber(text))
    if number and number >= 0 then return number end
    return usage(('%s wants a whole number, not "%s"'):format(key, text))
  end
  if kind == "word" then
    if text:find "^[%w][%w_-]*$" then return text end
    return usage(('%s can not be "%s"'):format(key, text))
  end
  if kind == "action" then
    if text:find "^[%w-]+:[%w*]+$" then return text end
    return usage(("%s wants an IAM action such as ec2:CreateVpc, not \"%s\""):format(key, text))
  end
  if kind == "policies" then
    local documents, problem = rights.read(text)
    if documents then return text end
    return usage(("%s: %s"):format(key, problem))
  end
  if kind[text] then return text end
  return usage(('%s can not be "%s"'):format(key, text))
end

local function read_pair(spec, kinds, pair)
  local key, text = pair:match "^([%w_-]+)=(.*)$"
  if not key or not kinds[key] then
    local list = {}
    for name in pairs(kinds) do list[#list + 1] = name end
    table.sort(list)
    return usage(('scenario %s takes no "%s"'):format(spec.scenario, pair),
                 "It takes: " .. table.concat(list, ", "))
  end
  local value, e = value_of(kinds[key], key, text)
  if value == nil then return nil, e end
  spec.keys[key] = value
  return true
end

local function check_needs(spec, scenario)
  for _, key in ipairs(scenario.needs or {}) do
    if spec.keys[key] == nil then
      return usage(("scenario %s needs %s=N"):format(spec.scenario, key),
                   "To go on with one that was killed: --rehearse, or --rehearse=name=NAME")
    end
  end
  return spec
end

--- Reads `text` (nil or "" for the bare option) into { scenario, keys, given }.
-- `given` says whether a scenario was named at all: a bare option, or one with no more than the
-- world's name, goes on with what stands.
-- Errors: RTL-WORLD-001 (unknown scenario or key).
function M.parse(text)
  text = text or ""
  if text:find "^name=[^,]*$" then text = "," .. text end
  local first, rest = text:match "^([^,]*),?(.*)$"
  local spec = { scenario = first ~= "" and first or "calm", keys = {}, given = first ~= "" }
  local scenario = scenarios[spec.scenario]
  if not scenario then return unknown_scenario(spec.scenario) end
  local kinds = key_kinds(scenario)
  for pair in rest:gmatch "[^,]+" do
    local ok, e = read_pair(spec, kinds, pair)
    if not ok then return nil, e end
  end
  return check_needs(spec, scenario)
end

--- The text that M.parse reads back into `spec`, with its keys in order.
function M.text(spec)
  local list = {}
  for key in pairs(spec.keys) do list[#list + 1] = key end
  table.sort(list)
  local parts = { spec.scenario }
  for _, key in ipairs(list) do parts[#parts + 1] = key .. "=" .. tostring(spec.keys[key]) end
  return table.concat(parts, ",")
end

return M
