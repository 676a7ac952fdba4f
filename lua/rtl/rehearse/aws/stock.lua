--- How many GPU machines EC2 has left: by family and zone, as data. The rows are made up; that an
-- offered type is not a free machine is the point (EC2 user guide, InsufficientInstanceCapacity).

local M = {}

-- Family of the type → machines in a zone; rows of a region or zone win over the usual one.
local ROWS = {
  usual = { g4dn = 60, g5 = 40, g6 = 60, g6e = 24, gr6 = 12, p4d = 12, p4de = 6, p5 = 8, p5e = 4,
            p5en = 6, ["p6-b200"] = 4, ["p6-b300"] = 2 },
  ["us-east-1"] = { p5 = 4, p4d = 16 },
  ["use2-az3"] = { p5 = 2, g6 = 24 },
  ["usw2-az1"] = { p5en = 2, g6e = 8 },
  ["eu-north-1"] = { p5 = 12, p5en = 8 },
  ["ap-south-1"] = { g6 = 8, p5 = 2 },
}

local function in_zone(item, zone)
  return item.Placement.AvailabilityZone == zone.name
    and (item.State.Name == "pending" or item.State.Name == "running")
end

local function family(name)
  return name:match "^([%w-]+)%."
end

-- Machines of a family that run or are held unused in a zone.
local function taken(region, wanted, zone)
  local n = 0
  for _, item in ipairs(region.instances:all()) do
    if in_zone(item, zone) and family(item.InstanceType) == wanted then n = n + 1 end
  end
  for _, item in ipairs(region.reservations:all()) do
    local here = item.State == "active" and item.AvailabilityZone == zone.name
    if here and family(item.InstanceType) == wanted then n = n + item.AvailableInstanceCount end
  end
  return n
end

local function total(region, wanted, zone)
  for _, place in ipairs { zone.id, region.name, "usual" } do
    local n = ROWS[place] and ROWS[place][wanted]
    if n then return n end
  end
  return 0
end

-- Where the first zone that is asked for is empty, asking settles which one that is, for good: a
-- refused call changes nothing else and would not be in the journal.
local function is_empty(world, region, zone)
  local capacity, keys = world.weather.capacity, world.keys or {}
  if world.aws.used_up == zone.id and world.sky["half-capacity"] then return true end
  if capacity == "first-zone-empty" then
    if not world.aws.empty_zone then
      world.aws.empty_zone = zone.id
      world:touch()
    end
    return world.aws.empty_zone == zone.id
  end
  return capacity == "none"
    or capacity == "empty" and (keys.zone == zone.id or keys.region == region.name)
end

--- How many more machines of a type (of rtl.rehearse.aws.types) a zone of a region has now.
function M.free(world, region, kind, zone)
  if kind.gpus == 0 then return math.huge end
  if is_empty(world, region, zone) then return 0 end
  local wanted = family(kind.name)
  return total(region, wanted, zone) - taken(region, wanted, zone)
end

return M
