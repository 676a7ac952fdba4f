--- EC2: security groups and their rules.

local array = require "rtl.array"
local common = require "rtl.rehearse.aws.ec2.common"
local fault = require "rtl.rehearse.aws.fault"
local quotas = require "rtl.rehearse.aws.quota_values"

local M = { operations = {} }
local ops = M.operations

local function rules_of(region, group_id)
  return region.rules:all(function (rule) return rule.GroupId == group_id end)
end

-- The rules of a group in one direction, grouped as DescribeSecurityGroups shows them.
local function permissions(region, group_id, egress)
  local list, by_key = array {}, {}
  for _, rule in ipairs(rules_of(region, group_id)) do
    if rule.IsEgress == egress then
      local key = ("%s %s %s"):format(rule.IpProtocol, rule.FromPort, rule.ToPort)
      local entry = by_key[key]
      if not entry then
        local any = rule.IpProtocol == "-1"
        entry = { IpProtocol = rule.IpProtocol, FromPort = not any and rule.FromPort or nil,
                  ToPort = not any and rule.ToPort or nil, UserIdGroupPairs = array {},
                  IpRanges = array {}, Ipv6Ranges = array {}, PrefixListIds = array {} }
        by_key[key], list[#list + 1] = entry, entry
      end
      if rule.CidrIpv4 then
        table.insert(entry.IpRanges, { CidrIp = rule.CidrIpv4, Description = rule.Description })
      elseif rule.CidrIpv6 then
        table.insert(entry.Ipv6Ranges, { CidrIpv6 = rule.CidrIpv6 })
      elseif rule.ReferencedGroupInfo then
        table.insert(entry.UserIdGroupPairs, { GroupId = rule.ReferencedGroupInfo.GroupId,
          UserId = rule.GroupOwnerId, Description = rule.Description })
      end
    end
  end
  return list
end

local function shown(region, group)
  local out = {}
  for name, value in next, group do out[name] = value end
  out.IpPermissions = permissions(region, group.GroupId, false)
  out.IpPermissionsEgress = permissions(region, group.GroupId, true)
  return out
end

local function add_rule(call, group, egress, fields, tags)
  local id = call.world:id "sgr"
  local rule = { SecurityGroupRuleId = id, GroupId = group.GroupId, GroupOwnerId = call.account,
    IsEgress = egress, Tags = tags or array {},
    SecurityGroupRuleArn = ("arn:aws:ec2:%s:%s:security-group-rule/%s")
                           :format(call.region.name, call.account, id) }
  for name, value in next, fields do rule[name] = value end
  return call.region.rules:add(id, rule)
end

local ANY = { IpProtocol = "-1", FromPort = -1, ToPort = -1 }

local function any_rule(fields)
  local out = {}
  for name, value in next, ANY do out[name] = value end
  for name, value in next, fields do out[name] = value end
  return out
end

--- Makes a group from `fields` with the rule that lets everything out. `options`: self_ingress and
-- self_egress add rules for the group itself.
function M.make(call, fields, options)
  local id = call.world:id "sg"
  local group = { GroupId = id, OwnerId = call.account, Tags = array {} }
  for name, value in next, fields do group[name] = value end
  call.region.security_groups:add(id, group)
  add_rule(call, group, true, any_rule { CidrIpv4 = "0.0.0.0/0" })
  local own = any_rule { ReferencedGroupInfo = { GroupId = id, UserId = call.account } }
  if options and options.self_ingress then add_rule(call, group, false, own) end
  if options and options.self_egress then add_rule(call, group, true, own) end
  return group
end

local GROUP_FILTERS = { ["group-id"] = "GroupId", ["group-name"] = "GroupName",
  ["vpc-id"] = "VpcId", ["owner-id"] = "OwnerId", description = "Description" }

-- The groups that a group's rules of one side name.
local function named_groups(region, side)
  return function (item)
    local ids = array {}
    for _, permission in ipairs(shown(region, item)[side] or {}) do
      for _, pair in ipairs(permission.UserIdGroupPairs or {}) do ids[#ids + 1] = pair.GroupId end
    end
    return ids
  end
end

local function group_filters(region)
  return setmetatable({
    ["ip-permission.group-id"] = named_groups(region, "IpPermissions"),
    ["egress.ip-permission.group-id"] = named_groups(region, "IpPermissionsEgress"),
  }, { __index = GROUP_FILTERS })
end

function ops.describe_security_groups(call, p)
  local list, refused = common.select(call.region.security_groups, { ids = p.GroupIds,
    filters = p.Filters, missing = "InvalidGroup.NotFound", known = group_filters(call.region) })
  if not list then return nil, refused end
  local out = array {}
  for i, group in ipairs(list) do out[i] = shown(call.region, group) end
  return { SecurityGroups = out }
end

function ops.create_security_group(call, p)
  local vpc, refused = common.need(call.region.vpcs, p.VpcId, "InvalidVpcID.NotFound", "vpc ID")
  if not vpc then return nil, refused end
  refused = common.wrong_tags(p, "security-group")
  if refused then return nil, refused end
  if p.GroupName:find "^sg%-" or p.GroupName == "default" or #p.GroupName > 255 then
    return fault.fail("InvalidParameterValue", ("Value (%s) for parameter groupName is invalid.")
                                               :format(p.GroupName))
  end
  if call.region.security_groups:first(function (it)
    return it.VpcId == vpc.VpcId and it.GroupName == p.GroupName
  end) then
    return fault.fail("InvalidGroup.Duplicate", ("The security group '%s' already exists for VPC "
                                                 .. "'%s'"):format(p.GroupName, vpc.VpcId))
  end
  if #call.region.security_groups.order >= quotas.value(call.world, "L-E79EC296") then
    return fault.fail("SecurityGroupLimitExceeded", "The maximum number of security groups has "
                      .. "been reached.")
  end
  local group = M.make(call, { GroupName = p.GroupName, Description = p.Description,
                               VpcId = vpc.VpcId, Tags = common.tags_for(p, "security-group") })
  return { GroupId = group.GroupId, Tags = group.Tags,
           SecurityGroupArn = ("arn:aws:ec2:%s:%s:security-group/%s")
                              :format(call.region.name, call.account, group.GroupId) }
end

local function need_group(call, p)
  return common.need(call.region.security_groups, p.GroupId, "InvalidGroup.NotFound",
                     "security group")
end

local function interface_uses(id)
  return function (item)
    for _, group in ipairs(item.Groups) do
      if group.GroupId == id then return true end
    end
    return false
  end
end

local function is_used(region, id)
  if region.interfaces:first(interface_uses(id)) then return true end
  return region.rules:first(function (rule)
    return rule.GroupId ~= id and rule.ReferencedGroupInfo
       and rule.ReferencedGroupInfo.GroupId == id
  end) ~= nil
end

--- Takes a group and its rules away.
function M.drop(region, id)
  for _, rule in ipairs(rules_of(region, id)) do region.rules:remove(rule.SecurityGroupRuleId) end
  region.security_groups:remove(id)
end

function ops.delete_security_group(call, p)
  local group, refused = need_group(call, p)
  if not group then return nil, refused end
  if group.GroupName == "default" then
    return fault.fail("CannotDelete", "the specified group: \"" .. group.GroupId
                      .. "\" name: \"default\" cannot be deleted by a user")
  end
  if is_used(call.region, group.GroupId) then
    return fault.fail("DependencyViolation", ("resource %s has a dependent object")
                                             :format(group.GroupId))
  end
  M.drop(call.region, group.GroupId)
  return { Return = true, GroupId = group.GroupId }
end

-- The single rules that a call's IpPermissions mean, or nil and a fault.
local function rules_meant(call, p)
  local list = {}
  for _, permission in ipairs(p.IpPermissions or {}) do
    local any = permission.IpProtocol == "-1"
    local base = { IpProtocol = permission.IpProtocol, FromPort = any and -1 or permission.FromPort,
                   ToPort = any and -1 or permission.ToPort }
    if not base.IpProtocol then return nil, fault.missing "ipProtocol" end
    if not any and not base.FromPort and base.IpProtocol ~= "icmp" then
      return fault.fail("InvalidParameterValue", "Invalid value 'Must specify both from and to "
                        .. "ports with TCP/UDP.' for portRange.")
    end
    local function add(fields)
      local rule = {}
      for name, value in next, base do rule[name] = value end
      for name, value in next, fields do rule[name] = value end
      list[#list + 1] = rule
    end
    for _, range in ipairs(permission.IpRanges or {}) do
      if not common.range(range.CidrIp) then
        return fault.fail("InvalidParameterValue", ("CIDR block %s is malformed")
                                                   :format(tostring(range.CidrIp)))
      end
      add { CidrIpv4 = range.CidrIp, Description = range.Description }
    end
    for _, range in ipairs(permission.Ipv6Ranges or {}) do add { CidrIpv6 = range.CidrIpv6 } end
    for _, pair in ipairs(permission.UserIdGroupPairs or {}) do
      if not call.region.security_groups:get(pair.GroupId) then
        return fault.fail("InvalidGroup.NotFound", ("The security group '%s' does not exist")
                                                   :format(tostring(pair.GroupId)))
      end
      add { ReferencedGroupInfo = { GroupId = pair.GroupId, UserId = call.account },
            Description = pair.Description }
    end
  end
  if #list == 0 then return nil, fault.missing "ipPermissions" end
  return list
end

local function same_rule(a, b)
  return a.IpProtocol == b.IpProtocol and a.FromPort == b.FromPort and a.ToPort == b.ToPort
     and a.CidrIpv4 == b.CidrIpv4 and a.CidrIpv6 == b.CidrIpv6
     and (a.ReferencedGroupInfo or {}).GroupId == (b.ReferencedGroupInfo or {}).GroupId
end

local function find_rule(region, group_id, egress, wanted)
  return region.rules:first(function (rule)
    return rule.GroupId == group_id and rule.IsEgress == egress and same_rule(rule, wanted)
  end)
end

local function authorize(call, p, egress)
  local group, refused = need_group(call, p)
  if not group then return nil, refused end
  local wanted
  wanted, refused = rules_meant(call, p)
  if not wanted then return nil, refused end
  for _, rule in ipairs(wanted) do
    if find_rule(call.region, group.GroupId, egress, rule) then
      return fault.fail("InvalidPermission.Duplicate", "the specified rule already exists")
    end
  end
  if #rules_of(call.region, group.GroupId) + #wanted > quotas.value(call.world, "L-0EA8095F") then
    return fault.fail("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per "
                      .. "security group has been reached.")
  end
  local list = array {}
  for i, rule in ipairs(wanted) do
    list[i] = add_rule(call, group, egress, rule, common.tags_for(p, "security-group-rule"))
  end
  return { Return = true, SecurityGroupRules = list }
end

function ops.authorize_security_group_ingress(call, p)
  return authorize(call, p, false)
end

function ops.authorize_security_group_egress(call, p)
  return authorize(call, p, true)
end

local function revoke(call, p, egress)
  local group, refused = need_group(call, p)
  if not group then return nil, refused end
  local going = {}
  for _, id in ipairs(p.SecurityGroupRuleIds or {}) do
    local rule = call.region.rules:get(id)
    if not rule or rule.GroupId ~= group.GroupId or rule.IsEgress ~= egress then
      return fault.fail("InvalidSecurityGroupRuleId.NotFound",
                        ("The security group rule ID '%s' does not exist"):format(id))
    end
    going[#going + 1] = rule
  end
  if p.IpPermissions then
    local wanted
    wanted, refused = rules_meant(call, p)
    if not wanted then return nil, refused end
    for _, rule in ipairs(wanted) do
      local found = find_rule(call.region, group.GroupId, egress, rule)
      if not found then
        return fault.fail("InvalidPermission.NotFound", "The specified rule does not exist in this "
                          .. "security group.")
      end
      going[#going + 1] = found
    end
  end
  for _, rule in ipairs(going) do call.region.rules:remove(rule.SecurityGroupRuleId) end
  return { Return = true }
end

function ops.revoke_security_group_ingress(call, p)
  return revoke(call, p, false)
end

function ops.revoke_security_group_egress(call, p)
  return revoke(call, p, true)
end

local RULE_FILTERS = { ["group-id"] = "GroupId",
                       ["security-group-rule-id"] = "SecurityGroupRuleId" }

function ops.describe_security_group_rules(call, p)
  local list, refused = common.select(call.region.rules, { ids = p.SecurityGroupRuleIds,
    filters = p.Filters, missing = "InvalidSecurityGroupRuleId.NotFound", known = RULE_FILTERS })
  return list and { SecurityGroupRules = list }, refused
end

return M
