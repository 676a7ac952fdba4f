--- `rtl help [RECIPE|MODULE|FUNCTION|aws.SERVICE.OPERATION|settings|codes]`: from the docstrings,
-- embedded at build time, and from the operation tables of AWS.

local arguments = require "rtl.cli.arguments"
local err = require "rtl.err"
local exit = require "rtl.cli.exit"
local help_aws = require "rtl.cli.help_aws"
local host = require "rtl.native.host"
local load_file = require "rtl.recipe.load"
local nearest = require "rtl.nearest"
local output = require "rtl.cli.output"
local text = require "rtl.recipe.text"

local M = {}

--- The help index: array of {name, text}, in order of names. Functions carry their arguments in
-- their name, "rtl.task.spawn(f, …)".
function M.index()
  local index, entries, at = host.embedded("help.txt") or "", {}, 1
  while at <= #index do -- each is "\1NAME\nTEXT\n"
    local line = index:find("\n", at, true)
    local stop = index:find("\1", line, true) or #index + 1
    entries[#entries + 1] = { name = index:sub(at + 1, line - 1),
      text = index:sub(line + 1, stop - 2) }
    at = stop
  end
  return entries
end

--- The name of an entry without its arguments and results.
function M.bare(name)
  return (name:gsub("%s*[%(→].*$", ""))
end

local function indent(block)
  return (("  " .. block):gsub("\n", "\n  "):gsub("\n  \n", "\n\n"))
end

-- The first sentence of a docstring.
local function first_sentence(doc)
  local line = doc:match("^(.-)\n\n") or doc
  line = line:gsub("%s+", " ")
  return line:match("^(.-[.])%s") or line
end

-- A name and what it is, in lines of 100 columns.
local function about(name, what, lines)
  for i, line in ipairs(text.wrap(what, 73)) do
    lines[#lines + 1] = ("  %-24s %s"):format(i == 1 and name or "", line)
  end
end

local function overview()
  local lines = { (host.embedded("host/usage.txt") or ""):match("^(.-)%s*$"), "", "Recipes:" }
  for _, name in ipairs(load_file.names()) do
    local file = load_file.find(name)
    about(name, file.text:match("^%-%-%- ?([^\n]*)") or "", lines)
  end
  table.move({ "", "Modules (rtl help MODULE):" }, 1, 2, #lines + 1, lines)
  for _, entry in ipairs(M.index()) do
    if entry.name:match("^rtl%.[%w_]+$") then
      about(entry.name, first_sentence(entry.text), lines)
    end
  end
  output.lines(lines)
  return exit.done
end

local function docstring(source)
  local lines = {}
  for line in source:gmatch("[^\n]*") do
    local doc = line:match("^%-%-%-? ?(.*)")
    if not doc then break end
    lines[#lines + 1] = doc
  end
  return table.concat(lines, "\n")
end

local function describe_steps(steps, lines)
  lines[#lines + 1] = "\nSteps:"
  for i, step in ipairs(steps) do
    lines[#lines + 1] = ("  %d  %-16s %s"):format(i, step.name, step.title)
    for _, line in ipairs(step.creates and text.wrap("makes " .. step.creates, 78) or {}) do
      lines[#lines + 1] = (" "):rep(22) .. line
    end
  end
end

-- The settings that only this recipe has: those that it declares itself.
local function own_settings(recipe, lines)
  for _, part in ipairs(recipe.settings or {}) do
    if type(part) == "table" then
      local set = require("rtl.recipe.settings").set(part[1] and part or { part })
      lines[#lines + 1] = "\nIts own settings:"
      local described = arguments.describe_settings(set)
      table.move(described, 1, #described, #lines + 1, lines)
    end
  end
end

--- The page of a recipe file: what it says of itself, its steps and options. Returns the exit code.
function M.recipe(file)
  local recipe = require("rtl.recipe.recipe").open(file)
  local lines = { ("%s: %s\n"):format(recipe.name, recipe.title or ""), docstring(file.text) }
  if recipe.words then lines[#lines + 1] = "\nWords: " .. recipe.words end
  if recipe.steps and #recipe.steps > 0 then describe_steps(recipe.steps, lines) end
  lines[#lines + 1] = "\nOptions:"
  local options = arguments.describe(recipe)
  table.move(options, 1, #options, #lines + 1, lines)
  own_settings(recipe, lines)
  lines[#lines + 1] = "\nSettings: rtl help settings"
  output.lines(lines)
  return exit.done
end

local function settings_page()
  local file = load_file.find("deploy")
  local recipe = require("rtl.recipe.recipe").open(file)
  output.lines {
    "Every setting is --name, RTL_NAME in the environment and a key of rtl.yaml (--gpu-count,",
    "RTL_GPU_COUNT, gpu_count), in that order; then its default, here in brackets. AWS_REGION and",
    "AWS_PROFILE count as environment. A setting that is true or false takes no value: --purge,",
    "--no-pin.\n",
    table.concat(arguments.describe_settings(recipe.set), "\n"),
  }
  return exit.done
end

-- Entries that a word means: the module and its functions, or functions of that name.
local function matching(word)
  local found = {}
  for _, entry in ipairs(M.index()) do
    local name = M.bare(entry.name)
    if name == word or name == "rtl." .. word or name == "rtl.native." .. word then
      found[#found + 1] = entry
    end
  end
  if #found > 0 then return found end
  local tail = "." .. word:gsub(":", ".")
  for _, entry in ipairs(M.index()) do
    local name = "." .. M.bare(entry.name):gsub(":", ".")
    if name:sub(-#tail) == tail then found[#found + 1] = entry end
  end
  return found
end

-- What stands below a module: its functions, and the names of the modules in it.
local function members_of(module)
  local functions, modules = {}, {}
  for _, entry in ipairs(M.index()) do
    local name = M.bare(entry.name)
    local rest = name:sub(1, #module) == module and name:sub(#module + 1) or ""
    if entry.name == name and rest:match("^%.[%w_]+$") and modules[#modules] ~= name then
      modules[#modules + 1] = name
    end
    if entry.name ~= name and rest:match("^[.:][%w_]+$") then functions[#functions + 1] = entry end
  end
  return functions, modules
end

local function page(entries)
  local lines = {}
  for _, entry in ipairs(entries) do
    lines[#lines + 1] = entry.name
    lines[#lines + 1] = indent(entry.text) .. "\n"
    local functions, modules = members_of(M.bare(entry.name))
    for _, member in ipairs(functions) do
      lines[#lines + 1] = "  " .. member.name
      lines[#lines + 1] = indent(indent(member.text)) .. "\n"
    end
    if #modules > 0 then
      local names = table.concat(text.wrap(table.concat(modules, " "), 96), "\n")
      lines[#lines + 1] = "  Modules in it:\n" .. indent(names) .. "\n"
    end
  end
  output.write(table.concat(lines, "\n"))
  return exit.done
end

-- `names`: what else the word could have meant.
local function nothing(word, names)
  for _, name in ipairs(load_file.names()) do names[#names + 1] = name end
  for _, entry in ipairs(M.index()) do names[#names + 1] = M.bare(entry.name) end
  error(err.new {
    code = "RTL-CLI-009", message = ("no help on '%s'%s"):format(word, nearest.hint(word, names)),
    hint = "rtl help lists the topics",
  }, 0)
end

--- The sub-command. Returns the exit code.
function M.run(words)
  local word = words[1]
  if not word then return overview() end
  if word == "settings" then return settings_page() end
  if word == "codes" then return require("rtl.cli.explain").run({}) end
  local file = (not word:match("^rtl%.") or nil) and load_file.find(word)
  if file then return M.recipe(file) end
  local done, known = help_aws.page(word)
  if done then return done end
  local entries = matching(word)
  if #entries > 0 then return page(entries) end
  return nothing(word, known or {})
end

return M
