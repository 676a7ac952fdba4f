--- EC2: instances with their interfaces and volumes. Nobody calls RunInstances here: node groups
-- start and stop them.

local array = require "rtl.array"
local clock = require "rtl.clock"
local common = require "rtl.rehearse.aws.ec2.common"
local crypto = require "rtl.native.crypto"
local fault = require "rtl.rehearse.aws.fault"
local network = require "rtl.rehearse.aws.ec2.network"

local M = { operations = {} }
local ops = M.operations

local STATES = { pending = 0, running = 16, ["shutting-down"] = 32, terminated = 48 }

local function set_state(item, name)
  item.State = { Code = STATES[name], Name = name }
end

local function group_ids(item)
  local ids = {}
  for i, group in ipairs(item.SecurityGroups) do ids[i] = group.GroupId end
  return ids
end

local INSTANCE_FILTERS = { ["instance-id"] = "InstanceId", ["instance-type"] = "InstanceType",
  ["vpc-id"] = "VpcId", ["subnet-id"] = "SubnetId", ["private-dns-name"] = "PrivateDnsName",
  ["private-ip-address"] = "PrivateIpAddress", ["image-id"] = "ImageId",
  ["capacity-reservation-id"] = "CapacityReservationId",
  ["instance-state-name"] = function (item) return item.State.Name end,
  ["instance-state-code"] = function (item) return item.State.Code end,
  ["availability-zone"] = function (item) return item.Placement.AvailabilityZone end,
  ["availability-zone-id"] = function (item) return item.Placement.AvailabilityZoneId end,
  ["placement-group-name"] = function (item) return item.Placement.GroupName end,
  ["instance.group-id"] = group_ids, ["group-id"] = group_ids,
  ["network-interface.group-id"] = group_ids }

function ops.describe_instances(call, p)
  local list, refused = common.select(call.region.instances, { ids = p.InstanceIds,
    filters = p.Filters, missing = "InvalidInstanceID.NotFound", known = INSTANCE_FILTERS })
  if not list then return nil, refused end
  local reservations = array {}
  for i, item in ipairs(list) do
    reservations[i] = { ReservationId = "r" .. item.InstanceId:sub(2), OwnerId = call.account,
                        Groups = array {}, Instances = array { item } }
  end
  return { Reservations = reservations }
end

local function tags_from(data, kind, more)
  local tags = array {}
  for _, specification in ipairs(data.TagSpecifications or {}) do
    if specification.ResourceType == kind then common.set_tags(tags, specification.Tags or {}) end
  end
  common.set_tags(tags, more or {})
  return tags
end

local function interface_options(data, fallback_groups)
  if data.NetworkInterfaces and #data.NetworkInterfaces > 0 then return data.NetworkInterfaces end
  local groups = data.SecurityGroupIds
  if not groups or #groups == 0 then groups = fallback_groups end
  return { { DeviceIndex = 0, NetworkCardIndex = 0, Groups = groups } }
end

local function attach_interfaces(call, item, subnet, data, fallback_groups)
  for _, wanted in ipairs(interface_options(data, fallback_groups)) do
    local interface = network.make_interface(call, { subnet = subnet, groups = wanted.Groups,
      InterfaceType = wanted.InterfaceType or "interface", TagSet =
        tags_from(data, "network-interface"), MacAddress = "02:00:00:00:00:01",
      Attachment = { AttachmentId = call.world:id "eni-attach", DeleteOnTermination = true,
        DeviceIndex = wanted.DeviceIndex or 0, NetworkCardIndex = wanted.NetworkCardIndex or 0,
        InstanceId = item.InstanceId, InstanceOwnerId = call.account, Status = "attached",
        AttachTime = call.world:second() } })
    table.insert(item.NetworkInterfaces, { NetworkInterfaceId = interface.NetworkInterfaceId,
      InterfaceType = interface.InterfaceType, Groups = interface.Groups, Status = "in-use",
      PrivateIpAddress = interface.PrivateIpAddress, SubnetId = subnet.SubnetId,
      VpcId = subnet.VpcId, Attachment = interface.Attachment, SourceDestCheck = true,
      Description = interface.Description, MacAddress = interface.MacAddress })
  end
end

local function attach_volumes(call, item, subnet, data)
  local mappings = data.BlockDeviceMappings or {}
  if #mappings == 0 then mappings = { { DeviceName = "/dev/xvda", Ebs = {} } } end
  for _, mapping in ipairs(mappings) do
    local ebs, id = mapping.Ebs or {}, call.world:id "vol"
    call.region.volumes:add(id, { VolumeId = id, Size = ebs.VolumeSize or 20, State = "in-use",
      VolumeType = ebs.VolumeType or "gp3", Encrypted = ebs.Encrypted or false,
      AvailabilityZone = subnet.AvailabilityZone, CreateTime = call.world:second(), native = true,
      Tags = tags_from(data, "volume"), Attachments = array { { VolumeId = id,
        InstanceId = item.InstanceId, Device = mapping.DeviceName, State = "attached",
        DeleteOnTermination = true, AttachTime = call.world:second() } } })
    table.insert(item.BlockDeviceMappings, { DeviceName = mapping.DeviceName,
      Ebs = { VolumeId = id, Status = "attached", DeleteOnTermination = true } })
  end
end

--- Starts an instance. `options`: type (name), subnet, data (of a launch template), image, tags,
-- groups (where the template has none), profile (ARN), reservation (id). Returns it in `pending`.
function M.start(call, options)
  local id, subnet, data = call.world:id "i", options.subnet, options.data
  local item = call.region.instances:add(id, { InstanceId = id, InstanceType = options.type,
    ImageId = options.image, LaunchTime = call.world:second(), SubnetId = subnet.SubnetId,
    VpcId = subnet.VpcId, Architecture = "x86_64", native = true,
    NetworkInterfaces = array {}, BlockDeviceMappings = array {},
    Placement = { AvailabilityZone = subnet.AvailabilityZone, Tenancy = "default",
      AvailabilityZoneId = subnet.AvailabilityZoneId,
      GroupName = data.Placement and data.Placement.GroupName },
    IamInstanceProfile = options.profile and { Arn = options.profile },
    CapacityReservationId = options.reservation,
    MetadataOptions = data.MetadataOptions,
    Tags = tags_from(data, "instance", options.tags) })
  set_state(item, "pending")
  attach_interfaces(call, item, subnet, data, options.groups)
  attach_volumes(call, item, subnet, data)
  local first = item.NetworkInterfaces[1]
  item.SecurityGroups, item.PrivateIpAddress = first.Groups, first.PrivateIpAddress
  item.PrivateDnsName = common.host_name(call.region.name, first.PrivateIpAddress)
  call.world:after(call.world:spread(12, 28, "run", id), function ()
    if item.State.Name == "pending" then set_state(item, "running") end
  end)
  return item
end

--- The EFA interfaces of an instance.
function M.efa_count(item)
  local n = 0
  for _, interface in ipairs(item.NetworkInterfaces) do
    if interface.InterfaceType == "efa" or interface.InterfaceType == "efa-only" then n = n + 1 end
  end
  return n
end

local VISIBLE = 3600

local function finish(call, item)
  for _, interface in ipairs(item.NetworkInterfaces) do
    local there = call.region.interfaces:get(interface.NetworkInterfaceId)
    if there then network.drop_interface(call.region, there) end
  end
  for _, mapping in ipairs(item.BlockDeviceMappings) do
    call.region.volumes:remove(mapping.Ebs.VolumeId)
  end
  item.NetworkInterfaces, item.BlockDeviceMappings = array {}, array {}
  item.SecurityGroups, item.SubnetId, item.VpcId = array {}, nil, nil
  set_state(item, "terminated")
  call.world:after(VISIBLE, function () call.region.instances:remove(item.InstanceId) end)
end

--- Ends an instance; its interfaces and volumes go when it is terminated.
function M.stop(call, item)
  if item.State.Name == "terminated" or item.State.Name == "shutting-down" then return end
  set_state(item, "shutting-down")
  item.stopped_at = call.world:now()
  item.StateTransitionReason = ("User initiated (%s GMT)"):format(
    clock.iso(item.stopped_at):gsub("[TZ]", { T = " ", Z = "" }))
  call.world:after(call.world:spread(25, 60, "stop", item.InstanceId), function ()
    finish(call, item)
  end)
end

function ops.terminate_instances(call, p)
  local changes = array {}
  for i, id in ipairs(p.InstanceIds) do
    local item = call.region.instances:get(id)
    if not item then
      return fault.fail("InvalidInstanceID.NotFound", ("The instance ID '%s' does not exist")
                                                      :format(id))
    end
    local before = item.State
    M.stop(call, item)
    changes[i] = { InstanceId = id, PreviousState = before, CurrentState = item.State }
  end
  return { TerminatingInstances = changes }
end

function ops.get_console_output(call, p)
  local item, refused = common.need(call.region.instances, p.InstanceId,
                                    "InvalidInstanceID.NotFound", "instance ID")
  if not item then return nil, refused end
  return { InstanceId = item.InstanceId, Timestamp = call.world:second(),
           Output = crypto.base64_encode(item.console or "") }
end

local VOLUME_FILTERS = { ["volume-id"] = "VolumeId", status = "State",
  ["availability-zone"] = "AvailabilityZone", size = "Size", ["volume-type"] = "VolumeType",
  ["attachment.instance-id"] = function (item)
    return item.Attachments[1] and item.Attachments[1].InstanceId
  end }

function ops.describe_volumes(call, p)
  local list, refused = common.select(call.region.volumes, { ids = p.VolumeIds,
    filters = p.Filters, missing = "InvalidVolume.NotFound", known = VOLUME_FILTERS })
  return list and { Volumes = list }, refused
end

function ops.delete_volume(call, p)
  local volume, refused = common.need(call.region.volumes, p.VolumeId, "InvalidVolume.NotFound",
                                      "volume")
  if not volume then return nil, refused end
  if volume.State ~= "available" then
    return fault.fail("VolumeInUse", ("Volume %s is currently attached to %s")
      :format(volume.VolumeId, volume.Attachments[1].InstanceId))
  end
  call.region.volumes:remove(volume.VolumeId)
  return {}
end

return M
