-- What others leave in a deployment's network, and what they have beside it: a teardown removes the
-- first, never touches the second, and says what it could not remove with id and price.
local array = require "rtl.array"
local aws = require "rtl.aws"
local events = require "rtl.recipe.events"
local fs = require "rtl.fs"
local played = require "test.support.played"
local task = require "rtl.task"

local DEPLOY, TEARDOWN = "recipes/deploy.lua", "recipes/teardown.lua"
local REGION, NAME = "us-east-2", "ray-train"

local function tags(list)
  local out = array {}
  for key, value in pairs(list) do out[#out + 1] = { Key = key, Value = value } end
  return out
end

-- As EC2 refuses what a policy forbids.
local REFUSAL = { status = 403, headers = { ["content-type"] = "text/xml" }, header_list = {},
  body = "<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>You are not "
    .. "authorized to perform this operation.</Message></Error></Errors>"
    .. "<RequestID>1</RequestID></Response>" }

local OWNED = { ["kubernetes.io/cluster/" .. NAME] = "owned" }

describe("a teardown among strays", function ()
  local state, world, leave, calls, region, appeared, refused

  -- Each mutating call of AWS that goes out, with the body in which ids stand.
  local function watch(impl)
    local request = impl.request
    impl.request = function (wanted)
      if type(wanted.body) == "string" then calls[#calls + 1] = wanted.body end
      for _, pattern in ipairs(refused or {}) do
        if type(wanted.body) == "string" and wanted.body:find(pattern) then return REFUSAL end
      end
      return request(wanted)
    end
    return impl
  end

  before_each(function ()
    state, calls = fs.temp_dir "rtl-strays-", {}
    world, leave = played.enter("calm", state, watch)
    assert.equal("done", (played.run(DEPLOY, false, { yes = true, to = "cluster" })))
    region = world.aws.regions[REGION]
  end)
  after_each(function ()
    leave()
    fs.remove_tree(state)
  end)

  local function ec2(operation, parameters)
    return task.run(function ()
      local session = assert(aws.session { region = REGION })
      return assert(session:client("ec2"):call(operation, parameters))
    end)
  end

  local function ours(kind)
    return assert(region[kind]:first(function (item) return not item.native end))
  end

  local function interface(id, subnet, fields)
    local item = { NetworkInterfaceId = id, SubnetId = subnet.SubnetId, VpcId = subnet.VpcId,
      AvailabilityZone = subnet.AvailabilityZone, Status = "available", TagSet = array {},
      InterfaceType = "interface", PrivateIpAddress = "10.42.128.99", RequesterManaged = false,
      Groups = array {}, Description = "aws-K8S-i-0123456789abcdef0" }
    for key, value in pairs(fields or {}) do item[key] = value end
    return region.interfaces:add(id, item)
  end

  local function group(vpc, name, list)
    return ec2("create_security_group", { GroupName = name, Description = name, VpcId = vpc,
      TagSpecifications = { { ResourceType = "security-group", Tags = tags(list) } } }).GroupId
  end

  local function let_in(id, from)
    ec2("authorize_security_group_ingress", { GroupId = id, IpPermissions = {
      { IpProtocol = "-1", UserIdGroupPairs = { { GroupId = from } } } } })
  end

  local function volume(id, fields)
    local item = { VolumeId = id, Size = 730, VolumeType = "gp3", State = "available",
      Tags = tags(OWNED), Attachments = array {} }
    for key, value in pairs(fields or {}) do item[key] = value end
    return region.volumes:add(id, item)
  end

  -- EKS writes its last logs after the cluster is gone, and so makes the group again.
  local function late_logs()
    local name = ("/aws/eks/%s/cluster"):format(NAME)
    local remove = region.clusters.remove
    region.clusters.remove = function (shelf, id)
      remove(shelf, id)
      world:after(0.001, function ()
        region.log_groups:add(name, { logGroupName = name, storedBytes = 2 ^ 30 })
        appeared = true
      end)
    end
  end

  local function teardown(settings)
    local exit, outcome, last = played.run(TEARDOWN, false, { yes = true }, settings)
    assert(exit, tostring(outcome))
    return exit, last.teardown
  end

  it("removes an interface that the CNI left", function ()
    interface("eni-0aaaaaaaaaaaaaaaa", ours "subnets")
    assert.equal("done", (teardown()))
    assert.same({}, played.list(world))
  end)

  it("removes two groups of the cluster that name each other", function ()
    local vpc = ours("vpcs").VpcId
    local one, two = group(vpc, "k8s-elb-one", OWNED), group(vpc, "k8s-elb-two", OWNED)
    let_in(one, two)
    let_in(two, one)
    assert.equal("done", (teardown()))
    assert.same({}, played.list(world))
  end)

  it("removes the NAT gateway and its address without a ledger", function ()
    assert(fs.remove_tree(fs.join(state, "aws")))
    assert.equal("done", (teardown()))
    assert.same({}, played.list(world))
  end)

  it("keeps a claim's volume and says its price; --purge removes it", function ()
    volume "vol-0aaaaaaaaaaaaaaaa"
    local exit, outcome = teardown()
    assert.equal("done", exit)
    assert.equal("vol-0aaaaaaaaaaaaaaaa", outcome.kept[1].id)
    assert.near(0.08, outcome.kept[1].hourly, 1e-9)
    assert.equal(1, #outcome.kept)
  end)

  it("removes a volume and a log group that comes late, if all data is to go", function ()
    volume "vol-0aaaaaaaaaaaaaaaa"
    late_logs()
    assert.equal("done", (teardown { purge = "true" }))
    assert.is_true(appeared)
    assert.same({}, played.list(world))
  end)

  it("says id and price of what can't be removed, and ends with 6", function ()
    volume("vol-0bbbbbbbbbbbbbbbb", { State = "in-use",
      Attachments = array { { InstanceId = "i-0fedcba9876543210", State = "attached" } } })
    local exit, outcome = teardown { purge = "true" }
    assert.equal("left", exit)
    assert.equal(1, #outcome.left)
    assert.equal("vol-0bbbbbbbbbbbbbbbb", outcome.left[1].id)
    assert.near(0.08, outcome.left[1].hourly, 1e-9)
    assert.matches("i%-0fedcba9876543210", outcome.left[1].reason)
  end)

  it("names what stands in a network that can't go, and leaves the network", function ()
    local subnet = ours "subnets"
    interface("eni-0cccccccccccccccc", subnet, { Status = "in-use", Description = "a database" })
    local exit, outcome = teardown()
    assert.equal("left", exit)
    local kinds, reasons = {}, {}
    for _, row in ipairs(outcome.left) do
      kinds[row.kind], reasons[#reasons + 1] = row.id, row.reason
    end
    assert.equal(subnet.SubnetId, kinds.subnet)
    assert.equal(subnet.VpcId, kinds.vpc)
    assert.matches("eni%-0cccccccccccccccc %(a database%)", table.concat(reasons, "\n"))
    region.interfaces:remove "eni-0cccccccccccccccc"
    assert.equal("done", (teardown()))
    assert.same({}, played.list(world))
  end)

  it("removes a network without a ledger, of which no cluster was made", function ()
    local vpc = ec2("create_vpc", { CidrBlock = "10.42.0.0/16", TagSpecifications = {
      { ResourceType = "vpc", Tags = tags { ["rtl:deployment"] = "half" } } } }).Vpc.VpcId
    local exit, outcome = teardown { name = "half" }
    assert.equal("done", exit)
    assert.equal(1, outcome.removed)
    assert.is_nil(region.vpcs:get(vpc))
  end)

  it("that looks into another region says where the deployment stands", function ()
    local notes, bus = {}, events.bus()
    bus:add(function (event) notes[#notes + 1] = event.type == "note" and event.text or nil end)
    assert.equal("done", (played.run(TEARDOWN, false, { yes = true }, { region = "us-west-2" },
      { bus = bus })))
    assert.same({ "ray-train stands in us-east-2, too, by the ledger here: --region us-east-2" },
      notes)
    assert.is_not_nil(ours "vpcs")
    assert.equal("done", (teardown { region = "us-west-2,us-east-2" }))
    assert.same({}, played.list(world))
  end)

  it("says id and price of a gateway and its address that stay, and of a group left", function ()
    refused = { "^Action=DeleteNatGateway&", "^Action=DeleteSecurityGroup&" }
    local exit, outcome = teardown()
    assert.equal("left", exit)
    local rows = {}
    for _, row in ipairs(outcome.left) do rows[row.kind] = row end
    for kind, id in pairs { nat_gateway = ours("nat_gateways").NatGatewayId,
      elastic_ip = ours("addresses").AllocationId } do
      assert.equal(id, rows[kind].id)
      assert.is_true(rows[kind].hourly > 0)
    end
    for _, kind in ipairs { "nat_gateway", "security_group" } do
      assert.matches("UnauthorizedOperation", rows[kind].reason)
    end
    assert.is_nil(rows.eks_cluster)
    refused = nil
    assert.equal("done", (teardown()))
    assert.same({}, played.list(world))
  end)

  it("deletes nothing of a neighbour, whatever it is called", function ()
    local vpc = ec2("create_vpc", { CidrBlock = "10.42.0.0/16", TagSpecifications = {
      { ResourceType = "vpc", Tags = tags { Name = NAME, ["rtl:deployment"] = NAME .. "-2" } } } })
      .Vpc.VpcId
    local zone = ours("subnets").AvailabilityZoneId
    local subnet = ec2("create_subnet", { VpcId = vpc, CidrBlock = "10.42.0.0/20",
      AvailabilityZoneId = zone }).Subnet
    local own = group(vpc, "k8s-elb-one", { ["kubernetes.io/cluster/" .. NAME .. "-2"] = "owned" })
    interface("eni-0dddddddddddddddd", subnet)
    volume("vol-0dddddddddddddddd", { Tags = tags {
      ["kubernetes.io/cluster/" .. NAME .. "-2"] = "owned" } })
    local before = #calls
    assert.equal("done", (teardown()))
    for i = before + 1, #calls do
      if not calls[i]:find "^Action=Describe" then
        for _, id in ipairs { vpc, subnet.SubnetId, own, "eni-0dddddddddddddddd",
          "vol-0dddddddddddddddd" } do
          assert.is_nil(calls[i]:find(id, 1, true), calls[i])
        end
      end
    end
    assert.is_not_nil(region.vpcs:get(vpc))
    assert.is_not_nil(region.interfaces:get "eni-0dddddddddddddddd")
    assert.is_not_nil(region.security_groups:get(own))
  end)
end)

describe("a teardown of a namespace with a claim in it", function ()
  local DISK = "vol-0aaaaaaaaaaaaaaaa"

  -- A claim as the EBS driver serves it: its volume goes with it, if nobody says otherwise.
  local function claim(world)
    local _, kube = next(world.clusters)
    local store = kube.store
    store:create(store:of_kind "PersistentVolumeClaim", { metadata = { name = "checkpoints",
      namespace = "ray-train" }, spec = { volumeName = "pvc-1" } })
    store:create(store:of_kind "PersistentVolume", { metadata = { name = "pvc-1" }, spec = {
      persistentVolumeReclaimPolicy = "Delete", csi = { volumeHandle = DISK },
      claimRef = { namespace = "ray-train", name = "checkpoints" } } })
    world.aws.regions[REGION].volumes:add(DISK, { VolumeId = DISK, Size = 100, VolumeType = "gp3",
      State = "available", Tags = tags(OWNED), Attachments = array {} })
  end

  local function torn_down(settings)
    local world, _ <close> = played.fresh "calm"
    assert.equal("done", (played.run(DEPLOY, false, { yes = true, to = "ray_cluster" })))
    claim(world)
    local exit, _, last = played.run(TEARDOWN, false, { yes = true }, settings)
    assert.equal("done", exit)
    return world.aws.regions[REGION].volumes:get(DISK), last.teardown
  end

  it("keeps its volume", function ()
    local disk, outcome = torn_down()
    assert.is_not_nil(disk)
    assert.equal(DISK, outcome.kept[1].id)
  end)

  it("lets its volume go with --purge", function ()
    local disk, outcome = torn_down { purge = "true" }
    assert.is_nil(disk)
    assert.same({}, outcome.kept)
  end)
end)

describe("a teardown of a RayCluster that a finalizer holds", function ()
  it("waits, says so, and lets it go with the cluster: no machine runs on for its sake", function ()
    local world, _ <close> = played.fresh "calm"
    assert.equal("done", (played.run(DEPLOY, false, { yes = true, to = "ray_cluster" })))
    local kube = world.clusters[next(world.clusters)]
    local ray = kube.store.objects["rayclusters.ray.io"]["ray-train/ray-train-cluster"]
    ray.metadata.finalizers = array { "ray.io/gcs-ft-redis-cleanup-finalizer" }
    local bus, told = events.bus(), {}
    bus:add(function (event)
      if event.kind == "ray_cluster" then told[#told + 1] = event.detail end
    end)
    assert.equal("done", (played.run(TEARDOWN, false, { yes = true }, nil, { bus = bus })))
    told = table.concat(told, "\n")
    assert.matches("held by ray.io/gcs-ft-redis-cleanup-finalizer", told, 1, true)
    assert.matches("goes with eks_cluster/ray-train, since: ", told, 1, true)
    assert.same({}, played.list(world))
  end)
end)
