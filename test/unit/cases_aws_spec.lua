-- What went wrong for others on AWS, one row a public report: what rtl is told and what it must
-- answer. K… are our numbers of the reports. What stands in another spec is named at the end.

local addons_active = require "rtl.kinds.addons_active"
local eks_addon = require "rtl.kinds.eks_addon"
local eks_cluster = require "rtl.kinds.eks_cluster"
local graph = require "rtl.plan.graph"
local crypto = require "rtl.native.crypto"
local launch_failure = require "rtl.kinds.launch_failure"
local namespace = require "rtl.kinds.namespace"
local node_group = require "rtl.kinds.node_group"
local plan = require "rtl.plan"
local scripted_aws = require "test.support.scripted_aws"
local security_group = require "rtl.kinds.security_group"
local task = require "rtl.task"
local toy = require "test.support.toy"
local vpc = require "rtl.kinds.vpc"

-- A Kubernetes that lists and gets what it is told: kind → array of objects.
local function kubernetes(objects)
  local client = {}
  function client.list(_, kind) return { items = objects[kind] or {} } end
  function client.get(_, kind, name)
    for _, object in ipairs(objects[kind] or {}) do
      if object.metadata.name == name then return object end
    end
    return scripted_aws.refuse("NotFound", name)
  end
  function client.delete() return true end
  return { k8s = function () return client end }
end

local function refusals(n, code, message, answer)
  local calls = { count = 0 }
  function calls.act()
    calls.count = calls.count + 1
    if calls.count <= n then return scripted_aws.refuse(code, message) end
    return answer
  end
  return calls
end

local CLUSTER = { version = "1.36", role_arn = "arn:r", subnet_ids = { "s-1", "s-2" } }
local GROUP = { cluster = "toy", role_arn = "arn:r", subnet_ids = { "s-1" }, count = 2,
  instance_type = "p4d.24xlarge", ami_type = "AL2023_x86_64_NVIDIA", zone_id = "use2-az2" }

local function create_cluster(act)
  local ctx = scripted_aws.context { ["eks:create_cluster"] = act }
  return task.run(eks_cluster.create, ctx, eks_cluster "toy" (CLUSTER), CLUSTER, "t")
end

-- The error of a wait for a group that EKS answers with `group`.
local function wait_for_group(group, answers, more)
  answers["eks:describe_addon"] = { addon = { addonName = "vpc-cni", status = "ACTIVE" } }
  group.nodegroupName, group.clusterName = "gpu", "toy"
  answers["eks:describe_nodegroup"] = { nodegroup = group }
  local ctx = scripted_aws.context(answers, more)
  local res = node_group "gpu" (GROUP)
  return select(2, task.run(node_group.ready.wait, ctx, res, GROUP))
end

local function node(id, ready, message)
  return { metadata = { name = "ip-10-42-0-9" }, spec = { providerID = "aws:///us-east-2b/" .. id },
    status = { conditions = { { type = "Ready", status = ready, message = message } } } }
end

local NOT_JOINED = { status = "CREATE_FAILED", health = { issues = { {
  code = "NodeCreationFailure", message = "Instances failed to join the kubernetes cluster",
  resourceIds = { "i-01" } } } } }

local function copy(value)
  if type(value) ~= "table" then return value end
  local out = {}
  for key, part in pairs(value) do out[key] = copy(part) end
  return out
end

describe("a report about capacity", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  it("K015: CAPACITY_BLOCK goes out unchanged, and without the type that the template has",
    function ()
      local sent
      local ctx = scripted_aws.context { ["eks:create_nodegroup"] = function (params)
        sent = params
        return { nodegroup = { nodegroupName = "gpu", status = "CREATING" } }
      end }
      local fields = copy(GROUP)
      fields.capacity_type, fields.launch_template_id = "CAPACITY_BLOCK", "lt-1"
      task.run(node_group.create, ctx, node_group "gpu" (fields), fields, "t")
      assert.equal("CAPACITY_BLOCK", sent.capacityType)
      assert.is_nil(sent.instanceTypes)
    end)

  it("K016: a mixed-instances policy can't be asked for", function ()
    local fields = copy(GROUP)
    fields.mixed_instances_policy = {}
    assert.error_matches(function () node_group "gpu" (fields) end,
      "has no field 'mixed_instances_policy'")
  end)

  it("K018: the quota inside a nested text, with what to ask for and of which", function ()
    local failure = wait_for_group({ status = "CREATE_FAILED", health = { issues = { {
      code = "AsgInstanceLaunchFailures", message = "Could not launch On-Demand Instances. "
        .. "VcpuLimitExceeded - You have requested more vCPU capacity than your current vCPU limit "
        .. "of 0 allows for the instance bucket." } } } }, {})
    assert.equal("RTL-CAP-007", failure.code)
    assert.equal(0, failure.limit)
    assert.equal("L-417A185B", failure.quota)
    assert.equal("Ask for L-417A185B: 192 vCPU are needed", failure.hint)
  end)

  it("K020, K021: the wanted zone and those that can be had, in three wordings", function ()
    local wordings = {
      { "We currently do not have sufficient g6.xlarge capacity in the Availability Zone you "
        .. "requested (us-west-2d). You can currently get g6.xlarge capacity by not specifying an "
        .. "Availability Zone in your request or choosing us-west-2a, us-west-2b.",
        "us-west-2d", { "us-west-2a", "us-west-2b" } },
      { "Cannot create cluster 'c' because us-east-1e, the targeted availability zone, does not "
        .. "currently have sufficient capacity to support the cluster. Retry and choose from these "
        .. "availability zones: us-east-1a, us-east-1b", "us-east-1e",
        { "us-east-1a", "us-east-1b" } },
      { "EKS does not support creating control plane instances in us-east-1e, the targeted "
        .. "availability zone. Retry cluster creation using control plane subnets that span at "
        .. "least two of these availability zones: us-east-1a, us-east-1b", "us-east-1e",
        { "us-east-1a", "us-east-1b" } },
    }
    for _, row in ipairs(wordings) do
      local zone, others = launch_failure.zones(row[1])
      assert.equal(row[2], zone)
      assert.same(row[3], others)
    end
    local _, failure = create_cluster(function ()
      return scripted_aws.refuse("UnsupportedAvailabilityZoneException", wordings[3][1])
    end)
    assert.same({ "us-east-1a", "us-east-1b" }, failure.zones)
    assert.matches("no control plane into us-east-1e; it does into us-east-1a, us-east-1b. Nodes "
      .. "may stand there", failure.hint, 1, true)
    assert.is_nil(failure.replan)
  end)
end)

describe("a report about a control plane or its nodes", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  it("K022: a role that EKS has not heard of is asked for again, another refusal is not",
    function ()
      local made = { cluster = { name = "toy", status = "CREATING" } }
      for _, text in ipairs { "Error in role params",
        "Role could not be assumed because the trusted entity is not correct" } do
        local calls = refusals(1, "InvalidParameterException", text, made)
        assert.equal("toy", create_cluster(calls.act).id)
        assert.equal(2, calls.count)
      end
      local calls = refusals(9, "InvalidParameterException",
        "Subnets specified must be in at least two different AZs", made)
      local none, failure = create_cluster(calls.act)
      assert.is_nil(none)
      assert.equal("InvalidParameterException", failure.code)
      assert.equal(1, calls.count)
    end)

  it("K022: and not for ever", function ()
    local calls = refusals(1000, "InvalidParameterException", "Error in role params")
    local none, failure = create_cluster(calls.act)
    assert.is_nil(none)
    assert.equal("Error in role params", failure.message)
    assert.is_true(calls.count > 5 and calls.count < 30)
  end)

  it("K023: a node with an image that expects a nodeadm config, long before EKS gives up",
    function ()
      local failure = wait_for_group({ status = "CREATING" }, {
        ["ec2:describe_instances"] = { { Instances = { { InstanceId = "i-01" } } } },
        ["ec2:get_console_output"] = { Output = crypto.base64_encode(
          "booting\nnodeadm: could not load configuration: missing config\nsleeping") } })
      assert.equal("RTL-PLAN-018", failure.code)
      assert.matches("i-01 runs and does not join\nconsole of i-01:\nnodeadm: could not load",
        failure.message, 1, true)
      assert.matches("The image expects a nodeadm config", failure.hint)
    end)

  it("K023: while a console only tells of time-outs, and the node is young, there is hope",
    function ()
      local function wait(age)
        local looks = 0
        return wait_for_group({ status = "CREATING" }, {
          ["ec2:describe_instances"] = function ()
            looks = looks + 1
            local now = require("rtl.clock").utc()
            return { { Instances = { { InstanceId = "i-01", LaunchTime = now - age } } } }
          end,
          ["ec2:get_console_output"] = { Output = crypto.base64_encode "dial tcp: i/o timeout" } })
      end
      assert.equal("RTL-PLAN-014", wait(300).code) -- EKS' own word is waited for
      local failure = wait(1000)
      assert.equal("RTL-PLAN-018", failure.code)
      assert.matches("check NAT, routes", failure.hint)
    end)

  it("K024: a node that joined, and that EKS marks as failed", function ()
    local failure = wait_for_group(copy(NOT_JOINED), {},
      kubernetes { Node = { node("i-02", "True"), node("i-01", "True") } })
    assert.equal("RTL-PLAN-018", failure.code)
    assert.equal("node ip-10-42-0-9 (i-01) joined and is Ready, yet EKS marks the group "
      .. "CREATE_FAILED: Instances failed to join the kubernetes cluster", failure.message)
    assert.matches("User data of a launch template that has no AMI id", failure.hint)
  end)

  it("K024: one that joined and is not Ready says why", function ()
    local failure = wait_for_group(copy(NOT_JOINED), {},
      kubernetes { Node = { node("i-01", "False", "cni plugin not initialized") } })
    assert.matches("joined and is not Ready: cni plugin not initialized", failure.message)
  end)

  it("K025: an add-on in conflict goes with its pods kept, and comes back with OVERWRITE",
    function ()
      local sent, state = {}, "CREATE_FAILED"
      local tags = { ["rtl:deployment"] = "toy", ["rtl:resource"] = "eks_addon/coredns" }
      local ctx = scripted_aws.context {
        ["eks:describe_addon"] = function ()
          if not state then return scripted_aws.refuse "ResourceNotFoundException" end
          return { addon = { addonName = "coredns", status = state, tags = tags, health = {
            issues = { { code = "ConfigurationConflict", message = "Conflicts found" } } } } }
        end,
        ["eks:delete_addon"] = function (params)
          sent[#sent + 1] = { "delete", params.preserve }
          state = nil
          return {}
        end,
        ["eks:create_addon"] = function (params)
          sent[#sent + 1] = { "create", params.resolveConflicts }
          state = "ACTIVE"
          return { addon = { addonName = "coredns", status = "CREATING" } }
        end,
      }
      local g = graph.new()
      g:declare(eks_addon "coredns" { cluster = "toy" })
      task.run(function ()
        local p = assert(plan.read(g, ctx))
        assert.matches("ConfigurationConflict: Conflicts found", p.changes[1].reasons[1])
        assert(plan.apply(p, ctx))
      end)
      assert.same({ { "delete", true }, { "create", "OVERWRITE" } }, sent)
    end)

  it("K026: an add-on whose pods do not run names the last event of a pod", function ()
    local labels = { ["k8s-app"] = "aws-node" }
    local function event(at, message)
      return { metadata = {}, type = "Warning", reason = "FailedCreatePodSandBox",
        message = message, lastTimestamp = at }
    end
    local ctx = scripted_aws.context({ ["eks:describe_addon"] = { addon = { addonName = "vpc-cni",
      status = "CREATE_FAILED", health = { issues = { { code = "InsufficientNumberOfReplicas",
        message = "The add-on is unhealthy" } } } } } }, kubernetes {
      DaemonSet = { { kind = "DaemonSet", metadata = { name = "aws-node" },
        spec = { selector = { matchLabels = labels } },
        status = { desiredNumberScheduled = 2, numberReady = 0 } } },
      Pod = { { metadata = { name = "aws-node-x", namespace = "kube-system" }, status = {
        phase = "Pending", conditions = {} } } },
      Event = { event("2026-12-01T10:05:00Z", "failed to assign an IP address"),
        event("2026-12-01T10:01:00Z", "an older one") },
    })
    local fields = { cluster = "toy", names = { "vpc-cni" } }
    local _, failure = task.run(addons_active.create, ctx, addons_active "all" (fields), fields)
    assert.equal("RTL-PLAN-017", failure.code)
    assert.equal("add-on vpc-cni is CREATE_FAILED (InsufficientNumberOfReplicas: The add-on is "
      .. "unhealthy; DaemonSet aws-node: 0 of 2 ready; pod aws-node-x: Pending; its last event: "
      .. "FailedCreatePodSandBox: failed to assign an IP address)", failure.message)
    assert.is_string(failure.hint)
  end)
end)

describe("a report about deletion", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  it("K029: a load balancer that lingers in a group: tried again until it is gone", function ()
    local calls = refusals(2, "DependencyViolation", "resource sg-1 has a dependent object", {})
    local ctx = scripted_aws.context { ["ec2:delete_security_group"] = calls.act,
      ["ec2:describe_network_interfaces"] = {}, ["ec2:describe_security_groups"] = {} }
    assert.is_truthy(task.run(security_group.delete, ctx, { key = "security_group/efa",
      kind = security_group, kind_name = "security_group", id = "sg-1", outputs = {} }))
    assert.equal(3, calls.count)
  end)

  it("K034: what is not there is deleted", function ()
    local ctx = scripted_aws.context { ["ec2:delete_vpc"] = function ()
      return scripted_aws.refuse "InvalidVpcID.NotFound"
    end }
    assert.is_true(task.run(vpc.delete, ctx, { key = "vpc/toy", kind = vpc, kind_name = "vpc",
      id = "vpc-1", outputs = {} }))
  end)

  it("K035: a namespace that stays Terminating names the objects and finalizers in it", function ()
    local ledger = { state = function ()
      return { ["eks_cluster/toy"] = { kind = "eks_cluster", state = "made" } }
    end }
    local ctx = scripted_aws.context({}, kubernetes { Namespace = { { metadata = {
      name = "ray-train", deletionTimestamp = "2026-12-01T10:00:00Z" }, status = {
        phase = "Terminating", conditions = {
          { type = "NamespaceDeletionContentFailure", status = "False", message = "all deleted" },
          { type = "NamespaceContentRemaining", status = "True",
            message = "Some resources are remaining: rayclusters.ray.io has 1 resource instances" },
          { type = "NamespaceFinalizersRemaining", status = "True", message = "Some content in the "
            .. "namespace has finalizers remaining: ray.io/gcs-ft-redis-cleanup-finalizer in 1 "
            .. "resource instances" } } } } } })
    ctx.ledger = ledger -- a cluster of ours, which answers: nothing is taken for gone with it
    local gone, failure = task.run(namespace.delete, ctx, { key = "namespace/ray-train",
      kind = namespace, kind_name = "namespace", id = "ray-train", outputs = {} })
    assert.is_nil(gone)
    assert.equal("RTL-PLAN-014", failure.code)
    assert.matches("rayclusters.ray.io has 1 resource", failure.message, 1, true)
    assert.matches("ray.io/gcs-ft-redis-cleanup-finalizer", failure.message, 1, true)
    assert.is_nil(failure.message:find("all deleted", 1, true))
  end)
end)
