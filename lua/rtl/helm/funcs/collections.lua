--- Template functions on lists and dictionaries (sprig), defaults, and tests of values.
-- Where Go's map order is random (keys, values) the order here is that of the keys.

local array = require "rtl.array"
local go = require "rtl.helm.go"
local null = require "rtl.null"

local F = {}

local function empty(v) return not go.truth(v) end

local function need_list(v, name)
  if go.kind(v) ~= "list" then go.fail("Cannot find %s on type %s", name, go.kind(v)) end
  return v
end

local function contains(list, wanted)
  for _, item in ipairs(list) do
    if go.equal(item, wanted) then return true end
  end
  return false
end

local function part(list, first, last)
  return array(table.move(list, first, last, 1, {}))
end

-- Lists ---------------------------------------------------------------------------------------

local function list_of(args) return array { table.unpack(args, 1, args.n) } end

local function first_of(v)
  local item = need_list(v, "first")[1]
  if item == nil then return null end
  return item
end

local function last_of(v)
  local item = need_list(v, "last")[#v]
  if item == nil then return null end
  return item
end

local function unique(v)
  local out = {}
  for _, item in ipairs(need_list(v, "uniq")) do
    if not contains(out, item) then out[#out + 1] = item end
  end
  return array(out)
end

local function without(args)
  local out, omit = {}, { table.unpack(args, 2, args.n) }
  for _, item in ipairs(need_list(args[1], "without")) do
    if not contains(omit, item) then out[#out + 1] = item end
  end
  return array(out)
end

local function concat(args)
  local out = {}
  for i = 1, args.n do
    if go.kind(args[i]) ~= "list" then
      go.fail("Cannot concat type %s as list", go.kind(args[i]))
    end
    table.move(args[i], 1, #args[i], #out + 1, out)
  end
  return array(out)
end

local function chunk(size, v)
  local out = {}
  for i = 1, #need_list(v, "chunk"), size do out[#out + 1] = part(v, i,
    math.min(i + size - 1, #v)) end
  return array(out)
end

local function slice_list(args)
  local v = need_list(args[1], "slice")
  if #v == 0 then return null end
  local from, to = args[2] or 0, args[3] or #v
  from, to = math.tointeger(from) or 0, math.tointeger(to) or #v
  if from < 0 or to > #v or from > to then go.fail("slice: index out of range") end
  return part(v, from + 1, to)
end

local function compact(v)
  local out = {}
  for _, item in ipairs(need_list(v, "compact")) do
    if not empty(item) then out[#out + 1] = item end
  end
  return array(out)
end

local function reversed(v)
  local out = {}
  for i = #need_list(v, "reverse"), 1, -1 do out[#out + 1] = v[i] end
  return array(out)
end

F.list = { "a*", list_of }
F.tuple = F.list
F.first = { "a", first_of }
F.last = { "a", last_of }
F.rest = { "a", function (v) return #need_list(v, "rest") > 0 and part(v, 2, #v) or null end }
F.initial = { "a", function (v)
  return #need_list(v, "initial") > 0 and part(v, 1, #v - 1) or null
end }
F.append = { "aa", function (v, item)
  local out = part(need_list(v, "push"), 1, #v)
  out[#out + 1] = item
  return out
end }
F.push = F.append
F.prepend = { "aa", function (v, item)
  return array { item, table.unpack(need_list(v, "prepend")) }
end }
F.reverse = { "a", reversed }
F.uniq = { "a", unique }
F.without = { "aa*", without }
F.has = { "aa", function (item, v)
  return go.kind(v) ~= "nil" and contains(need_list(v, "has"), item)
end }
F.concat = { "a*", concat }
F.chunk = { "ia", chunk }
F.compact = { "a", compact }
F.slice = { "aa*", slice_list }
for _, name in ipairs { "first", "last", "rest", "initial", "append", "push", "prepend", "reverse",
  "uniq",
  "without", "has", "chunk", "compact", "slice" } do
  F["must" .. name:sub(1, 1):upper() .. name:sub(2)] = F[name]
end

-- Dictionaries --------------------------------------------------------------------------------

local function dict(args)
  local out = {}
  for i = 1, args.n, 2 do
    local value = args[i + 1]
    if i + 1 > args.n then value = "" end
    out[go.print_value(args[i])] = value
  end
  return out
end

local function keys(args)
  local out = {}
  for i = 1, args.n do
    for _, key in ipairs(go.keys(args[i])) do out[#out + 1] = key end
  end
  return array(out)
end

local function values(map)
  local out = {}
  for i, key in ipairs(go.keys(map)) do out[i] = map[key] end
  return array(out)
end

local function pick(args)
  local out = {}
  for i = 2, args.n do
    if args[1][args[i]] ~= nil then out[args[i]] = args[1][args[i]] end
  end
  return out
end

local function omit(args)
  local out = {}
  for key, value in pairs(args[1]) do out[key] = value end
  for i = 2, args.n do out[args[i]] = nil end
  return out
end

local function pluck(args)
  local out = {}
  for i = 2, args.n do
    local value = args[i][args[1]]
    if value ~= nil then out[#out + 1] = value end
  end
  return array(out)
end

local function merge_into(target, source, overwrite)
  for _, key in ipairs(go.keys(source)) do
    local value, old = source[key], target[key]
    if go.kind(value) == "nil" then
      if overwrite then target[key] = value end
    elseif go.kind(value) == "map" and go.kind(old) == "map" then
      merge_into(old, value, overwrite)
    elseif old == nil or empty(old) or overwrite then
      target[key] = value
    end
  end
  return target
end

local function merge(args, overwrite)
  local target = args[1]
  for i = 2, args.n do merge_into(target, args[i], overwrite) end
  return target
end

local function dig(args)
  if args.n < 3 then go.fail("dig needs at least three arguments") end
  local value = args[args.n]
  for i = 1, args.n - 2 do
    if go.kind(value) ~= "map" then
      go.fail("dig: interface conversion: not a map at %s", tostring(args[i]))
    end
    value = value[args[i]]
    if value == nil then return args[args.n - 1] end
  end
  return value
end

F.dict = { "a*", dict }
F.get = { "ms", function (map, key)
  if map[key] == nil then return "" end
  return map[key]
end }
F.set = { "msa", function (map, key, value)
  map[key] = value
  return map
end }
F.unset = { "ms", function (map, key)
  map[key] = nil
  return map
end }
F.hasKey = { "ms", function (map, key) return map[key] ~= nil end }
F.keys = { "m*", keys }
F.values = { "m", values }
F.pick = { "ms*", pick }
F.omit = { "ms*", omit }
F.pluck = { "sm*", pluck }
F.merge = { "mm*", function (args) return merge(args, false) end }
F.mustMerge = F.merge
F.mergeOverwrite = { "mm*", function (args) return merge(args, true) end }
F.mustMergeOverwrite = F.mergeOverwrite
F.dig = { "a*", dig }
F.deepCopy = { "a", go.copy }
F.mustDeepCopy = F.deepCopy

-- Defaults and tests --------------------------------------------------------------------------

local reflect_kinds = { float = "float64", list = "slice", ["nil"] = "invalid" }

local function kind_of(v)
  local kind = go.kind(v)
  return reflect_kinds[kind] or kind
end

local function every(args)
  for i = 1, args.n do
    if empty(args[i]) then return false end
  end
  return true
end

local function coalesce(args)
  for i = 1, args.n do
    if not empty(args[i]) then return args[i] end
  end
  return null
end

F.default = { "aa*", function (args)
  if args.n < 2 or empty(args[2]) then return args[1] end
  return args[2]
end }
F.empty = { "a", empty }
F.coalesce = { "a*", coalesce }
F.all = { "a*", every }
F.any = { "a*", function (args) return go.kind(coalesce(args)) ~= "nil" end }
F.ternary = { "aab", function (yes, no, test)
  if test then return yes end
  return no
end }
F.typeOf = { "a", go.type_name }
F.typeIs = { "sa", function (name, v) return go.type_name(v) == name end }
F.typeIsLike = { "sa", function (name, v)
  return go.type_name(v) == name or "*" .. name == go.type_name(v)
end }
F.kindOf = { "a", kind_of }
F.kindIs = { "sa", function (name, v) return kind_of(v) == name end }
F.deepEqual = { "aa", go.equal }

return F
