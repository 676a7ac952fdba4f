--- Where rtl keeps its files: $RTL_STATE, else $XDG_STATE_HOME/rtl, else ~/.local/state/rtl.

local fs = require "rtl.fs"
local process = require "rtl.process"

local M = {}

local function set(name)
  local value = process.getenv(name)
  return value ~= nil and value ~= "" and value or nil
end

--- The folder of all state (not made).
function M.root()
  local xdg = set("XDG_STATE_HOME")
  return set("RTL_STATE") or xdg and fs.join(xdg, "rtl")
    or fs.join(set("HOME") or ".", ".local", "state", "rtl")
end

--- The folder of one deployment: partition, account, region and name keep worlds apart.
function M.folder(where)
  return fs.join(M.root(), where.partition, where.account, where.region, where.deployment)
end

return M
