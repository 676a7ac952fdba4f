-- Tokens for an EKS cluster before those who know: the cluster's own verifier
-- (aws-iam-authenticator), with an STS behind it that holds signatures to botocore's, and
-- `aws eks get-token`, whose token says the same, signature included.
local aws = require "rtl.aws"
local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local fake_aws = require "test.support.fake_aws"
local json = require "rtl.native.json"
local peer = require "test.support.peer"
local process = require "rtl.process"
local python = require "test.support.python"
local secret = require "rtl.native.secret"

local PREFIX = "k8s-aws-v1."

local ADMIN = {
  access_key_id = "AKIAADMIN", secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCY",
}
local ROLE = { access_key_id = "ASIAROLE", secret_access_key = "role/secret+x",
  session_token = "FwoGZXIvYXdz/+abc==" }

local WHO = {
  AKIAADMIN = { secret = ADMIN.secret_access_key, token = json.decode "null",
    arn = "arn:aws:iam::123456789012:user/admin", user_id = "AIDAADMIN" },
  ASIAROLE = { secret = ROLE.secret_access_key, token = ROLE.session_token,
    arn = "arn:aws:sts::123456789012:assumed-role/Admin/me", user_id = "AROAROLE:me" },
}

-- A token made `age` seconds ago.
local function token_of(keys, region, cluster, age)
  local real = clock.use {}
  clock.use { mono = real.mono, utc = function () return real.utc() - (age or 0) end }
  local session = assert(aws.session { region = region, credentials = keys })
  local token = secret.reveal(assert(aws.eks_token(session, cluster)))
  clock.use(real)
  return token
end

local function url_of(token)
  local text = token:sub(#PREFIX + 1)
  return assert(crypto.base64url_decode(text))
end

-- The address and the parameters of a token's URL in an order of their own: signed is the sorted
-- query, so that each program may send its own.
local function parameters_of(token)
  local parts = {}
  for part in url_of(token):gmatch "[^?&]+" do parts[#parts + 1] = part end
  table.sort(parts)
  return parts
end

-- The same token with another URL.
local function altered(token, pattern, replacement)
  local url, count = url_of(token):gsub(pattern, replacement)
  assert(count == 1, "nothing to alter: " .. pattern)
  return PREFIX .. crypto.base64url_encode(url)
end

describe("the token for an EKS cluster", function ()
  local sts, verifier

  -- What the verifier of `cluster` says.
  local function verified(token, cluster, region, partition)
    verifier:write(("%s %s %s %s\n"):format(partition or "aws", region or "us-east-2",
      cluster or "demo", token))
    return json.decode(verifier:line())
  end

  setup(function ()
    sts = peer.start { python.path(), "test/contract/sts.py" }
    sts:write(json.encode(WHO) .. "\n")
    verifier = peer.start { peer.path "verifier", "http://127.0.0.1:" .. sts:line() }
    assert.matches("prefix", verified("nonsense").Error)
  end)
  teardown(function ()
    for _, program in pairs { verifier, sts } do program:stop() end
  end)

  local function refused(text, ...)
    local said = verified(...)
    assert.is_nil(said.ARN)
    assert.matches(text, said.Error, 1, true)
  end

  it("names the caller", function ()
    local said = verified(token_of(ADMIN, "us-east-2", "demo"))
    assert.same({ nil, WHO.AKIAADMIN.arn, "123456789012", "AKIAADMIN" },
      { said.Error, said.ARN, said.AccountID, said.AccessKeyID })
    said = verified(token_of(ROLE, "us-east-2", "demo"))
    assert.same({ nil, WHO.ASIAROLE.arn, "arn:aws:iam::123456789012:role/Admin", "me" },
      { said.Error, said.ARN, said.CanonicalARN, said.SessionName })
  end)

  for region, partition in pairs {
    ["us-west-2"] = "aws", ["eu-central-1"] = "aws", ["mx-central-1"] = "aws",
    ["ap-southeast-7"] = "aws", ["us-gov-west-1"] = "aws-us-gov", ["cn-north-1"] = "aws-cn",
  } do
    it("is taken in " .. region, function ()
      local said = verified(token_of(ROLE, region, "demo"), "demo", region, partition)
      assert.same({ nil, WHO.ASIAROLE.arn }, { said.Error, said.ARN })
    end)
  end

  it("serves for fifteen minutes and no longer", function ()
    assert.equal(WHO.ASIAROLE.arn, verified(token_of(ROLE, "us-east-2", "demo", 14 * 60)).ARN)
    refused("expired", token_of(ROLE, "us-east-2", "demo", 15 * 60 + 5))
  end)

  it("is refused here when it would be too long there", function ()
    local function with(length)
      local session = assert(aws.session { region = "us-east-2", credentials = {
        access_key_id = "ASIALONG", secret_access_key = "s", session_token = ("t"):rep(length) } })
      return aws.eks_token(session, "demo")
    end
    local longest
    for length = 2600, 2800 do -- the length at which ours begins to refuse
      local token, e = with(length)
      if not token then
        assert.equal("RTL-AWS-009", e.code)
        break
      end
      longest = secret.reveal(token)
    end
    assert.is_true(#longest >= 4090 and #longest <= 4096)
    refused("got 403", longest) -- by the STS, which knows no such keys: the length was fine
    refused("too large", longest .. "AAAAAAA")
  end)

  it("is for one cluster only", function ()
    refused("got 403", token_of(ROLE, "us-east-2", "other"))
    assert.equal(WHO.ASIAROLE.arn, verified(token_of(ROLE, "us-east-2", "other"), "other").ARN)
  end)

  it("is worth nothing once altered", function ()
    local token = token_of(ROLE, "us-east-2", "demo")
    refused("got 403", altered(token, "Signature=%x", function (text)
      return text:sub(1, -2) .. (text:sub(-1) == "0" and "1" or "0")
    end))
    refused("got 403", altered(token, "ASIAROLE", "AKIAADMIN"))
    refused("got 403", altered(token, "Expires=60", "Expires=900"))
    refused("got 403", altered(token, "&X%-Amz%-Security%-Token=[^&]*", ""))
    refused("got 403", token_of({ access_key_id = "AKIAADMIN", secret_access_key = "other" },
      "us-east-2", "demo"))
    refused("unexpected hostname", altered(token, "sts%.us%-east%-2%.amazonaws%.com",
      "sts.example.com"))
    refused("unexpected scheme", altered(token, "^https", "http"))
    refused("unexpected action", altered(token, "GetCallerIdentity", "GetSessionToken"))
    refused("did not sign the x-k8s-aws-id header", altered(token, "%%3Bx%-k8s%-aws%-id", ""))
    refused("non-whitelisted", altered(token, "$", "&More=1"))
  end)

  it("of another partition is worth nothing", function ()
    refused("unexpected hostname", token_of(ROLE, "us-gov-west-1", "demo"))
  end)

  -- What `aws eks get-token` says in an environment, with the date in its token.
  local function from_cli(keys, region, cluster, variables)
    local env = {
      PATH = process.getenv "PATH", HOME = "/nonexistent", AWS_ACCESS_KEY_ID = keys.access_key_id,
      AWS_SECRET_ACCESS_KEY = keys.secret_access_key, AWS_SESSION_TOKEN = keys.session_token,
    }
    for name, text in pairs(variables or {}) do env[name] = text end
    local done = assert(process.run { timeout = 120, env = env, argv = {
      python.path():gsub("python$", "aws"), "eks", "get-token", "--cluster-name", cluster,
      "--region", region,
    } })
    assert(done.status == 0, done.stderr)
    local status = json.decode(done.stdout).status
    local date = url_of(status.token):match "X%-Amz%-Date=(%w+)"
    local at = clock.parse_iso((date:gsub("^(....)(..)(..T..)(..)", "%1-%2-%3:%4:")))
    return status, at
  end

  for what, case in pairs {
    ["with a user's keys"] = { ADMIN, "us-east-2", "demo" },
    ["with a role's keys"] = { ROLE, "eu-west-1", "ray-train" },
    ["in China"] = { ROLE, "cn-north-1", "a-b_C9" },
  } do
    it("is that of aws eks get-token, " .. what, function ()
      local keys, region, cluster = table.unpack(case)
      local theirs, at = from_cli(keys, region, cluster)
      local real = clock.use {}
      clock.use { mono = real.mono, utc = function () return at end }
      local token, expires = aws.eks_token(assert(aws.session {
        region = region, credentials = keys }), cluster)
      clock.use(real)
      assert.same(parameters_of(theirs.token), parameters_of(secret.reveal(token)))
      if not keys.session_token then assert.equal(theirs.token, secret.reveal(token)) end
      -- The CLI tells kubectl a minute less than the token serves.
      assert.equal(clock.parse_iso(theirs.expirationTimestamp), expires - 60)
    end)
  end

  -- Our token in an environment.
  local function ours_in(variables)
    local undo = fake_aws.environment(variables)
    local token = token_of(ROLE, "us-east-2", "demo")
    undo()
    return token
  end

  local function host_of(token)
    return url_of(token):match "^https?://([^/?]*)"
  end

  it("is for the FIPS endpoint where one is wanted, as that of the CLI is", function ()
    local fips = { AWS_USE_FIPS_ENDPOINT = "true" }
    local token = ours_in(fips)
    assert.equal(host_of(from_cli(ROLE, "us-east-2", "demo", fips).token), host_of(token))
    assert.equal("sts-fips.us-east-2.amazonaws.com", host_of(token))
    assert.equal(WHO.ASIAROLE.arn, verified(token).ARN)
  end)

  it("is taken where STS is asked at an endpoint that clusters refuse, and that of the CLI is not",
    function ()
      for host, variables in pairs {
        ["sts.us-east-2.api.aws"] = { AWS_USE_DUALSTACK_ENDPOINT = "true" },
        ["vpce-1.sts.us-east-2.vpce.amazonaws.com"] = {
          AWS_ENDPOINT_URL_STS = "https://vpce-1.sts.us-east-2.vpce.amazonaws.com" },
      } do
        local theirs = from_cli(ROLE, "us-east-2", "demo", variables).token
        assert.equal(host, host_of(theirs))
        refused("unexpected hostname", theirs)
        assert.equal(WHO.ASIAROLE.arn, verified(ours_in(variables)).ARN)
      end
    end)
end)
