--- Where rtl keeps its files: $RTL_STATE, else $XDG_STATE_HOME/rtl, else ~/.local/state/rtl.

local fs = require "rtl.fs"
local ledger = require "rtl.plan.ledger"
local process = require "rtl.process"

local M = {}

--- The folder of all state (not made).
function M.root()
  local xdg = process.variable("XDG_STATE_HOME")
  return process.variable("RTL_STATE") or xdg and fs.join(xdg, "rtl")
    or fs.join(process.variable("HOME") or ".", ".local", "state", "rtl")
end

--- The folder of one deployment: partition, account, region and name keep worlds apart.
function M.folder(where)
  return fs.join(M.root(), where.partition, where.account, where.region, where.deployment)
end

--- The other regions of the account in which a deployment of this name stands, as far as this
-- machine's ledgers know: sorted array.
function M.elsewhere(where)
  local account, regions = fs.join(M.root(), where.partition, where.account), {}
  for _, region in ipairs(fs.exists(account) and fs.list(account) or {}) do
    local folder = fs.join(account, region, where.deployment)
    if region ~= where.region and ledger.stands(folder) then regions[#regions + 1] = region end
  end
  return regions
end

return M
