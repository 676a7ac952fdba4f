-- Deploy and teardown over HTTP against moto behind the judge, which honours client tokens: the
-- first call of each operation goes wrong in one of the ways, or the process dies at it. Whatever
-- happens, the next run goes on, nothing is made twice, and the teardown leaves nothing. The
-- waits are jumped over (test/support/at_once.lua). With RTL_TEST_SLOW in every way, each operation
-- alone, too, and each that changes something is a place to die.
local fs = require "rtl.fs"
local moto = require "test.support.moto"
local process = require "rtl.process"

local SLOW = os.getenv "RTL_TEST_SLOW"
local REGION = "us-east-2"
local DEPLOY = { "recipes/deploy.lua", "--yes", "--to", "cluster" }
local TEARDOWN = { "recipes/teardown.lua", "--yes" }
local WAYS = SLOW and { "500", "throttle", "reset-before", "reset-after" }
  or { "500", "reset-after" }
local DEATHS = { "kill-before", "kill-after" }

-- What is counted of a region: operation → the list in its answer.
local STANDING = { describe_vpcs = "Vpcs", describe_subnets = "Subnets",
  describe_internet_gateways = "InternetGateways", describe_addresses = "Addresses",
  describe_route_tables = "RouteTables", describe_security_groups = "SecurityGroups",
  describe_launch_templates = "LaunchTemplates", describe_vpc_endpoints = "VpcEndpoints",
  describe_nat_gateways = "NatGateways" }

-- What is deleted stays visible for a while.
local function living(list)
  local count = 0
  for _, item in ipairs(list) do
    if tostring(item.State) ~= "deleted" then count = count + 1 end
  end
  return count
end

describe("the recipes over HTTP", function ()
  local server, state, pid_file, before, operations

  local function rtl(words)
    local env = { PATH = process.getenv "PATH", HOME = state, RTL_STATE = state,
      AWS_ENDPOINT_URL = server.url, AWS_ACCESS_KEY_ID = moto.KEYS.access_key_id,
      AWS_SECRET_ACCESS_KEY = moto.KEYS.secret_access_key, AWS_REGION = REGION }
    local command = ('echo $$ >"%s"; exec build/rtl test/support/at_once.lua "$@"'):format(pid_file)
    return assert(process.run { argv = { "sh", "-c", command, "sh", table.unpack(words) },
      env = env, timeout = 120 })
  end

  local function ends_well(words)
    local ran = rtl(words)
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
  end

  -- How many of each thing stand: { describe_vpcs = 1, … }.
  local function standing()
    local session, counts = server:session { region = REGION }, {}
    local ec2 = session:client "ec2"
    for operation, member in pairs(STANDING) do
      counts[operation] = living(assert(ec2:call(operation, {}))[member])
    end
    counts.list_clusters = #assert(session:client("eks"):all("list_clusters", {}))
    counts.list_roles = #assert(session:client("iam"):all("list_roles", { PathPrefix = "/rtl/" }))
    return counts
  end

  local function operations_of(report)
    local names = {}
    for name in pairs(report.operations) do names[#names + 1] = name end
    table.sort(names)
    return names
  end

  -- One deployment as it should be: what the rounds are compared with.
  setup(function ()
    server, state = moto.start "--no-clock", fs.temp_dir "rtl-http-"
    pid_file = fs.join(state, "pid")
    before = standing()
    server:reset()
    ends_well(DEPLOY)
    operations = { deploy = operations_of(server:report()), stands = standing() }
    server:post "reset"
    ends_well(TEARDOWN)
    operations.teardown = operations_of(server:report())
    assert.same(before, standing())
  end)

  teardown(function ()
    server:stop()
    fs.remove_tree(state)
  end)

  before_each(function ()
    server:reset()
    assert(fs.remove_tree(fs.join(state, "aws")))
  end)

  -- The account after a round: right, and no request was wrong.
  local function check(wanted, what)
    assert.same(wanted, standing(), what)
    assert.same({}, server:report().problems, what)
  end

  local function all_at_once(names, way)
    for _, name in ipairs(names) do server:fault { match = name, ["do"] = way } end
  end

  -- Goes on with the same command until it ends well: a named error may end a run, not a hang.
  local function goes_on(words, what)
    for _ = 1, 4 do
      local ran = rtl(words)
      if ran.status == 0 then return end
      assert.is_truthy(ran.status == 1 or ran.status == 5 or ran.status == 6,
        what .. "\n" .. ran.stdout .. ran.stderr)
    end
    error(what .. ": does not end well")
  end

  for _, way in ipairs(WAYS) do
    it("end well when the first call of each operation meets " .. way, function ()
      all_at_once(operations.deploy, way)
      goes_on(DEPLOY, way)
      check(operations.stands, way)
      server:post "reset"
      all_at_once(operations.teardown, way)
      goes_on(TEARDOWN, way)
      check(before, way)
    end)
  end

  local CHANGES = "^[%w-]+:[^DLG]"

  -- The operations that change something: every one, or some of them.
  local function places(names, first)
    local list = {}
    for _, name in ipairs(names) do
      if name:match(CHANGES) or name:match "^[%w-]+:De[lt]" then list[#list + 1] = name end
    end
    if SLOW then return list end
    local some = {}
    for i = 5 * first, #list, 14 do some[#some + 1] = list[i] end
    return some
  end

  local function dies(words, place, death)
    server:fault { match = place, ["do"] = death .. ":" .. pid_file }
    local ran = rtl(words)
    assert.equal(9, ran.signal, place .. "\n" .. ran.stdout .. ran.stderr)
  end

  -- Plays `life(place, death)` for each place and each moment of a death, in a new account.
  local function at_each(names, whose, life)
    local deaths = 0
    for i, death in ipairs(DEATHS) do
      for _, place in ipairs(places(names, i)) do
        server:reset()
        assert(fs.remove_tree(fs.join(state, "aws")))
        life(place, death)
        ends_well(TEARDOWN)
        check(before, death .. " " .. place)
        deaths = deaths + 1
      end
    end
    print(("over HTTP: a %s died at %d calls"):format(whose, deaths))
  end

  it("go on after a death at any call that changes something", function ()
    at_each(operations.deploy, "deploy", function (place, death)
      dies(DEPLOY, place, death)
      ends_well(DEPLOY)
      check(operations.stands, death .. " " .. place)
    end)
  end)

  it("are taken down after a death in the teardown", function ()
    at_each(operations.teardown, "teardown", function (place, death)
      ends_well(DEPLOY)
      dies(TEARDOWN, place, death)
    end)
  end)

  if SLOW then
    it("end well when any one operation goes wrong in any way", function ()
      for _, way in ipairs(WAYS) do
        for _, name in ipairs(operations.deploy) do
          server:reset()
          assert(fs.remove_tree(fs.join(state, "aws")))
          server:fault { match = name, ["do"] = way }
          goes_on(DEPLOY, way .. " " .. name)
          check(operations.stands, way .. " " .. name)
        end
      end
    end)
  end
end)
