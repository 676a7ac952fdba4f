--- Standard output that says when it can't be written.

local err = require "rtl.err"

local M = {}

local function check(ok, message)
  if ok then return end
  error(err.new {
    code = "RTL-CLI-014", message = "standard output: " .. tostring(message),
    quiet = tostring(message):match("[Bb]roken pipe") ~= nil,
  }, 0)
end

--- Writes texts to standard output. Raises RTL-CLI-014 when that fails.
function M.write(...)
  check(io.stdout:write(...))
end

--- Writes the lines of an array.
function M.lines(lines)
  M.write(table.concat(lines, "\n"), "\n")
end

--- Brings out what is buffered; a full disk or a closed pipe shows here.
function M.flush()
  check(io.stdout:flush())
end

return M
