--- The stream of an exec: an HTTP upgrade, then WebSocket frames with the channels of
-- v5.channel.k8s.io. Bytes in, bytes out; the codec is the real one.

local answer = require "rtl.rehearse.kube.answer"
local api = require "rtl.rehearse.kube.api"
local auth = require "rtl.rehearse.kube.auth"
local codec = require "rtl.native.websocket"
local http = require "rtl.rehearse.http"
local json = require "rtl.native.json"
local sky = require "rtl.rehearse.weather.cluster"
local task = require "rtl.task"
local websocket = require "rtl.websocket"

local M = {}

local CHUNK = 32 * 1024
local START = { 0.15, 0.4 } -- seconds until a command has started

local function put(stream, bytes)
  stream.out[#stream.out + 1] = bytes
end

local function wake(stream)
  local future = stream.future
  stream.future = nil
  if future and not future:ready() then future:set(true) end
end

local function refuse(stream, reply)
  local body = json.encode(reply.body)
  put(stream, ("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
               .. "Connection: close\r\n\r\n%s"):format(reply.status, http.reason(reply.status),
                                                        #body, body))
  stream.ended = true
end

local function parse_head(text)
  local method, target = text:match "^(%u+) (%S+) HTTP/1%.1\r\n"
  local headers = {}
  for name, value in text:gmatch "\n([%w-]+): *([^\r\n]*)" do headers[name:lower()] = value end
  return { method = method, target = target or "/", headers = headers }
end

local function wanted_protocol(headers)
  local offered = headers["sec-websocket-protocol"] or ""
  for _, name in ipairs { "v5.channel.k8s.io", "v4.channel.k8s.io" } do
    if offered:find(name, 1, true) then return name end
  end
  return nil
end

-- What an exec request asks for, or nil and the answer that refuses it.
local function exec_of(stream, head)
  local path, query = head.target:match "^([^?]*)%??(.*)$"
  local target = api.route(stream.kube.store, path)
  if not target or target.sub ~= "exec" then
    return nil, answer.failure(404, "the server could not find the requested resource")
  end
  local spec = { namespace = target.namespace, pod = target.name, argv = {} }
  for _, pair in ipairs(http.pairs_of(query, true)) do
    if pair[1] == "command" then table.insert(spec.argv, pair[2])
    else spec[pair[1]] = pair[2] end
  end
  if not stream.kube.store:get(target.resource, target.namespace, target.name) then
    return nil, answer.not_found(target.resource, target.name)
  end
  if #spec.argv == 0 then return nil, answer.failure(400, "you must specify at least 1 command") end
  if spec.stdout ~= "true" and spec.stderr ~= "true" and spec.stdin ~= "true" then
    return nil, answer.failure(400, "you must specify at least 1 of stdin, stdout, stderr")
  end
  return spec
end

local function upgrade(stream, text)
  local head = parse_head(text)
  local denied = auth.check(stream.world, stream.kube, head.headers.authorization)
  if denied then return refuse(stream, denied) end
  local spec, refused = exec_of(stream, head)
  if not spec then return refuse(stream, refused) end
  local protocol, key = wanted_protocol(head.headers), head.headers["sec-websocket-key"]
  if not protocol or not key then
    return refuse(stream, answer.failure(400, "unable to upgrade: unknown subprotocol"))
  end
  stream.spec, stream.codec = spec, codec.new { role = "server", max_message = 1 << 24 }
  put(stream, ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               .. "Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n")
              :format(websocket.accept_key(key), protocol))
  stream.codec:send("binary", spec.stdout == "true" and "\1" or "\2")
  put(stream, stream.codec:output(""))
end

local function take_message(stream, message)
  if message.kind == "close" then
    stream.ended = true
  elseif message.kind == "binary" and #message.data > 0 then
    local channel, data = message.data:byte(1), message.data:sub(2)
    if channel == 0 then
      stream.input[#stream.input + 1] = data
    elseif channel == 255 and data == "\0" then
      stream.input_over = true
    end
  end
end

local function take(stream, bytes)
  local messages = stream.codec:feed(bytes)
  if not messages then
    stream.ended = true
    return
  end
  for _, message in ipairs(messages) do take_message(stream, message) end
  put(stream, stream.codec:output(""))
end

local function write(stream, bytes)
  bytes = require "rtl.native.secret".reveal(bytes)
  if not stream.codec then
    stream.head = stream.head .. bytes
    local stop = stream.head:find("\r\n\r\n", 1, true)
    if stop and not stream.ended then
      local rest = stream.head:sub(stop + 4)
      upgrade(stream, stream.head:sub(1, stop + 3))
      if stream.codec and rest ~= "" then take(stream, rest) end
    end
  else
    take(stream, bytes)
  end
  wake(stream)
  return true
end

local function send(stream, channel, text)
  for at = 1, #text, CHUNK do
    stream.codec:send("binary", channel .. text:sub(at, at + CHUNK - 1))
  end
end

local function status_of(result)
  if result.failure then
    return { metadata = {}, status = "Failure", reason = "InternalError", code = 500,
             message = "Internal error occurred: " .. result.failure }
  end
  if result.code == 0 then return { metadata = {}, status = "Success" } end
  return { metadata = {}, status = "Failure", reason = "NonZeroExitCode",
           message = ("command terminated with non-zero exit code: exit status %d")
                     :format(result.code),
           details = { causes = { { reason = "ExitCode", message = tostring(result.code) } } } }
end

local function run(stream)
  stream.ran = true
  local world, spec = stream.world, stream.spec
  world.calls_made = (world.calls_made or 0) + 1
  task.sleep(world:spread(START[1], START[2], "exec", world.runs, world.calls_made))
  world:advance(world.now_us)
  world:check_death()
  local args = { c = stream.kube.host, n = spec.namespace, p = spec.pod, k = spec.container,
                 v = spec.argv, i = table.concat(stream.input) }
  local does = spec.argv[1] == "ray" and world.change or world.perform
  local result = does(world, "exec", args)
  if result.refusal then
    result = { failure = result.refusal.body.message }
  end
  if result.seconds and result.seconds > 0 then task.sleep(result.seconds) end
  if sky.stream_breaks(world) then
    stream.ended = true
    return
  end
  send(stream, "\1", result.out or "")
  if spec.stderr == "true" then send(stream, "\2", result.errors or "") end
  stream.codec:send("binary", "\3" .. json.encode(status_of(result)))
  stream.codec:close(1000, "")
  put(stream, stream.codec:output(""))
  stream.ended = true
end

local function next_bytes(stream)
  local bytes = table.concat(stream.out)
  stream.out = {}
  return bytes
end

local function read(stream, max)
  while true do
    if #stream.out > 0 then
      local bytes = next_bytes(stream)
      if max and #bytes > max then
        put(stream, bytes:sub(max + 1))
        bytes = bytes:sub(1, max)
      end
      if bytes ~= "" then return bytes end
    elseif stream.ended or stream.closed then
      return nil
    elseif stream.codec and not stream.ran
      and (stream.spec.stdin ~= "true" or stream.input_over) then
      run(stream)
    else
      stream.future = task.future()
      stream.future:get()
    end
  end
end

--- Opens a stream to a cluster's API server: { read, write, close }.
function M.open(world, kube)
  local stream = { world = world, kube = kube, head = "", out = {}, input = {} }
  return {
    read = function (max) return read(stream, max) end,
    write = function (bytes) return write(stream, bytes) end,
    close = function ()
      stream.closed = true
      wake(stream)
    end,
  }
end

return M
