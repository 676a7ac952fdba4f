--- Step 2: capacity, network, cluster and node groups.
--
-- All GPU nodes stand in one subnet of one zone, since EFA does not cross zones. The zone is chosen
-- before anything is made: offered, with EFA, with quota. When it has no capacity after all, the
-- next one is tried with a group of its own. With --probe, or several regions, the GPUs are held
-- before anything else is made, and a region without any is left for the next.
--
-- With a kubeconfig this step makes nothing and checks the nodes that are there.

local access_entry = require "rtl.kinds.access_entry"
local addons_active = require "rtl.kinds.addons_active"
local capacity = require "rtl.kinds.capacity"
local hold = require "rtl.recipe.hold"
local eks_addon = require "rtl.kinds.eks_addon"
local eks_cluster = require "rtl.kinds.eks_cluster"
local elastic_ip = require "rtl.kinds.elastic_ip"
local gpu_instances = require "rtl.kinds.gpu_instances"
local iam_role = require "rtl.kinds.iam_role"
local internet_gateway = require "rtl.kinds.internet_gateway"
local keys = require "rtl.keys"
local launch_template = require "rtl.kinds.launch_template"
local lease = require "rtl.recipe.lease"
local nat_gateway = require "rtl.kinds.nat_gateway"
local node_group = require "rtl.kinds.node_group"
local nodes = require "rtl.recipe.nodes"
local pricing = require "rtl.kinds.pricing"
local placement_group = require "rtl.kinds.placement_group"
local places = require "rtl.recipe.places"
local route_table = require "rtl.kinds.route_table"
local security_group = require "rtl.kinds.security_group"
local subnet = require "rtl.kinds.subnet"
local text = require "rtl.recipe.text"
local value = require "rtl.recipe.value"
local vpc = require "rtl.kinds.vpc"
local vpc_endpoint = require "rtl.kinds.vpc_endpoint"

-- ---- network ----

-- The n-th (0…15) sixteenth of an IPv4 range.
local function sixteenth(cidr, n)
  local a, b, c, d, bits = cidr:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)/(%d+)$")
  local base = ((tonumber(a) * 256 + tonumber(b)) * 256 + tonumber(c)) * 256 + tonumber(d)
  local size = 1 << (32 - bits - 4)
  local at = (base & ~((1 << (32 - tonumber(bits))) - 1)) + n * size
  return ("%d.%d.%d.%d/%d"):format(at >> 24, at >> 16 & 255, at >> 8 & 255, at & 255, bits + 4)
end

-- A zone's place among the sixteenths, from its id: use2-az2 is 1. The same in every run.
local function place_of(zone_id)
  return (tonumber(zone_id:match("az(%d+)$")) - 1) % 8
end

-- The subnets of one zone; a public one where the NAT gateway or a load balancer may stand.
local function declare_subnets(run, net, zone, is_public)
  local cidr, place = run.settings.vpc_cidr, place_of(zone)
  local public = is_public and run:declare(subnet("public-" .. zone) { vpc_id = net.id,
    zone_id = zone, cidr = sixteenth(cidr, place), public = true })
  local private = run:declare(subnet("private-" .. zone) { vpc_id = net.id, zone_id = zone,
    cidr = sixteenth(cidr, 8 + place) })
  return private, public
end

-- A VPC of our own: a public and a private subnet in each of the network's two zones, one NAT
-- gateway in the first. When the GPUs are in a third zone, that has a private subnet, too; the
-- cluster's zones stay those two, since EKS takes no others later.
local function declare_network(run, choice, first)
  local net = run:declare(vpc(run.deployment) { cidr = run.settings.vpc_cidr, after = first })
  local gateway = run:declare(internet_gateway(run.deployment) { vpc_id = net.id })
  local private, private_ids, public_ids = {}, {}, {}
  for i, zone in ipairs(choice.network) do
    local inner, outer = declare_subnets(run, net, zone.zone_id, true)
    private[zone.zone_id], private_ids[i], public_ids[i] = inner, inner.id, outer.id
  end
  local through_ids = table.move(private_ids, 1, #private_ids, 1, {})
  if choice.extra then
    local zone = choice.gpu.zone_id
    private[zone] = declare_subnets(run, net, zone, false)
    through_ids[#through_ids + 1] = private[zone].id
  end
  local address = run:declare(elastic_ip "nat" { after = first })
  local out = run:declare(route_table "public" { vpc_id = net.id, subnets = public_ids,
    routes = { { to = "0.0.0.0/0", gateway = gateway.id } } })
  local nat = run:declare(nat_gateway(run.deployment) { subnet_id = public_ids[1],
    allocation_id = address.id, after = out })
  local through = run:declare(route_table "private" { vpc_id = net.id, subnets = through_ids,
    routes = { { to = "0.0.0.0/0", nat_gateway = nat.id } } })
  run:declare(vpc_endpoint "s3" { vpc_id = net.id, service = "s3", route_tables = { through.id } })
  return { vpc_id = net.id, private = private, private_ids = private_ids, way_out = { through },
    nat_zone = choice.network[1].zone_id }
end

-- A given VPC: its private subnets, used and checked, in the order given.
local function given_network(run)
  local s = run.settings
  local net = run:declare(vpc(run.deployment) { given = s.vpc_id })
  return { vpc_id = net.id, private_ids = s.private_subnets, given = s.private_subnets[1],
    way_out = {} }
end

-- ---- cluster ----

local CLUSTER_POLICIES = { "AmazonEKSClusterPolicy" }
local NODE_POLICIES = { "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly",
  "AmazonEKS_CNI_Policy" }

-- A control plane of our own with its role, or a given one as it is.
local function control_plane(run, network, first)
  local s = run.settings
  if s.use_cluster ~= "" then
    return run:declare(eks_cluster(run.deployment) { given = s.use_cluster,
      vpc_id = network.vpc_id })
  end
  local role = run:declare(iam_role "cluster" { service = "eks.amazonaws.com",
    policies = CLUSTER_POLICIES, boundary = value.given(s.permissions_boundary),
    given = value.given(s.cluster_role), after = first })
  return run:declare(eks_cluster(run.deployment) { version = s.kubernetes_version,
    role_arn = role.arn, subnet_ids = network.private_ids, public_cidrs = s.public_access_cidrs })
end

-- The last part of an admin's ARN names its entry; the whole path where two have the same.
local function admins_by_name(arns)
  local named, twice = {}, {}
  for _, arn in ipairs(arns) do
    local name = arn:match("[^/]+$")
    if named[name] and named[name] ~= arn then twice[name] = true end
    named[name] = arn
  end
  local out = {}
  for _, arn in ipairs(arns) do
    local name = arn:match("[^/]+$")
    out[twice[name] and arn:match(":(%l+/.+)$") or name] = arn
  end
  return out
end

local function declare_cluster(run, network, first)
  local s = run.settings
  local cluster = control_plane(run, network, first)
  local addons = {}
  -- What somebody installed into a given cluster by hand is not written over.
  local kept = s.use_cluster ~= "" and "NONE" or nil
  for i, name in ipairs(s.addons) do
    addons[i] = run:declare(eks_addon(name) { cluster = cluster.cluster_name,
      conflicts = kept })
  end
  for name, arn in keys.pairs(admins_by_name(s.admins)) do
    run:declare(access_entry(name) { cluster = cluster.cluster_name,
      principal_arn = arn, policy = "AmazonEKSClusterAdminPolicy" })
  end
  -- Nodes need add-ons and a way out; the control plane needs neither to be made.
  return cluster, table.move(network.way_out, 1, #network.way_out, #addons + 1, addons)
end

-- ---- node groups ----

-- The role of the nodes; none where all of them are given.
local function node_role(run, first)
  local s = run.settings
  if s.use_system_group ~= "" and s.use_gpu_group ~= "" then return nil end
  return run:declare(iam_role "node" { service = "ec2.amazonaws.com", policies = NODE_POLICIES,
    boundary = value.given(s.permissions_boundary), given = value.given(s.node_role),
    after = first })
end

-- What the rest of the recipe finds nodes by.
local SYSTEM_LABELS = { role = "system" }
local GPU_LABELS = { role = "gpu-worker", ["nvidia.com/gpu.present"] = "true" }

local function declare_system(run, cluster, role, network, needs)
  local s = run.settings
  if s.use_system_group ~= "" then
    return run:declare(node_group "system" { given = s.use_system_group,
      cluster = cluster.cluster_name, labels = SYSTEM_LABELS, instance_type = s.system_type })
  end
  local template = run:declare(launch_template "system" { instance_type = s.system_type,
    disk_gib = s.system_disk, security_groups = { cluster.security_group_id }, efa = 0,
    hop_limit = s.imds_hop_limit })
  return run:declare(node_group "system" {
    cluster = cluster.cluster_name, role_arn = role.arn, subnet_ids = network.private_ids,
    instance_type = s.system_type, count = s.system_count, disk_gib = s.system_disk,
    nat_zone = network.nat_zone,
    ami_type = "AL2023_x86_64_STANDARD",
    labels = SYSTEM_LABELS, group_name = nodes.name_among_others(run, "system"),
    launch_template_id = template.id, launch_template_version = template.version,
    after = needs,
  })
end

-- The reservation that the user gave, as it is, or nil. One in a block has a market of its own.
local function given_reservation(run)
  return run.facts.ranked and run.facts.ranked.reservation
end

-- The placement group of the user's reservation or settings, else one of our own if that is asked
-- for: first the group, then the hold in it.
local function declare_placement(run)
  local s, reserved = run.settings, given_reservation(run)
  local wanted, own = value.given(s.use_placement_group), reserved and reserved.placement_group
  if reserved and wanted and wanted ~= own then
    run:fail { code = "RTL-STEP-014", exit = "usage", message = ("use_placement_group is %s, and "
      .. "reservation %s is in %s: no launch fits both"):format(wanted, s.reservation,
      own or "none") }
  elseif own or wanted then
    return run:declare(placement_group "gpu" { given = own or wanted })
  end
  return s.placement_group and not reserved and run:declare(placement_group "gpu" {}) or nil
end

-- The security group that EFA needs: ours, or the given one if it is open to itself both ways.
local function declare_efa_group(run, network)
  return run:declare(security_group "efa" { vpc_id = network.vpc_id, itself = true,
    given = value.given(run.settings.efa_security_group),
    description = "EFA: all traffic within the group" })
end

-- The node group of the GPUs with its template and security group: group, ids of security groups.
local function make_gpu_group(run, cluster, role, network, needs, place)
  local s, zone, name = run.settings, run.facts.choice.gpu.zone_id, nodes.group(run)
  local in_block = given_reservation(run) and given_reservation(run).block or nil
  local efa = declare_efa_group(run, network)
  local template = run:declare(launch_template(name) {
    instance_type = s.gpu_type, disk_gib = s.gpu_disk, hop_limit = s.imds_hop_limit,
    security_groups = { cluster.security_group_id, efa.id }, efa = run.facts.instance.efa,
    placement_group = place.together and place.together.group_name,
    reservation_id = value.given(s.reservation), capacity_block = in_block,
    reservation_group = place.reservations and place.reservations.arn,
  })
  return run:declare(node_group(name) {
    cluster = cluster.cluster_name, role_arn = role.arn,
    subnet_ids = { network.given or network.private[zone].id },
    instance_type = s.gpu_type, count = s.gpu_count, disk_gib = s.gpu_disk,
    ami_type = "AL2023_x86_64_NVIDIA",
    zone_id = zone, nat_zone = network.nat_zone,
    group_name = nodes.name_among_others(run, name),
    capacity_type = in_block and "CAPACITY_BLOCK" or nil,
    labels = GPU_LABELS,
    taints = { { key = "nvidia.com/gpu", value = "true", effect = "NoSchedule" } },
    launch_template_id = template.id, launch_template_version = template.version,
    after = needs,
  }), { efa.id }
end

-- A group of the given cluster; its instances are held to what ours would be. Which of its security
-- groups is the one for EFA is its owner's to say.
local function use_gpu_group(run, cluster, network)
  local s = run.settings
  local groups = s.efa_security_group ~= "" and { declare_efa_group(run, network).id } or nil
  return run:declare(node_group(nodes.group(run)) { given = s.use_gpu_group,
    cluster = cluster.cluster_name, instance_type = s.gpu_type, count = s.gpu_count,
    labels = GPU_LABELS, subnet_ids = { network.given } }), groups
end

local function declare_gpu(run, cluster, role, network, needs, place)
  local s, zone = run.settings, run.facts.choice.gpu.zone_id
  local group, security_groups
  if s.use_gpu_group ~= "" then
    group, security_groups = use_gpu_group(run, cluster, network)
  else
    group, security_groups = make_gpu_group(run, cluster, role, network, needs, place)
  end
  -- What the template says is compared with the live instances: a wrong one would train over TCP.
  run:declare(gpu_instances "gpu" {
    cluster = cluster.cluster_name, group = group.group_name, count = s.gpu_count,
    instance_type = s.gpu_type, vpc_id = network.vpc_id, zone_id = zone,
    subnet_id = network.given or network.private[zone].id,
    security_groups = security_groups, efa = run.facts.instance.efa,
  })
  return group
end

return {
  title   = "Capacity, network, cluster and node groups",
  creates = "VPC with NAT, EKS cluster, system node group, GPU node group with EFA",
  -- What the preflight calls, for --policy.
  actions = function (run)
    local all = {}
    for _, actions in ipairs { capacity.actions, pricing.actions,
      run.settings.request_quota and capacity.quota_actions or nil } do
      table.move(actions, 1, #actions, #all + 1, all)
    end
    return all
  end,

  preflight = function (run)
    if not run:has_aws() then
      lease.refuse(run)
      return nodes.check_given(run)
    end
    places.choose(run)
    lease.preflight(run)
  end,

  summary = function (run)
    if not run.facts.ranked then return nil end
    local lines = places.lines(run)
    lines[#lines + 1] = lease.line(run)
    return lines
  end,

  resources = function (run)
    if not run:has_aws() then return end
    local s, choice = run.settings, run.facts.choice
    local place = { together = declare_placement(run) }
    place.held = hold.declare(run, place.together)
    place.reservations = hold.declare_group(run, place.held)
    local network = s.vpc_id == "" and declare_network(run, choice, place.held)
      or given_network(run)
    local cluster, needs = declare_cluster(run, network, place.held)
    local role = node_role(run, place.held)
    local system = declare_system(run, cluster, role, network, needs)
    local gpu = declare_gpu(run, cluster, role, network, needs, place)
    run:declare(addons_active "all" { cluster = cluster.cluster_name, names = s.addons,
      after = { system, gpu } })
    lease.declare(run)
    hold.end_with_lease(run, place.held)
  end,

  -- No capacity in the zone: the next ranked one, under another group name; or the next region.
  recover = function (run, problem)
    return places.recover(run, problem)
  end,

  -- The run stops before its end: a hold that nothing runs in costs its full price.
  leave = function (run)
    hold.leave(run)
  end,

  verify = function (run)
    if not run:has_aws() then return nodes.describe_given(run) end
    local s, facts = run.settings, run.facts
    return {
      ("cluster %s, Kubernetes %s, add-ons active"):format(run.deployment, s.kubernetes_version),
      ("%d × %s in one subnet of %s, each with %s in the EFA group"):format(s.gpu_count,
        s.gpu_type, facts.choice.gpu.zone_id, text.count(facts.instance.efa, "EFA interface")),
    }
  end,
}
