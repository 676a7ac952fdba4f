-- The login of an SSO session (sso-session): kept, refreshed, over.
local aws_home = require "test.support.aws_home"
local crypto = require "rtl.native.crypto"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local secret = require "rtl.native.secret"

local found, same_keys = aws_home.found, aws_home.same_keys

local here, home, fake

local function file(name, text) here:write(name, text) end

describe("the login of an SSO session", function ()
  local path

  local function login(changes)
    local kept = { startUrl = "https://corp/start", region = "eu-west-1", accessToken = "old",
      expiresAt = "2015-08-30T12:40:00Z", refreshToken = "refresh-1", clientId = "client",
      clientSecret = "client-secret", registrationExpiresAt = "2015-10-01T00:00:00Z" }
    for key, field in pairs(changes or {}) do kept[key] = field or nil end
    assert(fs.write(path, json.encode(kept)))
  end

  local ROLE = { body = '{"roleCredentials":{"accessKeyId":"ASIASSO","secretAccessKey":"s",'
    .. '"sessionToken":"t","expiration":1440941760000}}' }

  before_each(function ()
    here = aws_home.open()
    home, fake = here.path, here.fake
    file("config", "[sso-session corp]\nsso_region = eu-west-1\n"
      .. "sso_start_url = https://corp/start\n[profile dev]\nsso_session = corp\n"
      .. "sso_account_id = 123456789012\nsso_role_name = Admin\n")
    local cache = fs.join(home, ".aws", "sso", "cache")
    assert(fs.mkdirs(cache))
    path = fs.join(cache, crypto.hex(crypto.sha1 "corp") .. ".json")
  end)
  after_each(function () here:close() end)

  it("refreshes its token in time, and keeps the new one for others", function ()
    login()
    fake.answers = { { body = '{"accessToken":"new","expiresIn":3600,'
      .. '"refreshToken":"refresh-2"}' }, ROLE }
    same_keys(assert(found { profile = "dev" }), "ASIASSO", "s", "t")
    local req = fake.requests[1]
    assert.equal("https://oidc.eu-west-1.amazonaws.com/token", req.url)
    assert.is_true(secret.is(req.body))
    assert.same({ clientId = "client", clientSecret = "client-secret",
      grantType = "refresh_token", refreshToken = "refresh-1" },
      json.decode(secret.reveal(req.body)))
    local kept = json.decode(assert(fs.read(path)))
    assert.equal("new", kept.accessToken)
    assert.equal("refresh-2", kept.refreshToken)
    assert.equal("client-secret", kept.clientSecret)
    assert.equal("2015-08-30T13:36:00Z", kept.expiresAt)
    assert.equal(tonumber("600", 8), fs.stat(path).mode & 511)
    fake.answers = { ROLE }
    assert(found { profile = "dev" })
    assert.equal(3, #fake.requests)
  end)

  it("uses what is left of a token that can't be refreshed", function ()
    for _, changes in ipairs { { refreshToken = false },
      { registrationExpiresAt = "2015-01-01T00:00:00Z" } } do
      login(changes)
      fake.answers = { ROLE }
      assert(found { profile = "dev" })
    end
    login()
    fake.answers = { { status = 400, headers = { ["x-amzn-errortype"] = "InvalidGrantException" },
      body = '{"error":"invalid_grant"}' }, ROLE }
    assert(found { profile = "dev" })
  end)

  it("takes the login that another program got for the same refresh token", function ()
    login { expiresAt = "2015-08-30T12:00:00Z" }
    local function lost_the_race()
      login { accessToken = "theirs", expiresAt = "2015-08-30T13:36:00Z",
        refreshToken = "refresh-2" }
      return { status = 400, headers = { ["x-amzn-errortype"] = "InvalidGrantException" },
        body = '{"error":"invalid_grant"}' }
    end
    fake.answers = { lost_the_race, ROLE }
    assert(found { profile = "dev" })
    for _, pair in ipairs(fake.requests[2].headers) do
      if pair[1]:lower() == "x-amz-sso_bearer_token" then
        assert.is_true(secret.equals(pair[2], "theirs"))
      end
    end
    assert.equal("theirs", json.decode(assert(fs.read(path))).accessToken)
  end)

  it("keeps the login as it was when the answer holds no token", function ()
    login()
    local before = assert(fs.read(path))
    fake.answers = { { body = '{"expiresIn":3600}' }, ROLE }
    assert(found { profile = "dev" })
    assert.equal(before, assert(fs.read(path)))
  end)

  it("asks for a new login when there is no other way", function ()
    login { expiresAt = "2015-08-30T12:00:00Z" }
    fake.answers = { { status = 400, headers = { ["x-amzn-errortype"] = "InvalidGrantException" },
      body = '{"error":"invalid_grant"}' } }
    local none, e = found { profile = "dev" }
    assert.is_nil(none)
    assert.equal("RTL-CRED-010", e.code)
    assert.equal("InvalidGrantException", e.cause.code)
    assert.matches("log in: aws sso login --profile dev, then run", e.hint, 1, true)
    login { expiresAt = "2015-08-30T20:00:00Z" } -- good by its date, but withdrawn
    fake.answers = { { status = 401, headers = { ["x-amzn-errortype"] = "UnauthorizedException" },
      body = '{"message":"Session token not found or invalid"}' } }
    none, e = found { profile = "dev" }
    assert.is_nil(none)
    assert.equal("UnauthorizedException", e.code)
    assert.matches("log in: aws sso login --profile dev, then run", e.hint, 1, true)
  end)
end)
