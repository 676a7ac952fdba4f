-- What the live GPU instances must be: an instance that is not so runs, and trains over TCP.

local gpu_instances = require "rtl.kinds.gpu_instances"
local scripted_aws = require "test.support.scripted_aws"
local task = require "rtl.task"
local toy = require "test.support.toy"

local FIELDS = { cluster = "toy", group = "gpu", count = 2, instance_type = "g6.12xlarge",
  vpc_id = "vpc-1", zone_id = "use2-az2", subnet_id = "s-1", security_groups = { "sg-efa" },
  efa = 1 }

describe("the live GPU instances", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  local function instance(id, change)
    local one = { InstanceId = id, InstanceType = "g6.12xlarge", VpcId = "vpc-1", SubnetId = "s-1",
      State = { Name = "running" }, Placement = { AvailabilityZoneId = "use2-az2" },
      NetworkInterfaces = { { NetworkInterfaceId = "eni-" .. id, InterfaceType = "efa",
        Groups = { { GroupId = "sg-cluster" }, { GroupId = "sg-efa" } } } } }
    for key, value in pairs(change or {}) do one[key] = value end
    return one
  end

  local function check(instances)
    local ctx = scripted_aws.context { ["ec2:describe_instances"] = { { Instances = instances } } }
    return task.run(gpu_instances.create, ctx, gpu_instances "gpu" (FIELDS), FIELDS)
  end

  it("pass as asked for", function ()
    assert.same({ "i-1", "i-2" }, assert(check { instance "i-2", instance "i-1" }).instance_ids)
  end)

  local function interface(kind, group)
    return { NetworkInterfaces = { { NetworkInterfaceId = "eni-9", InterfaceType = kind,
      Groups = { { GroupId = "sg-cluster" }, { GroupId = group } } } } }
  end

  local WRONG = {
    ["zone is use2-az1, wanted use2-az2"] = { Placement = { AvailabilityZoneId = "use2-az1" } },
    ["VPC is vpc-2, wanted vpc-1"] = { VpcId = "vpc-2" },
    ["subnet is s-2, wanted s-1"] = { SubnetId = "s-2" },
    ["type is g6.16xlarge, wanted g6.12xlarge"] = { InstanceType = "g6.16xlarge" },
    ["EFA interfaces is 0, wanted 1"] = interface("interface", "sg-efa"),
    ["interface eni-9 lacks security group sg-efa"] = interface("efa", "sg-other"),
  }

  for text, change in pairs(WRONG) do
    it("are refused when one's " .. text, function ()
      local none, failure = check { instance "i-1", instance("i-2", change) }
      assert.is_nil(none)
      assert.equal("RTL-PLAN-019", failure.code)
      assert.matches("i-2: " .. text, failure.message, 1, true)
    end)
  end

  it("are waited for until all are there", function ()
    local none, failure = check { instance "i-1" }
    assert.is_nil(none)
    assert.equal("RTL-PLAN-014", failure.code)
    assert.matches("1 of 2 instances", failure.message, 1, true)
  end)
end)
