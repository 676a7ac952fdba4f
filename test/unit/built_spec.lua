-- What stands after the second step of a deploy with nothing set: the default deployment, as the
-- account shows it to anybody who looks.

local aws = require "rtl.aws"
local fs = require "rtl.fs"
local played = require "test.support.played"
local task = require "rtl.task"

describe("the default deployment", function ()
  local state, world, leave, region

  setup(function ()
    state = fs.temp_dir "rtl-built-"
    world, leave = played.enter("calm", state)
    assert.equal("done", (played.run("recipes/deploy.lua", false, { yes = true, to = "cluster" })))
    region = world.aws.regions["us-east-2"]
  end)
  teardown(function ()
    leave()
    fs.remove_tree(state)
  end)

  local function ask(service, operation, parameters)
    return task.run(function ()
      return assert(assert(aws.session { region = "us-east-2" }):client(service)
        :call(operation, parameters))
    end)
  end

  local function ours(shelf)
    local list = {}
    for _, item in ipairs(region[shelf]:all()) do
      if not item.native then list[#list + 1] = item end
    end
    return list
  end

  local function subnet(id) return region.subnets:get(id) end

  it("is one VPC with DNS, two zones, and a NAT gateway in the GPUs' one", function ()
    local vpc = ours("vpcs")
    assert.equal(1, #vpc)
    for _, name in ipairs { "enableDnsSupport", "enableDnsHostnames" } do
      local answer = ask("ec2", "describe_vpc_attribute", { VpcId = vpc[1].VpcId,
        Attribute = name })
      assert.is_true(answer[name:gsub("^e", "E")].Value, name)
    end
    local seen = {}
    for _, one in ipairs(ours "subnets") do
      local kind = one.MapPublicIpOnLaunch and "public" or "private"
      seen[#seen + 1] = kind .. " " .. one.AvailabilityZoneId
    end
    table.sort(seen)
    assert.same({ "private use2-az2", "private use2-az3", "public use2-az2", "public use2-az3" },
      seen)
    local nat = ours "nat_gateways"
    assert.equal(1, #nat)
    assert.same({ "use2-az2", true }, { subnet(nat[1].SubnetId).AvailabilityZoneId,
      subnet(nat[1].SubnetId).MapPublicIpOnLaunch })
  end)

  it("reaches S3 by an endpoint on the table of the private subnets", function ()
    local endpoint = ours("vpc_endpoints")[1]
    assert.equal("com.amazonaws.us-east-2.s3", endpoint.ServiceName)
    assert.equal("Gateway", endpoint.VpcEndpointType)
    local through = region.route_tables:get(endpoint.RouteTableIds[1])
    assert.equal(2, #through.Associations)
    for _, one in ipairs(through.Associations) do
      assert.is_false(subnet(one.SubnetId).MapPublicIpOnLaunch)
    end
  end)

  it("has a cluster with access by API, standard support and a private endpoint", function ()
    local cluster = ask("eks", "describe_cluster", { name = "ray-train" }).cluster
    assert.equal("1.36", cluster.version)
    assert.equal("API", cluster.accessConfig.authenticationMode)
    assert.equal("STANDARD", cluster.upgradePolicy.supportType)
    local net = cluster.resourcesVpcConfig
    assert.same({ true, true }, { net.endpointPrivateAccess, net.endpointPublicAccess })
    assert.same({ "0.0.0.0/0" }, { table.unpack(net.publicAccessCidrs) })
    for _, id in ipairs(net.subnetIds) do assert.is_false(subnet(id).MapPublicIpOnLaunch) end
    local inner = region.clusters:get "ray-train"
    assert.is_true(inner.accessConfig.bootstrapClusterCreatorAdminPermissions)
    assert.is_false(inner.bootstrap_addons)
    local addons = ask("eks", "list_addons", { clusterName = "ray-train" }).addons
    table.sort(addons)
    assert.same({ "coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni" },
      { table.unpack(addons) })
  end)

  local function group(name)
    return ask("eks", "describe_nodegroup", { clusterName = "ray-train",
      nodegroupName = name }).nodegroup
  end

  local function disks(of_type)
    local sizes = {}
    for _, one in ipairs(region.instances:all()) do
      if one.InstanceType == of_type then
        sizes[#sizes + 1] = region.volumes:get(one.BlockDeviceMappings[1].Ebs.VolumeId).Size
      end
    end
    return sizes
  end

  it("has a system group of one m7i.xlarge that anything may run on", function ()
    local system = group "system"
    assert.equal("AL2023_x86_64_STANDARD", system.amiType)
    assert.same({ role = "system" }, system.labels)
    assert.same({}, { table.unpack(system.taints or {}) })
    assert.same({ minSize = 1, maxSize = 1, desiredSize = 1 }, system.scalingConfig)
    assert.same({ 100 }, disks "m7i.xlarge")
  end)

  it("has a GPU group of two that keeps its size, its nodes and its place", function ()
    local gpu = group "gpu-workers-use2-az2"
    assert.equal("AL2023_x86_64_NVIDIA", gpu.amiType)
    assert.same({ role = "gpu-worker", ["nvidia.com/gpu.present"] = "true" }, gpu.labels)
    assert.same({ "nvidia.com/gpu", "NO_SCHEDULE" }, { gpu.taints[1].key, gpu.taints[1].effect })
    assert.is_nil(gpu.taints[2])
    assert.same({ minSize = 2, maxSize = 2, desiredSize = 2 }, gpu.scalingConfig)
    assert.equal("MINIMAL", gpu.updateConfig.updateStrategy)
    assert.is_false(gpu.nodeRepairConfig.enabled)
    assert.equal(1, #gpu.subnets)
    assert.is_false(subnet(gpu.subnets[1]).MapPublicIpOnLaunch)
    assert.same({ 200, 200 }, disks "g6.12xlarge")
    assert.equal(0, #region.placement_groups:all())
  end)

  it("has GPU instances with one EFA interface, in the cluster's group and EFA's", function ()
    local efa = region.security_groups:first(function (one)
      return one.GroupName == "ray-train-efa"
    end)
    local count = 0
    for _, one in ipairs(region.instances:all()) do
      if one.InstanceType == "g6.12xlarge" then
        count = count + 1
        assert.equal("use2-az2", one.Placement.AvailabilityZoneId)
        assert.same({ HttpTokens = "required", HttpPutResponseHopLimit = 2 }, one.MetadataOptions)
        local interface = one.NetworkInterfaces[1]
        assert.is_nil(one.NetworkInterfaces[2])
        assert.same({ "efa", 0, 0 }, { interface.InterfaceType, interface.Attachment.DeviceIndex,
          interface.Attachment.NetworkCardIndex })
        local names = {}
        for i, member in ipairs(interface.Groups) do names[i] = member.GroupId end
        table.sort(names)
        local wanted = { efa.GroupId, region.clusters:get("ray-train").resourcesVpcConfig
          .clusterSecurityGroupId }
        table.sort(wanted)
        assert.same(wanted, names)
      end
    end
    assert.equal(2, count)
  end)

  it("lets all traffic of EFA's group come from itself and go to itself", function ()
    local groups = ask("ec2", "describe_security_groups", { Filters = {
      { Name = "group-name", Values = { "ray-train-efa" } } } }).SecurityGroups
    for _, side in ipairs { "IpPermissions", "IpPermissionsEgress" } do
      local found = 0
      for _, rule in ipairs(groups[1][side]) do
        local pair = rule.UserIdGroupPairs and rule.UserIdGroupPairs[1]
        if rule.IpProtocol == "-1" and pair and pair.GroupId == groups[1].GroupId then
          found = found + 1
        end
      end
      assert.equal(1, found, side)
    end
  end)
end)

describe("a further admin", function ()
  local OPS = "arn:aws:iam::000000009012:role/team/ops"
  local POLICY = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"

  it("has access for as long as the settings list it", function ()
    local world, _ <close> = played.fresh "calm"
    assert.equal("done", (played.run("recipes/deploy.lua", false, { yes = true }, {
      admins = OPS })))
    local entries = world.aws.regions["us-east-2"].clusters:get("ray-train").entries
    assert.truthy(entries:get(OPS).policies:get(POLICY))
    assert.equal("done", (played.run("recipes/deploy.lua", false, { yes = true })))
    assert.is_nil(entries:get(OPS))
    assert.is_true(#entries:all() > 0) -- the creator's, and the nodes'
  end)
end)
