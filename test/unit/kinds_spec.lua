local err = require "rtl.err"
local scripted_aws = require "test.support.scripted_aws"
local launch_failure = require "rtl.kinds.launch_failure"
local node_group = require "rtl.kinds.node_group"
local security_group = require "rtl.kinds.security_group"
local subnet = require "rtl.kinds.subnet"
local task = require "rtl.task"
local toy = require "test.support.toy"

describe("why instances do not start", function ()
  local no_capacity = "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We "
    .. "currently do not have sufficient g6.xlarge capacity in the Availability Zone you requested "
    .. "(us-west-2d). Our system will be working on provisioning additional capacity. You can "
    .. "currently get g6.xlarge capacity by not specifying an Availability Zone in your request or "
    .. "choosing us-west-2a, us-west-2b. Launching EC2 instance failed."

  it("no capacity: another zone may help, and EC2 says which", function ()
    local failure = launch_failure.explain(no_capacity)
    assert.equal("RTL-CAP-003", failure.code)
    assert.is_true(failure.replan)
    assert.equal("us-west-2d", failure.zone_name)
    assert.same({ "us-west-2a", "us-west-2b" }, failure.zones)
  end)

  it("a quota inside a nested text: no zone helps", function ()
    local failure = launch_failure.explain("Could not launch On-Demand Instances. "
      .. "VcpuLimitExceeded - You have requested more vCPU capacity than your current vCPU limit "
      .. "of 0 allows for the instance bucket that the specified instance type belongs to.")
    assert.equal("RTL-CAP-007", failure.code)
    assert.equal(0, failure.limit)
    assert.is_nil(failure.replan)
  end)

  it("a refusal names the action", function ()
    local failure = launch_failure.explain("You are not authorized to perform this operation. "
      .. "User: arn:aws:sts::1:assumed-role/x is not authorized to perform: ec2:RunInstances on x")
    assert.equal("ec2:RunInstances", failure.action)
    assert.equal("permission", failure.class)
  end)

  it("a refusal of AWS' own role says whose it is, decoded where that can be", function ()
    local text = "You are not authorized to perform this operation. Encoded authorization failure "
      .. "message: abc_1. Launching EC2 instance failed."
    local failure = launch_failure.explain(text, "node_group/gpu", function (encoded)
      assert.equal("abc_1", encoded)
      return '{"explicitDeny": true, "context": {"action": "kms:CreateGrant", "resource": "arn:k"}}'
    end)
    assert.equal("kms:CreateGrant", failure.action)
    assert.matches("kms:CreateGrant on arn:k", failure.message)
    assert.is_nil(failure.message:find("Encoded", 1, true))
    assert.matches("AWS' own role", failure.hint)
    failure = launch_failure.explain(text, "node_group/gpu")
    assert.matches("DecodeAuthorizationMessage", failure.hint)
    failure = launch_failure.explain("User: arn:aws:sts::1:assumed-role/"
      .. "AWSServiceRoleForAutoScaling/AutoScaling is not authorized to perform: ec2:RunInstances "
      .. "with an explicit deny in a service control policy", "node_group/gpu")
    assert.matches("organization", failure.hint)
  end)

  it("anything else stays what it is", function ()
    local failure = launch_failure.explain "the moon is in the wrong phase"
    assert.equal("RTL-PLAN-017", failure.code)
    assert.matches("the moon", failure.message)
  end)
end)

describe("the wait for a node group", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  local FIELDS = { cluster = "toy", role_arn = "arn:r", subnet_ids = { "s-1" },
    instance_type = "g6.12xlarge", count = 2, ami_type = "AL2023_x86_64_NVIDIA",
    zone_id = "use2-az2", launch_template_id = "lt-1", launch_template_version = "1" }

  local function group(more)
    local g = { nodegroupName = "gpu", clusterName = "toy", status = "CREATING",
      resources = { autoScalingGroups = { { name = "asg-1" } } }, health = { issues = {} } }
    for key, value in pairs(more or {}) do g[key] = value end
    return { nodegroup = g }
  end

  local function wait(answers)
    local ctx, fake = scripted_aws.context(answers)
    local live, failure = task.run(node_group.ready.wait, ctx, node_group "gpu" (FIELDS), FIELDS)
    return live, failure, fake
  end

  local function activity(text)
    return { Activities = { { StatusCode = "Failed", StatusMessage = text } } }
  end

  it("ends when it is ACTIVE", function ()
    local polls = 0
    local live = wait {
      ["eks:describe_nodegroup"] = function ()
        polls = polls + 1
        return group { status = polls > 3 and "ACTIVE" or "CREATING" }
      end,
      ["autoscaling:describe_scaling_activities"] = { Activities = {} },
    }
    assert.equal("gpu", live.group_name)
    assert.equal("asg-1", live.asg)
  end)

  it("ends early with what the scaling activity says", function ()
    local _, failure, fake = wait {
      ["eks:describe_nodegroup"] = group(),
      ["autoscaling:describe_scaling_activities"] = activity "InsufficientInstanceCapacity - none",
      ["ec2:describe_launch_template_versions"] = { { LaunchTemplateData = {} } },
    }
    assert.equal("RTL-CAP-003", failure.code)
    assert.is_true(failure.replan)
    assert.equal("use2-az2", failure.zone_id)
    assert.equal(3, #fake.log)
  end)

  it("does not blame the zone when reservation and placement group do not match", function ()
    local _, failure = wait {
      ["eks:describe_nodegroup"] = group(),
      ["autoscaling:describe_scaling_activities"] = activity "InsufficientInstanceCapacity - none",
      ["ec2:describe_launch_template_versions"] = { { LaunchTemplateData = {
        Placement = { GroupName = "pg" }, CapacityReservationSpecification = {
          CapacityReservationTarget = { CapacityReservationId = "cr-1" } } } } },
    }
    assert.equal("RTL-CAP-006", failure.code)
    assert.is_nil(failure.replan)
  end)

  it("goes to another zone when what falls back from a group of reservations has none", function ()
    local _, failure = wait {
      ["eks:describe_nodegroup"] = group(),
      ["autoscaling:describe_scaling_activities"] = activity "InsufficientInstanceCapacity - none",
      ["ec2:describe_launch_template_versions"] = { { LaunchTemplateData = {
        Placement = { GroupName = "pg" }, CapacityReservationSpecification = {
          CapacityReservationTarget = { CapacityReservationResourceGroupArn = "arn:g" } } } } },
    }
    assert.equal("RTL-CAP-003", failure.code)
    assert.is_true(failure.replan)
  end)

  it("holds it to its size, its way of updating, and no repair", function ()
    local sent = {}
    local held = { status = "ACTIVE", scalingConfig = { minSize = 0, maxSize = 9, desiredSize = 2 },
      updateConfig = { updateStrategy = "DEFAULT" }, nodeRepairConfig = { enabled = true },
      nodeRole = "arn:r", subnets = { "s-1" }, instanceTypes = { "g6.12xlarge" },
      amiType = FIELDS.ami_type, launchTemplate = { id = "lt-1", version = "1" },
      tags = { ["rtl:deployment"] = "toy" } }
    local ctx = scripted_aws.context { ["eks:describe_nodegroup"] = group(held),
      ["eks:update_nodegroup_config"] = function (params)
        sent[#sent + 1] = params
        return { update = { id = "u" } }
      end, ["eks:describe_update"] = { update = { status = "Successful" } } }
    local res = node_group "gpu" (FIELDS)
    local live = assert(node_group.read(ctx, res, FIELDS))
    local changes, fields = node_group.diff(ctx, res, FIELDS, live), {}
    for i, change in ipairs(changes) do fields[i] = change.field end
    assert.same({ "least size", "most size", "node repair", "update strategy" }, fields)
    assert(task.run(node_group.update, ctx, res, FIELDS, live, changes))
    assert.equal(1, #sent)
    assert.same({ minSize = 2, maxSize = 2, desiredSize = 2 }, sent[1].scalingConfig)
    assert.same({ maxUnavailable = 1, updateStrategy = "MINIMAL" }, sent[1].updateConfig)
    assert.same({ enabled = false }, sent[1].nodeRepairConfig)
    held.scalingConfig, held.updateConfig = sent[1].scalingConfig, sent[1].updateConfig
    held.nodeRepairConfig = sent[1].nodeRepairConfig
    assert.same({}, node_group.diff(ctx, res, FIELDS,
      node_group.read(scripted_aws.context { ["eks:describe_nodegroup"] = group(held) }, res,
        FIELDS)))
  end)

  it("names quota and need when the limit is hit", function ()
    local _, failure = wait {
      ["eks:describe_nodegroup"] = group { status = "CREATE_FAILED", resources = {},
        health = { issues = { { code = "AsgInstanceLaunchFailures", message = "Could not launch "
          .. "On-Demand Instances. VcpuLimitExceeded - current vCPU limit of 0" } } } },
    }
    assert.equal("RTL-CAP-007", failure.code)
    assert.equal("L-DB2E81BA", failure.quota)
    assert.matches("96 vCPU", failure.hint)
  end)

  it("shows the console of a node that does not join", function ()
    local _, failure = wait {
      ["eks:describe_nodegroup"] = group { status = "CREATE_FAILED", resources = {},
        health = { issues = { { code = "NodeCreationFailure", message = "did not join",
          resourceIds = { "i-1" } } } } },
      ["ec2:get_console_output"] = { Output = "Ym9vdApub2RlYWRtOiBtaXNzaW5nIGNvbmZpZwo=" },
    }
    assert.equal("RTL-PLAN-018", failure.code)
    assert.matches("nodeadm: missing config", failure.message)
    assert.matches("nodeadm config", failure.hint)
  end)

  it("never touches a group of others, and looks for its own under its own name", function ()
    local asked
    local ctx = scripted_aws.context { ["eks:describe_nodegroup"] = function (params)
      asked = params.nodegroupName
      return group { status = "ACTIVE", tags = { ["rtl:deployment"] = "another" } }
    end }
    local fields = {}
    for key, value in pairs(FIELDS) do fields[key] = value end
    fields.group_name = "toy-gpu"
    local live, failure = task.run(node_group.read, ctx, node_group "gpu" (fields), fields)
    assert.is_nil(live)
    assert.equal("RTL-PLAN-005", failure.code)
    assert.equal("toy-gpu", asked)
  end)

  local function addon(status)
    return { addon = { addonName = "vpc-cni", status = status, health = { issues = {
      { code = "AdmissionRequestDenied", message = "denied by a webhook" } } } } }
  end

  it("ends at its limit with the last state, not for ever", function ()
    local _, failure = wait {
      ["eks:describe_nodegroup"] = group { resources = {} },
      ["eks:describe_addon"] = addon "ACTIVE",
      ["ec2:describe_instances"] = {},
    }
    assert.equal("RTL-PLAN-014", failure.code)
    assert.matches("CREATING", failure.message)
  end)

  it("ends early where the network's add-on has failed, without which no node gets Ready",
    function ()
    local _, failure = wait {
      ["eks:describe_nodegroup"] = group { resources = {} },
      ["eks:describe_addon"] = addon "CREATE_FAILED",
    }
    assert.equal("RTL-PLAN-017", failure.code)
    assert.matches("vpc-cni is CREATE_FAILED (AdmissionRequestDenied", failure.message, 1, true)
  end)

  it("retries only while EKS has not heard of the role", function ()
    local tries = 0
    local ctx = scripted_aws.context { ["eks:create_nodegroup"] = function ()
      tries = tries + 1
      if tries < 3 then
        return scripted_aws.refuse("InvalidParameterException", "Role arn:r does not exist")
      end
      return group()
    end }
    local live = task.run(node_group.create, ctx, node_group "gpu" (FIELDS), FIELDS, "t")
    assert.equal("gpu", live.id)
    assert.equal(3, tries)
    ctx = scripted_aws.context { ["eks:create_nodegroup"] = function ()
      tries = tries + 1
      return scripted_aws.refuse("InvalidParameterException", "the AMI type is wrong")
    end }
    local none, failure = task.run(node_group.create, ctx, node_group "gpu" (FIELDS), FIELDS, "t")
    assert.is_nil(none)
    assert.equal("InvalidParameterException", failure.code)
    assert.equal(4, tries)
  end)
end)

describe("the EFA security group", function ()
  local FIELDS = { vpc_id = "vpc-1", description = "efa", itself = true }
  local res = security_group "efa" (FIELDS)

  local function missing(live)
    local list = {}
    for _, change in ipairs(security_group.diff({}, res, FIELDS, live)) do
      list[#list + 1] = change.field
    end
    return list
  end

  local function itself(id)
    return { IpProtocol = "-1", UserIdGroupPairs = { { GroupId = id } } }
  end
  local all = { IpProtocol = "-1", IpRanges = { { CidrIp = "0.0.0.0/0" } } }

  it("needs a rule to itself, both ways; 0.0.0.0/0 does not count", function ()
    local live = { id = "sg-1", vpc_id = "vpc-1", ingress = { itself "sg-1" }, egress = { all } }
    assert.same({ "egress rule" }, missing(live))
    live.egress = { all, itself "sg-2" }
    assert.same({ "egress rule" }, missing(live))
    live.egress = { all, itself "sg-1" }
    assert.same({}, missing(live))
    live.ingress = { all }
    assert.same({ "ingress rule" }, missing(live))
  end)

  it("adds what is missing, one rule a call, and revokes nothing", function ()
    local ctx, fake = scripted_aws.context {
      ["ec2:authorize_security_group_egress"] = { Return = true } }
    local live = { id = "sg-1", vpc_id = "vpc-1", ingress = { itself "sg-1" }, egress = { all } }
    local changes = security_group.diff(ctx, res, FIELDS, live)
    assert.is_true(task.run(security_group.update, ctx, res, FIELDS, live, changes))
    assert.same({ "ec2:authorize_security_group_egress" }, fake.log)
  end)

  it("takes a duplicate for done", function ()
    local ctx = scripted_aws.context { ["ec2:authorize_security_group_egress"] = function ()
      return scripted_aws.refuse "InvalidPermission.Duplicate"
    end }
    local live = { id = "sg-1", vpc_id = "vpc-1", ingress = { itself "sg-1" }, egress = { all } }
    assert.is_true(task.run(security_group.update, ctx, res, FIELDS, live,
      security_group.diff(ctx, res, FIELDS, live)))
  end)
end)

describe("what others put into ours", function ()
  local FOUND = { { kind_name = "vpc", id = "vpc-1" }, { kind_name = "eks_cluster", id = "c" } }

  local function group(id, name, tag, value)
    return { GroupId = id, GroupName = name, Tags = tag and { { Key = tag, Value = value } } or {} }
  end

  it("stays: groups of another cluster, of another deployment, of a person", function ()
    local ctx = scripted_aws.context { ["ec2:describe_security_groups"] = {
      group("sg-1", "default"), group("sg-2", "by hand"),
      group("sg-3", "eks-cluster-sg-c-1", "kubernetes.io/cluster/c", "owned"),
      group("sg-4", "k8s-elb-x", "kubernetes.io/cluster/another", "owned"),
      group("sg-5", "k8s-lb", "elbv2.k8s.aws/cluster", "c"),
      group("sg-6", "second-efa", "rtl:deployment", "second"),
      group("sg-7", "toy-efa", "rtl:deployment", "toy") } }
    local ids = {}
    for i, one in ipairs(task.run(security_group.find_inside, ctx, FOUND)) do ids[i] = one.id end
    assert.same({ "sg-3", "sg-5" }, ids)
  end)

  it("keeps the cluster: its node groups are named, nothing is waited for", function ()
    local cluster = require "rtl.kinds.eks_cluster"
    local tags = { system = { ["rtl:deployment"] = "toy", ["rtl:resource"] = "node_group/system" },
      other = { ["rtl:deployment"] = "second" } }
    local ctx, fake = scripted_aws.context {
      ["eks:list_nodegroups"] = { "other", "system" },
      ["eks:describe_nodegroup"] = function (params)
        return { nodegroup = { nodegroupName = params.nodegroupName, clusterName = "c",
          status = "ACTIVE", tags = tags[params.nodegroupName] } }
      end }
    local list = task.run(node_group.find_inside, ctx, FOUND)
    assert.equal(1, #list)
    assert.equal("system", list[1].name)
    assert.equal("c", list[1].outputs.cluster)
    local gone, failure = task.run(cluster.delete, ctx, { id = "c", key = "eks_cluster/c",
      kind = cluster, kind_name = "eks_cluster" })
    assert.is_nil(gone)
    assert.equal("RTL-PLAN-016", failure.code)
    assert.matches("used by node group other, which", failure.message)
    for _, call in ipairs(fake.log) do assert.not_equal("eks:delete_cluster", call) end
  end)
end)

describe("deletes", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  local item = { key = "subnet/a", kind = subnet, kind_name = "subnet", name = "a", id = "s-1" }

  it("count what is gone as deleted", function ()
    local ctx = scripted_aws.context { ["ec2:delete_subnet"] = function ()
      return scripted_aws.refuse "InvalidSubnetID.NotFound"
    end }
    assert.is_true(task.run(subnet.delete, ctx, item))
  end)

  it("try again while something stands in it", function ()
    local tries = 0
    local ctx = scripted_aws.context { ["ec2:delete_subnet"] = function ()
      tries = tries + 1
      if tries < 3 then return scripted_aws.refuse "DependencyViolation" end
      return {}
    end, ["ec2:describe_network_interfaces"] = {} }
    assert.is_true(not not task.run(subnet.delete, ctx, item))
    assert.equal(3, tries)
  end)

  it("take away what the CNI left behind, never what is in use or AWS' own", function ()
    local enis = {
      { NetworkInterfaceId = "eni-1", Status = "available", Description = "aws-K8S-i-1" },
      { NetworkInterfaceId = "eni-2", Status = "in-use", Description = "aws-K8S-i-2" },
      { NetworkInterfaceId = "eni-3", Status = "available", Description = "Amazon EKS toy",
        RequesterManaged = true },
      { NetworkInterfaceId = "eni-4", Status = "available", Description = "mine" },
      { NetworkInterfaceId = "eni-5", Status = "available", Description = "",
        TagSet = { { Key = "node.k8s.amazonaws.com/instance_id", Value = "i-5" } } },
    }
    local deleted = {}
    local ctx = scripted_aws.context {
      ["ec2:delete_subnet"] = function ()
        if #deleted < 2 then return scripted_aws.refuse "DependencyViolation" end
        return {}
      end,
      ["ec2:describe_network_interfaces"] = function () return enis end,
      ["ec2:delete_network_interface"] = function (params)
        deleted[#deleted + 1] = params.NetworkInterfaceId
        return {}
      end,
    }
    assert.is_truthy(task.run(subnet.delete, ctx, item))
    assert.same({ "eni-1", "eni-5" }, deleted)
  end)

  it("end with the blockers' names", function ()
    local ctx = scripted_aws.context {
      ["ec2:delete_subnet"] = function () return scripted_aws.refuse "DependencyViolation" end,
      ["ec2:describe_network_interfaces"] = { { NetworkInterfaceId = "eni-1",
        Description = "Amazon EKS toy" } },
    }
    local gone, failure = task.run(subnet.delete, ctx, item)
    assert.is_nil(gone)
    assert.equal("RTL-PLAN-016", failure.code)
    assert.matches("eni%-1 %(Amazon EKS toy%)", failure.message)
    assert.is_true(err.is(failure))
  end)
end)
