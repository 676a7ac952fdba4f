--- The log of a container, whole or followed.

local err = require "rtl.err"
local request = require "rtl.k8s.request"

local M = {}

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

--- The log of a pod's container: text | nil, err. With on_bytes = function (bytes) it is handed
-- over as it comes and the result is true at its end; with follow that is when the container ends
-- (or the server rotates the file: follow again with since_time). `options`: container, follow,
-- tail (lines), since_time (RFC 3339), since_seconds, previous, timestamps, limit_bytes, on_bytes.
function M.logs(client, namespace, pod, options)
  if type(pod) ~= "string" then error("bad argument #2 to 'logs' (pod expected)", 2) end
  options = options or {}
  local what = "read the log of " .. (namespace or client.namespace) .. "/" .. pod
  local res, problem = request.send(client,
    { stream = true, doing = what, query = query_of(options),
    idle = options.follow and false or nil, accept = "*/*",
    path = "/api/v1/namespaces/" .. request.encode(namespace or client.namespace) .. "/pods/"
      .. request.encode(pod) .. "/log" })
  if not res then return nil, problem end
  local response <close> = res
  local parts = {}
  while true do
    local bytes, trouble = response:read()
    if trouble then return nil, err.wrap(trouble, { doing = what, text = table.concat(parts) }) end
    if not bytes then break end
    if options.on_bytes then options.on_bytes(bytes) else parts[#parts + 1] = bytes end
  end
  return options.on_bytes and true or table.concat(parts)
end

return M
