--- The command line: what the words after `rtl` mean.
--
-- The first word is an option of the program (-e, -, --version, --help), a sub-command, a path, a
-- name in ./recipes, or an embedded recipe, in that order.

local err = require "rtl.err"
local exit = require "rtl.cli.exit"
local failure = require "rtl.recipe.failure"
local host = require "rtl.native.host"
local output = require "rtl.cli.output"

local M = {}

local COMMANDS = { "help", "explain", "init", "tour", "doctor" }
local MODULES = { init = "fork" } -- where the module has another name than the command

local function is_command(word)
  for _, command in ipairs(COMMANDS) do
    if command == word then return true end
  end
  return false
end

local function set_arg(name, words)
  _G.arg = table.move(words, 1, #words, 1, { [0] = name })
end

-- The exit code of a chunk: an integer that it returned, else 0.
local function code_of(result)
  return math.tointeger(result) or exit.done
end

local function run_text(text, name, words)
  local chunk, message = load(text, name)
  if not chunk then error(err.new { code = "RTL-CLI-005", message = message }, 0) end
  set_arg(name, words)
  return code_of(chunk(table.unpack(words)))
end

local function run_recipe(file, definition, words)
  local recipes = require "rtl.recipe.recipe"
  local recipe = recipes.open(file, definition)
  recipes.check_settings(recipe)
  local parsed = assert(require("rtl.cli.arguments").parse(words, recipe.set))
  if parsed.options.help then return require("rtl.cli.help").recipe(file) end
  require("rtl.cli.arguments").check(recipe, parsed)
  return exit[require("rtl.recipe.runner").run(recipe, parsed)]
end

local function run_file(word, words)
  local load_file = require "rtl.recipe.load"
  local file = load_file.find(word)
  if not file and not word:find("[/.]") then
    local e = select(2, load_file.find(word))
    local names = load_file.names()
    table.move(COMMANDS, 1, #COMMANDS, #names + 1, names)
    e.message = e.message:gsub(" %(did you mean.*", "")
      .. require("rtl.nearest").hint(word, names)
    error(e, 0)
  elseif not file then
    error(select(2, load_file.find(word)), 0)
  end
  set_arg(word, words)
  local result = load_file.run(file, table.unpack(words))
  if type(result) ~= "table" then return code_of(result) end
  return run_recipe(file, result, words)
end

local function bad_option(word)
  local known = { "version", "help" }
  error(err.new {
    code = "RTL-CLI-001",
    message = ("unknown option '%s'%s"):format(word,
      require("rtl.nearest").hint(word:gsub("^-+", ""), known)),
    hint = "options of a recipe come after it: rtl recipes/deploy.lua --plan",
  }, 0)
end

local function dispatch(args)
  local word = args[1]
  local rest = table.move(args, 2, #args, 1, {})
  if word == nil then
    return require("rtl.cli.repl").run(function ()
      return require("rtl.recipe.last").open()
    end) or exit.done
  end
  if word == "--version" or word == "-V" then
    output.lines { ("rtl %s (%s)"):format(host.version, _VERSION) }
    return exit.done
  elseif word == "-e" then
    if not rest[1] then
      error(err.new { code = "RTL-CLI-002", message = "'-e' needs a value" }, 0)
    end
    return run_text(table.remove(rest, 1), "=(command line)", rest)
  elseif word == "-" then
    return run_text(io.read("a"), "=stdin", rest)
  elseif word == "--help" or word == "-h" then
    return require("rtl.cli.help").run({})
  elseif word:match("^%-") then
    return bad_option(word)
  elseif is_command(word) then
    return require("rtl.cli." .. (MODULES[word] or word)).run(rest)
  end
  return run_file(word, rest)
end

--- Runs the command line in `args` (array of words), after `prepare()` where one is given. Returns
-- the exit code; errors are shown on standard error, never raised.
function M.main(args, prepare)
  local ok, result = failure.call(function ()
    if prepare then prepare() end
    local code = dispatch(args)
    output.flush()
    return code
  end)
  if ok then return result end
  if not result.shown and not result.quiet then
    io.stderr:write("rtl: ", failure.text(result):gsub("^%s*%w*%s*", ""), "\n")
  end
  return exit[failure.exit_name(result)] or exit.failed
end

return M.main
