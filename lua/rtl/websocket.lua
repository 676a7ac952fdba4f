--- WebSocket: an HTTP/1.1 upgrade and frames on a byte stream of the wire.
-- The frames are made and read by a codec without I/O, so that any stream will do, and both roles.

local clock = require "rtl.clock"
local codec = require "rtl.native.websocket"
local crypto = require "rtl.native.crypto"
local entropy = require "rtl.entropy"
local err = require "rtl.err"
local secret = require "rtl.native.secret"
local task = require "rtl.task"
local wire = require "rtl.wire"

local M = {}

local GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" -- RFC 6455, section 1.3
local HEAD_MAX, BODY_MAX = 64 << 10, 64 << 10
local UPGRADE_TIMEOUT, CLOSE_TIMEOUT = 30, 5

--- What a server answers to Sec-WebSocket-Key `key` in Sec-WebSocket-Accept.
function M.accept_key(key)
  return crypto.base64_encode(assert(crypto.sha1(key .. GUID)))
end

-- ---- frames on a stream ----

local methods = {}
local mt = { __index = methods, __name = "rtl.websocket" }

local REFUSED = {
  protocol = { "RTL-NET-021", "the other side sent a frame that the protocol forbids" },
  utf8 = { "RTL-NET-021", "the other side sent a text that is not UTF-8" },
  too_large = { "RTL-NET-023", "the message is larger than max_message" },
  closed = { "RTL-NET-015", "the WebSocket is closed" },
}

local function refused(name)
  return err.fail { code = REFUSED[name][1], message = REFUSED[name][2], sent = true }
end

-- Sends what the codec has queued.
local function flush(ws)
  local bytes = ws.codec:output(entropy.bytes(ws.codec:mask_bytes()))
  if #bytes == 0 then return true end
  return ws.stream:write(bytes)
end

local function queue(ws, kind, bytes)
  local ok, name = ws.codec:send(kind, bytes)
  if not ok then return refused(name) end
  return flush(ws)
end

--- Sends one message; `kind` is "binary" (the default) or "text". True, or nil and an error.
function methods:send(bytes, kind)
  if self.ended then return refused("closed") end
  return queue(self, kind or "binary", bytes)
end

--- Sends a ping with up to 125 bytes; `last_seen` tells when anything last came back.
function methods:ping(bytes)
  if self.ended then return refused("closed") end
  return queue(self, "ping", bytes or "")
end

local function finish(ws)
  ws.ended = true
  ws.stream:close()
  if not ws.over:ready() then ws.over:set() end
end

local function fail(ws, e)
  ws.failure = e
  finish(ws)
  return nil, e
end

-- Takes events into the inbox. A close ends it: what comes behind is not read.
local function collect(ws, events)
  for _, event in ipairs(events) do
    if event.kind == "close" then
      ws.close_code, ws.close_reason = event.code or 1005, event.reason
      ws.closing = true
    elseif event.kind == "text" or event.kind == "binary" then
      ws.inbox[#ws.inbox + 1] = event
    end
  end
end

-- The next bytes of the stream; `reading` holds while it waits, and not after a cancellation.
local function read(ws)
  local bytes = ws.leftover
  ws.leftover = nil
  if bytes then return bytes end
  ws.reading = true
  local _ <close> = setmetatable({}, { __close = function () ws.reading = false end })
  return ws.stream:read()
end

-- One read. Returns true, or nil and an error (nil alone never).
local function advance(ws)
  local bytes, e = read(ws)
  if not bytes then
    return nil, e or err.new { code = "RTL-NET-022", sent = true, retryable = true,
      message = "the connection ended without a close frame" }
  end
  ws.last_seen = clock.mono()
  collect(ws, ws.codec:feed(bytes))
  local ok, broken = flush(ws) -- pongs, the answer to a close, the close for what is refused
  local name = ws.codec:refusal()
  if name then return refused(name) end
  if not ok and not ws.closing then return nil, broken end
  return true
end

local function next_in_inbox(ws)
  local event = table.remove(ws.inbox, 1)
  if event then return event.data, event.kind end
end

--- The next message and its kind ("binary" or "text"); nil when the other side has closed in good
-- order (close_code, close_reason), nil and an error when not. Pings are answered in here, so a
-- task should be in it most of the time.
function methods:receive()
  while #self.inbox == 0 do
    if self.failure then return nil, self.failure end
    if self.ended then return nil end
    if self.closing then
      finish(self)
      return nil
    end
    local ok, e = advance(self)
    if not ok and self.ended then return nil end -- closed from here meanwhile
    if not ok then
      if #self.inbox == 0 then return fail(self, e) end
      self.failure = e
    end
  end
  return next_in_inbox(self)
end

local function drain(ws)
  while not ws.closing and not ws.ended do
    if not advance(ws) then return end
    ws.inbox = {}
  end
end

--- Closes in good order: sends a close frame (`code` 1000, `reason` up to 123 bytes), waits up to
-- five seconds for the other side's, and ends the connection. Idempotent.
function methods:close(code, reason)
  if self.ended then return true end
  if self.codec:close(code or 1000, reason or "") and flush(self) then
    if self.reading then
      task.deadline(CLOSE_TIMEOUT, self.over.get, self.over)
    else
      task.deadline(CLOSE_TIMEOUT, drain, self)
    end
  end
  if not self.ended then finish(self) end
  return true
end

--- Ends the connection at once, as the end of a `<close>` variable does.
function methods:abort()
  if not self.ended then finish(self) end
end

mt.__close = methods.abort

--- Frames on a stream with read(), write(bytes) and close(), whose upgrade is done. `options`: role
-- ("client" or "server"), leftover (bytes that came behind the upgrade), max_message (16 MiB).
function M.over(stream, options)
  return setmetatable({
    stream = stream, inbox = {}, over = task.future(), last_seen = clock.mono(),
    codec = codec.new { role = options.role or "client", max_message = options.max_message },
    leftover = options.leftover ~= "" and options.leftover or nil,
  }, mt)
end

-- ---- the upgrade ----

local function add(parts, ...)
  for _, part in ipairs { ... } do parts[#parts + 1] = part end
end

local function pairs_of(headers)
  local list, names = {}, {}
  for name in pairs(headers or {}) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do list[#list + 1] = { name, headers[name] } end
  return table.move(headers or {}, 1, #(headers or {}), #list + 1, list)
end

-- A secret can't be looked into, so its maker answers for it; rtl's own are one line.
local function check_header(name, value)
  local text = type(value) == "string" and value or ""
  if name:find("[^%w!#$%%&'*+%-.^_`|~]") or text:find("[\r\n\0]") then
    error("bad argument #1 to 'open' (header '" .. name .. "')", 4)
  end
end

local function request_of(options, authority, target, key)
  local parts = {}
  add(parts, "GET ", target, " HTTP/1.1\r\nHost: ", authority, "\r\nUpgrade: websocket\r\n",
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ", key, "\r\n")
  if options.protocols and #options.protocols > 0 then
    add(parts, "Sec-WebSocket-Protocol: ", table.concat(options.protocols, ", "), "\r\n")
  end
  for _, pair in ipairs(pairs_of(options.headers)) do
    check_header(pair[1], pair[2])
    add(parts, pair[1], ": ", pair[2], "\r\n")
  end
  add(parts, "\r\n")
  return secret.join(table.unpack(parts))
end

local function lost(e)
  return nil, e or err.new { code = "RTL-NET-008", sent = true, retryable = true,
    message = "the connection ended before the answer to the upgrade" }
end

-- Reads up to the blank line, from the bytes in `buffer` on. Returns head, rest; or nil, err.
local function read_head(stream, buffer)
  while true do
    local head, rest = buffer:match("^(.-\r?\n)\r?\n(.*)$")
    if head then return head, rest end
    if #buffer > HEAD_MAX then
      return err.fail { code = "RTL-NET-011", message = "the headers are too large" }
    end
    local bytes, e = stream:read()
    if not bytes then return lost(e) end
    buffer = buffer .. bytes
  end
end

local function parse_head(head)
  local status = head:match("^HTTP/1%.%d (%d%d%d)")
  if not status then
    return err.fail { code = "RTL-NET-010", sent = true,
      message = "the answer to the upgrade is not HTTP" }
  end
  local headers = {}
  for name, value in head:gmatch("\n([^:%s]+):[ \t]*([^\r\n]*)") do
    name = name:lower()
    headers[name] = headers[name] and headers[name] .. ", " .. value or value
  end
  return tonumber(status), headers
end

-- Status, headers and the bytes behind them; or nil, err. Interim answers are skipped.
local function read_answer(stream, buffer)
  local head, rest = read_head(stream, buffer)
  if not head then return nil, rest end
  local status, headers = parse_head(head)
  if not status or status >= 200 or status == 101 then return status, headers, rest end
  return read_answer(stream, rest)
end

local function unchunked(bytes)
  local parts, at = {}, 1
  while true do
    local size, next_at = bytes:match("^(%x+)[^\n]*\n()", at)
    size = size and tonumber(size, 16)
    if not size or size == 0 then return table.concat(parts), size == 0 end
    parts[#parts + 1] = bytes:sub(next_at, next_at + size - 1)
    at = next_at + size + 2
  end
end

-- The body of a refusal, as far as it comes.
local function read_body(stream, headers, bytes)
  local length = tonumber(headers["content-length"] or "")
  local chunked = (headers["transfer-encoding"] or ""):lower():find("chunked", 1, true)
  while #bytes < math.min(length or BODY_MAX, BODY_MAX) do
    if chunked and select(2, unchunked(bytes)) then break end
    local more = stream:read()
    if not more then break end
    bytes = bytes .. more
  end
  return chunked and unchunked(bytes) or bytes:sub(1, length or BODY_MAX)
end

local function has_word(value, word)
  return ("," .. (value or ""):lower():gsub("%s", "") .. ","):find("," .. word .. ",", 1, true)
end

-- What is wrong with a 101, or nil.
local function fault(options, headers, key)
  if not has_word(headers.upgrade, "websocket") or not has_word(headers.connection, "upgrade") then
    return "the server upgraded to something else"
  end
  if headers["sec-websocket-accept"] ~= M.accept_key(key) then
    return "the server's key is wrong"
  end
  if headers["sec-websocket-extensions"] then return "the server uses an extension unasked" end
  local protocol = headers["sec-websocket-protocol"]
  for _, offered in ipairs(options.protocols or {}) do
    if protocol == offered then return nil end
  end
  if protocol then return "the server chose '" .. protocol .. "', which was not offered" end
end

local function refusal(stream, status, headers, rest)
  return err.fail {
    code = "RTL-NET-020", message = "the server refused the upgrade", status = status,
    headers = headers, body = read_body(stream, headers, rest), sent = true,
    retryable = status == 429 or status >= 500,
  }
end

local function upgrade(stream, options, authority, target)
  local key = crypto.base64_encode(entropy.bytes(16))
  local ok, e = stream:write(request_of(options, authority, target, key))
  if not ok then return nil, e end
  local status, headers, rest = read_answer(stream, "")
  if not status then return nil, headers end
  if status ~= 101 then return refusal(stream, status, headers, rest) end
  local wrong = fault(options, headers, key)
  if wrong then
    return err.fail { code = "RTL-NET-020", message = wrong, status = 101, sent = true }
  end
  local ws = M.over(stream, { role = "client", leftover = rest, max_message = options.max_message })
  ws.protocol, ws.headers = headers["sec-websocket-protocol"], headers
  return ws
end

local function connect_and_upgrade(options)
  local authority, target = options.url:match("^%w+://([^/?#]+)([^#]*)")
  if not authority then
    return err.fail { code = "RTL-NET-014", message = "not a URL" }
  end
  if target:sub(1, 1) ~= "/" then target = "/" .. target end
  local stream, e = wire.connect(options)
  if not stream then return nil, e end
  local guard <close> = setmetatable({}, { __close = function (g)
    if not g.kept then stream:close() end
  end })
  local ws, refused_by = upgrade(stream, options, authority, target)
  guard.kept = ws ~= nil
  return ws, refused_by
end

--- Opens a WebSocket. `options`: url (ws, wss, http or https), headers ({{name, value}, …} or
-- {name = value}; values may be secrets), protocols (array, in order of preference), tls, proxy and
-- connect_timeout as in wire.connect, timeout (seconds for the whole upgrade, 30), max_message
-- (bytes, 16 MiB). Returns a WebSocket, whose `protocol` is what the server chose and `headers` its
-- answer's; or nil and an error, RTL-NET-020 with status, headers and body if the server refused.
function M.open(options)
  if type(options) ~= "table" or type(options.url) ~= "string" then
    error("bad argument #1 to 'open' (url expected)", 2)
  end
  local seconds = options.timeout or UPGRADE_TIMEOUT
  local ws, e = task.deadline(seconds, connect_and_upgrade, options)
  if ws then return ws end
  if err.has_code(e, "RTL-TASK-001") then
    e = err.new { code = "RTL-NET-007", sent = true, retryable = true,
      message = ("no answer to the upgrade within %g s"):format(seconds) }
  end
  e.doing = e.doing or "open " .. options.url:gsub("[?#].*", "")
  return nil, e
end

return M
