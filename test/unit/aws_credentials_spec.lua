-- The credential chain, with files in a home of its own, no network and no programs but the fakes'.
local aws = require "rtl.aws"
local credentials = require "rtl.aws.credentials"
local fake_aws = require "test.support.fake_aws"
local fs = require "rtl.fs"
local profile = require "rtl.aws.profile"
local secret = require "rtl.native.secret"
local task = require "rtl.task"
local err = require "rtl.err"

local home, fake, undo, variables

local function file(name, text)
  assert(fs.mkdirs(fs.join(home, ".aws")))
  assert(fs.write(fs.join(home, ".aws", name), text))
end

-- The credentials of a session, or nil and the error.
local function found(options)
  local given = { region = "us-east-1" }
  for key, value in pairs(options or {}) do given[key] = value end
  local session, failure = aws.session(given)
  if not session then return nil, failure end
  return session.credentials:get()
end

local function same_keys(creds, id, key, token)
  assert.equal(id, creds.access_key_id)
  assert.is_true(secret.is(creds.secret_access_key))
  assert.is_true(secret.equals(creds.secret_access_key, key))
  if token then
    assert.is_true(secret.equals(creds.session_token, token))
  else
    assert.is_nil(creds.session_token)
  end
end

local function role_answer(id, expires)
  return { body = ([[<AssumeRoleResponse><AssumeRoleResult><Credentials>
    <AccessKeyId>%s</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey>
    <SessionToken>role-token</SessionToken><Expiration>%s</Expiration>
    </Credentials></AssumeRoleResult></AssumeRoleResponse>]]):format(id,
      expires or "2015-08-30T13:36:00Z") }
end

describe("the credential chain", function ()
  before_each(function ()
    home = assert(fs.temp_dir "rtl-aws-")
    variables = { HOME = home, AWS_EC2_METADATA_DISABLED = "true" }
    fake, undo = fake_aws.install(), fake_aws.environment(variables)
  end)
  after_each(function ()
    fake.restore()
    undo()
    assert(fs.remove_tree(home))
  end)

  it("begins with the environment; an empty variable is none", function ()
    variables.AWS_ACCESS_KEY_ID, variables.AWS_SECRET_ACCESS_KEY = "AKIAENV", "env-secret"
    variables.AWS_SESSION_TOKEN = ""
    file("credentials", "[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = f\n")
    same_keys(assert(found()), "AKIAENV", "env-secret")
    variables.AWS_PROFILE = "default"
    same_keys(assert(found()), "AKIAENV", "env-secret")
    same_keys(assert(found { profile = "default" }), "AKIAFILE", "f")
    variables.AWS_SECRET_ACCESS_KEY = nil
    local _, e = found()
    assert.equal("RTL-CRED-003", e.code)
  end)

  it("says how to go on when there are none", function ()
    local creds, e = found()
    assert.is_nil(creds)
    assert.equal("RTL-CRED-002", e.code)
    assert.truthy(e.hint:find "AWS_PROFILE")
  end)

  it("says of each place why it gave none", function ()
    local function reasons()
      local _, e = found()
      local list = {}
      for i, problem in ipairs(e.problems) do list[i] = problem.message:match "^%w+.*: (.*)$" end
      return list
    end
    assert.same({ "AWS_ACCESS_KEY_ID is not set",
      "no profile is chosen (AWS_PROFILE), and there is no default one",
      "AWS_WEB_IDENTITY_TOKEN_FILE is not set",
      "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI are not set",
      "AWS_EC2_METADATA_DISABLED is true" }, reasons())
    file("config", "[default]\nregion = eu-west-1\n")
    variables.AWS_WEB_IDENTITY_TOKEN_FILE = "/token"
    variables.AWS_EC2_METADATA_DISABLED = nil
    fake.answers = { { status = 403 } }
    local list = reasons()
    assert.equal("the profile default holds no keys", list[2])
    assert.equal("AWS_ROLE_ARN is not set", list[3])
    assert.equal("it answered 403", list[5])
    fake.answers = { { body = "token" }, { status = 404 } }
    assert.equal("it has no role", reasons()[5])
  end)

  it("runs a process again when its keys have little left", function ()
    file("config", "[profile p]\ncredential_process = keys\n")
    local runs = 0
    undo()
    undo = fake_aws.environment(variables, function ()
      runs = runs + 1
      return { status = 0, stderr = "", stdout = ('{"Version":1,"AccessKeyId":"AKIAP%d",'
        .. '"SecretAccessKey":"p","Expiration":"2015-08-30T12:40:00Z"}'):format(runs) }
    end)
    local session = assert(aws.session { region = "us-east-1", profile = "p" })
    assert.equal("AKIAP1", assert(session.credentials:get()).access_key_id) -- four minutes left
    assert.equal("AKIAP1", assert(session.credentials:get()).access_key_id)
    fake.now = 61
    assert.equal("AKIAP2", assert(session.credentials:get()).access_key_id)
  end)

  it("finds a profile in both files, the credentials file first", function ()
    file("config", "[profile dev]\nregion = eu-west-1\naws_access_key_id = AKIACONFIG\n"
      .. "aws_secret_access_key = c\n")
    file("credentials", "[dev]\naws_access_key_id=AKIAFILE\naws_secret_access_key=f#g\n"
      .. "aws_session_token = t ; a note\n")
    same_keys(assert(found { profile = "dev" }), "AKIAFILE", "f#g", "t")
    variables.AWS_PROFILE = "dev"
    assert.equal("eu-west-1", assert(aws.session {}).region)
    assert.equal("profile", assert(aws.session {}).region_source)
    variables.AWS_REGION = "us-west-2"
    assert.equal("us-west-2", assert(aws.session {}).region)
  end)

  it("says which sections count for nothing, here or for the AWS CLI", function ()
    local function notes(text, is_config)
      local said = assert(profile.parse(text, is_config, "f")).notes
      for i, note in ipairs(said) do said[i] = note:match "^f, line 1: %[.-%] (.*)$" end
      return said
    end
    for text, note in pairs {
      ["[dev]"] = "is no profile here: write [profile dev]",
      ["[profile Foo Bar]"] =
        'is seen by rtl, but not by the AWS CLI: write [profile "Foo Bar"]',
      ["[ default]"] = "is seen by rtl, but not by the AWS CLI: take the blanks out",
    } do
      assert.same({ note }, notes(text, true))
    end
    assert.same({ "is no profile here: write [dev]" }, notes("[profile dev]", false))
    assert.same({ "is seen by rtl, but not by the AWS CLI: take the blanks out" },
      notes("[ default ]", false))
    for _, text in ipairs { "[default]", "[profile dev]", '[profile "Foo Bar"]', "[sso-session a]",
      "[services a]", "[plugins]", "[profile default]" } do
      assert.same({}, notes(text, true), text)
    end
    assert.same({}, notes("[Foo Bar]", false))
  end)

  it("refuses a chosen profile that is not there, and names the nearest", function ()
    file("config", "[profile deploy]\nregion = a\n[dev]\naws_access_key_id = x\n")
    local _, e = found { profile = "deplyo" }
    assert.equal("RTL-CRED-008", e.code)
    assert.truthy(e.message:find "did you mean 'deploy'")
    _, e = found { profile = "dev" }
    assert.truthy(e.hint:find("[profile dev]", 1, true))
    _, e = found { profile = "deploy" }
    assert.truthy(e.message:find "holds no credentials")
  end)

  it("needs a region, and one that can be a host's name", function ()
    local session, e = aws.session {}
    assert.is_nil(session)
    assert.equal("RTL-AWS-001", e.code)
    for _, region in ipairs { "us-east", "us-east-1.evil.example/", "US-EAST-1", "" } do
      session, e = aws.session { region = region }
      assert.is_nil(session)
      assert.equal("RTL-AWS-002", e.code)
    end
    for _, region in ipairs { "us-east-1", "us-gov-west-1", "ap-southeast-7", "us-isob-east-1" } do
      assert.equal(region, assert(aws.session { region = region }).region)
    end
  end)

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

  it("refuses keys that hold a line end, and says where they came from", function ()
    for _, name in ipairs { "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN" } do
      for _, bad in ipairs { "AKIA\r", "AKIA\nX-Other: 1", "AK\0IA", "AK\tIA", "AK\x7fIA" } do
        variables.AWS_ACCESS_KEY_ID, variables.AWS_SECRET_ACCESS_KEY = "AKIAENV", "env/+=secret"
        variables.AWS_SESSION_TOKEN = "tok/+=en"
        assert(found())
        variables["AWS_" .. name] = bad
        local none, e = found()
        assert.is_nil(none)
        assert.equal("RTL-CRED-004", e.code)
        assert.matches(name:lower():gsub("_", " ") .. " from environment holds", e.message)
        assert.is_nil(tostring(e):find("AKIA", 1, true))
      end
    end
  end)

  it("takes an empty setting, or a group where a text belongs, for none", function ()
    local pair = "aws_access_key_id = AKIAA\naws_secret_access_key = s\n"
    for _, key in ipairs { "region", "endpoint_url", "ca_bundle", "max_attempts", "services",
      "ignore_configured_endpoint_urls", "aws_session_token" } do
      for _, empty in ipairs { " =\n", " =\n  a = b\n" } do
        file("config", "[profile a]\n" .. key .. empty .. pair)
        fake.answers = { { body = '{"clusters":[]}' } }
        local session = assert(aws.session { region = "us-east-1", profile = "a" })
        assert(session:client("eks"):list_clusters {})
        local asked = table.remove(fake.requests)
        assert.equal("https://eks.us-east-1.amazonaws.com/clusters", asked.url)
        assert.is_nil(asked.tls.ca_file)
        local _, e = aws.session { profile = "a" }
        assert.equal("RTL-AWS-001", e.code)
      end
    end
    local arn = "role_arn = arn:aws:iam::123456789012:role/x-role\n"
    for _, text in ipairs {
      "role_arn =\n  a = b\n", arn .. "source_profile =\n  a = b\n",
      arn .. "credential_source =\n  a = b\n", arn .. "web_identity_token_file =\n  a = b\n",
      "credential_process =\n  a = b\n", "sso_role_name =\n  a = b\n",
      "aws_access_key_id =\naws_secret_access_key = s\n", "aws_access_key_id = A\n"
        .. "aws_secret_access_key =\n", "aws_access_key_id =\n  a = b\n",
      "aws_access_key_id = A\naws_secret_access_key =\n  a = b\n",
    } do
      file("config", "[profile x]\n" .. text)
      local none, e = found { profile = "x" }
      assert.is_nil(none)
      assert.matches("^RTL%-", e.code)
    end
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
    undo()
    local lines = { "12345", " 123 456 " }
    undo = fake_aws.environment(variables, nil, lines)
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

  it("reads the files again when the keys have ended", function ()
    local text = "[x]\naws_access_key_id = %s\naws_secret_access_key = s\naws_session_token = t\n"
    file("credentials", text:format "ASIAOLD")
    local session = assert(aws.session { region = "us-east-1", profile = "x" })
    local old = assert(session.credentials:get())
    session.credentials:expire(old)
    file("credentials", text:format "ASIANEW")
    assert.equal("ASIANEW", assert(session.credentials:get()).access_key_id)
  end)

  it("takes no keys of another account in the middle of a run", function ()
    local text = "[x]\naws_access_key_id = %s\naws_secret_access_key = s\naws_session_token = t\n"
    local function caller(account)
      return { body = ("<GetCallerIdentityResponse><GetCallerIdentityResult><Account>%s</Account>"
        .. "<Arn>arn:aws:iam::%s:user/u</Arn><UserId>U</UserId></GetCallerIdentityResult>"
        .. "</GetCallerIdentityResponse>"):format(account, account) }
    end
    file("credentials", text:format "ASIAOLD")
    fake.answers = { caller "111111111111" }
    local session = assert(aws.session { region = "us-east-1", profile = "x" })
    assert(session:identity())
    session.credentials:expire(assert(session.credentials:get()))
    file("credentials", text:format "ASIAOTHER")
    fake.answers = { caller "222222222222" }
    local none, e = session.credentials:get()
    assert.is_nil(none)
    assert.equal("RTL-CRED-013", e.code)
    assert.matches("222222222222, and this run works in 111111111111", e.message, 1, true)
    file("credentials", text:format "ASIANEW")
    fake.answers = { caller "111111111111" }
    assert.equal("ASIANEW", assert(session.credentials:get()).access_key_id)
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

  it("shows the token of an SSO login to the portal", function ()
    file("config", "[sso-session corp]\nsso_region = eu-west-1\n"
      .. "sso_start_url = https://corp/start\n[profile dev]\nsso_session = corp\n"
      .. "sso_account_id = 123456789012\nsso_role_name = Admin\n")
    local cache = fs.join(home, ".aws", "sso", "cache")
    assert(fs.mkdirs(cache))
    local function login(name, token, ends, url)
      assert(fs.write(fs.join(cache, name),
        ('{"startUrl":"%s","accessToken":"%s","expiresAt":"%s"}'):format(
          url or "https://corp/start", token, ends)))
    end
    local none, e = found { profile = "dev" }
    assert.is_nil(none)
    assert.equal("RTL-CRED-010", e.code)
    login("a.json", "old", "2015-08-30T12:00:00Z")
    login("c.json", "other", "2015-08-31T12:00:00Z", "https://other/start")
    assert(fs.write(fs.join(cache, "d.json"), "not json"))
    none, e = found { profile = "dev" }
    assert.is_nil(none)
    assert.truthy(e.message:find "expired")
    login("b.json", "new", "2015-08-30T20:00:00Z")
    fake.answers = { { body = '{"roleCredentials":{"accessKeyId":"ASIASSO",'
      .. '"secretAccessKey":"s","sessionToken":"t","expiration":1440941760000}}' } }
    local creds = assert(found { profile = "dev" })
    same_keys(creds, "ASIASSO", "s", "t")
    assert.equal(1440941760, creds.expires)
    assert.equal("profile dev (SSO)", creds.source)
    local req = fake.requests[1]
    assert.equal("https://portal.sso.eu-west-1.amazonaws.com/federation/credentials"
      .. "?role_name=Admin&account_id=123456789012", req.url)
    local headers = {}
    for _, pair in ipairs(req.headers) do headers[pair[1]:lower()] = pair[2] end
    assert.is_true(secret.equals(headers["x-amz-sso_bearer_token"], "new"))
    assert.is_nil(headers.authorization)
  end)

  describe("with the login of an SSO session", function ()
    local crypto = require "rtl.native.crypto"
    local json = require "rtl.native.json"
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
      file("config", "[sso-session corp]\nsso_region = eu-west-1\n"
        .. "sso_start_url = https://corp/start\n[profile dev]\nsso_session = corp\n"
        .. "sso_account_id = 123456789012\nsso_role_name = Admin\n")
      local cache = fs.join(home, ".aws", "sso", "cache")
      assert(fs.mkdirs(cache))
      path = fs.join(cache, crypto.hex(crypto.sha1 "corp") .. ".json")
    end)

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

  it("takes the region from the instance when nobody names one", function ()
    variables.AWS_EC2_METADATA_DISABLED = nil
    fake.answers = { { body = "imds-token" }, { body = "eu-north-1" } }
    local session = assert(aws.session {})
    assert.equal("eu-north-1", session.region)
    assert.equal("instance metadata", session.region_source)
    assert.truthy(fake.requests[2].url:find "/latest/meta%-data/placement/region$")
    fake.answers = { { err = err.new { code = "RTL-NET-005", message = "nobody" } } }
    local none, e = aws.session {}
    assert.is_nil(none)
    assert.equal("RTL-AWS-001", e.code)
    variables.AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE = "IPv6"
    fake.answers = { { body = "imds-token" }, { body = "eu-north-1" } }
    assert(aws.session {})
    assert.truthy(fake.requests[#fake.requests].url:find("http://[fd00:ec2::254]/", 1, true))
  end)

  it("serves an instance's keys on while its metadata fails", function ()
    variables.AWS_EC2_METADATA_DISABLED = nil
    fake.answers = { { body = "imds-token" }, { body = "r" }, { body =
      '{"Code":"Success","AccessKeyId":"ASIAI","SecretAccessKey":"s","Token":"t",'
      .. '"Expiration":"2015-08-30T13:36:00Z"}' } }
    local session = assert(aws.session { region = "us-east-1" })
    assert(session.credentials:get())
    fake.now = 7200
    fake.answers = { { status = 500 } }
    same_keys(assert(session.credentials:get()), "ASIAI", "s", "t")
    assert.equal(4, #fake.requests)
  end)

  it("lets a profile point at other endpoints, and turn that off", function ()
    file("config", "[profile a]\nservices = local\nendpoint_url = http://all:1\n"
      .. "aws_access_key_id = AKIAA\naws_secret_access_key = s\n"
      .. "[services local]\nservice_quotas =\n  endpoint_url = http://quotas:2\n"
      .. "[profile b]\nendpoint_url = http://all:1\nignore_configured_endpoint_urls = true\n"
      .. "aws_access_key_id = AKIAA\naws_secret_access_key = s\n")
    local function url(name, service)
      return assert(aws.session { region = "us-east-1", profile = name }):client(service)
        .endpoint.url
    end
    assert.equal("http://quotas:2", url("a", "service_quotas"))
    assert.equal("http://all:1", url("a", "ec2"))
    assert.equal("https://ec2.us-east-1.amazonaws.com", url("b", "ec2"))
    variables.AWS_ENDPOINT_URL = "http://every:3"
    assert.equal("http://every:3", url("a", "service_quotas"))
    variables.AWS_ENDPOINT_URL_SERVICE_QUOTAS = "http://own:4"
    assert.equal("http://own:4", url("a", "service_quotas"))
    assert.equal("http://every:3", url("a", "eks"))
    variables.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS = "TRUE"
    assert.equal("https://eks.us-east-1.amazonaws.com", url("a", "eks"))
  end)

  it("takes the authorities of AWS_CA_BUNDLE, else of the profile", function ()
    file("config", "[profile a]\nca_bundle = /profile.pem\naws_access_key_id = AKIAA\n"
      .. "aws_secret_access_key = s\n")
    local answer = { body = "<GetCallerIdentityResponse><GetCallerIdentityResult>"
      .. "<Account>123456789012</Account><Arn>arn:aws:iam::123456789012:user/u</Arn>"
      .. "<UserId>U</UserId></GetCallerIdentityResult></GetCallerIdentityResponse>" }
    for _, path in ipairs { "/profile.pem", "/env.pem" } do
      fake.answers = { answer }
      assert(assert(aws.session { region = "us-east-1", profile = "a" }):identity())
      assert.equal(path, fake.requests[#fake.requests].tls.ca_file)
      variables.AWS_CA_BUNDLE = "/env.pem"
    end
  end)

  it("runs a credential process without a shell", function ()
    file("config", "[profile p]\ncredential_process = /opt/keys --for 'a b' \"c\\\"d\" e\\ f\n")
    local ran, most
    undo()
    undo = fake_aws.environment(variables, function (options)
      ran, most = options.argv, options.most
      return { status = 0, stderr = "", stdout =
        '{"Version":1,"AccessKeyId":"AKIAP","SecretAccessKey":"p","SessionToken":"t",'
        .. '"Expiration":""}' }
    end)
    same_keys(assert(found { profile = "p" }), "AKIAP", "p", "t")
    assert.same({ "/opt/keys", "--for", "a b", 'c"d', "e f" }, ran)
    assert.is_true(most <= 1 << 20) -- of what never ends, too
  end)

  it("knows when keys end, and does not take what it can't read for never", function ()
    variables.AWS_ACCESS_KEY_ID, variables.AWS_SECRET_ACCESS_KEY = "AKIAENV", "env-secret"
    for text, ends in pairs {
      [""] = false, ["2015-08-30T18:00:00Z"] = 1440957600, ["2015-08-30T18:00:00+00:00"] =
      1440957600, ["2015-08-30 18:00:00+00:00"] = 1440957600, ["2015-08-30T18:00:00.5Z"] =
      1440957600.5,
    } do
      variables.AWS_CREDENTIAL_EXPIRATION = text
      assert.equal(ends or nil, assert(found()).expires)
    end
    for _, text in ipairs { "tomorrow", "1440957600", "2015-13-30T18:00:00Z" } do
      variables.AWS_CREDENTIAL_EXPIRATION = text
      local none, e = found()
      assert.is_nil(none)
      assert.equal("RTL-CRED-004", e.code)
      assert.matches(text, e.message, 1, true)
    end
  end)

  it("explains a credential process that fails or prints nonsense", function ()
    file("config", "[profile p]\ncredential_process = keys\n")
    for _, done in ipairs {
      { status = 3, stdout = "", stderr = "no login" },
      { status = 0, stdout = "hello", stderr = "" },
      { status = 0, stdout = '{"Version":2}', stderr = "" },
      { status = 0, stdout = '{"Version":1,"AccessKeyId":"A"}', stderr = "" },
      { status = 0, stdout = '{"Version":1,"AccessKeyId":"","SecretAccessKey":"s"}', stderr = "" },
      { status = 0, stdout = '{"Version":1,"AccessKeyId":"A","SecretAccessKey":""}', stderr = "" },
    } do
      undo()
      undo = fake_aws.environment(variables, function () return done end)
      local creds, e = found { profile = "p" }
      assert.is_nil(creds)
      assert.truthy(e.code:find "^RTL%-CRED%-00[45]$")
    end
  end)

  it("asks a container's service, only a local or https one", function ()
    variables.AWS_CONTAINER_CREDENTIALS_FULL_URI = "http://169.254.170.23/v1/credentials"
    local path = fs.join(home, "token")
    assert(fs.write(path, "pod.token"))
    variables.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE = path
    fake.answers = { { body = '{"AccessKeyId":"ASIAPOD","SecretAccessKey":"s","Token":"t",'
      .. '"Expiration":"2015-08-30T18:00:00Z"}' } }
    local creds = assert(found())
    same_keys(creds, "ASIAPOD", "s", "t")
    assert.equal(1440957600, creds.expires)
    assert.is_false(fake.requests[1].proxy)
    for _, bad in ipairs { "pod\r\nX-Other: 1", "pod\0token" } do
      assert(fs.write(path, bad))
      local none, e = found()
      assert.is_nil(none)
      assert.matches("authorization token holds a line end", e.message)
      assert.equal(1, #fake.requests)
    end
    for _, url in ipairs { "http://example.com/keys", "http://169.254.170.23.example.com/",
      "http://localhost@example.com/" } do
      variables.AWS_CONTAINER_CREDENTIALS_FULL_URI = url
      local none, e = found()
      assert.is_nil(none)
      assert.equal("RTL-CRED-009", e.code, url)
    end
  end)

  it("asks instance metadata with a token, and goes on when nobody is there", function ()
    variables.AWS_EC2_METADATA_DISABLED = nil
    fake.answers = { { body = "imds-token" }, { body = "node-role\n" }, { body =
      '{"Code":"Success","AccessKeyId":"ASIAI","SecretAccessKey":"s","Token":"t",'
      .. '"Expiration":"2015-08-30T18:00:00Z"}' } }
    same_keys(assert(found()), "ASIAI", "s", "t")
    assert.equal("PUT", fake.requests[1].method)
    assert.truthy(fake.requests[3].url:find "/security%-credentials/node%-role$")
    fake.answers = { { body = "imds-token" }, { body = "r" },
      { body = '{"Code":"Failed","Message":"try later"}' } }
    local none, e = found()
    assert.is_nil(none)
    assert.equal("RTL-CRED-004", e.code)
    fake.answers = { { err = err.new { code = "RTL-NET-005", message = "nobody" } } }
    none, e = found()
    assert.is_nil(none)
    assert.equal("RTL-CRED-002", e.code)
    fake.answers = { { err = err.new { code = "RTL-NET-007", message = "no answer" } } }
    none, e = found()
    assert.is_nil(none)
    assert.equal("RTL-CRED-011", e.code)
    assert.truthy(e.hint:find "HttpPutResponseHopLimit")
  end)
end)

describe("kept credentials", function ()
  before_each(function ()
    fake, undo = fake_aws.install(), fake_aws.environment {}
  end)
  after_each(function ()
    fake.restore()
    undo()
  end)

  local function keys(id, seconds)
    return {
      access_key_id = id, secret_access_key = secret.new "s", source = "test",
      expires = seconds and fake.start + seconds,
    }
  end

  it("are fetched once for many tasks", function ()
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      task.sleep(1)
      return keys("A", 3600)
    end)
    local ids = task.run(function ()
      return task.map({ 1, 2, 3, 4, 5 }, function () return provider:get().access_key_id end)
    end)
    assert.same({ "A", "A", "A", "A", "A" }, ids)
    assert.equal(1, count)
  end)

  it("share a failure, and are asked for again next time", function ()
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      task.sleep(1)
      if count == 1 then return err.fail { code = "X", message = "no" } end
      return keys("A", 3600)
    end)
    local codes = task.run(function ()
      return task.map({ 1, 2, 3 }, function ()
        local _, e = provider:get()
        return e.code
      end)
    end)
    assert.same({ "X", "X", "X" }, codes)
    assert.equal(1, count)
    assert.equal("A", provider:get().access_key_id)
  end)

  -- A provider whose keys live for `life` seconds and take a second to fetch, and the ids that a
  -- hundred tasks get when `left` seconds of the first ones are left.
  local function hundred(life, seconds_left)
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      if count > 1 then task.sleep(1) end
      return keys(("K%d"):format(count), fake.now + life)
    end)
    assert.equal("K1", provider:get().access_key_id)
    fake.now = life - seconds_left
    local list, seen = {}, {}
    for i = 1, 100 do list[i] = i end
    task.run(function ()
      task.map(list, function ()
        local id = provider:get().access_key_id
        seen[id] = (seen[id] or 0) + 1
      end)
    end)
    return seen, count
  end

  it("are fetched once for a hundred tasks, and these wait only when they must", function ()
    for _, case in ipairs {
      { 3600, 901, { K1 = 100 }, 1 }, -- not yet
      { 3600, 899, { K1 = 99, K2 = 1 }, 2 }, -- one task fetches, the others go on
      { 3600, 599, { K2 = 100 }, 2 }, -- all wait
      { 3600, -1, { K2 = 100 }, 2 }, -- too late: all wait
      { 900, 301, { K1 = 100 }, 1 }, -- short sessions are not fetched all the time
      { 900, 299, { K1 = 99, K2 = 1 }, 2 },
      { 900, 199, { K2 = 100 }, 2 },
    } do
      fake.now = 0
      local seen, count = hundred(case[1], case[2])
      assert.same({ case[3], case[4] }, { seen, count }, ("%d, %d"):format(case[1], case[2]))
    end
  end)

  it("that a person gave a code for are replaced as late as can be", function ()
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      local creds = keys(("K%d"):format(count), fake.now + 3600)
      creds.asked = true
      return creds
    end)
    for _, case in ipairs { { 0, "K1" }, { 3500, "K1" }, { 3541, "K2" }, { 7000, "K2" } } do
      fake.now = case[1]
      assert.equal(case[2], provider:get().access_key_id)
    end
    assert.equal(2, count)
  end)

  it("that have ended when they come are refused, with what to do", function ()
    local provider = credentials.new(function () return keys("A", -1) end)
    local none, e = provider:get()
    assert.is_nil(none)
    assert.equal("RTL-CRED-012", e.code)
    assert.matches("run the same command again", e.hint, 1, true)
  end)

  it("that the service called ended twice are not taken from their source again", function ()
    local id = "A"
    local provider = credentials.new(function () return keys(id) end)
    provider:expire(provider:get())
    provider:expire(assert(provider:get()))
    local none, e = provider:get()
    assert.is_nil(none)
    assert.equal("RTL-CRED-012", e.code)
    id = "B"
    assert.equal("B", provider:get().access_key_id)
  end)

  -- A provider with a person: what the source gives at each time (keys or an error), what is typed.
  local function asked(given, typed)
    local prompts = {}
    local provider = credentials.new(function ()
      local one = table.remove(given, 1)
      if one.code then return nil, err.new(one) end
      return one
    end, { ask = function (prompt)
      prompts[#prompts + 1] = prompt
      return table.remove(typed, 1)
    end })
    return provider, prompts
  end

  local function logged_out()
    return { code = "RTL-CRED-010", message = "the SSO login has expired", renew = "log in" }
  end

  it("are asked for when a person can renew them, once the old ones are over", function ()
    local provider, prompts = asked({ keys("A", 3600), logged_out(), logged_out(), logged_out(),
      keys("B", 9000) }, { "", "" })
    assert.equal("A", provider:get().access_key_id)
    fake.now = 3100
    assert.equal("A", provider:get().access_key_id) -- they hold: nobody is bothered
    assert.same({}, prompts)
    fake.now = 3600
    assert.equal("B", provider:get().access_key_id)
    assert.same({ "the SSO login has expired. In another terminal, log in. Then press Enter to go "
      .. "on, or type stop: " }, { prompts[1] })
    assert.equal(2, #prompts)
  end)

  it("are given up when the person stops, or is gone", function ()
    for _, typed in ipairs { { "stop" }, {} } do
      fake.now = 0
      local provider = asked({ keys("A", 3600), logged_out() }, typed)
      assert(provider:get())
      fake.now = 3700
      local none, e = provider:get()
      assert.is_nil(none)
      assert.equal("RTL-CRED-010", e.code)
    end
  end)

  it("are not asked for at the beginning", function ()
    local provider, prompts = asked({ logged_out() }, { "" })
    local none, e = provider:get()
    assert.is_nil(none)
    assert.equal("RTL-CRED-010", e.code)
    assert.same({}, prompts)
  end)

  it("are replaced ten minutes before they end, and serve on when that fails", function ()
    local next_keys = keys("A", 3600)
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      if not next_keys then return err.fail { code = "X", message = "no" } end
      return next_keys
    end)
    assert.equal("A", provider:get().access_key_id)
    fake.now = 2600
    assert.equal("A", provider:get().access_key_id)
    assert.equal(1, count)
    fake.now, next_keys = 3100, nil
    assert.equal("A", provider:get().access_key_id)
    assert.equal("A", provider:get().access_key_id) -- not asked again at once
    assert.equal(2, count)
    fake.now, next_keys = 3200, keys("B", 7200)
    assert.equal("B", provider:get().access_key_id)
    fake.now, next_keys = 7300, nil
    local none, e = provider:get()
    assert.is_nil(none)
    assert.equal("X", e.code)
  end)

  it("do not hold others up when their fetcher is cancelled", function ()
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      task.sleep(count == 1 and 100 or 1)
      return keys("A", 3600)
    end)
    local id = task.run(function ()
      return task.group(function (g)
        g:spawn(function () task.deadline(5, function () return provider:get() end) end)
        task.sleep(1)
        return provider:get().access_key_id
      end)
    end)
    assert.equal("A", id)
    assert.equal(2, count)
  end)
end)

describe("the shared files", function ()
  local function parse(text, is_config)
    return assert(profile.parse(text, is_config ~= false, "config")).profile
  end

  it("have sections, comments and continuation lines", function ()
    assert.same({ a = { region = "eu-west-1", x = "b#c", s3 = { addressing = "path" } } }, parse(
      "# comment\r\n; another\r\n[profile a] # here\r\nRegion = eu-west-1 # not this\r\nx=b#c\r\n"
      .. "s3 =\r\n  addressing = path\r\n"))
    assert.same({ a = { x = "one\ntwo" } }, parse "[profile a]\nx = one\n  two\n")
    assert.same({ a = { x = "2", y = "3" } }, parse "[profile a]\nx=1\n[profile a]\nx=2\ny=3")
  end)

  it("want the word profile in one and not in the other", function ()
    assert.same({ default = {} }, parse "[default]\n[a]\nx = 1\n")
    assert.same({ a = { x = "1" } }, parse("[a]\nx = 1\n[profile b]\ny = 2\n", false))
    assert.same({ ["Foo Bar"] = { region = "x" } }, parse "[profile Foo Bar]\nregion = x\n")
    assert.same({ ["Foo Bar"] = { region = "x" } }, parse '[profile "Foo Bar"]\nregion = x\n')
    assert.same({ default = { x = "1" } }, parse "[ default ]\nx = 1\n")
  end)

  it("prefer [profile default] to [default]", function ()
    assert.equal("2", parse("[default]\nx=1\n[profile default]\nx=2\n").default.x)
    assert.equal("2", parse("[profile default]\nx=2\n[default]\nx=1\n").default.x)
  end)

  it("keep endpoints of services", function ()
    local all = assert(profile.parse("[profile a]\nservices = s\n[services s]\neks =\n"
      .. "  endpoint_url = http://e\n", true))
    assert.equal("http://e", all.services.s.eks.endpoint_url)
  end)

  it("end at a line that no setting needs, and not after minutes", function ()
    for _, line in ipairs { "x = a" .. (" "):rep(1 << 20) .. "b", (" "):rep(1 << 20) .. "x",
      "x" .. (" "):rep(1 << 20) .. "z", "# " .. ("#"):rep(1 << 20) } do
      local all, e = profile.parse("[profile a]\n" .. line .. "\n", true, "config")
      assert.is_nil(all)
      assert.equal("RTL-CRED-001", e.code)
      assert.matches("line 2: the line is too long", e.message)
    end
    local token = ("t"):rep(12000)
    assert.is_true(secret.equals(token,
      parse("[profile a]\naws_session_token = " .. token .. "\n").a.aws_session_token))
  end)

  it("name the line of what is neither", function ()
    for text, line in pairs {
      ["x = 1\n"] = 1, ["[profile a\n"] = 1, ["[profile a]\nx\n"] = 2, ["[profile a]\n=x\n"] = 2,
    } do
      local all, e = profile.parse(text, true, "config")
      assert.is_nil(all)
      assert.equal("RTL-CRED-001", e.code)
      assert.truthy(e.message:find("config, line " .. line, 1, true))
    end
  end)
end)
