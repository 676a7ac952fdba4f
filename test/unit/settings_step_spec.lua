-- A newcomer's mistakes in the settings: each is told before anything is asked of the cloud, with
-- the setting, its value and what is wanted.

local err = require "rtl.err"
local failure_of = require "rtl.recipe.failure"
local load_file = require "rtl.recipe.load"
local recipe = require "rtl.recipe.recipe"
local run_object = require "rtl.recipe.run"

local deploy = recipe.open(assert(load_file.find("recipes/deploy.lua")))

-- The first step's word on the settings of a command line: an error, or nil when all is well.
local function told(options)
  local values, wrong = deploy.set:resolve { options = options }
  if not values then return wrong end
  local run = run_object.new { recipe = deploy, values = values, options = {}, words = {},
    bus = { emit = function () end } }
  run.link = { aws = values.kubeconfig == "" and error or nil }
  run.step = deploy.steps[1]
  local ok, failure = pcall(run.step.preflight, run)
  if not ok and not err.is(failure) then error(failure, 0) end
  return not ok and failure or nil
end

local function refused(options, ...)
  local failure = told(options)
  assert.is_truthy(failure, "taken")
  assert.equal("usage", failure_of.exit_name(failure))
  for _, text in ipairs { ... } do assert.matches(text, tostring(failure), 1, true) end
end

local NET = { vpc_id = "vpc-1a", private_subnets = "subnet-1a,subnet-1b" }

local function with(more)
  local options = {}
  for key, value in pairs(NET) do options[key] = value end
  for key, value in pairs(more) do options[key] = value end
  return options
end

describe("settings", function ()
  it("of the default deployment, and of all that can be given, are taken", function ()
    local role = "arn:aws-us-gov:iam::1:role/team/r"
    assert.is_nil(told {})
    assert.is_nil(told(with { use_cluster = "team", node_role = role, use_bucket = "team.data",
      pod_role = role }))
    assert.is_nil(told(with { cluster_role = role, bucket = "team-data", admins = role
      .. ",arn:aws:iam::1:user/ada", public_access_cidrs = "198.51.100.0/24,172.32.0.0/16" }))
  end)

  it("have the form that AWS' names have", function ()
    refused({ vpc_id = "my-vpc" }, "--vpc-id: ", "'my-vpc' is not a VPC id")
    refused({ private_subnets = "10.0.1.0/24" }, "--private-subnets: ", "not a subnet id")
    refused({ node_role = "NodeRole" }, "--node-role: ", "'NodeRole' is not the ARN of an IAM role")
    refused({ cluster_role = "arn:aws:iam::1:policy/x" }, "--cluster-role: ", "ARN of an IAM role")
    refused({ permissions_boundary = "arn:aws:iam::1:role/x" }, "the ARN of an IAM policy")
    refused({ bucket = "Team_Data" }, "--bucket: ", "'Team_Data' is not a bucket's name")
    refused({ use_bucket = "s3://team" }, "--use-bucket: ", "is not a bucket's name")
    refused({ proxy = "proxy.corp:3128" }, "--proxy: ", "http://proxy.corp:3128")
    refused({ tags = "owner" }, "--tags: ", "key=value")
    refused({ worker_memory = "160K" }, "--worker-memory: ", "a Kubernetes quantity")
    refused({ worker_memory = "1Pi" }, "worker_memory is 1Pi, more than")
  end)

  it("name admins as principals, not as sessions or accounts", function ()
    for _, arn in ipairs { "arn:aws:sts::1:assumed-role/ops/ada", "arn:aws:iam::1:root", "ops",
      "arn:aws:iam::1:group/ops" } do
      refused({ admins = arn }, "--admins: ", arn, "role or user")
    end
  end)

  it("say nothing that what is given overrules", function ()
    refused(with { vpc_cidr = "10.9.0.0/16" }, "vpc_cidr is set (--vpc-cidr)", "vpc_id=vpc-1a")
    refused(with { use_cluster = "team", public_access_cidrs = "198.51.100.0/24" },
      "public_access_cidrs", "use_cluster=team is used as it is")
    refused(with { use_cluster = "team", kubernetes_version = "1.35" }, "kubernetes_version")
    refused({ bucket = "one", use_bucket = "two" }, "bucket is set", "use_bucket=two")
  end)

  it("give a cluster with its network, and a network with two subnets", function ()
    refused({ use_cluster = "team" }, "use_cluster is given without the network of team", "vpc_id")
    refused(with { region = "us-east-2,us-west-2" }, "vpc_id=vpc-1a is in one region",
      "us-east-2, us-west-2")
    refused({ vpc_id = "vpc-1a" }, "0 private subnets; two are needed")
    refused({ private_subnets = "subnet-1a,subnet-1b" }, "without the vpc_id")
  end)

  it("open the endpoint to addresses of the internet", function ()
    for _, cidr in ipairs { "10.0.0.0/8", "172.16.0.0/12", "172.31.4.0/24", "192.168.1.0/24" } do
      refused({ public_access_cidrs = cidr }, "public_access_cidrs: " .. cidr, "private range")
    end
    local many = {}
    for i = 1, 41 do many[i] = ("198.51.100.%d/32"):format(i) end
    refused({ public_access_cidrs = table.concat(many, ",") }, "41 ranges; EKS takes 40")
  end)

  it("give groups of nodes with the cluster that they are in", function ()
    refused({ use_gpu_group = "gpus" }, "use_gpu_group=gpus is given without use_cluster")
    refused({ use_system_group = "sys" }, "use_system_group=sys is given without use_cluster")
    refused(with { use_cluster = "team", use_gpu_group = "gpus", gpu_disk = "300" },
      "gpu_disk is set", "use_gpu_group=gpus")
    refused({ efa_security_group = "my-group" }, "--efa-security-group: ", "a security group id")
    assert.is_nil(told(with { use_cluster = "team", use_gpu_group = "gpus",
      use_system_group = "sys", efa_security_group = "sg-1a" }))
  end)

  it("give a bucket the agent that its role comes by", function ()
    refused({ bucket = "team-data", addons = "vpc-cni,kube-proxy,coredns" },
      "addons lacks eks-pod-identity-agent")
    refused({ pod_role = "arn:aws:iam::1:role/r" }, "neither bucket nor use_bucket")
  end)
end)
