--- Where a deployment goes: the zones of all its regions, ranked; the choice among them; and what
-- is done when the chosen zone has no capacity after all.

local array = require "rtl.array"
local capacity = require "rtl.kinds.capacity"
local clock = require "rtl.clock"
local given_network = require "rtl.recipe.given_network"
local hold = require "rtl.recipe.hold"
local nearest = require "rtl.nearest"
local plan = require "rtl.plan"
local pricing = require "rtl.kinds.pricing"
local state = require "rtl.recipe.state"
local text = require "rtl.recipe.text"
local value = require "rtl.recipe.value"

local M = {}

local ASKED = 2 -- quotas that a deployment may have to ask for: GPU and system nodes

-- ---- ranking ----

local function close_others(ranked, allowed_list)
  if #allowed_list == 0 then return end
  local allowed = {}
  for _, zone in ipairs(allowed_list) do allowed[zone] = true end
  for _, zone in ipairs(ranked.zones) do
    zone.closed = not allowed[zone.zone_id]
    if zone.closed and zone.usable then
      zone.usable, zone.why = false, "not among the zones set"
    end
  end
end

--- What rtl.kinds.capacity is asked with the run's settings; `more` are further fields.
function M.spec(run, more)
  local s = run.settings
  local given = s.use_cluster ~= ""
  -- Nodes that are given stand already: they need no quota and no capacity.
  local function wanted(group, count) return s[group] == "" and count or 0 end
  local spec = { instance = s.gpu_type, count = wanted("use_gpu_group", s.gpu_count),
    regions = s.region, system = { instance = s.system_type,
      count = wanted("use_system_group", s.system_count) },
    reservation = value.given(s.reservation), placement_group = s.placement_group or nil,
    block_hours = s.block_hours, given_cluster = given or nil,
    cluster = given and s.use_cluster or run.deployment }
  for key, v in pairs(more or {}) do spec[key] = v end
  return spec
end

-- A zone that is misspelt would close all others. A region that did not answer may have it.
local function check_zones(run, ranked)
  local names, known = {}, {}
  for _, region in ipairs(ranked.regions) do
    if region.failure then return end
  end
  for i, zone in ipairs(ranked.zones) do names[i], known[zone.zone_id] = zone.zone_id, true end
  table.sort(names)
  for _, wanted in ipairs(run.settings.zones) do
    if not known[wanted] then
      run:fail { code = "RTL-SET-003", exit = "usage",
        message = ("zones: '%s' is no AZ id of %s%s"):format(wanted,
          table.concat(run.settings.region, ", "), nearest.hint(wanted, names)),
        hint = "There are: " .. table.concat(names, ", ") }
    end
  end
end

--- The ranked zones of all regions of the settings; those that `zones` leaves out are closed.
-- Raises RTL-SET-003 for a zone that no region has.
function M.rank(run, more)
  local ranked = assert(capacity.rank(run.ctx, M.spec(run, more)))
  check_zones(run, ranked)
  close_others(ranked, run.settings.zones)
  return ranked
end

-- ---- quota ----

local function say_asked(run, short, request)
  run:emit { type = "quota", code = short.code, region = short.region, value = request.value,
    id = request.id, open = request.open }
  run:note(("%s = %d in %s is asked for%s%s"):format(short.code, request.value, short.region,
    request.open and " already" or "", request.id and " (" .. request.id .. ")" or ""),
    { sign = "→" })
end

-- Files the request for the quota that a problem names, and waits for it as long as the settings
-- say. Raises RTL-CAP-010 when it is not granted by then.
local function ask_for(run, short)
  local request = assert(capacity.request_quota(run.ctx, short))
  say_asked(run, short, request)
  run:progress(("waiting for %s = %d in %s"):format(short.code, short.ask, short.region))
  assert(capacity.wait_for_quota(run.ctx, short, request, run.settings.quota_wait))
end

--- Ranks, and asks for more quota where the settings say so and nothing can be built without.
-- Raises what is wrong (RTL-CAP-001…010). A plan asks for nothing.
function M.find(run)
  local s = run.settings
  local ranked = M.rank(run)
  for _ = 1, ASKED do
    local short = ranked.problem and ranked.problem.short
    if not short or not s.request_quota or run.options.plan then break end
    ask_for(run, short)
    ranked = M.rank(run)
  end
  if ranked.problem then error(ranked.problem, 0) end
  return ranked
end

-- ---- choosing ----

-- What comes before a hold, or is one: it binds a deployment to no region.
local LIGHT = { schedule_group = true, schedule = true, iam_role = true, placement_group = true,
  capacity_reservation = true, reservation_group = true }

-- Whether the deployment stands in a region, by the account or by our own ledger.
local function stands(run, region)
  if region.stands then return true end
  local ctx = run.ctx
  return plan.ledger.stands(state.folder { partition = ctx.partition, account = ctx.account,
    region = region.region, deployment = run.deployment }, LIGHT)
end

-- The region to use: where the deployment stands, else the best usable zone's that was not left.
local function pick_region(run)
  local ranked, left = run.facts.ranked, run.facts.left_regions or {}
  for _, region in ipairs(ranked.regions) do
    if not region.failure and not left[region.region] and stands(run, region) then
      run.facts.settled = true
      return region.region
    end
  end
  if #ranked.regions == 1 then return ranked.regions[1].region end
  for _, zone in ipairs(ranked.zones) do
    if zone.usable and not left[zone.region] then return zone.region end
  end
end

local function choose(run)
  local choice, failure = capacity.choose(run.ctx, run.facts.ranked, {
    cluster = value.given(run.settings.use_cluster), zone = given_network.zone(run) })
  if not choice then return nil, failure end
  if choice.gpu.closed then
    run:fail { code = "RTL-CAP-011", exit = "refused",
      message = ("the GPU nodes stand in %s, which is not among the zones set (%s)"):format(
        choice.gpu.zone_id, table.concat(run.settings.zones, ", ")),
      hint = "Tear the deployment down first, or add the zone" }
  end
  run.facts.choice = choice
  hold.preflight(run)
  return true
end

--- Chooses region and zone (facts.ranked, .choice and .hold) and moves the run to the region.
function M.choose(run)
  run.facts.ranked = M.find(run)
  run:use_region(run.facts.ranked.reservation and run.facts.ranked.reservation.region
    or pick_region(run) or run.region)
  run:load_prices(run.settings.kubernetes_version)
  assert(choose(run))
  run.facts.settled = run.facts.settled or run.facts.choice.stands or nil
  run:emit(M.event(run, run.facts.ranked))
end

-- ---- when there is none ----

-- Whether a hold was refused where nothing of the deployment stood before this run. Else it stays:
-- where a cluster is, the rest belongs.
local function may_leave(run, problem)
  local key = problem.resource or problem.doing or ""
  return key:match("^capacity_reservation/") and not run.facts.settled
end

-- Removes what was made in a region that the run leaves: the schedules of a lease, a placement
-- group, by this run or one that was killed. Nothing else is made before the hold.
local function clear_region(run)
  run:progress("removing what was made in " .. run.region)
  local found = plan.teardown.plan(run.ctx, run:all_kinds(), {})
  for _, item in ipairs(plan.teardown.remove(run.ctx, found.items).left) do
    run:note(("%s %s is left in %s: %s"):format(item.key, item.id or "", run.region,
      tostring(item.err)), { sign = "✗" })
  end
end

-- Goes on in the next region that has a zone left, or returns false.
local function next_region(run)
  local left = run.facts.left_regions or {}
  run.facts.left_regions = left
  while true do
    left[run.region] = true
    local region = pick_region(run)
    clear_region(run)
    if not region or left[region] then return false end
    run:use_region(region)
    run:load_prices(run.settings.kubernetes_version)
    if choose(run) then return true end
  end
end

-- The NAT gateway stays where it is when the GPUs go to another zone: what that costs, or nil.
local function crossing(run)
  local choice = run.facts.choice
  local nat = choice.network[1].zone_id
  if run.settings.vpc_id ~= "" or nat == choice.gpu.zone_id then return nil end
  return ("the NAT gateway is in %s: what GPU nodes pull crosses zones, $%.2f a GB more")
    :format(nat, 2 * pricing.of(run.ctx, "cross_zone_gb")) -- both ends of the way are billed
end

--- What a step does when something failed that another zone can cure: notes it, and chooses the
-- next ranked zone, of the next region at last. Returns a text that says so; nil when it is no
-- matter of capacity; raises RTL-CAP-004 when no zone is left.
function M.recover(run, problem)
  if not capacity.is_capacity(problem) then return nil end
  local failed = run.facts.choice.gpu
  assert(capacity.note(run.ctx, problem))
  local done, failure = choose(run)
  if not done then
    local moved = may_leave(run, problem) and next_region(run)
    if not moved then error(failure, 0) end
  end
  local now, crosses = run.facts.choice.gpu, crossing(run)
  return ("no capacity in %s: going on in %s%s"):format(failed.zone_id,
    now.region == failed.region and now.zone_id or ("%s (%s)"):format(now.region, now.zone_id),
    crosses and "; " .. crosses or "")
end

-- ---- the event: names here are promised to programs ----

local function when(seconds) return seconds and clock.iso(seconds) or nil end

local function reservation_event(one)
  return one and { id = one.id, free = one.free, total = one.total, own = one.own or false,
    block = one.block, placement_group = one.placement_group, ends = when(one.ends) }
end

local function block_event(one)
  return one and { id = one.id, count = one.count, hours = one.hours, starts = when(one.starts),
    ends = when(one.ends), price = one.price, currency = one.currency }
end

local function zone_event(zone, i)
  return { rank = i, region = zone.region, zone_id = zone.zone_id, zone_name = zone.zone_name,
    usable = zone.usable, why = zone.why, efa = zone.efa, offered = zone.offered,
    eks = not zone.refused, price_per_hour = zone.price,
    reservation = reservation_event(zone.reservation), block = block_event(zone.block) }
end

local function quota_event(one)
  return { code = one.code, name = one.name, granted = one.granted, used = one.used, own = one.own,
    needed = one.need, enough = one.enough, ask = one.ask }
end

local function each(list, f)
  local out = array {}
  for i, item in ipairs(list) do out[i] = f(item, i) end
  return out
end

--- The event of ranked zones, for programs; its names stay. A field that has no value is absent;
-- times are UTC texts, prices USD.
--   type "capacity", version 1, instance_type, count
--   zones    best first: rank, region, zone_id, zone_name, usable, why (not), efa, offered, eks,
--            price_per_hour (of all instances), reservation {id, free, total, own, block,
--            placement_group, ends}, block {id, count, hours, starts, ends, price, currency}
--   regions  region, why (it could not be read), blocks_why, quotas {code, name, granted, used,
--            own, needed, enough, ask}
--   problem  code, message: why nothing can be built
function M.event(run, ranked)
  local s = run.settings
  return { type = "capacity", version = 1, instance_type = s.gpu_type, count = s.gpu_count,
    zones = each(ranked.zones, zone_event),
    regions = each(ranked.regions, function (region)
      return { region = region.region, why = region.why, blocks_why = region.blocks_why,
        quotas = each(region.quotas, quota_event) }
    end),
    problem = ranked.problem and { code = ranked.problem.code, message = ranked.problem.message } }
end

-- ---- what is shown ----

local function yes(flag) return flag and "yes" or "no" end

local function held(reservation)
  local free = ("%d free"):format(reservation.free)
  local what = reservation.own and "held" or reservation.block and "block" or "reserved"
  return ("%s: %s, %s"):format(what, reservation.id, free)
end

local function capacity_of(zone)
  if zone.reservation then return held(zone.reservation) end
  if zone.block then
    return ("block from %s, %s"):format(clock.iso(zone.block.starts or 0):sub(1, 10),
      text.money(zone.block.price or 0))
  end
  return zone.offered and "not probed" or "-"
end

local HEAD = { " ", "zone", "EFA", "offered", "capacity", "price/h", "" }

--- The rows of a table of ranked zones, head first; `chosen` is marked. With `regions` a column
-- more says the region.
function M.rows(zones, chosen, regions)
  local head = table.move(HEAD, 1, #HEAD, 1, {})
  if regions then table.insert(head, 2, "region") end
  local rows = { head }
  for _, zone in ipairs(zones) do
    local row = { zone == chosen and "→" or " ",
      ("%s (…%s)"):format(zone.zone_id, zone.zone_name:sub(-2)), yes(zone.efa), yes(zone.offered),
      capacity_of(zone), zone.usable and zone.price and text.money(zone.price) or "-",
      zone.why or "" }
    if regions then table.insert(row, 2, zone.region) end
    rows[#rows + 1] = row
  end
  return rows
end

-- The GPU family's quota in the region of the run.
local function quota_of(run)
  for _, region in ipairs(run.facts.ranked.regions) do
    if region.region == run.region then return region.quotas[1] end
  end
end

local function placement_line(run)
  local s, given = run.settings, run.facts.ranked.reservation
  if not given or not given.placement_group and s.placement_group then return nil end
  return ("         placement group: %s"):format(given.placement_group
    and given.placement_group .. " (the reservation's)" or "none (reservation given)")
end

-- A reservation of the account in the chosen zone that nobody else's launch takes by itself.
local function reservation_line(run)
  local found = run.facts.choice.gpu.reservation
  if not found or found.own or found.match ~= "targeted" or run.facts.ranked.reservation then
    return nil
  end
  return ("         %s has %d free there: --reservation %s launches into it"):format(found.id,
    found.free, found.id)
end

--- The lines of a plan about capacity: GPUs, quota, zones, the hold.
function M.lines(run)
  local s, facts, quota = run.settings, run.facts, quota_of(run)
  local lines = { ("GPUs     %d × %s = %d %s, %d vCPU of %s (%s granted, %s used)"):format(
    s.gpu_count, s.gpu_type, s.gpu_count * facts.instance.gpus, facts.instance.gpu, quota.need,
    quota.code, quota.granted, quota.used) }
  local zones = {}
  for _, zone in ipairs(facts.ranked.zones) do
    if #s.region > 1 or zone.region == run.region then zones[#zones + 1] = zone end
  end
  local columns = text.columns(M.rows(zones, facts.choice.gpu, #s.region > 1), nil, text.SCREEN)
  table.move(columns, 1, #columns, 2, lines)
  for _, region in ipairs(facts.ranked.regions) do
    for _, line in ipairs(region.why and text.fold(("   %s: %s"):format(region.region, region.why),
      text.SCREEN) or {}) do
      lines[#lines + 1] = line
    end
  end
  local crosses = crossing(run)
  if crosses then lines[#lines + 1] = "         " .. crosses end
  lines[#lines + 1] = reservation_line(run)
  lines[#lines + 1] = placement_line(run)
  for _, line in ipairs(hold.lines(run)) do lines[#lines + 1] = line end
  return lines
end

return M
