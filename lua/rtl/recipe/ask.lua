--- Asking a person, once.

local err = require "rtl.err"
local process = require "rtl.process"
local task = require "rtl.task"
local wire = require "rtl.wire"

local M = {}

--- A way to ask the person at the terminal: fn(prompt) → the line typed, or nil at its end. One
-- question at a time, while `face` pauses and other tasks go on. nil where nobody can be asked.
function M.person(face)
  if not (process.is_terminal(0) and process.is_terminal(2)) then return nil end
  local one = task.limit(1)
  return function (prompt)
    return one:with(function ()
      local _ <close> = setmetatable({}, { __close = function () face:resume() end })
      face:pause()
      process.write(prompt, 2)
      return process.read_line()
    end)
  end
end

--- Whether the world that the wire reaches is the real one: only there is anything at stake.
function M.at_stake()
  return wire.describe().name == "native"
end

--- Asks `question` of `person` (M.person) unless `yes` was given or nothing is at stake. Returns
-- true, or nil and RTL-CLI-006 (nobody to ask) or RTL-CLI-007 (the answer was no).
function M.confirm(question, yes, person)
  if yes or not M.at_stake() then return true end
  if not person then
    return err.fail { code = "RTL-CLI-006",
      message = "this needs a confirmation and there is no terminal to ask on",
      hint = "Look at --plan, then run again with --yes" }
  end
  local answer = (person(question .. " [y/N] ") or ""):lower()
  if answer == "y" or answer == "yes" then return true end
  return err.fail { code = "RTL-CLI-007", message = "not confirmed; nothing was made or deleted" }
end

return M
