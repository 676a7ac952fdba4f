-- A thousand generated requests, signed here and by botocore.
local array = require "rtl.array"
local crypto = require "rtl.native.crypto"
local json = require "rtl.native.json"
local python = require "test.support.python"

local COUNT = 1000

-- Always the same numbers.
local state = 20150830
local function pick(n)
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 65536 % n + 1
end

local function one_of(list) return list[pick(#list)] end

local WORDS = { "a", "clusters", "ünï cödé", "漢字", "arn:aws:iam::1:role/x", "a*b", "~tilde_-.",
  "%41", "a+b=c&d", "'quoted'", "(x)!", "😀", "0" }

local function text()
  return one_of(WORDS) .. (pick(3) == 1 and one_of(WORDS) or "")
end

-- Steps as they go on the wire; dot segments and empty ones now and then, but for S3.
local function path(service)
  local steps = {}
  for i = 1, pick(4) - 1 do
    steps[i] = crypto.sigv4.encode(text())
    if service ~= "s3" and pick(5) == 1 then steps[i] = one_of { ".", "..", "", steps[i] } end
  end
  return "/" .. table.concat(steps, "/") .. (#steps > 0 and pick(4) == 1 and "/" or "")
end

-- `repeats`: a name may stand twice.
local function query(repeats)
  local parts, seen = {}, {}
  for _ = 1, pick(5) - 1 do
    local name = crypto.sigv4.encode(text())
    if repeats or not seen[name] then
      parts[#parts + 1] = name .. "=" .. (pick(4) == 1 and "" or crypto.sigv4.encode(text()))
    end
    if repeats and pick(4) == 1 then parts[#parts + 1] = name .. "=" .. pick(99) end
    seen[name] = true
  end
  return #parts > 0 and "?" .. table.concat(parts, "&") or ""
end

local function headers()
  local list = array {}
  if pick(2) == 1 then list[#list + 1] = { "Content-Type", "application/x-amz-json-1.1" } end
  if pick(2) == 1 then list[#list + 1] = { "X-Amz-Target", "Service.Op" .. pick(9) } end
  if pick(3) == 1 then list[#list + 1] = { "x-amz-meta-b", "  two   words " } end
  if pick(3) == 1 then list[#list + 1] = { "User-Agent", "never signed" } end
  return list
end

local function generated()
  local service = one_of { "ec2", "eks", "s3", "sts", "s3" }
  local method = one_of { "GET", "POST", "PUT", "DELETE", "HEAD" }
  local how = one_of { "header", "header", "presign" }
  local has_body = how == "header" and (method == "POST" or method == "PUT")
  return {
    service = service, method = method, how = how, region = one_of { "us-east-1", "cn-north-1" },
    url = ("https://%s%s%s%s"):format(one_of { "h.amazonaws.com", "bucket.s3.amazonaws.com" },
      one_of { "", ":8443", ":443" }, path(service),
      query(how == "header")), -- botocore drops a repeated name from what it presigns
    headers = how == "header" and headers() or array {}, expires = pick(900),
    body = has_body and text():rep(pick(50)) or "", secret = one_of { "secret", "wJalr/K7+x=" },
    token = one_of { "", "TOKEN/abc+def==" },
  }
end

local function ours(case)
  local request = {
    method = case.method, url = case.url, headers = case.headers, body = case.body,
    region = case.region, service = case.service, time = "20150830T123600Z",
    access_key_id = "AKIDEXAMPLE", secret_access_key = case.secret, session_token = case.token,
    expires = case.expires,
  }
  return crypto.sigv4.signature(request, case.how == "presign" and "presign" or nil)
end

describe("signatures", function ()
  it("are botocore's for a thousand requests", function ()
    local cases, mine = array {}, {}
    for i = 1, COUNT do
      cases[i] = generated()
      mine[i] = ours(cases[i])
    end
    local sent = array {}
    for i, case in ipairs(cases) do
      sent[i] = {}
      for name, field in pairs(case) do sent[i][name] = field end
      sent[i].body = crypto.base64_encode(case.body)
    end
    local theirs = json.decode(python.run("test/contract/aws_signatures.py", json.encode(sent)))
    local wrong, kinds = {}, {}
    for i, case in ipairs(cases) do
      kinds[case.how .. " " .. case.service] = true
      if theirs[i] ~= mine[i] then
        wrong[#wrong + 1] = ("%s %s %s %s"):format(case.how, case.service, case.method, case.url)
      end
    end
    assert.equal(COUNT, #theirs)
    assert.same({}, table.move(wrong, 1, 8, 1, {}), #wrong .. " differ")
    for _, how in ipairs { "header", "presign" } do
      for _, service in ipairs { "ec2", "eks", "s3", "sts" } do
        assert.is_true(kinds[how .. " " .. service], how .. " " .. service)
      end
    end
  end)
end)
