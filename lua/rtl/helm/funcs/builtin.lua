--- The functions of Go's text/template itself.

local go = require "rtl.helm.go"
local null = require "rtl.null"
local printf = require "rtl.helm.funcs.printf"

local F = {}

local function equal_pair(a, b)
  local kind_a, kind_b = go.kind(a), go.kind(b)
  if kind_a == "nil" or kind_b == "nil" then return kind_a == kind_b end
  if kind_a ~= kind_b then go.fail("incompatible types for comparison") end
  if kind_a == "list" or kind_a == "map" then
    go.fail("non-comparable type %s: %s", go.print_value(a), go.type_name(a))
  end
  return a == b
end

local function equal(args)
  if args.n < 2 then go.fail("missing argument for comparison") end
  for i = 2, args.n do
    if equal_pair(args[1], args[i]) then return true end
  end
  return false
end

local ordered = { string = true, int = true, float = true }

local function less(a, b)
  local kind_a, kind_b = go.kind(a), go.kind(b)
  if not ordered[kind_a] or not ordered[kind_b] then go.fail("invalid type for comparison") end
  if kind_a ~= kind_b then go.fail("incompatible types for comparison") end
  return a < b
end

local function length(v)
  local kind = go.kind(v)
  if kind == "string" or kind == "list" then return #v end
  if kind == "map" then return #go.keys(v) end
  go.fail(kind == "nil" and "len of nil pointer" or "len of type " .. go.type_name(v))
end

local function index_one(v, key)
  local kind = go.kind(v)
  if kind == "nil" then go.fail("index of untyped nil") end
  if kind == "map" then
    if type(key) ~= "string" then
      go.fail("value has type %s; should be string", go.type_name(key))
    end
    local item = v[key]
    if item == nil then return null end
    return item
  elseif kind == "list" or kind == "string" then
    if math.type(key) ~= "integer" then
      go.fail("cannot index slice/array with type %s", go.type_name(key))
    end
    if key < 0 or key >= #v then go.fail("index out of range: %d", key) end
    return kind == "string" and v:byte(key + 1) or v[key + 1]
  end
  go.fail("can't index item of type %s", go.type_name(v))
end

local function index(args)
  local value = args[1]
  for i = 2, args.n do value = index_one(value, args[i]) end
  return value
end

local html_escapes = { ["<"] = "&lt;", [">"] = "&gt;", ["&"] = "&amp;", ['"'] = "&#34;",
  ["'"] = "&#39;",
  ["\0"] = "\u{FFFD}" }

local function url_escape(text)
  return (text:gsub("[^%w_.~-]", function (c) return c == " " and "+"
    or ("%%%02X"):format(c:byte()) end))
end

F.eq = { "aa*", equal }
F.ne = { "aa", function (a, b) return not equal_pair(a, b) end }
F.lt = { "aa", less }
F.le = { "aa", function (a, b) return less(a, b) or equal_pair(a, b) end }
F.gt = { "aa", function (a, b) return not less(a, b) and not equal_pair(a, b) end }
F.ge = { "aa", function (a, b) return not less(a, b) end }
F["not"] = { "a", function (v) return not go.truth(v) end }
-- The engine looks at the arguments of these one by one; they stand here so that they exist.
F["and"] = { "aa*", function (args) return args[args.n] end }
F["or"] = { "aa*", function (args) return args[args.n] end }
F.len = { "a", length }
F.index = { "aa*", index }
F.print = { "a*", printf.sprint }
F.println = { "a*", printf.sprintln }
F.printf = { "sa*", function (args)
  return printf.sprintf(args[1], { n = args.n - 1, table.unpack(args, 2, args.n) })
end }
F.html = { "a*", function (args) return (printf.sprint(args):gsub("[<>&\"'%z]", html_escapes)) end }
F.urlquery = { "a*", function (args) return url_escape(printf.sprint(args)) end }
F.fail = { "s", function (message) go.fail("%s", message) end }
F.required = { "sa", function (message, v)
  if go.kind(v) == "nil" or v == "" then go.fail("%s", message) end
  return v
end }
-- Rendering has no cluster: helm gives an empty map too.
F.lookup = { "ssss", function () return {} end }
F.getHostByName = { "s", function () return "" end }

return F
