--- What the handlers of EKS share: look-ups, tokens of updates, checks of roles.

local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local fault = require "rtl.rehearse.aws.fault"

local M = {}

--- The cluster of a call, or nil and ResourceNotFoundException.
function M.need_cluster(call, name)
  local cluster = call.region.clusters:get(name)
  if cluster then return cluster end
  return fault.fail("ResourceNotFoundException", ("No cluster found for name: %s.")
                                                 :format(tostring(name)))
end

--- Nil if a cluster takes changes now, else why not.
function M.not_active(cluster)
  if cluster.status == "ACTIVE" then return nil end
  return fault.new(cluster.status == "UPDATING" and "ResourceInUseException"
    or "InvalidRequestException", ("Cluster is not in ACTIVE status: %s"):format(cluster.status),
    nil, { clusterName = cluster.name })
end

--- A new update of a cluster (or of one of its parts), which ends well after some seconds.
function M.update(call, cluster, kind, params, done)
  local id = call.world:uuid "update"
  local update = { id = id, type = kind, status = "InProgress", createdAt = call.world:second(),
                   errors = array {}, params = array {} }
  for i, pair in ipairs(params or {}) do
    update.params[i] = { type = pair[1], value = tostring(pair[2]) }
  end
  cluster.updates[id] = update
  call.world:after(call.world:spread(15, 60, "update", id), function ()
    update.status = "Successful"
    if done then done() end
  end)
  return update
end

--- ARN of something of a cluster.
function M.arn(call, kind, ...)
  local tail = table.concat({ ... }, "/")
  return ("arn:aws:eks:%s:%s:%s/%s"):format(call.region.name, call.account, kind, tail)
end

--- The last part of the ARNs of parts of a cluster.
function M.suffix(call, ...)
  return chance.uuid(call.world.seed, "eks", call.region.name, ...)
end

local function trusts(role, service)
  for _, statement in ipairs(role.AssumeRolePolicyDocument.Statement or {}) do
    local who = type(statement.Principal) == "table" and statement.Principal.Service
    for _, name in ipairs(type(who) == "table" and who or { who }) do
      if name == service and statement.Effect == "Allow" then return true end
    end
  end
  return false
end

--- The role behind an ARN if `service` may use it now and it has one of each group of policies in
-- `policies`; else nil and the fault that EKS gives.
function M.role(call, arn, service, policies)
  local role = call.aws.iam.roles:first(function (it) return it.Arn == arn end)
  local function invalid(text)
    return fault.fail("InvalidParameterException", text)
  end
  if not role or role.usable_at > call.world:now() then
    return invalid(("Role with arn: %s, could not be assumed because it does not exist or the "
                    .. "trusted entity is not correct"):format(arn))
  end
  if not trusts(role, service) then
    return invalid(("Role with arn: %s could not be assumed because the trusted entity is not "
                    .. "correct"):format(arn))
  end
  for _, group in ipairs(policies) do
    local found = false
    for _, name in ipairs(group) do
      if role.attached:get("arn:aws:iam::aws:policy/" .. name) then found = true end
    end
    if not found then
      return invalid(("The role %s doesn't have the Amazon EKS Managed Policies associated with "
                      .. "it. The IAM role's policy must include %s"):format(arn, group[1]))
    end
  end
  return role
end

return M
