-- What the simulated account's caller may do: the language of policies, what calls need, and how
-- services refuse.

local array = require "rtl.array"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local language = require "rtl.rehearse.rights.language"
local played = require "test.support.played"
local rehearse = require "rtl.rehearse"
local rights = require "rtl.rehearse.rights"
local task = require "rtl.task"

local function document(...)
  return { Version = "2012-10-17", Statement = array { ... } }
end

local function allow(action, resource, condition)
  return { Effect = "Allow", Action = action, Resource = resource, Condition = condition }
end

describe("the language of policies", function ()
  local function effect(statement, request)
    request.keys = request.keys or {}
    return language.effect({ document(statement) }, request)
  end

  it("matches actions in any case and resources in theirs, with * and ?", function ()
    local one = { action = "ec2:CreateVpc", arn = "arn:aws:ec2:r:1:vpc/vpc-1" }
    assert.equal("Allow", effect(allow("EC2:createvpc", "*"), one))
    assert.equal("Allow", effect(allow("ec2:Create*", "arn:aws:ec2:?:1:vpc/*"), one))
    assert.equal("Allow", effect(allow({ "ec2:X", "ec2:CreateVpc" }, { "b", one.arn }), one))
    assert.is_nil(effect(allow("ec2:CreateVpcs", "*"), one))
    assert.is_nil(effect(allow("ec2:CreateVpc", "arn:aws:ec2:r:1:VPC/*"), one))
    assert.is_nil(effect(allow("ec2:CreateVpc", "arn:aws:ec2:r:1:vpc/vpc-2"), one))
  end)

  it("lets a deny win, wherever it stands", function ()
    local documents = { document(allow("a:*", "*")),
      document { Effect = "Deny", Action = "a:Drop", Resource = "*" } }
    assert.equal("Deny", language.effect(documents, { action = "a:Drop", arn = "x", keys = {} }))
    assert.equal("Allow", language.effect(documents, { action = "a:Get", arn = "x", keys = {} }))
  end)

  local HOLDS = {
    -- operator, key, wanted, what the request has, whether it holds
    { "StringEquals", "aws:RequestTag/a", "x", { ["aws:requesttag/a"] = "x" }, true },
    { "StringEquals", "aws:RequestTag/a", { "y", "x" }, { ["aws:requesttag/a"] = "x" }, true },
    { "StringEquals", "aws:RequestTag/a", "X", { ["aws:requesttag/a"] = "x" }, false },
    { "StringEquals", "aws:RequestTag/a", "x", {}, false },
    { "StringEquals", "k", "x*", { k = "xy" }, false },
    { "StringLike", "k", "x*", { k = "xy" }, true },
    { "StringEqualsIfExists", "k", "x", {}, true },
    { "StringEqualsIfExists", "k", "x", { k = "y" }, false },
    { "StringNotEquals", "k", "x", { k = "y" }, true },
    { "StringNotEquals", "k", { "y", "x" }, { k = "y" }, false },
    { "StringNotEquals", "k", "x", {}, true },
    { "ArnLike", "k", "arn:aws:ec2:*:1:lt/*", { k = "arn:aws:ec2:r:1:lt/2" }, true },
    { "ArnEquals", "k", "arn:a", { k = "arn:b" }, false },
    { "Bool", "k", "true", { k = "true" }, true },
    { "Null", "k", "true", {}, true },
    { "Null", "k", "false", {}, false },
  }

  it("asks each condition, and all of them", function ()
    for i, row in ipairs(HOLDS) do
      local statement = allow("a:B", "*", { [row[1]] = { [row[2]] = row[3] } })
      local have = effect(statement, { action = "a:B", arn = "*", keys = row[4] })
      assert.equal(row[5] and "Allow" or nil, have, "row " .. i)
    end
    local both = allow("a:B", "*", { StringEquals = { k = "1", l = "2" } })
    assert.is_nil(effect(both, { action = "a:B", arn = "*", keys = { k = "1", l = "3" } }))
    assert.equal("Allow", effect(both, { action = "a:B", arn = "*",
      keys = { k = "1", l = "2" } }))
  end)

  it("refuses what it does not know, instead of guessing", function ()
    local function problem(statement) return language.problem(document(statement)) end
    assert.is_nil(problem(allow("a:B", "*")))
    assert.matches("NumericLess", problem(allow("a:B", "*", { NumericLessThan = { k = "1" } })))
    assert.matches("variables", problem(allow("a:B", "*",
      { StringEquals = { k = "${aws:username}" } })))
    assert.matches("NotAction", problem { Effect = "Allow", NotAction = "a:B", Resource = "*" })
    assert.matches("Principal", problem { Effect = "Allow", Action = "a:B", Resource = "*",
      Principal = "*" })
    assert.matches("effect", problem { Action = "a:B", Resource = "*", Effect = "Perhaps" })
  end)
end)

describe("a policy file", function ()
  local folder
  before_each(function () folder = fs.temp_dir "rtl-test-" end)
  after_each(function () fs.remove_tree(folder) end)

  it("holds one document, several one after another, or an array of them", function ()
    local path, one = fs.join(folder, "p.json"), document(allow("a:B", "*"))
    local text = json.encode(one, { pretty = true })
    for _, case in ipairs { { text, 1 }, { text .. "\n" .. text .. "\n", 2 },
      { json.encode { one, one, one }, 3 } } do
      assert(fs.write(path, case[1]))
      assert.equal(case[2], #assert(rights.read(path)))
    end
  end)

  it("is refused with its name when it can't be read", function ()
    local path = fs.join(folder, "p.json")
    local _, why = rights.read(path)
    assert.matches("p.json", why)
    assert(fs.write(path, "{"))
    _, why = rights.read(path)
    assert.matches("p.json", why)
    local world, e = rehearse.world("policy,file=" .. path)
    assert.is_nil(world)
    assert.equal("RTL-WORLD-001", e.code)
  end)
end)

describe("a caller with policies", function ()
  local folder, world, leave

  -- The calls of `f(session)` in a world in which only `statements` are allowed.
  local function within(statements, f, more)
    folder = fs.temp_dir "rtl-test-"
    local path = fs.join(folder, "p.json")
    assert(fs.write(path, json.encode(document(table.unpack(statements)))))
    world, leave = played.enter("policy,file=" .. path .. (more or ""), folder)
    return task.run(function ()
      return f(assert(require "rtl.aws".session { region = "us-east-2" }))
    end)
  end

  after_each(function ()
    if leave then leave() end
    fs.remove_tree(folder)
    world, leave = nil, nil
  end)

  local MINE = { { ResourceType = "vpc", Tags = { { Key = "owner", Value = "me" } } } }
  local TAGGED = { StringEquals = { ["aws:RequestTag/owner"] = "me" } }

  it("makes what carries the tag that the policy asks for, and nothing else", function ()
    within({ allow("ec2:CreateVpc", "arn:aws:ec2:us-east-2:*:vpc/*", TAGGED),
      allow("ec2:CreateTags", "*", { StringEquals = { ["ec2:CreateAction"] = "CreateVpc" } }) },
      function (session)
        local ec2 = session:client "ec2"
        assert(ec2:create_vpc { CidrBlock = "10.0.0.0/16", TagSpecifications = MINE })
        local _, e = ec2:create_vpc { CidrBlock = "10.1.0.0/16" }
        assert.equal("UnauthorizedOperation", e.code)
        assert.equal(403, e.status)
        assert.same({ "ec2:CreateVpc", ("arn:aws:ec2:us-east-2:%s:vpc/*"):format(
          world.aws.account) }, { e.denied.action, e.denied.resource })
        _, e = session:client("ec2", { region = "us-west-2" }):create_vpc {
          CidrBlock = "10.0.0.0/16", TagSpecifications = MINE }
        assert.equal("ec2:CreateVpc", e.denied.action)
      end)
  end)

  it("needs the right to tag what it makes with tags", function ()
    within({ allow("ec2:CreateVpc", "*") }, function (session)
      local ec2 = session:client "ec2"
      assert(ec2:create_vpc { CidrBlock = "10.0.0.0/16" })
      local _, e = ec2:create_vpc { CidrBlock = "10.0.0.0/16", TagSpecifications = MINE }
      assert.equal("ec2:CreateTags", e.denied.action)
    end)
  end)

  it("changes only what carries the tag, which what is gone does no more", function ()
    within({ allow("ec2:Create*", "*"),
      allow("ec2:DeleteVpc", "*", { StringEquals = { ["aws:ResourceTag/owner"] = "me" } }) },
      function (session)
        local ec2 = session:client "ec2"
        local mine = assert(ec2:create_vpc { CidrBlock = "10.0.0.0/16",
          TagSpecifications = MINE }).Vpc.VpcId
        local other = assert(ec2:create_vpc { CidrBlock = "10.1.0.0/16" }).Vpc.VpcId
        local _, e = ec2:delete_vpc { VpcId = other }
        assert.equal("ec2:DeleteVpc", e.denied.action)
        assert.equal(("arn:aws:ec2:us-east-2:%s:vpc/%s"):format(world.aws.account, other),
          e.denied.resource)
        assert(ec2:delete_vpc { VpcId = mine })
        _, e = ec2:delete_vpc { VpcId = mine }
        assert.equal("UnauthorizedOperation", e.code)
        assert.equal("ec2:DeleteVpc", e.denied.action)
      end)
  end)

  it("hears of what is not there only where no tag is asked for", function ()
    local tagged = { StringEquals = { ["aws:ResourceTag/owner"] = "me" } }
    within({ allow("eks:DescribeCluster", "*"), allow("eks:DeleteCluster", "*", tagged),
      allow("iam:DeleteRole", "arn:aws:iam::*:role/team/*") }, function (session)
      local eks = session:client "eks"
      local _, e = eks:describe_cluster { name = "gone" }
      assert.equal("ResourceNotFoundException", e.code)
      _, e = eks:delete_cluster { name = "gone" }
      assert.same({ "AccessDeniedException", 403 }, { e.code, e.status })
      -- A role that is not there has no path either.
      _, e = session:client("iam"):delete_role { RoleName = "gone" }
      assert.equal("AccessDenied", e.code)
    end)
  end)

  local TRUST = { Version = "2012-10-17", Statement = array { { Effect = "Allow",
    Action = "sts:AssumeRole", Principal = { Service = "eks.amazonaws.com" } } } }

  it("makes roles only within a boundary, below a path, with the policies named", function ()
    local limit = "arn:aws:iam::1:policy/limit"
    local at = "arn:aws:iam::*:role/team/*"
    within({ allow("iam:CreateRole", at, { ArnEquals = { ["iam:PermissionsBoundary"] = limit } }),
      allow("iam:AttachRolePolicy", at, { ArnEquals = {
        ["iam:PolicyARN"] = "arn:aws:iam::aws:policy/Good" } }) }, function (session)
      local iam = session:client "iam"
      local function create(path, boundary)
        return iam:create_role { RoleName = "r", Path = path, PermissionsBoundary = boundary,
          AssumeRolePolicyDocument = TRUST }
      end
      assert.is_nil((create("/team/", nil)))
      assert.is_nil((create("/other/", limit)))
      assert(create("/team/", limit))
      local good = "arn:aws:iam::aws:policy/Good"
      assert(iam:attach_role_policy { RoleName = "r", PolicyArn = good })
      local _, e = iam:attach_role_policy { RoleName = "r",
        PolicyArn = "arn:aws:iam::aws:policy/AdministratorAccess" }
      assert.equal("iam:AttachRolePolicy", e.denied.action)
    end)
  end)

  it("passes a role only to the service that the policy names", function ()
    within({ allow("eks:*", "*"), allow("iam:Create*", "*"),
      allow("iam:PassRole", "*", { StringEquals = {
        ["iam:PassedToService"] = "ec2.amazonaws.com" } }) }, function (session)
      local role = assert(session:client("iam"):create_role { RoleName = "r",
        AssumeRolePolicyDocument = TRUST }).Role.Arn
      local _, e = session:client("eks"):create_cluster { name = "c", version = "1.36",
        roleArn = role, resourcesVpcConfig = { subnetIds = { "subnet-1" } } }
      assert.equal("AccessDeniedException", e.code)
      assert.same({ "iam:PassRole", role }, { e.denied.action, e.denied.resource })
    end)
  end)

  it("is refused in the form of each service", function ()
    within({ allow("sts:None", "*") }, function (session)
      local function refused(service, op, params)
        local answer, e = session:client(service):call(op, params)
        assert.is_nil(answer)
        return { e.code, e.status, e.denied.action }
      end
      assert.same({ "UnauthorizedOperation", 403, "ec2:DescribeVpcs" },
        refused("ec2", "describe_vpcs", {}))
      assert.same({ "AccessDeniedException", 403, "eks:ListClusters" },
        refused("eks", "list_clusters", {}))
      assert.same({ "AccessDenied", 403, "iam:GetRole" }, refused("iam", "get_role",
        { RoleName = "r" }))
      assert.same({ "AccessDeniedException", 400, "ssm:GetParameter" }, refused("ssm",
        "get_parameter", { Name = "/a" }))
      assert.same({ "AccessDenied", 403, "s3:ListBucket" }, refused("s3", "list_objects_v2",
        { Bucket = "some-bucket" }))
      -- An answer to HEAD has no body to say which.
      assert.same({ "Forbidden", 403, "s3:ListBucket" }, refused("s3", "head_bucket",
        { Bucket = "some-bucket" }))
      assert(session:client("sts"):get_caller_identity())
    end)
  end)

  it("is denied by the organization whatever its policies allow", function ()
    within({ allow("*", "*") }, function (session)
      local _, e = session:client("eks"):list_clusters {}
      assert.same({ "eks:ListClusters", "service control policy", true },
        { e.denied.action, e.denied.by, e.denied.explicit })
      assert.matches("organization", e.hint)
      assert(session:client("ec2"):describe_vpcs {})
    end, ",scp=eks:ListClusters")
  end)

  it("is asked apart from a role in whose name a service calls", function ()
    within({ allow("*", "*") }, function (session)
      local ec2 = session:client "ec2"
      local mine = assert(ec2:create_vpc { CidrBlock = "10.0.0.0/16",
        TagSpecifications = MINE }).Vpc.VpcId
      local other = assert(ec2:create_vpc { CidrBlock = "10.1.0.0/16" }).Vpc.VpcId
      assert(session:client("iam"):create_role { RoleName = "r",
        AssumeRolePolicyDocument = TRUST })
      assert(session:client("iam"):put_role_policy { RoleName = "r", PolicyName = "p",
        PolicyDocument = document(allow("ec2:DeleteVpc", "arn:aws:ec2:us-east-2:*:vpc/*",
          { StringEquals = { ["aws:ResourceTag/owner"] = "me" } })) })
      local call = { world = world, aws = world.aws, account = world.aws.account,
        region = require "rtl.rehearse.aws.region".of(world, "us-east-2") }
      local role = world.aws.iam.roles:get "r"
      local ops = require "rtl.aws.model".service("ec2").ops
      assert.is_true(rights.role_may(call, role, ops.delete_vpc, { VpcId = mine }))
      assert.is_false(rights.role_may(call, role, ops.delete_vpc, { VpcId = other }))
      assert.is_false(rights.role_may(call, role, ops.delete_subnet, { SubnetId = "subnet-1" }))
    end)
  end)

  it("gets EC2's encoded reasons decoded if it may, by STS alone", function ()
    within({ allow("sts:DecodeAuthorizationMessage", "*") }, function (session)
      local sts = session:client "sts"
      local raw = require "rtl.rehearse.rights.refusal".of(world, world.aws.caller,
        require "rtl.aws.model".service("ec2").ops.create_vpc,
        { action = "ec2:RunInstances", arn = "arn:x", keys = { k = "v" }, why = "no identity" })
      local text = raw.message:match "failure message: (.*)$"
      assert.is_nil(text:find("RunInstances", 1, true))
      local decoded = json.decode(assert(sts:decode_authorization_message {
        EncodedMessage = text }).DecodedMessage)
      assert.same({ "ec2:RunInstances", "arn:x", false }, { decoded.context.action,
        decoded.context.resource, decoded.allowed })
      local _, e = sts:decode_authorization_message { EncodedMessage = "bm9uc2Vuc2U" }
      assert.equal("InvalidAuthorizationMessageException", e.code)
    end)
  end)
end)
