--- The Python of the contract tests: RTL_TEST_PYTHON, or the environment in build/venv that
-- `sh vendor/setup.sh test` makes of test/requirements.txt.

local process = require "rtl.process"

local M = {}

--- Path of the interpreter.
function M.path()
  return process.getenv "RTL_TEST_PYTHON" or "build/venv/bin/python"
end

--- Runs a script with `stdin`; returns what it printed, raises when it fails.
function M.run(script, stdin, ...)
  local done = assert(process.run {
    argv = { M.path(), script, ... }, stdin = stdin, timeout = 300,
  })
  if done.status ~= 0 then
    error(("%s ended with %s\n%s"):format(script, tostring(done.status or done.signal),
      done.stderr), 2)
  end
  return done.stdout
end

return M
