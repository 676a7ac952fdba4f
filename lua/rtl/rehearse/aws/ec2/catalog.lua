--- EC2: regions, zones, instance types and where they are offered, spot scores and prices.

local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local common = require "rtl.rehearse.aws.ec2.common"
local fault = require "rtl.rehearse.aws.fault"
local places = require "rtl.rehearse.aws.places"
local shelf = require "rtl.rehearse.aws.shelf"
local types = require "rtl.rehearse.aws.types"

local M = { operations = {} }
local ops = M.operations

-- A shelf of computed items, so that filters work on them like on all others.
local function shelf_of(items, field)
  local made = shelf.new()
  for _, item in ipairs(items) do made:add(item[field], item) end
  return made
end

function ops.describe_regions(_, p)
  local items = {}
  for _, name in ipairs(places.names) do
    if p.AllRegions or not places.disabled[name] then
      items[#items + 1] = { RegionName = name, Endpoint = ("ec2.%s.amazonaws.com"):format(name),
        OptInStatus = places.disabled[name] and "not-opted-in" or "opt-in-not-required" }
    end
  end
  local list, refused = common.select(shelf_of(items, "RegionName"), { ids = p.RegionNames,
    filters = p.Filters, missing = "InvalidParameterValue",
    known = { ["region-name"] = "RegionName", endpoint = "Endpoint",
              ["opt-in-status"] = "OptInStatus" } })
  return list and { Regions = list }, refused
end

local ZONE_FILTERS = { ["zone-type"] = "ZoneType", state = "State", ["zone-name"] = "ZoneName",
  ["zone-id"] = "ZoneId", ["region-name"] = "RegionName", ["opt-in-status"] = "OptInStatus",
  ["group-name"] = "GroupName" }

function ops.describe_availability_zones(call, p)
  local items, region = {}, call.region.name
  for i, zone in ipairs(places.regions[region]) do
    items[i] = { ZoneName = zone.name, ZoneId = zone.id, RegionName = region, State = "available",
                 ZoneType = "availability-zone", OptInStatus = "opt-in-not-required",
                 GroupName = region .. "-zg-1", Messages = array {} }
  end
  local list, refused = common.select(shelf_of(items, "ZoneName"), { ids = p.ZoneNames,
    filters = p.Filters, missing = "InvalidParameterValue", known = ZONE_FILTERS })
  if not list or not p.ZoneIds or #p.ZoneIds == 0 then
    return list and { AvailabilityZones = list }, refused
  end
  local wanted, kept = {}, array {}
  for _, id in ipairs(p.ZoneIds) do wanted[id] = true end
  for _, item in ipairs(list) do
    if wanted[item.ZoneId] then kept[#kept + 1] = item end
  end
  return { AvailabilityZones = kept }
end

local function network_info(kind)
  local cards = array {}
  for i = 1, kind.cards do
    cards[i] = { NetworkCardIndex = i - 1, NetworkPerformance = kind.gbit // kind.cards
      .. " Gigabit", MaximumNetworkInterfaces = kind.interfaces,
      BaselineBandwidthInGbps = kind.gbit / kind.cards,
      PeakBandwidthInGbps = kind.gbit / kind.cards }
  end
  return { NetworkPerformance = kind.gbit .. " Gigabit", NetworkCards = cards,
    MaximumNetworkInterfaces = kind.interfaces * kind.cards, MaximumNetworkCards = kind.cards,
    DefaultNetworkCardIndex = 0, Ipv4AddressesPerInterface = kind.addresses,
    EnaSupport = "required", EfaSupported = kind.efa > 0,
    EfaInfo = kind.efa > 0 and { MaximumEfaInterfaces = kind.efa } or nil,
    EncryptionInTransitSupported = true }
end

local function type_info(kind)
  return { InstanceType = kind.name, CurrentGeneration = true, BareMetal = false,
    SupportedUsageClasses = kind.quota == "L-417A185B"
      and array { "on-demand", "spot", "capacity-block" } or array { "on-demand", "spot" },
    ProcessorInfo = { SupportedArchitectures = array { "x86_64" }, Manufacturer = "Intel" },
    VCpuInfo = { DefaultVCpus = kind.vcpu, DefaultCores = kind.vcpu // 2,
                 DefaultThreadsPerCore = 2 },
    MemoryInfo = { SizeInMiB = kind.memory_gib * 1024 },
    InstanceStorageSupported = kind.gpus > 0, NetworkInfo = network_info(kind),
    GpuInfo = kind.gpus > 0 and { TotalGpuMemoryInMiB = kind.gpus * kind.gpu_mib,
      Gpus = array { { Name = kind.gpu, Manufacturer = "NVIDIA", Count = kind.gpus,
                       MemoryInfo = { SizeInMiB = kind.gpu_mib } } } } or nil,
    PlacementGroupInfo = { SupportedStrategies = array { "cluster", "partition", "spread" } },
    efa = tostring(kind.efa > 0) }
end

local TYPE_FILTERS = { ["instance-type"] = "InstanceType",
  ["network-info.efa-supported"] = "efa", ["current-generation"] = "CurrentGeneration",
  ["processor-info.supported-architecture"] = function () return "x86_64" end }

function ops.describe_instance_types(call, p)
  local items = {}
  for i, name in ipairs(types.names) do items[i] = type_info(types.of(name)) end
  local list, refused = common.select(shelf_of(items, "InstanceType"), { ids = p.InstanceTypes,
    filters = p.Filters, missing = "InvalidInstanceType", known = TYPE_FILTERS })
  if not list and refused.code == "InvalidInstanceType" then
    refused.message = "The following supplied instance types do not exist: ["
                      .. table.concat(p.InstanceTypes, ", ") .. "]"
  end
  return list and call and { InstanceTypes = list }, refused
end

local LOCATIONS = { region = true, ["availability-zone"] = "name", ["availability-zone-id"] = "id" }

function ops.describe_instance_type_offerings(call, p)
  local location = p.LocationType or "region"
  local field, items = LOCATIONS[location], {}
  if not field then return { InstanceTypeOfferings = array {} } end
  for _, name in ipairs(types.names) do
    local seen = {}
    for _, zone in ipairs(places.regions[call.region.name]) do
      local where = field == true and call.region.name or zone[field]
      if types.offered(types.of(name), call.region.name, zone) and not seen[where] then
        seen[where] = true
        items[#items + 1] = { InstanceType = name, LocationType = location, Location = where,
                              key = name .. " " .. where }
      end
    end
  end
  local list, refused = common.select(shelf_of(items, "key"), { filters = p.Filters,
    known = { ["instance-type"] = "InstanceType", location = "Location" } })
  return list and { InstanceTypeOfferings = list }, refused
end

function ops.get_spot_placement_scores(call, p)
  local list = array {}
  for _, region in ipairs(p.RegionNames or { call.region.name }) do
    for _, zone in ipairs(places.regions[region] or {}) do
      local score = 1 + (chance.hash(call.world.seed, "spot", zone.id) >> 1) % 4
      list[#list + 1] = { Region = region, Score = score,
                          AvailabilityZoneId = p.SingleAvailabilityZone and zone.id or nil }
      if not p.SingleAvailabilityZone then break end
    end
  end
  return { SpotPlacementScores = list }
end

function ops.describe_spot_price_history(call, p)
  local list = array {}
  for _, name in ipairs(p.InstanceTypes or {}) do
    local kind = types.of(name)
    if not kind then
      return fault.fail("InvalidInstanceType", "Invalid instance type: " .. name)
    end
    for _, zone in ipairs(places.regions[call.region.name]) do
      if types.offered(kind, call.region.name, zone) then
        list[#list + 1] = { AvailabilityZone = zone.name, AvailabilityZoneId = zone.id,
          InstanceType = name, ProductDescription = "Linux/UNIX",
          Timestamp = call.world:second() - 600,
          SpotPrice = ("%.6f"):format(kind.vcpu * 0.035 * chance.between(0.8, 1.2,
            call.world.seed, "spot price", name, zone.id)) }
      end
    end
  end
  return { SpotPriceHistory = list }
end

function ops.describe_account_attributes(call)
  return { AccountAttributes = array { { AttributeName = "default-vpc", AttributeValues = array {
    { AttributeValue = call.region.vpcs.order[1] or "none" } } } } }
end

function ops.describe_images(call, p)
  local list = array {}
  for _, id in ipairs(p.ImageIds or {}) do
    list[#list + 1] = { ImageId = id, Name = "amazon-eks-node-al2023-" .. id, State = "available",
      OwnerId = "602401143452", Architecture = "x86_64", RootDeviceName = "/dev/xvda",
      RootDeviceType = "ebs", Public = true, Tags = array {}, BlockDeviceMappings = array {} }
  end
  return call and { Images = list }
end

return M
