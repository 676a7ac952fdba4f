local fs = require "rtl.fs"
local json = require "rtl.native.json"
local moto = require "test.support.moto"
local process = require "rtl.process"

-- The recipes as a user calls them, over HTTP, against moto behind the judge: the AWS half. moto
-- has no Kubernetes behind its clusters, so the deploy ends with step 2. Waits are jumped over.
describe("the deploy and teardown recipes against moto", function ()
  local server, state

  setup(function ()
    server = moto.start()
    state = fs.temp_dir("rtl-deploy-")
  end)
  teardown(function ()
    server:stop()
    fs.remove_tree(state)
  end)

  local function rtl(...)
    local env = { PATH = process.getenv "PATH", HOME = state, RTL_STATE = state,
      AWS_ENDPOINT_URL = server.url, AWS_ACCESS_KEY_ID = moto.KEYS.access_key_id,
      AWS_SECRET_ACCESS_KEY = moto.KEYS.secret_access_key }
    local done = assert(process.run { env = env, timeout = 300,
      argv = { "build/rtl", "test/support/at_once.lua", ... } })
    return done.status, done.stdout .. done.stderr
  end

  local function ec2_ids(op, id)
    local ec2 = server:session({ region = "us-east-2" }):client "ec2"
    local ids = {}
    for _, item in ipairs(assert(ec2:all(op, {}))) do
      if not item.IsDefault and item.GroupName ~= "default" then ids[#ids + 1] = item[id] end
    end
    return ids
  end

  local before

  it("make the network, the roles, the cluster and both node groups", function ()
    before = { vpcs = ec2_ids("describe_vpcs", "VpcId"),
      templates = ec2_ids("describe_launch_templates", "LaunchTemplateId") }
    local status, text = rtl("recipes/deploy.lua", "--yes", "--to", "cluster",
      "--down-after", "4h")
    assert.equal(0, status, text)
    assert.matches("2 × g6.12xlarge in one subnet of use2%-az%d, each with 1 EFA interface", text)
    assert.equal(#before.vpcs + 1, #ec2_ids("describe_vpcs", "VpcId"))
  end)

  -- Ten for a service at most; all are on one host here. 14 connections for 98 requests, as seen.
  it("do so on a handful of connections", function ()
    local report, by_service, most = server:report(), {}, 0
    for operation, count in pairs(report.operations) do
      local service = operation:match "^[^:]+"
      by_service[service] = (by_service[service] or 0) + count
    end
    for _, count in pairs(by_service) do most = most + math.min(count, 10) end
    assert.is_true(report.connections <= most, ("%d, %d"):format(report.connections, most))
    assert.is_true(report.requests >= 2 * report.connections, report.connections)
  end)

  it("have a lease that names each thing that bills", function ()
    local status, text = rtl("recipes/lease.lua")
    assert.equal(0, status, text)
    for _, wanted in ipairs { "eks:deleteNodegroup +gpu%-workers%-use2%-az%d ray%-train",
      "eks:deleteNodegroup +ray%-train system", "eks:deleteCluster +ray%-train",
      "ec2:deleteNatGateway +nat%-%x+", "ec2:releaseAddress +eipalloc%-%x+" } do
      assert.matches(wanted, text)
      assert.is_nil(text:match("%-0000000"), text)
    end
    status, text = rtl("recipes/lease.lua", "extend", "1h")
    assert.equal(0, status, text)
    status, text = rtl("recipes/report.lua")
    assert.equal(0, status, text)
    assert.matches("Receipt  [^\n]*%$%d", text)
  end)

  it("take all of it down again, and say that it is empty", function ()
    local status, text = rtl("recipes/teardown.lua", "--yes", "--json")
    assert.equal(0, status, text)
    local last
    for line in text:gmatch("[^\n]+") do last = json.decode(line) or last end
    assert.equal("run.end", last.type)
    assert.same(before.vpcs, ec2_ids("describe_vpcs", "VpcId"))
    assert.same(before.templates,
      ec2_ids("describe_launch_templates", "LaunchTemplateId"))
  end)

  it("sent no wrong request", function ()
    local report = server:report()
    assert.same({}, report.problems)
    assert.same({}, report.duplicated_creates)
  end)
end)
