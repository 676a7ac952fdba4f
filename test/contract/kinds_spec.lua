local array = require "rtl.array"
local err = require "rtl.err"
local fs = require "rtl.fs"
local jumps = require "test.support.jumps"
local keys = require "rtl.keys"
local kinds = require "rtl.kinds"
local moto = require "test.support.moto"
local plan = require "rtl.plan"
local task = require "rtl.task"

local K = {}
for _, kind in ipairs(kinds) do K[kind.name] = kind end

local DEPLOYMENT = "ray-train"

-- The AWS half of the default deployment, in the zones of us-east-2.
local function declare(change)
  change = change or {}
  local g = plan.graph.new()
  local function add(res) return g:declare(res) end
  local vpc = add(K.vpc "main" { cidr = "10.42.0.0/16" })
  local igw = add(K.internet_gateway "main" { vpc_id = vpc.id })
  local function subnet(name, zone_id, cidr, public)
    return add(K.subnet(name) { vpc_id = vpc.id, zone_id = zone_id, cidr = cidr, public = public })
  end
  local public_a = subnet("public-use2-az1", "use2-az1", "10.42.0.0/20", true)
  local public_b = subnet("public-use2-az2", "use2-az2", "10.42.16.0/20", true)
  local private_a = subnet("private-use2-az1", "use2-az1", "10.42.64.0/18", false)
  local private_b = subnet("private-use2-az2", "use2-az2", "10.42.128.0/18", false)
  local ip = add(K.elastic_ip "nat" {})
  local nat = add(K.nat_gateway "main" { subnet_id = public_a.id, allocation_id = ip.id,
    after = igw })
  add(K.route_table "public" { vpc_id = vpc.id, subnets = { public_a.id, public_b.id },
    routes = { { to = "0.0.0.0/0", gateway = igw.id } } })
  local private = add(K.route_table "private" { vpc_id = vpc.id,
    subnets = { private_a.id, private_b.id },
    routes = { { to = "0.0.0.0/0", nat_gateway = nat.id } } })
  add(K.vpc_endpoint "s3" { vpc_id = vpc.id, service = "s3", route_tables = { private.id } })
  local efa = add(K.security_group "efa" { vpc_id = vpc.id, itself = true,
    description = "EFA between the GPU nodes",
    ingress = change.itself_too and { { cidr = "10.42.0.0/16", protocol = "tcp", from = 22,
      to = 22 } } or nil })
  local control = add(K.iam_role "cluster" { service = "eks.amazonaws.com",
    policies = { "AmazonEKSClusterPolicy" } })
  local node = add(K.iam_role "node" { service = "ec2.amazonaws.com", policies = {
    "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy" },
    inline = change.inline })
  local cluster = add(K.eks_cluster(DEPLOYMENT) { version = "1.36", role_arn = control.arn,
    subnet_ids = { public_a.id, public_b.id, private_a.id, private_b.id } })
  local addons = {}
  for _, name in ipairs { "vpc-cni", "kube-proxy", "coredns", "eks-pod-identity-agent" } do
    addons[#addons + 1] = add(K.eks_addon(name) { cluster = cluster.cluster_name })
  end
  add(K.access_entry "ops" { cluster = cluster.cluster_name,
    principal_arn = "arn:aws:iam::123456789012:role/team/ops",
    policy = "AmazonEKSClusterAdminPolicy" })
  local system_template = add(K.launch_template "system" { instance_type = "m7i.xlarge",
    disk_gib = 100 })
  local gpu_template = add(K.launch_template "gpu-use2-az1" { instance_type = "g6.12xlarge",
    disk_gib = 200, security_groups = { cluster.security_group_id, efa.id } })
  local needs = table.move(addons, 1, #addons, 3, { private, nat })
  add(K.node_group "system" { cluster = cluster.cluster_name, role_arn = node.arn,
    subnet_ids = { private_a.id }, instance_type = "m7i.xlarge", count = 1,
    ami_type = "AL2023_x86_64_STANDARD", labels = { role = "system" },
    launch_template_id = system_template.id, launch_template_version = system_template.version,
    after = needs })
  local gpu = add(K.node_group "gpu-use2-az1" { cluster = cluster.cluster_name, role_arn = node.arn,
    subnet_ids = { private_a.id }, instance_type = "g6.12xlarge", count = 2,
    ami_type = "AL2023_x86_64_NVIDIA", zone_id = "use2-az1",
    labels = { role = "gpu-worker", ["nvidia.com/gpu.present"] = "true" },
    taints = { { key = "nvidia.com/gpu", value = "true", effect = "NO_SCHEDULE" } },
    launch_template_id = gpu_template.id, launch_template_version = gpu_template.version,
    after = needs })
  add(require "rtl.kinds.gpu_instances" "gpu" { cluster = cluster.cluster_name,
    group = gpu.group_name, count = 2, instance_type = "g6.12xlarge", vpc_id = vpc.id,
    subnet_id = private_a.id, security_groups = { efa.id } })
  add(require "rtl.kinds.addons_active" "all" { cluster = cluster.cluster_name,
    names = { "vpc-cni", "coredns" }, after = gpu })
  local pods = add(K.iam_role "pods" { service = "pods.eks.amazonaws.com", inline = {
    checkpoints = { Version = "2012-10-17", Statement = array { { Effect = "Allow",
      Action = array { "s3:GetObject" }, Resource = "arn:aws:s3:::ckpt/*" } } } } })
  add(K.pod_identity_association "ray" { cluster = cluster.cluster_name, namespace = "ray-train",
    service_account = "ray", role_arn = pods.arn })
  add(K.placement_group "gpu" {})
  local lease = add(K.schedule_group "lease" {})
  local ender = add(K.iam_role "lease" { service = "scheduler.amazonaws.com",
    conditions = { StringEquals = { ["aws:SourceAccount"] = "123456789012" } } })
  local function ended(name, fields)
    fields.group, fields.role_arn, fields.at = lease.group_name, ender.arn, change.at or 1900000000
    fields.asked = change.asked or "down-after 4h"
    return add(K.schedule(name) (fields))
  end
  ended("cluster", { action = "eks:deleteCluster", input = { Name = DEPLOYMENT }, delay = 600 })
  local nat_end = ended("nat", { action = "ec2:deleteNatGateway", delay = 600 })
  add(require "rtl.kinds.schedule_target" "nat" { group = nat_end.group,
    schedule = nat_end.schedule_name, input = { NatGatewayId = nat.id } })
  return g
end

describe("the AWS kinds against moto behind the judge", function ()
  local server, session, dir, unjump

  setup(function ()
    unjump = jumps.use()
    server = moto.start()
    session = server:session { region = "us-east-2" }
    dir = fs.temp_dir("rtl-kinds-")
  end)
  teardown(function ()
    server:stop()
    fs.remove_tree(dir)
    unjump()
  end)

  local function context(ledger, run)
    return plan.context.new { deployment = DEPLOYMENT, region = "us-east-2",
      account = "123456789012", partition = "aws", run_id = run, ledger = ledger,
      tags = { team = "ml" },
      aws = function (service, options) return session:client(service, options) end,
      k8s = function ()
        return nil, err.new { code = "RTL-K8S-001", message = "no cluster yet", absent = true }
      end }
  end

  local function with(run, f)
    return task.run(function ()
      local ledger <close> = assert(plan.ledger.open(dir, run))
      return f(context(ledger, run))
    end)
  end

  local function read(change, run)
    return with(run or "run-2", function (ctx)
      return plan.read(declare(change), ctx, { kinds = kinds })
    end)
  end

  local function not_none(p)
    local list = {}
    for _, row in ipairs(p.changes) do
      if row.action ~= "none" then
        list[#list + 1] = ("%s %s: %s"):format(row.action, row.resource.key,
          table.concat(row.reasons, "; "))
      end
    end
    return list
  end

  it("are made from nothing", function ()
    local result = with("run-1", function (ctx)
      local p = plan.read(declare(), ctx, { kinds = kinds })
      assert.same({}, p.problems)
      assert.equal(#p.changes, p.counts.create + p.counts.check)
      return assert(plan.apply(p, ctx))
    end)
    assert.same({}, result.blocked)
  end)

  -- What carries a tag of the settings, the one that a person looks for, and what ties a thing to
  -- its deployment.
  it("carry the tags of the deployment, each kind of them", function ()
    local ec2, eks, iam = session:client "ec2", session:client "eks", session:client "iam"
    local tagged = {}
    for _, tag in ipairs(assert(ec2:all("describe_tags", { Filters = {
      { Name = "key", Values = { "rtl:deployment", "team", "Name" } } } }))) do
      local id = tag.ResourceType .. " " .. tag.ResourceId
      tagged[id] = tagged[id] or { type = tag.ResourceType }
      tagged[id][tag.Key] = tag.Value
    end
    local kinds_seen = {}
    local function check(what, tags)
      local id = next(tags) and what or what .. " without tags"
      assert.equal(DEPLOYMENT, tags["rtl:deployment"], id)
      assert.equal("ml", tags.team, id)
      kinds_seen[what:match "^%S+"] = true
    end
    for id, tags in pairs(tagged) do
      assert.is_string(tags.Name, id)
      check(id, tags)
    end
    local function listed(what, list)
      local tags = {}
      for _, tag in ipairs(list) do tags[tag.Key] = tag.Value end
      check(what, tags)
    end
    for _, group in ipairs(assert(ec2:describe_placement_groups {}).PlacementGroups) do
      listed("placement-group", group.Tags)
    end
    for _, role in ipairs(assert(iam:all("list_roles", {}))) do
      if role.Path:find("^/rtl/") then
        listed("role", assert(iam:all("list_role_tags", { RoleName = role.RoleName })))
      end
    end
    local name = { clusterName = DEPLOYMENT }
    check("cluster", assert(eks:describe_cluster { name = DEPLOYMENT }).cluster.tags)
    for _, group in ipairs(assert(eks:all("list_nodegroups", name))) do
      check("nodegroup", assert(eks:describe_nodegroup { clusterName = DEPLOYMENT,
        nodegroupName = group }).nodegroup.tags)
    end
    for _, addon in ipairs(assert(eks:all("list_addons", name))) do
      check("addon", assert(eks:describe_addon { clusterName = DEPLOYMENT,
        addonName = addon }).addon.tags)
    end
    -- moto's words for the kinds of EC2
    assert.same({ "addon", "cluster", "internet-gateway", "launch-template", "nat-gateway",
      "nodegroup", "placement-group", "role", "route-table", "security-group", "subnet", "vpc",
      "vpc-elastic-ip", "vpc-endpoint" }, keys.sorted(kinds_seen))
  end)

  it("then have nothing to do", function ()
    local p = read()
    assert.same({}, p.problems)
    assert.same({}, not_none(p))
  end)

  it("are found without a ledger", function ()
    local p = task.run(function ()
      return plan.read(declare(), context(nil, "run-3"), { kinds = kinds })
    end)
    assert.same({}, not_none(p))
  end)

  it("change what changed, and only that", function ()
    local change = { itself_too = true, inline = { extra = { Version = "2012-10-17",
      Statement = array { { Effect = "Allow", Action = "s3:ListAllMyBuckets",
        Resource = "*" } } } } }
    local p = read(change)
    assert.equal("change", p:change("security_group/efa").action)
    assert.equal("change", p:change("iam_role/node").action)
    assert.equal(#p.changes - 2, p.counts.none)
    with("run-4", function (ctx)
      return assert(plan.apply(plan.read(declare(change), ctx, { kinds = kinds }), ctx))
    end)
    assert.same({}, not_none(read(change)))
  end)

  it("put the id of what was made into its schedule, and keep it when the time moves", function ()
    local function schedule()
      local answer = assert(session:client("scheduler"):get_schedule { Name = "nat",
        GroupName = DEPLOYMENT .. "-lease" })
      return answer.Target.Input.NatGatewayId, answer.StartDate
    end
    local id, starts = schedule()
    assert.matches("^nat%-%x+$", id)
    assert.is_true(tonumber(id:match("%x+$"), 16) ~= 0)
    assert.equal(1900000600, starts)
    local change = { at = 1900003600, asked = "down-after 5h" }
    local p = read(change)
    assert.equal("change", p:change("schedule/nat").action)
    assert.equal("none", p:change("schedule_target/nat").action)
    with("run-6", function (ctx)
      return assert(plan.apply(plan.read(declare(change), ctx, { kinds = kinds }), ctx))
    end)
    assert.same({ id, 1900004200 }, { schedule() })
    assert.same({}, not_none(read(change)))
  end)

  it("are removed without a trace, and without a ledger too", function ()
    local outcome, after = task.run(function ()
      local ctx = context(nil, "run-5")
      local done = assert(plan.teardown.run(plan.teardown.plan(ctx, kinds), ctx))
      return done, plan.teardown.plan(ctx, kinds)
    end)
    local left = {}
    for _, row in ipairs(outcome.left) do left[#left + 1] = row.key .. ": " .. row.reason end
    assert.same({}, left)
    assert.same({}, after.items)
  end)

  it("sent no wrong request and no create twice", function ()
    local report = server:report()
    assert.same({}, report.problems)
    assert.same({}, report.duplicated_creates or {})
    assert.is_true(#keys.sorted(report.operations) > 40)
  end)
end)
