--- XML bodies: answers of the query protocols and of S3, requests of S3.

local native = require "rtl.native.xml"
local value = require "rtl.aws.value"

local M = {}

-- What the native reader leaves to be made: times, floats, blobs, numbers of many digits.
local function put(out, key, shape, text)
  if shape.kind == "time" then
    value.put_time(out, key, text)
  else
    out[key] = value.from_text(shape, text)
  end
end

-- The reader's plans by shape; they are made when first needed and hold the shape.
local plans = setmetatable({}, { __mode = "k" })

local function plan_of(shape)
  local plan = plans[shape]
  if not plan then
    plan = native.plan(shape, put)
    plans[shape] = plan
  end
  return plan
end

--- Reads a body into the members of a structure; absent lists and maps are empty. `below` is the
-- child of the root that holds them, nil: the root itself; `hidden` says that there are secrets.
-- Returns the table (false without that child) and the root's name, or nil and an error.
function M.read(body, shape, below, hidden)
  return native.read(body, plan_of(shape), below, hidden and { secret = true } or nil)
end

--- Parses a body: returns the root node, or nil and an error.
function M.parse(body)
  return native.decode(body)
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
