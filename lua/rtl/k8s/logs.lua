--- The log of a container, whole or followed.

local err = require "rtl.err"
local request = require "rtl.k8s.request"
local task = require "rtl.task"

local M = {}

local FAILURES = 6 -- broken connections in a row, without a new line between them

local function query_of(options)
  local query = {}
  local function add(name, value)
    if value ~= nil and value ~= false then query[#query + 1] = { name, tostring(value) } end
  end
  add("container", options.container)
  add("follow", options.follow)
  add("previous", options.previous)
  add("timestamps", options.timestamps)
  add("tailLines", options.tail)
  add("sinceTime", options.since_time)
  add("sinceSeconds", options.since_seconds)
  add("limitBytes", options.limit_bytes)
  return query
end

local function open(client, where, options)
  return request.send(client, { stream = true, doing = where.doing, query = query_of(options),
    idle = options.follow and false or nil, accept = "*/*", path = where.path })
end

-- Hands over what comes. True at the end; nil, err when the connection broke.
local function read(client, where, options, take)
  local res, problem = open(client, where, options)
  if not res then return nil, problem, true end
  local response <close> = res
  while true do
    local bytes, trouble = response:read()
    if trouble then return nil, err.wrap(trouble, { doing = where.doing }) end
    if not bytes then return true end
    take(bytes)
  end
end

-- Following ------------------------------------------------------------------------------------

-- "2026-12-01T10:00:00.5Z" with nine digits, so that times compare as texts.
local function sortable(time)
  local whole, fraction = time:match("^([%d-]+T[%d:]+)%.?(%d*)")
  return whole and whole .. "." .. fraction .. ("0"):rep(9 - #fraction)
end

-- Whether a line was handed over before the connection broke; counts those of the newest time.
local function seen_before(state, time)
  if not state.last or time > state.last then
    state.last, state.count, state.skip = time, 1, 0
    return false
  end
  if time < state.last then return true end
  if state.skip > 0 then
    state.skip = state.skip - 1
    return true
  end
  state.count = state.count + 1
  return false
end

local function take_line(state, line)
  local time, text = line:match("^(%S+) (.*)$")
  local key = time and sortable(time)
  if not key then return state.on_bytes(line .. "\n") end
  if seen_before(state, key) then return end
  state.since, state.failures = time, 0
  state.on_bytes((state.timestamps and line or text) .. "\n")
end

local function take_bytes(state, bytes)
  local text, at = state.partial .. bytes, 1
  while true do
    local stop = text:find("\n", at, true)
    if not stop then break end
    take_line(state, text:sub(at, stop - 1))
    at = stop + 1
  end
  state.partial = text:sub(at)
end

-- Asks for times, so that a broken connection can be taken up behind the last line that came.
local function follow(client, where, options)
  local state = { on_bytes = options.on_bytes, timestamps = options.timestamps, partial = "",
    failures = 0, count = 0, skip = 0 }
  local o = setmetatable({ timestamps = true }, { __index = options })
  while true do
    local done, problem, refused = read(client, where, o, function (bytes)
      take_bytes(state, bytes)
    end)
    if done then
      if state.partial ~= "" then take_line(state, state.partial) end
      return true
    end
    state.failures = state.failures + 1
    if refused or not problem.retryable or state.failures >= FAILURES then return nil, problem end
    task.sleep(request.back_off(state.failures))
    state.partial, state.skip = "", state.count
    if state.since then o.since_time, o.tail, o.since_seconds = state.since, false, false end
  end
end

--- The log of a pod's container: text | nil, err. With on_bytes = function (bytes) it is handed
-- over as it comes and the result is true at its end. With follow (which needs on_bytes) that is
-- when the container ends; a broken connection is taken up again behind the last whole line.
-- `options`: container, follow, tail (lines), since_time (RFC 3339), since_seconds, previous,
-- timestamps, limit_bytes, on_bytes.
function M.logs(client, namespace, pod, options)
  if type(pod) ~= "string" then error("bad argument #2 to 'logs' (pod expected)", 2) end
  options = options or {}
  local ns = namespace or client.namespace
  local where = { doing = "read the log of " .. ns .. "/" .. pod,
    path = ("/api/v1/namespaces/%s/pods/%s/log"):format(request.encode(ns), request.encode(pod)) }
  if options.follow then
    if type(options.on_bytes) ~= "function" then
      error("bad argument #3 to 'logs' (follow needs on_bytes)", 2)
    end
    return follow(client, where, options)
  end
  local parts = {}
  local done, problem = read(client, where, options, options.on_bytes or function (bytes)
    parts[#parts + 1] = bytes
  end)
  if not done then return nil, problem end
  return options.on_bytes and true or table.concat(parts)
end

return M
