-- Roles: whose keys they are assumed with, MFA codes, web identities.
local aws_home = require "test.support.aws_home"
local fs = require "rtl.fs"
local secret = require "rtl.native.secret"

local found, same_keys = aws_home.found, aws_home.same_keys

local here, home, fake, variables

local function file(name, text) here:write(name, text) end

local function role_answer(id, expires)
  return { body = ([[<AssumeRoleResponse><AssumeRoleResult><Credentials>
    <AccessKeyId>%s</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey>
    <SessionToken>role-token</SessionToken><Expiration>%s</Expiration>
    </Credentials></AssumeRoleResult></AssumeRoleResponse>]]):format(id,
      expires or "2015-08-30T13:36:00Z") }
end

describe("a profile with a role", function ()
  before_each(function ()
    here = aws_home.open()
    home, fake, variables = here.path, here.fake, here.variables
  end)
  after_each(function () here:close() end)

  it("assumes a role with another profile's keys", function ()
    file("config", "[profile base]\naws_access_key_id = AKIABASE\naws_secret_access_key = b\n"
      .. "[profile admin]\nrole_arn = arn:aws:iam::123456789012:role/admin\n"
      .. "source_profile = base\nexternal_id = ext\nrole_session_name = me\n"
      .. "duration_seconds = 1800\n")
    fake.answers = { role_answer "ASIAROLE" }
    local creds = assert(found { profile = "admin" })
    same_keys(creds, "ASIAROLE", "role-secret", "role-token")
    assert.equal("profile admin (role)", creds.source)
    local req = fake.requests[1]
    assert.equal("https://sts.us-east-1.amazonaws.com/", req.url)
    for _, part in ipairs { "Action=AssumeRole&", "ExternalId=ext", "RoleSessionName=me",
      "DurationSeconds=1800" } do
      assert.truthy(req.body:find(part, 1, true), part)
    end
    for _, pair in ipairs(req.headers) do
      if pair[1]:lower() == "authorization" then
        assert.truthy(pair[2]:find("AKIABASE/", 1, true))
      end
    end
  end)

  it("assumes a chain of roles", function ()
    file("config", "[profile a]\nrole_arn = arn:aws:iam::123456789012:role/a-role\n"
      .. "source_profile = b\n"
      .. "[profile b]\nrole_arn = arn:aws:iam::123456789012:role/b-role\n"
      .. "credential_source = Environment\n")
    variables.AWS_ACCESS_KEY_ID, variables.AWS_SECRET_ACCESS_KEY = "AKIAENV", "env-secret"
    fake.answers = { role_answer "ASIAB", role_answer "ASIAA" }
    same_keys(assert(found { profile = "a" }), "ASIAA", "role-secret", "role-token")
    assert.truthy(fake.requests[1].body:find("b-role", 1, true))
    assert.truthy(fake.requests[2].body:find("a-role", 1, true))
  end)

  it("looks no further when a role names its own profile, which has no keys", function ()
    file("config", "[profile x]\nrole_arn = arn:aws:iam::123456789012:role/x-role\n"
      .. "source_profile = x\n")
    variables.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x"
    local none, e = found { profile = "x" }
    assert.is_nil(none)
    assert.equal("RTL-CRED-003", e.code)
    assert.same({}, fake.requests)
  end)

  it("refuses roles that have no usable source", function ()
    local arn = "role_arn = arn:aws:iam::123456789012:role/x-role\n"
    for text, code in pairs {
      [arn] = "RTL-CRED-006",
      [arn .. "source_profile = x\ncredential_source = Environment\n"] = "RTL-CRED-006",
      [arn .. "credential_source = Enviroment\n"] = "RTL-CRED-006",
      [arn .. "source_profile = y\n[profile y]\n" .. arn .. "source_profile = x\n"]
        = "RTL-CRED-006",
      [arn .. "source_profile = y\nmfa_serial = m\n[profile y]\naws_access_key_id = AKIAY\n"
        .. "aws_secret_access_key = s\n"] = "RTL-CRED-007",
      [arn .. "source_profile = nobody\n"] = "RTL-CRED-008",
    } do
      file("config", "[profile x]\n" .. text)
      local creds, e = found { profile = "x" }
      assert.is_nil(creds)
      assert.equal(code, e.code, text)
    end
  end)

  it("asks for an MFA code on a terminal, and not for ever", function ()
    file("config", "[profile x]\nrole_arn = arn:aws:iam::123456789012:role/x-role\n"
      .. "source_profile = x\naws_access_key_id = AKIAX\naws_secret_access_key = s\n"
      .. "mfa_serial = arn:aws:iam::123456789012:mfa/me\n")
    local lines = { "12345", " 123 456 " }
    here:surroundings(nil, lines)
    fake.answers = { role_answer "ASIAX" }
    same_keys(assert(found { profile = "x" }), "ASIAX", "role-secret", "role-token")
    assert.truthy(fake.requests[1].body:find("TokenCode=123456", 1, true))
    assert.truthy(fake.requests[1].body:find("mfa%2Fme", 1, true))
    lines[1], lines[2], lines[3], lines[4] = "a", "b", "c", "123456"
    local none, e = found { profile = "x" }
    assert.is_nil(none)
    assert.equal("RTL-CRED-007", e.code)
    assert.same({ "123456" }, lines)
    lines[1] = nil -- the end of the input
    none, e = found { profile = "x" }
    assert.is_nil(none)
    assert.equal("RTL-CRED-007", e.code)
  end)

  it("uses a profile's own keys as the source of its role", function ()
    file("config", "[profile x]\nrole_arn = arn:aws:iam::123456789012:role/x-role\n"
      .. "source_profile = x\naws_access_key_id = AKIAX\naws_secret_access_key = s\n")
    fake.answers = { role_answer "ASIAX" }
    same_keys(assert(found { profile = "x" }), "ASIAX", "role-secret", "role-token")
  end)

  it("shows a web identity's token to STS, unsigned", function ()
    local path = fs.join(home, "token")
    assert(fs.write(path, "web.token\n"))
    variables.AWS_WEB_IDENTITY_TOKEN_FILE = path
    variables.AWS_ROLE_ARN = "arn:aws:iam::123456789012:role/web"
    fake.answers = { { body = (role_answer "ASIAWEB").body:gsub("AssumeRoleRes",
      "AssumeRoleWithWebIdentityRes") } }
    same_keys(assert(found()), "ASIAWEB", "role-secret", "role-token")
    local req = fake.requests[1]
    assert.is_true(secret.is(req.body))
    assert.truthy(secret.reveal(req.body):find("WebIdentityToken=web.token", 1, true))
    for _, pair in ipairs(req.headers) do
      assert.not_equal("authorization", pair[1]:lower())
    end
  end)
end)
