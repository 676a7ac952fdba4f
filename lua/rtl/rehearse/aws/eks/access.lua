--- EKS: access entries, their policies, pod identity associations.

local array = require "rtl.array"
local fault = require "rtl.rehearse.aws.fault"
local shared = require "rtl.rehearse.aws.eks.shared"
local shelf = require "rtl.rehearse.aws.shelf"

local M = { operations = {} }
local ops = M.operations

local function need_entry(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  if cluster.accessConfig.authenticationMode == "CONFIG_MAP" then
    return fault.fail("InvalidRequestException", "The cluster's authentication mode must be set to "
                      .. "one of [API, API_AND_CONFIG_MAP] to perform this operation.")
  end
  local entry = cluster.entries:get(p.principalArn)
  if entry then return entry, cluster end
  return fault.fail("ResourceNotFoundException", ("The specified principalArn could not be found: "
    .. "%s"):format(p.principalArn))
end

--- Puts an entry in, as EKS itself does for the roles of node groups.
function M.add_entry(call, cluster, principal, kind, p)
  if cluster.entries:get(principal) then return cluster.entries:get(principal) end
  return cluster.entries:add(principal, { clusterName = cluster.name, principalArn = principal,
    type = kind, kubernetesGroups = p and p.kubernetesGroups or array {}, tags = p and p.tags or {},
    username = p and p.username or principal, createdAt = call.world:second(),
    modifiedAt = call.world:second(), policies = shelf.new(),
    accessEntryArn = shared.arn(call, "access-entry", cluster.name, "role", call.account,
      principal:match "([^/]+)$", shared.suffix(call, cluster.name, principal)) })
end

function ops.create_access_entry(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  if cluster.accessConfig.authenticationMode == "CONFIG_MAP" then
    return fault.fail("InvalidRequestException", "The cluster's authentication mode must be set to "
                      .. "one of [API, API_AND_CONFIG_MAP] to perform this operation.")
  end
  refused = shared.not_active(cluster)
  if refused then return nil, refused end
  if not p.principalArn:find "^arn:aws:iam::%d+:[ru][os][le][er]" then
    return fault.fail("InvalidParameterException", "The principalArn parameter format is not valid")
  end
  if cluster.entries:get(p.principalArn) then
    return fault.fail("ResourceInUseException", "The specified access entry resource is already in "
                      .. "use on this cluster.", nil, { clusterName = cluster.name })
  end
  return { accessEntry = M.add_entry(call, cluster, p.principalArn, p.type or "STANDARD", p) }
end

function ops.describe_access_entry(call, p)
  local entry, refused = need_entry(call, p)
  return entry and { accessEntry = entry }, not entry and refused or nil
end

function ops.list_access_entries(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  local list = array {}
  for _, entry in ipairs(cluster.entries:all()) do
    if not p.associatedPolicyArn or entry.policies:get(p.associatedPolicyArn) then
      list[#list + 1] = entry.principalArn
    end
  end
  return { accessEntries = list }
end

function ops.update_access_entry(call, p)
  local entry, refused = need_entry(call, p)
  if not entry then return nil, refused end
  entry.kubernetesGroups = p.kubernetesGroups or entry.kubernetesGroups
  entry.username = p.username or entry.username
  return { accessEntry = entry }
end

function ops.delete_access_entry(call, p)
  local entry, cluster = need_entry(call, p)
  if not entry then return nil, cluster end
  cluster.entries:remove(p.principalArn)
  return {}
end

local POLICIES = {}
for _, name in ipairs { "ClusterAdmin", "Admin", "AdminView", "Edit", "View" } do
  POLICIES[("arn:aws:eks::aws:cluster-access-policy/AmazonEKS%sPolicy"):format(name)] = true
end

function ops.associate_access_policy(call, p)
  local entry, cluster = need_entry(call, p)
  if not entry then return nil, cluster end
  if not POLICIES[p.policyArn] then
    return fault.fail("InvalidParameterException", "The policyArn parameter format is not valid")
  end
  if not entry.policies:get(p.policyArn) then
    entry.policies:add(p.policyArn, { policyArn = p.policyArn, accessScope = p.accessScope,
      associatedAt = call.world:second(), modifiedAt = call.world:second() })
  end
  local policy = entry.policies:get(p.policyArn)
  policy.accessScope = p.accessScope
  return { clusterName = cluster.name, principalArn = entry.principalArn,
           associatedAccessPolicy = policy }
end

function ops.disassociate_access_policy(call, p)
  local entry, refused = need_entry(call, p)
  if not entry then return nil, refused end
  if not entry.policies:get(p.policyArn) then
    return fault.fail("ResourceNotFoundException", "The policy is not associated")
  end
  entry.policies:remove(p.policyArn)
  return {}
end

function ops.list_associated_access_policies(call, p)
  local entry, cluster = need_entry(call, p)
  if not entry then return nil, cluster end
  return { clusterName = cluster.name, principalArn = entry.principalArn,
           associatedAccessPolicies = array(entry.policies:all()) }
end

function ops.create_pod_identity_association(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  local role
  role, refused = shared.role(call, p.roleArn, "pods.eks.amazonaws.com", {})
  if not role then return nil, refused end
  if cluster.associations:first(function (it)
    return it.namespace == p.namespace and it.serviceAccount == p.serviceAccount
  end) then
    return fault.fail("ResourceInUseException", "Association already exists", nil,
                      { clusterName = cluster.name })
  end
  local id = "a-" .. require "rtl.rehearse.chance".letters(17, call.world.seed, "association",
    cluster.arn, call.world:count "association")
  local item = cluster.associations:add(id, { clusterName = cluster.name, associationId = id,
    namespace = p.namespace, serviceAccount = p.serviceAccount, roleArn = p.roleArn,
    createdAt = call.world:second(), modifiedAt = call.world:second(), tags = p.tags or {},
    policy = p.policy,
    associationArn = shared.arn(call, "podidentityassociation", cluster.name, id) })
  return { association = item }
end

local function need_association(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  local item = cluster.associations:get(p.associationId)
  if item then return item, cluster end
  return fault.fail("ResourceNotFoundException", "Association not found: " .. p.associationId)
end

function ops.describe_pod_identity_association(call, p)
  local item, refused = need_association(call, p)
  return item and { association = item }, not item and refused or nil
end

function ops.list_pod_identity_associations(call, p)
  local cluster, refused = shared.need_cluster(call, p.clusterName)
  if not cluster then return nil, refused end
  return { associations = array(cluster.associations:all(function (it)
    return (not p.namespace or it.namespace == p.namespace)
       and (not p.serviceAccount or it.serviceAccount == p.serviceAccount)
  end)) }
end

function ops.update_pod_identity_association(call, p)
  local item, refused = need_association(call, p)
  if not item then return nil, refused end
  item.roleArn = p.roleArn or item.roleArn
  return { association = item }
end

function ops.delete_pod_identity_association(call, p)
  local item, cluster = need_association(call, p)
  if not item then return nil, cluster end
  cluster.associations:remove(item.associationId)
  return { association = item }
end

return M
