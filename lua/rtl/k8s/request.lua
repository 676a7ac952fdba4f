--- One request to an API server: address, credentials, errors as rtl.err, and when to try again.

local array = require "rtl.array"
local clock = require "rtl.clock"
local entropy = require "rtl.entropy"
local err = require "rtl.err"
local json = require "rtl.native.json"
local null = require "rtl.null"
local secret = require "rtl.native.secret"
local task = require "rtl.task"
local wire = require "rtl.wire"

local M = {}

local MAX_TRIES = 6
-- Where the server answered before and now nothing gets through to it (it restarts, or the network
-- of this machine is gone): about a minute and a half.
local UNREACHED = 9
local INTERNAL_TRIES = 3 -- after "InternalError", which seldom heals
local LONGEST_WAIT = 60  -- seconds, whatever a server asks for
local MAX_ERROR = 1 << 20 -- bytes of an error's body that are read
local REFRESH_BEFORE = 120 -- seconds of life that a token must have left

local escapes = {}
for byte = 0, 255 do escapes[string.char(byte)] = ("%%%02X"):format(byte) end

--- Percent-encodes all but RFC 3986's unreserved characters.
function M.encode(text)
  return (tostring(text):gsub("[^%w_.~-]", escapes))
end

--- A query string with "?" of { {name, value}… }, "" if there are none.
function M.query(pairs_list)
  local parts = {}
  for i, pair in ipairs(pairs_list or {}) do
    parts[i] = M.encode(pair[1]) .. "=" .. M.encode(pair[2])
  end
  return #parts > 0 and "?" .. table.concat(parts, "&") or ""
end

-- Credentials ---------------------------------------------------------------------------------

-- The bearer token, fetched again shortly before its end; `anew` asks for another one.
local function bearer(client, anew)
  local source = client.options.token
  if type(source) ~= "function" then return source end
  local near = client.token_expires and clock.utc() > client.token_expires - REFRESH_BEFORE
  if client.token and not near and not anew then return client.token end
  local token, expires = source(anew or false)
  if token == nil then
    return nil, err.wrap(expires, { doing = "get a token for " .. client.server,
      message = "no credentials" })
  end
  client.token, client.token_expires = token, type(expires) == "number" and expires or nil
  return token
end

local function impersonation(as, headers)
  if not as then return end
  if as.user then headers[#headers + 1] = { "Impersonate-User", as.user } end
  if as.uid then headers[#headers + 1] = { "Impersonate-Uid", as.uid } end
  for _, group in ipairs(as.groups or {}) do
    headers[#headers + 1] = { "Impersonate-Group", group }
  end
  local keys = {}
  for key in pairs(as.extra or {}) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do
    for _, value in ipairs(as.extra[key]) do
      headers[#headers + 1] = { "Impersonate-Extra-" .. M.encode(key):lower(), value }
    end
  end
end

--- The headers of every request: who we are. Returns { {name, value}… } or nil, err.
function M.headers(client, anew)
  local headers = { { "User-Agent", client.options.user_agent or "rtl" } }
  local token, problem = bearer(client, anew)
  if problem then return nil, problem end
  if token then headers[#headers + 1] = { "Authorization", secret.join("Bearer ", token) } end
  local basic = client.options.basic
  if basic and not token then headers[#headers + 1] = { "Authorization", basic } end
  impersonation(client.options.as, headers)
  return headers
end

--- The TLS options of a client for the wire.
function M.tls(client)
  local o = client.options
  return { ca = o.ca, cert = o.cert, key = o.key, server_name = o.server_name,
    insecure = o.insecure }
end

-- Errors --------------------------------------------------------------------------------------

local reasons = { [400] = "BadRequest", [401] = "Unauthorized", [403] = "Forbidden",
  [404] = "NotFound", [405] = "MethodNotAllowed", [406] = "NotAcceptable", [409] = "Conflict",
  [410] = "Gone", [413] = "RequestEntityTooLarge", [415] = "UnsupportedMediaType",
  [422] = "Invalid", [429] = "TooManyRequests", [500] = "InternalError",
  [503] = "ServiceUnavailable", [504] = "Timeout" }

local hints = {
  Unauthorized = "the credentials are not accepted: wrong cluster, expired, or the principal has "
    .. "no access entry",
  Forbidden = "the user is known but may not do this: see the roles bound to it",
}

local function text_or_nil(v) return type(v) == "string" and v ~= "" and v or nil end

-- "before-first-apply" and the like out of a conflict's message: conflict with "NAME" using v1.
local function conflicts_of(details)
  local out = {}
  for _, cause in ipairs(type(details.causes) == "table" and details.causes or {}) do
    if cause.reason == "FieldManagerConflict" then
      local message = text_or_nil(cause.message) or ""
      out[#out + 1] = { field = text_or_nil(cause.field) or "?", message = message,
        manager = message:match('conflict with "([^"]*)"') or message:match('"([^"]*)"') }
    end
  end
  return #out > 0 and array(out) or nil
end

local function conflict_hint(conflicts)
  local parts = {}
  for i, conflict in ipairs(conflicts) do
    parts[i] = conflict.field .. " is " .. (conflict.manager or "someone else") .. "'s"
  end
  return table.concat(parts, "; ") .. ": leave these fields out, or apply with force"
end

--- The error that a Status object (decoded) or another body stands for.
function M.error_of(status, body, fields)
  fields = fields or {}
  local object = type(body) == "table" and body or type(body) == "string" and json.decode(body)
  local known = type(object) == "table" and object.kind == "Status" and object
  local details = known and type(object.details) == "table" and object.details or {}
  fields.status = status
  fields.code = known and text_or_nil(object.reason) or reasons[status] or "RTL-K8S-002"
  fields.message = known and text_or_nil(object.message)
    or (type(body) == "string" and body:match("%S[^\n]*")) or "no reason given"
  fields.message = #fields.message > 2000 and fields.message:sub(1, 2000) .. "…" or fields.message
  fields.details = known and details or nil
  fields.body = known and object or nil
  fields.retry_after = math.type(details.retryAfterSeconds) == "integer"
    and details.retryAfterSeconds
    or nil
  fields.conflicts = fields.code == "Conflict" and conflicts_of(details) or nil
  fields.hint = fields.conflicts and conflict_hint(fields.conflicts) or fields.hint
    or hints[fields.code]
  fields.retryable = status == 429 or status == 503 or status == 504
    or status == 500 and fields.code ~= "StoreReadError"
  return err.new(fields)
end

-- Trying again --------------------------------------------------------------------------------

local function retry_after(res)
  local value = res.headers["retry-after"]
  return value and tonumber(value:match("^%d+$"))
end

--- Seconds to wait before try number `count` + 1, with a little chance in it.
function M.back_off(count, wanted)
  local wait = wanted and math.min(LONGEST_WAIT, wanted) or math.min(30, 0.25 * 2 ^ count)
  return wait * (1 + 0.2 * entropy.number())
end

-- What can be sent again after an error of the wire: whatever has the same effect twice, and what
-- surely never arrived.
local function wire_retry(problem, kind)
  if not problem.retryable then return false end
  return kind ~= "once" or not problem.sent
end

-- 429 was turned away at the door; after a 5xx the server may have done it.
local function status_retry(status, problem, kind, count)
  if not problem.retryable then return false end
  if problem.code == "InternalError" and count >= INTERNAL_TRIES then return false end
  return status == 429 or kind ~= "once"
end

-- Objects may hold secrets (the data of a Secret); then the whole body is one.
local function body_of(options)
  local body = options.body
  if type(body) ~= "table" then return body end
  local ok, text = pcall(json.encode, body)
  return ok and text or json.encode(body, { secret = true })
end

local function wire_request(client, options, headers)
  headers[#headers + 1] = { "Accept", options.accept or "application/json" }
  local body = body_of(options)
  if body then
    headers[#headers + 1] = { "Content-Type", options.content_type or "application/json" }
  end
  return {
    method = options.method or "GET", headers = headers, body = body, stream = options.stream,
    url = client.server .. options.path .. M.query(options.query),
    once = options.retry == "once" or nil, idle = options.idle, timeout = options.timeout,
    tls = M.tls(client), proxy = client.options.proxy,
  }
end

local function drain(res)
  if res.body ~= nil then return res.body end
  local parts, size = {}, 0
  for chunk in function () return res:read() end do
    parts[#parts + 1], size = chunk, size + #chunk
    if size > MAX_ERROR then break end
  end
  res:close()
  return table.concat(parts)
end

--- How often a request is tried at most after such an error.
function M.tries(client, problem, status)
  local unreached = client.answered and not status and not problem.sent
  return unreached and UNREACHED or MAX_TRIES
end

-- One try: res on success; nil, error, seconds the server asks to wait, HTTP status.
local function attempt(client, options, anew)
  local headers, problem = M.headers(client, anew)
  if not headers then return nil, problem end
  local res, trouble = wire.request(wire_request(client, options, headers))
  if not res then return nil, err.wrap(trouble, { doing = options.doing }), nil, nil end
  client.answered = true
  if res.status >= 200 and res.status < 300 then return res end
  local failure = M.error_of(res.status, drain(res), { doing = options.doing })
  return nil, failure, retry_after(res) or failure.retry_after, res.status
end

--- Sends a request and gives the answer (a wire response), or nil, err with the Status' reason as
-- code. `options`: method, path, query = { {name, value}… }, body (a table is encoded),
-- content_type, accept, stream, idle, timeout, doing (for errors), retry: "again" (default: sending
-- it twice does no harm) or "once".
function M.send(client, options)
  local kind = options.retry or "again"
  local anew, renewed = false, false
  for count = 1, UNREACHED do
    local res, problem, wanted, status = attempt(client, options, anew)
    if res then return res end
    anew = false
    if status == 401 and not renewed and type(client.options.token) == "function" then
      anew, renewed = true, true
    else
      local again = status and status_retry(status, problem, kind, count)
        or not status and wire_retry(problem, kind)
      if not again or count >= M.tries(client, problem, status) then return nil, problem end
      task.sleep(M.back_off(count, wanted))
    end
  end
  return nil, err.new { code = "RTL-K8S-002", message = "no answer", doing = options.doing }
end

--- Sends a request and decodes its JSON answer. Returns the value and the response, or nil, err.
function M.call(client, options)
  local res, problem = M.send(client, options)
  if not res then return nil, problem end
  if res.body == nil or res.body == "" then return null, res end
  local value, bad = json.decode(res.body)
  if value == nil then
    return nil, err.wrap(bad, { code = "RTL-K8S-003", message = "the answer is no JSON",
      doing = options.doing, status = res.status })
  end
  return value, res
end

return M
