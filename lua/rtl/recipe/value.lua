--- Types of settings: from text or YAML to a value, and back to text for people.
--
-- A declaration names a type; `list = true` makes it a list of them. Durations are seconds, sizes
-- bytes; a quantity stays the text that Kubernetes reads ("160Gi", "500m").

local null = require "rtl.null"

local M = {}

local SECONDS = { s = 1, m = 60, h = 3600, d = 86400 }
local BYTES = {
  [""] = 1, K = 1e3, M = 1e6, G = 1e9, T = 1e12,
  Ki = 2 ^ 10, Mi = 2 ^ 20, Gi = 2 ^ 30, Ti = 2 ^ 40,
}
-- Kubernetes' own: its thousand is a small k, and it has thousandths.
local QUANTITIES = {
  [""] = 1, m = 1e-3, k = 1e3, M = 1e6, G = 1e9, T = 1e12, P = 1e15, E = 1e18,
  Ki = 2 ^ 10, Mi = 2 ^ 20, Gi = 2 ^ 30, Ti = 2 ^ 40, Pi = 2 ^ 50, Ei = 2 ^ 60,
}
local WORDS = {
  ["true"] = true, yes = true, on = true, ["1"] = true,
  ["false"] = false, no = false, off = false, ["0"] = false,
}

--- The value of a setting that may be left empty, or nil where it was.
function M.given(value)
  return value ~= "" and value or nil
end

local function duration(text)
  local total, rest = 0, text
  while rest ~= "" do
    local number, unit, after = rest:match("^(%d+)([smhd])(.*)$")
    if not number then return nil, "a duration such as 90s, 30m or 4h" end
    total, rest = total + tonumber(number) * SECONDS[unit], after
  end
  if text == "" then return nil, "a duration such as 90s, 30m or 4h" end
  return math.tointeger(total), "a duration that can be counted in seconds"
end

local function show_duration(seconds)
  if seconds == 0 then return "0s" end
  local parts = {}
  for _, unit in ipairs { "d", "h", "m", "s" } do
    local n = seconds // SECONDS[unit]
    if n > 0 then parts[#parts + 1] = ("%d%s"):format(n, unit) end
    seconds = seconds - n * SECONDS[unit]
  end
  return table.concat(parts)
end

local function size(text)
  local number, unit = text:match("^(%d+%.?%d*)%s*([KMGT]?i?)B?$")
  local factor = unit and BYTES[unit]
  if not factor then return nil, "a size such as 200Gi or 512M" end
  return math.tointeger(tonumber(number) * factor) or nil, "a whole number of bytes"
end

--- The number that a Kubernetes quantity means ("500m" is 0.5); nil for a text that is none.
function M.amount(text)
  local number, unit = text:match("^(%d+%.?%d*)(%a*)$")
  local factor = QUANTITIES[unit]
  return factor and tonumber(number) * factor
end

local function quantity(text)
  if M.amount(text) then return text end
  return nil, "a Kubernetes quantity such as 40, 500m or 160Gi"
end

local function boolean(text)
  local value = WORDS[text:lower()]
  if value == nil then return nil, "true or false" end
  return value
end

local function octet(text)
  local n = tonumber(text)
  return n and n <= 255
end

local function cidr(text)
  local a, b, c, d, bits = text:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)/(%d+)$")
  if a and octet(a) and octet(b) and octet(c) and octet(d) and tonumber(bits) <= 32 then
    return text
  end
  return nil, "a range of addresses such as 10.42.0.0/16"
end

local types = {
  string   = { parse = function (text) return text end, native = "string" },
  path     = { parse = function (text) return text end, native = "string" },
  integer  = {
    parse = function (text)
      local n = math.tointeger(tonumber(text))
      if n and text:match("^%-?%d+$") then return n end
      return nil, "a whole number"
    end,
  },
  number   = {
    parse = function (text)
      local n = text:match("^%-?%d+%.?%d*[eE]?%-?%d*$") and tonumber(text)
      if n then return n end
      return nil, "a number"
    end,
  },
  boolean  = { parse = boolean },
  duration = { parse = duration, show = show_duration },
  size     = { parse = size },
  quantity = { parse = quantity },
  cidr     = { parse = cidr },
}

--- Whether `name` is a type of settings.
function M.is_type(name)
  return types[name] ~= nil
end

-- A scalar as YAML or Lua gives it, as text. Strings may look like anything; `4` is "4".
local function text_of(raw)
  local kind = math.type(raw) or type(raw)
  if kind == "string" then return raw end
  if kind == "integer" or kind == "boolean" then return tostring(raw) end
  if kind == "float" then
    return math.tointeger(raw) and tostring(math.tointeger(raw)) or ("%.14g"):format(raw)
  end
  return nil
end

local function bounds(value, declaration)
  local unit = declaration.unit and " " .. declaration.unit or ""
  local show = types[declaration.type].show or tostring
  if declaration.min and value < declaration.min then
    return ("%s is below %s%s"):format(show(value), show(declaration.min), unit)
  elseif declaration.max and value > declaration.max then
    return ("%s is above %s%s"):format(show(value), show(declaration.max), unit)
  end
  return nil
end

-- What is wrong with a text as such. Where nothing is a value, it is the default.
local function text_trouble(value, declaration)
  if type(value) ~= "string" then return nil end
  if value == "" and declaration.default ~= "" then return "it is empty" end
  if value:find("%c") then return ("%q holds a control character"):format(value) end
  if declaration.longest and #value > declaration.longest then
    return ("'%s' is longer than %d characters"):format(value, declaration.longest)
  end
  return nil
end

local function one(raw, declaration)
  local text = text_of(raw)
  if not text then
    local what = raw == null and "null" or type(raw)
    return nil, "type", ("%s is not %s"):format(what, declaration.type)
  end
  if math.type(raw) == "float" and declaration.type == "string" then
    -- A version 1.30 is here no more.
    return nil, "type", ("%s was a number, which loses last zeros: put it in quotes"):format(text)
  end
  local value, wanted = types[declaration.type].parse(text)
  if value == nil then return nil, "type", ("'%s' is not %s"):format(text, wanted) end
  local outside = bounds(value, declaration) or text_trouble(value, declaration)
  if outside then return nil, "bounds", outside end
  if declaration.choices and value ~= "" then
    for _, choice in ipairs(declaration.choices) do
      if choice == value then return value end
    end
    return nil, "bounds",
      ("'%s' is none of %s"):format(text, table.concat(declaration.choices, ", "))
  end
  if declaration.match and value ~= "" and not value:match(declaration.match) then
    return nil, "bounds", ("'%s' is not %s"):format(text, declaration.wanted or "of the right form")
  end
  return value
end

local function items_of(raw)
  if type(raw) == "table" then return raw end
  local items = {}
  for item in tostring(raw):gmatch("[^,%s]+") do items[#items + 1] = item end
  return items
end

--- The value of `raw` (text, or a scalar or list from YAML) by `declaration`; or nil, what is wrong
-- ("type" or "bounds") and a text that says it.
function M.parse(raw, declaration)
  if not declaration.list then return one(raw, declaration) end
  local values = {}
  for i, item in ipairs(items_of(raw)) do
    local value, what, text = one(item, declaration)
    if value == nil then return nil, what, text end
    values[i] = value
  end
  if #values < (declaration.least or 0) then
    return nil, "bounds", ("at least %d needed"):format(declaration.least)
  end
  return values
end

--- `value` as the text that a person would write for it.
function M.show(value, declaration)
  local show = types[declaration.type].show or tostring
  if not declaration.list then return show(value) end
  local texts = {}
  for i, item in ipairs(value) do texts[i] = show(item) end
  return table.concat(texts, ",")
end

--- Seconds as people write them: 5400 is "1h30m".
M.show_duration = show_duration

return M
