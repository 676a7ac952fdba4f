--- Watching: events of a kind for as long as one wants, across cut connections, time-outs and
-- history that the server has forgotten.

local clock = require "rtl.clock"
local discovery = require "rtl.k8s.discovery"
local err = require "rtl.err"
local json = require "rtl.native.json"
local kube = require "rtl.native.kube"
local objects = require "rtl.k8s.objects"
local request = require "rtl.k8s.request"
local task = require "rtl.task"

local M = {}

-- Seconds after which the server ends the stream in good order, before a proxy cuts it.
local SERVER_TIMEOUT = 290
local SHORT = 1            -- a stream without events that ends sooner is no stream

local Watch = {}
Watch.__index = Watch

local function key_of(object)
  local metadata = object.metadata
  return metadata.uid or (metadata.namespace or "") .. "/" .. tostring(metadata.name)
end

local function queue(watch, kind, object)
  watch.ready[#watch.ready + 1] = { type = kind, object = object }
end

-- Takes an object of a list or an event into what is known; tells what changed for the one who
-- watches.
local function learn(watch, object)
  local key = key_of(object)
  local old = watch.known[key]
  watch.known[key] = object
  if old and old.metadata.resourceVersion == object.metadata.resourceVersion then return end
  queue(watch, old and "MODIFIED" or "ADDED", object)
end

local function lose(watch, object)
  local key = key_of(object)
  if not watch.known[key] then return end
  watch.known[key] = nil
  queue(watch, "DELETED", object)
end

-- Lists afresh and queues the difference to what was known.
local function relist(watch)
  local list, problem = objects.list_entry(watch.client, watch.entry, watch.options)
  if not list then return nil, problem end
  local seen = {}
  for _, object in ipairs(list.items) do
    seen[key_of(object)] = true
    learn(watch, object)
  end
  local gone = {}
  for key in pairs(watch.known) do
    if not seen[key] then gone[#gone + 1] = key end
  end
  table.sort(gone)
  for _, key in ipairs(gone) do lose(watch, watch.known[key]) end
  watch.version = list.resource_version
  return true
end

local function open(watch)
  local o = watch.options
  local query = { { "watch", "true" }, { "allowWatchBookmarks", "true" },
    { "timeoutSeconds", SERVER_TIMEOUT }, { "resourceVersion", watch.version or "" } }
  if o.labels then query[#query + 1] = { "labelSelector", o.labels } end
  if o.fields then query[#query + 1] = { "fieldSelector", o.fields } end
  local res, problem = request.send(watch.client, { stream = true, idle = SERVER_TIMEOUT + 30,
    query = query, path = objects.path(watch.client, watch.entry, o.namespace),
    doing = objects.doing(watch.client, "watch", watch.entry, o.namespace) })
  if not res then return nil, problem end
  watch.res, watch.splitter = res, kube.splitter("stream")
  watch.opened, watch.got = clock.mono(), false
  return true
end

local function shut(watch)
  if watch.res then watch.res:close() end
  if watch.splitter then watch.splitter:close() end
  watch.res, watch.splitter = nil, nil
end

-- One event of the stream. True, or "relist", or nil and an error.
local function handle(watch, event)
  local object = event.object
  if event.type == "ERROR" then
    local status = type(object) == "table" and object or {}
    if status.code == 410 or status.reason == "Expired" or status.reason == "Gone" then
      return "relist"
    end
    return nil, request.error_of(math.type(status.code) == "integer" and status.code or 500, status,
      { doing = "watch " .. watch.entry.kind })
  end
  if type(object) ~= "table" or type(object.metadata) ~= "table" then
    return nil, err.new { code = "RTL-K8S-003", message = "an event without an object",
      retryable = true }
  end
  watch.version = object.metadata.resourceVersion or watch.version
  if event.type == "ADDED" or event.type == "MODIFIED" then learn(watch, object) end
  if event.type == "DELETED" then lose(watch, object) end
  return true
end

local function handle_all(watch, texts)
  for _, text in ipairs(texts) do
    local event, bad = json.decode(text)
    if type(event) ~= "table" then
      return nil, err.wrap(bad, { code = "RTL-K8S-003", message = "an event is no JSON",
        retryable = true })
    end
    local ok, problem = handle(watch, event)
    if ok ~= true then return ok, problem end
  end
  return true
end

-- Reads once from the stream. True, "ended", "relist", or nil and an error.
local function pump(watch)
  local bytes, problem = watch.res:read()
  if problem then return nil, problem end
  if not bytes then return "ended" end
  local texts, broken = watch.splitter:feed(bytes)
  if not texts then
    return nil, err.new { code = "RTL-K8S-003", message = broken, retryable = true }
  end
  watch.got = watch.got or #texts > 0
  return handle_all(watch, texts)
end

-- A stream has ended: go on from the last version, but never in a hot loop.
local function ended(watch)
  local idle = not watch.got and clock.mono() - watch.opened < SHORT
  shut(watch)
  watch.empty = idle and watch.empty + 1 or 0
  if idle then
    watch.stale = true
    task.sleep(request.back_off(watch.empty + 2))
  end
end

local function failed(watch, problem)
  shut(watch)
  if not problem.retryable and problem.status ~= 410 then return nil, problem end
  watch.failures = watch.failures + 1
  if watch.failures > 8 then return nil, problem end
  if problem.status and problem.status ~= 410 or problem.code == "RTL-K8S-003"
    or problem.status == 410 then
    watch.stale = true
  end
  task.sleep(request.back_off(watch.failures))
  return true
end

-- One step: list, open or read. True, or nil and an error that ends the watch.
local function step(watch)
  if watch.stale then
    local ok, problem = relist(watch)
    if not ok then return failed(watch, problem) end
    watch.stale = false
    return true
  end
  if not watch.res then
    local ok, problem = open(watch)
    return ok or failed(watch, problem)
  end
  local outcome, problem = pump(watch)
  if outcome == nil then return failed(watch, problem) end
  if outcome == true then watch.failures = 0 end
  if outcome == "relist" then
    shut(watch)
    watch.stale = true
  elseif outcome == "ended" then
    ended(watch)
  end
  return true
end

--- The next event: { type = "ADDED" | "MODIFIED" | "DELETED", object } | nil, err.
function Watch:next()
  while true do
    local event = table.remove(self.ready, 1)
    if event then return event end
    local ok, problem = step(self)
    if not ok then return nil, problem end
  end
end

--- Makes the first list. Whether anything is there (or was: `seed`, an object seen before the watch
-- began, comes as DELETED if the list lacks it); nil, err if it can't be had.
function Watch:prime(seed)
  if seed then self.known[key_of(seed)] = seed end
  while self.stale do
    local ok, problem = step(self)
    if not ok then return nil, problem end
  end
  return #self.ready > 0 or next(self.known) ~= nil
end

--- Ends the watch and its connection. Idempotent.
function Watch:close()
  shut(self)
end

Watch.__close = Watch.close

function Watch:__call()
  local event, problem = self:next()
  if not event then error(problem, 0) end
  return event
end

--- Watches a kind: a watch whose `next()` gives event after event, and nil, err only for an error
-- that can't heal (as an iterator it raises that). Without resource_version it lists first and
-- gives what is there as ADDED. `options`: namespace (false: all), name, labels, fields,
-- resource_version.
function M.open(client, kind, options)
  local o = {}
  for key, value in pairs(options or {}) do o[key] = value end
  if o.name then o.fields = "metadata.name=" .. o.name .. (o.fields and "," .. o.fields or "") end
  local entry, problem = discovery.resolve(client, kind, o.api_version)
  if not entry then return nil, problem end
  return setmetatable({ client = client, entry = entry, options = o, ready = {}, known = {},
    empty = 0,
    failures = 0, version = o.resource_version, stale = o.resource_version == nil }, Watch)
end

return M
