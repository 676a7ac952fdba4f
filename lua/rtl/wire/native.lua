--- The wire on libcurl: what rtl.wire uses unless it is told otherwise.

local err = require "rtl.err"
local fs = require "rtl.fs"
local http = require "rtl.native.http"
local process = require "rtl.process"
local proxies = require "rtl.wire.proxy"
local secret = require "rtl.native.secret"
local task = require "rtl.task"

local M = {}

-- Name in modules/http/error.c → code, whether trying again may help.
local ERRORS = {
  dns = { "RTL-NET-001", true },
  connect = { "RTL-NET-002", true },
  certificate = { "RTL-NET-003", false },
  roots = { "RTL-NET-003", false },
  tls = { "RTL-NET-004", true },
  connect_timeout = { "RTL-NET-005", true },
  idle = { "RTL-NET-006", true },
  timeout = { "RTL-NET-007", true },
  lost = { "RTL-NET-008", true },
  cut = { "RTL-NET-009", true },
  not_http = { "RTL-NET-010", false },
  too_large = { "RTL-NET-011", false },
  proxy = { "RTL-NET-012", false },
  proxy_busy = { "RTL-NET-012", true },
  library = { "RTL-NET-013", false },
  url = { "RTL-NET-014", false },
  closed = { "RTL-NET-015", false },
}

local HINTS = {
  certificate = "If a proxy or a company CA stands between, name its CA (tls.ca_file).",
  roots = "It must be a readable file of CA certificates in PEM form (tls.ca_file, AWS_CA_BUNDLE, "
    .. "the profile's ca_bundle or SSL_CERT_FILE).",
  library = "Install libcurl4.",
}

-- The URL for people: without its query, which may hold a signature, and not endless.
local function shown(url)
  if secret.is(url) then return "(secret URL)" end
  local text = url:gsub("[?#].*", "")
  return #text > 160 and text:sub(1, 160) .. "…" or text
end

-- A proxy for people: its host and port, without the login, which may hold an unescaped '@'.
local function shown_proxy(text)
  return (text:gsub("^.*@", ""):gsub("^%w+://", ""):gsub("/.*$", ""))
end

-- What may be the proxy's fault, and nothing that the far end did.
local NEAR = {
  connect = true, connect_timeout = true, lost = true, proxy = true, proxy_busy = true, tls = true,
}

-- What libcurl says of a proxy names it whole, with its login. Returns the message without that,
-- and the hint.
local function of_proxy(req, name, message)
  if not req.through then return message, HINTS[name] end
  local whole = secret.is(req.through) and secret.reveal(req.through) or req.through
  local from, to = message:find(whole, 1, true)
  if from then message = message:sub(1, from - 1) .. shown_proxy(whole) .. message:sub(to + 1) end
  return message, HINTS[name] or NEAR[name] and ("it goes through the proxy %s; NO_PROXY names the "
    .. "hosts that are reached without"):format(shown_proxy(whole)) or nil
end

local function failure(req, name, message, sent, status)
  local known = ERRORS[name]
  if not known then error(name == "memory" and "not enough memory" or name, 0) end
  local hint
  message, hint = of_proxy(req, name, message)
  return err.fail {
    code = known[1], name = name, message = message, sent = sent or false, status = status,
    hint = hint,
    doing = (req.method or "connect") .. " " .. shown(req.url),
    retryable = known[2] and not (sent and req.once or false),
  }
end

-- ---- where to ----

local function proxy_of(req, scheme, host, port)
  if req.proxy ~= nil then return req.proxy or nil end
  return proxies.choose(scheme, host, port, process.getenv)
end

-- The name that the certificate must carry stands in the URL; the host that was meant is dialled,
-- and named in the Host header.
local function named(url, server_name)
  if secret.is(url) then error("tls.server_name and a secret URL don't go together", 0) end
  local scheme, authority, rest = url:match("^(%w+://)([^/?#]*)(.*)$")
  local port = authority:match(":(%d+)$")
  return scheme .. server_name .. (port and ":" .. port or "") .. rest, authority
end

-- Where the roots are, first found: libcurl knows only its own system's place.
local ROOTS = {
  "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
}
local looked, found

-- nil: libcurl's own default, which is the first of them.
local function system_roots()
  if looked then return found end
  looked = true
  for i, path in ipairs(ROOTS) do
    if fs.exists(path) then
      found = i > 1 and path or nil
      break
    end
  end
  return found
end

local function roots_of(tls)
  if tls.ca or tls.ca_file or tls.insecure then return tls.ca_file end
  local wanted = process.getenv("SSL_CERT_FILE")
  return wanted and wanted ~= "" and wanted or system_roots()
end

-- The parts of a URL, kept for the next request: it mostly goes to the same one.
local known = {}

local function origin_of(url)
  if known.url == url then return known.scheme, known.host, known.port end
  local scheme, host, port = http.origin(url)
  if scheme == nil then return nil, host, port end
  port = math.tointeger(port)
  if not secret.is(url) then known = { url = url, scheme = scheme, host = host, port = port } end
  return scheme, host, port
end

local PROXIES = {
  http = true, https = true, socks4 = true, socks4a = true, socks5 = true, socks5h = true,
}

-- Why a proxy's URL is of no use, or nil. (libcurl says of it that the connection failed.)
local function bad_proxy(url)
  local scheme = (secret.is(url) and secret.reveal(url) or url):match("^(%w+)://")
  if not scheme or PROXIES[scheme:lower()] then return nil end
  return "the proxy's scheme is '" .. scheme .. "', not http, https or socks5"
end

-- The route of http.start and http.connect: what is not in the request as it stands.
local function route(req)
  local scheme, host, port = origin_of(req.url)
  if scheme == nil then return nil, host or "url", port or "not a URL" end
  if scheme ~= "http" and scheme ~= "https" then
    return nil, "url", "the scheme is '" .. scheme .. "', not http or https"
  end
  local proxy = proxy_of(req, scheme, host, port)
  local problem = proxy and bad_proxy(proxy)
  req.through = proxy
  if problem then return nil, "proxy", problem end
  local way = { url = req.url, proxy = proxy, ca_file = nil, host = nil, connect_to = nil }
  if scheme == "https" or proxy then way.ca_file = roots_of(req.tls) end
  if req.tls.server_name then
    way.url, way.host = named(req.url, req.tls.server_name)
    way.connect_to = "::" .. host .. ":" .. port
  end
  return way
end

-- ---- requests ----

local function start(req)
  local way, name, message = route(req)
  if not way then return nil, name, message end
  return http.start(req, way)
end

local guard_mt = { __close = function (guard)
  if guard.handle then guard.handle:close() end
end }

-- A `<close>` value that closes `handle`, unless its field is emptied before.
local function guarding(handle)
  return setmetatable({ handle = handle }, guard_mt)
end

-- Gives libcurl the next chunk of the body; an empty one would end it.
local function feed(handle, body)
  local chunk
  repeat chunk = body() until chunk == nil or #chunk > 0
  handle:feed(chunk)
end

local function next_event(handle, req)
  while true do
    local event, a, b, c, d, e = task.await(handle)
    if event ~= "want" then return event, a, b, c, d, e end
    feed(handle, req.body)
  end
end

local function reader(handle, req)
  return function ()
    local event, a, b, c, d = next_event(handle, req)
    if event == "data" then return a end
    if event == "failed" then return failure(req, a, b, c, d) end
    return nil
  end
end

local function answered(handle, req)
  local event, a, b, c, d, e = next_event(handle, req)
  if event == "failed" then return failure(req, a, b, c, d) end
  return { status = a, reason = b, headers = c, repeated = d > 1, body = e }
end

local function streamed(handle, req)
  local guard <close> = guarding(handle)
  local answer, e = answered(handle, req)
  if not answer then return nil, e end
  guard.handle = nil
  answer.read, answer.close = reader(handle, req), function () handle:close() end
  return answer
end

--- See rtl.wire.
function M.request(req)
  local handle, name, message = start(req)
  if not handle then return failure(req, name, message, false) end
  if req.stream then return streamed(handle, req) end
  local _ <close> = handle
  return answered(handle, req)
end

-- ---- byte streams ----

-- Three things to wait for on one stream: that it stands, bytes, and room.
local function waiting(stream, token, take)
  return {
    token = function () return stream.handle[token](stream.handle) end,
    take = function ()
      if stream.closed then return true, "failed", "closed", "the stream is closed" end
      return take(stream.handle)
    end,
  }
end

local function reading(stream, req)
  local max
  local w = waiting(stream, "token", function (handle) return handle:read(max) end)
  return function (n)
    max = n
    local state, a, b = task.await(w)
    if state == "failed" then return failure(req, a, b, true) end
    return a
  end
end

-- The bytes join the stream's queue at once, so that they leave in the order of the calls; then one
-- task at a time waits until all are gone.
local function writing(stream, req)
  local one = task.limit(1)
  local w = waiting(stream, "write_token", function (handle) return handle:flushed() end)
  return function (bytes)
    if stream.closed then return failure(req, "closed", "the stream is closed", true) end
    stream.handle:write(bytes)
    local state, a, b = one:with(task.await, w)
    if state == "failed" then return failure(req, a, b, true) end
    return true
  end
end

local function http_url(url)
  return secret.is(url) and url or (url:gsub("^ws(s?)://", "http%1://"))
end

--- See rtl.wire.
function M.connect(req)
  req.url = http_url(req.url)
  local way, name, message = route(req)
  if not way then return failure(req, name, message, false) end
  local stream = {}
  stream.handle, name, message = http.connect(req, way)
  if not stream.handle then return failure(req, name, message, false) end
  local guard <close> = guarding(stream.handle)
  local state, a, b = task.await(waiting(stream, "token", stream.handle.connected))
  if state == "failed" then return failure(req, a, b, false) end
  guard.handle = nil
  return {
    read = reading(stream, req),
    write = writing(stream, req),
    close = function ()
      stream.closed = true
      stream.handle:close()
    end,
  }
end

--- See rtl.wire.
function M.describe()
  return { name = "native", unconfirmed = {} }
end

return M
