--- Running a command in a pod: the exec channels over WebSocket (v5, v4 as fall-back). Success is
-- only what the status on channel 3 says: a closed socket without it is an unknown outcome.

local err = require "rtl.err"
local json = require "rtl.native.json"
local kube = require "rtl.native.kube"
local request = require "rtl.k8s.request"
local task = require "rtl.task"
local websocket = require "rtl.websocket"

local M = {}

local PROTOCOLS = { "v5.channel.k8s.io", "v4.channel.k8s.io" }
local PING_EVERY = 10
local CHUNK = 32 * 1024
local STDIN, STDOUT, STDERR, ERROR = 0, 1, 2, 3
local MAX_CAPTURE = 64 << 20
local LINGER = 10 -- seconds that output may still come after the status

-- Opening -------------------------------------------------------------------------------------

local function url_of(client, options)
  local query = {}
  if options.container then query[1] = { "container", options.container } end
  for _, word in ipairs(options.argv) do query[#query + 1] = { "command", word } end
  if options.stdin then query[#query + 1] = { "stdin", "true" } end
  query[#query + 1] = { "stdout", "true" }
  if options.tty then query[#query + 1] = { "tty", "true" } else query[#query + 1] = { "stderr",
    "true" } end
  return client.server .. "/api/v1/namespaces/"
    .. request.encode(options.namespace or client.namespace)
    .. "/pods/" .. request.encode(options.pod) .. "/exec" .. request.query(query)
end

local function open_once(client, options, protocols, anew)
  local headers, problem = request.headers(client, anew)
  if not headers then return nil, problem end
  return websocket.open { url = url_of(client, options), headers = headers, protocols = protocols,
    tls = request.tls(client), proxy = client.options.proxy, timeout = 30 }
end

-- An old server knows no v5 and says so in several ways; a Status object is a real answer.
local function old_server(problem)
  if problem.code ~= "RTL-NET-020" then return false end
  local body = type(problem.body) == "string" and problem.body or ""
  if problem.status == 400 or problem.status == 403 or problem.status == 500 then
    local status = json.decode(body)
    local text = type(status) == "table" and tostring(status.message) or body
    return type(status) ~= "table" or text:find("unknown scheme", 1, true) ~= nil
      or text:find("unable to upgrade", 1, true) ~= nil or text:find("subprotocol", 1, true) ~= nil
  end
  return false
end

local function refusal(problem, what)
  if problem.code ~= "RTL-NET-020" or not problem.status then
    return err.wrap(problem, { doing = what, message = "no connection" })
  end
  local failure = request.error_of(problem.status, problem.body or "", { doing = what })
  if failure.code == "Forbidden" then
    failure.hint = "exec needs the verbs get and create on pods/exec"
  end
  return failure
end

-- Connects; what surely has not begun is tried again.
local function open(client, options, what)
  local protocols, anew, renewed = PROTOCOLS, false, false
  local count = 0
  while true do
    count = count + 1
    local ws, problem = open_once(client, options, protocols, anew)
    if ws then return ws end
    anew = false
    local last = count >= request.tries(client, problem, problem.status)
    if problem.status == 401 and not renewed and type(client.options.token) == "function" then
      anew, renewed = true, true
    elseif #protocols == 2 and old_server(problem) then
      protocols = { PROTOCOLS[2] }
    elseif not last and (problem.status == 429 or problem.status == 503
      or problem.retryable and not problem.sent) then
      task.sleep(request.back_off(count))
    else
      return nil, refusal(problem, what)
    end
  end
end

-- The streams ---------------------------------------------------------------------------------

local function pieces(source)
  if type(source) == "function" then return source end
  local at = 1
  return function ()
    if at > #source then return nil end
    local piece = source:sub(at, at + CHUNK - 1)
    at = at + CHUNK
    return piece
  end
end

-- Sends stdin, then its end where the protocol has one. The far side may close before it is all
-- read.
local function feed(ws, source)
  for piece in pieces(source) do
    for at = 1, #piece, CHUNK do
      if not ws:send(kube.frame(STDIN, piece:sub(at, at + CHUNK - 1))) then return end
    end
  end
  if ws.protocol == PROTOCOLS[1] then ws:send(kube.close_frame(STDIN)) end
end

local function keep_alive(ws)
  while true do
    task.sleep(PING_EVERY)
    if not ws:ping() then return end
  end
end

local function collector(on_bytes, limit, what)
  local parts, size = {}, 0
  return function (bytes)
    if bytes == "" then return end
    if on_bytes then return on_bytes(bytes) end
    size = size + #bytes
    if size > limit then
      error(err.new { code = "RTL-K8S-033", doing = what, sent = true,
        message = ("the output is larger than %d bytes"):format(limit) }, 0)
    end
    parts[#parts + 1] = bytes
  end, function () return table.concat(parts) end
end

-- Messages until the close, or until nothing more comes after the status.
local function receive_all(ws, sinks, status)
  while true do
    local message, problem
    if status.text then
      message, problem = task.deadline(LINGER, ws.receive, ws)
    else
      message, problem = ws:receive()
    end
    if message == nil then return problem end
    if type(message) == "string" then
      local channel, bytes = kube.unframe(message)
      if channel == ERROR then
        status.text = (status.text or "") .. bytes
      elseif sinks[channel] then
        sinks[channel](bytes)
      end
    end
  end
end

-- The result ----------------------------------------------------------------------------------

local function exit_code(status)
  local details = type(status.details) == "table" and status.details or {}
  for _, cause in ipairs(type(details.causes) == "table" and details.causes or {}) do
    if cause.reason == "ExitCode" then return math.tointeger(tonumber(cause.message)) end
  end
end

local function result(status, problem, what, protocol)
  if not status.text or status.text == "" then
    return nil, err.new { code = "RTL-K8S-030", sent = true, cause = problem, doing = what,
      message = "the connection ended before the command's status came: its outcome is unknown" }
  end
  local object = json.decode(status.text)
  if type(object) ~= "table" then
    return nil, err.new { code = "RTL-K8S-031", doing = what, protocol = protocol,
      message = status.text:match("[^\n]*") }
  end
  if object.status == "Success" then return 0 end
  local code = exit_code(object)
  if code and object.reason == "NonZeroExitCode" then return code end
  return nil, err.new { code = "RTL-K8S-031", doing = what, reason = object.reason,
    message = type(object.message) == "string" and object.message
      or "the command could not be run" }
end

local function converse(ws, options, what)
  local status, limit = {}, options.limit or MAX_CAPTURE
  local take_out, out = collector(options.on_stdout, limit, what)
  local take_err, errors = collector(options.on_stderr, limit, what)
  local problem = task.group(function (g)
    local pinger = g:spawn(keep_alive, ws)
    local feeder = options.stdin and g:spawn(feed, ws, options.stdin)
    local trouble = receive_all(ws, { [STDOUT] = take_out, [STDERR] = take_err }, status)
    pinger:cancel("the stream is over")
    if feeder then feeder:cancel("the stream is over") end
    return trouble
  end)
  local code, failure = result(status, problem, what, ws.protocol)
  if not code then
    failure.stdout, failure.stderr = out(), errors()
    return nil, failure
  end
  return { code = code, stdout = out(), stderr = errors() }
end

--- Runs a command in a pod. `options`: namespace, pod, container, argv (no shell), stdin (string or
-- function () → chunk or nil), on_stdout and on_stderr (function (bytes); without them the result
-- has the text), timeout (seconds), tty, limit
-- (bytes kept of each stream, 64 MiB). Returns { code, stdout, stderr }: a code other than 0 is
-- no error. nil, err: RTL-K8S-030 ended without a status (outcome unknown, err.sent), 031 could not
-- be run, 032 not done in time; else why the server refused. With v4 (an old server) the end of
-- stdin can't be told: a command that reads to the end hangs there, so give it a length.
function M.exec(client, options)
  if type(options) ~= "table" or type(options.pod) ~= "string" then
    error("bad argument #1 to 'exec' (table with pod expected)", 2)
  end
  if type(options.argv) ~= "table" or type(options.argv[1]) ~= "string" then
    error("bad argument #1 to 'exec' (argv expected)", 2)
  end
  local what = "exec " .. options.argv[1] .. " in " .. (options.namespace or client.namespace)
    .. "/"
    .. options.pod
  local function run()
    local opened, problem = open(client, options, what)
    if not opened then return nil, problem end
    local ws <close> = opened
    local ok, value, failure = pcall(converse, ws, options, what)
    if ok then return value, failure end
    if not err.has_code(value, "RTL-K8S-033") then error(value, 0) end
    return nil, value
  end
  if not options.timeout then return task.run(run) end
  local value, problem = task.deadline(options.timeout, run)
  if value == nil and err.has_code(problem, "RTL-TASK-001") then
    return nil, err.new { code = "RTL-K8S-032", message = problem.message, doing = what,
      sent = true }
  end
  return value, problem
end

return M
