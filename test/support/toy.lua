-- An in-memory system with kinds for the engine's specs: things that stand in each other, some with
-- a client token, some found by tag only after a while, with a virtual clock; and deaths at call n.

local clock = require "rtl.clock"
local context = require "rtl.plan.context"
local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local task = require "rtl.task"

local M = {}

--- An error object, so that no trace is added and equality can be asserted.
M.BOOM = setmetatable({}, { __tostring = function () return "boom" end })

--- A `<close>` value that puts `name` into `log` when it is closed.
function M.closer(log, name)
  return setmetatable({}, { __close = function () log[#log + 1] = name end })
end

local DEATH = setmetatable({}, { __tostring = function () return "the program died" end })
M.DEATH = DEATH

--- A virtual clock that begins at `start` (1000); returns a function that puts the former one back.
function M.virtual_clock(start)
  local now = start or 1000.0
  local former = clock.use {
    mono = function () return now end,
    utc = function () return 1764576000.0 + now end,
    advance = function (to) now = to end,
  }
  return function () clock.use(former) end
end

--- A system without things. lag: seconds until a new thing is found by tag.
function M.system(options)
  options = options or {}
  return { things = {}, tokens = {}, serial = 0, calls = 0, log = {}, lag = options.lag or 0,
    running = 0, most = 0, slow = options.slow or 1, fail = options.fail or {} }
end

-- One call: dies before or after its effect when its number is up.
local function call(system, what, effect)
  system.calls = system.calls + 1
  local number = system.calls
  system.log[#system.log + 1] = what
  if system.die == number and system.when == "before" then error(DEATH, 0) end
  system.running = system.running + 1
  system.most = math.max(system.most, system.running)
  task.sleep(system.slow)
  system.running = system.running - 1
  local refused = system.fail[what]
  if refused then
    system.fail[what] = refused.stays and refused or nil
    local made = refused.effect and effect()
    if made and refused.half then system.things[made.id].size = nil end
    return nil, err.new { code = refused.code, message = "refused", sent = refused.sent,
      replan = refused.replan }
  end
  local result, failure = effect()
  if system.die == number and system.when == "after" then error(DEATH, 0) end
  return result, failure
end

local function visible(system, thing)
  return clock.utc() - thing.born >= system.lag
end

local function each(system, test)
  local ids = {}
  for id in pairs(system.things) do ids[#ids + 1] = id end
  table.sort(ids)
  local found = {}
  for _, id in ipairs(ids) do
    if test(system.things[id]) then found[#found + 1] = system.things[id] end
  end
  return found
end

local function new_thing(system, kind_name, res, f, token)
  if token and system.tokens[token] then return system.things[system.tokens[token]] end
  system.serial = system.serial + 1
  local id = ("%s-%d"):format(kind_name, system.serial)
  system.things[id] = { id = id, kind = kind_name, name = res.name, size = f.size,
    parent = f.parent, deployment = "toy", born = clock.utc() }
  if token then system.tokens[token] = id end
  return system.things[id]
end

local function copy(thing)
  return { id = thing.id, size = thing.size, parent = thing.parent }
end

local function read_in(system, kind_name)
  return function (ctx, res)
    return call(system, "read " .. res.key, function ()
      local entry = ctx.ledger and ctx.ledger:state()[res.key]
      local id = res.given or (entry and entry.state == "made" and entry.id)
      if id and system.things[id] then return copy(system.things[id]) end
      if res.given then return nil end
      local found = each(system, function (thing)
        return thing.kind == kind_name and thing.name == res.name and visible(system, thing)
      end)
      return found[1] and copy(found[1])
    end)
  end
end

local function create_in(system, kind_name, tokened)
  return function (_, res, f, token)
    return call(system, "create " .. res.key, function ()
      return copy(new_thing(system, kind_name, res, f, tokened and token or nil))
    end)
  end
end

local function delete_in(system)
  return function (_, item)
    return call(system, "delete " .. item.key, function ()
      for id, thing in pairs(system.things) do
        if thing.parent == item.id and thing.kind == "paper" then system.things[id] = nil end
        if thing.parent == item.id and thing.kind ~= "paper" then
          return nil, err.new { code = "DependencyViolation", message = thing.id .. " is in it" }
        end
      end
      system.things[item.id] = nil
      return true
    end)
  end
end

local function find_in(system, kind_name)
  return function ()
    return call(system, "find " .. kind_name, function ()
      local list = {}
      for _, thing in ipairs(each(system, function (t)
        return t.kind == kind_name and t.deployment == "toy" and visible(system, t)
      end)) do
        list[#list + 1] = { id = thing.id, name = thing.name, outputs = copy(thing), hourly = 0.5 }
      end
      return list
    end)
  end
end

-- A kind over the system; `more` overrides its description.
local function toy_kind(system, name, tokened, more)
  local shape = {
    name = name, outputs = { "id", "size" },
    fields = { size = "integer?", parent = "string?", text = "any?", label = "string?" },
    identity = { "label" }, within = { "parent" },
    read = read_in(system, name), compare = { "size", "parent" }, replace_when = { "parent" },
    create = create_in(system, name, tokened), delete = delete_in(system),
    update = function (_, res, f, live)
      return call(system, "update " .. res.key, function ()
        system.things[live.id].size = f.size
        return true
      end)
    end,
    find = find_in(system, name), tokened = tokened,
    ready = { usual = 60, wait = function (_, res, _, live)
      return call(system, "wait " .. res.key, function () return copy(live) end)
    end },
  }
  for key, value in pairs(more or {}) do shape[key] = value end
  return kind.define(shape)
end

--- The kinds of a system: house (no token), room (in a house, with a token), data (kept).
function M.kinds(system)
  local house = toy_kind(system, "house", false)
  local room = toy_kind(system, "room", true, { depends = { "house" } })
  local data = toy_kind(system, "data", false, { data = true, depends = { "house" } })
  local paper = toy_kind(system, "paper", true, { depends = { "house" },
    carrier = function (item, other)
      return other.kind_name == "house" and item.outputs.parent == other.id
    end })
  return { house = house, room = room, data = data, all = { house, room, data, paper } }
end

--- A context over nothing but a ledger (may be nil).
function M.context(ledger, run)
  local events = {}
  local ctx = context.new { deployment = "toy", region = "r", account = "1", partition = "p",
    run_id = run or "run-1", ledger = ledger,
    emit = function (event) events[#events + 1] = event end }
  ctx.events = events
  return ctx
end

--- What stands: "kind:name" → how many.
function M.inventory(system)
  local count = {}
  for _, thing in pairs(system.things) do
    local key = thing.kind .. ":" .. thing.name
    count[key] = (count[key] or 0) + 1
  end
  return count
end

return M
