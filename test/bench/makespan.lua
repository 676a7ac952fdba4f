-- How long the rehearsed deploy takes in virtual time, beside two others of the same world:
--   the critical path   the same graph where calls take no time and each wait sees its end at once
--   the six steps       strictly in order, each begun when the last is proved
--   one after another   the same, and within the second step network, cluster, system nodes and GPU
--                       nodes strictly in order, as the published sample's scripts make them
-- `build/rtl test/bench/makespan.lua [SEEDS]`; a line for each seed, then the medians.
local fs = require "rtl.fs"
local graph = require "rtl.plan.graph"
local played = require "test.support.played"
local task = require "rtl.task"

local DEPLOY = "recipes/deploy.lua"
local STEPS = { "settings", "cluster", "device_plugins", "kuberay", "ray_cluster", "job" }
-- Which script of the published sample makes a resource; of the rest, its step does.
local STAGES = { vpc = 1, subnet = 1, internet_gateway = 1, elastic_ip = 1, nat_gateway = 1,
  route_table = 1, vpc_endpoint = 1, iam_role = 1, eks_cluster = 2, eks_addon = 2,
  ["launch_template/system"] = 2, ["node_group/system"] = 3, launch_template = 4,
  security_group = 4, node_group = 4 }
local AT_ONCE = 0.25 -- seconds between two looks of a wait that sees its end at once

-- Virtual seconds that `play(world)` takes in a new world with this seed.
local function seconds(seed, play)
  local state = fs.temp_dir "rtl-makespan-"
  local world, leave = played.enter("calm,seed=" .. seed, state)
  local began = world:now()
  play(world)
  local took = world:now() - began
  leave()
  fs.remove_tree(state)
  return took
end

local function deploy(options)
  local exit, failure = played.run(DEPLOY, false, options)
  assert(exit == "done", tostring(failure or exit))
end

local function whole()
  deploy()
end

local function critical(world)
  local spread, sleep = world.spread, task.sleep
  world.spread = function (self, low, high, what, ...)
    return what == "latency" and 0 or spread(self, low, high, what, ...)
  end
  task.sleep = function (s) return sleep(math.min(s, AT_ONCE)) end
  deploy()
  task.sleep = sleep
end

local function one_by_one()
  for _, step in ipairs(STEPS) do deploy { yes = true, only = step } end
end

local function stage_of(res)
  return STAGES[res.key] or STAGES[res.kind_name] or 5
end

-- The graph of a run where each stage's resources wait for all of the stages before.
local function staged()
  local g = graph.new()
  local order = g.order
  function g:order()
    for _, res in ipairs(self.list) do
      res.after = table.move(res.after, 1, #res.after, 1, {})
      for _, other in ipairs(self.list) do
        if stage_of(other) < stage_of(res) then res.after[#res.after + 1] = other end
      end
    end
    return order(self)
  end
  return g
end

local function one_after_another()
  local plan = require "rtl.plan"
  local own = plan.graph
  plan.graph = { new = staged }
  one_by_one()
  plan.graph = own
end

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

local WAYS = { { "deploy", whole }, { "critical path", critical }, { "the six steps", one_by_one },
  { "one after another", one_after_another } }

local function columns(cells, form)
  local out = {}
  for i, cell in ipairs(cells) do out[i] = (form):format(cell) end
  return table.concat(out)
end

local names, found, seeds = {}, {}, tonumber(arg and arg[1]) or 5
for i, way in ipairs(WAYS) do names[i], found[i] = way[1], {} end
print("seed  " .. columns(names, "%19s"))
for seed = 1, seeds do
  local row = {}
  for i, way in ipairs(WAYS) do
    row[i] = seconds(seed, way[2])
    table.insert(found[i], row[i])
  end
  print(("%-6d"):format(seed) .. columns(row, "%17.0f s"))
end
local mine, least, steps, most = median(found[1]), median(found[2]), median(found[3]),
  median(found[4])
print(("deploy / critical path %.2f   the six steps / deploy %.2f   one by one / deploy %.2f")
  :format(mine / least, steps / mine, most / mine))
