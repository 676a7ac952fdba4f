--- An IAM role with attached and inline policies. Its path carries region and deployment, so that
-- teardown finds it without a ledger.
-- iam_role "node" { service = "ec2.amazonaws.com", policies = { "AmazonEKSWorkerNodePolicy" },
--   inline = { checkpoints = {…policy…} } } → arn, role_name
-- conditions: of the trust, e.g. { StringEquals = { ["aws:SourceAccount"] = "…" } }.
-- policies: names of AWS' own policies ("service-role/X" too) or whole ARNs.

local array = require "rtl.array"
local compare = require "rtl.plan.compare"
local keys = require "rtl.keys"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

-- For `actions`: the path below, and the condition that a boundary is set.
local OWN_PATH = "role/rtl/{region}/{deployment}/*"
local BOUNDED = { ArnEquals = { ["iam:PermissionsBoundary"] = "{boundary}" } }

local function path(ctx)
  return ("/rtl/%s/%s/"):format(ctx.region, ctx.deployment)
end

-- Role names are unique in the account, across regions; 64 characters at most.
local function role_name(ctx, res)
  return ("%s-%s"):format(ctx:own_name(res), ctx.region):sub(1, 64)
end

local function name_of(ctx, res)
  return res.given and support.tail(res.given) or role_name(ctx, res)
end

local function trust_actions(service)
  local actions = array { "sts:AssumeRole" }
  if service == "pods.eks.amazonaws.com" then actions[2] = "sts:TagSession" end
  return actions
end

local function trust(f)
  return { Version = "2012-10-17", Statement = array { { Effect = "Allow",
    Principal = { Service = f.service }, Action = trust_actions(f.service),
    Condition = f.conditions } } }
end

local function policy_arn(ctx, name)
  if name:match("^arn:") then return name end
  return ("arn:%s:iam::aws:policy/%s"):format(ctx.partition, name)
end

local function attached(ctx, name)
  local list, failure = ctx:aws("iam"):all("list_attached_role_policies", { RoleName = name })
  if not list then return nil, failure end
  local arns = {}
  for _, policy in ipairs(list) do arns[policy.PolicyArn] = true end
  return arns
end

local function inline(ctx, name)
  local list, failure = ctx:aws("iam"):all("list_role_policies", { RoleName = name })
  if not list then return nil, failure end
  local documents = {}
  for _, policy in ipairs(list) do
    local answer, refused = ctx:aws("iam"):get_role_policy { RoleName = name, PolicyName = policy }
    if not answer then return nil, refused end
    documents[policy] = answer.PolicyDocument
  end
  return documents
end

local function list_of(value)
  return type(value) == "table" and value[1] ~= nil and value or { value }
end

local function has(list, wanted)
  for _, value in ipairs(list_of(list)) do
    if value == wanted then return true end
  end
  return false
end

-- Whether a statement allows all by which a service takes a role.
local function allows(statement, service)
  for _, action in ipairs(trust_actions(service)) do
    if not (has(statement.Action, action) or has(statement.Action, "sts:*")) then return false end
  end
  return true
end

-- The statement of a trust by which a service may take the role, nil where there is none; and the
-- services that its statements name.
local function trusting(document, service)
  local found, named = nil, {}
  for _, one in ipairs(list_of(document and document.Statement)) do
    local services = type(one.Principal) == "table" and one.Principal.Service or nil
    local lets_in = one.Effect == "Allow" and allows(one, service)
    for _, name in ipairs(list_of(lets_in and services or nil)) do named[#named + 1] = name end
    if lets_in and has(services, service) then found = found or one end
  end
  return found, named
end

local function live_of(ctx, role)
  local arns, failure = attached(ctx, role.RoleName)
  if not arns then return nil, failure end
  local documents, refused = inline(ctx, role.RoleName)
  if not documents then return nil, refused end
  return { id = role.RoleName, role_name = role.RoleName, arn = role.Arn, policies = arns,
    inline = documents, trust = role.AssumeRolePolicyDocument,
    boundary = role.PermissionsBoundary and role.PermissionsBoundary.PermissionsBoundaryArn }
end

local function read(ctx, res)
  local answer, failure = support.absent_if_missing(
    ctx:aws("iam"):get_role { RoleName = name_of(ctx, res) })
  if not answer then return nil, failure end
  local role = answer.Role
  if not res.given and not support.is_ours(ctx, support.tags_of(role.Tags)) then
    return nil, support.stranger(res, "role " .. role.RoleName)
  end
  return live_of(ctx, role)
end

local function trust_change(f, live)
  local statement, named = trusting(live.trust, f.service)
  if not statement then
    return { field = "trusted service", want = f.service, have = table.concat(named, ", "),
      trust = true }
  elseif f.conditions and not compare.same(f.conditions, statement.Condition) then
    return { field = "conditions", want = f.conditions, have = statement.Condition, trust = true }
  end
end

-- A policy of AWS' that a given role may have instead, as it says more.
local AS_GOOD = { AmazonEC2ContainerRegistryPullOnly = { "AmazonEC2ContainerRegistryReadOnly",
  "AmazonEC2ContainerRegistryPowerUser", "AmazonEC2ContainerRegistryFullAccess" } }

-- Whether a role has policies beside AWS' own, whose rights only IAM can tell.
local function has_own_policies(live)
  for arn in pairs(live.policies) do
    if not arn:find(":iam::aws:", 1, true) then return true end
  end
  return next(live.inline) ~= nil
end

-- Whether a given role has what a policy of AWS' would give it, as far as can be told.
local function is_served(ctx, name, live)
  for _, other in ipairs(AS_GOOD[name] or {}) do
    if live.policies[policy_arn(ctx, other)] then return true end
  end
  return has_own_policies(live)
end

local function diff(ctx, res, f, live)
  local changes = { f.service and trust_change(f, live) }
  if not res.given and f.boundary and live.boundary ~= f.boundary then
    changes[#changes + 1] = { field = "boundary", want = f.boundary, have = live.boundary }
  end
  for _, name in ipairs(f.policies or {}) do
    local arn = policy_arn(ctx, name)
    if not live.policies[arn] and not (res.given and is_served(ctx, name, live)) then
      changes[#changes + 1] = { field = "policy", want = name, attach = arn }
    end
  end
  for name, document in keys.pairs(f.inline or {}) do
    if not compare.same(document, live.inline[name]) then
      changes[#changes + 1] = { field = "inline policy " .. name, want = document,
        have = live.inline[name], put = name }
    end
  end
  return changes
end

local function carry_out(ctx, name, f, change)
  local iam = ctx:aws "iam"
  if change.trust then
    return iam:update_assume_role_policy { RoleName = name, PolicyDocument = trust(f) }
  elseif change.field == "boundary" then
    return iam:put_role_permissions_boundary { RoleName = name,
      PermissionsBoundary = change.want }
  elseif change.attach then
    return iam:attach_role_policy { RoleName = name, PolicyArn = change.attach }
  end
  return iam:put_role_policy { RoleName = name, PolicyName = change.put,
    PolicyDocument = change.want }
end

local function apply_changes(ctx, res, name, f, changes)
  for _, change in ipairs(changes) do
    local done, failure = support.insist(ctx, res, 60, support.not_found, function ()
      return carry_out(ctx, name, f, change)
    end)
    if not done then return nil, failure end
  end
  return true
end

local function create(ctx, res, f)
  local answer, failure = ctx:aws("iam"):create_role { RoleName = role_name(ctx, res),
    Path = path(ctx), AssumeRolePolicyDocument = trust(f), PermissionsBoundary = f.boundary,
    Description = "rtl " .. ctx.deployment .. ": " .. res.name,
    Tags = support.tag_list(ctx:tags_for(res)) }
  if not answer and not support.exists(failure) then return nil, failure end
  if not answer then
    local live, why = read(ctx, res)
    return live, why or failure
  end
  local live = { id = answer.Role.RoleName, role_name = answer.Role.RoleName,
    arn = answer.Role.Arn, policies = {}, inline = {}, trust = trust(f), boundary = f.boundary }
  local done, refused = apply_changes(ctx, res, live.id, f, diff(ctx, res, f, live))
  if not done then return nil, refused, live end
  return live
end

-- IAM is eventually consistent: what uses the role retries; here only the policies must be seen.
local function wait(ctx, res, f, live)
  return support.wait({ ctx = ctx, res = res, every = 3, limit = 120 }, function ()
    local now, failure = read(ctx, res)
    if failure then return nil, failure end
    if not now then return false, "not visible yet" end
    local missing = diff(ctx, res, f, now)
    if #missing == 0 then return now end
    local done, refused = apply_changes(ctx, res, live.id, f, missing)
    if not done then return nil, refused end
    return false, missing[1].field .. " not visible yet"
  end)
end

local function ignore_missing(done, failure)
  if done or support.not_found(failure) then return true end
  return nil, failure
end

local function strip(ctx, name)
  local iam = ctx:aws "iam"
  local arns, failure = attached(ctx, name)
  if not arns then return nil, failure end
  for arn in keys.pairs(arns) do
    local done, refused = ignore_missing(
      iam:detach_role_policy { RoleName = name, PolicyArn = arn })
    if not done then return nil, refused end
  end
  local list, unread = iam:all("list_role_policies", { RoleName = name })
  if not list then return nil, unread end
  for _, policy in ipairs(list) do
    local done, refused = ignore_missing(
      iam:delete_role_policy { RoleName = name, PolicyName = policy })
    if not done then return nil, refused end
  end
  return true
end

-- EKS keeps an instance profile with the node role for as long as a node group lives.
local function blockers(ctx, name)
  local list = ctx:aws("iam"):all("list_instance_profiles_for_role", { RoleName = name }) or {}
  local names = {}
  for _, profile in ipairs(list) do
    names[#names + 1] = "instance profile " .. profile.InstanceProfileName
  end
  return names
end

local function delete(ctx, item)
  local name = support.tail(item.id)
  local done, failure = strip(ctx, name)
  if not done then return ignore_missing(nil, failure) end
  return support.delete(ctx, item, function ()
    return ctx:aws("iam"):delete_role { RoleName = name }
  end, { blockers = function () return blockers(ctx, name) end, look = function ()
    return support.absent_if_missing(ctx:aws("iam"):get_role { RoleName = name })
  end })
end

local function find(ctx)
  local list, failure = ctx:aws("iam"):all("list_roles", { PathPrefix = path(ctx) })
  if not list then return nil, failure end
  local found = {}
  for _, role in ipairs(list) do
    local answer, refused = support.absent_if_missing(
      ctx:aws("iam"):get_role { RoleName = role.RoleName })
    if refused then return nil, refused end
    local tags = answer and support.tags_of(answer.Role.Tags) or {}
    if support.is_ours(ctx, tags) then
      found[#found + 1] = { id = role.RoleName, outputs = { arn = role.Arn },
        name = (tags["rtl:resource"] or ""):match("/(.*)$") }
    end
  end
  return found
end

local function policy_arns(ctx, names)
  local arns = {}
  for i, name in ipairs(names or {}) do arns[i] = policy_arn(ctx, name) end
  return arns
end

local function known(ctx, res)
  if res.given then
    return { arn = res.given:match("^arn:") and res.given or nil, role_name = name_of(ctx, res) }
  end
  local name = role_name(ctx, res)
  return { role_name = name, policy_arns = policy_arns(ctx, res.fields.policies),
    arn = ("arn:%s:iam::%s:role%s%s"):format(ctx.partition, ctx.account, path(ctx), name) }
end

return kind.define {
  name = "iam_role",
  outputs = { "arn", "role_name" },
  fields = { service = "string", policies = "list?", inline = "table?", boundary = "string?",
    conditions = "table?" },
  identity = { "service" },
  known = known,
  read = read,
  diff = diff,
  create = create,
  update = function (ctx, res, f, live, changes)
    return apply_changes(ctx, res, live.id, f, changes)
  end,
  delete = delete,
  tokened = true,
  ready = { wait = wait, usual = 10, delete_usual = 5 },
  find = find,
  -- The boundary's condition goes when no boundary is set. Only the plan's own policies can be
  -- attached, or the right to attach would be the right to everything.
  -- IAM knows the path of a role only while the role is there: before and after, the bare name
  -- counts.
  actions = {
    "iam:ListRoles",
    { "iam:GetRole", "iam:ListAttachedRolePolicies", "iam:ListRolePolicies", "iam:GetRolePolicy",
      "iam:ListInstanceProfilesForRole", on = { OWN_PATH, "role/{role_name}", "{given}" } },
    { "iam:CreateRole", new = OWN_PATH, when = BOUNDED },
    { "iam:TagRole", new = OWN_PATH },
    { "iam:AttachRolePolicy", on = OWN_PATH, when = { ArnEquals = {
      ["iam:PolicyARN"] = "{policy_arns}", ["iam:PermissionsBoundary"] = "{boundary}" } } },
    { "iam:PutRolePolicy", on = OWN_PATH, when = BOUNDED, needs = "inline" },
    { "iam:DeleteRolePolicy", on = OWN_PATH, needs = "inline" },
    { "iam:PutRolePermissionsBoundary", on = OWN_PATH, when = BOUNDED, needs = "boundary" },
    { "iam:UpdateAssumeRolePolicy", "iam:DetachRolePolicy", "iam:DeleteRole", on = OWN_PATH },
  },
}
