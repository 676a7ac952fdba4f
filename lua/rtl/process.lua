--- Other programs, and what the surroundings say: environment, host, user, terminal.
-- One of the four seams that a simulated world replaces.

local err = require "rtl.err"
local loop = require "rtl.native.loop"
local native = require "rtl.native.process"
local task = require "rtl.task"
local terminal = require "rtl.native.terminal"

local M = {}

-- ---- the real one ----

local real = {}

local CANT_START = "RTL-PROC-001"

-- { NAME = value } as a sorted array of "NAME=value"; an array passes as it is.
local function environment(env)
  if env == nil or env[1] then return env end
  local list = {}
  for name, value in pairs(env) do list[#list + 1] = name .. "=" .. value end
  table.sort(list)
  return list
end

local function start(options)
  local child, stdin, stdout, stderr = native.spawn {
    argv = options.argv, env = environment(options.env), cwd = options.cwd,
    stdin = options.stdin and "pipe" or "null",
    stdout = options.stdout or "pipe", stderr = options.stderr or "pipe",
  }
  if child then return child, stdin, stdout, stderr end
  return err.fail {
    code = CANT_START, message = stdin, errno = stdout, doing = "start " .. options.argv[1],
  }
end

-- A child that does not read all of its input is not an error of ours.
local function feed(pipe, bytes)
  local _ <close> = pipe
  task.await(pipe:start(bytes))
end

-- Reads to the end, so that the child can go on; keeps the first `most` bytes.
local function drain(pipe, most)
  local _ <close> = pipe
  local parts, size = {}, 0
  for bytes in task.await, pipe do
    if size < most then parts[#parts + 1] = bytes end
    size = size + #bytes
  end
  local text = table.concat(parts)
  return #text > most and text:sub(1, most) or text
end

local function communicate(child, stdin, stdout, stderr, options)
  return task.group(function (g)
    local most = options.most or math.huge
    if stdin then g:spawn(feed, stdin, options.stdin) end
    local out = stdout and g:spawn(drain, stdout, most)
    local errors = stderr and g:spawn(drain, stderr, most)
    local how, code = task.await(child)
    return {
      status = how == "exit" and code or nil, signal = how == "signal" and code or nil,
      stdout = out and out:join(), stderr = errors and errors:join(),
    }
  end)
end

function real.run(options)
  local child, stdin, stdout, stderr = start(options)
  if not child then return nil, stdin end
  local _ <close> = child -- cancelled or late: killed here
  if not options.timeout then return communicate(child, stdin, stdout, stderr, options) end
  local result, e = task.deadline(options.timeout, communicate, child, stdin, stdout, stderr,
    options)
  if result then return result end
  return nil, err.wrap(e, {
    code = "RTL-PROC-002", message = ("killed after %g s"):format(options.timeout),
    doing = "run " .. options.argv[1],
  })
end

real.getenv, real.environ = native.getenv, native.environ
real.hostname, real.pid = native.hostname, native.pid
real.is_terminal = terminal.is_terminal

function real.user()
  return native.getenv("USER") or native.getenv("LOGNAME") or "unknown"
end

function real.columns(fd)
  return terminal.columns(fd) or math.tointeger(native.getenv("COLUMNS")) or 80
end

local unread = "" -- what came with the line before

-- Waits until standard input can be read; a file always can.
local function wait_for_input()
  local handle = loop.watch(0, "r")
  if not handle then return end
  local _ <close> = handle
  task.await(handle)
end

function real.read_line()
  while true do
    local line, rest = unread:match("^(.-)\n(.*)$")
    if line then
      unread = rest
      return line
    end
    wait_for_input()
    local bytes = terminal.read(0)
    if not bytes then
      line, unread = unread, ""
      return line ~= "" and line or nil
    end
    unread = unread .. bytes
  end
end

function real.write(text, fd)
  return terminal.write(fd, text)
end

-- ---- the seam ----

local impl = real

--- Replaces the surroundings; returns the former ones. `new` has any of run, getenv, environ,
-- hostname, user, pid, is_terminal, columns, read_line, write; what it lacks is the real one's.
function M.use(new)
  local former = impl
  impl = new == real and real or setmetatable(new, { __index = real })
  return former
end

local function check_options(o)
  local argv = type(o) == "table" and o.argv
  if type(argv) ~= "table" or type(argv[1]) ~= "string" then
    error("bad argument #1 to 'run' (argv = {program, …} expected)", 3)
  end
end

--- Runs a program to its end. `options`: argv = { program, word… } (looked for in PATH, no shell),
-- stdin = string (default: nothing), env = { NAME = value } or { "NAME=value", … } (default: ours),
-- cwd, timeout = seconds, stdout and stderr = "pipe" (default), "null" or "inherit", most = bytes
-- of each that are kept (default: all). Returns
-- { status = integer or nil, signal = integer or nil, stdout =, stderr = }; nil and RTL-PROC-001
-- when it can't start, RTL-PROC-002 when it was killed for time. Cancelled, it is killed too.
function M.run(options)
  check_options(options)
  return impl.run(options)
end

--- An environment variable, or nil.
function M.getenv(name)
  return impl.getenv(name)
end

--- An environment variable; nil when it is not set, or empty.
function M.variable(name)
  local text = M.getenv(name)
  return text ~= "" and text or nil
end

--- The environment as an array of "NAME=value".
function M.environ()
  return impl.environ()
end

--- The machine's name.
function M.hostname()
  return impl.hostname()
end

--- The user's name.
function M.user()
  return impl.user()
end

--- The number of this process.
function M.pid()
  return impl.pid()
end

--- Whether a descriptor (0, 1, 2) is a terminal.
function M.is_terminal(fd)
  return impl.is_terminal(fd)
end

--- The width of the terminal at `fd` (default 1), else $COLUMNS, else 80.
function M.columns(fd)
  return impl.columns(fd or 1)
end

--- The next line of standard input without its end, or nil; waits, while other tasks go on.
function M.read_line()
  return impl.read_line()
end

--- Writes text to a descriptor (default 1), whole. Once nobody reads any more it returns nil and
-- an error, and so does each further call.
function M.write(text, fd)
  local ok, message, errno = impl.write(text, fd or 1)
  if ok then return true end
  return err.fail {
    code = "RTL-PROC-003", message = message, errno = errno, doing = "write output",
  }
end

return M
