-- What went wrong for others on AWS, one row a public report: what rtl is told and what it must
-- answer. K… are our numbers of the reports. What stands in another spec is named at the end.

local addons_active = require "rtl.kinds.addons_active"
local denials = require "rtl.recipe.failure"
local eks_addon = require "rtl.kinds.eks_addon"
local eks_cluster = require "rtl.kinds.eks_cluster"
local fs = require "rtl.fs"
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

  it("a failed launch of no known kind is tried again by Auto Scaling, and final the second time",
    function ()
      local activities = { { StatusCode = "Failed", StatusMessage = "the moon is wrong" } }
      local looks = 0
      local failure = wait_for_group({ status = "CREATING",
        resources = { autoScalingGroups = { { name = "asg" } } } }, {
        ["ec2:describe_launch_template_versions"] = {},
        ["autoscaling:describe_scaling_activities"] = function ()
          looks = looks + 1
          if looks == 3 then activities[2] = activities[1] end
          return { Activities = activities }
        end })
      assert.equal("RTL-PLAN-017", failure.code)
      assert.equal("the moon is wrong", failure.message)
      assert.equal(3, looks)
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

describe("a text of a launch that failed", function ()
  local TEXTS = {
    { "InsufficientInstanceCapacity - There is no Spot capacity available that matches your "
      .. "request.", "capacity", true },
    { "Your requested instance type (p4d.24xlarge) is not supported in your requested Availability "
      .. "Zone (us-east-1e). Please retry your request by not specifying an Availability Zone or "
      .. "choosing us-east-1a, us-east-1b.", "capacity", true },
    { "VcpuLimitExceeded - You have requested more vCPU capacity than your current vCPU limit of "
      .. "64 allows for the instance bucket", "quota" },
    { "ReservationCapacityExceeded - The requested reservation does not have sufficient compatible "
      .. "and available capacity for this request.", "reservation" },
    { "InsufficientFreeAddressesInSubnet - There are not enough free addresses in subnet",
      "addresses" },
    { "You are not authorized to perform this operation. User: arn:aws:sts::1:assumed-role/x is "
      .. "not authorized to perform: ec2:RunInstances", "permission" },
    { "AttachmentLimitExceeded - Device index 2 exceeds what network card 2 allows", "template" },
    { "Instance became unhealthy while waiting for instance to be in InService state. Termination "
      .. "Reason: Client.InternalError: Client error on launch", "key" },
    { "the moon is in the wrong phase", "other" },
  }

  for _, row in ipairs(TEXTS) do
    it(("means %s: %s"):format(row[2], row[1]:sub(1, 40)), function ()
      local failure = launch_failure.explain(row[1], "node_group/gpu")
      assert.equal(row[2], failure.class)
      assert.equal(row[3], failure.replan)
      assert.matches(row[1], failure.message, 1, true)
      local area = failure.code:match("^RTL%-(%u+)%-")
      local page = area and require("rtl.codes." .. area:lower())[failure.code]
      assert.is_truthy(failure.hint or page and page.next or denials.denied(failure))
    end)
  end
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

  it("W18, K023: a node with an image that expects a nodeadm config, long before EKS gives up",
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
      local function wait(age, line)
        local looks = 0
        return wait_for_group({ status = "CREATING" }, {
          ["ec2:describe_instances"] = function ()
            looks = looks + 1
            local now = require("rtl.clock").utc()
            return { { Instances = { { InstanceId = "i-01", LaunchTime = now - age } } } }
          end,
          ["ec2:get_console_output"] = { Output = crypto.base64_encode("Command line: "
            .. "nvme_core.io_timeout=4294967295\nnodeadm: done\nno config is missing\n"
            .. line) } })
      end
      assert.equal("RTL-PLAN-014", wait(5000, "a quiet node").code)
      -- EKS' own word is waited for.
      assert.equal("RTL-PLAN-014", wait(300, "dial tcp: i/o timeout").code)
      local failure = wait(1000, "dial tcp: i/o timeout")
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

  it("K012: a rule of others that names a group of ours stays, and is named", function ()
    local function group(id, name, tags)
      return { GroupId = id, GroupName = name, Tags = tags, IpPermissionsEgress = {},
        IpPermissions = { { IpProtocol = "-1", UserIdGroupPairs = { { GroupId = "sg-1" } } } } }
    end
    local groups = { group("sg-1", "efa", { { Key = "rtl:deployment", Value = "toy" } }),
      group("sg-2", "k8s-elb", { { Key = "kubernetes.io/cluster/toy", Value = "owned" } }),
      group("sg-3", "database", {}) }
    local revoked, deleted = {}, 0
    local ctx = scripted_aws.context {
      ["ec2:describe_security_groups"] = function (params)
        return params.Filters[1].Name == "ip-permission.group-id" and groups or {}
      end,
      ["ec2:revoke_security_group_ingress"] = function (params)
        revoked[#revoked + 1] = params.GroupId
        return { Return = true }
      end,
      ["ec2:delete_security_group"] = function () deleted = deleted + 1 return {} end,
    }
    local item = { key = "security_group/efa", kind = security_group, id = "sg-1", outputs = {},
      kind_name = "security_group" }
    local gone, failure = task.run(security_group.delete, ctx, item)
    assert.is_nil(gone)
    assert.equal("RTL-PLAN-016", failure.code)
    assert.matches("still named by ingress rule of sg-3 (database)", failure.message, 1, true)
    assert.same({ { "sg-1", "sg-2" }, 0 }, { revoked, deleted })
    groups[3] = nil
    assert.is_truthy(task.run(security_group.delete, ctx, item))
    assert.equal(1, deleted)
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

-- Reports, and wishes of others (W…), that stand in another spec: its file and the test's name.
local ELSEWHERE = {
  K001 = { "unit/launch_template_spec", "refuses to go on when EC2 kept it without" },
  K002 = { "unit/launch_template_spec", "has all three of a capacity block: type, market" },
  K003 = { "cli/capacity_spec", "takes a reservation that was given: its zone wins" },
  K004 = { "unit/kinds_spec", "does not blame the zone when reservation and placement group do" },
  K005 = { "unit/instances_spec", "gives card 0 device 0 and device 1 of each further card" },
  K006 = { "contract/launch_templates_spec", "have one interface a card: card 0 device 0" },
  K007 = { "unit/given_network_spec", "is refused where the nodes would never join" },
  K008 = { "unit/given_network_spec", "is refused where a node with several interfaces" },
  K009 = { "unit/kinds_spec", "needs a rule to itself, both ways; 0.0.0.0/0 does not count" },
  K010 = { "unit/deploy_spec", "gives GPU nodes the EFA group beside the cluster's" },
  K011 = { "unit/nccl_spec", '"K011"' },
  K012 = { "unit/kinds_spec", "adds what is missing, one rule a call, and revokes nothing" },
  K013 = { "unit/capacity_spec", "refuses a wanted zone that can't be used" },
  K014 = { "unit/capacity_spec", "ranks by what is offered, whatever the order of the answer" },
  K017 = { "cli/rehearsal_spec", "ends with 5 before anything is made, naming the quota" },
  K019 = { "unit/capacity_spec", "shows a Capacity Block that is on sale" },
  K027 = { "fault/strays_spec", "removes a network without a ledger, of which no cluster was" },
  K028 = { "fault/strays_spec", "that looks into another region says where" },
  K030 = { "fault/strays_spec", "removes an interface that the CNI left" },
  K031 = { "fault/strays_spec", "and its address that stay, and of a group left" },
  K032 = { "fault/strays_spec", "says id and price of a gateway and its address that stay" },
  K033 = { "fault/strays_spec", "a log group that comes late, if all data is to go" },
  W01 = { "cli/capacity_spec", "is one ranked table of many regions" },
  W02 = { "cli/capacity_spec", "names the quota that is missing and what to ask for" },
  W03 = { "cli/capacity_spec", "tells programs the same in a shape that stays" },
  W04 = { "cli/capacity_spec", "runs a deployment in a Capacity Block that was bought" },
  W05 = { "unit/capacity_spec", "puts a zone with a fitting reservation first" },
  W06 = { "unit/capacity_spec", "goes first where EC2 says that there is some" },
  W07 = { "unit/capacity_spec", "skips the zones that EKS refuses" },
  W08 = { "unit/capacity_spec", "names quota and need when there is none" },
  W09 = { "unit/plan_spec", "creates everything, then plans nothing to do" },
  W10 = { "cli/rehearsal_spec", "is left as it is, empty or standing" },
  W11 = { "fault/death_spec", "in a deploy goes on to the same cloud and verdict" },
  W12 = { "fault/strays_spec", "removes two groups of the cluster that name each other" },
  W13 = { "fault/strays_spec", "keeps a claim's volume and says its price" },
  W14 = { "unit/given_spec", "is open to itself both ways, in the given VPC" },
  W15 = { "unit/launch_template_spec", "targets a reservation group, and a placement group" },
  W16 = { "fault/given_spec", "leaves nothing in a given cluster, and its add-ons alone" },
  W17 = { "cli/plan_out_spec", "tells each request and each object that the deploy then sends" },
  W39 = { "unit/lease_spec", "is made before anything that bills, and ends all of it" },
}

describe("every report", function ()
  local own = assert(fs.read "test/unit/cases_aws_spec.lua"):match "^(.*)\nlocal ELSEWHERE"

  local function check(id)
    local place = ELSEWHERE[id]
    if not place then
      assert.is_truthy(own:find('it%("[KW%d, ]*' .. id), id .. " is no test")
    else
      local text = assert(fs.read(("test/%s.lua"):format(place[1])))
      assert.is_truthy(text:find(place[2], 1, true), ("%s: %s has no '%s'"):format(id, place[1],
        place[2]))
    end
  end

  it("of these areas is a test", function ()
    for i = 1, 35 do check(("K%03d"):format(i)) end
    for i = 1, 18 do check(("W%02d"):format(i)) end
    check "W39"
  end)
end)
