--- Weather on the way between the operator and a server: what the wire itself does to a request.

local err = require "rtl.err"
local task = require "rtl.task"
local weather = require "rtl.rehearse.weather"

local M = {}

local IDLE = 60 -- seconds after which a request without an answer is given up

-- An error as the native wire makes it.
local function lost(code, name, message, wanted, sent)
  return err.fail { code = code, name = name, message = message, sent = sent,
    retryable = not (sent and wanted.once),
    doing = (wanted.method or "connect") .. " " .. tostring(wanted.url) }
end

--- Waits as long as a call takes: `seconds`, and more where the network is slow.
function M.wait(world, seconds)
  local slow = weather.blows(world, "slow-network")
  if slow then
    world:struck "slow-network"
    seconds = seconds * slow.factor
  end
  task.sleep(seconds)
end

-- What a cluster's endpoint does that has only just got its name, or whose servers restart.
local function before_kube(world, wanted, kube)
  local late = world.sky["late-name"]
  if late and world:age() - kube.since < late.seconds then
    world:struck "late-name"
    return lost("RTL-NET-001", "dns", "no such host: " .. kube.host, wanted, false)
  end
  if weather.hits_call(world, "api-restart") then
    return lost("RTL-NET-002", "connect", "Connection refused", wanted, false)
  end
  return true
end

--- What keeps a request from arriving: true, or `nil, err` as the wire gives it. `kube`: the
-- cluster that it is for, if it is for one.
function M.before(world, wanted, kube)
  if weather.hits_call(world, "no-network") then
    return lost("RTL-NET-002", "connect", "Network is unreachable", wanted, false)
  end
  if weather.hits_call(world, "reset-before") then
    return lost("RTL-NET-008", "lost", "Connection reset by peer", wanted, true)
  end
  if kube then return before_kube(world, wanted, kube) end
  return true
end

--- What keeps the answer of a request from arriving, once it took effect.
function M.after(world, wanted)
  if weather.hits_call(world, "reset-after") then
    return lost("RTL-NET-008", "lost", "Connection reset by peer", wanted, true)
  end
  if weather.hits_call(world, "no-answer") then
    task.sleep(wanted.idle or IDLE)
    return lost("RTL-NET-006", "idle", ("no byte for %d s"):format(wanted.idle or IDLE), wanted,
                true)
  end
  return true
end

return M
