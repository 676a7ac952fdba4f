--- Template functions on numbers (sprig).

local array = require "rtl.array"
local go = require "rtl.helm.go"

local F = {}

local function parse_int(text)
  local sign, rest = text:match("^([-+]?)(.*)$")
  local digits, base = rest, 10
  if rest:match("^0[xX]%x+$") then digits, base = rest:sub(3), 16
  elseif rest:match("^0[bB][01]+$") then digits, base = rest:sub(3), 2
  elseif rest:match("^0[oO][0-7]+$") then digits, base = rest:sub(3), 8
  elseif rest:match("^0[0-7]+$") then base = 8
  elseif not rest:match("^%d+$") then return nil end
  local value = tonumber(digits, base)
  return value and (sign == "-" and -value or value)
end

--- spf13/cast's ToInt64: what it can't read is 0.
local function to_int(v)
  local kind = go.kind(v)
  if kind == "int" then return v end
  if kind == "float" then return math.tointeger(v >= 0 and math.floor(v) or math.ceil(v)) or 0 end
  if kind == "bool" then return v and 1 or 0 end
  if kind == "string" then return parse_int((v:gsub("%.0*$", ""))) or 0 end
  return 0
end

local function to_float(v)
  local kind = go.kind(v)
  if kind == "int" or kind == "float" then return v + 0.0 end
  if kind == "bool" then return v and 1.0 or 0.0 end
  if kind == "string" and v:match("^[-+]?[%d.]") and not v:match("^[-+]?0[xX]") then
    return (tonumber((v:gsub("^%+", ""))) or 0) + 0.0
  end
  return 0.0
end

local function fold(convert, step)
  return function (args)
    local value = convert(args[1])
    for i = 2, args.n do value = step(value, convert(args[i])) end
    return value
  end
end

-- Go cuts toward zero, Lua toward minus infinity.
local function quotient(a, b)
  if b == 0 then go.fail("integer divide by zero") end
  local q = a // b
  return q < 0 and q * b ~= a and q + 1 or q
end

local function until_step(start, stop, step)
  local out = {}
  if stop < start and step >= 0 or stop >= start and step <= 0 then return array(out) end
  for i = start, stop - (step > 0 and 1 or -1), step do out[#out + 1] = i end
  return array(out)
end

local function round(args)
  local limit = args[3] and to_float(args[3]) or 0.5
  local power = 10.0 ^ args[2]
  local scaled = power * to_float(args[1])
  local _, rest = math.modf(scaled)
  return (rest >= limit and math.ceil(scaled) or math.floor(scaled)) / power
end

local function seq(args)
  local first, step, last = 1, nil, args[1]
  if args.n == 2 then first, last = args[1], args[2] end
  if args.n == 3 then first, step, last = args[1], args[2], args[3] end
  if args.n == 0 or args.n > 3 then return "" end
  local direction = last < first and -1 or 1
  if args.n == 3 and direction < 0 and step > 0 then return "" end
  return table.concat(until_step(first, last + direction, step or direction), " ")
end

local function add(a, b) return a + b end
local function larger(a, b) return a > b and a or b end
local function smaller(a, b) return a < b and a or b end

F.int = { "a", to_int }
F.int64 = F.int
F.float64 = { "a", to_float }
F.atoi = { "s", function (s)
  return s:match("^[-+]?%d+$") and math.tointeger(tonumber((s:gsub("^%+", "")))) or 0
end }
F.toDecimal = { "a", function (v)
  local text = go.print_value(v)
  return text:match("^[0-7]+$") and tonumber(text, 8) or 0
end }
F.add = { "a*", function (args)
  local sum = 0
  for i = 1, args.n do sum = sum + to_int(args[i]) end
  return sum
end }
F.add1 = { "a", function (v) return to_int(v) + 1 end }
F.sub = { "aa", function (a, b) return to_int(a) - to_int(b) end }
F.div = { "aa", function (a, b) return quotient(to_int(a), to_int(b)) end }
F.mod = { "aa", function (a, b)
  a, b = to_int(a), to_int(b)
  return a - quotient(a, b) * b
end }
F.mul = { "aa*", fold(to_int, function (a, b) return a * b end) }
F.max = { "aa*", fold(to_int, larger) }
F.biggest = F.max
F.min = { "aa*", fold(to_int, smaller) }
F.maxf = { "aa*", fold(to_float, larger) }
F.minf = { "aa*", fold(to_float, smaller) }
F.addf = { "aa*", fold(to_float, add) }
F.add1f = { "a", function (v) return to_float(v) + 1.0 end }
F.subf = { "aa*", fold(to_float, function (a, b) return a - b end) }
F.mulf = { "aa*", fold(to_float, function (a, b) return a * b end) }
F.divf = { "aa*", fold(to_float, function (a, b) return a / b end) }
F.floor = { "a", function (v) return math.floor(to_float(v)) + 0.0 end }
F.ceil = { "a", function (v) return math.ceil(to_float(v)) + 0.0 end }
F.round = { "aia*", round }
F["until"] = { "i", function (count) return until_step(0, count, count < 0 and -1 or 1) end }
F.untilStep = { "iii", until_step }
F.seq = { "i*", seq }

return F
