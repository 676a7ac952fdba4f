-- The plan of a deployment that stands: how many calls it makes, how long they take where each
-- takes 50 ms, and what the program itself takes beside that. The command in the head pod takes as
-- long as the seed says, so some are played. `build/rtl test/bench/plan.lua`
local fs = require "rtl.fs"
local played = require "test.support.played"

local DEPLOY = "recipes/deploy.lua"
local CALL = 0.05 -- seconds
local SEEDS = 9

local function run(options)
  local exit, failure = played.run(DEPLOY, false, options)
  assert(exit == "done", tostring(failure or exit))
end

-- The calls, seconds of waiting and CPU seconds of a plan in the world of that seed.
local function measure(seed)
  local state = fs.temp_dir "rtl-plan-"
  local world, leave = played.enter("calm,seed=" .. seed, state)
  local spread = world.spread
  world.spread = function (self, low, high, what, ...)
    return what == "latency" and CALL or spread(self, low, high, what, ...)
  end
  run { yes = true }
  local calls, began, cpu = world.calls_made, world:now(), os.clock()
  run { plan = true }
  local plan = { calls = world.calls_made - calls, waited = world:now() - began,
    cpu = os.clock() - cpu }
  leave()
  fs.remove_tree(state)
  return plan
end

local all = {}
for seed = 1, SEEDS do all[seed] = measure(seed) end
table.sort(all, function (a, b) return a.waited < b.waited end)
local middle = all[(SEEDS + 1) // 2]
print(("plan of what stands, the median of %d seeds: %d calls, %.2f s of waiting (%.2f to %.2f) at "
  .. "%d ms a call (%d one after another), %.3f s of CPU with the world's own"):format(SEEDS,
  middle.calls, middle.waited, all[1].waited, all[SEEDS].waited, CALL * 1000,
  math.ceil(middle.waited / CALL), middle.cpu))
