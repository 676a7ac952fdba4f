-- The credential chain: who is asked in which order, and what each source says.
local aws = require "rtl.aws"
local aws_home = require "test.support.aws_home"
local err = require "rtl.err"
local fs = require "rtl.fs"
local profile = require "rtl.aws.profile"
local secret = require "rtl.native.secret"

local found, same_keys = aws_home.found, aws_home.same_keys

local here, home, fake, variables

local function file(name, text) here:write(name, text) end

describe("the credential chain", function ()
  before_each(function ()
    here = aws_home.open()
    home, fake, variables = here.path, here.fake, here.variables
  end)
  after_each(function () here:close() end)

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
    here:surroundings(function ()
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
    here:surroundings(function (options)
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
      here:surroundings(function () return done end)
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
