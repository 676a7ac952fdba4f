--- What stands behind the four seams (clock, chance, processes, the wire), for specs that put a
-- simulated world there.

local clock = require "rtl.clock"
local entropy = require "rtl.entropy"
local process = require "rtl.process"
local wire = require "rtl.wire"

local M = {}

local function behind(seam, any)
  local now = seam.use(any)
  seam.use(now)
  return now
end

--- Returns a function that puts back what stands there now.
function M.kept()
  local kept = { [clock] = behind(clock, {}), [entropy] = behind(entropy, {}),
    [process] = behind(process, {}), [wire] = behind(wire, wire.native) }
  return function ()
    for seam, impl in pairs(kept) do seam.use(impl) end
  end
end

return M
