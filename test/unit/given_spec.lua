-- What is given in settings instead of made: used if it fits, refused with what is wrong, and left
-- as it is.

local bucket = require "rtl.kinds.bucket"
local eks_cluster = require "rtl.kinds.eks_cluster"
local iam_role = require "rtl.kinds.iam_role"
local kinds_vpc = require "rtl.kinds.vpc"
local node_group = require "rtl.kinds.node_group"
local placement_group = require "rtl.kinds.placement_group"
local plan = require "rtl.plan"
local scripted_aws = require "test.support.scripted_aws"
local security_group = require "rtl.kinds.security_group"
local task = require "rtl.task"

-- Plans a single resource: its row.
local function decide(res, answers, more)
  local ctx, fake = scripted_aws.context(answers, more)
  local g = plan.graph.new()
  g:declare(res)
  local p = task.run(plan.read, g, ctx)
  return p:change(res), fake
end

local function fits(...)
  local row = decide(...)
  assert.is_nil(row.problem, tostring(row.problem))
  assert.equal("given", row.action)
end

local function refused(text, ...)
  local row = decide(...)
  assert.is_truthy(row.problem, "taken as it is")
  assert.equal("refused", row.problem.exit)
  assert.matches(text, tostring(row.problem), 1, true)
end

describe("a given VPC", function ()
  local function answers(support, names)
    return {
      ["ec2:describe_vpcs"] = { { VpcId = "vpc-1", CidrBlock = "172.31.0.0/16",
        State = "available" } },
      ["ec2:describe_vpc_attribute"] = function (params)
        if params.Attribute == "enableDnsSupport" then
          return { EnableDnsSupport = { Value = support } }
        end
        return { EnableDnsHostnames = { Value = names } }
      end,
    }
  end
  local given = kinds_vpc "net" { given = "vpc-1" }

  it("has whatever addresses it has, and DNS", function ()
    fits(given, answers(true, true))
    refused("dns_support: false → true", given, answers(false, true))
    refused("dns_hostnames: false → true", given, answers(true, false))
    refused("there is no such vpc", given, { ["ec2:describe_vpcs"] = {} })
  end)
end)

describe("a given role", function ()
  local ARN = "arn:aws:iam::1:role/team/nodes"
  local NODE = { "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly" }

  local function aws(name) return { PolicyArn = "arn:aws:iam::aws:policy/" .. name } end

  local function statement(service, action, effect)
    return { Effect = effect or "Allow", Principal = { Service = service },
      Action = action or "sts:AssumeRole" }
  end

  local function answers(trust, attached, inline)
    return {
      ["iam:get_role"] = { Role = { RoleName = "nodes", Arn = ARN, Path = "/team/",
        AssumeRolePolicyDocument = { Statement = trust } } },
      ["iam:list_attached_role_policies"] = attached or {},
      ["iam:list_role_policies"] = inline and { "own" } or {},
      ["iam:get_role_policy"] = { PolicyDocument = inline },
    }
  end

  local function node(policies)
    return iam_role "node" { given = ARN, service = "ec2.amazonaws.com", policies = policies,
      boundary = "arn:aws:iam::1:policy/b" }
  end

  it("is trusted by any of its statements, whatever their form", function ()
    local all = { statement("lambda.amazonaws.com"),
      statement({ "ecs.amazonaws.com", "ec2.amazonaws.com" }, { "sts:AssumeRole" }) }
    fits(node(), answers(all))
    fits(node(), answers(statement "ec2.amazonaws.com")) -- one that is no list
    refused("trusted service: lambda.amazonaws.com → ec2.amazonaws.com", node(),
      answers { statement "lambda.amazonaws.com" })
    refused("trusted service", node(), answers { statement("ec2.amazonaws.com", nil, "Deny") })
    refused("trusted service", node(), answers { statement("ec2.amazonaws.com", "sts:TagSession"),
      { Effect = "Allow", Principal = "*", Action = "sts:AssumeRole" } })
  end)

  it("for pods may tag its sessions, too", function ()
    local pods = iam_role "pods" { given = ARN, service = "pods.eks.amazonaws.com" }
    local both = { "sts:AssumeRole", "sts:TagSession" }
    fits(pods, answers { statement("pods.eks.amazonaws.com", both) })
    refused("trusted service", pods, answers { statement("pods.eks.amazonaws.com") })
  end)

  it("has AWS' policies, as good ones, or some of its own, which only IAM can judge", function ()
    local trust = { statement "ec2.amazonaws.com" }
    fits(node(NODE), answers(trust, { aws(NODE[1]), aws(NODE[2]) }))
    fits(node(NODE), answers(trust, { aws(NODE[1]), aws "AmazonEC2ContainerRegistryReadOnly" }))
    fits(node(NODE), answers(trust, { { PolicyArn = "arn:aws:iam::1:policy/team" } }))
    fits(node(NODE), answers(trust, {}, { Statement = {} }))
    refused("policy: nothing → AmazonEC2ContainerRegistryPullOnly", node(NODE),
      answers(trust, { aws(NODE[1]) }))
  end)
end)

describe("a given cluster", function ()
  local function answers(change)
    local cluster = { name = "team", status = "ACTIVE", version = "1.33", arn = "arn:c",
      accessConfig = { authenticationMode = "API_AND_CONFIG_MAP" },
      resourcesVpcConfig = { vpcId = "vpc-1", subnetIds = { "s-1" }, endpointPrivateAccess = false,
        endpointPublicAccess = true } }
    for key, value in pairs(change or {}) do cluster[key] = value end
    return { ["eks:describe_cluster"] = { cluster = cluster } }
  end
  local given = eks_cluster "net" { given = "team", vpc_id = "vpc-1" }

  it("is taken with its version, endpoints and support as they are", function ()
    fits(given, answers())
    fits(given, answers { accessConfig = { authenticationMode = "API" } })
  end)

  it("is in the given VPC, active, and lets access entries in", function ()
    refused("vpc_id: vpc-2 → vpc-1", given, answers { resourcesVpcConfig = { vpcId = "vpc-2" } })
    refused("status: UPDATING → ACTIVE", given, answers { status = "UPDATING" })
    refused("authentication: CONFIG_MAP → API_AND_CONFIG_MAP", given,
      answers { accessConfig = { authenticationMode = "CONFIG_MAP" } })
  end)
end)

describe("a given placement group", function ()
  it("keeps its instances together", function ()
    local function answers(strategy)
      return { ["ec2:describe_placement_groups"] = { PlacementGroups = {
        { GroupName = "pg", Strategy = strategy, State = "available" } } } }
    end
    local given = placement_group "gpu" { given = "pg" }
    fits(given, answers "cluster")
    refused("strategy: spread → cluster", given, answers "spread")
  end)
end)

describe("a given node group", function ()
  local FIELDS = { given = "gpus", cluster = "team", instance_type = "g6.12xlarge", count = 2,
    labels = { role = "gpu-worker" }, subnet_ids = { "s-1" } }

  local function answers(change)
    local group = { nodegroupName = "gpus", clusterName = "team", status = "ACTIVE",
      subnets = { "s-1" }, instanceTypes = { "g6.12xlarge" },
      labels = { role = "gpu-worker", team = "ml" }, amiType = "CUSTOM",
      scalingConfig = { minSize = 0, maxSize = 8, desiredSize = 2 },
      nodeRepairConfig = { enabled = true } }
    for key, value in pairs(change or {}) do group[key] = value end
    return { ["eks:describe_nodegroup"] = { nodegroup = group } }
  end

  it("has the nodes that are wanted, however it is held", function ()
    local given = node_group "gpu" (FIELDS)
    fits(given, answers())
    refused("count: 1 → 2", given, answers { scalingConfig = { desiredSize = 1 } })
    refused("instance_type: p5.48xlarge → g6.12xlarge", given,
      answers { instanceTypes = { "p5.48xlarge" } })
    refused("labels: {team=ml} → {role=gpu-worker}", given, answers { labels = { team = "ml" } })
    refused("subnet_ids: [s-1, s-2] → [s-1]", given, answers { subnets = { "s-1", "s-2" } })
    refused("status: DEGRADED → ACTIVE", given, answers { status = "DEGRADED" })
  end)
end)

describe("a given security group for EFA", function ()
  it("is open to itself both ways, in the given VPC", function ()
    local itself = { { IpProtocol = "-1", UserIdGroupPairs = { { GroupId = "sg-1" } } } }
    local open = { { IpProtocol = "-1", IpRanges = { { CidrIp = "0.0.0.0/0" } } } }
    local function answers(ingress, egress, vpc)
      return { ["ec2:describe_security_groups"] = { { GroupId = "sg-1", GroupName = "efa",
        VpcId = vpc or "vpc-1", IpPermissions = ingress, IpPermissionsEgress = egress } } }
    end
    local given = security_group "efa" { given = "sg-1", vpc_id = "vpc-1", itself = true }
    fits(given, answers(itself, itself))
    refused("egress rule: nothing → itself", given, answers(itself, open))
    refused("ingress rule: nothing → itself", given, answers({}, itself))
    refused("vpc_id: vpc-2 → vpc-1", given, answers(itself, itself, "vpc-2"))
  end)
end)

describe("a cluster of our own", function ()
  it("gets its endpoints back by one call", function ()
    local cluster = { name = "net", status = "ACTIVE", version = "1.36", roleArn = "arn:r",
      tags = { ["rtl:deployment"] = "toy" }, accessConfig = { authenticationMode = "API" },
      resourcesVpcConfig = { vpcId = "vpc-1", subnetIds = { "s-1" }, endpointPrivateAccess = false,
        endpointPublicAccess = false, publicAccessCidrs = { "0.0.0.0/0" } } }
    local sent = {}
    local res = eks_cluster "net" { version = "1.36", role_arn = "arn:r", subnet_ids = { "s-1" },
      public_cidrs = { "198.51.100.0/24" } }
    local answers = { ["eks:describe_cluster"] = { cluster = cluster },
      ["eks:update_cluster_config"] = function (params)
        sent[#sent + 1] = params.resourcesVpcConfig
        return { update = { id = "u", status = "InProgress" } }
      end,
      ["eks:describe_update"] = { update = { status = "Successful" } } }
    local row = decide(res, answers)
    assert.equal("change", row.action)
    local ctx = scripted_aws.context(answers)
    assert(task.run(res.kind.update, ctx, res, res.fields, row.live, row.changes))
    assert.same({ { publicAccessCidrs = { "198.51.100.0/24" }, endpointPublicAccess = true,
      endpointPrivateAccess = true } }, sent)
  end)
end)

describe("a bucket", function ()
  local function answers(tags, status)
    return {
      ["s3:head_bucket"] = function ()
        if not status then return { BucketRegion = "us-east-2" } end
        local _, failure = scripted_aws.refuse("Forbidden", "")
        failure.status = status
        return nil, failure
      end,
      ["s3:get_bucket_tagging"] = function ()
        if tags then return { TagSet = tags } end
        return scripted_aws.refuse "NoSuchTagSet"
      end,
    }
  end
  local function closed(value)
    return { PublicAccessBlockConfiguration = { BlockPublicAcls = value, IgnorePublicAcls = true,
      BlockPublicPolicy = true, RestrictPublicBuckets = true } }
  end
  local function ledger(state)
    return { ledger = { state = function () return { ["bucket/data"] = { state = state } } end } }
  end
  local wanted, given = bucket "data" { bucket_name = "data" },
    bucket "data" { given = "data" }

  it("that stands and was given is used as it is", function ()
    fits(given, answers())
    fits(given, answers { { Key = "rtl:deployment", Value = "another" } })
  end)

  it("that stands and was not given is never tagged, nor purged later", function ()
    refused("bucket data exists and does not carry this deployment's tag", wanted, answers())
    refused("use_bucket", wanted, answers(), ledger "deleted")
    refused("does not carry", wanted, answers { { Key = "owner", Value = "ada" } })
  end)

  it("that a dead run made and had not tagged yet is tagged", function ()
    local all = answers()
    all["s3:get_public_access_block"] = closed(true)
    local row = decide(wanted, all, ledger "open")
    assert.is_nil(row.problem, tostring(row.problem))
    assert.equal("change", row.action)
    assert.matches("tags", row.reasons[1])
    assert.is_nil(row.reasons[2])
  end)

  it("of ours that somebody opened to the public is closed again", function ()
    local all = answers { { Key = "rtl:deployment", Value = "toy" } }
    all["s3:get_public_access_block"] = closed(true)
    assert.equal("none", decide(wanted, all).action)
    for _, answer in ipairs { closed(false), function ()
      return scripted_aws.refuse "NoSuchPublicAccessBlockConfiguration"
    end } do
      all["s3:get_public_access_block"] = answer
      local row = decide(wanted, all)
      assert.equal("change", row.action)
      assert.matches("public access: open → blocked", row.reasons[1], 1, true)
    end
  end)

  it("that others have is named, though AWS says nothing but 403", function ()
    refused("bucket data belongs to another account", wanted, answers(nil, 403))
    refused("bucket data belongs to another account", given, answers(nil, 403))
  end)
end)
