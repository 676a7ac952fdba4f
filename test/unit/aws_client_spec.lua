local aws = require "rtl.aws"
local clock = require "rtl.clock"
local credentials = require "rtl.aws.credentials"
local entropy = require "rtl.entropy"
local err = require "rtl.err"
local fake_aws = require "test.support.fake_aws"
local secret = require "rtl.native.secret"
local task = require "rtl.task"
local value = require "rtl.aws.value"

local fake, undo

local client, ec2_error, json_error = fake_aws.client, fake_aws.ec2_error, fake_aws.json_error
local header, VPCS = fake_aws.header, fake_aws.NO_VPCS

describe("an AWS client", function ()
  before_each(function ()
    fake, undo = fake_aws.install(), fake_aws.environment {}
  end)
  after_each(function ()
    fake.restore()
    undo()
  end)

  it("signs as AWS' own examples do", function ()
    fake.answers = { VPCS }
    local answer = client("ec2"):describe_vpcs {
      Filters = { { Name = "tag:rtl:cluster", Values = { "demo" } } },
    }
    assert.same({}, answer.Vpcs)
    local req = fake.requests[1]
    assert.equal("https://ec2.us-east-1.amazonaws.com/", req.url)
    assert.equal("POST", req.method)
    assert.equal("20150830T123600Z", header(req, "x-amz-date"))
    assert.truthy(header(req, "authorization"):find(
      "AKIDEXAMPLE/20150830/us-east-1/ec2/aws4_request, "
      .. "SignedHeaders=content-type;host;x-amz-date, Signature="
      .. "b5c2eaaae06d7f8a5cb64f0c9140131f7068fe48bad680c932c171bee88b1606", 1, true))
  end)

  it("puts each service where it is", function ()
    local function url_of(service, operation, params, region)
      fake.answers = { { status = 400 } }
      client(service, { region = region }):call(operation, params)
      local req = table.remove(fake.requests)
      return req.url, header(req, "authorization"):match "/(%S-)/aws4_request"
    end
    local url, scope = url_of("iam", "list_open_id_connect_providers", {}, "eu-west-1")
    assert.equal("https://iam.amazonaws.com/", url)
    assert.equal("20150830/us-east-1/iam", scope)
    url, scope = url_of("pricing", "get_products", { ServiceCode = "x" }, "eu-west-1")
    assert.equal("https://api.pricing.us-east-1.amazonaws.com/", url)
    assert.equal("20150830/us-east-1/pricing", scope)
    url = url_of("eks", "list_clusters", {}, "cn-north-1")
    assert.equal("https://eks.cn-north-1.amazonaws.com.cn/clusters", url)
    url = url_of("service-quotas", "list_service_quotas", { ServiceCode = "ec2" }, "us-gov-west-1")
    assert.equal("https://servicequotas.us-gov-west-1.amazonaws.com/", url)
    url = url_of("s3", "list_objects_v2", { Bucket = "my-bucket" })
    assert.equal("https://my-bucket.s3.us-east-1.amazonaws.com/?list-type=2", url)
    url = url_of("s3", "get_object", { Bucket = "my.bucket", Key = "a" })
    assert.equal("https://s3.us-east-1.amazonaws.com/my.bucket/a", url)
  end)

  it("takes endpoints from the environment, the service's own first", function ()
    undo()
    undo = fake_aws.environment {
      AWS_ENDPOINT_URL = "http://127.0.0.1:1/", AWS_ENDPOINT_URL_SERVICE_QUOTAS = "http://q:2",
    }
    fake.answers = { { body = "{}" }, { body = "{}" } }
    client("eks"):list_clusters {}
    client("service-quotas"):list_service_quotas { ServiceCode = "ec2" }
    assert.equal("http://127.0.0.1:1/clusters", fake.requests[1].url)
    assert.equal("http://q:2/", fake.requests[2].url)
  end)

  it("asks FIPS and dual-stack endpoints, and says so where there is none", function ()
    local function url_of(service, region, variant)
      fake.answers = { { status = 400 } }
      client(service, { region = region, variant = variant }):call(
        service == "s3" and "list_objects_v2" or "list_clusters",
        service == "s3" and { Bucket = "my-bucket" } or {})
      return table.remove(fake.requests).url
    end
    local both = { fips = true, dual = true }
    assert.equal("https://fips.eks.us-east-1.amazonaws.com/clusters",
      url_of("eks", "us-east-1", { fips = true }))
    assert.equal("https://eks-fips.us-east-1.api.aws/clusters", url_of("eks", "us-east-1", both))
    assert.equal("https://my-bucket.s3-fips.dualstack.us-east-1.amazonaws.com/?list-type=2",
      url_of("s3", "us-east-1", both))
    local s3 = client("s3", { region = "cn-north-1", variant = both })
    for _ = 1, 2 do
      local out, e = s3:list_objects_v2 { Bucket = "my-bucket" }
      assert.is_nil(out)
      assert.equal("RTL-AWS-008", e.code)
      assert.equal("s3:ListObjectsV2: S3 has no FIPS dual-stack endpoint in cn-north-1 (aws-cn) "
        .. "(RTL-AWS-008)", tostring(e):match "^[^\n]*%(RTL%-AWS%-008%)")
    end
    local _, e = client("eks", { endpoint = "http://127.0.0.1:1", variant = { fips = true } })
      :list_clusters {}
    assert.equal("RTL-AWS-008", e.code)
    assert.equal(0, #fake.requests)
    fake.answers = {}
    for i = 1, 3 do
      fake.answers[i] = { err = err.new { code = "RTL-NET-001", message = "no such host",
        retryable = true } }
    end
    _, e = client("eks", { variant = { fips = true } }):list_clusters {}
    assert.matches("is there a FIPS endpoint of EKS in 'us%-east%-1'%?", e.hint)
  end)

  it("sends the session token as a secret, signed", function ()
    fake.answers = { { body = '{"cluster":{"name":"demo"}}' } }
    local keys = { session_token = "TOKEN/abc+def==" }
    for name, text in pairs(fake_aws.KEYS) do keys[name] = text end
    client("eks", { credentials = credentials.static(keys) }):list_clusters {}
    local token = header(fake.requests[1], "x-amz-security-token")
    assert.is_true(secret.is(token))
    assert.truthy(header(fake.requests[1], "authorization"):find("x-amz-security-token", 1, true))
  end)

  it("fills a token in, or takes the caller's", function ()
    fake.answers = { { body = "{}" }, { body = "{}" } }
    local eks = client "eks"
    local params = {
      name = "demo", roleArn = "r", resourcesVpcConfig = { subnetIds = { "a" } },
    }
    eks:create_cluster(params)
    assert.truthy(fake.requests[1].body:find(entropy.uuid(), 1, true))
    assert.is_nil(params.clientRequestToken)
    params.clientRequestToken = "mine"
    eks:create_cluster(params)
    assert.truthy(fake.requests[2].body:find('"clientRequestToken":"mine"', 1, true))
  end)

  it("names the quota that is used up", function ()
    fake.answers = { ec2_error("VpcLimitExceeded", 400) }
    local _, e = client("ec2"):create_vpc { CidrBlock = "10.0.0.0/16" }
    assert.is_false(e.retryable)
    assert.matches("L-F678F1CE (VPCs per Region)", e.hint, 1, true)
    fake.answers = { ec2_error("InstanceLimitExceeded", 400) }
    _, e = client("ec2"):describe_vpcs {}
    assert.matches("ask for more in Service Quotas", e.hint, 1, true)
  end)

  it("fetches new credentials when the old ones have expired, once", function ()
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      return {
        access_key_id = "AKID" .. count, secret_access_key = secret.new "s", source = "test",
      }
    end)
    fake.answers = { ec2_error("RequestExpired", 400), VPCS }
    local ec2 = client("ec2", { credentials = provider })
    assert.is_table(ec2:describe_vpcs {})
    assert.truthy(header(fake.requests[2], "authorization"):find("AKID2/", 1, true))
    assert.equal(0, fake.now)
    fake.answers = { ec2_error("ExpiredToken"), ec2_error("ExpiredToken"),
      ec2_error("ExpiredToken") }
    local _, e = ec2:describe_vpcs {}
    assert.is_true(aws.errors.expired(e))
    assert.truthy(e.hint:find "get new ones")
  end)

  it("says of each call what was being done, also when all lack credentials", function ()
    local failure = err.new { code = "RTL-CRED-002", message = "no AWS credentials found" }
    local provider = credentials.new(function () return nil, failure end)
    local ec2 = client("ec2", { credentials = provider })
    for _ = 1, 2 do
      local _, e = ec2:describe_vpcs {}
      assert.equal("ec2:DescribeVpcs: no AWS credentials found (RTL-CRED-002)", tostring(e))
    end
    assert.equal(0, #fake.requests)
  end)

  it("corrects a wrong clock by the Date of an answer, and forgets it when it is right", function ()
    local late = ec2_error("RequestTimeTooSkewed")
    late.headers = { Date = value.http_date(fake.start + 3600) }
    fake.answers = { late, VPCS }
    local ec2 = client "ec2"
    assert.is_table(ec2:describe_vpcs {})
    assert.equal("20150830T133600Z", header(fake.requests[2], "x-amz-date"))
    assert.equal(fake.start + 3600, clock.utc())
    -- Who took what was signed an hour ahead has no clock that is right.
    fake.answers = { { body = VPCS.body, headers = { Date = value.http_date(fake.start) } } }
    ec2:describe_vpcs {}
    assert.equal(fake.start + 3600, clock.utc())
    local ahead = ec2_error("RequestTimeTooSkewed")
    ahead.headers = { Date = value.http_date(fake.start + 600) }
    fake.answers = { ahead, VPCS }
    ec2:describe_vpcs {}
    assert.equal(fake.start + 600, clock.utc())
    fake.answers = { { body = VPCS.body, headers = { Date = value.http_date(fake.start) } } }
    ec2:describe_vpcs {}
    assert.equal(fake.start, clock.utc())
    -- A wrong key is no wrong clock.
    local wrong = ec2_error("AuthFailure", 401)
    wrong.headers = { Date = value.http_date(fake.start + 10) }
    fake.answers = { wrong }
    local _, e = ec2:describe_vpcs {}
    assert.equal("AuthFailure", e.code)
    -- A proxy's cached answer says nothing.
    fake.answers = { { body = VPCS.body, headers = {
      Date = value.http_date(fake.start - 9000), Age = "9000",
    } } }
    ec2:describe_vpcs {}
    assert.equal(fake.start, clock.utc())
  end)

  it("gives up an attempt that stays silent: reads soon, writes late", function ()
    local silent = err.new { code = "RTL-NET-006", message = "nothing moved", retryable = true }
    local function asked(service, operation, params, options)
      fake.requests = {}
      fake.answers = { { err = silent }, { err = silent }, { err = silent } }
      local _, e = client(service, options):call(operation, params)
      assert.equal("RTL-NET-006", e.code)
      assert.equal(#fake.requests, e.attempts)
      local req = fake.requests[1]
      return { req.idle, req.connect_timeout, req.timeout }, #fake.requests, e.hint
    end
    local seconds, attempts, hint = asked("ec2", "describe_vpcs", {})
    assert.same({ 20, 10, 300 }, seconds)
    assert.equal(3, attempts)
    assert.is_true(3 * seconds[1] + fake.now < 65, fake.now)
    assert.matches("^asked 3 times: ", hint)
    assert.same({ 20, 10, 300 }, (asked("sts", "assume_role",
      { RoleArn = "arn:aws:iam::123456789012:role/r", RoleSessionName = "ss" })))
    assert.same({ 60, 10, 300 }, (asked("ec2", "create_subnet", { VpcId = "v" })))
    assert.same({ 20, 10 }, (asked("s3", "get_object", { Bucket = "b", Key = "k" })))
    assert.same({ 60, 10 }, (asked("s3", "put_object", { Bucket = "b", Key = "k", Body = "x" })))
    local given = { reads = 2, connect = 1 }
    assert.same({ 2, 1, 300 }, (asked("ec2", "describe_vpcs", {}, { timeouts = given })))
    assert.is_nil(getmetatable(given)) -- the caller's table is as it was
    assert.same({ reads = 2, connect = 1 }, given)
  end)

  it("tells that a service does not answer", function ()
    local told = {}
    local ec2 = client("ec2", { notice = function (text) told[#told + 1] = text end })
    local function after(seconds)
      return function ()
        task.sleep(seconds)
        return VPCS
      end
    end
    fake.answers = { after(9), after(15), after(1) }
    for _ = 1, 3 do assert.is_table(ec2:describe_vpcs {}) end
    -- Many that wait for one service are one story, told again after a minute.
    fake.answers = { after(15), after(15), after(15), after(15) }
    for _ = 1, 2 do
      task.run(task.map, { 1, 2 }, function () return assert(ec2:describe_vpcs {}) end)
      fake.now = fake.now + 40
    end
    assert.same(told[1], told[2])
    assert.equal(2, #told)
    assert.same({ "ec2:DescribeVpcs: no answer from ec2.us-east-1.amazonaws.com for 10 s "
      .. "(given up after 20, then asked again or failed)" }, { told[1] })
    assert.equal(0, task.live().timers)
  end)

  it("gives data as a stream, as it is stored", function ()
    local closed = 0
    local function body(parts)
      return function (req)
        assert.is_true(req.stream)
        assert.is_false(req.gzip)
        return {
          headers = { ETag = '"e"', ["Content-Length"] = "6" }, close = function ()
            closed = closed + 1
          end,
          read = function ()
            local part = table.remove(parts, 1)
            if part == false then return nil, err.new { code = "RTL-NET-009", message = "cut" } end
            return part
          end,
        }
      end
    end
    local s3 = client "s3"
    fake.answers = { body { "abc", "def" }, body { "abc", false } }
    local answer = assert(s3:get_object({ Bucket = "b", Key = "k" }, { stream = true }))
    assert.same({ 6, '"e"' }, { answer.ContentLength, answer.ETag })
    assert.same({ "abc", "def" }, { answer.Body:read(), answer.Body:read() })
    assert.is_nil(answer.Body:read())
    assert.equal(1, closed)
    answer = assert(s3:get_object({ Bucket = "b", Key = "k" }, { stream = true }))
    assert.equal("abc", answer.Body:read())
    local none, e = answer.Body:read()
    assert.is_nil(none)
    assert.equal("RTL-NET-009", e.code)
    fake.answers = { { status = 404,
      body = "<Error><Code>NoSuchKey</Code><Message>m</Message></Error>" } }
    none, e = s3:get_object({ Bucket = "b", Key = "k" }, { stream = true })
    assert.is_nil(none)
    assert.is_true(aws.errors.not_found(e))
    assert.error_matches(function ()
      client("eks"):list_clusters({}, { stream = true })
    end, "'list_clusters' has no body to stream")
  end)

  it("walks pages, collects them, and stops when they do not end", function ()
    local eks = client "eks"
    local function page(name, token)
      return { body = ('{"clusters":["%s"],"nextToken":%s}'):format(name, token) }
    end
    fake.answers = { page("a", '"t1"'), page("b", '"t2"'), { body = '{"clusters":[]}' } }
    local seen = {}
    for one in eks:pages("list_clusters", { maxResults = 1 }) do seen[#seen + 1] = #one.clusters end
    assert.same({ 1, 1, 0 }, seen)
    assert.truthy(fake.requests[2].url:find("nextToken=t1", 1, true))
    fake.answers = { page("a", '"t1"'), page("b", "null") }
    assert.same({ "a", "b" }, eks:all("list_clusters"))
    fake.answers = { page("a", '"t1"'), page("b", '"t1"') }
    local all, e = eks:all "list_clusters"
    assert.is_nil(all)
    assert.equal("RTL-AWS-006", e.code)
    fake.answers = { json_error("AccessDeniedException", 403) }
    local good, raised = pcall(function ()
      for _ in eks:pages "list_clusters" do error "no page was expected" end
    end)
    assert.is_false(good)
    assert.equal("AccessDeniedException", raised.code)
  end)

  it("waits for a state, fails on one that is final, and gives up in time", function ()
    local eks = client "eks"
    local function state(name) return { body = '{"cluster":{"status":"' .. name .. '"}}' } end
    fake.answers = { state "CREATING", state "CREATING", state "ACTIVE" }
    assert.equal("ACTIVE", eks:wait("cluster_active", { name = "n" }).cluster.status)
    assert.equal(60, fake.now)
    fake.answers = { state "FAILED" }
    local out, e = eks:wait("cluster_active", { name = "n" })
    assert.is_nil(out)
    assert.equal("RTL-AWS-004", e.code)
    assert.equal("FAILED", e.answer.cluster.status)
    fake.answers = { state "DELETING", json_error("ResourceNotFoundException", 404) }
    assert.is_true(eks:wait("cluster_deleted", { name = "n" }))
    fake.answers = { state "CREATING", state "CREATING" }
    out, e = eks:wait("cluster_active", { name = "n" }, { timeout = 45 })
    assert.is_nil(out)
    assert.equal("RTL-AWS-005", e.code)
    fake.answers = { json_error("AccessDeniedException", 403) }
    out, e = eks:wait("cluster_active", { name = "n" })
    assert.is_nil(out)
    assert.equal("AccessDeniedException", e.code)
  end)

  it("names the nearest operation and waiter, at the caller's line", function ()
    local eks = client "eks"
    local function raised(f)
      local good, message = pcall(f)
      assert.is_false(good)
      local place, rest = message:match "^([^:]+:%d+): (.*)$"
      assert.truthy(place and place:find("aws_client_spec.lua", 1, true), message)
      return rest
    end
    assert.equal("no operation 'describe_clusters' in eks (did you mean 'describe_cluster'?)",
      raised(function () eks:describe_clusters { name = "n" } end))
    assert.equal("no waiter 'cluster_activ' in eks (did you mean 'cluster_active'?)",
      raised(function () eks:wait("cluster_activ", { name = "n" }) end))
    assert.equal("bad argument #1 to 'describe_cluster' (name: required, but not given)",
      raised(function () eks:describe_cluster {} end))
    assert.truthy(raised(function () eks:call("describe_cluster", { nam = "n" }) end)
      :find("did you mean 'name'", 1, true))
    assert.equal("'describe_cluster' has no pages",
      raised(function () eks:all("describe_cluster", { name = "n" }) end))
    assert.truthy(raised(function () eks:all("list_clusters", { name = "n" }) end)
      :find("unknown member 'name'", 1, true))
  end)

  it("says when its methods are called without a colon, or with something else than a table",
    function ()
      local ec2 = client "ec2"
      for _, wrong in ipairs {
        function () ec2.describe_vpcs {} end, function () ec2.all("describe_vpcs", {}) end,
        function () ec2.pages("describe_vpcs", {}) end, function () ec2.call("describe_vpcs") end,
        function () ec2.wait("nat_gateway_available", {}) end,
      } do
        local good, message = pcall(wrong)
        assert.is_false(good)
        assert.matches("is called with a colon", message)
      end
      for _, operation in ipairs { "describe_vpcs", "create_nat_gateway" } do
        local good, message = pcall(ec2.call, ec2, operation, "x")
        assert.is_false(good)
        assert.matches("parameters: table expected, got string", message)
      end
    end)

  it("goes to no host that is none", function ()
    for text, code in pairs {
      ["localhost:4566"] = "RTL-AWS-010", ["http://"] = "RTL-AWS-010", [" http://h"] =
      "RTL-AWS-010", ["http://h/p?x=y"] = "RTL-AWS-010", ["http://u:hush@h"] = "RTL-AWS-010",
      ["ftp://h"] = "RTL-AWS-010",
    } do
      local _, e = client("eks", { endpoint = text }):list_clusters {}
      assert.equal(code, e.code, text)
      assert.matches("AWS_ENDPOINT_URL_EKS", e.hint)
      assert.is_nil(tostring(e):find "hush")
    end
    for _, region in ipairs { "evil.example/", "", "us-east-1.evil.example#" } do
      local _, e = client("eks", { region = region }):list_clusters {}
      assert.equal("RTL-AWS-002", e.code)
      _, e = assert(aws.session { region = "us-east-1", credentials = fake_aws.KEYS })
        :client("eks", { region = region }):list_clusters {}
      assert.equal("RTL-AWS-002", e.code)
    end
    assert.same({}, fake.requests)
    fake.answers = { { body = '{"clusters":[]}' } }
    assert(client("eks", { endpoint = "http://127.0.0.1:4566/path/" }):list_clusters {})
    assert.equal("http://127.0.0.1:4566/path/clusters", fake.requests[1].url)
  end)

  -- As botocore does: what has no path of its own keeps that of the endpoint, as it is.
  it("keeps the path of an endpoint", function ()
    for given, url in pairs {
      ["http://127.0.0.1:1"] = "http://127.0.0.1:1/",
      ["http://127.0.0.1:1/"] = "http://127.0.0.1:1/",
      ["http://127.0.0.1:1/a"] = "http://127.0.0.1:1/a",
      ["http://127.0.0.1:1/a/"] = "http://127.0.0.1:1/a/",
    } do
      fake.requests, fake.answers = {}, { VPCS, { body = '{"clusters":[]}' } }
      assert(client("ec2", { endpoint = given }):describe_vpcs {})
      assert(client("eks", { endpoint = given }):list_clusters {})
      assert.equal(url, fake.requests[1].url)
      assert.equal(url:gsub("/$", "") .. "/clusters", fake.requests[2].url)
    end
  end)

  it("makes the EKS token that the authenticator's vector has", function ()
    local session = assert(aws.session { region = "us-east-1", credentials = fake_aws.KEYS })
    local token, expires = aws.eks_token(session, "demo")
    assert.is_true(secret.is(token))
    local text = secret.reveal(token)
    assert.equal(481, #text)
    assert.equal("e7298439c1c514302a378715e56cee1e82c101d9aa6b2a92f53cb576059c81f9",
      require("rtl.native.crypto").sha256_hex(text))
    assert.equal(fake.start + 900, expires)
  end)
end)
