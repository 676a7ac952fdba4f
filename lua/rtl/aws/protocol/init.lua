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
-- {method, path, query, headers = {{name, value}, …}, body}. `params` is already checked. The
-- headers may be one table for all calls: nobody adds to them.
function M.encode(op, params)
  return ENCODERS[op.service.protocol](op, params)
end

local IS_QUERY = { ec2query = true, awsquery = true }
local IS_XML = { ec2query = true, awsquery = true, ["rest-xml"] = true }

-- A JSON value takes fifty times its text in memory; of XML, the parser limits the elements.
local LARGEST_XML, LARGEST_JSON = 16 << 20, 4 << 20

--- The most bytes that the body of an answer may have: ten times what any service sends in one.
function M.largest(op)
  return IS_XML[op.service.protocol] and LARGEST_XML or LARGEST_JSON
end

-- Bytes of a text, a code and an excerpt out of a refusal; EC2's encoded reasons are that long.
local LONGEST, LONGEST_CODE, EXCERPT = 4096, 128, 200

-- Text from the network, for people: no line ends, nothing that a terminal acts upon, not endless.
local function clean(text, longest)
  local short = #text > (longest or LONGEST) and text:sub(1, longest or LONGEST) .. "…" or text
  return (short:gsub("\xC2[\x80-\x9F]", " "):gsub("%c+", " "))
end

local function request_id_of(res)
  local id = res.headers["x-amzn-requestid"] or res.headers["x-amz-request-id"]
  return id and clean(id, LONGEST_CODE)
end

-- A document of somebody else's will be the same the next time; one that is cut or garbled won't.
local function unreadable(res, why, strange)
  local is_page = (res.headers["content-type"] or ""):find("text/html", 1, true) ~= nil
  return err.new {
    code = "RTL-AWS-003", status = res.status, request_id = request_id_of(res),
    retryable = res.status >= 500 or res.status // 100 == 2 and not strange and not is_page,
    message = "the answer is not what the service sends: " .. clean(tostring(why)),
    excerpt = secret.is(res.body) and "" or clean(res.body:sub(1, EXCERPT)),
  }
end

-- Whether the body says something. Nothing at all would read as a list without entries, and what is
-- listed as not there gets made again.
local function says_something(op)
  if IS_QUERY[op.service.protocol] then return true end -- a document of its own, whatever is in it
  for _, member in ipairs(op.output.members) do
    if member.where == "body" then return true end
  end
  return false
end

-- A page of a proxy's, or the answer to another call, would read as a list without entries, too.
local function is_own(op, root)
  if IS_QUERY[op.service.protocol] then return root == op.response end
  return root ~= "Error" and root:lower() ~= "html"
end

-- Decoders return the answer, or nil, why, whether the document is somebody else's.
local function decode_xml_body(op, res)
  local payload = op.output_payload and op.output.by_name[op.output_payload]
  local below = op.service.protocol == "awsquery" and op.result or nil
  local out, root = xml.read(res.body, payload and payload.shape or op.output, below, op.secrets)
  if out == nil then return nil, root end
  if not is_own(op, root) then return nil, ("it is a document <%s>"):format(root), true end
  if not out then
    if #op.output.members > 0 then return nil, "it lacks the result", true end
    return {}
  end
  return payload and { [payload.name] = out } or out
end

local function decode_body(op, res)
  local payload = op.output_payload and op.output.by_name[op.output_payload]
  if payload and payload.shape.kind == "blob" then return { [payload.name] = res.body } end
  if #res.body == 0 then
    if says_something(op) then return nil, "it is empty" end
    return json.incoming(op.output, {})
  end
  if IS_XML[op.service.protocol] then return decode_xml_body(op, res) end
  return json.decode(op.output, res.body, op.secrets)
end

--- Puts what the headers of a good answer hold into `out`; returns it. The body is left alone.
function M.decode_headers(op, res, out)
  for i = 1, op.output.headers do
    local member = op.output.members[i]
    local text = res.headers[member.wire_out:lower()]
    if text and member.shape.kind == "time" then
      value.put_time(out, member.name, text)
    elseif text then
      out[member.name] = value.from_text(member.shape, text)
    end
  end
  return out
end

--- The table of a good answer (`res` as rtl.wire gives it), or nil and an error.
function M.decode(op, res)
  if res.status < 200 then return nil, unreadable(res, "HTTP " .. res.status) end
  local out, failure, strange = decode_body(op, res)
  if not out then return nil, unreadable(res, failure, strange) end
  return M.decode_headers(op, res, out)
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
    if not ERROR_OWN[name] then fields[name] = type(field) == "string" and clean(field) or field end
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
  -- A service that once spoke the query protocol gives its old code, too: "Code;Sender".
  local old = res.headers["x-amzn-query-error"]
  local code = old and old:match "^[^;]+" or res.headers["x-amzn-errortype"] or object.code
    or object.Code or object.__type
  if type(code) ~= "string" then return nil end
  local message = object.message or object.Message or object.errorMessage
  return {
    code = undecorated(code), message = type(message) == "string" and message or nil,
    fields = further(object),
  }
end

-- Nothing follows a redirect: what was signed is for one host, and keys are for nobody else.
local function no_refusal(res)
  local to = res.status // 100 == 3 and res.headers.location
  return unreadable(res, "HTTP " .. res.status .. (to and ", a redirect to " .. to or ""))
end

-- What a service's refusal says in its body, its headers or, without a body, by its status alone.
local function found_in(op, res)
  local found = IS_XML[op.service.protocol] and xml_error(res) or json_error(res)
  if not (found and found.code) and #res.body == 0 and BY_STATUS[res.status] then
    return { code = BY_STATUS[res.status] }
  end
  local is_code = found and found.code and #found.code <= LONGEST_CODE
    and found.code:find "^[%w._:-]+$"
  return is_code and found or nil
end

--- The fields of a refusal: {code, message, request_id, status, fields, bucket_region}; `code` is
-- undecorated, and RTL-AWS-003 when the answer is none of the service's. `bucket_region` is where
-- S3 says that the bucket is.
function M.decode_error(op, res)
  local body = secret.is(res.body) and secret.reveal(res.body) or res.body
  local answer = { body = body, headers = res.headers, status = res.status }
  local found = found_in(op, answer)
  if not found then return no_refusal(answer) end
  found.status = res.status
  found.message = clean(found.message or res.reason or "refused")
  found.request_id = found.request_id and clean(found.request_id, LONGEST_CODE)
    or request_id_of(res)
  local region = res.headers["x-amz-bucket-region"] or found.fields and found.fields.Region
  found.bucket_region = type(region) == "string" and region:match "^[%w-]+$" or nil
  return err.new(found)
end

return M
