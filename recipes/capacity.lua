--- Where the GPUs can be had: zones of many regions in one ranked table, before anything is made.
--
--   rtl recipes/capacity.lua -r us-east-2,us-west-2     EFA, offers, quota, reservations, blocks
--   rtl recipes/capacity.lua --all-regions --json       every region that AWS has, for programs
--   rtl recipes/capacity.lua --probe                    holds the GPUs where they are first found
--   rtl recipes/capacity.lua --release                  gives such holds back
--   rtl recipes/capacity.lua --request-quota            asks AWS for the quota that is missing
--
-- Reads only, without --probe, --release or --request-quota. An offer is not capacity: only a hold
-- shows that, and it costs the full price from then on. recipes/deploy.lua launches into it when it
-- is run next with the same settings; recipes/teardown.lua gives it back.

local capacity_reservation = require "rtl.kinds.capacity_reservation"
local clock = require "rtl.clock"
local hold = require "rtl.recipe.hold"
local instance_types = require "rtl.recipe.instance_types"
local places = require "rtl.recipe.places"
local plan = require "rtl.plan"
local pricing = require "rtl.kinds.pricing"
local report = require "rtl.recipe.report"
local settings = require "rtl.recipe.settings"
local text = require "rtl.recipe.text"

-- ---- which regions ----

-- All that AWS has, also those that the account has not enabled.
local function every_region(run)
  local answer = assert(run:aws("ec2"):describe_regions { AllRegions = true })
  local names = {}
  for i, one in ipairs(answer.Regions) do names[i] = one.RegionName end
  table.sort(names)
  return names
end

local function rank(run)
  local more = run.settings.all_regions and { regions = every_region(run), by_price = true } or nil
  return places.rank(run, more)
end

-- ---- the table ----

local function quota_text(quota)
  return ("%s %s granted, %s used, %d needed%s"):format(quota.code, tostring(quota.granted),
    tostring(quota.used), quota.need, quota.enough and "" or (": ask for %d"):format(quota.ask))
end

local function region_rows(ranked)
  local rows = {}
  for _, region in ipairs(ranked.regions) do
    local texts = {}
    for i, quota in ipairs(region.quotas) do texts[i] = quota_text(quota) end
    rows[#rows + 1] = { "  " .. region.region, region.why or table.concat(texts, " · ") }
  end
  return rows
end

local function add(lines, more)
  table.move(more, 1, #more, #lines + 1, lines)
end

local function regions_of(ranked)
  local names = {}
  for _, region in ipairs(ranked.regions) do
    if not region.failure then names[#names + 1] = region.region end
  end
  return names
end

local function table_lines(run, ranked)
  local s, lines = run.settings, report.head(run)
  local row = instance_types.known(run, "gpu_type")
  lines[#lines + 1] = ""
  lines[#lines + 1] = ("GPUs     %d × %s = %d %s"):format(s.gpu_count, s.gpu_type,
    s.gpu_count * row.gpus, row.gpu or "GPU")
  add(lines, text.columns(places.rows(ranked.zones, nil, true), nil, text.SCREEN))
  lines[#lines + 1] = "  prices: " .. pricing.source(run.ctx, s.gpu_type, regions_of(ranked))
  lines[#lines + 1] = "Quota    vCPU, with what runs and is held in each region"
  add(lines, text.columns(region_rows(ranked), nil, text.SCREEN))
  if ranked.problem then report.labelled(lines, "Problem", { tostring(ranked.problem) }) end
  return lines
end

local function when(seconds) return seconds and clock.iso(seconds) or nil end

-- ---- holding ----

-- Makes the hold of the zone that was chosen. Returns true, or nil and the failure.
local function make(run)
  run.graph = plan.graph.new()
  local res = hold.declare(run, nil)
  local p = plan.read(run.graph, run.ctx)
  if p.problems[1] then error(p.problems[1], 0) end
  local done, failure = plan.apply(p, run.ctx)
  return done and run.graph.by_key[res.key] and p:change(res.key).live, failure
end

local function say_held(run, live)
  local s = run.settings
  run:emit { type = "hold", id = live.id, region = run.region, zone_id = live.zone_id,
    instance_type = s.gpu_type, count = s.gpu_count, ends = when(live.ends) }
  local lines = { ("Held     %s: %d × %s in %s until %s"):format(live.id, s.gpu_count, s.gpu_type,
    live.zone_id, when(live.ends) or "it is cancelled") }
  add(lines, { hold.lines(run)[2], "Use      " .. report.command(run, "recipes/deploy.lua")
    .. " --probe", "Release  " .. report.command(run, "recipes/capacity.lua") .. " --release" })
  report.world(lines)
  run:emit { type = "text", lines = lines }
end

-- Holds in the best zone that has capacity, going on to the next as a deployment does.
local function probe(run)
  run:lock()
  run:begin_record()
  places.choose(run)
  run:emit { type = "text", lines = hold.lines(run) }
  run:confirm "Hold them, at that price?"
  run:hold()
  local _ <close> = setmetatable({}, { __close = function ()
    if not run.carried_out then hold.leave(run) end
  end })
  while true do
    local live, failure = make(run)
    if live then
      run.carried_out = true
      return say_held(run, live)
    end
    local word = places.recover(run, failure)
    if not word then error(failure, 0) end
    run:note(word, { sign = "→" })
  end
end

local function release_in(run, region)
  run:use_region(region)
  local found = assert(capacity_reservation.find(run.ctx))
  if #found == 0 then return 0 end
  run:lock()
  run:confirm(("Give back %s in %s?"):format(text.count(#found, "hold"), region))
  run:hold()
  for i, item in ipairs(found) do
    found[i] = { key = "capacity_reservation/" .. item.name, kind = capacity_reservation,
      kind_name = "capacity_reservation", name = item.name, id = item.id, outputs = item.outputs }
  end
  local result = plan.teardown.remove(run.ctx, found)
  if result.left[1] then error(result.left[1].err, 0) end
  return #found
end

local function release(run)
  local count = 0
  for _, region in ipairs(run.settings.region) do count = count + release_in(run, region) end
  run:note(count == 0 and "nothing is held" or text.count(count, "hold") .. " given back")
end

local function show(run)
  local ranked = rank(run)
  local lines = table_lines(run, ranked)
  if not run.settings.probe then report.world(lines) end
  run:emit { type = "text", lines = lines }
  run:emit(places.event(run, ranked))
  return ranked
end

-- Refuses options of which one would be silently ignored. What --probe and --request-quota do, they
-- do in the regions of --region, whatever is ranked.
local function check_together(run)
  local s = run.settings
  local function refuse(message)
    run:fail { code = "RTL-CLI-001", exit = "usage", message = message .. ": choose one" }
  end
  if s.probe and s.release then
    refuse "--probe takes a hold and --release gives it back"
  elseif s.all_regions and s.release then
    refuse "--release gives back in the regions of --region, and --all-regions only ranks"
  elseif s.all_regions and settings.source(s, "region") == "--region"
    and not (s.probe or s.request_quota) then
    refuse "--all-regions ranks every region, and --region those that it names"
  end
end

return {
  title = "Where the GPUs can be had",
  settings = { "settings", {
    { group = "Capacity", name = "all_regions", type = "boolean", default = false,
      help = "rank every region that AWS has, by price" },
    { group = "Capacity", name = "release", type = "boolean", default = false,
      help = "give back what --probe holds in the regions" },
  } },
  options = { "yes" },

  action = function (run)
    check_together(run)
    instance_types.learn(run)
    instance_types.known(run, "gpu_type")
    instance_types.known(run, "system_type")
    run:connect()
    if run.settings.release then return release(run) end
    local ranked = show(run)
    if ranked.problem and run.settings.request_quota then places.find(run) end
    if run.settings.probe then return probe(run) end
    run.outcome.exit = ranked.problem and "refused" or "done"
  end,
}
