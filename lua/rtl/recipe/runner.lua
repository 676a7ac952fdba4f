--- Runs a recipe: settings, preflights, plan, question, apply along the graph, verify, report.

local ask = require "rtl.recipe.ask"
local err = require "rtl.err"
local events = require "rtl.recipe.events"
local failure = require "rtl.recipe.failure"
local fs = require "rtl.fs"
local null = require "rtl.null"
local phases = require "rtl.recipe.phases"
local process = require "rtl.process"
local run_object = require "rtl.recipe.run"
local show = require "rtl.recipe.show"
local task = require "rtl.task"
local yaml = require "rtl.native.yaml"

local M = {}

local FILE = "rtl.yaml"

local function settings_file()
  if not fs.exists(FILE) then return {} end
  local text, unread = fs.read(FILE)
  local values, problem = nil, unread
  if text then values, problem = yaml.decode(text) end
  if err.is(problem) then -- else it is yaml's list of warnings
    return nil, err.wrap(problem, { code = "RTL-SET-005", message = FILE .. " can't be read" })
  end
  if values == nil or values == null then return {} end
  if type(values) ~= "table" or values[1] ~= nil then
    return err.fail { code = "RTL-SET-005",
      message = FILE .. " is not one mapping of names to values" }
  end
  return values
end

-- The environment as name → value.
local function environment()
  local values = {}
  for _, entry in ipairs(process.environ()) do
    local name, value = entry:match("^([^=]+)=(.*)$")
    if name then values[name] = value end
  end
  return values
end

--- The settings of a recipe: command line (name → text), environment, rtl.yaml, the recipe's own.
function M.settings(recipe, options)
  local file, problem = settings_file()
  if not file then return nil, problem end
  return recipe.set:resolve {
    options = options, environ = environment(), file = file, file_name = FILE,
    recipe = recipe.defaults,
  }
end

local function show_failure(run, e)
  phases.blame(run, e)
  run:emit { type = "failure", err = e, exit = failure.exit_name(e) }
  e.shown = true
end

local function perform(run)
  local _ <close> = setmetatable({}, { __close = function () run:let_go() end })
  if #run.recipe.steps > 0 then return phases.run(run) end
  run.recipe.action(run)
  local verdict = run.outcome.verdict
  return run.outcome.exit or verdict and verdict.exit or "done"
end

-- Everything between opening the faces and closing them. Returns the name of the exit code.
local function protected(run, face)
  local ok, result = failure.call(task.run, function ()
    return task.group(function (group)
      local ticking = face.tick and group:spawn(face.tick, face)
      local done, value = failure.call(perform, run)
      face:close()
      if ticking then ticking:join() end
      if not done then error(value, 0) end
      return value
    end)
  end)
  if ok then return result end
  show_failure(run, result)
  if rawget(run, "ctx") then phases.stopped(run) end
  return failure.exit_name(result)
end

local function check_words(recipe, words)
  if #words == 0 or recipe.words then return end
  error(err.new { code = "RTL-CLI-016",
    message = ("%s takes no words, and '%s' was given"):format(recipe.name, words[1]),
    hint = "Settings are --name value; rtl help " .. recipe.name .. " shows what there is" }, 0)
end

--- Runs `recipe` (rtl.recipe.recipe) with a parsed command line. Returns the name of an exit code.
-- Errors of the run are shown, not raised; those of the settings are raised.
function M.run(recipe, parsed)
  check_words(recipe, parsed.words)
  local values, problem = M.settings(recipe, parsed.settings)
  if not values then error(problem, 0) end
  local bus, face = events.bus(nil), show.open(parsed.options.json)
  bus:add(function (event) face:sink(event) end)
  local run = run_object.new {
    recipe = recipe, values = values, options = parsed.options, words = parsed.words, bus = bus,
    face = face, ask = ask.person(face),
  }
  run.confirm = function (self, question)
    return assert(ask.confirm(question, self.options.yes, rawget(self, "ask")))
  end
  local exit_name = protected(run, face)
  run:emit { type = "run.end", exit = exit_name, outcome = run.outcome }
  face:close()
  run:close()
  if #bus.lost > 0 then io.stderr:write("rtl: output was lost: ", tostring(bus.lost[1]), "\n") end
  return exit_name
end

return M
