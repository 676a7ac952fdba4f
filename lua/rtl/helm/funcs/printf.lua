--- Go's fmt: print, println, printf.

local go = require "rtl.helm.go"

local M = {}

-- `%!d(string=x)`: what Go writes for a verb that does not fit.
local function wrong(verb, v)
  if go.kind(v) == "nil" then return "%!" .. verb .. "(<nil>)" end
  return "%!" .. verb .. "(" .. go.type_name(v) .. "=" .. go.print_value(v) .. ")"
end

local function pad(text, flags, width)
  local missing = (width or 0) - (utf8.len(text) or #text)
  if missing <= 0 then return text end
  if flags:find("-", 1, true) then return text .. (" "):rep(missing) end
  if flags:find("0", 1, true) then
    local sign, rest = text:match("^([-+]?)(.*)$")
    return sign .. ("0"):rep(missing) .. rest
  end
  return (" "):rep(missing) .. text
end

local function signed(text, flags)
  if flags:find("+", 1, true) and not text:match("^[-+]") then return "+" .. text end
  if flags:find(" ", 1, true) and not text:match("^[-+]") then return " " .. text end
  return text
end

local function base_text(v, base)
  if base == 10 then return tostring(v) end
  local digits, rest = {}, math.abs(v)
  repeat
    table.insert(digits, 1, tostring(rest % base))
    rest = rest // base
  until rest == 0
  return (v < 0 and "-" or "") .. table.concat(digits)
end

local function hex_text(v, upper)
  local text = type(v) == "string" and v:gsub(".",
    function (c) return ("%02x"):format(c:byte()) end)
    or (v < 0 and "-" or "") .. ("%x"):format(math.abs(v))
  return upper and text:upper() or text
end

local integer_verbs = {
  d = function (v) return base_text(v, 10) end,
  b = function (v) return base_text(v, 2) end,
  o = function (v) return base_text(v, 8) end,
  x = function (v) return hex_text(v, false) end,
  X = function (v) return hex_text(v, true) end,
  c = function (v) return utf8.char(v) end,
  q = function (v) return "'" .. utf8.char(v) .. "'" end,
  v = function (v) return tostring(v) end,
}

local function float_verb(verb, v, precision)
  if verb == "v" or (verb == "g" and not precision) then return go.float_v(v) end
  if verb == "e" or verb == "E" or verb == "f" or verb == "F" then
    return ("%." .. (precision or 6) .. (verb == "F" and "f" or verb)):format(v)
  end
  if verb == "g" or verb == "G" then return ("%." .. precision .. verb):format(v) end
end

local function string_verb(verb, v, precision)
  if precision and (verb == "s" or verb == "v" or verb == "q") then
    v = v:sub(1, (utf8.offset(v, precision + 1) or #v + 1) - 1)
  end
  if verb == "s" or verb == "v" then return v end
  if verb == "q" then return go.quote(v) end
  if verb == "x" or verb == "X" then return hex_text(v, verb == "X") end
end

local format_value

-- Lists and maps apply the verb to each of their items.
local function format_items(verb, v, flags, precision)
  local parts = {}
  if go.kind(v) == "list" then
    for i, item in ipairs(v) do parts[i] = format_value(verb, item, flags, nil, precision) end
    return "[" .. table.concat(parts, " ") .. "]"
  end
  for i, key in ipairs(go.keys(v)) do
    parts[i] = format_value(verb, key, flags, nil, precision) .. ":"
      .. format_value(verb, v[key], flags, nil, precision)
  end
  return "map[" .. table.concat(parts, " ") .. "]"
end

local function format_number(verb, v, flags, width, precision)
  local text
  if math.type(v) == "integer" then
    text = integer_verbs[verb] and integer_verbs[verb](v)
  else
    text = float_verb(verb, v, precision)
  end
  return text and pad(verb == "c" and text or signed(text, flags), flags, width)
end

function format_value(verb, v, flags, width, precision)
  local kind = go.kind(v)
  if verb == "T" then return pad(go.type_name(v), flags, width) end
  if verb == "v" and flags:find("#", 1, true) then go.fail("printf: %%#v is not supported") end
  local text
  if kind == "nil" then
    if verb == "v" then return pad("<nil>", flags:gsub("0", ""), width) end
  elseif kind == "int" or kind == "float" then
    text = format_number(verb, v, flags, width, precision)
  elseif kind == "string" then
    text = string_verb(verb, v, precision)
    text = text and pad(text, flags:gsub("0", ""), width)
  elseif kind == "bool" then
    text = (verb == "t" or verb == "v") and pad(tostring(v), flags:gsub("0", ""), width)
  elseif verb == "v" or (verb == "s" and go.meta(v) and go.meta(v).text) then
    text = go.print_value(v)
  elseif kind == "list" or kind == "map" then
    text = format_items(verb, v, flags, precision)
  end
  return text or wrong(verb, v)
end

local function extra(args, used)
  if used >= args.n then return "" end
  local parts = {}
  for i = used + 1, args.n do
    local v = args[i]
    parts[#parts + 1] = go.kind(v) == "nil" and "<nil>" or go.type_name(v) .. "="
      .. go.print_value(v)
  end
  return "%!(EXTRA " .. table.concat(parts, ", ") .. ")"
end

--- `printf format args…` as Go's fmt.Sprintf. `args` is { n = count, … }.
function M.sprintf(format, args)
  local parts, at, used = {}, 1, 0
  local function take()
    used = used + 1
    return args[used]
  end
  while at <= #format do
    local plain = format:match("^[^%%]+", at)
    if plain then
      parts[#parts + 1], at = plain, at + #plain
    else
      local flags, width, dot, precision,
        stop = format:match("^%%([-+# 0]*)([%d*]*)(%.?)([%d*]*)()", at)
      local verb = format:match("^[%z\1-\127\194-\244][\128-\191]*", stop)
      if width == "*" then width = take() end
      if precision == "*" then precision = take() end
      if not verb then
        parts[#parts + 1] = "%!(NOVERB)"
      elseif verb == "%" then
        parts[#parts + 1] = "%"
      elseif verb == "[" then
        go.fail("printf: explicit argument indexes are not supported")
      elseif used >= args.n then
        parts[#parts + 1] = "%!" .. verb .. "(MISSING)"
      else
        parts[#parts + 1] = format_value(verb, take(), flags, math.tointeger(tonumber(width)),
          dot == "." and (math.tointeger(tonumber(precision)) or 0) or nil)
      end
      at = stop + #(verb or "")
    end
  end
  parts[#parts + 1] = extra(args, used)
  return table.concat(parts)
end

--- Go's fmt.Sprint: a space between two operands when neither is a string.
function M.sprint(args)
  local parts = {}
  for i = 1, args.n do
    if i > 1 and type(args[i]) ~= "string" and type(args[i - 1]) ~= "string" then
      parts[#parts + 1] = " "
    end
    parts[#parts + 1] = go.print_value(args[i])
  end
  return table.concat(parts)
end

--- Go's fmt.Sprintln.
function M.sprintln(args)
  local parts = {}
  for i = 1, args.n do parts[i] = go.print_value(args[i]) end
  return table.concat(parts, " ") .. "\n"
end

return M
