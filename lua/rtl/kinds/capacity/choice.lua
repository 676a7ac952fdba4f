--- Which of the ranked zones it is to be. What stands wins; a zone that had no capacity lately is
-- passed over.

local clock = require "rtl.clock"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local support = require "rtl.kinds.support"

local M = {}

local FORGET = 3600 -- seconds after which a zone that had no capacity is tried again

--- Remembers in the ledger that a zone had no capacity, so that the next choice is another one.
function M.note(ctx, failure)
  if not ctx.ledger then return true end
  return ctx.ledger:note("capacity", { zone = failure.zone_id, zones = failure.zones,
    message = failure.message })
end

-- The zones that had none in this run, or (with `lately`) in others of the last hour; and those
-- that EC2 offered instead (by name).
local function tried_zones(ctx, lately)
  local tried, offered = {}, {}
  for _, note in ipairs(ctx.ledger and ctx.ledger:notes("capacity") or {}) do
    local at = clock.parse_iso(note.at) or 0
    local counts = note.run == ctx.run_id or lately and clock.utc() - at < FORGET
    if counts and note.zone then
      tried[note.zone] = true
      for _, name in ipairs(note.zones or {}) do offered[name] = true end
    end
  end
  return tried, offered
end

local function standing_subnets(ctx)
  local list, failure = support.list(ctx, { op = "describe_subnets" },
    support.deployment_filters(ctx))
  if not list then return nil, failure end
  local zones = {}
  for _, subnet in ipairs(list) do
    local name = support.tags_of(subnet.Tags)["rtl:resource"] or ""
    if name:match("^subnet/public") then
      zones[subnet.AvailabilityZoneId] = true
      zones[#zones + 1] = subnet
    end
  end
  return zones
end

local function nat_zone(ctx, subnets)
  local list, failure = support.list(ctx, { op = "describe_nat_gateways", filters = "Filter" },
    support.deployment_filters(ctx))
  if not list then return nil, failure end
  for _, nat in ipairs(list) do
    for _, subnet in ipairs(subnets) do
      local lives = nat.State == "available" or nat.State == "pending"
      if lives and subnet.SubnetId == nat.SubnetId then return subnet.AvailabilityZoneId end
    end
  end
end

-- The zone whose GPU group stands: its name ends with the zone's id.
local function group_zone(ctx, cluster, by_id)
  local list, failure = ctx:aws("eks"):all("list_nodegroups", { clusterName = cluster })
  if not list then
    if errors.not_found(failure) then return nil end
    return nil, failure
  end
  for _, name in ipairs(list) do
    local zone = name:match("([a-z]+%d%-az%d+)$")
    if zone and by_id[zone] then return zone end
  end
end

local function first_zone(zones, test)
  for _, zone in ipairs(zones) do
    if test(zone) then return zone end
  end
end

local function pick_gpu(region_zones, options, state)
  local function free(zone) return zone.usable and not state.tried[zone.zone_id] end
  if options.zone then
    return first_zone(region_zones, function (z)
      return free(z) and (z.zone_id == options.zone or z.zone_name == options.zone)
    end)
  end
  return (state.group and not state.tried[state.group] and state.by_id[state.group])
    or first_zone(region_zones, function (z) return free(z) and z.reservation
      and z.reservation.own end)
    or first_zone(region_zones, function (z) return free(z) and z.zone_id == state.nat end)
    or first_zone(region_zones, function (z) return free(z) and state.offered[z.zone_name] end)
    or first_zone(region_zones, free)
end

-- Whether the GPUs' zone can be the first of the two: no NAT gateway stands elsewhere, and
-- no two other zones do.
local function may_lead(gpu, state)
  local others = 0
  for _, subnet in ipairs(state.subnets) do
    if subnet.AvailabilityZoneId ~= gpu.zone_id then others = others + 1 end
  end
  return not state.nat and others < 2
end

-- The same, but where no zone is left, those are tried again that had none in earlier runs: asking
-- again is up to the user.
local function pick_again(ctx, region_zones, options, state)
  local gpu = pick_gpu(region_zones, options, state)
  if gpu then return gpu end
  state.tried, state.offered = tried_zones(ctx, false)
  return pick_gpu(region_zones, options, state)
end

-- Two zones for the control plane: those that stand, else the GPU's and the next good one. A run
-- that died before the GPUs' subnet was made goes on with the same two in the same order.
local function pick_network(region_zones, gpu, state)
  local network = {}
  local function add(zone)
    for _, one in ipairs(network) do
      if one == zone then return end
    end
    if zone and #network < 2 then network[#network + 1] = zone end
  end
  add(state.by_id[state.nat or ""])
  if may_lead(gpu, state) then add(gpu) end
  for _, zone in ipairs(region_zones) do
    if state.subnets[zone.zone_id] then add(zone) end
  end
  add(gpu)
  for _, zone in ipairs(region_zones) do
    if not zone.refused then add(zone) end
  end
  return network
end

local function no_choice(region_zones, options, state)
  local reasons = {}
  for _, zone in ipairs(region_zones) do
    local why = zone.why or state.tried[zone.zone_id] and "no capacity lately" or "free"
    reasons[#reasons + 1] = zone.zone_id .. ": " .. why
  end
  return err.new { code = "RTL-CAP-004", exit = not state.subnets[1] and "refused" or nil,
    message = ("%s (%s)"):format(options.zone and options.zone .. " can't be used"
      or "no zone is left to try", table.concat(reasons, ", ")) }
end

--- Chooses among ranked zones of the context's region. What stands wins, so that a second run
-- declares the same; then zones that had no capacity lately are passed over. options: cluster
-- (name), zone (id or name that the user wants; else a given reservation's).
-- Returns { gpu = zone, network = {zone, zone} (the first holds the NAT gateway), extra = whether
-- the GPU zone is not one of these, tried = {zone_id = true}, stands = whether a network of this
-- deployment does } | nil, err (RTL-CAP-004).
function M.choose(ctx, ranked, options)
  options = { cluster = options and options.cluster,
    zone = options and options.zone or ranked.reservation and ranked.reservation.zone_id }
  local zones, by_id = {}, {}
  for _, zone in ipairs(ranked.zones) do
    if zone.region == ctx.region then
      zones[#zones + 1] = zone
      by_id[zone.zone_id] = zone
    end
  end
  local subnets, failure = standing_subnets(ctx)
  if not subnets then return nil, failure end
  local tried, offered = tried_zones(ctx, true)
  local state = { by_id = by_id, subnets = subnets, tried = tried, offered = offered }
  if #subnets > 0 then
    local refused
    state.nat, refused = nat_zone(ctx, subnets)
    if refused then return nil, refused end
    state.group, refused = group_zone(ctx, options.cluster or ctx.deployment, by_id)
    if refused then return nil, refused end
  end
  local gpu = pick_again(ctx, zones, options, state)
  if not gpu then return nil, no_choice(zones, options, state) end
  local network = pick_network(zones, gpu, state)
  local extra = gpu ~= network[1] and gpu ~= network[2]
  return { gpu = gpu, network = network, extra = extra, tried = state.tried, stands = #subnets > 0 }
end

return M
