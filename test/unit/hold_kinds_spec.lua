-- The kinds of a hold: the reservation and the group that launch templates name.
local capacity_reservation = require "rtl.kinds.capacity_reservation"
local reservation_group = require "rtl.kinds.reservation_group"
local scripted_aws = require "test.support.scripted_aws"
local task = require "rtl.task"
local toy = require "test.support.toy"

local FIELDS = { instance_type = "g6.12xlarge", count = 2, zone_id = "use2-az2", hours = 4 }

local function fields(more)
  local f = {}
  for _, from in ipairs { FIELDS, more or {} } do
    for key, value in pairs(from) do f[key] = value end
  end
  return f
end

local function item(more)
  local one = { CapacityReservationId = "cr-1", CapacityReservationArn = "arn:cr-1",
    State = "active", InstanceType = "g6.12xlarge", AvailabilityZoneId = "use2-az2",
    TotalInstanceCount = 2, AvailableInstanceCount = 2, EndDate = 1000 }
  for key, value in pairs(more or {}) do one[key] = value end
  return one
end

describe("a hold", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  -- Calls a function of the kind; returns what it returns, and the scripted account.
  local function call(name, answers, f, ...)
    local ctx, fake = scripted_aws.context(answers)
    local res = capacity_reservation "gpu-use2-az2" (fields(f))
    local value, failure = task.run(capacity_reservation[name], ctx, res, res.fields, ...)
    return value, failure, fake
  end

  it("is targeted, limited to its end, tagged, and made with a token", function ()
    local sent
    local answers = { ["ec2:create_capacity_reservation"] = function (params)
      sent = params
      return { CapacityReservation = item() }
    end }
    assert.equal("cr-1", call("create", answers, { placement_group = "arn:pg" }, "token-1").id)
    assert.same({ "g6.12xlarge", "Linux/UNIX", 2, "use2-az2", "targeted", "limited", "token-1",
      "arn:pg", 1764576000 + 1000 + 4 * 3600 }, { sent.InstanceType, sent.InstancePlatform,
      sent.InstanceCount, sent.AvailabilityZoneId, sent.InstanceMatchCriteria, sent.EndDateType,
      sent.ClientToken, sent.PlacementGroupArn, sent.EndDate })
    assert.equal("capacity-reservation", sent.TagSpecifications[1].ResourceType)
    call("create", answers, { ends = 1764600000.7 }, "token-1")
    assert.equal(1764600000, sent.EndDate)
  end)

  it("says of a refusal whether another zone can help", function ()
    local function refusal(code)
      local _, failure = call("create", { ["ec2:create_capacity_reservation"] = function ()
        return scripted_aws.refuse(code)
      end }, {}, "token-1")
      return failure
    end
    local none = refusal "InsufficientInstanceCapacity"
    assert.same({ "RTL-CAP-003", true, "use2-az2" }, { none.code, none.replan, none.zone_id })
    local full = refusal "InstanceLimitExceeded"
    assert.same({ "RTL-CAP-007", "refused" }, { full.code, full.exit })
    assert.is_nil(full.replan)
    assert.matches("L-DB2E81BA: 96 vCPU", full.hint, 1, true)
    assert.equal("UnauthorizedOperation", refusal("UnauthorizedOperation").code)
  end)

  it("takes over what a dead run made by the same token with another end", function ()
    local looks = 0
    local answers = {
      ["ec2:create_capacity_reservation"] = function ()
        return scripted_aws.refuse "IdempotentParameterMismatch"
      end,
      ["ec2:describe_capacity_reservations"] = function ()
        looks = looks + 1
        return looks < 3 and {} or { item { State = "cancelled", CapacityReservationId = "cr-0" },
          item() }
      end,
    }
    assert.equal("cr-1", call("create", answers, {}, "token-1").id)
    answers["ec2:describe_capacity_reservations"] = {}
    local _, failure = call("create", answers, {}, "token-1")
    assert.equal("IdempotentParameterMismatch", failure.code)
  end)

  it("is changed in place where its end or count is another, and kept where they are not",
    function ()
      local function changes(f, live)
        local ctx = scripted_aws.context {}
        local res = capacity_reservation "gpu" (fields(f))
        local list = {}
        for i, one in ipairs(capacity_reservation.diff(ctx, res, res.fields, live)) do
          list[i] = one.field
        end
        return list
      end
      local live = { id = "cr-1", instance_type = "g6.12xlarge", zone_id = "use2-az2", total = 2,
        free = 0, ends = 1000 }
      assert.same({}, changes({}, live)) -- an end by its hours is not moved
      assert.same({}, changes({ ends = 1060 }, live))
      assert.same({ "ends" }, changes({ ends = 4000 }, live))
      assert.same({ "count" }, changes({ count = 3 }, live))
      assert.same({}, changes({ count = 1 }, live))
      local sent
      call("update", { ["ec2:modify_capacity_reservation"] = function (params)
        sent = params
        return { Return = true }
      end }, { ends = 4000, count = 3 }, live)
      assert.same({ CapacityReservationId = "cr-1", EndDateType = "limited", EndDate = 4000,
        InstanceCount = 3 }, sent)
    end)

  it("has failed when it is over before it is active, and then another zone may help", function ()
    local states = { "pending", "failed" }
    local answers = { ["ec2:describe_capacity_reservations"] = function ()
      return { item { State = table.remove(states, 1) } }
    end }
    local ctx = scripted_aws.context(answers)
    local res = capacity_reservation "gpu" (fields())
    local live, failure = task.run(capacity_reservation.ready.wait, ctx, res, res.fields,
      { id = "cr-1" })
    assert.is_nil(live)
    assert.same({ "RTL-CAP-003", true }, { failure.code, failure.replan })
  end)

  it("costs, found by teardown, what of it is idle", function ()
    local ctx = scripted_aws.context { ["ec2:describe_capacity_reservations"] = {
      item { Tags = { { Key = "rtl:resource", Value = "capacity_reservation/gpu" } },
        AvailableInstanceCount = 1 }, item { State = "expired" } } }
    local found = task.run(capacity_reservation.find, ctx)
    assert.equal(1, #found)
    assert.same({ "gpu", "cr-1", 4.6016 }, { found[1].name, found[1].id, found[1].hourly })
  end)
end)

describe("the group of a hold", function ()
  local ARN = "arn:aws:resource-groups:us-east-2:123456789012:group/toy-gpu"
  local OURS = { Tags = { ["rtl:deployment"] = "toy", ["rtl:resource"] = "reservation_group/gpu" } }
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  local res = reservation_group "gpu" { members = { "arn:cr-1" } }

  local function run(name, answers, ...)
    local ctx, fake = scripted_aws.context(answers)
    local value, failure, partial = task.run(reservation_group[name], ctx, res, res.fields, ...)
    return value, failure, partial, fake
  end

  it("is a pool of reservations with the hold in it", function ()
    local made, put
    local live = run("create", {
      ["resource_groups:create_group"] = function (params)
        made = params
        return { Group = { GroupArn = ARN } }
      end,
      ["resource_groups:group_resources"] = function (params)
        put = params
        return { Succeeded = params.ResourceArns, Failed = {} }
      end })
    assert.same({ "toy-gpu", ARN }, { live.id, live.arn })
    assert.equal("AWS::EC2::CapacityReservationPool", made.Configuration[1].Type)
    assert.same({ "AWS::EC2::CapacityReservation" },
      table.move(made.Configuration[2].Parameters[1].Values, 1, 9, 1, {}))
    assert.equal("toy", made.Tags["rtl:deployment"])
    assert.same({ "toy-gpu", "arn:cr-1" }, { put.Group, put.ResourceArns[1] })
  end)

  it("tries again while the hold is not known, and names a refusal for good", function ()
    local tries = 0
    local function answers(code)
      return { ["resource_groups:create_group"] = { Group = { GroupArn = ARN } },
        ["resource_groups:group_resources"] = function (params)
          tries = tries + 1
          if tries == 3 then return { Succeeded = params.ResourceArns } end
          return { Failed = { { ResourceArn = "arn:cr-1", ErrorCode = code,
            ErrorMessage = "not so" } } }
        end }
    end
    assert.equal("toy-gpu", run("create", answers "RESOURCE_NOT_FOUND").id)
    assert.equal(3, tries)
    tries = 3
    local none, failure, partial = run("create", answers "RESOURCE_NOT_SUPPORTED")
    assert.is_nil(none)
    assert.matches("arn:cr%-1 can't be put into group toy%-gpu: not so", failure.message)
    assert.equal("toy-gpu", partial.id) -- it stands, and the ledger must know
  end)

  it("is there by its name and tag; a stranger's is refused; what is wanted must be in it",
    function ()
      local members = { { ResourceArn = "arn:cr-0" } }
      local answers = { ["resource_groups:get_tags"] = OURS,
        ["resource_groups:get_group"] = { Group = { Name = "toy-gpu", GroupArn = ARN } },
        ["resource_groups:list_group_resources"] = members }
      local live = run("read", answers)
      assert.same({ "arn:cr-0" }, live.members)
      assert.equal("members", reservation_group.diff({}, res, res.fields, live)[1].field)
      members[2] = { ResourceArn = "arn:cr-1" }
      assert.same({}, reservation_group.diff({}, res, res.fields, (run("read", answers))))
      answers["resource_groups:get_tags"] = { Tags = {} }
      assert.equal("RTL-PLAN-005", select(2, run("read", answers)).code)
      answers["resource_groups:get_group"] = function ()
        return scripted_aws.refuse "NotFoundException"
      end
      assert.is_nil((run("read", answers)))
    end)

  it("is found without a ledger, and others' groups are not looked at", function ()
    local ctx = scripted_aws.context {
      ["resource_groups:list_groups"] = { { GroupName = "toy-gpu", GroupArn = ARN },
        { GroupName = "other-gpu", GroupArn = "arn:other" },
        { GroupName = "toy-else", GroupArn = "arn:else" } },
      ["resource_groups:get_tags"] = function (params)
        assert(params.Arn ~= "arn:other")
        return params.Arn == ARN and OURS or { Tags = {} }
      end }
    local found = task.run(reservation_group.find, ctx)
    assert.equal(1, #found)
    assert.same({ "toy-gpu", "gpu" }, { found[1].id, found[1].name })
  end)
end)
