-- Keys that end in the middle of a deploy, in the simulated account: invisible where they can be
-- fetched anew, a question where a person can help, else an error that says how to go on, with a
-- ledger from which the next run does.
local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local fs = require "rtl.fs"
local http = require "rtl.rehearse.http"
local json = require "rtl.native.json"
local played = require "test.support.played"
local process = require "rtl.process"
local secret = require "rtl.native.secret"

local QUARTER = 900 -- seconds that the keys of these sessions live

describe("keys that end in the middle of a deploy", function ()
  local state, home, world, leave, asked, person, session_requests

  -- Keys of the world's Admin for a quarter of an hour.
  local function session_keys()
    local n = world:count "session of the spec"
    local keys = { access_key_id = ("ASIARTLSPEC%09d"):format(n),
      secret_access_key = ("spec-secret-%020d"):format(n), session_token = "spec-token-" .. n,
      expires = world:now() + QUARTER, arn = world.aws.caller.arn,
      principal = world.aws.caller.principal, user_id = world.aws.caller.user_id }
    world.keys_of[keys.access_key_id] = keys
    return keys
  end

  -- The portal of an SSO login, which the world has not.
  local function portal()
    local keys = session_keys()
    return { status = 200, headers = {}, body = json.encode { roleCredentials = {
      accessKeyId = keys.access_key_id, secretAccessKey = keys.secret_access_key,
      sessionToken = keys.session_token, expiration = math.floor(keys.expires * 1000) } } }
  end

  local function between(impl)
    return setmetatable({ request = function (req)
      local url = http.split(secret.reveal(req.url))
      if url.host:find "^portal%.sso%." then return portal() end
      local body = req.body and secret.reveal(req.body) or ""
      if body:find "Action=AssumeRole&" then session_requests = session_requests + 1 end
      return impl.request(req)
    end }, { __index = impl })
  end

  -- The person at the terminal, if `person` is one: fn(prompt) → what is typed.
  local function with_person()
    local inner, typed = process.use {}, nil
    process.use(setmetatable({
      getenv = function (name)
        if name == "HOME" then return home end
        if name == "AWS_CONFIG_FILE" or name == "AWS_SHARED_CREDENTIALS_FILE" then return nil end
        return inner.getenv(name)
      end,
      is_terminal = function () return person ~= nil end,
      write = function (text)
        asked[#asked + 1] = text
        typed = person(text)
        return true
      end,
      read_line = function () return typed end,
    }, { __index = inner }))
  end

  before_each(function ()
    state, home = assert(fs.temp_dir "rtl-keys-"), assert(fs.temp_dir "rtl-home-")
    assert(fs.mkdirs(fs.join(home, ".aws/sso/cache")))
    asked, person, session_requests = {}, nil, 0
    world, leave = played.enter("calm", state, between)
    with_person()
  end)
  after_each(function ()
    leave()
    assert(fs.remove_tree(state))
    assert(fs.remove_tree(home))
  end)

  local function write(name, text) assert(fs.write(fs.join(home, ".aws", name), text)) end

  local function deploy()
    return played.run("recipes/deploy.lua", false, { yes = true }, { profile = "dev" })
  end

  -- A deploy that ends well, long after the first keys did, and never showed AWS those.
  local function goes_through()
    local began = clock.utc()
    local exit, e = deploy()
    assert.equal("done", exit, tostring(e))
    assert.is_true(clock.utc() - began > QUARTER)
    assert.is_nil(world.struck_by["expired-keys"])
  end

  -- The deploy stops with that error; the next one, after `mend`, goes on to what an undisturbed
  -- deploy ends in.
  local function stops_and_goes_on(code, hint, mend)
    local exit, e = deploy()
    assert.is_nil(exit)
    while e.cause do e = e.cause end
    assert.equal(code, e.code)
    assert.matches(hint, e.hint, 1, true)
    mend()
    assert.equal("done", (deploy()))
    local calm, back = played.enter("calm", state .. "/calm")
    assert.equal("done", (played.run("recipes/deploy.lua", false, { yes = true })))
    back()
    assert.is_nil(played.difference(played.list(calm), played.list(world)))
  end

  local ROLE = "[profile dev]\nrole_arn = %s\ncredential_source = Environment\n"
    .. "duration_seconds = 900\n"
  local MFA = ROLE .. "mfa_serial = arn:aws:iam::123456789012:mfa/me\n"

  it("are those of a role: nobody notices", function ()
    write("config", ROLE:format(world.aws.caller.principal))
    goes_through()
    assert.is_true(session_requests >= 2)
  end)

  it("are those of a role with MFA: a code is asked for, each time as late as can be", function ()
    write("config", MFA:format(world.aws.caller.principal))
    person = function () return "123456" end
    goes_through()
    assert.equal(session_requests, #asked)
    assert.is_true(#asked >= 2)
    assert.equal("MFA code of arn:aws:iam::123456789012:mfa/me (profile dev): ", asked[2])
  end)

  it("and nobody is there for the code any more: the next run goes on", function ()
    write("config", MFA:format(world.aws.caller.principal))
    local codes = { "123456" }
    person = function () return table.remove(codes, 1) end
    stops_and_goes_on("RTL-CRED-007", "six digits", function ()
      person = function () return "654321" end
    end)
  end)

  local function paste()
    local keys = session_keys()
    write("credentials", ("[dev]\naws_access_key_id = %s\naws_secret_access_key = %s\n"
      .. "aws_session_token = %s\n"):format(keys.access_key_id, keys.secret_access_key,
        keys.session_token))
  end

  it("stand in a file: the error says what to do, and the next run goes on", function ()
    paste()
    stops_and_goes_on("RTL-CRED-012", "put new ones into profile dev, then run the same command",
      paste)
  end)

  it("stand in a file, and a person puts new ones there: the run goes on", function ()
    paste()
    person = function ()
      paste()
      return ""
    end
    assert.equal("done", (deploy()))
    assert.is_true(#asked >= 1)
    assert.matches("the keys from profile dev have ended. In another terminal, put new ones",
      asked[1], 1, true)
  end)

  local function log_in(seconds)
    local name = crypto.hex(crypto.sha1 "corp") .. ".json"
    write("sso/cache/" .. name, json.encode { startUrl = "https://corp/start", region = "us-east-1",
      accessToken = "token", expiresAt = clock.iso(math.floor(clock.utc()) + seconds) })
  end

  local SSO = "[sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://corp/start\n"
    .. "[profile dev]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Admin\n"

  it("come from a login that is over: the error says how to log in", function ()
    write("config", SSO)
    log_in(300)
    stops_and_goes_on("RTL-CRED-010", "log in: aws sso login --profile dev, then run the same",
      function () log_in(8 * 3600) end)
  end)

  it("come from a login that a person renews: the run goes on", function ()
    write("config", SSO)
    log_in(300)
    person = function ()
      log_in(8 * 3600)
      return ""
    end
    goes_through()
    assert.equal(1, #asked)
    assert.matches("log in: aws sso login --profile dev. Then press Enter", asked[1], 1, true)
  end)

  it("are followed by those of another account: nothing is done there", function ()
    paste()
    local calls = 0
    person = function ()
      calls = calls + 1
      if calls > 1 then return "stop" end
      paste()
      world.aws.account = "999999999999" -- what STS says from now on
      return ""
    end
    local exit, e = deploy()
    assert.is_nil(exit)
    while e.cause do e = e.cause end
    assert.equal("RTL-CRED-013", e.code)
    assert.matches("of account 999999999999", asked[2], 1, true)
  end)
end)
