--- Requests of AWS' five protocols, as a service reads them: bytes → operation and parameters, by
-- the operation tables. What the tables do not know is refused, and so is what a member may not
-- hold.

local array = require "rtl.array"
local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local fault = require "rtl.rehearse.aws.fault"
local http = require "rtl.rehearse.http"
local json = require "rtl.native.json"
local null = require "rtl.null"
local model = require "rtl.aws.model"
local xml = require "rtl.native.xml"

local M = {}

-- Scalars from text (query protocols, headers, query strings, XML).
local function number_of(text, path)
  local value = tonumber(text)
  if not value then return nil, fault.invalid(("%s is not a number: %s"):format(path, text)) end
  return math.tointeger(value) or value
end

local function boolean_of(text, path)
  if text == "true" then return true elseif text == "false" then return false end
  return nil, fault.invalid(("%s is neither true nor false: %s"):format(path, text))
end

local function blob_of(text, path)
  local bytes = crypto.base64_decode(text)
  if not bytes then return nil, fault.invalid(path .. " is not base64") end
  return bytes
end

local function time_of(text, path)
  local value = clock.parse_iso(text) or tonumber(text)
  if not value then return nil, fault.invalid(("%s is not a time: %s"):format(path, text)) end
  return value
end

local function json_of(text, path)
  local value, e = json.decode(text)
  if value == nil then
    return nil, fault.new("MalformedPolicyDocument", ("%s is not JSON: %s"):format(path, e))
  end
  return value
end

local FROM_TEXT = { int = number_of, float = number_of, bool = boolean_of, blob = blob_of,
                    time = time_of, json = json_of, urljson = json_of }

local function check_scalar(shape, value, path)
  if shape.enum then
    for _, word in ipairs(shape.enum) do
      if word == value then return value end
    end
    return nil, fault.invalid(("Invalid value '%s' for %s"):format(tostring(value), path))
  end
  if shape.min or shape.max then
    local size = type(value) == "string" and #value or value
    if type(size) == "number" and (size < (shape.min or size) or size > (shape.max or size)) then
      return nil, fault.invalid(("Value (%s) for parameter %s is invalid: out of range")
                                :format(tostring(value), path))
    end
  end
  return value
end

local function scalar_from_text(shape, text, path)
  local from = FROM_TEXT[shape.kind]
  local value, refused = text, nil
  if from then value, refused = from(text, path) end
  if value == nil then return nil, refused end
  return check_scalar(shape, value, path)
end

-- A flat form as a tree: "A.1.B=x" → { A = { ["1"] = { B = { text = "x" } } } }.
local function tree_of(form)
  local root = { children = {} }
  for _, pair in ipairs(form) do
    local node = root
    for step in pair[1]:gmatch "[^.]+" do
      local child = node.children[step]
      if not child then
        child = { children = {} }
        node.children[step] = child
      end
      node = child
    end
    node.text = pair[2]
  end
  return root
end

local from_tree

local function list_from_tree(svc, shape, node, path)
  local out = array {}
  if svc.protocol == "awsquery" and not shape.flat and node.children[shape.item] then
    node = node.children[shape.item]
  end
  local i = 1
  while node.children[tostring(i)] do
    local value, refused = from_tree(svc, shape.member, node.children[tostring(i)],
                                     path .. "." .. i)
    if value == nil then return nil, refused end
    out[i] = value
    i = i + 1
  end
  for key in next, node.children do
    if not tonumber(key) or tonumber(key) >= i then
      return nil, fault.unknown(path .. "." .. key)
    end
  end
  return out
end

local function map_from_tree(svc, shape, node, path)
  local out, i = {}, 1
  local entries = node.children.entry or node
  while entries.children[tostring(i)] do
    local entry = entries.children[tostring(i)].children
    local value, refused = from_tree(svc, shape.member, entry.value, path .. ".entry." .. i)
    if value == nil then return nil, refused end
    out[entry.key.text] = value
    i = i + 1
  end
  return out
end

local function structure_from_tree(svc, shape, node, path)
  local out, known = {}, {}
  for _, member in ipairs(shape.members) do
    known[member.wire_in] = true
    local child = node.children[member.wire_in]
    local where = path == "" and member.wire_in or path .. "." .. member.wire_in
    if child then
      local value, refused = from_tree(svc, member.shape, child, where)
      if value == nil then return nil, refused end
      out[member.name] = value
    elseif member.required then
      return nil, fault.missing(where)
    end
  end
  for key in next, node.children do
    if not known[key] then return nil, fault.unknown(path == "" and key or path .. "." .. key) end
  end
  return out
end

function from_tree(svc, shape, node, path)
  if shape.kind == "structure" then return structure_from_tree(svc, shape, node, path) end
  if shape.kind == "list" then return list_from_tree(svc, shape, node, path) end
  if shape.kind == "map" then return map_from_tree(svc, shape, node, path) end
  if node.text == nil then return nil, fault.invalid(path .. " has no value") end
  return scalar_from_text(shape, node.text, path)
end

local function query_request(svc, request)
  local form, rest, action, version = http.pairs_of(request.body), {}, nil, nil
  for _, pair in ipairs(form) do
    if pair[1] == "Action" then action = pair[2]
    elseif pair[1] == "Version" then version = pair[2]
    else rest[#rest + 1] = pair end
  end
  local op = action and svc.by_name[action]
  if not op or version ~= svc.version then
    return nil, fault.new("InvalidAction", ("The action %s is not valid for this web service.")
                                           :format(tostring(action)))
  end
  local params, refused = structure_from_tree(svc, op.input, tree_of(rest), "")
  if not params then return nil, refused end
  return op, params
end

-- JSON.
local TYPES = { int = "number", float = "number", bool = "boolean", string = "string",
                token = "string", secret = "string", list = "table", map = "table",
                structure = "table" }

local from_json

local function list_from_json(svc, shape, value, path)
  local out = array {}
  for i, item in ipairs(value) do
    local got, refused = from_json(svc, shape.member, item, ("%s[%d]"):format(path, i))
    if got == nil then return nil, refused end
    out[i] = got
  end
  return out
end

local function structure_from_json(svc, shape, value, path)
  local out = {}
  for _, member in ipairs(shape.members) do
    if member.where == "body" then
      local given = value[member.wire_in]
      local where = path == "" and member.wire_in or path .. "." .. member.wire_in
      if given ~= nil and given ~= null then
        local got, refused = from_json(svc, member.shape, given, where)
        if got == nil then return nil, refused end
        out[member.name] = got
      elseif member.required then
        return nil, fault.missing(where)
      end
    end
  end
  return out
end

function from_json(svc, shape, value, path)
  local wanted = TYPES[shape.kind]
  if wanted and type(value) ~= wanted then
    return nil, fault.new("SerializationException", ("%s should be a %s"):format(path, shape.kind))
  end
  if shape.kind == "structure" then return structure_from_json(svc, shape, value, path) end
  if shape.kind == "list" then return list_from_json(svc, shape, value, path) end
  if shape.kind == "map" then
    local out = {}
    for key, item in next, value do
      local got, refused = from_json(svc, shape.member, item, path .. "." .. key)
      if got == nil then return nil, refused end
      out[key] = got
    end
    return out
  end
  if shape.kind == "json" or shape.kind == "urljson" then return json_of(value, path) end
  if shape.kind == "blob" then return blob_of(value, path) end
  if shape.kind == "time" and type(value) == "string" then return time_of(value, path) end
  return check_scalar(shape, value, path)
end

local function json_body(text)
  if text == "" then return {} end
  local body, e = json.decode(text)
  if type(body) ~= "table" then
    return nil, fault.new("SerializationException", tostring(e or "an object is expected"))
  end
  return body
end

local function json_request(svc, request)
  local prefix, name = (request.headers["x-amz-target"] or ""):match "^(.*)%.(%w+)$"
  local op = prefix == svc.target and svc.by_name[name]
  if not op then
    return nil, fault.new("UnknownOperationException", "no such operation: " .. tostring(name))
  end
  local body, refused = json_body(request.body)
  if not body then return nil, refused end
  local params
  params, refused = structure_from_json(svc, op.input, body, "")
  if not params then return nil, refused end
  return op, params
end

-- XML (S3).
local from_xml

local function children_named(node, name)
  local out = {}
  for _, child in ipairs(node) do
    if child.name == name then out[#out + 1] = child end
  end
  return out
end

local function list_from_xml(svc, shape, nodes, path)
  local out = array {}
  local items = nodes
  if not shape.flat then items = nodes[1] and children_named(nodes[1], shape.item) or {} end
  for i, node in ipairs(items) do
    local value, refused = from_xml(svc, shape.member, node, path .. "." .. i)
    if value == nil then return nil, refused end
    out[i] = value
  end
  return out
end

local function structure_from_xml(svc, shape, node, path)
  local out = {}
  for _, member in ipairs(shape.members) do
    local nodes = children_named(node, member.wire_in)
    local where = path .. "." .. member.wire_in
    if #nodes > 0 then
      local value, refused
      if member.shape.kind == "list" then
        value, refused = list_from_xml(svc, member.shape, nodes, where)
      else
        value, refused = from_xml(svc, member.shape, nodes[1], where)
      end
      if value == nil then return nil, refused end
      out[member.name] = value
    elseif member.required then
      return nil, fault.missing(where)
    end
  end
  return out
end

function from_xml(svc, shape, node, path)
  if shape.kind == "structure" then return structure_from_xml(svc, shape, node, path) end
  return scalar_from_text(shape, node.text or "", path)
end

-- Parts of a rest request outside of its body.
local function rest_parts(op, request, labels, query)
  local params = {}
  for _, member in ipairs(op.input.members) do
    local text
    if member.where == "path" then text = labels[member.name]
    elseif member.where == "header" then text = request.headers[member.wire_in:lower()]
    elseif member.where == "query" then text = query[member.wire_in] end
    if member.where == "query" and member.shape.kind == "list" then
      local list = array {}
      for _, pair in ipairs(http.pairs_of(request.url.query)) do
        if pair[1] == member.wire_in then list[#list + 1] = pair[2] end
      end
      params[member.name] = #list > 0 and list or nil
    elseif text ~= nil then
      local value, refused = scalar_from_text(member.shape, text, member.wire_in)
      if value == nil then return nil, refused end
      params[member.name] = value
    elseif member.required and member.where ~= "body" then
      return nil, fault.missing(member.wire_in)
    end
  end
  return params
end

local function rest_body(svc, op, request)
  local payload = op.payload and op.input.by_name[op.payload]
  if payload and payload.shape.kind ~= "structure" then return { [payload.name] = request.body } end
  local shape = payload and payload.shape or op.input
  if svc.protocol == "rest-xml" then
    if request.body == "" then return {} end
    local node, e = xml.decode(request.body)
    if not node then return nil, fault.new("MalformedXML", tostring(e)) end
    local body, refused = structure_from_xml(svc, shape, node, "")
    if not body then return nil, refused end
    return payload and { [payload.name] = body } or body
  end
  local body, refused = json_body(request.body)
  if not body then return nil, refused end
  local params
  params, refused = structure_from_json(svc, shape, body, "")
  if not params then return nil, refused end
  return payload and { [payload.name] = params } or params
end

local function rest_request(svc, request)
  local query = http.table_of(request.url.query)
  local op, labels = model.find(svc, request.method, request.url.path, query)
  if not op then return nil, fault.new("UnknownOperationException", "no such operation", 404) end
  local params, refused = rest_parts(op, request, labels, query)
  if not params then return nil, refused end
  local body
  body, refused = rest_body(svc, op, request)
  if not body then return nil, refused end
  for name, value in next, body do params[name] = value end
  return op, params
end

local PROTOCOLS = { ec2query = query_request, awsquery = query_request, json = json_request,
                    ["rest-json"] = rest_request, ["rest-xml"] = rest_request }

--- Reads a request to a service: returns the operation and its parameters in the spelling of the
-- operation tables, or nil and the fault.
function M.request(svc, request)
  return PROTOCOLS[svc.protocol](svc, request)
end

return M
