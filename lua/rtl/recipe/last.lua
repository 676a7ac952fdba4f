--- The last run's handles, for the REPL: `run.k8s:list("Pod", …)`, `run.aws("ec2")`, `run.job`.

local events = require "rtl.recipe.events"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local load_file = require "rtl.recipe.load"
local recipe = require "rtl.recipe.recipe"
local run_object = require "rtl.recipe.run"
local redact = require "rtl.redact"
local settings = require "rtl.recipe.settings"
local state = require "rtl.recipe.state"
local wire = require "rtl.wire"

local M = {}

-- Worlds don't mix: each has a note of its own.
local function path()
  local world = wire.describe().name:gsub("[^%w]+", "-")
  return fs.join(state.root(), ("last-%s.json"):format(world))
end

--- Notes the settings of a run that were given to it, so that the REPL finds its deployment again;
-- but for one with a secret in it (a proxy's password).
function M.remember(run)
  local given = {}
  for _, row in ipairs(settings.report(run.settings)) do
    local open = redact.text(row.text) == row.text
    if row.source ~= "default" and open then given[row.name] = row.text end
  end
  local made, failure = fs.mkdirs(state.root())
  if not made then return nil, failure end
  return fs.write(path(), json.encode(given) .. "\n")
end

local HANDLES = {}

function HANDLES.k8s(run) return assert(run:k8s()) end
function HANDLES.aws(run) return function (...) return run:aws(...) end end
function HANDLES.settings(run) return run.settings end
function HANDLES.region(run) return run.region end
function HANDLES.who(run) return run.who end
function HANDLES.folder(run) return run.folder end
function HANDLES.job(run) return run.record:recall("job") end

function HANDLES.resources(run)
  run:peek()
  return run.ctx.ledger and run.ctx.ledger:state() or {}
end

--- The handles of the last run of this world: k8s (client), aws(service) → client, settings,
-- region, who, folder, job (what was judged last), resources (the ledger's). Each reaches out when
-- it is first asked for. nil when nothing was run yet.
function M.open()
  if not fs.exists(path()) then return nil end
  local given = assert(json.decode(assert(fs.read(path()))))
  local deploy = recipe.open(assert(load_file.find("recipes/deploy.lua")))
  local run = run_object.new { recipe = deploy, options = {}, words = {}, bus = events.bus(),
    values = assert(deploy.set:resolve { recipe = given }) }
  return setmetatable({}, {
    __index = function (handles, name)
      local make = HANDLES[name]
      local value = make and make(run)
      rawset(handles, name, value)
      return value
    end,
    __tostring = function () return "the last run of " .. run.deployment end,
  })
end

return M
