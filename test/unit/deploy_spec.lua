local clock = require "rtl.clock"
local fs = require "rtl.fs"
local instances = require "rtl.kinds.instances"
local load_file = require "rtl.recipe.load"
local plan = require "rtl.plan"
local recipe = require "rtl.recipe.recipe"
local ref = require "rtl.ref"
local run_object = require "rtl.recipe.run"
local wire = require "rtl.wire"

local function never() error("resources() reached for the world", 0) end

describe("the deploy recipe", function ()
  local former_wire, former_clock

  before_each(function ()
    former_wire = wire.use { request = never, connect = never,
      describe = function () return { name = "none" } end }
  end)
  after_each(function ()
    wire.use(former_wire)
    if former_clock then clock.use(former_clock) end
    former_clock = nil
  end)

  local function zone(id)
    return { zone_id = id, zone_name = "zone-" .. id, region = "us-east-2", usable = true }
  end

  -- Declares every step, in `order` (step numbers), with facts as a preflight would leave them.
  local function declare(options, order, change)
    local r = recipe.open(assert(load_file.find("recipes/deploy.lua")))
    local values = assert(r.set:resolve { options = options })
    local run = run_object.new { recipe = r, values = values, options = {}, words = {},
      bus = { emit = function () end } }
    local instance = instances.of(values.gpu_type)
    run.facts.instance, run.facts.gpus, run.facts.efa = instance, instance.gpus, instance.efa
    run.facts.world, run.facts.plugins = instance.gpus * values.gpu_count, {}
    local a, b = zone "use2-az2", zone "use2-az1"
    run.facts.choice = { gpu = a, network = { a, b }, extra = false }
    run.region = "us-east-2"
    run.link = { aws = values.kubeconfig == "" and never or nil }
    if change then change(run) end
    run.graph = plan.graph.new()
    former_clock = clock.use { mono = never, utc = never }
    for _, number in ipairs(order or { 1, 2, 3, 4, 5, 6 }) do
      local step = r.steps[number]
      run.step = step
      if step.resources then step.resources(run) end
    end
    clock.use(former_clock)
    former_clock = nil
    return run.graph:order(), run
  end

  local function by_key(list)
    local map = {}
    for _, res in ipairs(list) do map[res.key] = res end
    return map
  end

  local function keys_of(list)
    local keys = {}
    for i, res in ipairs(list) do keys[i] = res.key end
    table.sort(keys)
    return keys
  end

  it("gives every node the hops to its metadata that are asked for", function ()
    for hops, options in pairs { [2] = {}, [3] = { imds_hop_limit = "3" } } do
      local count = 0
      for _, res in ipairs((declare(options))) do
        if res.key:find "^launch_template/" then
          assert.equal(hops, res.fields.hop_limit)
          count = count + 1
        end
      end
      assert.equal(2, count)
    end
  end)

  it("has the six steps", function ()
    local r = recipe.open(assert(load_file.find("recipes/deploy.lua")))
    local names = {}
    for i, step in ipairs(r.steps) do names[i] = step.name end
    assert.same({ "settings", "cluster", "device_plugins", "kuberay", "ray_cluster", "job" }, names)
  end)

  it("declares without asking anybody and without looking at a clock", function ()
    local all = by_key((declare {}))
    local group = all["node_group/gpu-workers-use2-az2"]
    assert.equal(2, group.fields.count)
    assert.equal("AL2023_x86_64_NVIDIA", group.fields.ami_type)
    assert.equal("10.42.16.0/20", all["subnet/public-use2-az2"].fields.cidr)
    assert.equal("10.42.144.0/20", all["subnet/private-use2-az2"].fields.cidr)
    assert.equal(1, all["gpu_instances/gpu"].fields.efa)
    assert.same({ ["nvidia.com/gpu"] = 4, ["vpc.amazonaws.com/efa"] = 1 },
      all["gpu_nodes/all"].fields.allocatable)
  end)

  it("gives GPU nodes the EFA group beside the cluster's, whatever the version says", function ()
    local groups = {}
    for i, group in ipairs(by_key((declare { kubernetes_version = "1.36" }))
      ["launch_template/gpu-workers-use2-az2"].fields.security_groups) do
      groups[i] = tostring(group)
    end
    assert.same({ "<eks_cluster/ray-train.security_group_id>", "<security_group/efa.id>" }, groups)
    assert.is_true(by_key((declare {}))["security_group/efa"].fields.itself)
  end)

  it("launches into a capacity block in its own market", function ()
    local all = by_key((declare({ reservation = "cr-0123" }, nil, function (run)
      run.facts.ranked = { reservation = { id = "cr-0123", block = true } }
    end)))
    local template = all["launch_template/gpu-workers-use2-az2"].fields
    assert.is_true(template.capacity_block)
    assert.equal("cr-0123", template.reservation_id)
    assert.equal("CAPACITY_BLOCK", all["node_group/gpu-workers-use2-az2"].fields.capacity_type)
    assert.is_nil(by_key((declare {}))["node_group/gpu-workers-use2-az2"].fields.capacity_type)
  end)

  it("gives a third zone a private subnet and leaves the cluster's zones alone", function ()
    local function refs(list)
      local texts = {}
      for i, one in ipairs(list) do texts[i] = tostring(one) end
      return table.concat(texts, " ")
    end
    local two = by_key((declare {}))
    local three = by_key((declare({}, nil, function (run)
      local choice = run.facts.choice
      choice.gpu, choice.extra = zone "use2-az3", true
    end)))
    for _, key in ipairs { "eks_cluster/ray-train", "node_group/system" } do
      assert.equal(refs(two[key].fields.subnet_ids), refs(three[key].fields.subnet_ids))
    end
    assert.is_nil(three["subnet/public-use2-az3"])
    assert.equal("<subnet/private-use2-az3.id>",
      refs(three["node_group/gpu-workers-use2-az3"].fields.subnet_ids))
    assert.matches("private%-use2%-az3", refs(three["route_table/private"].fields.subnets))
    assert.equal(refs { two["nat_gateway/ray-train"].fields.subnet_id },
      refs { three["nat_gateway/ray-train"].fields.subnet_id })
  end)

  it("has no setting that nothing reads", function ()
    local all = {}
    for _, name in ipairs { "recipes", "recipes/steps", "lua/rtl/recipe" } do
      for _, entry in ipairs(fs.list(name)) do
        local path = fs.join(name, entry)
        if path:match("%.lua$") and path ~= "recipes/settings.lua" then
          all[#all + 1] = assert(fs.read(path))
        end
      end
    end
    local text, unread = table.concat(all), {}
    for _, name in ipairs(recipe.open(assert(load_file.find("recipes/deploy.lua"))).set:names()) do
      local read = text:find("%." .. name .. "%f[^%w_]") or text:find('"' .. name .. '"', 1, true)
      if not read then unread[#unread + 1] = name end
    end
    assert.same({}, unread)
  end)

  it("gives the same graph whatever the order of the step files", function ()
    local straight = keys_of((declare {}))
    assert.same(straight, keys_of((declare({}, { 6, 5, 4, 3, 2, 1 }))))
    assert.same(straight, keys_of((declare({}, { 4, 2, 6, 1, 5, 3 }))))
  end)

  it("follows another type and number of nodes", function ()
    local all = by_key((declare { gpu_type = "p5.48xlarge", gpu_count = "3" }))
    local worker = all["ray_cluster/ray-train-cluster"].fields.manifest.spec.workerGroupSpecs[1]
    assert.equal(3, worker.replicas)
    assert.equal("8", worker.rayStartParams["num-gpus"])
    local limits = worker.template.spec.containers[1].resources.limits
    assert.equal("8", limits["nvidia.com/gpu"])
    assert.equal("32", limits["vpc.amazonaws.com/efa"])
    assert.equal(32, all["launch_template/gpu-workers-use2-az2"].fields.efa)
  end)

  it("makes workers Guaranteed in every container, and keeps GPUs from the head", function ()
    local all = by_key((declare {}))
    local spec = all["ray_cluster/ray-train-cluster"].fields.manifest.spec
    local pod = spec.workerGroupSpecs[1].template.spec
    for _, list in ipairs { pod.containers, pod.initContainers } do
      for _, container in ipairs(list) do
        assert.same(container.resources.requests, container.resources.limits)
        assert.is_truthy(container.resources.limits.cpu and container.resources.limits.memory)
      end
    end
    assert.equal("Memory", pod.volumes[1].emptyDir.medium)
    local head = spec.headGroupSpec.template.spec.containers[1]
    assert.same({ name = "NVIDIA_VISIBLE_DEVICES", value = "void" }, head.env[1])
    assert.equal("0", spec.headGroupSpec.rayStartParams["num-gpus"])
    local operator = all["helm_release/kuberay-operator"].fields.values
    assert.same({ { name = "ENABLE_INIT_CONTAINER_INJECTION", value = "false" } }, operator.env)
  end)

  it("adds a subnet for a zone that the network lacks", function ()
    local all = by_key((declare({}, nil, function (run)
      run.facts.choice.gpu, run.facts.choice.extra = zone "use2-az3", true
    end)))
    assert.is_truthy(all["subnet/private-use2-az3"])
    assert.is_truthy(all["node_group/gpu-workers-use2-az3"])
    assert.is_nil(all["node_group/gpu-workers-use2-az2"])
  end)

  it("makes nothing of AWS when a kubeconfig is given", function ()
    local list = declare { kubeconfig = "some.yaml" }
    local kinds = {}
    for _, res in ipairs(list) do kinds[res.kind_name] = true end
    assert.same({ helm_release = true, gpu_nodes = true, namespace = true, ray_cluster = true },
      kinds)
  end)

  it("leaves a plugin alone that is there already", function ()
    local all = by_key((declare({}, nil, function (run)
      run.facts.plugins.nvidia = "kube-system/nvidia-device-plugin-daemonset"
    end)))
    assert.is_nil(all["helm_release/nvidia-device-plugin"])
    assert.is_truthy(all["helm_release/aws-efa-k8s-device-plugin"])
  end)

  it("puts nodes into private subnets only, behind a NAT gateway in the GPUs' zone", function ()
    local list, run = declare {}
    local all, groups = by_key(list), 0
    for _, res in ipairs(list) do
      if res.kind_name == "node_group" then
        groups = groups + 1
        for _, key in ipairs(ref.targets(res.fields.subnet_ids)) do
          assert.is_nil(all[key].fields.public, key)
        end
        local needs = table.concat(run.graph:edges(res), " ")
        for _, name in ipairs { "vpc-cni", "kube-proxy", "coredns", "eks-pod-identity-agent" } do
          assert.matches("eks_addon/" .. name, needs, 1, true)
        end
        assert.matches("route_table/private", needs, 1, true)
      end
    end
    assert.equal(2, groups)
    assert.same({ "subnet/public-use2-az2" },
      ref.targets(all["nat_gateway/ray-train"].fields.subnet_id))
    assert.same({ "route_table/private" }, ref.targets(all["vpc_endpoint/s3"].fields.route_tables))
    assert.equal("s3", all["vpc_endpoint/s3"].fields.service)
    assert.same({ "subnet/private-use2-az1", "subnet/private-use2-az2" },
      ref.targets(all["route_table/private"].fields.subnets))
    assert.is_true(all["security_group/efa"].fields.itself)
    assert.is_nil(all["placement_group/gpu"])
  end)

  it("ties a bucket for checkpoints to the Ray pods", function ()
    local all = by_key((declare { bucket = "team-checkpoints" }))
    assert.is_truthy(all["bucket/team-checkpoints"])
    assert.is_nil(all["bucket/team-checkpoints"].given)
    local role = all["iam_role/pods"].fields
    assert.equal("pods.eks.amazonaws.com", role.service)
    local list, objects = table.unpack(role.inline.checkpoints.Statement)
    assert.same({ "s3:ListBucket", "s3:GetBucketLocation" }, list.Action)
    assert.equal("<bucket/team-checkpoints.arn>", tostring(list.Resource))
    assert.same({ "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload" },
      objects.Action)
    assert.same({ "bucket/team-checkpoints" }, ref.targets(objects.Resource))
    local tie = all["pod_identity_association/ray"].fields
    assert.same({ "ray-train", "ray-train" }, { tie.namespace, tie.service_account })
    assert.equal("<iam_role/pods.arn>", tostring(tie.role_arn))
    assert.same({ "ray-train", "ray-train" }, {
      all["kubernetes_object/ray-service-account"].fields.manifest.metadata.name,
      all["kubernetes_object/ray-service-account"].fields.manifest.metadata.namespace })
    local spec = all["ray_cluster/ray-train-cluster"].fields.manifest.spec
    assert.equal("ray-train", spec.headGroupSpec.template.spec.serviceAccountName)
    assert.equal("ray-train", spec.workerGroupSpecs[1].template.spec.serviceAccountName)
    all = by_key((declare { use_bucket = "mine" }))
    assert.equal("mine", all["bucket/mine"].given)
  end)

  it("takes the EFA plugin's image from the region's own registry", function ()
    local function repository(region)
      local all = by_key((declare({}, nil, function (run) run.region = region end)))
      return all["helm_release/aws-efa-k8s-device-plugin"].fields.values.image.repository
    end
    assert.equal("602401143452.dkr.ecr.us-east-2.amazonaws.com/eks/aws-efa-k8s-device-plugin",
      repository "us-east-2")
    assert.equal("066635153087.dkr.ecr.il-central-1.amazonaws.com/eks/aws-efa-k8s-device-plugin",
      repository "il-central-1")
    assert.matches("^961992271922%.dkr%.ecr%.cn%-northwest%-1%.amazonaws%.com%.cn/",
      repository "cn-northwest-1")
  end)

  it("makes no node, role, template or group where nodes are given", function ()
    local all = by_key((declare { vpc_id = "vpc-1a", private_subnets = "subnet-a,subnet-b",
      use_cluster = "standing", use_system_group = "sys", use_gpu_group = "gpus" }))
    assert.equal("sys", all["node_group/system"].given)
    local gpu = all["node_group/gpu-workers-use2-az2"]
    assert.equal("gpus", gpu.given)
    assert.equal(2, gpu.fields.count)
    assert.same({ "subnet-a" }, gpu.fields.subnet_ids)
    for key in pairs(all) do
      for _, kind in ipairs { "launch_template", "iam_role", "security_group" } do
        assert.is_nil(key:find("^" .. kind .. "/"), key)
      end
    end
    assert.equal("NONE", all["eks_addon/vpc-cni"].fields.conflicts)
    assert.is_nil(by_key((declare {}))["eks_addon/vpc-cni"].fields.conflicts)
  end)

  it("takes a given placement group, unless the reservation is in another", function ()
    local function reserved(group)
      return function (run)
        run.facts.ranked = { reservation = { id = "cr-0123", placement_group = group } }
      end
    end
    local all = by_key((declare { use_placement_group = "tight", efa_security_group = "sg-1a" }))
    assert.equal("tight", all["placement_group/gpu"].given)
    assert.equal("sg-1a", all["security_group/efa"].given)
    all = by_key((declare({ use_placement_group = "tight" }, nil, reserved "tight")))
    assert.equal("tight", all["placement_group/gpu"].given)
    for _, group in ipairs { "loose", false } do
      local ok, failure = pcall(declare, { use_placement_group = "tight", reservation = "cr-0123" },
        nil, reserved(group or nil))
      clock.use(former_clock)
      assert.is_false(ok)
      assert.equal("RTL-STEP-014", failure.code)
      assert.matches("reservation cr-0123 is in " .. (group or "none"), failure.message, 1, true)
    end
  end)

  it("names admins whose ARNs end alike by their paths", function ()
    local all = by_key((declare { admins = "arn:aws:iam::1:role/a/ops,arn:aws:iam::1:role/b/ops,"
      .. "arn:aws:iam::1:user/ada,arn:aws:iam::1:user/ada" }))
    for name, arn in pairs { ["role/a/ops"] = "arn:aws:iam::1:role/a/ops",
      ["role/b/ops"] = "arn:aws:iam::1:role/b/ops", ada = "arn:aws:iam::1:user/ada" } do
      assert.equal(arn, all["access_entry/" .. name].fields.principal_arn)
    end
  end)

  it("uses what is given", function ()
    local all = by_key((declare { vpc_id = "vpc-1a", private_subnets = "subnet-a,subnet-b",
      use_cluster = "standing", cluster_role = "arn:aws:iam::1:role/c",
      node_role = "arn:aws:iam::1:role/n" }))
    assert.equal("vpc-1a", all["vpc/ray-train"].given)
    assert.equal("standing", all["eks_cluster/ray-train"].given)
    assert.same({ "subnet-a" }, all["node_group/gpu-workers-use2-az2"].fields.subnet_ids)
    assert.is_nil(all["nat_gateway/ray-train"])
  end)
end)
