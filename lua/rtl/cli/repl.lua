--- The REPL: what a line means. The line editor is the host's (host/repl.c).

local err = require "rtl.err"
local fs = require "rtl.fs"
local host = require "rtl.native.host"
local loop = require "rtl.native.loop"
local nearest = require "rtl.nearest"
local output = require "rtl.cli.output"
local process = require "rtl.process"
local state = require "rtl.recipe.state"
local task = require "rtl.task"
local wire = require "rtl.wire"

local M = {}

local GREETING = [[
rtl %s. A line is Lua; Ctrl-D ends.
  run    the last run: run.k8s:list("Pod", {namespace = "ray-train"}), run.aws("ec2"), run.job
  rtl    the library: rtl.fs.list("."), rtl.task.sleep(1), rtl.aws.session {region = "us-east-2"}
  help   its pages: help(), help "deploy", help "rtl.k8s"
]]
local MOST = 40 -- entries of a table that are shown

local function is_plain(value)
  local mt = debug.getmetatable(value)
  return type(value) == "table" and not (type(mt) == "table" and mt.__tostring)
end

local function key_order(a, b)
  if math.type(a) and math.type(b) then return a < b end
  if math.type(a) or math.type(b) then return math.type(a) ~= nil end
  return tostring(a) < tostring(b)
end

local function show_item(value)
  if type(value) == "string" then return (("%q"):format(value):gsub("\\\n", "\\n")) end
  if is_plain(value) then return next(value) == nil and "{}" or "{…}" end
  return tostring(value)
end

local function show_table(t)
  local keys, lines = {}, {}
  for key in next, t do keys[#keys + 1] = key end
  table.sort(keys, key_order)
  for i = 1, math.min(#keys, MOST) do
    lines[i] = ("  %s = %s"):format(tostring(keys[i]), show_item(t[keys[i]]))
  end
  if #keys > MOST then lines[#lines + 1] = ("  … %d more"):format(#keys - MOST) end
  return "{\n" .. table.concat(lines, ",\n") .. "\n}"
end

--- A value as the REPL shows it: a table by its entries, one level deep, in order; a string quoted
-- inside of one.
function M.show(value)
  if is_plain(value) and next(value) ~= nil then return show_table(value) end
  return is_plain(value) and "{}" or tostring(value)
end

local function print_all(out, n, ...)
  if n == 0 then return end
  local shown = table.pack(...)
  for i = 1, n do shown[i] = M.show(shown[i]) end
  out(table.concat(shown, "\t", 1, n) .. "\n")
end

local plain_mt = { __tostring = function (e) return e[1] end }

-- An error that needs no trace: an object gets none.
local function without_trace(message)
  return setmetatable({ message }, plain_mt)
end

--- A reader of lines. `env`: the globals of what it runs; `out(text)`: where results go. Its
-- accept(line) runs a line, as an expression first, then as a statement; a line that is not
-- complete is kept and goes on in the next one. Errors are raised.
function M.reader(env, out)
  local reader = { pending = nil }

  local function compile(text)
    local chunk = load("return " .. text, "=repl", "t", env)
    if chunk then return chunk end
    return load(text, "=repl", "t", env)
  end

  --- Whether a line that was begun waits for its end.
  function reader.more()
    return reader.pending ~= nil
  end

  --- Forgets a line that was begun.
  function reader.abandon()
    reader.pending = nil
  end

  --- Runs a line, or keeps it until it is complete.
  function reader.accept(line)
    local text = (reader.pending and reader.pending .. "\n" or "") .. line:gsub("\r?\n$", "")
    reader.pending = nil
    local chunk, message = compile(text)
    if chunk then
      local results = table.pack(chunk())
      return print_all(out, results.n, table.unpack(results, 1, results.n))
    end
    if message:match("<eof>$") then
      reader.pending = text
    else
      error(without_trace(message))
    end
  end

  return reader
end

local function no_module(name)
  local pages, names = require "rtl.cli.help", {}
  for _, entry in ipairs(pages.index()) do
    names[#names + 1] = pages.bare(entry.name):match("^rtl%.([%w_]+)$")
  end
  return without_trace(("there is no module 'rtl.%s'%s"):format(name, nearest.hint(name, names)))
end

-- `rtl.task.map(…)` without a require: a module of the library is loaded on first use.
local library = setmetatable({}, {
  __index = function (_, name)
    local full = "rtl." .. tostring(name)
    local found, module = pcall(require, full)
    if found then return module end
    if not tostring(module):find(("module '%s' not found"):format(full), 1, true) then
      error(module, 0)
    end
    error(no_module(name))
  end,
  __tostring = function () return 'the library: rtl.task, rtl.aws, …; help() lists it' end,
})

-- The name under which the help index has a module or function of the library, or nil.
local function name_of(value)
  local pages = require "rtl.cli.help"
  for _, entry in ipairs(pages.index()) do
    local name = pages.bare(entry.name)
    local module, member = name:match("^(.-)[.:]([%w_]+)$")
    local holder = package.loaded[module]
    if package.loaded[name] == value
      or type(holder) == "table" and rawget(holder, member) == value then return name end
  end
end

-- `help`, `help()`, `help "deploy"` and `help(rtl.task.map)` show the pages of `rtl help`.
local help = setmetatable({}, {
  __call = function (_, what)
    local word = what
    if what ~= nil and type(what) ~= "string" then word = name_of(what) or tostring(what) end
    require("rtl.cli.help").run { word }
    output.flush()
  end,
  __tostring = function () return 'help() lists what there is; help "deploy", help "rtl.task"' end,
})

local function environment(get_run)
  local env = setmetatable({ help = help, rtl = library }, {
    __index = function (_, name)
      if name == "run" then return get_run and get_run() end
      return _G[name]
    end,
  })
  env._G = env
  return env
end

local function history_path(folder)
  if not folder or not fs.mkdirs(folder, tonumber("700", 8)) then return nil end
  return fs.join(folder, "history")
end

local function wait_for_key()
  local keys = loop.watch(0, "r")
  if not keys then return end -- a file can always be read
  local _ <close> = keys
  task.await(keys)
end

-- Standard input that is no terminal is a script.
local function run_input()
  local chunk, message = load(io.read("a"), "=stdin")
  if not chunk then error(err.new { code = "RTL-CLI-005", message = message }, 0) end
  local result = chunk()
  return math.tointeger(result) or 0
end

--- `rtl` without a word: the REPL, or the script that standard input is. `get_run` gives what the
-- variable `run` holds. Returns the exit code.
function M.run(get_run)
  if not process.is_terminal(0) then return run_input() end
  local world = wire.describe()
  process.write(GREETING:format(host.version))
  return M.start {
    prompt = world.name ~= "native" and world.name or "rtl", run = get_run, state = state.root(),
  }
end

--- Reads and runs lines until the end of input. `options`: run = fn → what the variable `run` holds
-- (asked each time), prompt = the prompt's text without its end, state = the folder
-- for the history or nil. Returns 0.
function M.start(options)
  options = options or {}
  local reader = M.reader(environment(options.run), process.write)
  local prompt = options.prompt and options.prompt ~= "" and options.prompt .. "> " or "> "
  host.repl {
    history = history_path(options.state),
    prompt = function ()
      return reader.more() and (" "):rep(#prompt - 3) .. ">> " or prompt
    end,
    accept = reader.accept,
    abandon = reader.abandon,
    wait = wait_for_key,
    recover = task.recover,
  }
  task.shutdown(5)
  return 0
end

return M
