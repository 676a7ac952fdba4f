-- The plan of a deployment that stands: how many calls it makes, how long they take where each
-- takes 50 ms, and what the program itself takes beside that. `build/rtl test/bench/plan.lua`
local fs = require "rtl.fs"
local played = require "test.support.played"

local DEPLOY = "recipes/deploy.lua"
local CALL = 0.05 -- seconds

local state = fs.temp_dir "rtl-plan-"
local world, leave = played.enter("calm", state)

local function run(options)
  local exit, failure = played.run(DEPLOY, false, options)
  assert(exit == "done", tostring(failure or exit))
end

local function measure()
  local calls, began, cpu = world.calls_made, world:now(), os.clock()
  run { plan = true }
  return world.calls_made - calls, world:now() - began, os.clock() - cpu
end

local spread = world.spread
world.spread = function (self, low, high, what, ...)
  return what == "latency" and CALL or spread(self, low, high, what, ...)
end
run { yes = true }
local calls, waited, cpu = measure()
print(("plan of what stands: %d calls, %.2f s of waiting at %d ms a call (%d one after another), "
  .. "%.3f s of CPU with the world's own"):format(calls, waited, CALL * 1000,
  math.ceil(waited / CALL), cpu))
leave()
fs.remove_tree(state)
