-- The command line with a clock that jumps over each wait: `build/rtl test/support/at_once.lua
-- recipes/deploy.lua --yes`. Against a local server a deploy of twenty minutes takes seconds, in a
-- process of its own that can be killed.
local clock = require "rtl.clock"
local native = require "rtl.native.clock"

local jumped = 0

clock.use {
  mono = function () return native.mono() + jumped end,
  utc = native.utc, -- the servers' dates and signatures know nothing of the jumps
  advance = function (to) jumped = jumped + math.max(0, to - (native.mono() + jumped)) end,
}

return require "rtl.cli.main"({ ... })
