local array = require "rtl.array"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local redact = require "rtl.redact"
local secret = require "rtl.native.secret"

local KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
local HEX = ("0123456789abcdef"):rep(4)

describe("redact.text", function ()
  it("takes out every secret that lives, also where they overlap", function ()
    local a <close> = secret.new "hunter2-hunter2"
    local b <close> = secret.new "xx hunter2-hunter2 yy"
    assert.equal("pass <secret>!", redact.text "pass hunter2-hunter2!")
    assert.equal("<secret>", redact.text "xx hunter2-hunter2 yy")
    assert.equal("a<secret>b<secret>c", redact.text "ahunter2-hunter2bhunter2-hunter2c")
    assert.equal(15, #a)
    assert.equal(21, #b)
  end)

  it("leaves words alone that are as short as a short secret", function ()
    local s <close> = secret.new "east"
    assert.equal("us-east-2", redact.text "us-east-2")
    assert.equal(4, #s)
  end)

  it("stops looking for a secret that was wiped", function ()
    local s = secret.new "no-longer-there"
    s:close()
    assert.equal("no-longer-there", redact.text "no-longer-there")
  end)

  it("takes out what was added", function ()
    redact.add "p%q.z"
    redact.add "a-longer-one-%w"
    assert.equal("<secret> pxq.z <secret>", redact.text "p%q.z pxq.z a-longer-one-%w")
    assert.error_matches(function () redact.add "abc" end, "at least 4 bytes")
  end)

  for why, case in pairs {
    ["a secret key in a credentials file"] = { "aws_secret_access_key = " .. KEY,
      "aws_secret_access_key = <secret>" },
    ["a secret key in JSON"] = { '{"SecretAccessKey":"' .. KEY .. '","x":1}',
      '{"SecretAccessKey":"<secret>","x":1}' },
    ["a secret key in JSON in JSON"] = { [[{\"SecretAccessKey\": \"]] .. KEY .. [[\"}]],
      [[{\"SecretAccessKey\": \"<secret>\"}]] },
    ["a variable"] = { "export AWS_SESSION_TOKEN=abc/def+x==",
      "export AWS_SESSION_TOKEN=<secret>" },
    ["any key by its name"] = { "WANDB_API_KEY=0123456789 X=1", "WANDB_API_KEY=<secret> X=1" },
    ["an access key id, but for its ends"] = { "key AKIAIOSFODNN7EXAMPLE.", "key AKIA…MPLE." },
    ["a temporary access key id"] = { "ASIAIOSFODNN7EXAMPLE", "ASIA…MPLE" },
    ["a presigned URL's signature and token"] = {
      "https://b/?X-Amz-Security-Token=IQoJ%2Bx&X-Amz-Signature=" .. HEX .. "&a=1",
      "https://b/?X-Amz-Security-Token=<secret>&X-Amz-Signature=<secret>&a=1" },
    ["a signature in a header"] = { "SignedHeaders=host, Signature=" .. HEX,
      "SignedHeaders=host, Signature=<secret>" },
    ["a bearer token"] = { "authorization: Bearer abc.def-ghi_123",
      "authorization: Bearer <secret>" },
    ["an EKS token"] = { "token k8s-aws-v1.aHR0cHM6Ly9zdHM", "token k8s-aws-v1.<secret>" },
    ["a JSON web token"] = { "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "eyJ<secret>" },
    ["a session token by its shape"] = { "IQoJb3JpZ2luX2Vj" .. ("A"):rep(60), "IQoJ<secret>" },
    ["a private key"] = {
      "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----\nx",
      "-----BEGIN RSA PRIVATE KEY-----<secret>-----END RSA PRIVATE KEY-----\nx" },
    ["a private key cut short"] = { "-----BEGIN PRIVATE KEY-----\nMIIE\nabc",
      "-----BEGIN PRIVATE KEY-----<secret>" },
    ["a kubeconfig's key"] = { "client-key-data: LS0tLS1CRUdJTg==", "client-key-data: <secret>" },
    ["a password in a URL"] = { "http://user:pass@host/x", "http://user:<secret>@host/x" },
    ["a password"] = { "passwd=hunter2, user=x", "passwd=<secret>, user=x" },
    ["a Hugging Face token"] = { "hf_" .. ("a"):rep(34), "hf_<secret>" },
    ["a token for IMDS"] = { "x-aws-ec2-metadata-token: AQAAAB==",
      "x-aws-ec2-metadata-token: <secret>" },
  } do
    it("takes out " .. why, function () assert.equal(case[2], redact.text(case[1])) end)
  end

  for _, text in ipairs {
    "", "plain text", "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904", "sha256:" .. HEX,
      "2 × g6.12xlarge",
    '{"client_token":"rtl-20261201-abcdef","NextToken":"AAAA"}', "token = fn()", "bearer of news",
    "https://sts.us-east-2.amazonaws.com/?Action=GetCallerIdentity", "a: b=c", "eyJ", "ghost_x",
      "signature=v4",
  } do
    it("leaves alone: " .. text, function () assert.equal(text, redact.text(text)) end)
  end

  it("is the same when done twice", function ()
    local once = redact.text("passwd=abc Bearer abcdefghij AKIAIOSFODNN7EXAMPLE Signature="
      .. HEX)
    assert.equal(once, redact.text(once))
  end)

  it("takes out a whole request's secrets", function ()
    local url = crypto.sigv4.presign {
      method = "GET", url = "https://sts.us-east-2.amazonaws.com/", region = "us-east-2",
        service = "sts",
      time = "20150830T123600Z", access_key_id = "AKIDEXAMPLE", secret_access_key = KEY,
      session_token = "SESSION/TOKEN+EXAMPLE",
    }
    local shown = redact.text("GET " .. secret.reveal(url):gsub("?", "? ", 1))
    assert.is_nil(shown:find("SESSION", 1, true))
    assert.is_nil(shown:match "Signature=%x")
  end)
end)

describe("redact.value", function ()
  it("copies tables with their strings cleaned and their marks kept", function ()
    local shared = { "AKIAIOSFODNN7EXAMPLE" }
    local value = { SecretAccessKey = KEY, s = secret.new "x", n = 1, list = array { shared, shared,
      true } }
    value.self = value
    local clean = redact.value(value)
    assert.equal("<secret>", clean.SecretAccessKey)
    assert.equal("<secret>", clean.s)
    assert.equal(1, clean.n)
    assert.is_true(array.is(clean.list))
    assert.equal("AKIA…MPLE", clean.list[2][1])
    assert.equal(clean, clean.self)
    assert.equal(KEY, value.SecretAccessKey)
    assert.is_true(err.is(redact.value(err.new { code = "X", message = "m" })))
  end)
end)
