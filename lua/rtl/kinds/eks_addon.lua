--- An EKS add-on. It is made and not waited for, since coredns is DEGRADED until a node exists and
-- no node gets ready without vpc-cni: declare add-ons before node groups, `addons_active` after.
-- eks_addon "vpc-cni" { cluster = c.cluster_name } → addon_version

local eks = require "rtl.kinds.eks"
local kind = require "rtl.plan.kind"
local next_steps = require "rtl.kinds.health_issues"
local support = require "rtl.kinds.support"

local BROKEN = { CREATE_FAILED = true, DELETE_FAILED = true }

local function live_of(addon)
  local text, issue = eks.issues(addon)
  local live = { id = addon.addonName, addon_version = addon.addonVersion, status = addon.status,
    configuration = addon.configurationValues, role_arn = addon.serviceAccountRoleArn,
    issue = text, next_step = issue and next_steps[issue.code], tags = addon.tags }
  if BROKEN[addon.status] then
    live.failed = addon.status .. (live.issue and " (" .. live.issue .. ")" or "")
  end
  return live
end

local function find(ctx, cluster, name)
  local answer, failure = support.absent_if_missing(
    ctx:aws("eks"):describe_addon { clusterName = cluster, addonName = name })
  return answer and answer.addon, failure
end

--- What EKS says of an add-on of a cluster: a table, nil when there is none, or nil, err.
local function describe(ctx, cluster, name)
  local addon, failure = find(ctx, cluster, name)
  if not addon then return nil, failure end
  return live_of(addon)
end

local function read(ctx, res, f)
  local live, failure = describe(ctx, f.cluster, res.name)
  if not live or live.status == "DELETING" then return nil, failure end
  live.version, live.cluster = live.addon_version, f.cluster
  live.ours = support.is_ours(ctx, live.tags or {})
  return live
end

local function create(ctx, res, f, token)
  local answer, failure = support.insist(ctx, res, 600, eks.busy, function ()
    return ctx:aws("eks"):create_addon { clusterName = f.cluster, addonName = res.name,
      addonVersion = f.version, configurationValues = f.configuration,
      serviceAccountRoleArn = f.role_arn, resolveConflicts = f.conflicts or "OVERWRITE",
      tags = ctx:tags_for(res), clientRequestToken = token }
  end)
  if not answer then return nil, failure end
  local live = live_of(answer.addon)
  live.cluster = f.cluster
  return live
end

local function update(ctx, res, f)
  return eks.update(ctx, res, { name = f.cluster, addonName = res.name }, function ()
    return ctx:aws("eks"):update_addon { clusterName = f.cluster, addonName = res.name,
      addonVersion = f.version, configurationValues = f.configuration,
      serviceAccountRoleArn = f.role_arn, resolveConflicts = f.conflicts or "OVERWRITE" }
  end)
end

-- What is made anew at once keeps its pods meanwhile: a cluster without DNS would be the price.
local function delete(ctx, item)
  local cluster = item.outputs.cluster
  local done, failure = support.delete(ctx, item, function ()
    return ctx:aws("eks"):delete_addon { clusterName = cluster, addonName = item.id,
      preserve = item.replaced }
  end, { look = function () return find(ctx, cluster, item.id) end })
  if not done then return nil, failure end
  return eks.wait_deleted(ctx, item, function ()
    return find(ctx, cluster, item.id)
  end, { every = 5, limit = 900 })
end

-- In clusters that are ours, whoever made them: they go with the cluster.
local function item_of(cluster, name)
  return { id = name, name = name, outputs = { cluster = cluster } }
end

-- All of a cluster of ours, which go with it; of a given one those that are ours.
local function find_inside(ctx, found)
  local list, failure = support.in_given_cluster(ctx, "list_addons", function (cluster, name)
    local addon, refused = find(ctx, cluster, name)
    if not addon or not support.is_ours(ctx, addon.tags or {}) then return nil, refused end
    return item_of(cluster, name)
  end)
  if not list then return nil, failure end
  local carried, unread = support.in_clusters(ctx, found, "list_addons", item_of)
  if not carried then return nil, unread end
  return table.move(carried, 1, #carried, #list + 1, list)
end

return kind.define {
  name = "eks_addon",
  outputs = { "addon_version", "cluster" },
  fields = { cluster = "string", version = "string?", configuration = "table?",
    role_arn = "string?", conflicts = "string?" },
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
