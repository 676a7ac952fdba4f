-- The keys and the region of an instance from AWS' own mock of its metadata service, which wants
-- tokens as the real one does (IMDSv2), beside botocore.
local aws = require "rtl.aws"
local clock = require "rtl.clock"
local fake_aws = require "test.support.fake_aws"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local peer = require "test.support.peer"
local program = require "test.support.program"
local python = require "test.support.python"
local secret = require "rtl.native.secret"
local server = require "test.support.server"
local wire = require "rtl.wire"

-- Keys of the node's role that end an hour from now.
local function document(changes)
  local out = { Code = "Success", LastUpdated = "2026-01-01T00:00:00Z", Type = "AWS-HMAC",
    AccessKeyId = "ASIANODE", SecretAccessKey = "node/secret", Token = "node+token==",
    Expiration = clock.iso(math.floor(clock.utc()) + 3600) }
  for name, field in pairs(changes or {}) do out[name] = field end
  return out
end

-- The mock's configuration: which paths it serves and what they hold.
local function configuration(role, keys)
  local base = "/latest/meta-data/iam/security-credentials"
  return { metadata = {
    paths = { ["iam-security-credentials-role"] = role and base or "/nowhere",
      ["iam-security-credentials"] = role and base .. "/" .. role or "/nowhere/at/all",
      ["placement-region"] = "/latest/meta-data/placement/region",
      ["placement-availability-zone"] = "/latest/meta-data/placement/availability-zone" },
    values = { ["iam-security-credentials-role"] = role or "none",
      ["iam-security-credentials"] = keys, ["placement-region"] = "eu-north-1",
      ["placement-availability-zone"] = "eu-north-1b" }, -- what botocore makes the region of
  } }
end

describe("an instance's metadata", function ()
  local home, variables, mocks

  -- Starts the mock; returns its address.
  local function start(config, ...)
    local path = fs.join(home, ("mock-%d.json"):format(#mocks))
    assert(fs.write(path, json.encode(config)))
    local mock = peer.start({ peer.path "metadata", "-n", "127.0.0.1", "-p", "0", "-c", path, ... },
      { stderr = "null" })
    mocks[#mocks + 1] = mock
    return "http://127.0.0.1:" .. mock:port()
  end

  -- What rtl finds at `url`, by the whole chain.
  local function found(url)
    variables.AWS_EC2_METADATA_SERVICE_ENDPOINT = url
    local _ <close> = setmetatable({}, { __close = fake_aws.environment(variables) })
    local session, failure = aws.session {}
    if not session then return nil, failure end
    local creds
    creds, failure = session.credentials:get()
    return creds, failure, session
  end

  before_each(function ()
    home, mocks = assert(fs.temp_dir "rtl-metadata-"), {}
    variables = { HOME = home, AWS_DEFAULT_REGION = "us-east-1" }
  end)
  after_each(function ()
    for _, mock in ipairs(mocks) do mock:stop() end
    assert(fs.remove_tree(home))
  end)

  it("is only told to who brings a token; rtl finds what botocore finds", function ()
    local keys = document()
    local url = start(configuration("node-role", keys), "--imdsv2")
    assert.equal(401, assert(wire.request { url = url .. "/latest/meta-data/placement/region" })
      .status)
    variables.AWS_DEFAULT_REGION = nil
    local creds, failure, session = found(url)
    assert.is_nil(failure)
    local theirs = json.decode(python.run("test/contract/instance_metadata.py", nil, url))
    assert.equal(theirs.keys.access_key, creds.access_key_id)
    assert.equal(theirs.keys.secret_key, secret.reveal(creds.secret_access_key))
    assert.equal(theirs.keys.token, secret.reveal(creds.session_token))
    assert.equal(clock.parse_iso(theirs.keys.expiry_time), creds.expires)
    assert.equal("ASIANODE", creds.access_key_id)
    assert.equal("instance role node-role", creds.source)
    assert.equal(theirs.region, session.region)
    assert.equal("eu-north-1", session.region)
  end)

  it("is read where version 1 is still allowed", function ()
    local url = start(configuration("node-role", document()))
    assert.equal("ASIANODE", assert(found(url)).access_key_id)
  end)

  it("is not asked through a proxy", function ()
    local url = start(configuration("node-role", document()), "--imdsv2")
    local script = fs.join(home, "keys.lua")
    assert(fs.write(script, [[
      local session = assert(require "rtl.aws".session { region = "us-east-1" })
      print(assert(session.credentials:get()).access_key_id)]]))
    local nobody = "http://127.0.0.1:9"
    local ran = program.rtl({ script }, { home = home, env = { http_proxy = nobody,
      HTTP_PROXY = nobody, all_proxy = nobody, AWS_EC2_METADATA_DISABLED = "false",
      AWS_EC2_METADATA_SERVICE_ENDPOINT = url } })
    assert.equal("ASIANODE\n", ran.stdout, ran.stderr)
  end)

  it("is not asked when told so", function ()
    variables.AWS_EC2_METADATA_DISABLED = "True"
    local url = start(configuration("node-role", document()), "--imdsv2")
    local creds, failure = found(url)
    assert.is_nil(creds)
    assert.equal("RTL-CRED-002", failure.code)
  end)

  it("may hold no role", function ()
    local creds, failure = found(start(configuration(nil, document()), "--imdsv2"))
    assert.is_nil(creds)
    assert.equal("RTL-CRED-002", failure.code)
  end)

  it("may say that the role gives no keys", function ()
    local creds, failure = found(start(configuration("node-role", document {
      Code = "AssumeRoleUnauthorizedAccess", AccessKeyId = "", SecretAccessKey = "", Token = "",
      Message = "EC2 cannot assume the role node-role" }), "--imdsv2"))
    assert.is_nil(creds)
    assert.equal("RTL-CRED-004", failure.code)
    assert.matches("instance role node-role: AssumeRoleUnauthorizedAccess", failure.message, 1,
      true)
  end)

  it("serves keys that have ended, when it has no better ones", function ()
    local keys = document { Expiration = clock.iso(math.floor(clock.utc()) - 60) }
    local _, _, session = found(start(configuration("node-role", keys), "--imdsv2"))
    assert.equal("ASIANODE", assert(session.credentials:get()).access_key_id)
  end)

  it("is asked again when AWS calls its keys ended", function ()
    local first, _, session = found(start(configuration("node-role", document())))
    variables.AWS_EC2_METADATA_SERVICE_ENDPOINT =
      start(configuration("node-role", document { AccessKeyId = "ASIANEXT" }), "--imdsv2")
    local _ <close> = setmetatable({}, { __close = fake_aws.environment(variables) })
    session.credentials:expire(first)
    assert.equal("ASIANEXT", assert(session.credentials:get()).access_key_id)
  end)

  it("is gone from a moment to the next where nobody listens", function ()
    local url = start(configuration("node-role", document()), "--imdsv2")
    mocks[1]:stop()
    local creds, failure = found(url)
    assert.is_nil(creds)
    assert.equal("RTL-CRED-002", failure.code)
  end)

  it("of a hop too far takes the call and does not answer", function ()
    local silent = server.start()
    local creds, failure = found(silent.url .. "/hold?")
    silent:stop()
    assert.is_nil(creds)
    assert.equal("RTL-CRED-011", failure.code)
    assert.matches("HttpPutResponseHopLimit 2", failure.hint, 1, true)
  end)
end)
