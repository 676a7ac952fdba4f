--- Settings: declared once; set on the command line, in the environment, in rtl.yaml or by default.
--
-- A declaration is a table: name (snake_case), type (rtl.recipe.value), default, help, and maybe
-- unit, min, max, longest, choices, match + wanted, list, least, short (one letter), environ
-- (names that count besides RTL_NAME), group (a heading of the table in README).

local err = require "rtl.err"
local keys = require "rtl.keys"
local nearest = require "rtl.nearest"
local value = require "rtl.recipe.value"

local M = {}

-- values → its hidden state; the values themselves are a read-only proxy.
local states = setmetatable({}, { __mode = "k" })

-- Names in the environment that start with RTL_ and are no settings.
local NOT_SETTINGS = {
  RTL_STATE = true, RTL_LUA = true, RTL_SKIP = true, RTL_BUILD = true, RTL_LAB = true,
}

local function is_setting(variable)
  return not NOT_SETTINGS[variable] and not variable:match("^RTL_TEST_")
end

local Set = {}
Set.__index = Set

local function misdeclared(text, ...)
  error(err.new { code = "RTL-CLI-013", message = text:format(...) }, 0)
end

local function check_declaration(declaration, set)
  if type(declaration) ~= "table" then misdeclared("a setting is a table") end
  local name = declaration.name
  if type(name) ~= "string" or not name:match("^[a-z][a-z0-9_]*$") then
    misdeclared("setting '%s': a name is lower case with underscores", tostring(name))
  end
  if set.by_name[name] then misdeclared("setting '%s' is declared twice", name) end
  if not value.is_type(declaration.type) then
    misdeclared("setting '%s': unknown type '%s'", name, tostring(declaration.type))
  end
  if type(declaration.help) ~= "string" then misdeclared("setting '%s' has no help", name) end
  local _, what, text = value.parse(declaration.default, declaration)
  if what then misdeclared("setting '%s': its default is wrong: %s", name, text) end
end

--- A set of settings from one or more arrays of declarations. Raises on a wrong declaration.
function M.set(...)
  local set = setmetatable({ list = {}, by_name = {} }, Set)
  for _, declarations in ipairs { ... } do set:add(declarations) end
  return set
end

--- Adds an array of declarations (a step's own) to the set.
function Set:add(declarations)
  for _, declaration in ipairs(declarations) do
    check_declaration(declaration, self)
    self.list[#self.list + 1] = declaration
    self.by_name[declaration.name] = declaration
  end
end

--- The names of all settings, in order of declaration.
function Set:names()
  local names = {}
  for i, declaration in ipairs(self.list) do names[i] = declaration.name end
  return names
end

--- The declaration of a name as people write it (gpu-count, gpu_count or its one short letter).
function Set:find(word)
  local declaration = self.by_name[(word:gsub("-", "_"))]
  if declaration then return declaration end
  for _, d in ipairs(self.list) do
    if d.short == word then return d end
  end
  return nil
end

local function option_name(name)
  return "--" .. name:gsub("_", "-")
end

--- The three ways to write a setting: "--gpu-count", "RTL_GPU_COUNT", "gpu_count".
function M.spellings(name)
  return option_name(name), "RTL_" .. name:upper(), name
end

local function unknown(set, name, shown, where)
  local names = {}
  for i, known in ipairs(set:names()) do names[i] = known end
  return err.new {
    code = "RTL-SET-001",
    message = ("%s: there is no setting '%s'%s"):format(where, shown, nearest.hint(name, names)),
    hint = "rtl help settings lists them",
  }
end

local function wrong(declaration, what, text, source)
  return err.new {
    code = what == "type" and "RTL-SET-002" or "RTL-SET-003",
    message = ("%s: %s"):format(source, text),
    setting = declaration.name,
    hint = declaration.help,
  }
end

-- Candidates for one setting, strongest first: { raw, source }.
local function candidates(declaration, from)
  local list = {}
  local option, variable = M.spellings(declaration.name)
  local word = from.options and from.options[declaration.name]
  if word ~= nil then list[#list + 1] = { word, option } end
  local environ = from.environ or {}
  for _, name in ipairs { variable, table.unpack(declaration.environ or {}) } do
    local text = environ[name]
    if text ~= nil and text ~= "" then list[#list + 1] = { text, name } end
  end
  local in_file = from.file and from.file[declaration.name]
  if in_file ~= nil then list[#list + 1] = { in_file, from.file_name or "rtl.yaml" } end
  local by_recipe = from.recipe and from.recipe[declaration.name]
  if by_recipe ~= nil then list[#list + 1] = { by_recipe, "recipe" } end
  list[#list + 1] = { declaration.default, "default" }
  return list
end

-- Keys of rtl.yaml with "-" read as "_"; one that is there in both ways is a problem.
local function plain_keys(file, file_name, problems)
  local out = {}
  for key, raw in pairs(file or {}) do
    local name = tostring(key):gsub("-", "_")
    if out[name] ~= nil then
      problems[#problems + 1] = err.new { code = "RTL-SET-003",
        message = ("%s: %s is there twice"):format(file_name or "rtl.yaml", name) }
    end
    out[name] = raw
  end
  return out
end

local function unknown_names(set, from, problems)
  for _, name in ipairs(keys.sorted(from.file)) do
    if not set.by_name[name] then
      problems[#problems + 1] = unknown(set, name, name, from.file_name or "rtl.yaml")
    end
  end
  for _, name in ipairs(keys.sorted(from.environ or {})) do
    local setting = name:match("^RTL_(.+)$")
    if setting and is_setting(name) and not set.by_name[setting:lower()] then
      problems[#problems + 1] = unknown(set, setting:lower(), name, "environment")
    end
  end
  for _, name in ipairs(keys.sorted(from.recipe or {})) do
    if not set.by_name[name] then problems[#problems + 1] = unknown(set, name, name, "recipe") end
  end
end

local function raise_unknown(set, name)
  error(unknown(set, tostring(name), tostring(name), "recipe"), 0)
end

--- The value of a setting, or nil where the recipe has no such setting.
function M.optional(values, name)
  local state = states[values]
  if state then return state.values[name] end
  return values[name]
end

local function freeze(set, values, sources)
  local proxy = setmetatable({}, {
    __index = function (_, name)
      local found = values[name]
      if found == nil then raise_unknown(set, name) end
      return found
    end,
    __newindex = function (_, name)
      error(("settings are read-only: '%s' can't be assigned"):format(tostring(name)), 2)
    end,
    __pairs = function ()
      local names, i = set:names(), 0
      return function ()
        i = i + 1
        if names[i] then return names[i], values[names[i]] end
      end
    end,
  })
  states[proxy] = { set = set, values = values, sources = sources }
  return proxy
end

--- Resolves the set: `from` has options (name → text, from the command line), environ (the
-- environment), file (rtl.yaml, decoded) with file_name, recipe (name → value: a recipe's own
-- defaults). Returns read-only values, or nil and an error that names every problem.
function Set:resolve(from)
  local problems, values, sources = {}, {}, {}
  local file = plain_keys(from.file, from.file_name, problems)
  from = setmetatable({ file = file }, { __index = from })
  unknown_names(self, from, problems)
  for _, declaration in ipairs(self.list) do
    local raw, source = table.unpack(candidates(declaration, from)[1])
    local parsed, what, text = value.parse(raw, declaration)
    if parsed == nil then
      problems[#problems + 1] = wrong(declaration, what, text, source == "rtl.yaml"
        and "rtl.yaml: " .. declaration.name or source)
    end
    values[declaration.name], sources[declaration.name] = parsed, source
  end
  if #problems == 0 then return freeze(self, values, sources) end
  if #problems == 1 then return nil, problems[1] end
  return nil, err.new {
    code = "RTL-SET-004", message = #problems .. " settings are wrong", problems = problems,
  }
end

--- Where the value of `name` came from: "--name", "RTL_NAME", "rtl.yaml", "recipe" or "default".
function M.source(values, name)
  return states[values].sources[name]
end

--- The set behind resolved values.
function M.set_of(values)
  return states[values].set
end

--- An array of {name, text, source, declaration}, in order of declaration.
function M.report(values)
  local state, out = states[values], {}
  for i, declaration in ipairs(state.set.list) do
    local name = declaration.name
    out[i] = {
      name = name, text = value.show(state.values[name], declaration),
      source = state.sources[name], declaration = declaration,
    }
  end
  return out
end

return M
