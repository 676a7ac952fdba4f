--- Where the GPUs can be: zones ranked by what the account may do and what EC2 offers there.
-- Reads only. An offering is not capacity: only a launch or a reservation shows that.

local array = require "rtl.array"
local clock = require "rtl.clock"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local instances = require "rtl.kinds.instances"
local support = require "rtl.kinds.support"
local task = require "rtl.task"

local M = {}

-- Zones (by id) in which EKS makes no control plane, and so no network of ours.
local REFUSED = { ["use1-az3"] = true, ["usw1-az2"] = true, ["cac1-az3"] = true }

local FAMILIES = {
  ["L-DB2E81BA"] = { name = "Running On-Demand G and VT instances", pattern = "^[gv]t?%d" },
  ["L-417A185B"] = { name = "Running On-Demand P instances", pattern = "^p%d" },
  ["L-1216C47A"] = { name = "Running On-Demand Standard instances", pattern = "^[acdhimrtz]%d" },
}

local FORGET = 3600 -- seconds after which a zone that had no capacity is tried again

local function parts_of(...)
  return task.map({ ... }, function (f)
    local value, failure = f()
    if value == nil and failure then error(failure, 0) end
    return value
  end)
end

local function zones_in(ec2)
  return ec2:describe_availability_zones { Filters = array {
    support.filter("zone-type", "availability-zone"), support.filter("state", "available") } }
end

local function offered_in(ec2, instance)
  return ec2:all("describe_instance_type_offerings", { LocationType = "availability-zone-id",
    Filters = array { support.filter("instance-type", instance) } })
end

-- What EC2 says of types, by name; a type unknown in the region is no error here.
local function types_in(ec2, names)
  local list, failure = ec2:all("describe_instance_types", { InstanceTypes = array(names) })
  if not list and failure.code == "InvalidInstanceType" then return {} end
  if not list then return nil, failure end
  local by_name = {}
  for _, info in ipairs(list) do by_name[info.InstanceType] = info end
  return by_name
end

local function reservations_in(ec2)
  return ec2:all("describe_capacity_reservations",
    { Filters = array { support.filter("state", "active") } })
end

local function running_in(ec2)
  local list, failure = ec2:all("describe_instances",
    { Filters = array { support.filter("instance-state-name", "pending", "running") } })
  if not list then return nil, failure end
  local running = {}
  for _, reservation in ipairs(list) do
    for _, instance in ipairs(reservation.Instances or {}) do running[#running + 1] = instance end
  end
  return running
end

local function granted(quotas, code)
  local answer, failure = quotas:get_service_quota { ServiceCode = "ec2", QuotaCode = code }
  if not answer and errors.not_found(failure) then
    answer, failure = quotas:get_aws_default_service_quota {
      ServiceCode = "ec2", QuotaCode = code }
  end
  if not answer then return nil, failure end
  return answer.Quota.Value
end

-- vCPU of types: the table's, else what EC2 says.
local function vcpus(ec2, names)
  local known, ask = {}, {}
  for name in pairs(names) do
    local row = instances.find(name)
    known[name] = row and row.vcpu
    if not row then ask[#ask + 1] = name end
  end
  if #ask == 0 then return known end
  table.sort(ask)
  local infos, failure = types_in(ec2, ask)
  if not infos then return nil, failure end
  for _, name in ipairs(ask) do
    known[name] = infos[name] and infos[name].VCpuInfo and infos[name].VCpuInfo.DefaultVCpus or 0
  end
  return known
end

-- vCPU of a quota's family in use: running instances that are not this deployment's own (theirs are
-- part of the need), and what active reservations hold unused.
local function used(ctx, ec2, code, running, reservations)
  local pattern = FAMILIES[code].pattern
  local counts = {}
  local function add(name, n)
    if name:match(pattern) then counts[name] = (counts[name] or 0) + n end
  end
  for _, instance in ipairs(running) do
    local own = support.is_ours(ctx, support.tags_of(instance.Tags))
    if not own then add(instance.InstanceType, 1) end
  end
  for _, reservation in ipairs(reservations) do
    local own = support.is_ours(ctx, support.tags_of(reservation.Tags))
    if not own and reservation.ReservationType ~= "capacity-block" then
      add(reservation.InstanceType, reservation.AvailableInstanceCount or 0)
    end
  end
  local sizes, failure = vcpus(ec2, counts)
  if not sizes then return nil, failure end
  local sum = 0
  for name, n in pairs(counts) do sum = sum + n * sizes[name] end
  return sum
end

local function quota_of(ctx, region, code, need, running, reservations)
  local ec2 = ctx:aws("ec2", { region = region })
  local value, failure = granted(ctx:aws("service_quotas", { region = region }), code)
  if not value then return nil, failure end
  local in_use, refused = used(ctx, ec2, code, running, reservations)
  if not in_use then return nil, refused end
  return { code = code, name = FAMILIES[code].name, region = region, need = need,
    granted = math.tointeger(value) or value, used = in_use, enough = value - in_use >= need }
end

local function best_reservation(list, instance, zone_id, count)
  local best
  for _, one in ipairs(list) do
    local fits = one.InstanceType == instance and one.AvailabilityZoneId == zone_id
    local free = one.AvailableInstanceCount or 0
    if fits and free >= count and (not best or free > best.free) then
      best = { id = one.CapacityReservationId, free = free,
        block = one.ReservationType == "capacity-block" }
    end
  end
  return best
end

-- Instances of this deployment that run inside a reservation: for them it is as good as free.
local function own_inside(ctx, running, id)
  local count = 0
  for _, instance in ipairs(running) do
    local own = support.is_ours(ctx, support.tags_of(instance.Tags))
    if own and instance.CapacityReservationId == id then count = count + 1 end
  end
  return count
end

local function reservation_error(spec, text)
  return err.new { code = "RTL-CAP-005", exit = "refused",
    message = ("reservation %s %s"):format(spec.reservation, text) }
end

-- The user's reservation in a region: what it is, and the error when it does not fit.
local function given_reservation(ctx, spec, region, answers)
  for _, one in ipairs(answers.reservations) do
    if one.CapacityReservationId == spec.reservation then
      local free = (one.AvailableInstanceCount or 0)
        + own_inside(ctx, answers.running, spec.reservation)
      local problem
      if one.InstanceType ~= spec.instance then
        problem = reservation_error(spec, "is for " .. one.InstanceType)
      elseif free < spec.count then
        problem = reservation_error(spec, ("has %d free, %d are needed"):format(free, spec.count))
      end
      return { id = spec.reservation, zone_id = one.AvailabilityZoneId, region = region,
        free = free, block = one.ReservationType == "capacity-block", problem = problem }
    end
  end
end

local function why_not(zone)
  if zone.refused then return "EKS refuses this zone" end
  if not zone.offered then return "not offered here" end
  if not zone.efa then return "no EFA" end
end

local function zone_rows(spec, region, answers, efa)
  local offered = {}
  for _, one in ipairs(answers.offerings) do offered[one.Location] = true end
  local rows = {}
  for _, zone in ipairs(answers.zones.AvailabilityZones or {}) do
    local id = zone.ZoneId
    local row = { zone_id = id, zone_name = zone.ZoneName, region = region,
      refused = REFUSED[id] or false, offered = offered[id] or false, efa = efa,
      reservation = best_reservation(answers.reservations, spec.instance, id, spec.count),
      price = answers.table.price and answers.table.price * spec.count }
    row.why = why_not(row)
    row.usable = row.why == nil
    rows[#rows + 1] = row
  end
  return rows
end

-- The table against what EC2 says: wrong GPU or EFA counts would build a wrong template.
local function disagreement(spec, info)
  local row = instances.of(spec.instance)
  local network = info.NetworkInfo or {}
  local efa = network.EfaInfo and network.EfaInfo.MaximumEfaInterfaces
    or (network.EfaSupported and row.efa or 0)
  local gpu = info.GpuInfo and info.GpuInfo.Gpus and info.GpuInfo.Gpus[1]
  local gpus = gpu and gpu.Count or row.gpus
  if efa == row.efa and gpus == row.gpus then return nil end
  return err.new { code = "RTL-CAP-008", exit = "refused",
    message = ("%s has %d GPUs and %d EFA interfaces by EC2, %d and %d by rtl's table")
      :format(spec.instance, gpus, efa, row.gpus, row.efa) }
end

local function quotas_in(ctx, spec, region, answers)
  local row = answers.table
  local list = {}
  local wants = { { row.quota, row.vcpu * spec.count, spec.reservation } }
  if spec.system then
    local system = instances.of(spec.system.instance)
    wants[2] = { system.quota, system.vcpu * spec.system.count }
  end
  for _, want in ipairs(wants) do
    local need = want[3] and 0 or want[2]
    local quota, failure = quota_of(ctx, region, want[1], need, answers.running,
      answers.reservations)
    if not quota then return nil, failure end
    list[#list + 1] = quota
  end
  return list
end

local function read_region(ctx, spec, region)
  local ec2 = ctx:aws("ec2", { region = region })
  local answers = parts_of(
    function () return zones_in(ec2) end,
    function () return offered_in(ec2, spec.instance) end,
    function () return types_in(ec2, { spec.instance }) end,
    function () return reservations_in(ec2) end,
    function () return running_in(ec2) end)
  local named = { zones = answers[1], offerings = answers[2], types = answers[3],
    reservations = answers[4], running = answers[5], table = instances.of(spec.instance) }
  local info = named.types[spec.instance]
  local problem = info and disagreement(spec, info)
  local efa = info and info.NetworkInfo and info.NetworkInfo.EfaSupported or false
  local quotas, failure = quotas_in(ctx, spec, region, named)
  if not quotas then error(failure, 0) end
  return { region = region, problem = problem, quotas = quotas,
    reservation = spec.reservation and given_reservation(ctx, spec, region, named),
    zones = zone_rows(spec, region, named, efa), known = info ~= nil }
end

local function before(order)
  return function (a, b)
    if a.usable ~= b.usable then return a.usable end
    local held_a, held_b = a.reservation ~= nil, b.reservation ~= nil
    if held_a ~= held_b then return held_a end
    if a.region ~= b.region then return order[a.region] < order[b.region] end
    return a.zone_id < b.zone_id
  end
end

local function short_quota(regions)
  for _, region in ipairs(regions) do
    for _, quota in ipairs(region.quotas or {}) do
      if not quota.enough then return quota end
    end
  end
end

local function quota_error(quota)
  return err.new { code = "RTL-CAP-001", exit = "refused", quota = quota.code,
    message = ("%d vCPU of %s (%s) are needed in %s: %s granted, %d used")
      :format(quota.need, quota.code, quota.name, quota.region, tostring(quota.granted),
        quota.used),
    hint = ("Ask for %s = %d in Service Quotas; reviews take hours to days")
      :format(quota.code, quota.need + quota.used) }
end

-- Why nothing can be built, or nil. A region with too small a quota is no place.
local function overall_problem(ranked, spec)
  for _, zone in ipairs(ranked.zones) do
    if zone.usable then return nil end
  end
  local quota = short_quota(ranked.regions)
  if quota then return quota_error(quota) end
  for _, region in ipairs(ranked.regions) do
    if region.problem then return region.problem end
  end
  return err.new { code = "RTL-CAP-002", exit = "refused",
    message = ("no zone of %s offers %s with EFA and can be used with EKS")
      :format(table.concat(spec.regions, ", "), spec.instance) }
end

-- The user's reservation among all regions; it decides the zone, or why nothing can be done.
local function take_reservation(ranked, spec)
  if not spec.reservation then return end
  for _, region in ipairs(ranked.regions) do
    ranked.reservation = ranked.reservation or region.reservation
  end
  local found = ranked.reservation
  ranked.problem = ranked.problem or found and found.problem
    or not found and reservation_error(spec, "is not active in "
      .. table.concat(spec.regions, ", ")) or nil
end

local function close_region(region, why)
  for _, zone in ipairs(region.zones) do
    if zone.usable then zone.usable, zone.why = false, why end
  end
end

--- Ranks the zones for `count` instances. spec: instance, count, regions (default: the context's),
-- system = {instance, count}, reservation (id: the quota for the GPUs is not needed then).
-- Returns { zones = {{zone_id, zone_name, region, offered, efa, refused, usable, why, reservation,
-- price}, best first}, regions = {{region, zones, quotas = {{code, name, need, granted, used,
-- enough}}, problem}}, reservation = {id, zone_id, region, free, block} of the given one, problem =
-- err or nil }; problem: RTL-CAP-001 quota, -002 offered nowhere, -005 a reservation that does not
-- fit, -008 the table is wrong. nil, err when a read is refused.
function M.rank(ctx, spec)
  spec.regions = spec.regions or { ctx.region }
  local order = {}
  for i, region in ipairs(spec.regions) do order[region] = i end
  local ok, regions = pcall(task.map, spec.regions, function (region)
    return read_region(ctx, spec, region)
  end, 8)
  if not ok then
    if err.is(regions) then return nil, regions end
    error(regions, 0)
  end
  local ranked = { zones = {}, regions = regions }
  for _, region in ipairs(regions) do
    local quota = short_quota { region }
    if quota then close_region(region, "quota: " .. quota.code) end
    if region.problem then close_region(region, "unknown type") end
    table.move(region.zones, 1, #region.zones, #ranked.zones + 1, ranked.zones)
  end
  table.sort(ranked.zones, before(order))
  ranked.problem = overall_problem(ranked, spec)
  take_reservation(ranked, spec)
  return ranked
end

--- Whether an error of a step says that another zone may have what this one has not.
function M.is_capacity(failure)
  return err.find(failure, function (e) return e.replan == true end) ~= nil
end

--- Remembers in the ledger that a zone had no capacity, so that the next choice is another one.
function M.note(ctx, failure)
  if not ctx.ledger then return true end
  return ctx.ledger:note("capacity", { zone = failure.zone_id, zones = failure.zones,
    message = failure.message })
end

-- The zones that had none in this run or lately, and those that EC2 offered instead (by name). Of a
-- zone that the user wants only this run's tries count: asking again is up to the user.
local function tried_zones(ctx, wanted)
  local tried, offered = {}, {}
  for _, note in ipairs(ctx.ledger and ctx.ledger:notes("capacity") or {}) do
    local at = clock.parse_iso(note.at) or 0
    local counts = note.run == ctx.run_id or not wanted and clock.utc() - at < FORGET
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
    or first_zone(region_zones, function (z) return free(z) and z.zone_id == state.nat end)
    or first_zone(region_zones, function (z) return free(z) and state.offered[z.zone_name] end)
    or first_zone(region_zones, free)
end

-- Two zones for the control plane: those that stand, else the GPU's and the next good one.
local function pick_network(region_zones, gpu, state)
  local network = {}
  local function add(zone)
    for _, one in ipairs(network) do
      if one == zone then return end
    end
    if zone and #network < 2 then network[#network + 1] = zone end
  end
  add(state.by_id[state.nat or ""])
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
-- the GPU zone is not one of these, tried = {zone_id = true} } | nil, err (RTL-CAP-004).
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
  local tried, offered = tried_zones(ctx, options.zone)
  local state = { by_id = by_id, subnets = subnets, tried = tried, offered = offered }
  if #subnets > 0 then
    local refused
    state.nat, refused = nat_zone(ctx, subnets)
    if refused then return nil, refused end
    state.group, refused = group_zone(ctx, options.cluster or ctx.deployment, by_id)
    if refused then return nil, refused end
  end
  local gpu = pick_gpu(zones, options, state)
  if not gpu then return nil, no_choice(zones, options, state) end
  local network = pick_network(zones, gpu, state)
  local extra = gpu ~= network[1] and gpu ~= network[2]
  return { gpu = gpu, network = network, extra = extra, tried = tried }
end

return M
