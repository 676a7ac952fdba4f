--- The receipt of a deployment: what each part of it cost, until now or until it was removed.
--
--   rtl recipes/report.lua
--
-- Reads the ledger, which outlives what it tells of, and asks what is in use now. What was made
-- from another machine is in that one's ledger. Prices are those of the day when a thing was made.

local receipt = require "rtl.recipe.receipt"
local report = require "rtl.recipe.report"

return {
  title = "Receipt of a Ray Train deployment",
  settings = { "settings" },

  action = function (run)
    run:connect()
    run:peek()
    local found = receipt.of(run, true)
    if not found then
      run:fail { code = "RTL-COST-001", exit = "refused",
        message = "nothing of " .. run.deployment .. " was made from here" }
    end
    local lines = report.head(run)
    lines[#lines + 1] = ""
    local rows = receipt.lines(found)
    table.move(rows, 1, #rows, #lines + 1, lines)
    report.world(lines)
    run:emit { type = "text", lines = lines }
    run:emit(receipt.event(found))
  end,
}
