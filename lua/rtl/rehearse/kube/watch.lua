--- Watches: the stream of events of one resource, from a version on.

local json = require "rtl.native.json"
local pause = require "rtl.rehearse.pause"
local sky = require "rtl.rehearse.weather.cluster"
local store_module = require "rtl.rehearse.kube.store"

local M = {}

local LIMIT, BOOKMARK_EVERY = 2400, 60

local function line(kind, text)
  return ('{"object":%s,"type":"%s"}\n'):format(text, kind)
end

-- What an event is for somebody who sees only objects that pass `test`.
local function seen_as(event, test)
  local now = event.type ~= "DELETED" and test(event.object)
  local before = event.type ~= "ADDED" and event.old and test(event.old)
  if now then return before and "MODIFIED" or "ADDED" end
  return before and "DELETED" or nil
end

local function first_after(events, version)
  local low, high = 1, #events + 1
  while low < high do
    local middle = (low + high) // 2
    if events[middle].version > version then high = middle else low = middle + 1 end
  end
  return low
end

local function bookmark(watch)
  local resource = watch.resource
  return line("BOOKMARK", json.encode { kind = resource.kind, apiVersion = resource.api_version,
    metadata = { resourceVersion = tostring(watch.store.version),
                 creationTimestamp = require "rtl.null" } })
end

-- The lines for what came since the last call; nil if nothing did.
local function news(watch)
  local events, lines = watch.store.events, {}
  while watch.next <= #events do
    local event = events[watch.next]
    watch.next = watch.next + 1
    if event.key == watch.resource.key then
      local kind = seen_as(event, watch.test)
      if kind then lines[#lines + 1] = line(kind, store_module.text(event.object)) end
    end
  end
  return #lines > 0 and table.concat(lines) or nil
end

local function read(watch)
  local world = watch.store.world
  if watch.first then
    local text = watch.first
    watch.first = nil
    if text ~= "" then return text end
  end
  while not watch.closed do
    local text = news(watch)
    if text then return text end
    local left = watch.ends - world:now()
    if left <= 0 or watch.store.gone or sky.watches_down(world) then return nil end
    if watch.bookmarks and world:now() >= watch.next_bookmark then
      watch.next_bookmark = world:now() + BOOKMARK_EVERY
      return bookmark(watch)
    end
    if watch.bookmarks then left = math.min(left, watch.next_bookmark - world:now()) end
    if world.sky["api-restart"] then left = math.min(left, 5) end
    pause.wait(world, left)
  end
  return nil
end

--- Starts a watch. `options`: version (text or nil), test (of an object), timeout (s), bookmarks.
-- Returns an answer whose body is read piece by piece.
function M.start(store, resource, options)
  local world = store.world
  local version = tonumber(options.version)
  local watch = {
    store = store, resource = resource, test = options.test, bookmarks = options.bookmarks,
    ends = world:now() + (options.timeout or LIMIT), next_bookmark = world:now() + BOOKMARK_EVERY,
    next = first_after(store.events, version or store.version),
  }
  if not version or version == 0 then
    local lines = {}
    for _, object in ipairs(store:list(resource)) do
      if options.test(object) then lines[#lines + 1] = line("ADDED", store_module.text(object)) end
    end
    watch.first = table.concat(lines)
    watch.next = #store.events + 1
  end
  watch.first = sky.watch_begins(world) or watch.first
  watch.ends = math.min(watch.ends, world:now() + (sky.watch_ends(world) or math.huge))
  return { status = 200, content_type = "application/json",
           read = function () return read(watch) end,
           close = function () watch.closed = true end }
end

return M
