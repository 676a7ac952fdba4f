-- Refusals for lack of rights, as AWS words them: what they say, and what is made of them.

local denial = require "rtl.aws.denial"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local json = require "rtl.native.json"

local WHO = "User: arn:aws:sts::111122223333:assumed-role/dev/me is not authorized to perform: "

-- Texts in the forms of IAM's user guide, "Troubleshoot access denied error messages".
local TEXTS = {
  { WHO .. "eks:CreateCluster on resource: arn:aws:eks:us-east-1:111122223333:cluster/a because "
    .. "no identity-based policy allows the eks:CreateCluster action",
    { action = "eks:CreateCluster", resource = "arn:aws:eks:us-east-1:111122223333:cluster/a",
      by = "identity-based policy" } },
  { WHO .. "s3:CreateBucket on resource: \"arn:aws:s3:::b\" with an explicit deny in an "
    .. "identity-based policy",
    { action = "s3:CreateBucket", resource = "arn:aws:s3:::b", by = "identity-based policy",
      explicit = true } },
  { WHO .. "ec2:RunInstances on resource: arn:aws:ec2:us-east-1:1:instance/* with an explicit deny "
    .. "in a service control policy",
    { action = "ec2:RunInstances", resource = "arn:aws:ec2:us-east-1:1:instance/*",
      by = "service control policy", explicit = true } },
  { WHO .. "codecommit:ListRepositories because no service control policy allows the "
    .. "codecommit:ListRepositories action",
    { action = "codecommit:ListRepositories", by = "service control policy" } },
  { WHO .. "iam:CreateRole on resource: arn:aws:iam::1:role/r because no permissions boundary "
    .. "allows the iam:CreateRole action",
    { action = "iam:CreateRole", resource = "arn:aws:iam::1:role/r",
      by = "permissions boundary" } },
  { WHO .. "iam:CreateRole with an explicit deny in a permissions boundary",
    { action = "iam:CreateRole", by = "permissions boundary", explicit = true } },
  { WHO .. "ssm:PutParameter because no session policy allows the ssm:PutParameter action",
    { action = "ssm:PutParameter", by = "session policy" } },
  { "You are not authorized to perform this operation. Encoded authorization failure message: "
    .. "4GIOHlTkIaWHQD0Q0m6XSnuUMCm-abc_Q=", { encoded = "4GIOHlTkIaWHQD0Q0m6XSnuUMCm-abc_Q=" } },
  { "You are not authorized to perform this operation.", {} },
}

local function nothing() end

local function explained(message, permission, decode, code)
  local e = err.new { code = code or "UnauthorizedOperation", message = message, status = 403 }
  assert.is_true(denial.is(e))
  denial.explain(e, permission, decode or nothing)
  return e
end

describe("a refusal for lack of rights", function ()
  it("says action, resource and kind of policy in every form", function ()
    for i, row in ipairs(TEXTS) do assert.same(row[2], denial.parse(row[1]), "text " .. i) end
  end)

  it("is told from refusals of another sort", function ()
    for _, code in ipairs { "InvalidClientTokenId", "ExpiredToken", "OptInRequired",
      "InvalidRequestException", "AuthFailure" } do
      local e = errors.classify(err.new { code = code, message = "no", status = 403 })
      assert.is_false(denial.is(e) or errors.denied(e) or e.retryable, code)
    end
  end)

  it("gets the action of the call where it says none", function ()
    local e = explained("You are not authorized to perform this operation.", "ec2:CreateVpc")
    assert.equal("ec2:CreateVpc", e.denied.action)
    assert.matches("ec2:CreateVpc", e.message)
    assert.matches("allow ec2:CreateVpc", e.hint)
    e = explained("Forbidden", "s3:ListBucket", nil, "Forbidden")
    assert.matches("s3:ListBucket", tostring(e))
  end)

  it("hints at who can change it", function ()
    local hints = { "allow eks:CreateCluster on arn", "denies s3:CreateBucket", "organization",
      "organization", "boundary", "boundary", "session" }
    for i, words in ipairs(hints) do
      assert.matches(words, explained(TEXTS[i][1], "x:Y").hint, "text " .. i)
    end
  end)

  local LAUNCH = "You are not authorized to launch instances with this launch template. Encoded "
    .. "authorization failure message: abc-_1"

  local function decoded(action, deny)
    return function (text)
      assert.equal("abc-_1", text)
      return json.encode { allowed = false, explicitDeny = deny, context = { action = action,
        resource = "arn:aws:ec2:r:1:volume/*" } }
    end
  end

  it("is decoded where its text names no action, and the encoded part goes", function ()
    local e = explained(LAUNCH, "eks:CreateNodegroup", decoded("ec2:CreateTags", false),
      "InvalidRequestException")
    assert.equal("ec2:CreateTags", e.denied.action)
    assert.equal("You are not authorized to launch instances with this launch template "
      .. "(ec2:CreateTags on arn:aws:ec2:r:1:volume/*)", e.message)
    assert.matches("allow ec2:CreateTags on arn:aws:ec2:r:1:volume/%*", e.hint)
    e = explained(LAUNCH, "eks:CreateNodegroup", decoded("ec2:RunInstances", true),
      "InvalidRequestException")
    assert.is_true(e.denied.explicit)
    assert.matches("denies ec2:RunInstances", e.hint)
  end)

  it("is not decoded for nothing", function ()
    local text = TEXTS[1][1] .. ". Encoded authorization failure message: abc"
    local e = explained(text, "x:Y", function () error "asked" end)
    assert.equal(TEXTS[1][1], e.message)
  end)

  it("says what a launch needs where it can't be decoded", function ()
    local e = explained(LAUNCH, "eks:CreateNodegroup", nil, "InvalidRequestException")
    assert.matches("ec2:RunInstances", e.message)
    assert.matches("ec2:CreateTags", e.hint)
    assert.matches("DecodeAuthorizationMessage", e.hint)
  end)

  it("says how to decode what else can't be", function ()
    local e = explained(TEXTS[8][1], "ec2:CreateVpc")
    assert.matches("decode%-authorization%-message %-%-encoded%-message 4GIOHl", e.hint)
    assert.matches("^ec2:CreateVpc", e.hint)
    assert.is_nil(e.denied.action)
  end)
end)
