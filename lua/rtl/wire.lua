--- The wire: every byte to and from the network.
-- request() speaks HTTP/1.1, connect() gives bytes over TLS. Who carries them out is replaceable:
-- `use` takes an implementation, the native one (libcurl) is the default.
--
-- An implementation is { request = fn(req) → answer | nil, err; connect = fn(req) → bytes | nil,
-- err; describe = fn() → { name =, unconfirmed = {…} } }. It gets normalised requests (see
-- M.request); an answer is { status =, reason =, headers = {{name, value}, …}, body = bytes (or a
-- secret) } or, instead of body, { read = fn() → bytes | nil | nil, err; close = fn() }; what
-- connect gives is { read = fn(max), write = fn(bytes), close = fn() }.

local err = require "rtl.err"
local host = require "rtl.native.host"
local http = require "rtl.native.http"
local native = require "rtl.wire.native"
local secret = require "rtl.native.secret"

local M = {}

local IDLE, CONNECT_TIMEOUT = 60, 10
local MAX_BODY, MAX_HEADERS = 64 << 20, 256 << 10

--- The implementation on libcurl; what `use` takes to get it back.
M.native = native

local impl = native

--- Makes `implementation` carry out all requests from now on; returns the one before.
function M.use(implementation)
  if type(implementation) ~= "table" or type(implementation.request) ~= "function" then
    error("bad argument #1 to 'use' (implementation expected)", 2)
  end
  local former = impl
  impl = implementation
  return former
end

--- What carries out the requests: { name = "native" or the world's, unconfirmed = array of texts:
-- what in it no real counterpart has confirmed, option = the word on the command line that chose
-- it, or nil }.
function M.describe()
  local d = impl.describe and impl.describe() or {}
  return { name = d.name or "unnamed", unconfirmed = d.unconfirmed or {}, option = d.option }
end

-- ---- normalising ----

local function misuse(name, what)
  error(("bad argument #1 to '%s' (%s)"):format(name, what), 4)
end

local function is_bytes(v)
  return type(v) == "string" or secret.is(v)
end

local AGENT = { "User-Agent", "rtl/" .. host.version }
local NONE = {}

-- {name = value} as {{name, value}, …}, in the order of the names.
local function pairs_of(headers)
  local names, list = {}, {}
  for name, value in pairs(headers) do
    if value then names[#names + 1] = name end
  end
  table.sort(names)
  for i, name in ipairs(names) do list[i] = { name, headers[name] } end
  return list
end

local function headers_of(headers)
  if headers[1] == nil then headers = pairs_of(headers) end
  local list, wrong = http.headers(headers, AGENT)
  if not list then misuse("request", wrong) end
  return list
end

local function seconds_of(name, req, field, default)
  local value = req[field]
  if value == nil then return default end
  if value == false then return nil end
  if type(value) ~= "number" or value ~= value or value <= 0 then
    misuse(name, field .. " is no number of seconds above 0")
  end
  return value
end

local PEM = { ca = true, cert = true, key = true }

-- What request and connect have in common.
local function check_route(name, req)
  if type(req) ~= "table" then misuse(name, "table expected") end
  if not is_bytes(req.url) then misuse(name, "url is no string or secret") end
  local tls = req.tls
  if tls == nil then return end
  if type(tls) ~= "table" then misuse(name, "tls is no table") end
  for field, text in pairs(tls) do
    if PEM[field] and not is_bytes(text) then
      misuse(name, "tls." .. field .. " is no PEM text")
    end
  end
end

local function check_body(req)
  local body = req.body
  if body ~= nil and not is_bytes(body) and type(body) ~= "function" then
    misuse("request", "body is no string, secret or function")
  end
  if req.length ~= nil and math.type(req.length) ~= "integer" then
    misuse("request", "length is no integer")
  end
end

local function normalised(req)
  check_route("request", req)
  check_body(req)
  return {
    url = req.url, tls = req.tls or NONE, proxy = req.proxy,
    connect_timeout = seconds_of("request", req, "connect_timeout", CONNECT_TIMEOUT),
    method = (req.method or "GET"):upper(), headers = headers_of(req.headers or NONE),
    body = req.body, length = req.length,
    once = not not req.once, stream = not not req.stream, gzip = not not req.gzip,
    secret_body = not not req.secret_body,
    timeout = seconds_of("request", req, "timeout"),
    idle = seconds_of("request", req, "idle", IDLE),
    max_headers = req.max_headers or MAX_HEADERS,
    max_body = not req.stream and (req.max_body or MAX_BODY) or nil,
  }
end

-- ---- answers ----

local answer_methods = {}
local answer_mt = { __index = answer_methods, __name = "rtl.wire.response" }

--- The next bytes of a streamed body; nil at its end; nil and an error when it broke off.
function answer_methods:read()
  if self.broken then return nil, self.broken end
  local source = self.source
  if not source then return nil end
  local bytes, e = source.read()
  if bytes then return bytes end
  self.broken = e
  self:close()
  return nil, e
end

--- Ends the request at once, wherever it is. Idempotent; also at the end of a `<close>` variable.
function answer_methods:close()
  local source = self.source
  self.source = nil
  if source and source.close then source.close() end
end

answer_mt.__close = answer_methods.close

-- A name may come ten thousand times: its values are joined once.
local function header_map(list)
  local map, repeated = http.by_name(list)
  for name, values in pairs(repeated or NONE) do map[name] = table.concat(values, ", ") end
  return map
end

-- A body that is there, read in one piece.
local function source_of(body)
  return { read = function ()
    local bytes = body
    body = nil
    return bytes and #bytes > 0 and bytes or nil
  end }
end

local function new_answer(answer)
  local list = answer.headers or {}
  return setmetatable({
    status = answer.status,
    reason = answer.reason or "",
    repeated = answer.repeated or false,
    header_list = list,
    headers = header_map(list),
    source = answer.read and answer,
  }, answer_mt)
end

local function body_of(bytes, hidden)
  return hidden and not secret.is(bytes) and secret.new(bytes) or bytes
end

local function joined(chunks, hidden)
  if not hidden then return table.concat(chunks) end
  return #chunks == 0 and secret.new("") or secret.join(table.unpack(chunks))
end

local function with_body(res, hidden)
  local _ <close> = res
  local chunks = {}
  while true do
    local bytes, e = res:read()
    if e then
      e.status = e.status or res.status
      return nil, e
    end
    if not bytes then break end
    chunks[#chunks + 1] = bytes
    if hidden and #chunks == 100 then chunks = { joined(chunks, true) } end
  end
  res.body = joined(chunks, hidden)
  return res
end

--- Sends an HTTP request. Redirects are not followed; a status of 400 and more is an answer too.
-- `req`: url (string or secret; http or https), method ("GET"), headers ({{name, value}, …} or
-- {name = value}; values may be secrets), body (string, secret or function() → bytes | nil),
-- length (bytes that a body function gives; else chunked), once (never sent twice, not even on a
-- dead kept-alive connection), stream (the body by res:read()), gzip (ask for it and decode),
-- secret_body (res.body is a secret), max_body (bytes, 64 MiB; not for stream), max_headers (256
-- KiB), timeout (seconds for all of it), idle (seconds without a byte either way, 60; false: no
-- limit), connect_timeout (10), tls = { ca, cert, key (PEM texts), ca_file, server_name,
-- insecure }, proxy (URL; false: none; nil: as the environment says).
-- Returns { status, reason, headers (small names, repeats joined by ", "), header_list, body,
-- repeated (the request was sent twice: a kept connection died of the first sending, which may have
-- taken effect) } or, for a stream, with read() and close(); or nil and an error RTL-NET-…, whose
-- `sent` says that the request may have taken effect.
function M.request(req)
  local r = normalised(req)
  local answer, e = impl.request(r)
  if not answer then return nil, e end
  local res = new_answer(answer)
  if r.stream then
    res.source = res.source or source_of(answer.body)
    return res
  end
  if answer.read then return with_body(res, r.secret_body) end
  res.body = body_of(answer.body or "", r.secret_body)
  return res
end

-- ---- bytes over TLS ----

local stream_methods = {}
local stream_mt = { __index = stream_methods, __name = "rtl.wire.stream" }

local function closed()
  return err.fail { code = "RTL-NET-015", message = "the stream is closed" }
end

--- The next bytes, at most `max` (64 KiB); nil when the other side has closed; nil and an error.
function stream_methods:read(max)
  if not self.bytes then return closed() end
  return self.bytes.read(max)
end

--- Sends bytes (a string or secret); returns true when the kernel has them, or nil and an error.
-- Several tasks may write; one call's bytes stay together.
function stream_methods:write(bytes)
  if not is_bytes(bytes) then
    error("bad argument #1 to 'write' (string or secret expected)", 2)
  end
  if not self.bytes then return closed() end
  return self.bytes.write(bytes)
end

--- Closes the connection at once. Idempotent; also at the end of a `<close>` variable.
function stream_methods:close()
  local bytes = self.bytes
  self.bytes = nil
  if bytes then bytes.close() end
end

stream_mt.__close = stream_methods.close

--- Connects to the host and port of `req.url`, over TLS if its scheme is https or wss; the rest of
-- the URL is not looked at. `req` further: tls, proxy, connect_timeout as in request.
-- Returns a stream with read(max), write(bytes) and close(); or nil and an error RTL-NET-….
function M.connect(req)
  check_route("connect", req)
  local bytes, e = impl.connect {
    url = req.url, tls = req.tls or NONE, proxy = req.proxy,
    connect_timeout = seconds_of("connect", req, "connect_timeout", CONNECT_TIMEOUT),
  }
  if not bytes then return nil, e end
  return setmetatable({ bytes = bytes }, stream_mt)
end

return M
