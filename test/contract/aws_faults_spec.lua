-- What goes wrong between rtl and a service, made by the judge on real connections.
local aws = require "rtl.aws"
local credentials = require "rtl.aws.credentials"
local entropy = require "rtl.entropy"
local moto = require "test.support.moto"

local server, session, former

local function ok(value, failure)
  if value == nil then error(tostring(failure), 2) end
  return value
end

local function count_of(operation)
  return server:report().operations[operation] or 0
end

describe("an AWS client in trouble", function ()
  lazy_setup(function ()
    server = moto.start()
    session = server:session()
    -- The whole random part of each wait is zero: retries follow at once. Tokens stay different.
    local serial = 0
    former = entropy.use { bytes = function (n)
      serial = serial + 1
      return n == 8 and ("\0"):rep(8) or (("%016d"):format(serial)):rep(n // 16 + 1):sub(1, n)
    end }
  end)

  lazy_teardown(function ()
    entropy.use(former)
    server:stop()
  end)

  after_each(function ()
    local report = server:report()
    server:reset()
    assert.same({}, report.problems)
    assert.same({}, report.repeated_creates_without_token)
    for _, fault in ipairs(report.faults) do assert.equal(fault.times, fault.fired) end
  end)

  it("repeats reads through errors, throttling and lost connections", function ()
    local ec2 = session:client "ec2"
    for _, fault in ipairs { "500", "throttle", "reset-before", "reset-after" } do
      server:fault { match = "ec2:DescribeVpcs", ["do"] = fault }
      assert.is_table(ok(ec2:describe_vpcs {}).Vpcs, fault)
    end
    assert.equal(8, count_of "ec2:DescribeVpcs")
  end)

  it("repeats a create with its token, and one thing is made", function ()
    local ec2 = session:client "ec2"
    local vpc = ok(ec2:create_vpc { CidrBlock = "10.42.0.0/16" }).Vpc.VpcId
    server:fault { match = "ec2:CreateRouteTable", ["do"] = "reset-after" }
    local made = ok(ec2:create_route_table { VpcId = vpc }).RouteTable.RouteTableId
    local tables = ok(ec2:all("describe_route_tables", {
      Filters = { { Name = "vpc-id", Values = { vpc } } },
    }))
    assert.equal(2, #tables) -- the VPC's own, and ours
    assert.is_true(tables[1].RouteTableId == made or tables[2].RouteTableId == made)
    local duplicated = server:report().duplicated_creates
    assert.equal(1, #duplicated)
    assert.is_true(duplicated[1].same_parameters)
  end)

  it("says 'outcome unknown' of a create without token, and sends it once", function ()
    local ec2 = session:client "ec2"
    for i, fault in ipairs { "reset-after", "reset-before", "500" } do
      server:fault { match = "ec2:CreateVpc", ["do"] = fault }
      local out, e = ec2:create_vpc { CidrBlock = ("10.%d.0.0/16"):format(i) }
      assert.is_nil(out)
      assert.is_true(e.sent, fault)
      assert.equal(i, count_of "ec2:CreateVpc")
    end
    local made = ok(ec2:all("describe_vpcs", {
      Filters = { { Name = "cidr", Values = { "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16" } } },
    }))
    assert.equal(1, #made)
    assert.equal("10.1.0.0/16", made[1].CidrBlock)
  end)

  it("may repeat it when it was only asked to wait", function ()
    server:fault { match = "iam:CreateRole", ["do"] = "throttle", times = 2 }
    ok(session:client("iam"):create_role {
      RoleName = "r", AssumeRolePolicyDocument = { Version = "2012-10-17", Statement = { {
        Effect = "Allow", Principal = { Service = "ec2.amazonaws.com" }, Action = "sts:AssumeRole",
      } } },
    })
    assert.equal(3, count_of "iam:CreateRole")
  end)

  it("fetches new credentials when the token has expired", function ()
    local fetched = 0
    for _, service in ipairs { "eks", "ssm", "iam", "ec2" } do
      local provider = credentials.new(function ()
        fetched = fetched + 1
        return credentials.static(moto.KEYS):get()
      end)
      local calls = {
        eks = { "list_clusters", "ListClusters" }, iam = { "list_roles", "ListRoles" },
        ssm = { "get_parameters_by_path", "GetParametersByPath", { Path = "/rtl" } },
        ec2 = { "describe_regions", "DescribeRegions" },
      }
      server:fault { match = service .. ":" .. calls[service][2], ["do"] = "token-expired" }
      local client = aws.client(service, {
        region = "us-east-1", credentials = provider, endpoint = server.url,
      })
      local before = fetched
      ok(client:call(calls[service][1], calls[service][3] or {}))
      assert.is_true(fetched > before, service)
    end
  end)

  it("ends with the service's own error when trouble stays", function ()
    server:fault { match = "eks:ListClusters", ["do"] = "500", times = 3 }
    local out, e = session:client("eks"):list_clusters {}
    assert.is_nil(out)
    assert.equal("InternalFailure", e.code)
    assert.equal(3, count_of "eks:ListClusters")
    server:fault { match = "ssm:GetParameter", ["do"] = "throttle", times = 8 }
    out, e = session:client("ssm"):get_parameter { Name = "n" }
    assert.is_nil(out)
    assert.is_true(aws.errors.throttled(e))
    assert.equal(8, count_of "ssm:GetParameter")
  end)
end)
