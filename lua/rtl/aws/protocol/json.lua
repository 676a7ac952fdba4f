--- JSON bodies, both ways; the requests of the json protocol.

local array = require "rtl.array"
local json = require "rtl.native.json"
local null = require "rtl.null"
local secret = require "rtl.native.secret"
local value = require "rtl.aws.value"

local M = {}

--- The JSON value of `field`, with wire names. Sets `seen.secret` when a secret is in it.
function M.outgoing(shape, field, seen)
  if shape.kind == "structure" then
    local object = {}
    for _, member in ipairs(shape.members) do
      local inner = field[member.name]
      if inner ~= nil and member.where == "body" then
        object[member.wire_in] = M.outgoing(member.shape, inner, seen)
      end
    end
    return object
  elseif shape.kind == "list" then
    local items = {}
    for i, item in ipairs(field) do items[i] = M.outgoing(shape.member, item, seen) end
    return array(items)
  elseif shape.kind == "map" then
    local object = {}
    for key, inner in pairs(field) do object[key] = M.outgoing(shape.member, inner, seen) end
    return object
  end
  if secret.is(field) then seen.secret = true end
  return value.to_json(shape, field)
end

--- The body text of a structure; a secret when it holds one.
function M.body(shape, params)
  local seen = {}
  local object = M.outgoing(shape, params, seen)
  return json.encode(object, seen.secret and { secret = true } or nil)
end

--- The HTTP request of a call of the json protocol.
function M.encode(op, params)
  local svc = op.service
  return {
    method = "POST", path = "/", body = M.body(op.input, params),
    headers = {
      { "Content-Type", "application/x-amz-json-" .. svc.json },
      { "X-Amz-Target", svc.target .. "." .. op.name },
    },
  }
end

local function is_table(field)
  return type(field) == "table"
end

local function incoming_structure(shape, field)
  local out = {}
  for _, member in ipairs(shape.members) do
    if member.where == "body" and member.shape.kind == "time" then
      value.put_time(out, member.name, field[member.wire_out])
    elseif member.where == "body" then
      out[member.name] = M.incoming(member.shape, field[member.wire_out])
    end
  end
  return out
end

--- The Lua value of a decoded JSON value: members by AWS' names, absent lists and maps empty.
function M.incoming(shape, field)
  if field == null then field = nil end
  if shape.kind == "structure" then
    return is_table(field) and incoming_structure(shape, field) or nil
  elseif shape.kind == "list" then
    local items = array {}
    for _, item in ipairs(is_table(field) and field or {}) do
      items[#items + 1] = M.incoming(shape.member, item) -- null is no item: a hole would end it
    end
    return items
  elseif shape.kind == "map" then
    local map = {}
    for key, inner in pairs(is_table(field) and field or {}) do
      map[key] = M.incoming(shape.member, inner)
    end
    return map
  end
  return value.from_json(shape, field)
end

--- Decodes the body of an answer; returns a table, or nil, why, and whether it is JSON of another
-- kind than a service sends.
function M.decode(shape, body, secrets)
  local decoded, failure = json.decode(body, secrets and { secret = secrets } or nil)
  if failure then return nil, failure end
  if not is_table(decoded) or array.is(decoded) then return nil, "it is not an object", true end
  return M.incoming(shape, decoded)
end

return M
