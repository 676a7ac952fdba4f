--- A security group and its rules. Rules that rtl did not declare are left alone.
-- security_group "efa" { vpc_id = v.id, description = "…", itself = true }
-- itself = true: all traffic from the group and to the group, both as rules that name the group;
--   a rule with 0.0.0.0/0 does not let EFA through.
-- ingress, egress = { { cidr = "10.0.0.0/8", protocol = "tcp", from = 443, to = 443 } }

local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local keys = require "rtl.keys"
local kind = require "rtl.plan.kind"
local leftover = require "rtl.kinds.leftover"
local support = require "rtl.kinds.support"

local SPEC = { op = "describe_security_groups", items = "SecurityGroups", id = "GroupId",
  id_filter = "group-id" }
local SIDES = { ingress = "IpPermissions", egress = "IpPermissionsEgress" }

local function live_of(item)
  return { id = item.GroupId, name = item.GroupName, vpc_id = item.VpcId,
    ingress = item.IpPermissions or {}, egress = item.IpPermissionsEgress or {} }
end

local function by_name(ctx, res, f)
  local list, failure = support.list(ctx, SPEC, { support.filter("vpc-id", f.vpc_id),
    support.filter("group-name", ctx:own_name(res)) })
  if not list then return nil, failure end
  local item = list[1]
  if item and not support.is_ours(ctx, support.tags_of(item.Tags)) then
    return nil, support.stranger(res, "security group " .. item.GroupName)
  end
  return item
end

local function read(ctx, res, f)
  local item, failure = support.look_up(ctx, res, SPEC)
  if not item and not failure and not res.given and f.vpc_id then
    item, failure = by_name(ctx, res, f)
  end
  if not item then return nil, failure end
  return live_of(item)
end

-- A rule as EC2 wants it; `itself` names the group.
local function permission(rule, id)
  local protocol = rule.protocol or "-1"
  local one = { IpProtocol = protocol, FromPort = rule.from, ToPort = rule.to }
  if rule.itself or rule.group then
    one.UserIdGroupPairs = { { GroupId = rule.group or id, Description = rule.what } }
  else
    one.IpRanges = { { CidrIp = rule.cidr, Description = rule.what } }
  end
  return one
end

local function names_group(have, group)
  for _, pair in ipairs(have.UserIdGroupPairs or {}) do
    if pair.GroupId == group then return true end
  end
  return false
end

local function names_cidr(have, cidr)
  for _, range in ipairs(have.IpRanges or {}) do
    if range.CidrIp == cidr then return true end
  end
  return false
end

local function is_there(rules, rule, id)
  for _, have in ipairs(rules) do
    local same_ports = (rule.protocol or "-1") == have.IpProtocol
      and (have.IpProtocol == "-1" or (have.FromPort == rule.from and have.ToPort == rule.to))
    local peer = rule.cidr and names_cidr(have, rule.cidr)
      or not rule.cidr and names_group(have, rule.group or id)
    if same_ports and peer then return true end
  end
  return false
end

local function wanted_rules(f, side)
  local rules = table.move(f[side] or {}, 1, #(f[side] or {}), 1, {})
  if f.itself then rules[#rules + 1] = { itself = true, what = "efa" } end
  return rules
end

local function diff(_, _, f, live)
  local changes = {}
  for _, side in ipairs { "ingress", "egress" } do
    for _, rule in ipairs(wanted_rules(f, side)) do
      if not is_there(live[side], rule, live.id) then
        changes[#changes + 1] = { field = side .. " rule", side = side, rule = rule,
          want = rule.cidr or rule.group or "itself" }
      end
    end
  end
  if f.vpc_id and f.vpc_id ~= live.vpc_id then
    table.insert(changes, 1, { field = "vpc_id", want = f.vpc_id, have = live.vpc_id })
  end
  return changes
end

-- One rule a call: one duplicate among several would fail them all.
local function authorize(ctx, res, id, change)
  local done, failure = support.insist(ctx, res, 120, errors.not_found, function ()
    return ctx:aws("ec2"):call("authorize_security_group_" .. change.side,
      { GroupId = id, IpPermissions = { permission(change.rule, id) } })
  end)
  if not done and failure.code == "InvalidPermission.Duplicate" then return true end
  return done, failure
end

local function apply_rules(ctx, res, live, changes)
  for _, change in ipairs(changes) do
    if change.rule then
      local done, failure = authorize(ctx, res, live.id, change)
      if not done then return nil, failure end
    end
  end
  return true
end

local function make_group(ctx, res, f)
  local answer, failure = support.insist(ctx, res, 120, errors.not_found, function ()
    return ctx:aws("ec2"):create_security_group { GroupName = ctx:own_name(res), VpcId = f.vpc_id,
      Description = f.description,
      TagSpecifications = support.tag_specifications(ctx, res, "security-group") }
  end)
  if answer then return answer.GroupId end
  if failure.code ~= "InvalidGroup.Duplicate" then return nil, failure end
  local item, why = by_name(ctx, res, f)
  return item and item.GroupId, why or failure
end

-- A new group has one egress rule: everything to 0.0.0.0/0.
local function create(ctx, res, f)
  local id, failure = make_group(ctx, res, f)
  if not id then return nil, failure end
  local live = { id = id, vpc_id = f.vpc_id, ingress = {}, egress = {} }
  local done, refused = apply_rules(ctx, res, live, diff(ctx, res, f, live))
  if not done then return nil, refused, live end
  return live
end

-- Read back: a group without both rules lets nothing of EFA through, and NCCL would only hang.
local function wait(ctx, res, f, live)
  return support.wait({ ctx = ctx, res = res, every = 2, limit = 120 }, function ()
    local list, failure = support.list(ctx, SPEC, { support.filter("group-id", live.id) })
    if not list then return nil, failure end
    local now = list[1] and live_of(list[1])
    if not now then return false, "not visible yet" end
    local missing = diff(ctx, res, f, now)
    if #missing == 0 then return now end
    return false, missing[1].field .. " not visible yet"
  end)
end

-- The name of the cluster for which Kubernetes, EKS or a load balancer controller made a group.
local function cluster_of(group)
  local tags = support.tags_of(group.Tags)
  for key in keys.pairs(tags) do
    local name = key:match("^kubernetes%.io/cluster/(.+)$")
    if name then return name end
  end
  return tags["aws:eks:cluster-name"] or tags["elbv2.k8s.aws/cluster"]
end

-- Whether rtl, or a cluster in which it works, made a group.
local function is_of(ctx, group)
  local cluster = cluster_of(group)
  return support.is_ours(ctx, support.tags_of(group.Tags))
    or cluster ~= nil and (cluster == ctx.deployment or cluster == ctx.given_cluster)
end

-- The rules of a group's side that name another one, as a revoke takes them.
local function rules_naming(group, side, id)
  local rules = {}
  for _, have in ipairs(group[SIDES[side]] or {}) do
    if names_group(have, id) then
      rules[#rules + 1] = { IpProtocol = have.IpProtocol, FromPort = have.FromPort,
        ToPort = have.ToPort, UserIdGroupPairs = { { GroupId = id } } }
    end
  end
  return rules
end

local function revoke(ctx, side, group, item)
  local rules = rules_naming(group, side, item.id)
  if not rules[1] then return true end
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):call("revoke_security_group_" .. side,
      { GroupId = group.GroupId, IpPermissions = rules })
  end, { look = function () return support.by_id(ctx, SPEC, group.GroupId) end })
end

-- Rules in other groups that name this one block its deletion. Those in groups of ours go; those of
-- others stay, and are what is in the way.
local function revoke_references(ctx, item)
  local strangers = {}
  for _, side in ipairs { "ingress", "egress" } do
    local filters = { support.filter(side == "ingress" and "ip-permission.group-id"
      or "egress.ip-permission.group-id", item.id) }
    local list, failure = support.list(ctx, SPEC, filters)
    if not list then return nil, failure end
    for _, group in ipairs(list) do
      if group.GroupId == item.id or is_of(ctx, group) then
        local done, refused = revoke(ctx, side, group, item)
        if not done then return nil, refused end
      else
        strangers[#strangers + 1] = ("%s rule of %s (%s)"):format(side, group.GroupId,
          group.GroupName or "")
      end
    end
  end
  if not strangers[1] then return true end
  return err.fail { code = "RTL-PLAN-016", doing = item.key,
    message = "still named by " .. table.concat(strangers, ", ") .. ", which rtl did not make" }
end

local function delete(ctx, item)
  local done, failure = revoke_references(ctx, item)
  if not done then return nil, failure end
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):delete_security_group { GroupId = item.id }
  end, { spec = SPEC, clear = function () leftover.clear(ctx, "group-id", item.id) end,
    blockers = function () return leftover.blockers(ctx, "group-id", item.id) end })
end

local function find(ctx)
  return support.find(ctx, SPEC, function (item) return { vpc_id = item.VpcId } end)
end

-- Groups that were made for a cluster of ours inside a VPC of ours, and left: k8s-*, the cluster's
-- own. What others put into the VPC stays.
local function find_inside(ctx, found)
  local list, clusters = {}, { [ctx.deployment] = true }
  for _, item in ipairs(found) do
    if item.kind_name == "eks_cluster" and item.id then clusters[item.id] = true end
  end
  for _, item in ipairs(found) do
    if item.kind_name == "vpc" and item.id then
      local groups, failure = support.list(ctx, SPEC, { support.filter("vpc-id", item.id) })
      if not groups then return nil, failure end
      for _, group in ipairs(groups) do
        local mine = support.is_ours(ctx, support.tags_of(group.Tags))
        if not mine and clusters[cluster_of(group) or 0] then
          list[#list + 1] = { id = group.GroupId, name = group.GroupName }
        end
      end
    end
  end
  return list
end

return kind.define {
  name = "security_group",
  outputs = { "id", "vpc_id" },
  fields = { vpc_id = "string", description = "string", itself = "boolean?", ingress = "list?",
    egress = "list?" },
  within = { "vpc_id" },
  reads_with = { "vpc_id" },
  read = read,
  diff = diff,
  replace_when = { "vpc_id" },
  replaceable = false,
  create = create,
  update = function (ctx, res, _, live, changes) return apply_rules(ctx, res, live, changes) end,
  delete = delete,
  tokened = true,
  ready = { wait = wait, usual = 3, delete_usual = 5 },
  depends = { "vpc" },
  find = find,
  find_inside = find_inside,
  actions = {
    "ec2:DescribeSecurityGroups",
    { "ec2:CreateSecurityGroup", new = "security-group/*", uses = "vpc/{vpc_id}" },
    { "ec2:AuthorizeSecurityGroupIngress", "ec2:AuthorizeSecurityGroupEgress",
      "ec2:RevokeSecurityGroupIngress", "ec2:RevokeSecurityGroupEgress",
      "ec2:DeleteSecurityGroup", ours = "security-group/*" },
    -- What Kubernetes left in our VPC.
    { "ec2:RevokeSecurityGroupIngress", "ec2:RevokeSecurityGroupEgress",
      "ec2:DeleteSecurityGroup", on = "security-group/*", when = { StringEquals = {
        ["aws:ResourceTag/kubernetes.io/cluster/{deployment}"] = "owned" } } },
  },
}
