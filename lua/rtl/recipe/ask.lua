--- Asking a person, once.

local err = require "rtl.err"
local loop = require "rtl.native.loop"
local process = require "rtl.process"
local task = require "rtl.task"
local wire = require "rtl.wire"

local M = {}

-- Waits for a line without blocking the loop, so that Ctrl-C works at the prompt.
local function read_line()
  local watch <close> = loop.watch(0, "r")
  task.await(watch)
  return io.stdin:read("l")
end

--- Whether the world that the wire reaches is the real one: only there is anything at stake.
function M.at_stake()
  return wire.describe().name == "native"
end

--- Asks `question` on the terminal unless `yes` was given or nothing is at stake. Returns true, or
-- nil and RTL-CLI-006 (nobody to ask) or RTL-CLI-007 (the answer was no).
function M.confirm(question, yes)
  if yes or not M.at_stake() then return true end
  if not (process.is_terminal(0) and process.is_terminal(2)) then
    return err.fail { code = "RTL-CLI-006",
      message = "this needs a confirmation and there is no terminal to ask on",
      hint = "Look at --plan, then run again with --yes" }
  end
  io.stderr:write(question, " [y/N] ")
  io.stderr:flush()
  local answer = (read_line() or ""):lower()
  if answer == "y" or answer == "yes" then return true end
  return err.fail { code = "RTL-CLI-007", message = "not confirmed; nothing was made or deleted" }
end

return M
