--- References: values that are known only once another resource has been made.
-- `vpc.id` is a reference; so are `"arn:" .. role.arn` and `ref.map(a, b, fn)`. A reference is a
-- userdata, so that no encoder takes it for data. resolve() puts the values in, also inside nested
-- tables.

local keys = require "rtl.keys"
local native = require "rtl.native.ref"

local M = {}

local mt = { __name = "rtl.ref" }

local function node_of(value)
  return native.unbox(value, mt)
end

local function is(value)
  return node_of(value) ~= nil
end

--- Whether `value` is a reference.
function M.is(value)
  return is(value)
end

--- A reference to `output` of the resource with the key `key` ("vpc/main").
-- Kinds' resources make these by themselves: `vpc.id`.
function M.output(key, output)
  return native.box({ key = key, output = output }, mt)
end

--- A reference to what `fn` makes of the arguments before it, each a reference or a value:
-- `ref.map(a.id, b.id, function (x, y) … end)`. `fn` must not do I/O.
function M.map(...)
  local args = table.pack(...)
  local fn = args[args.n]
  if type(fn) ~= "function" then
    error(("bad argument #%d to 'map' (function expected)"):format(args.n), 2)
  end
  args[args.n] = nil
  args.n = args.n - 1
  return native.box({ fn = fn, args = args }, mt)
end

local function textual(value)
  return is(value) or type(value) == "string" or type(value) == "number"
end

function mt.__concat(a, b)
  for position, value in ipairs { a, b } do
    if not textual(value) then
      error(("bad operand #%d to '..' of a reference (%s)"):format(position, type(value)), 2)
    end
  end
  return M.map(a, b, function (x, y) return tostring(x) .. tostring(y) end)
end

function mt.__index(value, key)
  error(("a reference (%s) has no field '%s': use ref.map to reach into its value")
    :format(tostring(value), tostring(key)), 2)
end

function mt.__tostring(value)
  local node = node_of(value)
  if node.key then return ("<%s.%s>"):format(node.key, node.output) end
  local parts = {}
  for i = 1, node.args.n do parts[i] = tostring(node.args[i]) end
  return "<" .. table.concat(parts, "..") .. ">"
end

local function visit(value, found)
  local node = node_of(value)
  if node and node.key then
    found(node.key, node.output)
  elseif node then
    for i = 1, node.args.n do visit(node.args[i], found) end
  elseif type(value) == "table" then
    for _, key in ipairs(keys.sorted(value)) do visit(value[key], found) end
  end
end

--- Calls `found(key, output)` for each output that `value` refers to, nested tables included.
function M.each(value, found)
  visit(value, found)
end

--- The keys of all resources that `value` refers to: sorted array, each once.
function M.targets(value)
  local seen = {}
  visit(value, function (key) seen[key] = true end)
  return keys.sorted(seen)
end

local resolve

local function resolve_node(node, lookup, missing)
  if node.key then
    local value = lookup(node.key, node.output)
    if value == nil then missing[#missing + 1] = node.key .. "." .. node.output end
    return value
  end
  local args, before = { n = node.args.n }, #missing
  for i = 1, args.n do args[i] = resolve(node.args[i], lookup, missing) end
  if #missing > before then return nil end
  return node.fn(table.unpack(args, 1, args.n))
end

local function has_reference(value)
  local found = false
  visit(value, function () found = true end)
  return found
end

function resolve(value, lookup, missing)
  local node = node_of(value)
  if node then return resolve_node(node, lookup, missing) end
  if type(value) ~= "table" or not has_reference(value) then return value end
  local copy = setmetatable({}, getmetatable(value))
  for _, key in ipairs(keys.sorted(value)) do
    copy[key] = resolve(value[key], lookup, missing)
  end
  return copy
end

--- Puts values in for references: returns the value and an array of the outputs that
-- `lookup(key, output)` does not know yet ("vpc/main.id"), empty when all are known.
-- Tables without references are returned as they are, not copied.
function M.resolve(value, lookup)
  local missing = {}
  return resolve(value, lookup, missing), missing
end

return M
