local fs = require "rtl.fs"
local moto = require "test.support.moto"
local peer = require "test.support.peer"
local process = require "rtl.process"

-- A live run asks once before it makes or deletes anything, on a terminal; without one it needs
-- --yes. Against moto, since nothing is asked where nothing is at stake.
describe("a live deploy", function ()
  local server, state

  setup(function ()
    server = moto.start()
    state = fs.temp_dir("rtl-ask-")
  end)
  teardown(function ()
    server:stop()
    fs.remove_tree(state)
  end)
  before_each(function () server:post "reset" end)

  local function environment()
    return {
      PATH = process.getenv "PATH", HOME = state, RTL_STATE = state, TERM = "xterm",
      AWS_ENDPOINT_URL = server.url, AWS_ACCESS_KEY_ID = moto.KEYS.access_key_id,
      AWS_SECRET_ACCESS_KEY = moto.KEYS.secret_access_key,
    }
  end

  local function run(argv, stdin)
    return assert(process.run { argv = argv, stdin = stdin, timeout = 120, env = environment() })
  end

  local READS = { Describe = true, Get = true, List = true, Simulate = true }

  -- The operations sent that are no reads.
  local function changes()
    local names = {}
    for name in pairs(server:report().operations) do
      if not READS[name:match ":(%u%l+)"] then names[#names + 1] = name end
    end
    table.sort(names)
    return names
  end

  local DEPLOY = { "build/rtl", "recipes/deploy.lua", "--to", "cluster" }

  it("without a terminal is refused, and told about --yes", function ()
    local ran = run(DEPLOY)
    assert.equal(2, ran.status, ran.stdout .. ran.stderr)
    assert.matches("--yes", ran.stderr, 1, true)
    assert.matches("account …9012 · user moto (environment)", ran.stdout, 1, true)
    assert.same({}, changes())
  end)

  for _, answer in ipairs { "n", "", "what?" } do
    it(("on a terminal takes '%s' for a no, and makes nothing"):format(answer), function ()
      local words = { "python3", "test/terminal.py", table.unpack(DEPLOY) }
      local ran = run(words, answer .. "\n")
      assert.equal(5, ran.status, ran.stdout .. ran.stderr)
      assert.equal(1, select(2, ran.stdout:gsub("Go ahead[^\n]-%[y/N%]", "")))
      assert.same({}, changes())
    end)
  end

  -- A home whose profile dev is a role with MFA.
  local function with_mfa()
    assert(fs.mkdirs(fs.join(state, ".aws")))
    assert(fs.write(fs.join(state, ".aws/config"), ([[
[profile base]
aws_access_key_id = %s
aws_secret_access_key = %s
[profile dev]
role_arn = arn:aws:iam::123456789012:role/Admin
source_profile = base
mfa_serial = arn:aws:iam::123456789012:mfa/me
]]):format(moto.KEYS.access_key_id, moto.KEYS.secret_access_key)))
  end

  it("goes on after a yes, and asks for MFA codes, also below the lines in flight", function ()
    with_mfa()
    server:fault { match = "ec2:CreateInternetGateway", ["do"] = "token-expired" }
    local ran = run({ "python3", "test/terminal.py", "build/rtl", "test/support/at_once.lua",
      "recipes/deploy.lua", "--only", "settings,cluster", "--vpc-cidr", "10.9.0.0/16", "--profile",
      "dev", "--name", "other" }, "111111\ny\n222222\n")
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    local before, between, after = ran.stdout:match(
      "^(.-)MFA code of [^\n]-mfa/me %(profile dev%): (.*)MFA code of [^\n]-: (.*)$")
    assert.matches("^%s*111111", before .. between)
    assert.matches("role Admin (profile dev)", between, 1, true)
    assert.matches("Go ahead", between, 1, true)
    assert.matches("internet_gateway other +made", after)
    assert.is_true(#changes() > 10)
    assert.equal(2, server:report().operations["sts:AssumeRole"])
  end)

  it("stops at a question on Ctrl-C, and has made nothing", function ()
    with_mfa()
    for _, case in ipairs { { "MFA code of", "--profile", "dev" }, { "Go ahead" } } do
      local terminal = peer.start({ "python3", "test/terminal.py", "build/rtl",
        "recipes/deploy.lua", "--to", "cluster", "--name", "third", table.unpack(case, 2) },
        { env = environment() })
      terminal:wait_for(case[1])
      terminal:write "\3"
      assert.equal(130, terminal:status(), terminal.kept)
      terminal:stop()
      assert.same({}, changes())
    end
  end)
end)
