local given_network = require "rtl.recipe.given_network"
local err = require "rtl.err"
local instances = require "rtl.kinds.instances"
local scripted_aws = require "test.support.scripted_aws"
local task = require "rtl.task"

describe("a given network", function ()
  -- Two private subnets with NAT, but for what the case changes.
  local function check(change)
    change = change or {}
    local function subnet(id, zone, more)
      local one = { SubnetId = id, VpcId = "vpc-1", AvailabilityZoneId = zone,
        AvailableIpAddressCount = 250, MapPublicIpOnLaunch = false }
      for key, value in pairs(more or {}) do one[key] = value end
      return one
    end
    local ctx = scripted_aws.context {
      ["ec2:describe_subnets"] = change.answer or { subnet("s-2", change.other_zone or "use2-az3"),
        subnet("s-1", "use2-az2", change.first) },
      ["ec2:describe_route_tables"] = {
        { Associations = { { Main = true } }, Routes = { { DestinationCidrBlock = "0.0.0.0/0",
          GatewayId = change.main or "local" } } },
        { Associations = { { SubnetId = "s-1" },
            { SubnetId = not change.main and "s-2" or "s-9" } },
          Routes = change.routes or { { DestinationCidrBlock = "0.0.0.0/0",
            GatewayId = change.gateway,
            NatGatewayId = not change.gateway and "nat-1" or nil } } } },
      ["ec2:describe_vpc_endpoints"] = change.endpoints,
    }
    local gpu_type = change.gpu_type or "g6.12xlarge"
    local run = { facts = { instance = instances.of(gpu_type) }, settings = { vpc_id = "vpc-1",
      private_subnets = { "s-1", "s-2" }, gpu_type = gpu_type, gpu_count = change.count or 2,
      use_cluster = change.use_cluster or "", use_gpu_group = change.use_gpu_group or "" },
      region = "us-east-2" }
    function run.aws(_, service) return ctx:aws(service) end
    function run.fail(_, fields) error(err.new(fields), 0) end
    local ok, value = pcall(task.run, given_network.zone, run)
    return ok and value, not ok and value or nil
  end

  local function refusal(text, change)
    local _, failure = check(change)
    assert.equal("RTL-STEP-002", failure and failure.code)
    assert.equal("refused", failure.exit)
    assert.matches(text, failure.message, 1, true)
  end

  it("is the zone of the first subnet when all is well", function ()
    assert.equal("use2-az2", (check()))
    assert.equal("use2-az2", (check { gpu_type = "p4d.24xlarge" }))
  end)

  it("is refused where the nodes would never join: a public subnet", function ()
    refusal("subnet s-1 is a public one (0.0.0.0/0 goes to igw-1)", { gateway = "igw-1" })
    refusal("subnet s-2 is a public one", { main = "igw-2" }) -- by the VPC's main table
  end)

  it("is refused where no route leads out, or to what is gone", function ()
    local routes = { { DestinationCidrBlock = "10.0.0.0/8", GatewayId = "local" } }
    local function endpoint(name) return { ServiceName = "com.amazonaws.us-east-2." .. name } end
    local endpoints = { endpoint "ecr.api", endpoint "ecr.dkr", endpoint "s3" }
    refusal("subnet s-1 has no default route, and its VPC no endpoints for ec2: nodes would never "
      .. "join", { routes = routes, endpoints = endpoints })
    endpoints[4] = endpoint "ec2"
    assert.equal("use2-az2", (check { routes = routes, endpoints = endpoints }))
    refusal("subnet s-1 has a default route to nat-0, which is gone (blackhole)", { routes = { {
      DestinationCidrBlock = "0.0.0.0/0", NatGatewayId = "nat-0", State = "blackhole" } } })
  end)

  it("is refused where a node with several interfaces would get a public address", function ()
    local first = { MapPublicIpOnLaunch = true }
    refusal("subnet s-1 gives public addresses (MapPublicIpOnLaunch), which a p4d.24xlarge with "
      .. "its 4 interfaces can't have", { first = first, gpu_type = "p4d.24xlarge" })
    assert.equal("use2-az2", (check { first = first }))
  end)

  it("is refused by the setting and the region when AWS knows no such subnet", function ()
    refusal("private_subnets, in us-east-2: The subnet ID 's-1' does not exist", {
      answer = function ()
        return scripted_aws.refuse("InvalidSubnetID.NotFound", "The subnet ID 's-1' does not exist")
      end })
    local _, other = check { answer = function ()
      return scripted_aws.refuse("UnauthorizedOperation", "not allowed")
    end }
    assert.equal("UnauthorizedOperation", other.code)
  end)

  it("needs no addresses for GPU nodes that stand in it", function ()
    local first = { AvailableIpAddressCount = 3 }
    assert.equal("use2-az2", (check { first = first, use_gpu_group = "gpus" }))
    refusal("has 3 free addresses", { first = first })
  end)

  it("is refused when it has too few addresses, is another VPC's, or all in one zone", function ()
    refusal("has 31 free addresses; 2 GPU nodes take 32",
      { first = { AvailableIpAddressCount = 31 } })
    refusal("subnet s-1 is in vpc-2, not in vpc-1", { first = { VpcId = "vpc-2" } })
    refusal("all in one zone", { other_zone = "use2-az2" })
    assert.equal("use2-az2", (check { other_zone = "use2-az2", use_cluster = "team" }))
  end)
end)
