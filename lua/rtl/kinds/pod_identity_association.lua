--- Gives pods of a service account an IAM role (EKS Pod Identity).
-- pod_identity_association "ray" { cluster = c.cluster_name, namespace = "ray-train",
--   service_account = "ray", role_arn = role.arn } → id

local eks = require "rtl.kinds.eks"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local function describe(ctx, cluster, id)
  local answer, failure = support.absent_if_missing(
    ctx:aws("eks"):describe_pod_identity_association { clusterName = cluster, associationId = id })
  if not answer then return nil, failure end
  local one = answer.association
  return { id = one.associationId, cluster = cluster, role_arn = one.roleArn,
    namespace = one.namespace, service_account = one.serviceAccount,
    ours = support.is_ours(ctx, one.tags or {}),
    resource = ((one.tags or {})["rtl:resource"] or ""):match("/(.*)$") }
end

-- The pair of namespace and account is the key: EKS allows one association for it.
local function read(ctx, _, f)
  local list, failure = ctx:aws("eks"):all("list_pod_identity_associations",
    { clusterName = f.cluster, namespace = f.namespace, serviceAccount = f.service_account })
  if not list and support.not_found(failure) then return nil end
  if not list then return nil, failure end
  for _, one in ipairs(list) do
    if one.namespace == f.namespace and one.serviceAccount == f.service_account then
      return describe(ctx, f.cluster, one.associationId)
    end
  end
end

local function create(ctx, res, f, token)
  local answer, failure = support.insist(ctx, res, 120, eks.role_not_seen, function ()
    return ctx:aws("eks"):create_pod_identity_association {
      clusterName = f.cluster, namespace = f.namespace, serviceAccount = f.service_account,
      roleArn = f.role_arn, tags = ctx:tags_for(res), clientRequestToken = token }
  end)
  if not answer and failure.code == "ResourceInUseException" then return read(ctx, res, f) end
  if not answer then return nil, failure end
  return { id = answer.association.associationId, cluster = f.cluster, role_arn = f.role_arn }
end

local function update(ctx, _, f, live)
  return ctx:aws("eks"):update_pod_identity_association { clusterName = f.cluster,
    associationId = live.id, roleArn = f.role_arn }
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("eks"):delete_pod_identity_association {
      clusterName = item.outputs.cluster, associationId = item.id }
  end, { look = function () return describe(ctx, item.outputs.cluster, item.id) end })
end

-- Those in a cluster of ours go with it.
local function find_inside(ctx)
  return support.in_given_cluster(ctx, "list_pod_identity_associations", function (cluster, one)
    local live, failure = describe(ctx, cluster, one.associationId)
    if not live or not live.ours then return nil, failure end
    return { id = live.id, name = live.resource or live.id, outputs = { cluster = cluster } }
  end)
end

return kind.define {
  name = "pod_identity_association",
  outputs = { "id", "cluster" },
  fields = { cluster = "string", namespace = "string", service_account = "string",
    role_arn = "string" },
  identity = { "namespace", "service_account" },
  within = { "cluster" },
  reads_with = { "cluster" },
  read = read,
  compare = { "role_arn" },
  create = create,
  update = update,
  delete = delete,
  find_inside = find_inside,
  carrier = support.in_cluster,
  tokened = true,
  ready = { usual = 2, delete_usual = 2 },
  depends = { "eks_cluster", "iam_role" },
  actions = {
    { "eks:ListPodIdentityAssociations", on = "cluster/{cluster}" },
    { "eks:DescribePodIdentityAssociation", on = "podidentityassociation/{cluster}/*" },
    { "eks:CreatePodIdentityAssociation", new = "cluster/{cluster}" },
    { "eks:TagResource", new = "podidentityassociation/{cluster}/*" },
    { "eks:UpdatePodIdentityAssociation", "eks:DeletePodIdentityAssociation",
      ours = "podidentityassociation/{cluster}/*" },
    -- As which of the two EKS takes the role is not written down.
    { "iam:PassRole", on = "{role_arn}", when = { StringEquals = {
      ["iam:PassedToService"] = { "pods.eks.amazonaws.com", "eks.amazonaws.com" } } } },
  },
}
