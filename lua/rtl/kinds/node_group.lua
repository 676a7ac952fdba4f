--- A managed node group. min = max = desired; updates one node at a time, in place; no node repair,
-- which would pull a node out of a running job.
-- node_group "gpu-use2-az2" { cluster = c.cluster_name, role_arn = role.arn, subnet_ids = { s.id },
--   instance_type = "g6.12xlarge", count = 2, ami_type = "AL2023_x86_64_NVIDIA",
--   labels = { role = "gpu-worker" }, taints = { { key = "nvidia.com/gpu", value = "true",
--   effect = "NO_SCHEDULE" } }, launch_template_id = t.id, launch_template_version = t.version }
--   → group_name, asg
-- For the price: disk_gib, what the template gives each node; nat_zone, the NAT gateway's: what
-- comes from there to another zone is billed at both ends of the way.
-- Its subnets, type and template are fixed for life: another zone is another group, whose name
-- carries the zone id. A failure for capacity has err.replan: the next zone may have some.

local addon = require "rtl.kinds.eks_addon"
local array = require "rtl.array"
local clock = require "rtl.clock"
local compare = require "rtl.plan.compare"
local eks = require "rtl.kinds.eks"
local err = require "rtl.err"
local instances = require "rtl.kinds.instances"
local keys = require "rtl.keys"
local kind = require "rtl.plan.kind"
local launch_failure = require "rtl.kinds.launch_failure"
local next_steps = require "rtl.kinds.health_issues"
local node_join = require "rtl.kinds.node_join"
local node_usage = require "rtl.kinds.node_usage"
local prices = require "rtl.plan.prices"
local pricing = require "rtl.kinds.pricing"
local ref = require "rtl.ref"
local support = require "rtl.kinds.support"

local EFFECTS = { NoSchedule = "NO_SCHEDULE", NoExecute = "NO_EXECUTE",
  PreferNoSchedule = "PREFER_NO_SCHEDULE" }

-- What EKS holds a group to, as far as it says: size at both ends, how it updates, no repair.
local function held_of(group)
  local scaling, how = group.scalingConfig or {}, group.updateConfig or {}
  local repair = group.nodeRepairConfig
  return { ["least size"] = scaling.minSize, ["most size"] = scaling.maxSize,
    ["update strategy"] = how.updateStrategy, ["node repair"] = repair and repair.enabled }
end

local function live_of(group)
  local template = group.launchTemplate or {}
  local asg = group.resources and group.resources.autoScalingGroups
  local live = { id = group.nodegroupName, group_name = group.nodegroupName,
    cluster = group.clusterName, asg = asg and asg[1] and asg[1].name,
    role_arn = group.nodeRole, subnet_ids = group.subnets or {}, ami_type = group.amiType,
    instance_type = group.instanceTypes and group.instanceTypes[1],
    count = group.scalingConfig and group.scalingConfig.desiredSize, held = held_of(group),
    labels = group.labels or {}, taints = group.taints or {}, status = group.status,
    capacity_type = group.capacityType, launch_template_id = template.id,
    launch_template_version = template.version }
  if group.status == "CREATE_FAILED" or group.status == "DELETE_FAILED" then
    live.failed = group.status .. ": " .. (eks.issues(group) or "no reason given")
  elseif group.status ~= "ACTIVE" then
    live.ready = false
  end
  return live
end

local function describe(ctx, cluster, name)
  local answer, failure = support.absent_if_missing(
    ctx:aws("eks"):describe_nodegroup { clusterName = cluster, nodegroupName = name })
  return answer and answer.nodegroup, failure
end

-- The group's name in its cluster: its own, unless a field says otherwise.
local function name_of(res)
  return res.given or res.fields.group_name or res.name
end

-- Why an earlier look gave up on a group that EKS still tries to make.
local function given_up(ctx, res, group)
  for _, note in ipairs(ctx.ledger and ctx.ledger:notes "hopeless" or {}) do
    local since = clock.parse_iso(note.at) or 0
    if note.key == res.key and since >= (group.createdAt or 0) then return note.why end
  end
end

-- EKS would go on trying for 25 minutes: the next run need not.
local function give_up(ctx, res, failure)
  if failure and ctx.ledger then
    ctx.ledger:note("hopeless", { key = res.key, why = failure.message:match("^[^\n]*") })
  end
  return failure
end

local function read(ctx, res, f)
  local group, failure = describe(ctx, f.cluster, name_of(res))
  if not group or group.status == "DELETING" then return nil, failure end
  if not res.given and not support.is_ours(ctx, group.tags or {}) then
    return nil, support.stranger(res, "node group " .. name_of(res) .. " of " .. f.cluster)
  end
  local live = live_of(group)
  live.failed = live.failed or group.status == "CREATING" and given_up(ctx, res, group) or nil
  return live
end

local function taints_of(f)
  local list = array {}
  for _, taint in ipairs(f.taints or {}) do
    list[#list + 1] = { key = taint.key, value = taint.value,
      effect = EFFECTS[taint.effect] or taint.effect }
  end
  return list
end

local function scaling(f)
  return { minSize = f.count, maxSize = math.max(f.count, 1), desiredSize = f.count }
end

-- min = max = desired, so that nothing scales it; repair would pull a node out of a running job.
local UPDATE, REPAIR = { maxUnavailable = 1, updateStrategy = "MINIMAL" }, { enabled = false }

-- A given group is its owner's to hold; another count brings its own ends.
local function held_changes(res, f, live)
  local changes = {}
  if res.given then return changes end
  local wanted = held_of { scalingConfig = live.count == f.count and scaling(f) or nil,
    updateConfig = UPDATE, nodeRepairConfig = REPAIR }
  for field, want in keys.pairs(wanted) do
    local have = live.held[field]
    if have ~= nil and have ~= want then
      changes[#changes + 1] = { field = field, want = want, have = have, held = true }
    end
  end
  return changes
end

local function diff(_, res, f, live)
  local want = { role_arn = f.role_arn, ami_type = f.ami_type, count = f.count, labels = f.labels,
    taints = f.taints and taints_of(f), launch_template_id = f.launch_template_id,
    launch_template_version = f.launch_template_version, capacity_type = f.capacity_type }
  local changes = compare.fields({ "role_arn", "ami_type", "count", "labels", "taints",
    "launch_template_id", "launch_template_version", "capacity_type" }, want, live)
  if f.instance_type and live.instance_type and f.instance_type ~= live.instance_type then
    changes[#changes + 1] = { field = "instance_type", want = f.instance_type,
      have = live.instance_type }
  end
  if f.subnet_ids and not compare.same_set(f.subnet_ids, live.subnet_ids) then
    changes[#changes + 1] = { field = "subnet_ids", want = f.subnet_ids, have = live.subnet_ids }
  end
  if res.given and live.status ~= "ACTIVE" then
    changes[#changes + 1] = { field = "status", want = "ACTIVE", have = live.status }
  end
  local held = held_changes(res, f, live)
  return table.move(held, 1, #held, #changes + 1, changes)
end

local function request(ctx, res, f, token)
  local block = f.capacity_type == "CAPACITY_BLOCK"
  return { clusterName = f.cluster, nodegroupName = name_of(res), nodeRole = f.role_arn,
    subnets = f.subnet_ids, amiType = f.ami_type, scalingConfig = scaling(f),
    capacityType = f.capacity_type or "ON_DEMAND",
    instanceTypes = not block and array { f.instance_type } or nil,
    launchTemplate = f.launch_template_id and { id = f.launch_template_id,
      version = f.launch_template_version } or nil,
    labels = f.labels, taints = f.taints and taints_of(f) or nil,
    updateConfig = UPDATE, nodeRepairConfig = REPAIR, tags = ctx:tags_for(res),
    clientRequestToken = token }
end

-- A role or template that EKS has not heard of yet, or the name still on its way out.
local function passing(failure)
  if failure.code == "ResourceInUseException" then return true end
  if failure.code ~= "InvalidParameterException" and failure.code ~= "InvalidRequestException" then
    return false
  end
  local text = failure.message:lower()
  for _, part in ipairs { "does not exist", "could not be assumed", "not found" } do
    if text:find(part, 1, true) then return true end
  end
  return false
end

local function create(ctx, res, f, token)
  local answer, failure = support.insist(ctx, res, 180, passing, function ()
    return ctx:aws("eks"):create_nodegroup(request(ctx, res, f, token))
  end)
  if not answer then return nil, failure end
  return live_of(answer.nodegroup)
end

-- The newest failed activity that says why instances do not start, and how many failed since the
-- last success. EKS itself tells it 20 minutes later, if at all.
local function failed_activity(ctx, asg)
  local list, failure = ctx:aws("autoscaling"):call("describe_scaling_activities",
    { AutoScalingGroupName = asg, MaxRecords = 20 })
  if not list then
    if failure.code == "ValidationError" then return nil, 0 end
    return nil, 0, failure
  end
  local text, count = nil, 0
  for _, activity in ipairs(list.Activities or {}) do
    if activity.StatusCode == "Successful" then break end
    if activity.StatusCode == "Failed" and activity.StatusMessage then
      text, count = text or activity.StatusMessage, count + 1
    end
  end
  return text, count
end

-- A reservation is only used by launches into its own placement group: both set and no capacity is
-- a mismatch first, and no other zone would help. A group of reservations falls back to On-Demand.
local function mismatch(ctx, res, f, failure)
  if failure.class ~= "capacity" or not f.launch_template_id then return failure end
  local list = ctx:aws("ec2"):all("describe_launch_template_versions",
    { LaunchTemplateId = f.launch_template_id,
      Versions = array { f.launch_template_version or "$Default" } })
  local data = list and list[1] and list[1].LaunchTemplateData or {}
  local target = data.CapacityReservationSpecification
    and data.CapacityReservationSpecification.CapacityReservationTarget
  if not (target and target.CapacityReservationId) then return failure end
  local group = data.Placement and data.Placement.GroupName
  if not group or group == "" then
    failure.replan = nil
    return failure
  end
  return err.wrap(failure, { code = "RTL-CAP-006", doing = res.key,
    message = ("placement group %s and the reservation do not match"):format(group) })
end

-- Why EC2 refused a launch, if the caller may read it.
local function decoder(ctx)
  return function (text)
    local answer = ctx:aws("sts"):decode_authorization_message { EncodedMessage = text }
    return answer and answer.DecodedMessage
  end
end

local function launch_error(ctx, res, f, text)
  local failure = launch_failure.explain(text, res.key, decoder(ctx))
  failure.zone_id = f.zone_id
  local row = instances.find(f.instance_type)
  if failure.class == "quota" and row then
    failure.quota = row.quota
    failure.hint = ("Ask for %s: %d vCPU are needed"):format(row.quota, row.vcpu * f.count)
  end
  return mismatch(ctx, res, f, failure)
end

-- The issue that says that nodes do not join, among all; else the first one.
local function telling(group)
  local issues = group.health and group.health.issues or {}
  for _, issue in ipairs(issues) do
    if issue.code == "NodeCreationFailure" then return issue, true end
  end
  return issues[1]
end

-- Auto Scaling tries every launch again: what has no name of ours may have passed by then.
local function is_final(text, count)
  return launch_failure.class(text) ~= "other" or count > 1
end

-- What is wrong with a group that is not ACTIVE: an error, or nil and a text to show.
local function trouble(ctx, res, f, group)
  local live = live_of(group)
  if live.asg then
    local text, count, failure = failed_activity(ctx, live.asg)
    if failure then return failure end
    if text and is_final(text, count) then return launch_error(ctx, res, f, text) end
    if text then return nil, "Auto Scaling tries again: " .. text end
  end
  local text, issue, joins_not = eks.issues(group), telling(group)
  if joins_not then return node_join.explain(ctx, res, group, issue) end
  if issue and (live.failed or launch_failure.class(text) ~= "other") then
    local failure = launch_error(ctx, res, f, text)
    failure.hint = failure.hint or next_steps[issue.code]
    return failure
  elseif live.failed then
    return eks.gave_up(res, group.status, group)
  end
  return nil, text or group.status
end

-- Without the network's add-on no node gets Ready: EKS says so after 25 minutes, and of the nodes.
local function without_network(ctx, res, f)
  local cni = addon.describe(ctx, f.cluster, "vpc-cni")
  if not (cni and cni.failed) then return nil end
  return err.new { code = "RTL-PLAN-017", doing = res.key,
    message = "its nodes can't get Ready: the add-on vpc-cni is " .. cni.failed,
    hint = cni.next_step or "Run the same command again: a failed add-on is made anew" }
end

local LOOK_CLOSER = 8 -- every so many looks: two minutes

local function wait(ctx, res, f)
  local looks = 0
  return support.wait({ ctx = ctx, res = res, every = 15, limit = 3000, what = "ACTIVE" },
    function ()
      looks = looks + 1
      local group, refused = describe(ctx, f.cluster, name_of(res))
      if refused then return nil, refused end
      if not group then return false, "not visible yet" end
      if group.status == "ACTIVE" then return live_of(group) end
      local failure, text = trouble(ctx, res, f, group)
      if not failure and looks % LOOK_CLOSER == 0 then
        failure = without_network(ctx, res, f)
          or give_up(ctx, res, node_join.hopeless(ctx, res, f.cluster, group))
      end
      if failure then return nil, failure end
      return false, text
    end)
end

local function run_update(ctx, res, f, op, params)
  params.clusterName, params.nodegroupName = f.cluster, name_of(res)
  return eks.update(ctx, res, { name = f.cluster, nodegroupName = name_of(res) }, function ()
    return ctx:aws("eks"):call(op, params)
  end)
end

local function config_changes(f, changes)
  local params
  for _, change in ipairs(changes) do
    params = params or {}
    if change.field == "count" then params.scalingConfig = scaling(f) end
    if change.field == "labels" then params.labels = { addOrUpdateLabels = f.labels } end
    if change.field == "taints" then params.taints = { addOrUpdateTaints = taints_of(f) } end
    if change.held then
      params.scalingConfig = scaling(f)
      params.updateConfig, params.nodeRepairConfig = UPDATE, REPAIR
    end
  end
  return params and next(params) and params
end

-- What a run that died began to change comes to its end first: it may be all that is wanted, and
-- a second time would replace the new nodes.
local function still_wanted(ctx, res, f, live, changes)
  if live.status ~= "UPDATING" then return changes end
  local now, failure = support.wait({ ctx = ctx, res = res, every = 10, limit = 3600,
    what = "update" }, function ()
    local group, refused = describe(ctx, f.cluster, name_of(res))
    if refused then return nil, refused end
    if group and group.status == "UPDATING" then return false, "update in progress" end
    return group and live_of(group) or live -- where there is none any more, the update is refused
  end)
  return now and diff(ctx, res, f, now), failure
end

local function update(ctx, res, f, live, found)
  local changes, unread = still_wanted(ctx, res, f, live, found)
  if not changes then return nil, unread end
  local params = config_changes(f, changes)
  if params then
    local done, failure = run_update(ctx, res, f, "update_nodegroup_config", params)
    if not done then return nil, failure end
  end
  for _, change in ipairs(changes) do
    if change.field == "launch_template_version" then
      return run_update(ctx, res, f, "update_nodegroup_version", { launchTemplate = {
        id = f.launch_template_id, version = f.launch_template_version } })
    end
  end
  return true
end

local function delete_once(ctx, item)
  local cluster = item.outputs.cluster
  local done, failure = support.delete(ctx, item, function ()
    return ctx:aws("eks"):delete_nodegroup { clusterName = cluster, nodegroupName = item.id }
  end, { look = function () return describe(ctx, cluster, item.id) end })
  if not done then return nil, failure end
  return eks.wait_deleted(ctx, item, function ()
    return describe(ctx, cluster, item.id)
  end, { every = 15, limit = 3600 })
end

-- EKS gives a deletion up (DELETE_FAILED) for what often has gone a minute later, a security group
-- in use say; meanwhile the machines bill.
local DELETIONS = 3

local function delete(ctx, item)
  for try = 1, DELETIONS do
    local done, failure = delete_once(ctx, item)
    if done or failure.code ~= "RTL-PLAN-017" or try == DELETIONS then return done, failure end
    ctx:waiting(item, failure.message .. ": once more")
  end
end

local function hourly(ctx, instance_type, count)
  local price, source = pricing.of(ctx, instance_type)
  return price and price * count, source
end

-- A capacity block was paid when it was bought.
local function price_of_nodes(ctx, f)
  local what, price, source = ("%d × %s"):format(f.count, f.instance_type),
    hourly(ctx, f.instance_type, f.count)
  if f.capacity_type ~= "CAPACITY_BLOCK" then return what, price, source end
  return what .. " of a capacity block, which was paid when it was bought", 0.0, source
end

-- Instances with their disks, and once what each node pulls of the Ray image.
local function cost(ctx, _, f)
  local what, price, source = price_of_nodes(ctx, f)
  if not price then return { unknown = true, what = what } end
  if f.disk_gib then
    what = ("%s, %d GiB each"):format(what, f.disk_gib)
    price = price + pricing.storage(ctx, "gp3_gb_month", f.disk_gib) * f.count
  end
  local each, away = pricing.of(ctx, "nat_gateway_gb"), 2 * pricing.of(ctx, "cross_zone_gb")
  local crosses = f.nat_zone and f.zone_id and f.nat_zone ~= f.zone_id
  return { hourly = price, what = what, source = source, units = f.count, each = each,
    home = f.nat_zone, away = away, once_what = "image pulls", once_gb = f.count * prices.image_gb,
    once = f.count * prices.image_gb * (each + (crosses and away or 0)) }
end

local function lease(res)
  return { action = "eks:deleteNodegroup", delay = 0, input = { ClusterName = res.fields.cluster,
    NodegroupName = name_of(res) }, resource = ref.map(res.fields.cluster, function (cluster)
      return ("nodegroup/%s/%s/*"):format(cluster, name_of(res))
    end) }
end

-- A group in a cluster, if it is ours: for find_inside.
local function item_of(ctx, cluster, name)
  local group, failure = describe(ctx, cluster, name)
  if not group or not support.is_ours(ctx, group.tags or {}) then return nil, failure end
  local live = live_of(group)
  return { id = name, outputs = live,
    name = (group.tags["rtl:resource"] or ""):match("/(.*)$") or name,
    hourly = live.instance_type and hourly(ctx, live.instance_type, live.count or 0) }
end

-- Our groups in clusters of ours and in the given one. A group of others stays, and so does its
-- cluster.
local function find_inside(ctx, found)
  local names, failure = support.in_clusters(ctx, found, "list_nodegroups", function (cluster, name)
    return { cluster = cluster, name = name }
  end)
  if not names then return nil, failure end
  local list, unread = support.in_given_cluster(ctx, "list_nodegroups", function (cluster, name)
    return item_of(ctx, cluster, name)
  end)
  if not list then return nil, unread end
  for _, one in ipairs(names) do
    local item, refused = item_of(ctx, one.cluster, one.name)
    if refused then return nil, refused end
    list[#list + 1] = item
  end
  return list
end

return kind.define {
  name = "node_group",
  outputs = { "group_name", "asg", "cluster" },
  fields = { cluster = "string", role_arn = "string", subnet_ids = "list", instance_type = "string",
    count = "integer", ami_type = "string", labels = "table?", taints = "list?",
    launch_template_id = "string?", launch_template_version = "string?", capacity_type = "string?",
    zone_id = "string?", group_name = "string?", disk_gib = "integer?",
    nat_zone = "string?" },
  identity = { "instance_type", "ami_type", "zone_id", "group_name" },
  within = { "cluster" },
  reads_with = { "cluster" },
  known = function (_, res) return { group_name = name_of(res) } end,
  read = read,
  diff = diff,
  replace_when = { "role_arn", "ami_type", "launch_template_id", "capacity_type", "instance_type",
    "subnet_ids" },
  create = create,
  update = update,
  delete = delete,
  tokened = true,
  ready = { wait = wait, usual = 240, delete_usual = 300 },
  depends = { "eks_cluster", "launch_template", "iam_role", "subnet", "security_group",
    "nat_gateway", "route_table", "placement_group", "capacity_reservation", "schedule_group" },
  cost = cost,
  lease = lease,
  used = node_usage.of,
  find_inside = find_inside,
  -- EKS tries a launch from the template with the caller's rights; the template says the rest.
  actions = {
    { "eks:ListNodegroups", "eks:DescribeUpdate", on = "cluster/{cluster}" },
    { "eks:DescribeNodegroup", "eks:DescribeUpdate", on = "nodegroup/{cluster}/*/*" },
    "autoscaling:DescribeScalingActivities", "ec2:DescribeInstances",
    { "eks:DescribeAddon", on = "addon/{cluster}/*/*" },
    { "ec2:GetConsoleOutput", ours = "instance/*" },
    { "eks:CreateNodegroup", new = "cluster/{cluster}" },
    { "eks:TagResource", new = "nodegroup/{cluster}/*/*" },
    { "eks:UpdateNodegroupConfig", "eks:UpdateNodegroupVersion", "eks:DeleteNodegroup",
      ours = "nodegroup/{cluster}/*/*" },
    -- As which of the two EKS takes the role is not written down.
    { "iam:PassRole", on = "{role_arn}", when = { StringEquals = {
      ["iam:PassedToService"] = { "eks.amazonaws.com", "ec2.amazonaws.com" } } } },
    { "iam:CreateServiceLinkedRole",
      on = "role/aws-service-role/eks-nodegroup.amazonaws.com/AWSServiceRoleForAmazonEKSNodegroup",
      when = { StringEquals = { ["iam:AWSServiceName"] = "eks-nodegroup.amazonaws.com" } } },
    { "ec2:RunInstances", ours = "launch-template/*" },
    { "ec2:RunInstances", on = { "instance/*", "network-interface/*", "volume/*",
      "security-group/*", "subnet/*", "arn:{partition}:ec2:{region}::image/*" },
      when = support.BY_TEMPLATE },
    { "ec2:CreateTags", on = { "instance/*", "network-interface/*", "volume/*" },
      when = { StringEquals = { ["ec2:CreateAction"] = "RunInstances" } } },
  },
}
