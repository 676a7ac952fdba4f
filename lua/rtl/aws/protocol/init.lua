--- One face for the five wire protocols: a call becomes a request, an answer a table or an error.

local err = require "rtl.err"
local json = require "rtl.aws.protocol.json"
local native_json = require "rtl.native.json"
local query = require "rtl.aws.protocol.query"
local rest = require "rtl.aws.protocol.rest"
local secret = require "rtl.native.secret"
local value = require "rtl.aws.value"
local xml = require "rtl.aws.protocol.xml"

local M = {}

local ENCODERS = {
  ec2query = query.encode, awsquery = query.encode, json = json.encode,
  ["rest-json"] = rest.encode, ["rest-xml"] = rest.encode,
}

--- The HTTP request of a call, without host and signature:
-- {method, path, query, headers = {{name, value}, …}, body}. `params` is already checked.
function M.encode(op, params)
  return ENCODERS[op.service.protocol](op, params)
end

local function unreadable(res, why)
  return err.new {
    code = "RTL-AWS-003", status = res.status, retryable = res.status >= 500,
    message = "the answer is not what the service sends: " .. tostring(why),
    excerpt = secret.is(res.body) and "" or res.body:sub(1, 200),
  }
end

local function is_xml(protocol)
  return protocol == "ec2query" or protocol == "awsquery" or protocol == "rest-xml"
end

-- The query protocols always answer with a document of their own; a page of a proxy's, or nothing
-- at all, would read as a list without entries.
local function decode_xml_body(op, res)
  local is_query = op.service.protocol ~= "rest-xml"
  if #res.body == 0 then
    if is_query then return nil, "it is empty" end
    return xml.incoming(op.output, {})
  end
  local root, failure = xml.parse(res.body, op.secrets)
  if not root then return nil, failure end
  if is_query and not root.name:find("Response$") or root.name:lower() == "html" then
    return nil, ("it is a document <%s>"):format(root.name)
  end
  local payload = op.output_payload and op.output.by_name[op.output_payload]
  if payload then return { [payload.name] = xml.incoming(payload.shape, root) } end
  if op.service.protocol == "awsquery" then
    root = xml.child(root, op.name .. "Result") or {}
  end
  return xml.incoming(op.output, root)
end

local function decode_body(op, res)
  local payload = op.output_payload and op.output.by_name[op.output_payload]
  if payload and payload.shape.kind == "blob" then return { [payload.name] = res.body } end
  if is_xml(op.service.protocol) then return decode_xml_body(op, res) end
  return json.decode(op.output, res.body, op.secrets)
end

--- The table of a good answer (`res` as rtl.wire gives it), or nil and an error.
function M.decode(op, res)
  local out, failure = decode_body(op, res)
  if not out then return nil, unreadable(res, failure) end
  for _, member in ipairs(op.output.members) do
    local text = member.where == "header" and res.headers[member.wire_out:lower()]
    if text then out[member.name] = value.from_text(member.shape, text) end
  end
  return out
end

-- Names for answers that have no body to say more (HEAD).
local BY_STATUS = {
  [301] = "MovedPermanently", [400] = "BadRequest", [403] = "Forbidden", [404] = "NotFound",
  [409] = "Conflict", [412] = "PreconditionFailed", [429] = "TooManyRequests",
}

-- "aws.eks#ResourceNotFoundException:http://…" → "ResourceNotFoundException"
local function undecorated(code)
  return (code:gsub(":.*$", ""):gsub("^.*#", ""))
end

local ERROR_OWN = {
  Code = true, Message = true, Type = true, code = true, message = true, __type = true,
  RequestId = true, HostId = true,
}

local function further(pairs_of)
  local fields = {}
  for name, field in pairs(pairs_of) do
    if not ERROR_OWN[name] then fields[name] = field end
  end
  return next(fields) and fields or nil
end

local function xml_error(res)
  local root = xml.parse(res.body)
  if not root then return nil end
  local node = root
  if root.name ~= "Error" then
    node = xml.child(xml.child(root, "Errors") or root, "Error")
    if not node then return nil end
  end
  local texts = {}
  for _, child in ipairs(node) do texts[child.name] = child.text end
  return {
    code = xml.text(node, "Code"), message = xml.text(node, "Message"), fields = further(texts),
    request_id = xml.text(root, "RequestId") or xml.text(root, "RequestID"),
  }
end

local function json_error(res)
  local body = native_json.decode(res.body)
  local object = type(body) == "table" and body or {}
  local code = res.headers["x-amzn-errortype"] or object.code or object.__type
  if type(code) ~= "string" then return nil end
  local message = object.message or object.Message or object.errorMessage
  return {
    code = undecorated(code), message = type(message) == "string" and message or nil,
    fields = further(object),
  }
end

--- The fields of a refusal: {code, message, request_id, status, fields}; `code` is undecorated, and
-- RTL-AWS-003 when the answer is none of the service's.
function M.decode_error(op, res)
  local body = secret.is(res.body) and secret.reveal(res.body) or res.body
  local answer = { body = body, headers = res.headers, status = res.status }
  local found = is_xml(op.service.protocol) and xml_error(answer) or json_error(answer)
  if (not found or not found.code) and #body == 0 and BY_STATUS[res.status] then
    found = { code = BY_STATUS[res.status] }
  end
  if not found or not found.code then return unreadable(answer, "HTTP " .. res.status) end
  found.status = res.status
  found.message = found.message or res.reason or "refused"
  found.request_id = found.request_id or res.headers["x-amzn-requestid"]
    or res.headers["x-amz-request-id"]
  return err.new(found)
end

return M
