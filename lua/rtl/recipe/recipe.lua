--- A recipe: opened from its file, with its steps and its settings.

local err = require "rtl.err"
local keys = require "rtl.keys"
local load_file = require "rtl.recipe.load"
local settings = require "rtl.recipe.settings"

local M = {}

local function refuse(file, text)
  error(err.new { code = "RTL-CLI-013", message = ("%s: %s"):format(file.path, text) }, 0)
end

-- The declarations that the recipe names: files beside it, or arrays of its own.
local function settings_of(file, definition)
  local set = settings.set()
  for _, part in ipairs(definition.settings or {}) do
    if type(part) == "string" then part = load_file.run(assert(load_file.beside(file, part))) end
    set:add(type(part) == "table" and part[1] and part or { part })
  end
  return set
end

local FUNCTIONS = { "preflight", "resources", "verify", "action", "recover", "pending", "leave" }

local function step_of(file, path)
  local part = assert(load_file.beside(file, path))
  local step = load_file.run(part)
  if type(step) ~= "table" or type(step.title) ~= "string" then
    refuse(part, "a step returns a table with a title")
  end
  for _, name in ipairs(FUNCTIONS) do
    if step[name] ~= nil and type(step[name]) ~= "function" then
      refuse(part, ("'%s' is not a function"):format(name))
    end
  end
  local actions = type(step.actions)
  if actions ~= "nil" and actions ~= "table" and actions ~= "function" then
    refuse(part, "'actions' is no array of IAM actions, and no function that gives one")
  end
  step.name, step.file = path:match("([^/]+)$"):gsub("%.lua$", ""), part
  return step
end

-- What a recipe's table may hold, by type.
local TYPES = { steps = "table", action = "function", settings = "table", title = "string" }

local function check(file, definition)
  if type(definition) ~= "table" or not (definition.steps or definition.action) then
    refuse(file, "a recipe returns a table with 'steps' or 'action'")
  end
  for name, wanted in keys.pairs(TYPES) do
    local have = type(definition[name])
    if have ~= "nil" and have ~= wanted then
      refuse(file, ("'%s' is a %s, not a %s"):format(name, have, wanted))
    end
  end
end

--- Opens the recipe in `file` (rtl.recipe.load). `definition` is what the file returned, when it
-- was run already. Returns {file, name, title, steps, set, action, words, defaults}; raises
-- RTL-CLI-013 when it is no recipe.
function M.open(file, definition)
  definition = definition or load_file.run(file)
  check(file, definition)
  local recipe = setmetatable({
    file = file, name = file.path:match("([^/]+)%.lua$") or file.path,
    set = settings_of(file, definition), steps = {},
  }, { __index = definition })
  for i, path in ipairs(definition.steps or {}) do
    local step = step_of(file, path)
    step.number = i
    recipe.set:add(step.settings or {})
    recipe.steps[i] = step
  end
  return recipe
end

--- Raises RTL-CLI-013 when the recipe lacks the settings that every run needs.
function M.check_settings(recipe)
  for _, name in ipairs { "name", "region", "kubeconfig" } do
    if not recipe.set:find(name) then
      refuse(recipe.file, ("it lacks the setting '%s': a recipe has settings = { \"settings\" }, "
        .. "the file that all share, and may add its own"):format(name))
    end
  end
end

return M
