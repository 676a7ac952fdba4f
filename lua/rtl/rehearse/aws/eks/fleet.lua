--- The machines of a node group: its Auto Scaling group, what it launches and why that fails, and
-- the way from a machine to a Ready node.

local array = require "rtl.array"
local access = require "rtl.rehearse.aws.eks.access"
local capacity = require "rtl.rehearse.aws.ec2.capacity"
local chance = require "rtl.rehearse.chance"
local iam = require "rtl.rehearse.aws.iam"
local machines = require "rtl.rehearse.aws.ec2.machines"
local network = require "rtl.rehearse.aws.ec2.network"
local nodes = require "rtl.rehearse.kube.nodes"
local places = require "rtl.rehearse.aws.places"
local reservations = require "rtl.rehearse.aws.ec2.reservations"
local shared = require "rtl.rehearse.aws.eks.shared"
local templates = require "rtl.rehearse.aws.ec2.templates"
local types = require "rtl.rehearse.aws.types"

local M = {}

local RETRY, GIVE_UP, JOIN_LIMIT = 60, 1260, 1500

local EFFECTS = { NO_SCHEDULE = "NoSchedule", NO_EXECUTE = "NoExecute",
                  PREFER_NO_SCHEDULE = "PreferNoSchedule" }

local function taints_of(group)
  local out = {}
  for i, taint in ipairs(group.taints) do
    out[i] = { key = taint.key, value = taint.value, effect = EFFECTS[taint.effect] }
  end
  return out
end

local function activity(call, scaling, status, message, description)
  local id = call.world:uuid "activity"
  call.region.activities:add(id, { ActivityId = id, AutoScalingGroupName =
    scaling.AutoScalingGroupName, StatusCode = status, StatusMessage = message,
    Description = description, Progress = 100, StartTime = call.world:second(),
    EndTime = call.world:second(), Cause = "an instance was started in response to a difference "
      .. "between desired and actual capacity", Details = "{}" })
end

local function disk_of(data, group)
  local mapping = (data.BlockDeviceMappings or {})[1]
  return mapping and mapping.Ebs and mapping.Ebs.VolumeSize or group.diskSize or 20
end

-- An interface of a pod that its node takes down too late to give back.
local function leak_interface(call, cluster, item)
  local subnet = call.region.subnets:get(item.SubnetId)
  if not subnet or not call.world:strikes "leaked-interfaces" then return end
  local groups = {}
  for i, group in ipairs(item.SecurityGroups) do groups[i] = group.GroupId end
  network.make_interface(call, { subnet = subnet, groups = groups, Status = "available",
    Description = "aws-K8S-" .. item.InstanceId, TagSet = array {
      { Key = "node.k8s.amazonaws.com/instance_id", Value = item.InstanceId },
      { Key = "cluster.k8s.amazonaws.com/name", Value = cluster.name } } })
end

local function join(cluster, group, item)
  if item.State.Name ~= "running" or cluster.kube.store.gone or group.status == "DELETING" then
    return
  end
  local kind = types.of(item.InstanceType)
  nodes.join(cluster.kube, { id = item.InstanceId, host_name = item.PrivateDnsName,
    address = item.PrivateIpAddress, type = item.InstanceType, group = group.nodegroupName,
    zone = item.Placement.AvailabilityZone, zone_id = item.Placement.AvailabilityZoneId,
    vcpu = kind.vcpu, memory_gib = kind.memory_gib, disk_gib = disk_of(group.facts.data, group),
    gpus = group.amiType:find "NVIDIA" and kind.gpus or 0, efa = machines.efa_count(item),
    rdma = kind.name:find "^p%d" ~= nil,
    max_pods = types.max_pods(kind), image_id = item.ImageId, labels = group.labels,
    taints = taints_of(group) })
end

-- A node needs a way out: a NAT route, or a public address and a gateway.
local function has_way_out(call, subnet)
  local main, own
  for _, routes in ipairs(call.region.route_tables:all()) do
    if routes.VpcId == subnet.VpcId then
      for _, association in ipairs(routes.Associations) do
        if association.SubnetId == subnet.SubnetId then own = routes end
        if association.Main then main = main or routes end
      end
    end
  end
  for _, route in ipairs((own or main or { Routes = {} }).Routes) do
    if route.DestinationCidrBlock == "0.0.0.0/0" and route.State == "active" then
      if route.NatGatewayId then
        local nat = call.region.nat_gateways:get(route.NatGatewayId)
        return nat ~= nil and nat.State == "available"
      end
      return subnet.MapPublicIpOnLaunch and route.GatewayId ~= "local"
    end
  end
  return false
end

-- Nodes talk to the control plane through the cluster's own security group.
local function in_cluster_group(cluster, item)
  for _, group in ipairs(item.SecurityGroups) do
    if group.GroupId == cluster.resourcesVpcConfig.clusterSecurityGroupId then return true end
  end
  return false
end

-- Nodes without a way out look again: the NAT may come up while they wait.
local function try_to_join(call, cluster, group, item, subnet, left)
  if item.State.Name == "shutting-down" or item.State.Name == "terminated" then return end
  if has_way_out(call, subnet) and in_cluster_group(cluster, item) then
    return join(cluster, group, item)
  end
  if left > 0 then
    call.world:after(20, function ()
      try_to_join(call, cluster, group, item, subnet, left - 20)
    end)
  end
end

local function start_one(call, cluster, group, subnet, reservation)
  local facts = group.facts
  local item = machines.start(call, { type = facts.kind.name, subnet = subnet, data = facts.data,
    image = ("ami-0%s"):format(chance.hex(16, 7, call.region.name, group.amiType,
                                          group.releaseVersion)),
    groups = { cluster.resourcesVpcConfig.clusterSecurityGroupId }, profile = group.profile.Arn,
    reservation = reservation and reservation.CapacityReservationId,
    tags = { { Key = "eks:cluster-name", Value = cluster.name },
             { Key = "eks:nodegroup-name", Value = group.nodegroupName },
             { Key = "aws:autoscaling:groupName", Value = group.scaling.AutoScalingGroupName },
             { Key = "kubernetes.io/cluster/" .. cluster.name, Value = "owned" } } })
  if reservation then
    reservation.AvailableInstanceCount = reservation.AvailableInstanceCount - 1
    item.reservation = reservation
  end
  group.machines[#group.machines + 1] = item
  table.insert(group.scaling.Instances, { InstanceId = item.InstanceId, InstanceType =
    item.InstanceType, AvailabilityZone = subnet.AvailabilityZone, HealthStatus = "Healthy",
    LifecycleState = "InService", ProtectedFromScaleIn = false })
  local wait = call.world:spread(55, 90, "boot", item.InstanceId)
  local slow, dead = call.world:strikes "slow-nodes", call.world:strikes "node-never-joins"
  if slow then wait = wait + slow.seconds end
  if dead then
    item.console, group.stranger = dead.console, item.InstanceId
    return item
  end
  call.world:after(wait, function ()
    try_to_join(call, cluster, group, item, subnet, JOIN_LIMIT)
  end)
  return item
end

local function issue(group, code, message, id)
  group.health.issues = array { { code = code, message = message, resourceIds = array {
    id or group.scaling and group.scaling.AutoScalingGroupName } } }
end

local function alive(group)
  local list = {}
  for _, item in ipairs(group.machines) do
    if item.State.Name == "pending" or item.State.Name == "running" then list[#list + 1] = item end
  end
  return list
end

local function launch_one(call, cluster, group, n)
  local subnet = group.facts.subnets[(n - 1) % #group.facts.subnets + 1]
  local zone = places.zone(call.region.name, subnet.AvailabilityZone)
  local reservation, code, message = reservations.for_launch(call, { data = group.facts.data,
    kind = group.facts.kind, zone_name = subnet.AvailabilityZone })
  if not reservation and not code then
    code, message = capacity.obstacle(call, group.facts.kind, zone, 1)
    if not code and n > 1 and group.facts.kind.gpus > 0 and call.world:strikes "half-capacity" then
      call.world.aws.used_up = zone.id
      code, message = capacity.obstacle(call, group.facts.kind, zone, 1)
    end
  end
  if code then return code, message end
  local item = start_one(call, cluster, group, subnet, reservation)
  activity(call, group.scaling, "Successful", nil, "Launching a new EC2 instance: "
           .. item.InstanceId)
  return nil
end

-- Launches what is missing; a refusal is noted and tried again until EKS gives up.
local function fill(call, cluster, group)
  if group.status == "DELETING" or group.status == "CREATE_FAILED" then return end
  local have = #alive(group)
  while have < group.scalingConfig.desiredSize do
    local code, message = launch_one(call, cluster, group, have + 1)
    if code then
      activity(call, group.scaling, "Failed", message .. " Launching EC2 instance failed.",
               "Launching a new EC2 instance.  Status Reason: " .. message)
      group.launch_error = group.launch_error or { at = call.world:now() }
      group.launch_error.message = message
      if call.world:now() - group.launch_error.at < GIVE_UP then
        call.world:after(RETRY, function () fill(call, cluster, group) end)
      end
      return
    end
    have = have + 1
  end
  group.launch_error = nil
end

local function all_ready(cluster, group)
  local list = alive(group)
  if #list < group.scalingConfig.desiredSize then return false end
  for _, item in ipairs(list) do
    local node = cluster.kube.store:get(cluster.kube.nodes, nil, item.PrivateDnsName)
    if not node or not nodes.ready(node) then return false end
  end
  return true
end

local function fail(call, group)
  group.status, group.modifiedAt = "CREATE_FAILED", call.world:second()
  if group.launch_error then
    issue(group, "AsgInstanceLaunchFailures", "Could not launch On-Demand Instances. "
          .. group.launch_error.message .. " Launching EC2 instance failed.")
  else
    issue(group, "NodeCreationFailure", "Instances failed to join the kubernetes cluster",
          group.stranger)
  end
end

-- The hour of one machine of a group comes: its Auto Scaling group starts another one.
local function may_lose_one(call, cluster, group)
  local lost = call.world:strikes "lost-machine"
  if not lost then return end
  call.world:after(lost.seconds, function ()
    local item = alive(group)[1]
    if group.status ~= "ACTIVE" or not item then return end
    M.lose(call, cluster, group, item)
  end)
end

local function look(call, cluster, group, since)
  if group.status ~= "CREATING" then return end
  if all_ready(cluster, group) then
    group.status, group.modifiedAt = "ACTIVE", call.world:second()
    return may_lose_one(call, cluster, group)
  end
  local waited = call.world:now() - since
  if (group.launch_error and waited > GIVE_UP) or waited > JOIN_LIMIT then
    return fail(call, group)
  end
  call.world:after(5, function () look(call, cluster, group, since) end)
end

local function make_scaling(call, cluster, group)
  local name = ("eks-%s-%s"):format(group.nodegroupName, shared.suffix(call, "asg",
                                    cluster.name, group.nodegroupArn))
  local zones = array {}
  for i, subnet in ipairs(group.facts.subnets) do zones[i] = subnet.AvailabilityZone end
  local copy = templates.make(call, "eks-" .. call.world:uuid "template", group.facts.data, {
    native = true, Tags = array { { Key = "eks:cluster-name", Value = cluster.name },
                                  { Key = "eks:nodegroup-name", Value = group.nodegroupName } } })
  group.template_copy = copy.LaunchTemplateId
  group.scaling = call.region.groups:add(name, { AutoScalingGroupName = name, native = true,
    AutoScalingGroupARN = ("arn:aws:autoscaling:%s:%s:autoScalingGroup:%s:autoScalingGroupName/%s")
      :format(call.region.name, call.account, call.world:uuid "asg", name),
    MinSize = group.scalingConfig.minSize, MaxSize = group.scalingConfig.maxSize,
    DesiredCapacity = group.scalingConfig.desiredSize, AvailabilityZones = zones,
    Instances = array {}, SuspendedProcesses = array {}, HealthCheckType = "EC2",
    VPCZoneIdentifier = table.concat(group.subnets, ","), CreatedTime = call.world:second(),
    Tags = array { { Key = "eks:cluster-name", Value = cluster.name, ResourceId = name,
                     ResourceType = "auto-scaling-group", PropagateAtLaunch = true } } })
  group.resources.autoScalingGroups[1] = { name = name }
end

--- Starts to make a group that was just accepted.
function M.create(call, cluster, group)
  group.machines = {}
  local since = call.world:now()
  group.profile = iam.make_profile(call, "eks-" .. call.world:uuid "profile",
                                   { native = true, Roles = array { group.facts.role } })
  access.add_entry(call, cluster, group.nodeRole, "EC2_LINUX",
                   { kubernetesGroups = array { "system:nodes" } })
  local struck = call.world:strikes "nodegroup-failure"
  if struck then
    call.world:after(call.world:spread(30, 200, "failure", group.nodegroupArn), function ()
      if group.status ~= "CREATING" then return end
      group.status, group.modifiedAt = "CREATE_FAILED", call.world:second()
      issue(group, struck.issue[1], struck.issue[2])
    end)
  end
  call.world:after(call.world:spread(8, 18, "asg", group.nodegroupArn), function ()
    if group.status ~= "CREATING" then return end
    make_scaling(call, cluster, group)
    call.world:after(4, function () fill(call, cluster, group) end)
    look(call, cluster, group, since)
  end)
end

local function stop_one(call, cluster, group, item)
  if item.reservation then
    if item.reservation.State == "active" then
      item.reservation.AvailableInstanceCount = item.reservation.AvailableInstanceCount + 1
    end
    item.reservation = nil
  end
  leak_interface(call, cluster, item)
  if cluster.kube and not cluster.kube.store.gone then
    nodes.leave(cluster.kube, item.PrivateDnsName)
  end
  machines.stop(call, item)
  for i, entry in ipairs(group.scaling.Instances) do
    if entry.InstanceId == item.InstanceId then
      table.remove(group.scaling.Instances, i)
      break
    end
  end
end

--- Ends a machine that nobody asked to end; its group starts another one a minute later.
function M.lose(call, cluster, group, item)
  stop_one(call, cluster, group, item)
  call.world:after(RETRY, function () fill(call, cluster, group) end)
end

--- Brings the number of machines to what the group wants now.
function M.scale(call, cluster, group)
  group.scaling.MinSize, group.scaling.MaxSize = group.scalingConfig.minSize,
                                                 group.scalingConfig.maxSize
  group.scaling.DesiredCapacity = group.scalingConfig.desiredSize
  local list = alive(group)
  for i = #list, group.scalingConfig.desiredSize + 1, -1 do
    stop_one(call, cluster, group, list[i])
  end
  fill(call, cluster, group)
end

--- Replaces all machines (a new version of the template).
function M.replace(call, cluster, group)
  for _, item in ipairs(alive(group)) do stop_one(call, cluster, group, item) end
  call.world:after(60, function () fill(call, cluster, group) end)
end

local function finish_delete(call, cluster, group)
  for _, item in ipairs(group.machines) do
    if item.State.Name ~= "terminated" then
      call.world:after(5, function () finish_delete(call, cluster, group) end)
      return
    end
  end
  if group.scaling then
    call.region.groups:remove(group.scaling.AutoScalingGroupName)
    call.region.launch_templates:remove(group.template_copy)
  end
  call.aws.iam.profiles:remove(group.profile.InstanceProfileName)
  cluster.nodegroups:remove(group.nodegroupName)
  local shares_role = cluster.nodegroups:first(function (it)
    return it.nodeRole == group.nodeRole
  end)
  if not shares_role then cluster.entries:remove(group.nodeRole) end
end

--- Drains and removes a group.
function M.delete(call, cluster, group)
  local stuck = call.world:strikes "stuck-nodegroup"
  if stuck then
    call.world:after(call.world:spread(60, 200, "stuck", group.nodegroupArn), function ()
      group.status = "DELETE_FAILED"
      issue(group, stuck.issue[1], stuck.issue[2])
    end)
    return
  end
  call.world:after(call.world:spread(50, 110, "drain", group.nodegroupArn), function ()
    for _, item in ipairs(alive(group)) do stop_one(call, cluster, group, item) end
    finish_delete(call, cluster, group)
  end)
end

return M
