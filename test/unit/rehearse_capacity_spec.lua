local bill = require "rtl.rehearse.aws.bill"
local machines = require "rtl.rehearse.aws.ec2.machines"
local region_module = require "rtl.rehearse.aws.region"
local reservations = require "rtl.rehearse.aws.ec2.reservations"
local stock = require "rtl.rehearse.aws.stock"
local places = require "rtl.rehearse.aws.places"
local types = require "rtl.rehearse.aws.types"
local world_support = require "test.support.world"

local POOL = "AWS::EC2::CapacityReservationPool"
local GENERIC = { Type = "AWS::ResourceGroups::Generic", Parameters = { {
  Name = "allowed-resource-types", Values = { "AWS::EC2::CapacityReservation" } } } }

describe("the world's capacity", function ()
  local server, ec2, quotas, groups, clock

  local function start(spec)
    if server then server:stop() end
    server = world_support.start(spec)
    local session = server:session { region = "us-east-2" }
    ec2, quotas = session:client "ec2", session:client "service_quotas"
    groups, clock = session:client "resource_groups", require "rtl.clock"
  end
  before_each(function () start "calm" end)
  after_each(function ()
    server:stop()
    server = nil
  end)

  local function region() return region_module.of(server.world, "us-east-2") end
  local function call() return { world = server.world, region = region() } end
  local function later(seconds)
    server.world:advance(server.world.now_us + seconds * 1000000)
  end

  local function hold(zone, count, more)
    local params = { InstanceType = "g6.12xlarge", InstancePlatform = "Linux/UNIX",
      InstanceCount = count, AvailabilityZoneId = zone, InstanceMatchCriteria = "targeted",
      EndDateType = "limited", EndDate = math.floor(clock.utc()) + 3600 }
    for key, value in pairs(more or {}) do params[key] = value end
    local answer, failure = ec2:create_capacity_reservation(params)
    return answer and answer.CapacityReservation, failure
  end

  local function reservation(id)
    return ec2:all("describe_capacity_reservations", { CapacityReservationIds = { id } })[1]
  end

  local function launch(data)
    return reservations.for_launch(call(), { data = data, kind = types.of "g6.12xlarge",
      zone_name = "us-east-2b" })
  end

  local function target(t)
    return { CapacityReservationSpecification = { CapacityReservationTarget = t } }
  end

  it("is so many machines of a family in a zone, less what is held of them", function ()
    local zone, kind = places.zone("us-east-2", "use2-az2"), types.of "g6.12xlarge"
    assert.equal(60, stock.free(server.world, region(), kind, zone))
    assert(hold("use2-az2", 2))
    assert.equal(58, stock.free(server.world, region(), kind, zone))
    assert.equal(24, stock.free(server.world, region(), kind, places.zone("us-east-2", "use2-az3")))
    local p6 = types.of "p6-b200.48xlarge"
    local none, failure = hold("use2-az2", 5, { InstanceType = p6.name })
    assert.is_nil(none)
    assert.equal("InsufficientInstanceCapacity", failure.code)
    assert(hold("use2-az2", 4, { InstanceType = p6.name }))
  end)

  it("is empty in the zone or region that the scenario names", function ()
    start "empty,zone=use2-az2"
    assert.equal("InsufficientInstanceCapacity", select(2, hold("use2-az2", 1)).code)
    assert(hold("use2-az3", 1))
    start "empty,region=us-east-2"
    assert.equal("InsufficientInstanceCapacity", select(2, hold("use2-az3", 1)).code)
  end)

  it("holds until the end date and up to an hour more, or until it is cancelled", function ()
    local first, second = assert(hold("use2-az2", 1)), assert(hold("use2-az2", 1))
    assert(ec2:cancel_capacity_reservation { CapacityReservationId = second.CapacityReservationId })
    local gone = reservation(second.CapacityReservationId)
    assert.same({ "cancelled", 0 }, { gone.State, gone.AvailableInstanceCount })
    later(3590)
    assert.equal("active", reservation(first.CapacityReservationId).State)
    later(3620)
    assert.equal("expired", reservation(first.CapacityReservationId).State)
  end)

  it("refuses an end without its type, in the past, or in an unknown placement group", function ()
    for code, more in pairs {
      InvalidParameterCombination = { EndDateType = "unlimited" },
      InvalidParameterValue = { EndDate = math.floor(clock.utc()) - 10 },
      ["InvalidPlacementGroup.Unknown"] = { PlacementGroupArn = "arn:aws:ec2:x" },
    } do
      assert.equal(code, select(2, hold("use2-az2", 1, more)).code)
    end
  end)

  it("gives a launch the reservation that it names, and nothing else when that is full", function ()
    local held = assert(hold("use2-az2", 1))
    local id = held.CapacityReservationId
    assert.equal(id, launch(target { CapacityReservationId = id }).CapacityReservationId)
    assert.is_nil((launch {})) -- a targeted one is not for others
    region().reservations:get(id).AvailableInstanceCount = 0
    local none, code = launch(target { CapacityReservationId = id })
    assert.is_nil(none)
    assert.equal("ReservationCapacityExceeded", code)
  end)

  it("gives a launch that names a group what is in it, else ordinary machines", function ()
    local held, other = assert(hold("use2-az2", 1)), assert(hold("use2-az2", 1))
    local group = assert(groups:create_group { Name = "gpu",
      Configuration = { { Type = POOL }, GENERIC } }).Group
    local into = target { CapacityReservationResourceGroupArn = group.GroupArn }
    assert.is_nil((launch(into)))
    local put = assert(groups:group_resources { Group = "gpu",
      ResourceArns = { held.CapacityReservationArn, "arn:aws:ec2:us-east-2:1:x/cr-0" } })
    assert.same({ held.CapacityReservationArn }, table.move(put.Succeeded, 1, 9, 1, {}))
    assert.equal("RESOURCE_NOT_FOUND", put.Failed[1].ErrorCode)
    assert.equal(held.CapacityReservationId, launch(into).CapacityReservationId)
    assert.is_not.equal(other.CapacityReservationId, launch(into).CapacityReservationId)
    assert(ec2:cancel_capacity_reservation { CapacityReservationId = held.CapacityReservationId })
    local none, code = launch(into)
    assert.is_nil(none)
    assert.is_nil(code) -- On-Demand: a replacement still starts
  end)

  it("heeds what a launch prefers: open reservations, none, or nothing else", function ()
    local function with(preference, t)
      local data = target(t)
      data.CapacityReservationSpecification.CapacityReservationPreference = preference
      return launch(data)
    end
    local full = { nil, "ReservationCapacityExceeded" }
    assert.same(full, { (with "capacity-reservations-only"), (select(2,
      with "capacity-reservations-only")) })
    assert.same({}, { with "open" })
    local open = assert(hold("use2-az2", 1, { InstanceMatchCriteria = "open" }))
    assert.equal(open.CapacityReservationId, launch {}.CapacityReservationId)
    assert.equal(open.CapacityReservationId, with "open".CapacityReservationId)
    assert.equal(open.CapacityReservationId,
      with "capacity-reservations-only".CapacityReservationId)
    assert.same({}, { with "none" })
    local group = assert(groups:create_group { Name = "gpu",
      Configuration = { { Type = POOL }, GENERIC } }).Group
    local into = { CapacityReservationResourceGroupArn = group.GroupArn }
    assert.equal("ReservationCapacityExceeded",
      select(2, with("capacity-reservations-only", into)))
    for _, preference in ipairs { "open", "none" } do
      assert.equal("InvalidParameterCombination", select(2, with(preference, into)))
    end
  end)

  it("gives a reservation in a placement group to launches into that group only", function ()
    local near = assert(ec2:create_placement_group { GroupName = "near", Strategy = "cluster" })
    local held = assert(hold("use2-az2", 1, { PlacementGroupArn = near.PlacementGroup.GroupArn }))
    local data = target { CapacityReservationId = held.CapacityReservationId }
    assert.equal("ReservationCapacityExceeded", select(2, launch(data)))
    data.Placement = { GroupName = "near" }
    assert.equal(held.CapacityReservationId, launch(data).CapacityReservationId)
    local plain = assert(hold("use2-az2", 1))
    local mixed = target { CapacityReservationId = plain.CapacityReservationId }
    mixed.Placement = { GroupName = "near" }
    assert.equal("ReservationCapacityExceeded", select(2, launch(mixed)))
  end)

  it("takes a Capacity Block only by its market, and keeps it to its end", function ()
    local held = assert(hold("use2-az2", 1))
    region().reservations:get(held.CapacityReservationId).ReservationType = "capacity-block"
    local data = target { CapacityReservationId = held.CapacityReservationId }
    assert.equal("ReservationCapacityExceeded", select(2, launch(data)))
    data.InstanceMarketOptions = { MarketType = "capacity-block" }
    assert.equal(held.CapacityReservationId, launch(data).CapacityReservationId)
    data.CapacityReservationSpecification = nil -- a block is never taken by chance
    assert.equal("ReservationCapacityExceeded", select(2, launch(data)))
    local _, failure = ec2:cancel_capacity_reservation {
      CapacityReservationId = held.CapacityReservationId }
    assert.equal("InvalidRequest", failure.code)
  end)

  it("holds more machines in a reservation only where there are more", function ()
    local id = assert(hold("use2-az2", 1)).CapacityReservationId
    local function set(count)
      return ec2:modify_capacity_reservation { CapacityReservationId = id, InstanceCount = count }
    end
    assert(set(2))
    assert.equal("InstanceLimitExceeded", select(2, set(1000)).code)
    server.world.weather.capacity = "none"
    assert.equal("InsufficientInstanceCapacity", select(2, set(3)).code)
    assert.equal(2, reservation(id).TotalInstanceCount)
    assert(set(1))
    local _, failure = ec2:modify_capacity_reservation { CapacityReservationId = id,
      EndDateType = "limited", EndDate = math.floor(clock.utc()) - 1 }
    assert.equal("InvalidParameterValue", failure.code)
  end)

  local function run_in(id)
    local subnet = region().subnets:first(function (it)
      return it.AvailabilityZone == "us-east-2b"
    end)
    machines.start(call(), { type = "g6.12xlarge", subnet = subnet, data = {}, groups = {},
      image = "ami-00000000000000001", tags = {}, reservation = id })
  end

  local function billed(what)
    for _, line in ipairs((bill.lines(server.world))) do
      if line.what == what then return line.hours end
    end
    return nil
  end

  it("bills a hold for its idle time, also when what started in it goes on after it", function ()
    local id = assert(hold("use2-az2", 1)).CapacityReservationId
    later(1800)
    run_in(id)
    assert(ec2:cancel_capacity_reservation { CapacityReservationId = id })
    later(7200)
    assert.is_near(0.5, billed "reservation", 0.01)
    assert.is_near(2.0, billed "instance", 0.01)
  end)

  it("does not bill what runs in a Capacity Block: that was paid before", function ()
    local id = assert(hold("use2-az2", 1)).CapacityReservationId
    region().reservations:get(id).ReservationType = "capacity-block"
    run_in(id)
    later(1800)
    assert.same({}, { billed "reservation", billed "instance" })
  end)

  it("sells blocks by their id, which begin, stop what runs in them, and end", function ()
    local offer = ec2:all("describe_capacity_block_offerings", { InstanceType = "p5.48xlarge",
      InstanceCount = 2, CapacityDurationHours = 24 })[1]
    local block = assert(ec2:purchase_capacity_block { InstancePlatform = "Linux/UNIX",
      CapacityBlockOfferingId = offer.CapacityBlockOfferingId }).CapacityReservation
    assert.same({ offer.AvailabilityZone, offer.StartDate, offer.EndDate },
      { block.AvailabilityZone, block.StartDate, block.EndDate })
    local id = block.CapacityReservationId
    local function free_and_state()
      local one = reservation(id)
      return { one.State, one.AvailableInstanceCount }
    end
    assert.same({ "payment-pending", 0 }, free_and_state())
    later(600)
    assert.same({ "scheduled", 0 }, free_and_state())
    later(offer.StartDate - clock.utc() + 1)
    assert.same({ "active", 2 }, free_and_state())
    assert.equal(0, require("rtl.rehearse.aws.ec2.capacity").vcpus_used(region(), "L-417A185B"))
    later(86400)
    assert.same({ "expired", 0 }, free_and_state())
    local _, failure = ec2:purchase_capacity_block { InstancePlatform = "Linux/UNIX",
      CapacityBlockOfferingId = "cbr-0ffffffffffffffff" }
    assert.matches("NotFound", failure.code)
  end)

  it("grants a quota a while after it is asked for, where the scenario says so", function ()
    start "quota-later,after=600"
    local quota = { ServiceCode = "ec2", QuotaCode = "L-DB2E81BA" }
    local function value() return quotas:get_service_quota(quota).Quota.Value end
    assert.equal(0.0, value())
    assert.equal("InstanceLimitExceeded", select(2, hold("use2-az2", 2)).code)
    quota.DesiredValue = 96.0
    assert(quotas:request_service_quota_increase(quota))
    local _, failure = quotas:request_service_quota_increase(quota)
    assert.equal("ResourceAlreadyExistsException", failure.code)
    quota.DesiredValue = nil
    later(300)
    local history = quotas:all("list_requested_service_quota_change_history_by_quota", quota)
    assert.equal("CASE_OPENED", history[1].Status)
    assert.equal(0.0, value())
    later(400)
    assert.equal(96.0, value())
    assert(hold("use2-az2", 2))
  end)

  it("knows regions that the account has not enabled", function ()
    local function list(all)
      local statuses = {}
      for _, one in ipairs(ec2:describe_regions { AllRegions = all }.Regions) do
        statuses[one.RegionName] = one.OptInStatus
      end
      return statuses
    end
    assert.is_nil(list(false)["af-south-1"])
    assert.equal("not-opted-in", list(true)["af-south-1"])
    local far = server:session { region = "af-south-1" }
    assert.equal("AuthFailure", select(2, far:client "ec2":describe_vpcs {}).code)
    assert.equal("UnrecognizedClientException", select(2, far:client "service_quotas"
      :get_service_quota { ServiceCode = "ec2", QuotaCode = "L-DB2E81BA" }).code)
  end)
end)
