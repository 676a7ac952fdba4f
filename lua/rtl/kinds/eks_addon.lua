--- An EKS add-on. It is made and not waited for, since coredns is DEGRADED until a node exists and
-- no node gets ready without vpc-cni: declare add-ons before node groups, `addons_active` after.
-- eks_addon "vpc-cni" { cluster = c.cluster_name } → addon_version

local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local BROKEN = { CREATE_FAILED = true, DELETE_FAILED = true }

local function live_of(addon)
  local issue = addon.health and addon.health.issues and addon.health.issues[1]
  local live = { id = addon.addonName, addon_version = addon.addonVersion, status = addon.status,
    configuration = addon.configurationValues, role_arn = addon.serviceAccountRoleArn,
    issue = issue and ("%s: %s"):format(issue.code, issue.message or ""), tags = addon.tags }
  if BROKEN[addon.status] then
    live.failed = addon.status .. (live.issue and " (" .. live.issue .. ")" or "")
  end
  return live
end

--- What EKS says of an add-on of a cluster: a table, nil when there is none, or nil, err.
local function describe(ctx, cluster, name)
  local answer, failure = support.absent_if_missing(
    ctx:aws("eks"):describe_addon { clusterName = cluster, addonName = name })
  if not answer then return nil, failure end
  return live_of(answer.addon)
end

local function read(ctx, res, f)
  local live, failure = describe(ctx, f.cluster, res.name)
  if not live or live.status == "DELETING" then return nil, failure end
  live.version, live.cluster = live.addon_version, f.cluster
  live.ours = support.is_ours(ctx, live.tags or {})
  return live
end

local function in_use(failure)
  return failure.code == "ResourceInUseException"
end

local function create(ctx, res, f, token)
  local answer, failure = support.insist(ctx, res, 600, in_use, function ()
    return ctx:aws("eks"):create_addon { clusterName = f.cluster, addonName = res.name,
      addonVersion = f.version, configurationValues = f.configuration,
      serviceAccountRoleArn = f.role_arn, resolveConflicts = "OVERWRITE",
      tags = ctx:tags_for(res), clientRequestToken = token }
  end)
  if not answer then return nil, failure end
  local live = live_of(answer.addon)
  live.cluster = f.cluster
  return live
end

local function update(ctx, res, f)
  local answer, failure = support.insist(ctx, res, 600, in_use, function ()
    return ctx:aws("eks"):update_addon { clusterName = f.cluster, addonName = res.name,
      addonVersion = f.version, configurationValues = f.configuration,
      serviceAccountRoleArn = f.role_arn, resolveConflicts = "OVERWRITE" }
  end)
  if not answer then return nil, failure end
  return support.wait({ ctx = ctx, res = res, every = 5, limit = 900, what = "update" }, function ()
    local now, refused = ctx:aws("eks"):describe_update { name = f.cluster,
      updateId = answer.update.id, addonName = res.name }
    if not now then return nil, refused end
    if now.update.status == "Successful" then return true end
    if now.update.status == "InProgress" then return false, "update in progress" end
    local problem = now.update.errors and now.update.errors[1] or {}
    return nil, err.new { code = problem.errorCode or "RTL-PLAN-017", doing = res.key,
      message = problem.errorMessage or "the update " .. now.update.status }
  end)
end

local function delete(ctx, item)
  local cluster = item.outputs.cluster
  local done, failure = support.delete(ctx, item, function ()
    return ctx:aws("eks"):delete_addon { clusterName = cluster, addonName = item.id }
  end)
  if not done then return nil, failure end
  return support.wait({ ctx = ctx, res = item, every = 5, limit = 900, what = "deleted" },
    function ()
      local live, refused = describe(ctx, cluster, item.id)
      if refused then return nil, refused end
      if live and live.status == "DELETE_FAILED" then
        return nil, err.new { code = "RTL-PLAN-017", doing = item.key, message = live.failed }
      end
      return live == nil, live and live.status
    end)
end

-- In clusters that are ours, whoever made them: they go with the cluster.
local function find_inside(ctx, found)
  return support.in_clusters(ctx, found, "list_addons", function (cluster, name)
    return { id = name, name = name, outputs = { cluster = cluster } }
  end)
end

return kind.define {
  name = "eks_addon",
  outputs = { "addon_version", "cluster" },
  fields = { cluster = "string", version = "string?", configuration = "table?",
    role_arn = "string?" },
  within = { "cluster" },
  reads_with = { "cluster" },
  read = read,
  compare = { "version", "configuration", "role_arn" },
  create = create,
  update = update,
  delete = delete,
  carrier = support.in_cluster,
  tokened = true,
  ready = { usual = 5, delete_usual = 30 },
  depends = { "eks_cluster" },
  find_inside = find_inside,
  describe = describe,
  actions = {
    { "eks:ListAddons", "eks:DescribeUpdate", on = "cluster/{cluster}" },
    { "eks:DescribeAddon", "eks:DescribeUpdate", on = "addon/{cluster}/*/*" },
    { "eks:CreateAddon", new = "cluster/{cluster}" },
    { "eks:TagResource", new = "addon/{cluster}/*/*" },
    { "eks:UpdateAddon", "eks:DeleteAddon", ours = "addon/{cluster}/*/*" },
  },
}
