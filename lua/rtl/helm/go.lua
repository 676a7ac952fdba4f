--- How Go sees the values that templates handle: kinds, truth, printing. Values are Lua's own:
-- string, boolean, integer (Go's int), float (Go's float64; every number from a YAML or JSON text
-- is one, as in helm), rtl.null (nil), tables marked by rtl.array (slices), other tables
-- (map[string]interface {}), and objects made by `M.object` (structs with methods).

local array = require "rtl.array"
local null = require "rtl.null"

local M = {}

--- Makes an object with fields and methods, as templates see `.Chart` or `.Files`.
-- `kind` is "struct", "map" or "list"; `type_name` is what Go prints as its type.
function M.object(fields, kind, type_name, methods, text)
  return setmetatable(fields, { rtl_go = kind, type_name = type_name, methods = methods or {},
    text = text })
end

local function meta(v)
  local mt = type(v) == "table" and getmetatable(v)
  return mt and mt.rtl_go and mt
end

--- The object description of `v`, or nil.
M.meta = meta

--- The kind of a value: "string", "bool", "int", "float", "nil", "list", "map", "struct".
function M.kind(v)
  local t = type(v)
  if t == "string" then return "string" end
  if t == "boolean" then return "bool" end
  if t == "number" then return math.type(v) == "integer" and "int" or "float" end
  if v == nil or v == null then return "nil" end
  local mt = meta(v)
  if mt then return mt.rtl_go end
  return array.is(v) and "list" or "map"
end

local type_names = { string = "string", bool = "bool", int = "int", float = "float64",
  ["nil"] = "<nil>", list = "[]interface {}", map = "map[string]interface {}" }

--- The name of a value's Go type.
function M.type_name(v)
  local mt = meta(v)
  return mt and mt.type_name or type_names[M.kind(v)]
end

--- Whether a template takes the value as true.
function M.truth(v)
  local kind = M.kind(v)
  if kind == "nil" then return false end
  if kind == "bool" then return v end
  if kind == "int" or kind == "float" then return v ~= 0 end
  if kind == "string" then return v ~= "" end
  if kind == "list" then return #v > 0 end
  if kind == "map" then return next(v) ~= nil end
  return true
end

--- The string keys of a map in byte order.
function M.keys(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

--- The shortest decimal digits that give `v` back, and the power of ten of the first digit:
-- 1234.5 → "12345", 3. `v` must be finite and not negative.
local function digits_of(v)
  if v == 0 then return "0", 0 end
  for precision = 0, 16 do
    local text = string.format("%." .. precision .. "e", v)
    if tonumber(text) == v then
      local whole, fraction, exponent = text:match("^(%d)%.?(%d*)e([-+]%d+)$")
      return ((whole .. fraction):gsub("0+$", "")), math.tointeger(tonumber(exponent))
    end
  end
end

local function positional(digits, exponent)
  if exponent < 0 then return "0." .. ("0"):rep(-exponent - 1) .. digits end
  if #digits <= exponent + 1 then return digits .. ("0"):rep(exponent + 1 - #digits) end
  return digits:sub(1, exponent + 1) .. "." .. digits:sub(exponent + 2)
end

--- A float as Go's strconv writes it with the shortest digits; exponents below `low` or from `high`
-- on are written with e (fmt and %g: -4 and 6; JSON: -6 and 21).
local function float_text(v, low, high)
  if v ~= v then return "NaN" end
  if v == math.huge then return "+Inf" end
  if v == -math.huge then return "-Inf" end
  local sign = (v < 0 or 1 / v < 0) and "-" or ""
  local digits, exponent = digits_of(math.abs(v))
  if exponent >= low and exponent < high then return sign .. positional(digits, exponent) end
  local rest = digits:sub(2)
  return string.format("%s%s%se%s%02d", sign, digits:sub(1, 1), rest ~= "" and "." .. rest or "",
    exponent < 0 and "-" or "+", math.abs(exponent))
end
M.float_text = float_text

--- A float as `%v` prints it: 3.0 → "3", 1e6 → "1e+06".
function M.float_v(v)
  return float_text(v, -4, 6)
end

local print_value

local function print_list(list)
  local parts = {}
  for i, item in ipairs(list) do parts[i] = print_value(item) end
  return "[" .. table.concat(parts, " ") .. "]"
end

local function print_map(map)
  local parts = {}
  for i, key in ipairs(M.keys(map)) do parts[i] = key .. ":" .. print_value(map[key]) end
  return "map[" .. table.concat(parts, " ") .. "]"
end

--- A value as Go's `%v` prints it; nil is "<nil>".
function print_value(v)
  local kind = M.kind(v)
  if kind == "string" then return v end
  if kind == "nil" then return "<nil>" end
  if kind == "float" then return M.float_v(v) end
  local mt = meta(v)
  if mt and mt.text then return mt.text(v) end
  if kind == "list" then return print_list(v) end
  if kind == "map" then return print_map(v) end
  if kind == "struct" then
    error({ helm = "printing a whole " .. M.type_name(v) .. " is not supported" }, 0)
  end
  return tostring(v)
end
M.print_value = print_value

local escapes = { ["\a"] = "\\a", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r",
  ["\t"] = "\\t", ["\v"] = "\\v", ["\\"] = "\\\\", ['"'] = '\\"' }

local function quote_rune(code)
  if code == 0xFEFF or (code >= 0x80 and code < 0xA0) or code == 0xAD
    or (code >= 0x2028 and code <= 0x202E) or (code >= 0x200B and code <= 0x200F) then
    return string.format("\\u%04x", code)
  end
  return utf8.char(code)
end

--- A string as Go's `%q` prints it.
function M.quote(s)
  local out = s:gsub('[%c\\"\127]', function (c)
    return escapes[c] or string.format("\\x%02x", c:byte())
  end)
  if not out:find("[\128-\255]") then return '"' .. out .. '"' end
  local parts, at = {}, 1
  while at <= #out do
    local ok, code = pcall(utf8.codepoint, out, at)
    if ok then
      parts[#parts + 1] = code < 0x80 and out:sub(at, at) or quote_rune(code)
      at = at + #utf8.char(code)
    else
      parts[#parts + 1] = string.format("\\x%02x", out:byte(at))
      at = at + 1
    end
  end
  return '"' .. table.concat(parts) .. '"'
end

--- A deep copy in which every number is a float, as helm reads values from a text. A table with a
-- first item counts as a list, also when nobody marked it (values that a recipe writes).
function M.floats(v)
  if math.type(v) == "integer" then return v + 0.0 end
  if type(v) ~= "table" then return v end
  local copy = {}
  for key, item in pairs(v) do copy[key] = M.floats(item) end
  return (array.is(v) or v[1] ~= nil) and array(copy) or copy
end

--- A deep copy.
function M.copy(v)
  if type(v) ~= "table" or meta(v) then return v end
  local copy = {}
  for key, item in pairs(v) do copy[key] = M.copy(item) end
  return array.is(v) and array(copy) or copy
end

--- Deep equality as Go's reflect.DeepEqual has it for these values.
function M.equal(a, b)
  local kind = M.kind(a)
  if kind ~= M.kind(b) then return false end
  if kind == "nil" then return true end
  if type(a) ~= "table" or kind == "struct" then return a == b end
  for key, item in pairs(a) do
    if b[key] == nil or not M.equal(item, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

--- Raises an error of the template: the engine adds file, line and name.
function M.fail(format, ...)
  error({ helm = select("#", ...) > 0 and format:format(...) or format }, 0)
end

return M
