--- One writer at a time on this machine. Another machine is held off by the account's lock
-- (rtl.kinds.account_lock).

local err = require "rtl.err"
local fs = require "rtl.fs"

local M = {}

--- Takes the lock of a deployment's folder: returns it (release(), or `<close>`), or nil and
-- RTL-PLAN-010 naming the holder.
function M.take(dir)
  local made, failure = fs.mkdirs(dir)
  if not made then return nil, failure end
  local lock, why = fs.lock(fs.join(dir, "lock"))
  if lock then return lock end
  if not err.has_code(why, "RTL-FS-002") then return nil, why end
  return nil, err.wrap(why, { code = "RTL-PLAN-010", exit = "refused",
    message = "another run works on this deployment", doing = "lock " .. dir })
end

return M
