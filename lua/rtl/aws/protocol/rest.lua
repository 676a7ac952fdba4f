--- Requests of the rest protocols: verb, path, query string, headers, and a JSON or XML body.

local crypto = require "rtl.native.crypto"
local json = require "rtl.aws.protocol.json"
local value = require "rtl.aws.value"
local xml = require "rtl.aws.protocol.xml"

local M = {}

local encode = crypto.sigv4.encode

local function path_of(op, params)
  local template, fixed = op.path:match "^([^?]*)%??(.*)$"
  local path = template:gsub("{([%w_-]+)(%+?)}", function (name, greedy)
    return encode(params[name], greedy == "+")
  end)
  return path, fixed
end

local function add_query(parts, member, field)
  if member.shape.kind == "list" then
    for _, item in ipairs(field) do
      parts[#parts + 1] = encode(member.wire_in) .. "="
        .. encode(value.to_text(member.shape.member, item))
    end
  else
    parts[#parts + 1] = encode(member.wire_in) .. "=" .. encode(value.to_text(member.shape, field))
  end
end

local function add_body(op, params, request)
  local member = op.payload and op.input.by_name[op.payload]
  if op.service.protocol == "rest-json" then
    request.body = json.body(op.input, params)
    request.headers[#request.headers + 1] = { "Content-Type", "application/json" }
  elseif not member or params[member.name] == nil then
    return
  elseif member.shape.kind == "blob" then
    request.body = params[member.name]
  else
    request.body = xml.body(member.wire_in, member.shape, params[member.name], op.service.xmlns)
    request.headers[#request.headers + 1] = { "Content-Type", "application/xml" }
  end
end

local function has_body(op)
  for _, member in ipairs(op.input.members) do
    if member.where == "body" then return true end
  end
  return false
end

--- The HTTP request of a call: {method, path, query, headers, body}.
function M.encode(op, params)
  local path, fixed = path_of(op, params)
  local request = { method = op.method, path = path, headers = {} }
  local parts = {}
  if fixed ~= "" then parts[1] = fixed end
  for _, member in ipairs(op.input.members) do
    local field = params[member.name]
    if field ~= nil and member.where == "query" then
      add_query(parts, member, field)
    elseif field ~= nil and member.where == "header" then
      request.headers[#request.headers + 1] = {
        member.wire_in, value.to_text(member.shape, field),
      }
    end
  end
  if #parts > 0 then request.query = table.concat(parts, "&") end
  if has_body(op) then add_body(op, params, request) end
  if op.checksum and request.body then
    request.headers[#request.headers + 1] = {
      "Content-MD5", crypto.base64_encode(crypto.md5(request.body)),
    }
  end
  return request
end

return M
