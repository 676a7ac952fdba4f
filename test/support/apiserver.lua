--- A Kubernetes API server for specs, as an implementation of the wire in this process: answers are
-- scripted, what came in is written down, time is virtual, exec speaks real frames.
local clock = require "rtl.clock"
local entropy = require "rtl.entropy"
local json = require "rtl.native.json"
local secret = require "rtl.native.secret"
local task = require "rtl.task"
local websocket = require "rtl.websocket"
local wire = require "rtl.wire"

local M = {}

local Server = {}
Server.__index = Server

local function virtual_clock()
  local now = 0
  return { mono = function () return now end, utc = function () return 1e9 + now end,
    advance = function (to) now = to end }
end

local function bytes_of(count)
  return ("\7"):rep(count)
end

--- Starts one; `routes` is { ["GET /path"] = answer or function (request, count) → answer }. An
-- answer is { status, body = table or text, headers, stream = array of chunks (a function among
-- them is called: it may sleep, or return an error) }. The path is without its query
-- (request.query[name]).
function M.start(routes)
  local s = setmetatable({ routes = routes or {}, log = {}, counts = {} }, Server)
  s.former_wire = wire.use { request = function (req) return s:request(req) end,
    connect = function (req) return s:connect(req) end }
  s.former_clock = clock.use(virtual_clock())
  s.former_entropy = entropy.use { bytes = bytes_of }
  return s
end

--- Puts wire, clock and entropy back.
function Server:stop()
  wire.use(self.former_wire)
  clock.use(self.former_clock)
  entropy.use(self.former_entropy)
end

local function unescape(text)
  return (text:gsub("%%(%x%x)", function (hex) return string.char(tonumber(hex, 16)) end))
end

local function query_of(text)
  local query, list = {}, {}
  for name, value in (text or ""):gmatch("([^&=]+)=?([^&]*)") do
    query[unescape(name)] = unescape(value)
    list[#list + 1] = { unescape(name), unescape(value) }
  end
  return query, list
end

local function headers_of(list)
  local headers = {}
  for _, pair in ipairs(list) do headers[pair[1]:lower()] = secret.reveal(pair[2]) end
  return headers
end

-- Writes a request down and finds its answer.
local function route(s, method, url, headers, body)
  local path, query = url:match("^%a+://[^/]+([^?]*)%??(.*)$")
  local entry = { method = method, path = path, headers = headers_of(headers), body = body }
  entry.query, entry.query_list = query_of(query)
  table.insert(s.log, entry)
  local key = method .. " " .. path
  s.counts[key] = (s.counts[key] or 0) + 1
  local answer = s.routes[key]
  if type(answer) == "function" then return answer(entry, s.counts[key]) end
  return answer or { 404, { kind = "Status", status = "Failure", reason = "NotFound", code = 404,
    message = key .. " is not scripted" } }
end

local function reader(chunks)
  local at = 0
  return function ()
    at = at + 1
    local chunk = chunks[at]
    if type(chunk) == "function" then return chunk() end
    return chunk
  end
end

function Server:request(req)
  local body = req.body and secret.reveal(req.body)
  local answer, problem = route(self, req.method, secret.reveal(req.url), req.headers, body)
  if not answer then return nil, problem end
  local headers = {}
  for name, value in pairs(answer.headers or {}) do headers[#headers + 1] = { name, value } end
  local content = answer.body or answer[2] or ""
  if type(content) == "table" then content = json.encode(content) end
  if answer.stream then
    return { status = answer[1], headers = headers, read = reader(answer.stream),
      close = function () self.closed = (self.closed or 0) + 1 end }
  end
  return { status = answer[1], headers = headers, body = content }
end

-- Lets `limit` bytes through, then ends as a lost connection does; counts what went through.
local function cut(s, read)
  local passed = 0
  return function ()
    if s.cut_after and passed >= s.cut_after then return nil, M.gone() end
    local bytes = read()
    if bytes and s.cut_after then bytes = bytes:sub(1, s.cut_after - passed) end
    passed = passed + #(bytes or "")
    s.passed = passed
    return bytes
  end
end

-- Two ends of a byte stream: what the wire wants from an implementation (plain functions), and the
-- server's own end (methods).
local function pipe(s)
  local to_server, to_client = task.queue(), task.queue()
  local function finish(queue) pcall(queue.close, queue) end
  local function write(queue, bytes)
    if not pcall(queue.put, queue, secret.reveal(bytes)) then return nil, M.gone() end
    return true
  end
  local function close()
    finish(to_server)
    finish(to_client)
  end
  local near = { read = cut(s, function () return to_client:get() end), close = close,
    write = function (bytes) return write(to_server, bytes) end }
  local far = { read = function () return to_server:get() end, close = close,
    write = function (_, bytes) return write(to_client, bytes) end }
  return near, far
end

--- What a write to a closed connection gives.
function M.gone()
  return require "rtl.err".new { code = "RTL-NET-008", message = "connection lost",
    retryable = true,
    sent = true }
end

-- The head of an upgrade request.
local function read_head(stream)
  local text = ""
  while not text:find("\r\n\r\n", 1, true) do
    local bytes = stream:read()
    if not bytes then return nil end
    text = text .. bytes
  end
  local head, rest = text:match("^(.-)\r\n\r\n(.*)$")
  local method, target = head:match("^(%u+) (%S+)")
  local headers = {}
  for name, value in head:gmatch("\r\n([^:]+):%s*([^\r\n]*)") do headers[#headers + 1] = { name,
    value } end
  return method, target, headers, rest
end

local function refuse(stream, answer)
  local body = answer.body or answer[2] or ""
  if type(body) == "table" then body = json.encode(body) end
  stream:write(("HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s")
    :format(answer[1], #body, body))
  stream:close()
end

-- Takes the upgrade and lets answer.exec(ws, request) play the pod.
local function serve(s, stream)
  local method, target, list, rest = read_head(stream)
  if not method then return end
  local answer = route(s, method, "http://x" .. target, list, nil)
  local entry = s.log[#s.log]
  if not answer.exec then return refuse(stream, answer) end
  local protocol = answer.protocol or entry.headers["sec-websocket-protocol"]:match("^[^,%s]+")
  stream:write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    .. "Sec-WebSocket-Accept: " .. websocket.accept_key(entry.headers["sec-websocket-key"])
    .. "\r\nSec-WebSocket-Protocol: " .. protocol .. "\r\n\r\n")
  local ws = websocket.over(stream, { role = "server", leftover = rest })
  answer.exec(ws, entry)
end

function Server:connect()
  local near, far = pipe(self)
  task.background(serve, self, far)
  return near
end

--- A Status object.
function M.status(code, reason, message, more)
  local status = { kind = "Status", apiVersion = "v1", metadata = {}, status = "Failure",
    code = code,
    reason = reason, message = message }
  for key, value in pairs(more or {}) do status[key] = value end
  return status
end

--- A pod for specs.
function M.pod(name, version, more)
  local pod = { apiVersion = "v1", kind = "Pod", metadata = { name = name, namespace = "default",
    uid = "uid-" .. name, resourceVersion = version } }
  for key, value in pairs(more or {}) do pod[key] = value end
  return pod
end

--- An event of a watch as a line.
function M.event(kind, object)
  return json.encode { type = kind, object = object } .. "\n"
end

return M
