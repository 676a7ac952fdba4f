--- Rehearsal: a simulated AWS, Kubernetes and Ray behind the four seams.
--
-- install() puts a world in place of the network, the clock, the entropy and the processes. Nothing
-- else in rtl knows: the host's option --rehearse is the only caller.

local death = require "rtl.rehearse.death"
local err = require "rtl.err"
local events = require "rtl.rehearse.weather.events"
local fs = require "rtl.fs"
local inventory = require "rtl.rehearse.inventory"
local journal = require "rtl.rehearse.journal"
local scenarios = require "rtl.rehearse.scenarios"
local seams = require "rtl.rehearse.seams"
local spec_module = require "rtl.rehearse.spec"
local weather = require "rtl.rehearse.weather"
local wire = require "rtl.rehearse.wire"
local world_module = require "rtl.rehearse.world"

local M = {}

local process = require "rtl.process"

local function state_folder()
  local given = process.getenv "RTL_STATE"
  if given and given ~= "" then return given end
  local base = process.getenv "XDG_STATE_HOME"
  if base and base ~= "" then return fs.join(base, "rtl") end
  return fs.join(process.getenv "HOME" or "/tmp", ".local/state/rtl")
end

local function empty_world(spec)
  local world = world_module.new {
    seed = spec.keys.seed or 1, scenario = spec.scenario, keys = spec.keys,
  }
  world.title = spec_module.text(spec)
  for name, value in pairs(scenarios[spec.scenario]) do world.weather[name] = value end
  local sky = world.weather.kinds
  if sky then weather.arm(world, sky ~= "mixed" and sky or nil) end
  world.performers.run = function (w)
    w.runs = w.runs + 1
    events.new_run(w)
    w:touch()
  end
  world.performers.killed = function (w) w.was_killed = true end
  require "rtl.rehearse.aws".open(world, seams.credentials(world))
  require "rtl.rehearse.kube".open(world)
  death.arm(world)
  events.begin(world)
  return world
end

--- Makes a world that is kept nowhere, for tests. `text` as for M.install.
-- Returns the world, or nil and RTL-WORLD-001.
function M.world(text)
  local spec, e = spec_module.parse(text)
  if not spec then return nil, e end
  return empty_world(spec)
end

local function from_journal(head, records)
  local spec, e = spec_module.parse(head.spec)
  if not spec then return nil, e end
  local world = empty_world(spec)
  for _, record in ipairs(records) do
    world:redo(record)
    world.calls = record.n or world.calls
  end
  return world, spec
end

--- The world that a journal tells of, for tests: it is not gone on with. `path` as journal.path
-- gives it. Returns the world, or nil and RTL-WORLD-002.
function M.recall(path)
  local head, records = journal.read(path)
  if not head then return nil, records end
  return (from_journal(head, records))
end

local function another_stands(world)
  local command, commands = ("rtl %s recipes/teardown.lua"):format(world:option()), {}
  for i, one in ipairs(inventory.deployments(world)) do
    commands[i] = ("%s --name %s --region %s"):format(command, one.name, one.region)
  end
  return err.fail {
    code = "RTL-WORLD-004", exit = "usage",
    message = ("a world of the scenario %s stands in this state folder"):format(world.title),
    hint = (commands[1] and table.concat(commands, ", then ") or command)
      .. " removes what is in it",
  }
end

-- What stands in the folder: a world to go on with, or nil for a new one.
local function standing_world(path, spec)
  local head, records = journal.read(path)
  if not head then return nil, records end
  local world, old = from_journal(head, records)
  if not world then return nil, old end
  if not spec.given or spec_module.text(old) == spec_module.text(spec) then return world end
  if inventory.count(world) > 0 then
    return another_stands(world)
  end
  fs.remove(path)
  return nil
end

local function checked(value, e)
  if not value then error(e, 0) end
  return value
end

--- Puts a world in place of the real one. `text`: `SCENARIO[,key=value…]`, nil or "" to go on
-- with the world that stands in the state folder (or to begin an ordinary day).
-- Returns the world. Raises RTL-WORLD-001 (unknown scenario or key), -002 (the journal can not be
-- read), -004 (another scenario stands) or RTL-FS-002 (another process is in this world).
function M.install(text)
  local spec = checked(spec_module.parse(text))
  local path = journal.path(state_folder(), spec.keys.name)
  checked(fs.mkdirs(fs.dirname(path)))
  local lock = checked(fs.lock(path .. ".lock"))
  local world, e = standing_world(path, spec)
  if e then error(e, 0) end
  world = world or empty_world(spec)
  world.lock = lock
  world.journal = checked(journal.open(path, { spec = world.title }))
  world:perform("run", {})
  seams.use(world, wire.new(world))
  -- The end of the process is the last that the journal hears of.
  world.at_end = setmetatable({}, { __gc = function () pcall(world.mark, world, true) end })
  return world
end

return M
