--- An EKS control plane.
-- eks_cluster "ray-train" { version = "1.36", role_arn = role.arn, subnet_ids = {…},
--   public_cidrs = { "0.0.0.0/0" } } → cluster_name, endpoint, ca, security_group_id, arn
-- Access by API entries only, no self-managed add-ons, standard support, private endpoint on.

local array = require "rtl.array"
local compare = require "rtl.plan.compare"
local eks = require "rtl.kinds.eks"
local err = require "rtl.err"
local keys = require "rtl.keys"
local kind = require "rtl.plan.kind"
local launch_failure = require "rtl.kinds.launch_failure"
local pricing = require "rtl.kinds.pricing"
local support = require "rtl.kinds.support"

local function name_of(_, res)
  return res.given or res.name
end

local function live_of(cluster)
  local vpc = cluster.resourcesVpcConfig or {}
  local ca = cluster.certificateAuthority
  local live = { id = cluster.name, cluster_name = cluster.name, arn = cluster.arn,
    version = cluster.version, endpoint = cluster.endpoint, ca = ca and ca.data,
    security_group_id = vpc.clusterSecurityGroupId, vpc_id = vpc.vpcId,
    subnet_ids = vpc.subnetIds or {}, public_cidrs = vpc.publicAccessCidrs,
    private_endpoint = vpc.endpointPrivateAccess, public_endpoint = vpc.endpointPublicAccess,
    role_arn = cluster.roleArn,
    support_type = cluster.upgradePolicy and cluster.upgradePolicy.supportType,
    authentication = cluster.accessConfig and cluster.accessConfig.authenticationMode,
    status = cluster.status }
  if cluster.status == "FAILED" then live.failed = "the control plane failed" end
  if cluster.status ~= "ACTIVE" then live.ready = false end
  return live
end

--- What EKS says of a cluster: a table, nil when there is none, or nil, err.
local function describe(ctx, name)
  local answer, failure = ctx:aws("eks"):describe_cluster { name = name }
  if answer then return answer.cluster end
  local gone = support.not_found(failure) or (failure.message or ""):find("No cluster found")
  if gone then return nil end
  return nil, failure
end

local function read(ctx, res)
  local cluster, failure = describe(ctx, name_of(ctx, res))
  if not cluster then return nil, failure end
  if not res.given and not support.is_ours(ctx, cluster.tags or {}) then
    return nil, support.stranger(res, "cluster " .. cluster.name)
  end
  return live_of(cluster)
end

-- A given cluster is taken as it is, if nodes and access entries can come into it.
local function differences_of_given(f, live)
  local want = { vpc_id = f.vpc_id, status = "ACTIVE" }
  if live.authentication == "CONFIG_MAP" then want.authentication = "API_AND_CONFIG_MAP" end
  return compare.fields({ "vpc_id", "status", "authentication" }, want, live)
end

-- What is fixed for a cluster of our own is compared where the answer has it.
local FIXED = { authentication = "API", support_type = "STANDARD", private_endpoint = true,
  public_endpoint = true }

local function diff(_, res, f, live)
  if res.given then return differences_of_given(f, live) end
  local want = { version = f.version, role_arn = f.role_arn }
  for field, value in keys.pairs(FIXED) do
    if live[field] ~= nil then want[field] = value end
  end
  local changes = compare.fields({ "version", "role_arn", "authentication", "private_endpoint",
    "public_endpoint", "support_type" }, want, live)
  if f.subnet_ids and not compare.same_set(f.subnet_ids, live.subnet_ids) then
    changes[#changes + 1] = { field = "subnet_ids", want = f.subnet_ids, have = live.subnet_ids }
  end
  if f.public_cidrs and not compare.same_set(f.public_cidrs, live.public_cidrs) then
    changes[#changes + 1] = { field = "public_cidrs", want = f.public_cidrs,
      have = live.public_cidrs }
  end
  return changes
end

local function request(ctx, res, f, token)
  return { name = res.name, version = f.version, roleArn = f.role_arn,
    resourcesVpcConfig = { subnetIds = f.subnet_ids, endpointPublicAccess = true,
      endpointPrivateAccess = true, publicAccessCidrs = f.public_cidrs or array { "0.0.0.0/0" } },
    accessConfig = { authenticationMode = "API", bootstrapClusterCreatorAdminPermissions = true },
    bootstrapSelfManagedAddons = false,
    upgradePolicy = { supportType = "STANDARD" },
    logging = f.log_types and { clusterLogging = array { {
      types = f.log_types, enabled = true } } } or nil,
    tags = ctx:tags_for(res), clientRequestToken = token }
end

-- The zone that EKS refuses for control planes, and those that it takes: as members, else in the
-- text. Nodes may stand in the refused one all the same.
local function name_zones(failure)
  local zone, others = launch_failure.zones(failure.message)
  failure.zone_name = zone
  failure.zones = failure.fields and failure.fields.validZones or others
  failure.hint = ("EKS puts no control plane into %s; it does into %s. Nodes may stand there all "
    .. "the same"):format(zone or "this zone", table.concat(failure.zones, ", "))
end

local function create(ctx, res, f, token)
  local answer, failure = support.insist(ctx, res, 120, eks.role_not_seen, function ()
    return ctx:aws("eks"):create_cluster(request(ctx, res, f, token))
  end)
  if answer then return live_of(answer.cluster) end
  if failure.code == "UnsupportedAvailabilityZoneException" then name_zones(failure) end
  return nil, failure
end

local function wait(ctx, res)
  return support.wait({ ctx = ctx, res = res, every = 15, limit = 2400, what = "ACTIVE" },
    function ()
      local cluster, failure = describe(ctx, name_of(ctx, res))
      if failure then return nil, failure end
      if not cluster then return false, "not visible yet" end
      if cluster.status == "ACTIVE" then return live_of(cluster) end
      if cluster.status == "FAILED" or cluster.status == "DELETING" then
        return nil, eks.gave_up(res, "the control plane is " .. cluster.status, cluster)
      end
      local issues = eks.issues(cluster)
      return false, cluster.status .. (issues and ": " .. issues or "")
    end)
end

local function run_update(ctx, res, params)
  return eks.update(ctx, res, { name = params.name }, function ()
    return ctx:aws("eks"):update_cluster_config(params)
  end)
end

-- The three are set by one call.
local ENDPOINT = { public_cidrs = true, private_endpoint = true, public_endpoint = true }

-- What UpdateClusterConfig is to be told for a change; nil for one that no living cluster takes.
local function told(f, field)
  if ENDPOINT[field] then
    return { resourcesVpcConfig = { publicAccessCidrs = f.public_cidrs,
      endpointPublicAccess = true, endpointPrivateAccess = true } }
  elseif field == "subnet_ids" then
    return { resourcesVpcConfig = { subnetIds = f.subnet_ids } }
  elseif field == "authentication" then
    return { accessConfig = { authenticationMode = "API" } }
  elseif field == "support_type" then
    return { upgradePolicy = { supportType = "STANDARD" } }
  end
end

-- EKS takes one such change at a time.
local function update(ctx, res, f, live, changes)
  local sent = {}
  for _, change in ipairs(changes) do
    local params, part = told(f, change.field), ENDPOINT[change.field] and "endpoint"
      or change.field
    if not params then
      return err.fail { code = "RTL-PLAN-009", doing = res.key, exit = "refused",
        message = ("the %s of a living cluster is not changed by rtl"):format(change.field) }
    end
    if not sent[part] then
      sent[part], params.name = true, live.id
      local done, failure = run_update(ctx, res, params)
      if not done then return nil, failure end
    end
  end
  return true
end

-- Node groups in it that are not ours: array of names | nil, err.
local function users(ctx, item)
  local list, failure = ctx:aws("eks"):all("list_nodegroups", { clusterName = item.id })
  if not list and support.not_found(failure) then return {} end
  if not list then return nil, failure end
  local names = {}
  for _, name in ipairs(list) do
    local answer, refused = support.absent_if_missing(
      ctx:aws("eks"):describe_nodegroup { clusterName = item.id, nodegroupName = name })
    if refused then return nil, refused end
    if answer and not support.is_ours(ctx, answer.nodegroup.tags or {}) then
      names[#names + 1] = "node group " .. name
    end
  end
  return names
end

-- What came since the teardown was planned.
local function others_groups(ctx, item)
  local names, failure = users(ctx, item)
  if not names then return failure end
  if #names == 0 then return nil end
  return err.new { code = "RTL-PLAN-016", doing = item.key,
    message = "still used by " .. table.concat(names, ", ") .. ", which rtl did not make here" }
end

local function delete(ctx, item)
  local name = item.id or item.name
  local used = others_groups(ctx, item)
  if used then return nil, used end
  local function act()
    local done, failure = ctx:aws("eks"):delete_cluster { name = name }
    if not done and (failure.message or ""):find("No cluster found") then return true end
    return done, failure
  end
  local done, failure = support.delete(ctx, item, act, { limit = 3600,
    look = function () return describe(ctx, name) end })
  if not done then return nil, failure end
  return eks.wait_deleted(ctx, item, function () return describe(ctx, name) end,
    { every = 15, limit = 3600 })
end

local function cost(ctx, _, f)
  local hourly, source, extended = pricing.cluster(ctx, f.version)
  return { hourly = hourly, source = source,
    what = "EKS control plane" .. (extended and ", extended support" or "") }
end

local function used(ctx, item)
  local cluster = describe(ctx, item.id)
  return cluster and { since = cluster.createdAt }
end

-- By then the node groups are gone; until they are, EKS refuses.
local function lease(res)
  return { action = "eks:deleteCluster", input = { Name = res.name }, delay = 600,
    resource = "cluster/" .. res.name }
end

-- The price of an hour of a cluster that stands: its version may not be the one of the settings.
local function price_of(ctx, version)
  pricing.load(ctx, { version = version })
  return (pricing.cluster(ctx, version))
end

local function find(ctx)
  local list, failure = ctx:aws("eks"):all("list_clusters", {})
  if not list then return nil, failure end
  local found = {}
  for _, name in ipairs(list) do
    local cluster, refused = describe(ctx, name)
    if refused then return nil, refused end
    if cluster and support.is_ours(ctx, cluster.tags or {}) then
      found[#found + 1] = { id = name, name = name, hourly = price_of(ctx, cluster.version),
        outputs = live_of(cluster) }
    end
  end
  return found
end

return kind.define {
  name = "eks_cluster",
  outputs = { "cluster_name", "endpoint", "ca", "security_group_id", "vpc_id", "arn", "version" },
  fields = { version = "string", role_arn = "string", subnet_ids = "list", public_cidrs = "list?",
    log_types = "list?", vpc_id = "string?" },
  identity = { "version" },
  known = function (ctx, res) return { cluster_name = name_of(ctx, res) } end,
  read = read,
  diff = diff,
  replace_when = { "version" }, -- up is a change of its own, with nodes and add-ons; down is none
  replaceable = false,
  create = create,
  update = update,
  delete = delete,
  tokened = true,
  ready = { wait = wait, usual = 600, delete_usual = 300 },
  depends = { "iam_role", "subnet", "security_group", "vpc", "log_group", "schedule_group" },
  lease = lease,
  used = used,
  cost = cost,
  find = find,
  users = users,
  describe = describe,
  actions = {
    "eks:ListClusters",
    { "eks:DescribeCluster", on = "cluster/*" }, -- a teardown looks which of them are ours
    { "eks:DescribeUpdate", "eks:ListNodegroups", on = "cluster/{cluster_name}" },
    { "eks:CreateCluster", new = "*" },
    { "eks:TagResource", new = "cluster/{cluster_name}" },
    { "eks:UpdateClusterConfig", "eks:DeleteCluster", ours = "cluster/{cluster_name}" },
    { "iam:PassRole", on = "{role_arn}", when = { StringEquals = {
      ["iam:PassedToService"] = "eks.amazonaws.com" } } },
    { "iam:CreateServiceLinkedRole",
      on = "role/aws-service-role/eks.amazonaws.com/AWSServiceRoleForAmazonEKS",
      when = { StringEquals = { ["iam:AWSServiceName"] = "eks.amazonaws.com" } } },
  },
}
