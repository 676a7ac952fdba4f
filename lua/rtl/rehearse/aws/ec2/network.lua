--- EC2: VPCs, subnets and network interfaces.

local array = require "rtl.array"
local common = require "rtl.rehearse.aws.ec2.common"
local fault = require "rtl.rehearse.aws.fault"
local places = require "rtl.rehearse.aws.places"
local quotas = require "rtl.rehearse.aws.quota_values"

local M = { operations = {} }
local ops = M.operations

local VPC_FILTERS = { ["vpc-id"] = "VpcId", cidr = "CidrBlock", ["cidr-block"] = "CidrBlock",
  state = "State", ["is-default"] = "IsDefault", isDefault = "IsDefault", ["owner-id"] = "OwnerId",
  ["cidr-block-association.cidr-block"] = "CidrBlock" }

function ops.describe_vpcs(call, p)
  local list, refused = common.select(call.region.vpcs, { ids = p.VpcIds, filters = p.Filters,
    missing = "InvalidVpcID.NotFound", known = VPC_FILTERS })
  return list and { Vpcs = list }, refused
end

local function make_vpc_parts(call, vpc)
  local world, region = call.world, call.region
  local group = require "rtl.rehearse.aws.ec2.groups"
  group.make(call, { VpcId = vpc.VpcId, GroupName = "default", native = true,
                     Description = "default VPC security group" }, { self_ingress = true })
  local id = world:id "rtb"
  region.route_tables:add(id, { RouteTableId = id, VpcId = vpc.VpcId, OwnerId = call.account,
    Tags = array {}, native = true,
    Associations = array { { Main = true, RouteTableId = id, AssociationState =
      { State = "associated" }, RouteTableAssociationId = world:id "rtbassoc" } },
    Routes = array { { DestinationCidrBlock = vpc.CidrBlock, GatewayId = "local",
                       State = "active", Origin = "CreateRouteTable" } } })
end

function ops.create_vpc(call, p)
  local range = common.range(p.CidrBlock)
  if not p.CidrBlock then return nil, fault.missing "CidrBlock" end
  if not range or range.bits < 16 or range.bits > 28 then
    return fault.fail("InvalidVpc.Range", ("The CIDR '%s' is invalid."):format(p.CidrBlock))
  end
  local refused = common.wrong_tags(p, "vpc")
  if refused then return nil, refused end
  if #call.region.vpcs.order >= quotas.value(call.world, "L-F678F1CE") then
    return fault.fail("VpcLimitExceeded", "The maximum number of VPCs has been reached.")
  end
  local id = call.world:id "vpc"
  local vpc = call.region.vpcs:add(id, { VpcId = id, CidrBlock = p.CidrBlock, State = "pending",
    IsDefault = false, InstanceTenancy = p.InstanceTenancy or "default", OwnerId = call.account,
    DhcpOptionsId = "dopt-0a1b2c3d4e5f60718", Tags = common.tags_for(p, "vpc"),
    dns_support = true, dns_hostnames = false })
  make_vpc_parts(call, vpc)
  call.world:after(call.world:spread(0.4, 1.5, id), function () vpc.State = "available" end)
  return { Vpc = vpc }
end

local function vpc_dependents(call, id)
  local region = call.region
  local function of_vpc(item) return item.VpcId == id and not item.native end
  for _, kind in ipairs { "subnets", "vpc_endpoints", "security_groups", "route_tables",
                          "interfaces" } do
    if region[kind]:first(of_vpc) then return kind end
  end
  local function attached(gateway)
    return gateway.Attachments[1] and gateway.Attachments[1].VpcId == id
  end
  return region.internet_gateways:first(attached) and "internet gateways"
end

function ops.delete_vpc(call, p)
  local vpc, refused = common.need(call.region.vpcs, p.VpcId, "InvalidVpcID.NotFound", "vpc ID")
  if not vpc then return nil, refused end
  if vpc_dependents(call, vpc.VpcId) then
    return fault.fail("DependencyViolation", ("The vpc '%s' has dependencies and cannot be "
                                              .. "deleted."):format(vpc.VpcId))
  end
  for _, kind in ipairs { "security_groups", "route_tables" } do
    for _, item in ipairs(call.region[kind]:all(function (it) return it.VpcId == vpc.VpcId end)) do
      call.region[kind]:remove(item.GroupId or item.RouteTableId)
    end
  end
  call.region.vpcs:remove(vpc.VpcId)
  return {}
end

local ATTRIBUTES = { EnableDnsSupport = "dns_support", EnableDnsHostnames = "dns_hostnames" }

function ops.modify_vpc_attribute(call, p)
  local vpc, refused = common.need(call.region.vpcs, p.VpcId, "InvalidVpcID.NotFound", "vpc ID")
  if not vpc then return nil, refused end
  local given = {}
  for _, name in ipairs { "EnableDnsSupport", "EnableDnsHostnames" } do
    if p[name] then given[#given + 1] = name end
  end
  if #given ~= 1 then
    return fault.fail("InvalidParameterCombination", "Exactly one attribute can be modified")
  end
  vpc[ATTRIBUTES[given[1]]] = p[given[1]].Value
  return {}
end

function ops.describe_vpc_attribute(call, p)
  local vpc, refused = common.need(call.region.vpcs, p.VpcId, "InvalidVpcID.NotFound", "vpc ID")
  if not vpc then return nil, refused end
  local name = p.Attribute:sub(1, 1):upper() .. p.Attribute:sub(2)
  return { VpcId = vpc.VpcId, [name] = { Value = vpc[ATTRIBUTES[name]] or false } }
end

local SUBNET_FILTERS = { ["subnet-id"] = "SubnetId", ["vpc-id"] = "VpcId", state = "State",
  ["availability-zone"] = "AvailabilityZone", ["availability-zone-id"] = "AvailabilityZoneId",
  availabilityZone = "AvailabilityZone", ["cidr-block"] = "CidrBlock", cidr = "CidrBlock",
  ["map-public-ip-on-launch"] = "MapPublicIpOnLaunch", ["default-for-az"] = "DefaultForAz" }

function ops.describe_subnets(call, p)
  local list, refused = common.select(call.region.subnets, { ids = p.SubnetIds,
    filters = p.Filters, missing = "InvalidSubnetID.NotFound", known = SUBNET_FILTERS })
  return list and { Subnets = list }, refused
end

local function range_refusal(call, vpc, cidr)
  local inside, range = common.range(vpc.CidrBlock), common.range(cidr)
  if not range or not range.exact or range.bits < 16 or range.bits > 28 then
    return fault.new("InvalidParameterValue", ("Value (%s) for parameter cidrBlock is invalid. "
      .. "This is not a valid CIDR block."):format(tostring(cidr)))
  end
  if range.first < inside.first or range.last > inside.last then
    return fault.new("InvalidSubnet.Range", ("The CIDR '%s' is invalid."):format(cidr))
  end
  for _, subnet in ipairs(call.region.subnets:all()) do
    local other = common.range(subnet.CidrBlock)
    if subnet.VpcId == vpc.VpcId and range.first <= other.last and other.first <= range.last then
      return fault.new("InvalidSubnet.Conflict", ("The CIDR '%s' conflicts with another subnet")
                                                 :format(cidr))
    end
  end
  return nil
end

function ops.create_subnet(call, p)
  local vpc, refused = common.need(call.region.vpcs, p.VpcId, "InvalidVpcID.NotFound", "vpc ID")
  if not vpc then return nil, refused end
  refused = common.wrong_tags(p, "subnet") or range_refusal(call, vpc, p.CidrBlock)
  if refused then return nil, refused end
  if p.AvailabilityZone and p.AvailabilityZoneId then
    return fault.fail("InvalidParameterCombination", "The parameters availabilityZone and "
                      .. "availabilityZoneId can not be used together")
  end
  local wanted = p.AvailabilityZone or p.AvailabilityZoneId
  local zone = wanted and places.zone(call.region.name, wanted)
               or not wanted and places.regions[call.region.name][1]
  if not zone then
    return fault.fail("InvalidParameterValue", ("Value (%s) for parameter availabilityZone is "
                                                .. "invalid."):format(wanted))
  end
  local id, range = call.world:id "subnet", common.range(p.CidrBlock)
  local subnet = call.region.subnets:add(id, { SubnetId = id, VpcId = vpc.VpcId,
    CidrBlock = p.CidrBlock, State = "pending", AvailabilityZone = zone.name, DefaultForAz = false,
    AvailabilityZoneId = zone.id, MapPublicIpOnLaunch = false, OwnerId = call.account,
    SubnetArn = ("arn:aws:ec2:%s:%s:subnet/%s"):format(call.region.name, call.account, id),
    AvailableIpAddressCount = range.last - range.first + 1 - 5,
    Tags = common.tags_for(p, "subnet") })
  call.world:after(call.world:spread(0.3, 1, id), function () subnet.State = "available" end)
  return { Subnet = subnet }
end

function ops.delete_subnet(call, p)
  local subnet, refused = common.need(call.region.subnets, p.SubnetId, "InvalidSubnetID.NotFound",
                                      "subnet ID")
  if not subnet then return nil, refused end
  if call.region.interfaces:first(function (it) return it.SubnetId == subnet.SubnetId end) then
    return fault.fail("DependencyViolation", ("The subnet '%s' has dependencies and cannot be "
                                              .. "deleted."):format(subnet.SubnetId))
  end
  for _, routes in ipairs(call.region.route_tables:all()) do
    for i = #routes.Associations, 1, -1 do
      if routes.Associations[i].SubnetId == subnet.SubnetId then
        table.remove(routes.Associations, i)
      end
    end
  end
  call.region.subnets:remove(subnet.SubnetId)
  return {}
end

function ops.modify_subnet_attribute(call, p)
  local subnet, refused = common.need(call.region.subnets, p.SubnetId, "InvalidSubnetID.NotFound",
                                      "subnet ID")
  if not subnet then return nil, refused end
  if p.MapPublicIpOnLaunch then subnet.MapPublicIpOnLaunch = p.MapPublicIpOnLaunch.Value end
  return {}
end

local INTERFACE_FILTERS = { ["network-interface-id"] = "NetworkInterfaceId", ["vpc-id"] = "VpcId",
  ["subnet-id"] = "SubnetId", status = "Status", description = "Description",
  ["interface-type"] = "InterfaceType", ["requester-managed"] = "RequesterManaged",
  ["requester-id"] = "RequesterId", ["availability-zone"] = "AvailabilityZone",
  ["private-ip-address"] = "PrivateIpAddress",
  ["group-id"] = function (item)
    local ids = {}
    for i, group in ipairs(item.Groups) do ids[i] = group.GroupId end
    return ids
  end,
  ["attachment.instance-id"] = function (item)
    return item.Attachment and item.Attachment.InstanceId
  end,
  ["association.public-ip"] = function (item)
    return item.Association and item.Association.PublicIp
  end }

function ops.describe_network_interfaces(call, p)
  local list, refused = common.select(call.region.interfaces, { ids = p.NetworkInterfaceIds,
    filters = p.Filters, missing = "InvalidNetworkInterfaceID.NotFound",
    known = INTERFACE_FILTERS })
  return list and { NetworkInterfaces = list }, refused
end

function ops.delete_network_interface(call, p)
  local item, refused = common.need(call.region.interfaces, p.NetworkInterfaceId,
                                    "InvalidNetworkInterfaceID.NotFound", "networkInterface ID")
  if not item then return nil, refused end
  if item.RequesterManaged then
    return fault.fail("OperationNotPermitted", "You are not allowed to manage '"
                      .. item.RequesterId .. "' attachments.")
  end
  if item.Status ~= "available" then
    return fault.fail("InvalidParameterValue", ("Network interface '%s' is currently in use.")
                                               :format(item.NetworkInterfaceId))
  end
  call.region.interfaces:remove(item.NetworkInterfaceId)
  return {}
end

function ops.detach_network_interface(call, p)
  local item = call.region.interfaces:first(function (it)
    return it.Attachment and it.Attachment.AttachmentId == p.AttachmentId
  end)
  if not item then
    return fault.fail("InvalidAttachmentID.NotFound", ("The attachment '%s' does not exist.")
                                                      :format(p.AttachmentId))
  end
  item.Attachment, item.Status = nil, "available"
  return {}
end

--- Makes an interface. `options`: subnet, groups (ids), Description, InterfaceType, more fields.
function M.make_interface(call, options)
  local subnet, id = options.subnet, call.world:id "eni"
  local groups = array {}
  for i, group_id in ipairs(options.groups or {}) do
    local group = call.region.security_groups:get(group_id)
    groups[i] = { GroupId = group_id, GroupName = group and group.GroupName }
  end
  local item = { NetworkInterfaceId = id, SubnetId = subnet.SubnetId, VpcId = subnet.VpcId,
    AvailabilityZone = subnet.AvailabilityZone, Groups = groups, Status = "in-use",
    InterfaceType = "interface", PrivateIpAddress = common.next_address(subnet),
    RequesterManaged = false, TagSet = array {}, native = true, Description = "" }
  for name, value in next, options do
    if name ~= "subnet" and name ~= "groups" then item[name] = value end
  end
  return call.region.interfaces:add(id, item)
end

--- Takes an interface away and gives its address back.
function M.drop_interface(region, item)
  region.interfaces:remove(item.NetworkInterfaceId)
  local subnet = region.subnets:get(item.SubnetId)
  if subnet then subnet.AvailableIpAddressCount = subnet.AvailableIpAddressCount + 1 end
end

return M
