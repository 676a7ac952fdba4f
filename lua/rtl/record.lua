--- Recording what goes over the wire, and playing it back.
-- A recording is a file with one JSON object a line, in the order in which the answers ended:
-- { method, url, headers, body, answer = { status, reason, headers, body } } or, instead of answer,
-- error = { code, … }. A body is text, or { base64 = "…" } where it is no UTF-8. Secrets are not in
-- it: what is a secret, credential headers and signatures are written as "<secret>".
-- Byte streams are neither recorded nor played: their frames are masked by chance.

local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local secret = require "rtl.native.secret"

local M = {}

local HIDDEN = "<secret>"

-- ---- one exchange as a table ----

local SECRET_HEADERS = {
  ["authorization"] = true, ["proxy-authorization"] = true, ["cookie"] = true,
  ["set-cookie"] = true, ["x-amz-security-token"] = true, ["x-aws-ec2-metadata-token"] = true,
}

-- What signs a URL or a form, and what differs from run to run for that reason.
local SIGNING = "X%-Amz%-%w+"

local function plain_url(url)
  if secret.is(url) then return HIDDEN end
  return (url:gsub("([?&]" .. SIGNING .. "=)[^&#]*", "%1" .. HIDDEN))
end

local function plain_headers(headers)
  local list = {}
  for i, pair in ipairs(headers) do
    local hidden = secret.is(pair[2]) or SECRET_HEADERS[pair[1]:lower()]
    list[i] = { pair[1], hidden and HIDDEN or pair[2] }
  end
  return list
end

local function packed(bytes)
  if bytes == nil then return nil end
  if secret.is(bytes) then return HIDDEN end
  if utf8.len(bytes) then return bytes end
  return { base64 = crypto.base64_encode(bytes) }
end

local function unpacked(body)
  if type(body) ~= "table" then return body or "" end
  return assert(crypto.base64_decode(body.base64))
end

local function plain_error(e)
  return {
    code = e.code, name = e.name, message = e.message, sent = e.sent, retryable = e.retryable,
  }
end

local function exchange_of(req, sent)
  local body = req.body
  if type(body) == "function" then body = table.concat(sent) end
  return {
    method = req.method, url = plain_url(req.url), headers = plain_headers(req.headers),
    body = packed(body),
  }
end

-- ---- recording ----

-- Keeps what a body function gives. A chunk that is a secret is not kept.
local function listening(body, sent)
  return function ()
    local chunk = body()
    if chunk then sent[#sent + 1] = secret.is(chunk) and HIDDEN or chunk end
    return chunk
  end
end

local function write(file, exchange, redact)
  assert(file:append(redact(json.encode(exchange)) .. "\n"))
end

-- Wraps a streamed body: the exchange is written when it ends, breaks off or is closed.
local function tapped(answer, done)
  local chunks, ended = {}, false
  local function finish(e, cut)
    if ended then return end
    ended = true
    done(table.concat(chunks), e, cut)
  end
  return {
    status = answer.status, reason = answer.reason, headers = answer.headers,
    read = function ()
      local bytes, e = answer.read()
      if bytes then
        chunks[#chunks + 1] = secret.is(bytes) and HIDDEN or bytes
      else
        finish(e, false)
      end
      return bytes, e
    end,
    close = function ()
      finish(nil, true)
      if answer.close then answer.close() end
    end,
  }
end

local function record(file, redact, req, sent, answer, e)
  local exchange = exchange_of(req, sent)
  if not answer then
    exchange.error = plain_error(e)
    return write(file, exchange, redact)
  end
  exchange.answer = {
    status = answer.status, reason = answer.reason, headers = plain_headers(answer.headers or {}),
  }
  local function done(body, broken, cut)
    exchange.answer.body = packed(req.secret_body and HIDDEN or body)
    exchange.answer.error = broken and plain_error(broken)
    exchange.answer.cut = cut or nil
    write(file, exchange, redact)
  end
  if answer.read then return tapped(answer, done) end
  done(answer.body or "")
  return answer
end

--- An implementation for wire.use that carries requests out by `inner` (such as wire.native) and
-- appends each exchange to the file at `path`. `redact` (function (text) → text, default: nothing)
-- sees each line before it is written.
function M.recorder(inner, path, redact)
  local file, e = fs.append(path)
  if not file then return nil, e end
  redact = redact or function (text) return text end
  local impl = { connect = inner.connect, describe = inner.describe }
  function impl.request(req)
    local sent, copy = {}, req
    if type(req.body) == "function" then
      copy = setmetatable({ body = listening(req.body, sent) }, { __index = req })
    end
    local answer, refused = inner.request(copy)
    local tap = record(file, redact, req, sent, answer, refused)
    if answer then return tap end
    return nil, refused
  end
  -- Closes the recording.
  function impl.close() file:close() end
  return impl
end

-- ---- playing ----

-- What differs from run to run without meaning: times, and identifiers by chance.
local MASKS = {
  { "%d%d%d%d%d%d%d%dT%d%d%d%d%d%dZ", "TIME" },
  { "%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d[%.%d]*Z", "TIME" },
  { "%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x", "UUID" },
}

local function sorted_query(url)
  local base, query = url:match("^([^?#]*)%?([^#]*)")
  if not base then return url end
  local parts = {}
  for part in query:gmatch("[^&]+") do
    if not part:match("^" .. SIGNING .. "=") then parts[#parts + 1] = part end
  end
  table.sort(parts)
  return base .. "?" .. table.concat(parts, "&")
end

--- The one matcher: two exchanges belong together when these texts are equal. `exchange` has
-- method, url and body as in a recording; headers don't count.
function M.key(exchange)
  local body = exchange.body
  if type(body) == "table" then body = body.base64 end
  local text = exchange.method .. " " .. sorted_query(exchange.url) .. "\n" .. (body or "")
  for _, mask in ipairs(MASKS) do text = text:gsub(mask[1], mask[2]) end
  return text
end

local function load(path)
  local text, e = fs.read(path)
  if not text then return nil, e end
  local by_key, number = {}, 0
  for line in text:gmatch("[^\n]+") do
    number = number + 1
    local exchange, wrong = json.decode(line)
    local place = ("read %s, line %d"):format(path, number)
    if wrong then return nil, err.wrap(wrong, { doing = place }) end
    if type(exchange) ~= "table" or not exchange.method or not exchange.url then
      return err.fail { code = "RTL-NET-031", message = "no recorded exchange", doing = place }
    end
    local key = M.key(exchange)
    by_key[key] = by_key[key] or {}
    table.insert(by_key[key], exchange)
  end
  return by_key
end

local function drained(body)
  local parts = {}
  for chunk in body do parts[#parts + 1] = secret.is(chunk) and HIDDEN or chunk end
  return parts
end

local function body_of(answer, req)
  local body = unpacked(answer.body)
  if req.secret_body then return secret.new(body) end
  return body
end

local function answer_of(exchange, req)
  if exchange.error then return err.fail(exchange.error) end
  local recorded = exchange.answer
  local answer = { status = recorded.status, reason = recorded.reason, headers = recorded.headers }
  if not recorded.error then
    answer.body = body_of(recorded, req)
    return answer
  end
  local first = body_of(recorded, req)
  function answer.read()
    local bytes = first
    first = nil
    if bytes and #bytes > 0 then return bytes end
    return err.fail(recorded.error)
  end
  return answer
end

--- An implementation for wire.use that answers from the recording at `path`: each exchange once,
-- equal ones in their order. A request that is not in it gives RTL-NET-030. Or nil, err.
function M.player(path)
  local by_key, e = load(path)
  if not by_key then return nil, e end
  local impl = {}
  function impl.request(req)
    local exchange = exchange_of(req, type(req.body) == "function" and drained(req.body) or {})
    local found = table.remove(by_key[M.key(exchange)] or {}, 1)
    if found then return answer_of(found, req) end
    return err.fail {
      code = "RTL-NET-030", message = "the recording has no (further) answer to this request",
      doing = req.method .. " " .. exchange.url, sent = false,
    }
  end
  function impl.connect(req)
    return err.fail { code = "RTL-NET-030", message = "byte streams are not recorded",
      doing = "connect " .. plain_url(req.url), sent = false }
  end
  function impl.describe()
    return { name = "recording " .. path, unconfirmed = {} }
  end
  -- What was recorded and not asked for, as "METHOD url", sorted.
  function impl.left()
    local list = {}
    for _, exchanges in pairs(by_key) do
      for _, exchange in ipairs(exchanges) do
        list[#list + 1] = exchange.method .. " " .. exchange.url
      end
    end
    table.sort(list)
    return list
  end
  return impl
end

return M
