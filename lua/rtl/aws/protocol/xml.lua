--- XML bodies: answers of the query protocols and of S3, requests of S3.

local array = require "rtl.array"
local native = require "rtl.native.xml"
local value = require "rtl.aws.value"

local M = {}

-- Children of a node by name, in order.
local function index(node)
  local by_name = {}
  for _, child in ipairs(node) do
    local list = by_name[child.name]
    if list then list[#list + 1] = child else by_name[child.name] = { child } end
  end
  return by_name
end

local incoming

local function incoming_list(shape, nodes)
  local items = array {}
  for i, node in ipairs(nodes) do items[i] = incoming(shape.member, node) end
  return items
end

-- <entry><key>k</key><value>v</value></entry>, in or without an outer element.
local function incoming_map(shape, nodes)
  local map = {}
  for _, entry in ipairs(nodes) do
    local parts = index(entry)
    if parts.key and parts.value then
      map[parts.key[1].text] = incoming(shape.member, parts.value[1])
    end
  end
  return map
end

local function incoming_member(member, nodes)
  local shape = member.shape
  if shape.kind == "list" then
    return incoming_list(shape, nodes and (shape.flat and nodes or nodes[1]) or {})
  elseif shape.kind == "map" then
    return incoming_map(shape, nodes and nodes[1] or {})
  end
  if nodes then return incoming(shape, nodes[1]) end
end

local function incoming_structure(shape, node)
  local by_name, out = index(node), {}
  for _, member in ipairs(shape.members) do
    local nodes = by_name[member.wire_out]
    if member.where == "body" and member.shape.kind == "time" then
      value.put_time(out, member.name, nodes and nodes[1].text)
    elseif member.where == "body" then
      out[member.name] = incoming_member(member, nodes)
    end
  end
  return out
end

function incoming(shape, node)
  if shape.kind == "structure" then return incoming_structure(shape, node) end
  return value.from_text(shape, node.text)
end

--- The Lua value of a structure's node: absent lists and maps are empty.
M.incoming = incoming_structure

--- Parses a body: returns the root node, or nil and an error.
function M.parse(body, secrets)
  return native.decode(body, secrets and { secret = secrets } or nil)
end

--- The first child of `node` with that name, or nil.
function M.child(node, name)
  for _, child in ipairs(node) do
    if child.name == name then return child end
  end
end

--- The text of that child, or nil when there is none or it is empty.
function M.text(node, name)
  local child = M.child(node, name)
  local text = child and child.text
  return text ~= "" and text or nil
end

local ESCAPES = {
  ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["\r"] = "&#xD;",
}

local function escape(text)
  return (text:gsub('[&<>"\r]', ESCAPES))
end

local outgoing

local function outgoing_list(out, name, shape, items)
  local inner = shape.flat and name or shape.item
  if not shape.flat then out[#out + 1] = "<" .. name .. ">" end
  for _, item in ipairs(items) do outgoing(out, inner, shape.member, item) end
  if not shape.flat then out[#out + 1] = "</" .. name .. ">" end
end

function outgoing(out, name, shape, field, attributes)
  if shape.kind == "list" then return outgoing_list(out, name, shape, field) end
  out[#out + 1] = "<" .. name .. (attributes or "") .. ">"
  if shape.kind == "structure" then
    for _, member in ipairs(shape.members) do
      local inner = field[member.name]
      if inner ~= nil then outgoing(out, member.wire_in, member.shape, inner) end
    end
  else
    out[#out + 1] = escape(value.to_text(shape, field))
  end
  out[#out + 1] = "</" .. name .. ">"
end

--- The XML text of one element with everything in it.
function M.body(name, shape, field, xmlns)
  local out = {}
  outgoing(out, name, shape, field, xmlns and (' xmlns="' .. xmlns .. '"'))
  return table.concat(out)
end

return M
