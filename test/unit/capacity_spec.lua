local capacity = require "rtl.kinds.capacity"
local clock = require "rtl.clock"
local err = require "rtl.err"
local scripted_aws = require "test.support.scripted_aws"
local task = require "rtl.task"
local toy = require "test.support.toy"

local ZONES = { { ZoneName = "us-east-2c", ZoneId = "use2-az3" },
  { ZoneName = "us-east-2a", ZoneId = "use2-az1" },
  { ZoneName = "us-east-2b", ZoneId = "use2-az2" } }

local function offerings(...)
  local list = {}
  for _, zone in ipairs { ... } do
    list[#list + 1] = { InstanceType = "g6.12xlarge", Location = zone }
  end
  return list
end

local function info(efa, gpus)
  return { { InstanceType = "g6.12xlarge", VCpuInfo = { DefaultVCpus = 48 },
    NetworkInfo = { EfaSupported = efa > 0, EfaInfo = { MaximumEfaInterfaces = efa } },
    GpuInfo = { Gpus = { { Name = "L4", Count = gpus or 4 } } } } }
end

local function answers(more)
  local all = {
    ["ec2:describe_availability_zones"] = { AvailabilityZones = ZONES },
    ["ec2:describe_instance_type_offerings"] = offerings("use2-az2", "use2-az3"),
    ["ec2:describe_instance_types"] = info(1),
    ["ec2:describe_capacity_reservations"] = {},
    ["ec2:describe_instances"] = {},
    ["service_quotas:get_service_quota"] = { Quota = { Value = 192.0 } },
    ["ec2:describe_subnets"] = {},
    ["pricing:get_products"] = {},
  }
  for key, value in pairs(more or {}) do all[key] = value end
  return all
end

local SPEC = { instance = "g6.12xlarge", count = 2,
  system = { instance = "m7i.xlarge", count = 1 } }

local function spec(more)
  local all = {}
  for key, value in pairs(SPEC) do all[key] = value end
  for key, value in pairs(more or {}) do all[key] = value end
  return all
end

local function rank(more, options)
  local ctx = scripted_aws.context(answers(more))
  return task.run(capacity.rank, ctx, spec(options)), ctx
end

local function ids(zones, only_usable)
  local list = {}
  for _, zone in ipairs(zones) do
    if zone.usable or not only_usable then list[#list + 1] = zone.zone_id end
  end
  return list
end

describe("capacity", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  it("ranks by what is offered, whatever the order of the answer", function ()
    local ranked = rank()
    assert.is_nil(ranked.problem)
    assert.same({ "use2-az2", "use2-az3", "use2-az1" }, ids(ranked.zones))
    assert.equal("not offered here", ranked.zones[3].why)
    local quota = ranked.regions[1].quotas[1]
    assert.same({ "L-DB2E81BA", 96, 192, 0, true },
      { quota.code, quota.need, quota.granted, quota.used, quota.enough })
  end)

  it("skips the zones that EKS refuses", function ()
    local ranked = rank { ["ec2:describe_availability_zones"] = { AvailabilityZones = {
      { ZoneName = "us-east-1e", ZoneId = "use1-az3" },
      { ZoneName = "us-east-1a", ZoneId = "use1-az1" } } },
      ["ec2:describe_instance_type_offerings"] = offerings("use1-az3", "use1-az1") }
    assert.same({ "use1-az1" }, ids(ranked.zones, true))
  end)

  it("names quota and need when there is none, and nothing else", function ()
    local ranked = rank { ["service_quotas:get_service_quota"] = { Quota = { Value = 0.0 } } }
    assert.equal("RTL-CAP-001", ranked.problem.code)
    assert.equal("refused", ranked.problem.exit)
    assert.matches("96 vCPU of L%-DB2E81BA .*us%-east%-2: 0 granted, 0 used",
      ranked.problem.message)
    assert.same({}, ids(ranked.zones, true))
  end)

  it("takes the default where no quota is stored", function ()
    local ranked = rank {
      ["service_quotas:get_service_quota"] = function ()
        return scripted_aws.refuse "NoSuchResourceException"
      end,
      ["service_quotas:get_aws_default_service_quota"] = { Quota = { Value = 64.0 } },
    }
    assert.equal("RTL-CAP-001", ranked.problem.code)
    assert.equal(64, ranked.regions[1].quotas[1].granted)
  end)

  it("counts all instances and unused reservations, and needs room beside the others'", function ()
    local mine = { { Key = "rtl:deployment", Value = "toy" } }
    local ranked = rank {
      ["ec2:describe_instances"] = { { Instances = { { InstanceType = "g6.12xlarge", Tags = mine },
        { InstanceType = "g6.12xlarge" }, { InstanceType = "g6.xlarge" },
        { InstanceType = "m7i.xlarge" } } } },
      ["ec2:describe_capacity_reservations"] = { { InstanceType = "g6.12xlarge",
        AvailabilityZoneId = "use2-az1", AvailableInstanceCount = 1 } },
    }
    local quota = ranked.regions[1].quotas[1]
    assert.same({ 48 + 48 + 4 + 48, 48, 48 + 4 + 48 + 96 }, { quota.used, quota.own, quota.ask })
    assert.equal(4, ranked.regions[1].quotas[2].used)
    assert.equal("RTL-CAP-001", ranked.problem.code)
  end)

  it("puts a zone with a fitting reservation first, and needs no quota for a given one", function ()
    local reservation = { CapacityReservationId = "cr-1", InstanceType = "g6.12xlarge",
      AvailabilityZoneId = "use2-az3", AvailableInstanceCount = 2 }
    local ranked = rank { ["ec2:describe_capacity_reservations"] = { reservation } }
    assert.equal("use2-az3", ranked.zones[1].zone_id)
    assert.equal("cr-1", ranked.zones[1].reservation.id)
    ranked = rank({ ["ec2:describe_capacity_reservations"] = { reservation },
      ["service_quotas:get_service_quota"] = { Quota = { Value = 96.0 } } },
      { reservation = "cr-1" })
    assert.is_nil(ranked.problem)
    assert.equal(0, ranked.regions[1].quotas[1].need)
  end)

  it("does not ask for quota where the type is not offered", function ()
    local ranked = rank { ["ec2:describe_instance_type_offerings"] = {},
      ["service_quotas:get_service_quota"] = { Quota = { Value = 0.0 } } }
    assert.equal("RTL-CAP-002", ranked.problem.code)
  end)

  it("says of a reservation that eats the quota that it can be launched into", function ()
    local ranked = rank { ["ec2:describe_capacity_reservations"] = { {
      CapacityReservationId = "cr-1", InstanceType = "g6.12xlarge",
      AvailabilityZoneId = "use2-az3", AvailableInstanceCount = 2 } },
      ["service_quotas:get_service_quota"] = { Quota = { Value = 96.0 } } }
    assert.equal("RTL-CAP-001", ranked.problem.code)
    assert.matches("cr-1 has 2 free: --reservation cr-1 launches into it", ranked.problem.hint, 1,
      true)
  end)

  it("checks a given reservation: type, free ones, our own inside, that it is there", function ()
    local function problem(reservation, instances)
      local ranked = rank({
        ["ec2:describe_capacity_reservations"] = { reservation },
        ["ec2:describe_instances"] = { { Instances = instances or {} } } },
        { reservation = "cr-1" })
      return ranked.problem, ranked.reservation
    end
    local row = { CapacityReservationId = "cr-1", InstanceType = "g6.12xlarge",
      AvailabilityZoneId = "use2-az3", AvailableInstanceCount = 1 }
    local failure = problem(row)
    assert.equal("RTL-CAP-005", failure.code)
    assert.matches("has 1 free, 2 are needed", failure.message)
    local none, found = problem(row, { { InstanceType = "g6.12xlarge",
      CapacityReservationId = "cr-1", Tags = { { Key = "rtl:deployment", Value = "toy" } } } })
    assert.is_nil(none)
    assert.equal("use2-az3", found.zone_id)
    row.AvailableInstanceCount = 2
    for field, text in pairs { State = "scheduled", InstancePlatform = "Windows",
      Tenancy = "dedicated" } do
      row[field] = text
      assert.matches(text, problem(row).message)
      row[field] = nil
    end
    row.StartDate, row.State = 1, "payment-failed"
    assert.matches("is payment%-failed$", problem(row).message)
    row.StartDate, row.State = nil, nil
    row.InstanceType = "g6.24xlarge"
    assert.matches("is for g6.24xlarge", problem(row).message)
    row.CapacityReservationId = "cr-2"
    assert.matches("is not active in us%-east%-2", problem(row).message)
  end)

  it("says so when the type is offered nowhere, or is not what the table says", function ()
    local nowhere = rank { ["ec2:describe_instance_type_offerings"] = {} }
    assert.equal("RTL-CAP-002", nowhere.problem.code)
    assert.equal("RTL-CAP-002", rank { ["ec2:describe_instance_types"] = function ()
      return scripted_aws.refuse "InvalidInstanceType"
    end }.problem.code)
    local ranked = rank { ["ec2:describe_instance_types"] = info(1, 8) }
    assert.equal("RTL-CAP-008", ranked.problem.code)
    assert.equal("gpus", ranked.problem.field)
    assert.matches("g6.12xlarge: gpus is 8 by EC2, 4 by rtl's table", ranked.problem.message)
    assert.same({}, ids(ranked.zones, true))
  end)

  it("counts neither spot instances, blocks nor what others share against the quota", function ()
    local ranked = rank {
      ["ec2:describe_instances"] = { { Instances = {
        { InstanceType = "g6.12xlarge", InstanceLifecycle = "spot" },
        { InstanceType = "g6.12xlarge", InstanceLifecycle = "capacity-block" } } } },
      ["ec2:describe_capacity_reservations"] = {
        { InstanceType = "g6.12xlarge", AvailableInstanceCount = 2, OwnerId = "999999999999" },
        { InstanceType = "g6.12xlarge", AvailableInstanceCount = 2, State = "scheduled" },
        { InstanceType = "g6.12xlarge", AvailableInstanceCount = 2,
          ReservationType = "capacity-block" } },
    }
    assert.equal(0, ranked.regions[1].quotas[1].used)
  end)

  it("shows a Capacity Block that is on sale, the first of them, also where nothing else is",
    function ()
      local function block(zone, starts, fee)
        return { CapacityBlockOfferingId = "cbr-" .. starts .. fee, InstanceType = "p5.48xlarge",
          AvailabilityZone = zone, InstanceCount = 2, StartDate = starts, EndDate = starts + 86400,
          CapacityBlockDurationHours = 24, UpfrontFee = fee, CurrencyCode = "USD" }
      end
      local asked
      local p5 = { { InstanceType = "p5.48xlarge", NetworkInfo = { EfaSupported = true } } }
      local ranked = rank({ ["ec2:describe_instance_types"] = p5,
        ["ec2:describe_instance_type_offerings"] = {},
        ["ec2:describe_capacity_block_offerings"] = function (params)
          asked = params
          return { block("us-east-2b", 200, "9.50"), block("us-east-2b", 100, "10.00"),
            block("us-east-2b", 100, "9.75") }
        end }, { instance = "p5.48xlarge", block_hours = 48 })
      assert.same({ InstanceType = "p5.48xlarge", InstanceCount = 2, CapacityDurationHours = 48 },
        asked)
      assert.equal("use2-az2", ranked.zones[1].zone_id)
      assert.same({ "cbr-1009.75", 100, 86500, 9.75, "USD" }, { ranked.zones[1].block.id,
        ranked.zones[1].block.starts, ranked.zones[1].block.ends, ranked.zones[1].block.price,
        ranked.zones[1].block.currency })
      assert.is_nil(ranked.zones[2].block)
    end)

  it("goes on without blocks where they can't be told", function ()
    local ranked = rank({ ["ec2:describe_instance_types"] = {},
      ["ec2:describe_capacity_block_offerings"] = function ()
        return scripted_aws.refuse("UnsupportedOperation", "not here")
      end }, { instance = "p5.48xlarge" })
    assert.is_nil(ranked.regions[1].failure)
    assert.matches("not here", ranked.regions[1].blocks_why)
  end)

  it("reads twenty regions in one round of calls, whatever becomes of some", function ()
    local regions, calls = {}, {}
    for i = 1, 20 do regions[i] = ("r-%02d"):format(i) end
    local slow = {}
    for op, answer in pairs(answers()) do
      slow[op] = function (_, _, region)
        calls[region] = (calls[region] or 0) + 1
        task.sleep(1)
        if region == "r-03" then return scripted_aws.refuse "AuthFailure" end
        if region == "r-04" then return scripted_aws.refuse("RTL-NET-002", "can't connect") end
        if region == "r-05" then task.sleep(1000) end
        return answer
      end
    end
    local ctx = scripted_aws.context(slow)
    local began = clock.mono()
    local ranked = task.run(capacity.rank, ctx, spec { regions = regions })
    assert.equal(40, clock.mono() - began) -- the patience with r-05
    assert.equal(17 * 3, #ranked.zones)
    assert.same({ "not enabled for this account (AuthFailure)", "not reachable: can't connect",
      "no answer within 40 s" }, { ranked.regions[3].why, ranked.regions[4].why,
      ranked.regions[5].why })
    assert.equal("r-01", ranked.zones[1].region)
    table.remove(regions, 5)
    began = clock.mono()
    assert(task.run(capacity.rank, ctx, spec { regions = regions }))
    assert.equal(1, clock.mono() - began) -- as long as one call
    assert.equal(7 * 2, calls["r-01"])
  end)

  it("returns a refused read of the only region as an error", function ()
    local ctx = scripted_aws.context(answers { ["ec2:describe_instances"] = function ()
      return scripted_aws.refuse "UnauthorizedOperation"
    end })
    local ranked, failure = task.run(capacity.rank, ctx, spec())
    assert.is_nil(ranked)
    assert.equal("UnauthorizedOperation", failure.code)
  end)
end)

describe("asking for quota", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  local SHORT = { code = "L-DB2E81BA", region = "us-west-2", ask = 96 }

  local function history(...)
    return { ["service_quotas:list_requested_service_quota_change_history_by_quota"] = { ... } }
  end

  local function request(answers_of)
    local ctx, fake = scripted_aws.context(answers_of)
    local value, failure = task.run(capacity.request_quota, ctx, SHORT)
    return value, failure, fake
  end

  it("files a request for what is needed, in the region that needs it", function ()
    local given = history { Id = "old", Status = "CASE_CLOSED" }
    local sent, where
    given["service_quotas:request_service_quota_increase"] = function (params, _, region)
      sent, where = params, region
      return { RequestedQuota = { Id = "new" } }
    end
    assert.same({ id = "new", value = 96, open = false }, (request(given)))
    assert.same({ ServiceCode = "ec2", QuotaCode = "L-DB2E81BA", DesiredValue = 96.0 }, sent)
    assert.equal("us-west-2", where)
  end)

  it("files none while one is open, also one that nobody saw", function ()
    for _, status in ipairs { "PENDING", "CASE_OPENED" } do
      local found = request(history { Id = "r-1", Status = status, DesiredValue = 192 })
      assert.same({ id = "r-1", value = 192, open = true }, found)
    end
    local given = history()
    given["service_quotas:request_service_quota_increase"] = function ()
      return scripted_aws.refuse "ResourceAlreadyExistsException"
    end
    assert.is_true(request(given).open)
    given["service_quotas:request_service_quota_increase"] = function ()
      return scripted_aws.refuse "AccessDeniedException"
    end
    assert.equal("AccessDeniedException", select(2, request(given)).code)
  end)

  local function wait(given, limit)
    local ctx = scripted_aws.context(given)
    return task.run(capacity.wait_for_quota, ctx, SHORT, { id = "r-1" }, limit)
  end

  it("waits as long as it was told, and until it is granted or refused", function ()
    local looks, status = 0, "CASE_OPENED"
    local given = {
      ["service_quotas:get_service_quota"] = function ()
        looks = looks + 1
        return { Quota = { Value = looks > 10 and 96.0 or 0.0 } }
      end,
      ["service_quotas:list_requested_service_quota_change_history_by_quota"] = function ()
        return { { Id = "r-1", Status = status } }
      end,
    }
    local began = clock.mono()
    local none, failure = wait(given, 150)
    assert.is_nil(none)
    assert.same({ "RTL-CAP-010", "refused" }, { failure.code, failure.exit })
    assert.matches("is asked for and not granted yet", failure.message)
    assert.equal(150, clock.mono() - began)
    assert.equal(96, (wait(given, 3600)))
    looks, status = 0, "DENIED"
    assert.matches("was not granted: DENIED", select(2, wait(given, 3600)).message)
  end)
end)

describe("the choice of a zone", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  local function choose(more, options, notes)
    local ledger = { notes = function () return notes or {} end, state = function () return {} end }
    local ctx = scripted_aws.context(answers(more), { ledger = ledger })
    return task.run(function ()
      local ranked = assert(capacity.rank(ctx, spec()))
      return capacity.choose(ctx, ranked, options)
    end)
  end

  it("is the best zone and one more for the control plane", function ()
    local choice = choose()
    assert.equal("use2-az2", choice.gpu.zone_id)
    assert.same({ "use2-az2", "use2-az3" }, ids(choice.network))
    assert.is_false(choice.extra)
  end)

  it("passes over a zone that had no capacity lately, but keeps what stands", function ()
    local function subnet(zone)
      return { SubnetId = "s-" .. zone, AvailabilityZoneId = zone, Tags = {
        { Key = "rtl:resource", Value = "subnet/public-" .. zone } } }
    end
    local standing = {
      ["ec2:describe_instance_type_offerings"] = offerings("use2-az1", "use2-az2", "use2-az3"),
      ["ec2:describe_subnets"] = { subnet "use2-az1", subnet "use2-az2" },
      ["ec2:describe_nat_gateways"] = { { State = "available", SubnetId = "s-use2-az1" } },
      ["eks:list_nodegroups"] = { "system" },
    }
    local recent = { { zone = "use2-az1", at = "2025-12-01T08:00:00Z" } }
    local choice = choose(standing, {}, recent)
    assert.equal("use2-az2", choice.gpu.zone_id)
    assert.same({ "use2-az1", "use2-az2" }, ids(choice.network))
    assert.is_false(choice.extra)
    recent[2] = { zone = "use2-az2", at = "2025-12-01T08:00:00Z", run = "run-1" }
    choice = choose(standing, {}, recent)
    assert.equal("use2-az3", choice.gpu.zone_id)
    assert.is_true(choice.extra)
    recent[3] = { zone = "use2-az3", at = "2025-12-01T08:00:00Z", run = "run-1" }
    -- None is left: what an earlier run did not get is asked for again, but not what this one did.
    assert.equal("use2-az1", choose(standing, {}, recent).gpu.zone_id)
    recent[1].run = "run-1"
    local none, failure = choose(standing, {}, recent)
    assert.is_nil(none)
    assert.equal("RTL-CAP-004", failure.code)
  end)

  it("goes first where EC2 says that there is some", function ()
    local all = { ["ec2:describe_instance_type_offerings"] = offerings("use2-az1", "use2-az2",
      "use2-az3") }
    local note = { zone = "use2-az1", at = "2025-12-01T08:00:00Z", run = "run-1" }
    assert.equal("use2-az2", choose(all, {}, { note }).gpu.zone_id)
    note.zones = { "us-east-2c" }
    assert.equal("use2-az3", choose(all, {}, { note }).gpu.zone_id)
  end)

  it("stays where the GPU group stands", function ()
    local choice = choose {
      ["ec2:describe_subnets"] = { { SubnetId = "s-1", AvailabilityZoneId = "use2-az2",
        Tags = { { Key = "rtl:resource", Value = "subnet/public-use2-az2" } } } },
      ["ec2:describe_nat_gateways"] = {},
      ["eks:list_nodegroups"] = { "system", "gpu-use2-az3" },
    }
    assert.equal("use2-az3", choice.gpu.zone_id)
  end)

  it("is the same for a run that died after the other zone's subnet was made", function ()
    local fresh = choose()
    local died = choose {
      ["ec2:describe_subnets"] = { { SubnetId = "s-1", AvailabilityZoneId = "use2-az3",
        Tags = { { Key = "rtl:resource", Value = "subnet/public-use2-az3" } } } },
      ["ec2:describe_nat_gateways"] = {}, ["eks:list_nodegroups"] = {},
    }
    assert.same(ids(fresh.network), ids(died.network))
    assert.equal(fresh.gpu.zone_id, died.gpu.zone_id)
  end)

  it("is the user's zone, by id or name", function ()
    assert.equal("use2-az3", choose({}, { zone = "us-east-2c" }).gpu.zone_id)
    assert.equal("use2-az3", choose({}, { zone = "use2-az3" }).gpu.zone_id)
  end)

  it("is the zone of a given reservation", function ()
    local ctx = scripted_aws.context(answers { ["ec2:describe_capacity_reservations"] = { {
      CapacityReservationId = "cr-1", InstanceType = "g6.12xlarge",
      AvailabilityZoneId = "use2-az3", AvailableInstanceCount = 2 } } })
    local choice = task.run(function ()
      return capacity.choose(ctx, assert(capacity.rank(ctx, spec { reservation = "cr-1" })))
    end)
    assert.equal("use2-az3", choice.gpu.zone_id)
  end)

  it("refuses a wanted zone that can't be used or had none in this run, and says why", function ()
    local none, failure = choose({}, { zone = "use2-az1" })
    assert.is_nil(none)
    assert.equal("RTL-CAP-004", failure.code)
    assert.matches("use2%-az1: not offered here", failure.message)
    assert.matches("use2%-az2: free", failure.message)
    local notes = { { zone = "use2-az3", at = "2025-12-01T08:00:00Z", run = "run-0" } }
    assert.equal("use2-az3", choose({}, { zone = "use2-az3" }, notes).gpu.zone_id)
    notes[2] = { zone = "use2-az3", at = "2025-12-01T08:00:00Z", run = "run-1" }
    none, failure = choose({}, { zone = "use2-az3" }, notes)
    assert.is_nil(none)
    assert.matches("use2%-az3: no capacity lately", failure.message)
  end)

  it("does not come back to a zone that had none in this run, however long it takes", function ()
    local notes = { { zone = "use2-az2", at = "2025-12-01T01:00:00Z", run = "run-1" } }
    assert.equal("use2-az3", choose({}, {}, notes).gpu.zone_id)
    notes[1].run = "run-0"
    assert.equal("use2-az2", choose({}, {}, notes).gpu.zone_id)
  end)

  it("knows what another zone can cure", function ()
    local inner = err.new { code = "RTL-CAP-003", message = "none", replan = true }
    assert.is_true(capacity.is_capacity(err.wrap(inner, { code = "X", message = "y" })))
    assert.is_false(capacity.is_capacity(err.new { code = "X", message = "y" }))
  end)
end)
