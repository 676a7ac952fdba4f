--- Generated parameters for the operations of rtl.aws.ops, from the tables alone: each member on
-- its own with each of its odd values, all members together, lists and maps of 0, 1 and 3.

local array = require "rtl.array"

local M = {}

local TEXTS = { "a/b &<é+ *~%20", "", "\u{1F600} 漢字 e\u{301}", "'\"\\ \t=;#?", "0", "true",
                "x]]>&amp;", " two  blanks " }
-- libcurl and botocore send these as they are.
local HEADERS = { "plain", "a b;c=\"d\"", "0" }
local PATHS = { "a/b &<é+ *~%20", "漢字", "dir/a b+", "0", "~._-" }

local INTEGERS = { 7, 0, -1, 9007199254740993, math.maxinteger, math.mininteger }
local FLOATS = { 1.5, 2.0, 0, -0.25, 1e-7, 123456789012.5 }
-- Among them a leap day and the end of 2099.
local TIMES = { 1796119200, 0, 951782400, 4102444799, 1796119200.25 }
local BLOBS = { "\0bytes\255", "", ("\0\1\2\253\254\255"):rep(100) }
local DOCUMENTS = { '{"a":[1,"é"],"b":null}', "", "no JSON" }

local function size_of(value)
  if type(value) == "number" then return value end
  if type(value) == "string" then return utf8.len(value) end
  local count = 0
  for _ in pairs(value) do count = count + 1 end
  return count
end

local function within(shape, value)
  local size = size_of(value)
  return (not shape.min or size >= shape.min) and (not shape.max or size <= shape.max)
end

-- The values of `list` that a shape's limits allow, then those at the limits.
local function limited(shape, list, at_limit)
  local out = {}
  for _, value in ipairs(list) do
    if within(shape, value) then out[#out + 1] = value end
  end
  for _, limit in ipairs { shape.min or false, shape.max or false } do
    if limit and limit <= 5000 then out[#out + 1] = at_limit(limit) end
  end
  return out
end

local function texts(shape, where)
  if shape.enum then return shape.enum end
  local list = where == "header" and HEADERS or where == "path" and PATHS or TEXTS
  return limited(shape, list, function (n) return (where == "header" and "x" or "é"):rep(n) end)
end

local function documents(shape)
  return limited(shape, DOCUMENTS, function (n) return ("é"):rep(n) end)
end

local SCALARS = {
  string = texts, token = texts, secret = texts,
  int = function (shape)
    return limited(shape, INTEGERS, function (n) return n end)
  end,
  float = function (shape)
    return limited(shape, FLOATS, function (n) return n end)
  end,
  bool = function () return { true, false } end,
  time = function () return TIMES end,
  blob = function () return BLOBS end,
  json = documents, urljson = documents,
}

local first, variants

-- The required members only.
local function least(shape)
  local out = {}
  for _, member in ipairs(shape.members) do
    if member.required then out[member.name] = first(member.shape, member.where) end
  end
  return out
end

-- One plain value.
function first(shape, where)
  if shape.kind == "structure" then return least(shape) end
  if shape.kind == "list" then
    local items = array {}
    for i = 1, math.max(shape.min or 0, 1) do items[i] = first(shape.member, where) end
    return items
  end
  if shape.kind == "map" then return { ["k 1"] = first(shape.member, where) } end
  return SCALARS[shape.kind](shape, where)[1]
end

-- Every member of everything, two items in each list; a structure that holds itself ends.
local function all(shape, where, open)
  local kind = shape.kind
  if kind == "list" then
    local items = array { all(shape.member, where, open), all(shape.member, where, open) }
    return within(shape, items) and items or array { items[1] }
  elseif kind == "map" then
    return { ["k 1"] = all(shape.member, where, open), ["k&2"] = all(shape.member, where, open) }
  elseif kind ~= "structure" then
    return first(shape, where)
  end
  local out = {}
  open[shape] = true
  for _, member in ipairs(shape.members) do
    local inner = member.shape
    while inner.member do inner = inner.member end
    if member.required or not open[inner] then
      out[member.name] = all(member.shape, member.where, open)
    end
  end
  open[shape] = nil
  return out
end

local function structures(shape, open)
  local out = { least(shape), all(shape, nil, {}) }
  if open[shape] then return out end
  open[shape] = true
  for _, member in ipairs(shape.members) do
    for _, value in ipairs(variants(member.shape, member.where, open)) do
      local one = least(shape)
      one[member.name] = value
      out[#out + 1] = one
    end
  end
  open[shape] = nil
  return out
end

-- The values of `list` that a list or map of this shape may be.
local function sized(shape, list)
  local out = {}
  for _, value in ipairs(list) do
    if within(shape, value) then out[#out + 1] = value end
  end
  return out
end

-- None, three different ones, and each on its own.
local function lists(shape, where, open)
  local items = variants(shape.member, where, open)
  local out = { array {}, array { items[1], items[2] or items[1], items[3] or items[1] } }
  for _, item in ipairs(items) do out[#out + 1] = array { item } end
  return sized(shape, out)
end

local function maps(shape, where, open)
  local items, keys = variants(shape.member, where, open), texts(shape.key)
  local out = { {}, { z = items[1], ["A b"] = items[2] or items[1], ["é/+"] = items[1] } }
  for _, item in ipairs(items) do out[#out + 1] = { ["k 1"] = item } end
  for _, key in ipairs(keys) do out[#out + 1] = { [key] = items[1] } end
  return sized(shape, out)
end

-- A list of values of a shape.
function variants(shape, where, open)
  if shape.kind == "structure" then return structures(shape, open) end
  if shape.kind == "list" then return lists(shape, where, open) end
  if shape.kind == "map" then return maps(shape, where, open) end
  return SCALARS[shape.kind](shape, where)
end

--- The parameters to try an operation with: an array of tables, all within its limits.
function M.inputs(op)
  return structures(op.input, {})
end

return M
