--- IAM: roles, their policies, instance profiles, managed policies. A new role can be used by other
-- services only some seconds later.

local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local fault = require "rtl.rehearse.aws.fault"
local shelf = require "rtl.rehearse.aws.shelf"

local M = { operations = {} }
local ops = M.operations

--- Prepares the account.
function M.open(world)
  world.aws.iam = { roles = shelf.new(), profiles = shelf.new(), policies = shelf.new() }
  world.aws.iam.roles:add("Admin", { RoleName = "Admin", Path = "/", native = true,
    RoleId = "AROARTLWORLD00000ADMIN", CreateDate = 1700000000, Tags = array {},
    Arn = world.aws.caller.principal, attached = shelf.new(), inline = shelf.new(),
    MaxSessionDuration = 3600, usable_at = 0, AssumeRolePolicyDocument = { Version = "2012-10-17",
      Statement = array { { Effect = "Allow", Action = "sts:AssumeRole",
        Principal = { AWS = "arn:aws:iam::" .. world.aws.account .. ":root" } } } } })
end

--- Adds what was made to `list`.
function M.standing(world, list)
  for _, kind in ipairs { "roles", "profiles", "policies" } do
    for id, item in pairs(world.aws.iam[kind].by_id) do
      if not item.native then list[#list + 1] = { kind = kind, id = id, region = "global" } end
    end
  end
end

local function unique_id(call, prefix)
  local n = call.world:count "iam id"
  return prefix .. chance.hex(17, call.world.seed, "iam", n):upper()
end

local function no_such(what, name)
  return fault.fail("NoSuchEntity", ("The %s with name %s cannot be found."):format(what, name))
end

local function need_role(call, p)
  local role = call.aws.iam.roles:get(p.RoleName)
  if role then return role end
  return no_such("role", p.RoleName)
end

local function tags_of(p)
  local tags = array {}
  for i, tag in ipairs(p.Tags or {}) do tags[i] = { Key = tag.Key, Value = tag.Value } end
  return tags
end

-- Seconds until others can use a new role.
local function usable_after(world, name)
  local late = world.sky["late-roles"]
  if not late then return world:spread(5, 11, "role", name) end
  world:struck "late-roles"
  return late.seconds
end

local function add_role(call, p, fields)
  local path = p.Path or "/"
  local role = { RoleName = p.RoleName, Path = path, RoleId = unique_id(call, "AROA"),
    Arn = ("arn:aws:iam::%s:role%s%s"):format(call.account, path, p.RoleName),
    CreateDate = call.world:second(), AssumeRolePolicyDocument = p.AssumeRolePolicyDocument,
    Description = p.Description, MaxSessionDuration = p.MaxSessionDuration or 3600,
    PermissionsBoundary = p.PermissionsBoundary and { PermissionsBoundaryType = "Policy",
      PermissionsBoundaryArn = p.PermissionsBoundary },
    Tags = tags_of(p), attached = shelf.new(), inline = shelf.new(),
    usable_at = call.world:now() + usable_after(call.world, p.RoleName) }
  for name, value in next, fields or {} do role[name] = value end
  return call.aws.iam.roles:add(p.RoleName, role)
end

function ops.create_role(call, p)
  if call.aws.iam.roles:get(p.RoleName) then
    return fault.fail("EntityAlreadyExists", ("Role with name %s already exists.")
                                             :format(p.RoleName))
  end
  if p.Path and not (p.Path:find "^/" and p.Path:find "/$") then
    return fault.fail("ValidationError", "The specified value for path is invalid. It must begin "
                      .. "and end with / and contain only alphanumeric characters and/or /")
  end
  if p.RoleName:find "[^%w+=,.@_-]" then
    return fault.fail("ValidationError", "The specified value for roleName is invalid.")
  end
  local document = p.AssumeRolePolicyDocument
  if type(document) ~= "table" or not document.Statement then
    return fault.fail("MalformedPolicyDocument", "Syntax errors in policy.")
  end
  return { Role = add_role(call, p) }
end

--- Makes a service-linked role on first use, as AWS' services do.
function M.linked_role(call, service, name)
  if call.aws.iam.roles:get(name) then return end
  add_role(call, { RoleName = name, Path = ("/aws-service-role/%s/"):format(service),
    AssumeRolePolicyDocument = { Version = "2012-10-17", Statement = array { { Effect = "Allow",
      Action = "sts:AssumeRole", Principal = { Service = service } } } } },
    { native = true, usable_at = 0 })
end

function ops.create_service_linked_role(call, p)
  local name = "AWSServiceRoleFor" .. p.AWSServiceName:match "^[^.]+"
  if call.aws.iam.roles:get(name) then
    return fault.fail("InvalidInput", ("Service role name %s has been taken in this account, "
                                       .. "please try a different suffix."):format(name))
  end
  M.linked_role(call, p.AWSServiceName, name)
  return { Role = call.aws.iam.roles:get(name) }
end

function ops.get_role(call, p)
  local role, refused = need_role(call, p)
  return role and { Role = role }, refused
end

function ops.list_roles(call, p)
  local prefix, list = p.PathPrefix or "/", array {}
  for _, role in ipairs(call.aws.iam.roles:all()) do
    if role.Path:sub(1, #prefix) == prefix then list[#list + 1] = role end
  end
  table.sort(list, function (a, b) return a.RoleName < b.RoleName end)
  return { Roles = list }
end

function ops.update_assume_role_policy(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  role.AssumeRolePolicyDocument = p.PolicyDocument
  return {}
end

function ops.update_role(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  role.Description = p.Description or role.Description
  role.MaxSessionDuration = p.MaxSessionDuration or role.MaxSessionDuration
  return {}
end

function ops.put_role_permissions_boundary(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  role.PermissionsBoundary = { PermissionsBoundaryType = "Policy",
    PermissionsBoundaryArn = p.PermissionsBoundary }
  return {}
end

local function holds_role(name)
  return function (profile)
    for _, role in ipairs(profile.Roles) do
      if role.RoleName == name then return true end
    end
    return false
  end
end

function ops.delete_role(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  if #role.attached.order > 0 then
    return fault.fail("DeleteConflict", "Cannot delete entity, must detach all policies first.")
  elseif #role.inline.order > 0 then
    return fault.fail("DeleteConflict", "Cannot delete entity, must delete policies first.")
  elseif call.aws.iam.profiles:first(holds_role(p.RoleName)) then
    return fault.fail("DeleteConflict", "Cannot delete entity, must remove roles from instance "
                      .. "profile first.")
  end
  call.aws.iam.roles:remove(p.RoleName)
  return {}
end

function ops.tag_role(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  require "rtl.rehearse.aws.ec2.common".set_tags(role.Tags, p.Tags)
  return {}
end

function ops.untag_role(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  local gone, kept = {}, array {}
  for _, key in ipairs(p.TagKeys) do gone[key] = true end
  for _, tag in ipairs(role.Tags) do
    if not gone[tag.Key] then kept[#kept + 1] = tag end
  end
  role.Tags = kept
  return {}
end

function ops.list_role_tags(call, p)
  local role, refused = need_role(call, p)
  return role and { Tags = role.Tags }, refused
end

local function policy_exists(call, arn)
  return arn:find "^arn:aws[%w-]*:iam::aws:policy/" or call.aws.iam.policies:get(arn)
end

function ops.attach_role_policy(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  if not policy_exists(call, p.PolicyArn) then
    return fault.fail("NoSuchEntity", ("Policy %s does not exist or is not attachable.")
                                      :format(p.PolicyArn))
  end
  if not role.attached:get(p.PolicyArn) then
    role.attached:add(p.PolicyArn, { PolicyArn = p.PolicyArn,
                                     PolicyName = p.PolicyArn:match "([^/]+)$" })
  end
  return {}
end

function ops.detach_role_policy(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  if not role.attached:get(p.PolicyArn) then
    return fault.fail("NoSuchEntity", ("Policy %s was not found."):format(p.PolicyArn))
  end
  role.attached:remove(p.PolicyArn)
  return {}
end

function ops.list_attached_role_policies(call, p)
  local role, refused = need_role(call, p)
  return role and { AttachedPolicies = array(role.attached:all()) }, refused
end

function ops.put_role_policy(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  local have = role.inline:get(p.PolicyName)
  if have then
    have.document = p.PolicyDocument
  else
    role.inline:add(p.PolicyName, { name = p.PolicyName, document = p.PolicyDocument })
  end
  return {}
end

local function need_inline(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  local policy = role.inline:get(p.PolicyName)
  if policy then return policy, role end
  return fault.fail("NoSuchEntity", ("The role policy with name %s cannot be found.")
                                    :format(p.PolicyName))
end

function ops.get_role_policy(call, p)
  local policy, refused = need_inline(call, p)
  if not policy then return nil, refused end
  return { RoleName = p.RoleName, PolicyName = p.PolicyName, PolicyDocument = policy.document }
end

function ops.list_role_policies(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  return { PolicyNames = array(table.move(role.inline.order, 1, #role.inline.order, 1, {})) }
end

function ops.delete_role_policy(call, p)
  local policy, role = need_inline(call, p)
  if not policy then return nil, role end
  role.inline:remove(p.PolicyName)
  return {}
end

function ops.create_policy(call, p)
  local path = p.Path or "/"
  local arn = ("arn:aws:iam::%s:policy%s%s"):format(call.account, path, p.PolicyName)
  if call.aws.iam.policies:get(arn) then
    return fault.fail("EntityAlreadyExists", ("A policy called %s already exists. Duplicate names "
                                              .. "are not allowed."):format(p.PolicyName))
  end
  local policy = { PolicyName = p.PolicyName, PolicyId = unique_id(call, "ANPA"), Arn = arn,
    Path = path, DefaultVersionId = "v1", IsAttachable = true, Description = p.Description,
    CreateDate = call.world:second(), UpdateDate = call.world:second(), Tags = tags_of(p),
    document = p.PolicyDocument, AttachmentCount = 0 }
  return { Policy = call.aws.iam.policies:add(arn, policy) }
end

local function attachments(call, arn)
  local n = 0
  for _, role in ipairs(call.aws.iam.roles:all()) do
    if role.attached:get(arn) then n = n + 1 end
  end
  return n
end

function ops.get_policy(call, p)
  local policy = call.aws.iam.policies:get(p.PolicyArn)
  if not policy then
    return fault.fail("NoSuchEntity", ("Policy %s was not found."):format(p.PolicyArn))
  end
  policy.AttachmentCount = attachments(call, p.PolicyArn)
  return { Policy = policy }
end

function ops.list_policies(call, p)
  local prefix, list = p.PathPrefix or "/", array {}
  for _, policy in ipairs(p.Scope == "AWS" and {} or call.aws.iam.policies:all()) do
    if policy.Path:sub(1, #prefix) == prefix then list[#list + 1] = policy end
  end
  return { Policies = list }
end

function ops.delete_policy(call, p)
  if not call.aws.iam.policies:get(p.PolicyArn) then
    return fault.fail("NoSuchEntity", ("Policy %s was not found."):format(p.PolicyArn))
  end
  if attachments(call, p.PolicyArn) > 0 then
    return fault.fail("DeleteConflict", "Cannot delete a policy attached to entities.")
  end
  call.aws.iam.policies:remove(p.PolicyArn)
  return {}
end

--- Makes an instance profile; `fields` may hold native and a role.
function M.make_profile(call, name, fields)
  local profile = { InstanceProfileName = name, Path = "/", Tags = array {},
    InstanceProfileId = unique_id(call, "AIPA"), CreateDate = call.world:second(),
    Arn = ("arn:aws:iam::%s:instance-profile/%s"):format(call.account, name), Roles = array {} }
  for key, value in next, fields or {} do profile[key] = value end
  return call.aws.iam.profiles:add(name, profile)
end

function ops.create_instance_profile(call, p)
  if call.aws.iam.profiles:get(p.InstanceProfileName) then
    return fault.fail("EntityAlreadyExists", ("Instance Profile %s already exists.")
                                             :format(p.InstanceProfileName))
  end
  return { InstanceProfile = M.make_profile(call, p.InstanceProfileName, { Tags = tags_of(p) }) }
end

local function need_profile(call, p)
  local profile = call.aws.iam.profiles:get(p.InstanceProfileName)
  if profile then return profile end
  return fault.fail("NoSuchEntity", ("Instance Profile %s cannot be found.")
                                    :format(p.InstanceProfileName))
end

function ops.get_instance_profile(call, p)
  local profile, refused = need_profile(call, p)
  return profile and { InstanceProfile = profile }, refused
end

function ops.list_instance_profiles_for_role(call, p)
  local role, refused = need_role(call, p)
  if not role then return nil, refused end
  return { InstanceProfiles = array(call.aws.iam.profiles:all(holds_role(p.RoleName))) }
end

function ops.add_role_to_instance_profile(call, p)
  local profile, refused = need_profile(call, p)
  if not profile then return nil, refused end
  local role
  role, refused = need_role(call, p)
  if not role then return nil, refused end
  if profile.Roles[1] then
    return fault.fail("LimitExceeded", "Cannot exceed quota for "
                      .. "InstanceSessionsPerInstanceProfile: 1")
  end
  profile.Roles[1] = role
  return {}
end

function ops.remove_role_from_instance_profile(call, p)
  local profile, refused = need_profile(call, p)
  if not profile then return nil, refused end
  if not profile.Roles[1] or profile.Roles[1].RoleName ~= p.RoleName then
    return no_such("role", p.RoleName)
  end
  profile.Roles[1] = nil
  return {}
end

function ops.delete_instance_profile(call, p)
  local profile, refused = need_profile(call, p)
  if not profile then return nil, refused end
  if profile.Roles[1] then
    return fault.fail("DeleteConflict", "Cannot delete entity, must remove roles from instance "
                      .. "profile first.")
  end
  call.aws.iam.profiles:remove(p.InstanceProfileName)
  return {}
end

function ops.simulate_principal_policy(call, p)
  return { EvaluationResults = require "rtl.rehearse.rights".simulate(call.world, p) }
end

function ops.list_open_id_connect_providers()
  return { OpenIDConnectProviderList = array {} }
end

local function no_provider(_, p)
  return fault.fail("NoSuchEntity", ("OpenIDConnect Provider not found for arn %s")
                                    :format(p.OpenIDConnectProviderArn))
end

ops.get_open_id_connect_provider, ops.delete_open_id_connect_provider = no_provider, no_provider

return M
