-- When an AWS client tries again, how long it waits before, and when it gives up.
local aws = require "rtl.aws"
local clock = require "rtl.clock"
local fake_aws = require "test.support.fake_aws"
local value = require "rtl.aws.value"

local fake, undo

local client, ec2_error, json_error = fake_aws.client, fake_aws.ec2_error, fake_aws.json_error
local header, lost, VPCS = fake_aws.header, fake_aws.lost, fake_aws.NO_VPCS

local MADE = { body = "<CreateVpcResponse><vpc><vpcId>v</vpcId></vpc></CreateVpcResponse>" }

describe("an AWS client", function ()
  before_each(function ()
    fake, undo = fake_aws.install(), fake_aws.environment {}
  end)
  after_each(function ()
    fake.restore()
    undo()
  end)

  it("retries what may pass, waits longer each time, and signs anew", function ()
    fake.answers = { ec2_error("RequestLimitExceeded", 503), lost(false), VPCS }
    assert.is_table(client("ec2"):describe_vpcs {})
    assert.equal(3, #fake.requests)
    assert.is_true(fake.now > 1.5 and fake.now < 1.51, fake.now) -- 0.5 · 1 + 0.5 · 2
    assert.equal("20150830T123601Z", header(fake.requests[3], "x-amz-date"))
  end)

  it("honours Retry-After", function ()
    local busy = json_error("ThrottlingException")
    busy.headers = { ["Retry-After"] = "7" }
    fake.answers = { busy, { body = "{}" } }
    assert.is_table(client("ssm"):get_parameter { Name = "n" })
    assert.equal(7, fake.now)
  end)

  it("gives up after three attempts, or eight when throttled, with the last error", function ()
    local failures = {}
    for i = 1, 3 do failures[i] = json_error("InternalServerError", 500) end
    fake.answers = failures
    local out, e = client("ssm"):get_parameter { Name = "n" }
    assert.is_nil(out)
    assert.equal("InternalServerError", e.code)
    assert.equal(3, #fake.requests)
    for i = 1, 8 do failures[i] = json_error "ThrottlingException" end
    out, e = client("ssm"):get_parameter { Name = "n" }
    assert.is_nil(out)
    assert.equal(0, #fake.answers)
    assert.equal("ThrottlingException", e.code)
    assert.is_true(e.throttled and e.retryable)
    failures[1], failures[2] = json_error "ThrottlingException", json_error "SlowDown"
    out = client("ssm", { attempts = 2 }):get_parameter { Name = "n" }
    assert.is_nil(out)
    assert.equal(0, #fake.answers)
    assert.equal("ssm:GetParameter: m (ThrottlingException, HTTP 400)", tostring(e))
    assert.equal("get_parameter", e.operation)
  end)

  it("honours x-amz-retry-after, within bounds, and a date to retry after", function ()
    local function waited(headers)
      local busy, before = json_error("ThrottlingException"), fake.now
      busy.headers = headers
      fake.answers = { busy, { body = "{}" } }
      assert.is_table(client("ssm"):get_parameter { Name = "n" })
      return fake.now - before
    end
    local usual = waited {}
    assert.is_true(usual > 0.5 and usual < 0.51)
    assert.equal(2.25, waited { ["x-amz-retry-after"] = "2250" })
    assert.near(usual + 5, waited { ["x-amz-retry-after"] = "60000" }, 0.01)
    assert.near(usual, waited { ["x-amz-retry-after"] = "100" }, 0.01)
    assert.near(usual, waited { ["x-amz-retry-after"] = "soon", ["Retry-After"] = "soon" }, 0.01)
    assert.equal(20, waited { ["Retry-After"] = "3600" })
    local at = value.http_date(fake.start + math.ceil(fake.now) + 9)
    local left = fake.start + math.ceil(fake.now) + 9 - clock.utc()
    assert.near(left, waited { ["Retry-After"] = at }, 0.01)
  end)

  it("makes as many attempts as the retry mode says", function ()
    for mode, count in pairs { legacy = 5, standard = 3, adaptive = 3 } do
      fake.requests = {}
      for i = 1, count do fake.answers[i] = json_error("InternalServerError", 500) end
      local _, e = client("ssm", { mode = mode }):get_parameter { Name = "n" }
      assert.equal("InternalServerError", e.code)
      assert.equal(count, #fake.requests)
    end
  end)

  it("does not repeat what no repetition mends", function ()
    for code, status in pairs {
      InsufficientInstanceCapacity = 500, VcpuLimitExceeded = 400, UnauthorizedOperation = 403,
      InvalidParameterValue = 400,
    } do
      fake.answers = { ec2_error(code, status) }
      local out, e = client("ec2"):describe_vpcs {}
      assert.is_nil(out)
      assert.equal(code, e.code)
      assert.is_false(e.retryable)
    end
    fake.answers = { { status = 409, body = "<ErrorResponse><Error><Code>LimitExceeded</Code>"
      .. "<Message>m</Message></Error></ErrorResponse>" } }
    local _, e = client("iam"):get_role { RoleName = "r" }
    assert.is_true(aws.errors.quota(e))
  end)

  it("never sends a create without token twice once it may have worked", function ()
    local ec2 = client "ec2"
    for _, failure in ipairs { lost(true), ec2_error("InternalError", 500),
      { status = 502, body = "" } } do
      fake.answers = { failure }
      local out, e = ec2:create_vpc { CidrBlock = "10.0.0.0/16" }
      assert.is_nil(out)
      assert.is_true(e.sent)
      assert.truthy(tostring(e):find "look before doing it again")
    end
    assert.equal(3, #fake.requests)
    assert.is_true(fake.requests[1].once)
    fake.answers = { lost(false), ec2_error("RequestLimitExceeded", 503), MADE }
    assert.equal("v", ec2:create_vpc({ CidrBlock = "10.0.0.0/16" }).Vpc.VpcId)
  end)

  it("repeats a create with a token, with the same token", function ()
    fake.answers = { lost(true), json_error("ServerException", 500), { body = "{}" } }
    local made = client("eks"):create_cluster {
      name = "n", roleArn = "r", resourcesVpcConfig = {},
    }
    assert.is_table(made)
    assert.equal(fake.requests[1].body, fake.requests[3].body)
    assert.is_false(fake.requests[1].once)
  end)

  it("stops retrying when its bucket is empty", function ()
    local ec2 = client "ec2"
    ec2.bucket.tokens = 7
    fake.answers = { ec2_error("Unavailable", 503), ec2_error("Unavailable", 503) }
    local _, e = ec2:describe_vpcs {}
    assert.equal("Unavailable", e.code)
    assert.equal(2, #fake.requests)
    fake.answers = { VPCS }
    ec2:describe_vpcs {}
    assert.equal(3, ec2.bucket.tokens)
  end)

  it("is patient where the endpoint answered before and nothing gets through now", function ()
    local function away(count)
      local list = {}
      for i = 1, count do list[i] = lost(false) end
      return list
    end
    local ec2 = client "ec2"
    fake.answers = away(3)
    assert.equal("RTL-NET-008", select(2, ec2:describe_vpcs {}).code)
    assert.equal(3, #fake.requests)
    local tokens = ec2.bucket.tokens
    fake.answers = { VPCS, table.unpack(away(12)) }
    fake.answers[14] = VPCS
    assert.is_table(ec2:describe_vpcs {})
    assert.is_table(ec2:describe_vpcs {})
    assert.equal(3 + 14, #fake.requests)
    assert.is_true(ec2.bucket.tokens >= tokens)
    fake.answers = away(14)
    assert.equal("RTL-NET-008", select(2, ec2:describe_vpcs {}).code)
    assert.is_true(fake.now < 400)
    fake.answers = { lost(true), lost(true), lost(true), lost(true), VPCS }
    assert.is_table(ec2:describe_vpcs {}) -- a read does no harm twice
  end)
end)
