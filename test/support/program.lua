-- Runs the program from outside, as a person would: a fresh state folder, no settings from the
-- surroundings.

local fs = require "rtl.fs"
local process = require "rtl.process"

local M = {}

M.path = fs.join(fs.cwd(), os.getenv("RTL_BUILD") or "build", "rtl")

--- Runs `rtl` with words. options: stdin, cwd, env (further variables), timeout (s). Returns
-- {status, signal, stdout, stderr}.
function M.rtl(words, options)
  options = options or {}
  local env = { PATH = os.getenv("PATH"), HOME = options.home or "/nonexistent",
    RTL_STATE = options.state, AWS_EC2_METADATA_DISABLED = "true" }
  for name, value in pairs(options.env or {}) do env[name] = value end
  return assert(process.run {
    argv = { M.path, table.unpack(words) }, stdin = options.stdin, cwd = options.cwd, env = env,
    timeout = options.timeout or 120,
  })
end

--- Runs a shell command in which $RTL is the program.
function M.shell(command, options)
  options = options or {}
  return assert(process.run {
    argv = { "bash", "-c", command }, cwd = options.cwd, timeout = options.timeout or 120,
    env = { PATH = os.getenv("PATH"), HOME = "/nonexistent", RTL = M.path,
      RTL_STATE = options.state },
  })
end

return M
