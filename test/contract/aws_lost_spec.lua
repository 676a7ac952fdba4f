-- Creates whose answer was lost, on a real connection to moto behind the judge: with a token the
-- same request goes again and brings the same thing; without one the client asks no second time and
-- says so, and the engine looks before it makes it anew. One thing each, in one run.
local entropy = require "rtl.entropy"
local fs = require "rtl.fs"
local jumps = require "test.support.jumps"
local kinds = require "rtl.kinds"
local moto = require "test.support.moto"
local plan = require "rtl.plan"
local task = require "rtl.task"

local K = {}
for _, kind in ipairs(kinds) do K[kind.name] = kind end

-- kind → its create, and whether that has a token.
local CREATES = {
  vpc = { "ec2:CreateVpc" }, internet_gateway = { "ec2:CreateInternetGateway" },
  subnet = { "ec2:CreateSubnet" }, elastic_ip = { "ec2:AllocateAddress" },
  security_group = { "ec2:CreateSecurityGroup" }, placement_group = { "ec2:CreatePlacementGroup" },
  iam_role = { "iam:CreateRole" }, route_table = { "ec2:CreateRouteTable", token = true },
  nat_gateway = { "ec2:CreateNatGateway", token = true },
  launch_template = { "ec2:CreateLaunchTemplate", token = true },
}

local function declare()
  local g = plan.graph.new()
  local vpc = g:declare(K.vpc "main" { cidr = "10.42.0.0/16" })
  local igw = g:declare(K.internet_gateway "main" { vpc_id = vpc.id })
  local subnet = g:declare(K.subnet "public" { vpc_id = vpc.id, zone_id = "use2-az1",
    cidr = "10.42.0.0/20", public = true })
  local ip = g:declare(K.elastic_ip "nat" {})
  g:declare(K.nat_gateway "main" { subnet_id = subnet.id, allocation_id = ip.id, after = igw })
  g:declare(K.route_table "public" { vpc_id = vpc.id, subnets = { subnet.id },
    routes = { { to = "0.0.0.0/0", gateway = igw.id } } })
  g:declare(K.security_group "efa" { vpc_id = vpc.id, itself = true, description = "EFA" })
  g:declare(K.iam_role "node" { service = "ec2.amazonaws.com",
    policies = { "AmazonEKSWorkerNodePolicy" } })
  g:declare(K.placement_group "gpu" {})
  g:declare(K.launch_template "system" { instance_type = "m7i.xlarge", disk_gib = 100 })
  return g
end

describe("a create whose answer was lost", function ()
  local server, session, dir, unjump, former_entropy

  setup(function ()
    server = moto.start()
    session = server:session { region = "us-east-2" }
    dir = fs.temp_dir "rtl-lost-"
    unjump = jumps.use()
    local serial = 0
    former_entropy = entropy.use { bytes = function (n)
      serial = serial + 1
      return (("%016d"):format(serial)):rep(n // 16 + 1):sub(1, n)
    end }
  end)

  teardown(function ()
    entropy.use(former_entropy)
    unjump()
    server:stop()
    fs.remove_tree(dir)
  end)

  local function apply(run)
    return task.run(function ()
      local ledger <close> = assert(plan.ledger.open(fs.join(dir, run), run))
      local ctx = plan.context.new { deployment = "lost", region = "us-east-2",
        account = "123456789012", partition = "aws", run_id = run, ledger = ledger, tags = {},
        aws = function (service, options) return session:client(service, options) end }
      local done = assert(plan.apply(plan.read(declare(), ctx, { kinds = kinds }), ctx))
      local after = plan.read(declare(), ctx, { kinds = kinds })
      return done, after.counts, ledger:state()
    end)
  end

  -- Way → how often a create is sent: with a token, and without.
  local WAYS = {
    ["reset-after"] = { token = 2, once = 1 }, -- it took effect: found
    ["reset-before"] = { token = 2, once = 2 }, -- it did not: looked for, then made
    ["500"] = { token = 2, once = 2 },
  }
  for way, sent in pairs(WAYS) do
    it("makes one thing, and all go on: " .. way, function ()
      server:reset()
      for _, create in pairs(CREATES) do server:fault { match = create[1], ["do"] = way } end
      local done, counts, state = apply("run-" .. way)
      assert.same({}, done.blocked)
      assert.same({ 0, 0 }, { counts.create or 0, counts.change or 0 })
      local report = server:report()
      assert.same({}, report.problems)
      for kind, create in pairs(CREATES) do
        assert.equal(create.token and sent.token or sent.once, report.operations[create[1]],
          way .. ": " .. create[1])
        for key, entry in pairs(state) do
          if key:match "^[^/]+" == kind then assert.equal("made", entry.state, key) end
        end
      end
      for _, fault in ipairs(report.faults) do assert.equal(1, fault.fired, fault.match) end
      for _, double in ipairs(report.duplicated_creates) do
        assert.is_true(double.same_parameters, double.operation)
      end
    end)
  end
end)
