--- A launch template for a node group: interfaces by the instance table, IMDSv2, disk, tags on
-- instance, volume and interface. It is read back and compared, before money is spent on it.
-- launch_template "gpu-use2-az2" { instance_type = "g6.12xlarge", disk_gib = 200,
--   security_groups = { cluster.security_group_id, efa.id } } → id, version, template_name
-- A change is a new version of the same template: a node group keeps its template for life.

local array = require "rtl.array"
local compare = require "rtl.plan.compare"
local err = require "rtl.err"
local instances = require "rtl.kinds.instances"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local SPEC = { op = "describe_launch_templates", items = "LaunchTemplates",
  id = "LaunchTemplateId", ids = "LaunchTemplateIds" }

-- Groups stand on the interfaces: with interface entries, only that form works. No public address
-- is asked for, which several interfaces forbid.
local function interfaces(f)
  if not f.security_groups then return nil end
  local list = array {}
  for _, one in ipairs(instances.interfaces(f.instance_type, f.efa)) do
    list[#list + 1] = { DeviceIndex = one.device, NetworkCardIndex = one.card,
      InterfaceType = one.type, Groups = f.security_groups, DeleteOnTermination = true }
  end
  return list
end

local function reservation(f)
  if f.reservation_id then
    return { CapacityReservationTarget = { CapacityReservationId = f.reservation_id } }
  elseif f.reservation_group then
    return { CapacityReservationTarget = {
      CapacityReservationResourceGroupArn = f.reservation_group } }
  end
end

local function tag_specifications(ctx, res)
  local tags = ctx:tags_for(res)
  tags["rtl:resource"] = nil
  local list = array {}
  for _, what in ipairs { "instance", "volume", "network-interface" } do
    list[#list + 1] = { ResourceType = what, Tags = support.tag_list(tags) }
  end
  return list
end

--- The LaunchTemplateData of a resource: what golden tests and `render` show.
local function template_data(ctx, res, f)
  return {
    InstanceType = f.capacity_block and f.instance_type or nil,
    NetworkInterfaces = interfaces(f),
    BlockDeviceMappings = array { { DeviceName = "/dev/xvda", Ebs = { VolumeSize = f.disk_gib,
      VolumeType = "gp3", Encrypted = true, DeleteOnTermination = true } } },
    MetadataOptions = { HttpTokens = "required", HttpPutResponseHopLimit = f.hop_limit or 2 },
    Placement = f.placement_group and { GroupName = f.placement_group } or nil,
    CapacityReservationSpecification = reservation(f),
    InstanceMarketOptions = f.capacity_block and { MarketType = "capacity-block" } or nil,
    TagSpecifications = tag_specifications(ctx, res),
  }
end

local function find_template(ctx, res)
  local filters, params = array { support.filter("launch-template-name", ctx:own_name(res)) }, nil
  if res.given then params = { LaunchTemplateIds = array { res.given } } end
  local list, failure = ctx:aws("ec2"):all(SPEC.op, params or { Filters = filters })
  if not list and support.not_found(failure) then return nil end
  if not list then return nil, failure end
  local item = list[1]
  if item and not res.given and not support.is_ours(ctx, support.tags_of(item.Tags)) then
    return nil, support.stranger(res, "launch template " .. item.LaunchTemplateName)
  end
  return item
end

local function version_data(ctx, id, number)
  local list, failure = ctx:aws("ec2"):all("describe_launch_template_versions",
    { LaunchTemplateId = id, Versions = array { tostring(number) } })
  if not list then return nil, failure end
  return list[1] and list[1].LaunchTemplateData
end

local function live_of(ctx, item)
  local number = item.LatestVersionNumber
  local live_data, failure = version_data(ctx, item.LaunchTemplateId, number)
  if failure then return nil, failure end
  return { id = item.LaunchTemplateId, template_name = item.LaunchTemplateName,
    version = tostring(number), data = live_data or {} }
end

local function read(ctx, res)
  local item, failure = find_template(ctx, res)
  if not item then return nil, failure end
  return live_of(ctx, item)
end

-- EC2 answers tags and groups in its own order, and adds tags of its own.
local function comparable(value)
  local copy = {}
  for key, part in pairs(value) do copy[key] = part end
  copy.TagSpecifications = {}
  for _, spec in ipairs(value.TagSpecifications or {}) do
    copy.TagSpecifications[spec.ResourceType] = support.tags_of(spec.Tags)
  end
  copy.NetworkInterfaces = value.NetworkInterfaces and {}
  for _, one in ipairs(value.NetworkInterfaces or {}) do
    local interface = {}
    for key, part in pairs(one) do interface[key] = part end
    interface.Groups = table.move(one.Groups or {}, 1, #(one.Groups or {}), 1, {})
    table.sort(interface.Groups)
    table.insert(copy.NetworkInterfaces, interface)
  end
  return copy
end

local PARTS = { "InstanceType", "NetworkInterfaces", "BlockDeviceMappings", "MetadataOptions",
  "Placement", "CapacityReservationSpecification", "InstanceMarketOptions", "TagSpecifications" }

local function diff(ctx, res, f, live)
  if res.given then return {} end
  local want, have = comparable(template_data(ctx, res, f)), comparable(live.data)
  local changes = compare.fields(PARTS, want, have)
  for _, part in ipairs { "CapacityReservationSpecification", "Placement",
    "InstanceMarketOptions" } do
    if want[part] == nil and have[part] and next(have[part]) then
      changes[#changes + 1] = { field = part, have = have[part] }
    end
  end
  return changes
end

-- The template as EC2 kept it, against what was asked for: a lost reservation target leaves a paid
-- block unused, a lost interface leaves EFA out.
local function check_back(ctx, res, f, live)
  local kept, failure = version_data(ctx, live.id, live.version)
  if failure then return nil, failure end
  if not kept then return true end
  live.data = kept
  local lost = diff(ctx, res, f, live)
  if #lost == 0 then return true end
  return err.fail { code = "RTL-PLAN-019", doing = res.key,
    message = ("launch template %s has %s, wanted %s for %s"):format(live.id,
      compare.show(lost[1].have), compare.show(lost[1].want), lost[1].field) }
end

local function create(ctx, res, f, token)
  local name = ctx:own_name(res)
  local answer, failure = ctx:aws("ec2"):create_launch_template { LaunchTemplateName = name,
    LaunchTemplateData = template_data(ctx, res, f), ClientToken = token,
    TagSpecifications = support.tag_specifications(ctx, res, "launch-template") }
  if not answer and support.exists(failure) then return read(ctx, res) end
  if not answer then return nil, failure end
  return { id = answer.LaunchTemplate.LaunchTemplateId, template_name = name,
    version = tostring(answer.LaunchTemplate.LatestVersionNumber or 1) }
end

local function wait(ctx, res, f, live)
  local done, failure = support.insist(ctx, res, 60, support.not_found, function ()
    return check_back(ctx, res, f, live)
  end)
  if not done then return nil, failure end
  return live
end

local function update(ctx, res, f, live)
  return ctx:aws("ec2"):create_launch_template_version { LaunchTemplateId = live.id,
    LaunchTemplateData = template_data(ctx, res, f) }
end

local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):delete_launch_template { LaunchTemplateId = item.id }
  end, { spec = SPEC })
end

return kind.define {
  name = "launch_template",
  outputs = { "id", "version", "template_name" },
  renews = { "version" },
  fields = { instance_type = "string", disk_gib = "integer", security_groups = "list?",
    efa = "integer?", hop_limit = "integer?", placement_group = "string?",
    reservation_id = "string?", reservation_group = "string?", capacity_block = "boolean?" },
  identity = { "instance_type" },
  read = read,
  diff = diff,
  create = create,
  update = update,
  delete = delete,
  tokened = true,
  ready = { wait = wait, usual = 2, delete_usual = 2 },
  find = function (ctx) return support.find(ctx, SPEC) end,
  template_data = template_data,
  actions = {
    "ec2:DescribeLaunchTemplates", "ec2:DescribeLaunchTemplateVersions",
    { "ec2:CreateLaunchTemplate", new = "launch-template/*" },
    { "ec2:CreateLaunchTemplateVersion", "ec2:DeleteLaunchTemplate", ours = "launch-template/*" },
    { "ec2:RunInstances", on = "capacity-reservation/{reservation_id}",
      when = support.BY_TEMPLATE },
    -- Of a group of reservations EC2 does not say by which template a launch comes.
    { "ec2:RunInstances", on = "{reservation_group}" },
  },
}
