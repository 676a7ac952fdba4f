--- Answers of AWS' five protocols: results and faults → bytes, by the operation tables.

local array = require "rtl.array"
local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local json = require "rtl.native.json"

local M = {}

local ESCAPES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
                  ["\r"] = "&#13;" }

local function escape(text)
  return (text:gsub('[&<>"\r]', ESCAPES))
end

local function time_text(shape, value)
  if shape.format == "unix" then return tostring(value) end
  return clock.iso(math.floor(value)):sub(1, -2) .. (".%03dZ"):format(
    math.floor(value % 1 * 1000))
end

local function number_text(value)
  local whole = math.tointeger(value)
  return whole and tostring(whole) or ("%.17g"):format(value)
end

local function scalar_text(shape, value)
  if shape.kind == "blob" then return crypto.base64_encode(value) end
  if shape.kind == "time" and type(value) == "number" then return time_text(shape, value) end
  if shape.kind == "json" and type(value) == "table" then return json.encode(value) end
  if shape.kind == "urljson" then
    local text = type(value) == "table" and json.encode(value) or value
    return crypto.sigv4.encode(text)
  end
  if type(value) == "number" then return number_text(value) end
  return tostring(value)
end

local put_xml

local function put_list(out, shape, name, value)
  if shape.flat then
    for _, item in ipairs(value) do put_xml(out, shape.member, name, item) end
    return
  end
  out[#out + 1] = "<" .. name .. ">"
  for _, item in ipairs(value) do put_xml(out, shape.member, shape.item, item) end
  out[#out + 1] = "</" .. name .. ">"
end

local function put_members(out, shape, value)
  for _, member in ipairs(shape.members) do
    local item = value[member.name]
    if item ~= nil and member.where == "body" then
      put_xml(out, member.shape, member.wire_out, item)
    end
  end
end

local function put_map(out, shape, value)
  local keys = {}
  for key in next, value do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do
    out[#out + 1] = "<entry><key>" .. escape(key) .. "</key>"
    put_xml(out, shape.member, "value", value[key])
    out[#out + 1] = "</entry>"
  end
end

function put_xml(out, shape, name, value)
  if shape.kind == "list" then return put_list(out, shape, name, value) end
  out[#out + 1] = "<" .. name .. ">"
  if shape.kind == "structure" then
    put_members(out, shape, value)
  elseif shape.kind == "map" then
    put_map(out, shape, value)
  else
    out[#out + 1] = escape(scalar_text(shape, value))
  end
  out[#out + 1] = "</" .. name .. ">"
end

local HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'

local function ec2_result(op, result, request_id)
  local out = { HEAD, ('<%sResponse xmlns="%s"><requestId>%s</requestId>')
                      :format(op.name, op.service.xmlns, request_id) }
  if #op.output.members == 0 then out[#out + 1] = "<return>true</return>" end
  put_members(out, op.output, result)
  out[#out + 1] = ("</%sResponse>"):format(op.name)
  return table.concat(out)
end

local function query_result(op, result, request_id)
  local out = { HEAD, ('<%sResponse xmlns="%s">'):format(op.name, op.service.xmlns or "") }
  if #op.output.members > 0 then
    out[#out + 1] = ("<%sResult>"):format(op.name)
    put_members(out, op.output, result)
    out[#out + 1] = ("</%sResult>"):format(op.name)
  end
  out[#out + 1] = ("<ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></%sResponse>")
                  :format(request_id, op.name)
  return table.concat(out)
end

local to_json

local function structure_to_json(shape, value)
  local out = {}
  for _, member in ipairs(shape.members) do
    local item = value[member.name]
    if item ~= nil and member.where == "body" then
      out[member.wire_out] = to_json(member.shape, item)
    end
  end
  return out
end

function to_json(shape, value)
  if shape.kind == "structure" then return structure_to_json(shape, value) end
  if shape.kind == "list" then
    local out = array {}
    for i, item in ipairs(value) do out[i] = to_json(shape.member, item) end
    return out
  end
  if shape.kind == "map" then
    local out = {}
    for key, item in next, value do out[key] = to_json(shape.member, item) end
    return out
  end
  if shape.kind == "time" and shape.format == "unix" then return value end
  if shape.kind == "time" or shape.kind == "blob" or shape.kind == "json" then
    return scalar_text(shape, value)
  end
  return value
end

local function rest_xml_body(op, result)
  local payload = op.output_payload and op.output.by_name[op.output_payload]
  if payload and payload.shape.kind ~= "structure" then return result[payload.name] or "" end
  local shape, value = op.output, result
  if payload then shape, value = payload.shape, result[payload.name] or {} end
  if #shape.members == 0 then return "" end
  local name = payload and payload.wire_out or op.result
  name = op.service.roots and op.service.roots[op.key] or name
  local out = { HEAD, ('<%s xmlns="%s">'):format(name, op.service.xmlns or "") }
  put_members(out, shape, value)
  out[#out + 1] = ("</%s>"):format(name)
  return table.concat(out)
end

local function header_members(op, result, headers)
  for _, member in ipairs(op.output.members) do
    if member.where == "header" and result[member.name] ~= nil then
      headers[#headers + 1] = { member.wire_out, scalar_text(member.shape, result[member.name]) }
    end
  end
end

local TYPES = { ec2query = "text/xml;charset=UTF-8", awsquery = "text/xml",
                json = "application/x-amz-json-1.1", ["rest-json"] = "application/json",
                ["rest-xml"] = "application/xml" }

local function result_body(op, result, request_id)
  local protocol = op.service.protocol
  if protocol == "ec2query" then return ec2_result(op, result, request_id) end
  if protocol == "awsquery" then return query_result(op, result, request_id) end
  if protocol == "rest-xml" then return rest_xml_body(op, result) end
  local payload = op.output_payload and op.output.by_name[op.output_payload]
  if payload then return json.encode(to_json(payload.shape, result[payload.name] or {})) end
  return json.encode(structure_to_json(op.output, result))
end

local function id_header(protocol)
  return protocol == "rest-xml" and "x-amz-request-id" or "x-amzn-RequestId"
end

--- The answer for a result.
function M.result(op, result, request_id)
  local protocol = op.service.protocol
  local headers = { { id_header(protocol), request_id } }
  header_members(op, result, headers)
  return { status = op.status, headers = headers, content_type = TYPES[protocol],
           body = result_body(op, result, request_id) }
end

local function xml_fault(svc, fault, request_id)
  if svc.protocol == "ec2query" then
    return ("%s<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors>"
            .. "<RequestID>%s</RequestID></Response>")
           :format(HEAD, escape(fault.code), escape(fault.message), request_id)
  elseif svc.protocol == "awsquery" then
    return ('%s<ErrorResponse xmlns="%s"><Error><Type>%s</Type><Code>%s</Code><Message>%s'
            .. "</Message></Error><RequestId>%s</RequestId></ErrorResponse>")
           :format(HEAD, svc.xmlns or "", fault.status >= 500 and "Receiver" or "Sender",
                   escape(fault.code), escape(fault.message), request_id)
  end
  return ("%s<Error><Code>%s</Code><Message>%s</Message><RequestId>%s</RequestId></Error>")
         :format(HEAD, escape(fault.code), escape(fault.message), request_id)
end

--- The answer for a fault; `without_body` for HEAD.
function M.fault(svc, fault, request_id, without_body)
  local protocol = svc.protocol
  local headers = { { id_header(protocol), request_id } }
  local body
  if protocol == "json" or protocol == "rest-json" then
    local fields = {}
    for name, value in next, fault.fields or {} do fields[name] = value end
    fields.message = fault.message
    if protocol == "json" then
      fields.__type = fault.code
    else
      headers[#headers + 1] = { "x-amzn-ErrorType", fault.code }
    end
    body = json.encode(fields)
  else
    body = xml_fault(svc, fault, request_id)
  end
  return { status = fault.status, headers = headers, content_type = TYPES[protocol],
           body = without_body and "" or body }
end

return M
