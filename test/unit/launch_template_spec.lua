local fs = require "rtl.fs"
local json = require "rtl.native.json"
local launch_template = require "rtl.kinds.launch_template"
local scripted_aws = require "test.support.scripted_aws"

-- Whole LaunchTemplateData per family and way of reserving, as looked over by a person once.
local GOLDEN = "test/vectors/launch_templates.json"
local TYPES = { "g6.12xlarge", "p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge" }
local WAYS = {
  { "plain", {} },
  { "reservation", { reservation_id = "cr-0000000000000aaaa" } },
  { "group", { reservation_group = "arn:aws:resource-groups:us-east-2:123456789012:group/gpu" } },
  { "block", { reservation_id = "cr-0000000000000bbbb", capacity_block = true } },
}

local function template_of(instance_type, way)
  local fields = { instance_type = instance_type, disk_gib = 200,
    security_groups = { "sg-cluster", "sg-efa" } }
  for key, value in pairs(way) do fields[key] = value end
  local ctx = scripted_aws.context({}, { tags = { team = "ml" } })
  return launch_template.template_data(ctx, launch_template "gpu" (fields), fields)
end

describe("the golden launch templates", function ()
  local golden = assert(json.decode(assert(fs.read(GOLDEN))))

  for _, instance_type in ipairs(TYPES) do
    for _, way in ipairs(WAYS) do
      local name = instance_type .. " " .. way[1]
      it("of " .. name, function ()
        local made = json.decode(json.encode(template_of(instance_type, way[2])))
        assert.same(golden[name], made)
      end)
    end
  end

  it("are all that the file holds", function ()
    local count = 0
    for _ in pairs(golden) do count = count + 1 end
    assert.equal(#TYPES * #WAYS, count)
  end)
end)

describe("the launch template", function ()
  local base = { instance_type = "g6.12xlarge", disk_gib = 200,
    security_groups = { "sg-1", "sg-2" } }

  local function data(more)
    local fields = {}
    for key, value in pairs(base) do fields[key] = value end
    for key, value in pairs(more or {}) do fields[key] = value end
    local ctx = scripted_aws.context({}, { tags = { team = "ml" } })
    local res = launch_template "gpu-use2-az2" (fields)
    return launch_template.template_data(ctx, res, fields)
  end

  it("has groups on the interface, IMDSv2 with two hops, an encrypted disk and tags", function ()
    local d = data()
    assert.same({ { DeviceIndex = 0, NetworkCardIndex = 0, InterfaceType = "efa",
      Groups = { "sg-1", "sg-2" }, DeleteOnTermination = true } }, d.NetworkInterfaces)
    assert.same({ HttpTokens = "required", HttpPutResponseHopLimit = 2 }, d.MetadataOptions)
    assert.equal(200, d.BlockDeviceMappings[1].Ebs.VolumeSize)
    assert.is_true(d.BlockDeviceMappings[1].Ebs.Encrypted)
    local where = {}
    for i, spec in ipairs(d.TagSpecifications) do where[i] = spec.ResourceType end
    assert.same({ "instance", "volume", "network-interface" }, where)
    assert.same({ { Key = "Name", Value = "toy-gpu-use2-az2" },
      { Key = "rtl:deployment", Value = "toy" }, { Key = "team", Value = "ml" } },
      d.TagSpecifications[1].Tags)
    for _, key in ipairs { "InstanceType", "Placement", "CapacityReservationSpecification",
      "InstanceMarketOptions" } do
      assert.is_nil(d[key])
    end
  end)

  it("has all three of a capacity block: type, market and reservation", function ()
    local d = data { capacity_block = true, reservation_id = "cr-1" }
    assert.equal("g6.12xlarge", d.InstanceType)
    assert.equal("capacity-block", d.InstanceMarketOptions.MarketType)
    assert.equal("cr-1",
      d.CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId)
  end)

  it("targets a reservation group, and a placement group when asked", function ()
    local d = data { reservation_group = "arn:g", placement_group = "pg" }
    assert.equal("arn:g", d.CapacityReservationSpecification.CapacityReservationTarget
      .CapacityReservationResourceGroupArn)
    assert.equal("pg", d.Placement.GroupName)
  end)

  it("has no interfaces without groups, so that EKS adds the cluster's own", function ()
    local ctx = scripted_aws.context {}
    local fields = { instance_type = "m7i.xlarge", disk_gib = 100 }
    local d = launch_template.template_data(ctx, launch_template "system" (fields), fields)
    assert.is_nil(d.NetworkInterfaces)
  end)

  it("refuses to go on when EC2 kept it without the reservation", function ()
    local kept = data()
    local fields = { instance_type = "g6.12xlarge", disk_gib = 200, reservation_id = "cr-a",
      security_groups = { "sg-1", "sg-2" } }
    kept.CapacityReservationSpecification = { CapacityReservationTarget = {} }
    local ctx = scripted_aws.context({ ["ec2:describe_launch_template_versions"] = {
      { LaunchTemplateData = kept } } }, { tags = { team = "ml" } })
    local res = launch_template "gpu-use2-az2" (fields)
    local live, failure = launch_template.ready.wait(ctx, res, fields,
      { id = "lt-1", version = "1" })
    assert.is_nil(live)
    assert.equal("RTL-PLAN-019", failure.code)
    assert.matches("cr%-a", failure.message)
  end)
end)
