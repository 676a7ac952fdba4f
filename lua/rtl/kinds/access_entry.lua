--- Access of an IAM principal to the cluster's API, with one of EKS' access policies.
-- access_entry "ops" { cluster = c.cluster_name, principal_arn = "arn:aws:iam::…:role/ops",
--   policy = "AmazonEKSClusterAdminPolicy" }
-- The principal is a role or user with its path, never a session (assumed-role).

local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local function policy_arn(ctx, name)
  if name:match("^arn:") then return name end
  return ("arn:%s:eks::aws:cluster-access-policy/%s"):format(ctx.partition, name)
end

local function policies(ctx, f)
  local list, failure = ctx:aws("eks"):all("list_associated_access_policies",
    { clusterName = f.cluster, principalArn = f.principal_arn })
  if not list then return nil, failure end
  local arns = {}
  for _, one in ipairs(list) do arns[one.policyArn] = true end
  return arns
end

local function describe(ctx, cluster, principal)
  return support.absent_if_missing(ctx:aws("eks"):describe_access_entry {
    clusterName = cluster, principalArn = principal })
end

local function read(ctx, _, f)
  local answer, failure = describe(ctx, f.cluster, f.principal_arn)
  if not answer then return nil, failure end
  local arns, refused = policies(ctx, f)
  if not arns then return nil, refused end
  return { id = f.principal_arn, cluster = f.cluster, principal_arn = f.principal_arn,
    policies = arns, ours = support.is_ours(ctx, answer.accessEntry.tags or {}) }
end

local function diff(ctx, _, f, live)
  if f.policy and not live.policies[policy_arn(ctx, f.policy)] then
    return { { field = "policy", want = f.policy } }
  end
  return {}
end

local function associate(ctx, res, f)
  if not f.policy then return true end
  return support.insist(ctx, res, 120, support.not_found, function ()
    return ctx:aws("eks"):associate_access_policy { clusterName = f.cluster,
      principalArn = f.principal_arn, policyArn = policy_arn(ctx, f.policy),
      accessScope = { type = "cluster" } }
  end)
end

local function create(ctx, res, f, token)
  if f.principal_arn:match(":assumed%-role/") then
    return err.fail { code = "RTL-PLAN-007", doing = res.key, exit = "refused",
      message = f.principal_arn .. " is a session, not a principal",
      hint = "Give the ARN of the role itself, with its path" }
  end
  local answer, failure = ctx:aws("eks"):create_access_entry { clusterName = f.cluster,
    principalArn = f.principal_arn, type = "STANDARD", kubernetesGroups = f.groups,
    tags = ctx:tags_for(res), clientRequestToken = token }
  if not answer and failure.code ~= "ResourceInUseException" then return nil, failure end
  local live = { id = f.principal_arn, cluster = f.cluster, principal_arn = f.principal_arn }
  local done, refused = associate(ctx, res, f)
  if not done then return nil, refused, live end
  return live
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("eks"):delete_access_entry { clusterName = item.outputs.cluster,
      principalArn = item.id }
  end, { look = function () return describe(ctx, item.outputs.cluster, item.id) end })
end

-- Those in a cluster of ours go with it.
local function find_inside(ctx)
  return support.in_given_cluster(ctx, "list_access_entries", function (cluster, arn)
    local answer, failure = describe(ctx, cluster, arn)
    local tags = answer and answer.accessEntry.tags or {}
    if not support.is_ours(ctx, tags) then return nil, failure end
    return { id = arn, name = (tags["rtl:resource"] or ""):match("/(.*)$") or arn,
      outputs = { cluster = cluster } }
  end)
end

return kind.define {
  name = "access_entry",
  outputs = { "principal_arn", "cluster" },
  fields = { cluster = "string", principal_arn = "string", policy = "string?", groups = "list?" },
  within = { "cluster" },
  reads_with = { "cluster", "principal_arn" },
  read = read,
  diff = diff,
  create = create,
  update = associate,
  delete = delete,
  find_inside = find_inside,
  carrier = support.in_cluster,
  tokened = true,
  ready = { usual = 2, delete_usual = 2 },
  depends = { "eks_cluster" },
  actions = {
    { "eks:DescribeAccessEntry", "eks:ListAssociatedAccessPolicies",
      on = "access-entry/{cluster}/*" },
    { "eks:ListAccessEntries", on = "cluster/{cluster}" },
    { "eks:CreateAccessEntry", new = "cluster/{cluster}" },
    { "eks:TagResource", new = "access-entry/{cluster}/*" },
    { "eks:AssociateAccessPolicy", "eks:DeleteAccessEntry", ours = "access-entry/{cluster}/*" },
  },
}
