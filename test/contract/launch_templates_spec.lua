-- The golden launch templates on the wire: signed, sent, validated by the models of botocore (the
-- judge), kept by moto and read back. What each of them must hold, and who says so.
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local kinds = require "rtl.kinds"
local moto = require "test.support.moto"
local plan = require "rtl.plan"
local task = require "rtl.task"

local K = {}
for _, kind in ipairs(kinds) do K[kind.name] = kind end

local golden = assert(json.decode(assert(fs.read "test/vectors/launch_templates.json")))

local function names()
  local list = {}
  for name in pairs(golden) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function target_of(data)
  local spec = data.CapacityReservationSpecification
  return spec and spec.CapacityReservationTarget or {}
end

-- Rules that every template of a way keeps. Sources: EKS user guide, capacity-blocks-mng and
-- launch-templates; EC2 user guide, efa-start and efa-acc-inst-types; eksctl-io/eksctl#8320, #8542.
local RULES = {
  plain = function (data)
    return next(target_of(data)) == nil and not data.InstanceType and not data.InstanceMarketOptions
  end,
  reservation = function (data) -- the id itself, On-Demand, the type in the node group
    return target_of(data).CapacityReservationId and not data.InstanceType
      and not data.InstanceMarketOptions
  end,
  group = function (data) -- falls back to On-Demand when the reservation has ended
    return target_of(data).CapacityReservationResourceGroupArn
      and not target_of(data).CapacityReservationId and not data.InstanceMarketOptions
  end,
  block = function (data) -- id, type and market, all three
    return target_of(data).CapacityReservationId and data.InstanceType
      and data.InstanceMarketOptions.MarketType == "capacity-block"
  end,
}

local CARDS = { ["g6.12xlarge"] = 1, ["p4d.24xlarge"] = 4, ["p5.48xlarge"] = 32,
  ["p6-b300.48xlarge"] = 17 }
local EFA = { ["g6.12xlarge"] = 1, ["p4d.24xlarge"] = 4, ["p5.48xlarge"] = 32,
  ["p6-b300.48xlarge"] = 16 }

local function efa_on(data)
  local count, on_first = 0, false
  for _, one in ipairs(data.NetworkInterfaces) do
    local able = one.InterfaceType:find "^efa" ~= nil
    if able then count = count + 1 end
    if one.NetworkCardIndex == 0 then on_first = able end
  end
  return count, on_first
end

describe("the golden launch templates", function ()
  it("keep the rules of their way of reserving", function ()
    for _, name in ipairs(names()) do
      local instance_type, way = name:match("^(%S+) (%S+)$")
      local data = golden[name]
      assert.is_truthy(RULES[way](data), name)
      assert.equal(CARDS[instance_type], #data.NetworkInterfaces, name)
      local count, on_first = efa_on(data)
      assert.equal(EFA[instance_type], count, name)
      assert.equal(instance_type ~= "p6-b300.48xlarge", on_first, name)
    end
  end)

  it("have one interface a card: card 0 device 0, every other card device 1, no address on it",
    function ()
      for _, name in ipairs(names()) do
        for _, one in ipairs(golden[name].NetworkInterfaces) do
          local first = one.NetworkCardIndex == 0
          assert.equal(first and 0 or 1, one.DeviceIndex, name)
          assert.equal(first, one.InterfaceType ~= "efa-only", name)
          -- Not allowed with a managed node group, or with several interfaces.
          assert.is_nil(one.SubnetId)
          assert.is_nil(one.AssociatePublicIpAddress)
        end
        assert.is_nil(golden[name].IamInstanceProfile)
        assert.is_nil(golden[name].SecurityGroupIds)
      end
    end)
end)

describe("launch templates at AWS' models", function ()
  local server, session

  lazy_setup(function ()
    server = moto.start()
    session = server:session { region = "us-east-2" }
  end)
  lazy_teardown(function () server:stop() end)
  before_each(function () server:reset() end)

  local function context(run)
    return plan.context.new { deployment = "toy", region = "us-east-2", account = "123456789012",
      partition = "aws", run_id = run or "run-1", tags = { team = "ml" },
      aws = function (service) return session:client(service) end }
  end

  -- What moto adds: the template's own tags among those of its instances, and an empty list.
  local function without_additions(kept)
    local data, specs = json.decode(json.encode(kept)), {}
    for _, spec in ipairs(data.TagSpecifications) do
      table.sort(spec.Tags, function (a, b) return a.Key < b.Key end)
      if spec.ResourceType ~= "launch-template" then specs[#specs + 1] = spec end
    end
    data.TagSpecifications = specs
    if data.SecurityGroupIds and #data.SecurityGroupIds == 0 then data.SecurityGroupIds = nil end
    return data
  end

  local function seen_well()
    local report = server:report()
    assert.same({}, report.problems)
    assert.same({}, report.repeated_creates_without_token)
  end

  for _, name in ipairs(names()) do
    it("take that of " .. name .. " and give it back as it was sent", function ()
      local instance_type, way = name:match("^(%S+) (%S+)$")
      local target = target_of(golden[name])
      local f = { instance_type = instance_type, disk_gib = 200,
        security_groups = { "sg-cluster", "sg-efa" }, reservation_id = target.CapacityReservationId,
        reservation_group = target.CapacityReservationResourceGroupArn,
        capacity_block = way == "block" or nil }
      task.run(function ()
        local ctx, kind = context(), K.launch_template
        local res = kind "gpu" (f)
        local made = assert(kind.create(ctx, res, f, "token-1"))
        local kept = session:client("ec2"):all("describe_launch_template_versions",
          { LaunchTemplateId = made.id, Versions = { "1" } })
        assert.same(golden[name], without_additions(kept[1].LaunchTemplateData))
        assert.same({}, kind.diff(ctx, res, f, assert(kind.read(ctx, res))))
        assert(kind.ready.wait(ctx, res, f, made))
      end)
      seen_well()
    end)
  end

  it("take a hold in a placement group through its life", function ()
    task.run(function ()
      local ctx, group, kind = context(), K.placement_group, K.capacity_reservation
      local near = group "gpu" {}
      local placed = assert(group.create(ctx, near, {}))
      local f = { instance_type = "g6.12xlarge", count = 2, zone_id = "use2-az2", hours = 4,
        placement_group = placed.arn }
      local res = kind "gpu-use2-az2" (f)
      local made = assert(kind.create(ctx, res, f, "token-3"))
      assert.equal(made.id, assert(kind.create(ctx, res, f, "token-3")).id)
      local live = assert(kind.ready.wait(ctx, res, f, made))
      assert.same({ "active", "targeted", "g6.12xlarge", 2 }, { live.state, live.match,
        live.instance_type, live.total })
      assert.same({}, kind.diff(ctx, res, f, assert(kind.read(ctx, res))))
      f.count, f.ends = 3, live.ends + 7200
      assert(kind.update(ctx, res, f, live))
      live = assert(kind.read(ctx, res))
      assert.same({ 3, f.ends }, { live.total, live.ends })
      assert.equal(1, #assert(kind.find(ctx)))
      assert(kind.delete(ctx, { key = res.key, id = made.id, outputs = live }))
      assert.is_nil((kind.read(ctx, res)))
      assert(group.delete(ctx, { key = near.key, id = placed.id, outputs = placed }))
    end)
    seen_well()
  end)

  it("show one whose reservation target was lost on the way", function ()
    task.run(function ()
      local ctx, kind = context(), K.launch_template
      local f = { instance_type = "p5.48xlarge", disk_gib = 200, capacity_block = true,
        security_groups = { "sg-cluster" } }
      local res = kind "gpu" (f)
      local made = assert(kind.create(ctx, res, f, "token-2"))
      f.reservation_id = "cr-0000000000000aaaa"
      local none, failure = kind.ready.wait(ctx, res, f, made)
      assert.is_nil(none)
      assert.equal("RTL-PLAN-019", failure.code)
      assert.matches("CapacityReservationSpecification", failure.message)
      assert.matches("cr%-0000000000000aaaa", failure.message)
    end)
  end)
end)
