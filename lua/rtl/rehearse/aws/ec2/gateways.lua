--- EC2: internet gateways, addresses, NAT gateways.

local array = require "rtl.array"
local common = require "rtl.rehearse.aws.ec2.common"
local fault = require "rtl.rehearse.aws.fault"
local network = require "rtl.rehearse.aws.ec2.network"
local quotas = require "rtl.rehearse.aws.quota_values"

local M = { operations = {} }
local ops = M.operations

local GATEWAY_FILTERS = { ["internet-gateway-id"] = "InternetGatewayId", ["owner-id"] = "OwnerId",
  ["attachment.vpc-id"] = function (item)
    return item.Attachments[1] and item.Attachments[1].VpcId
  end,
  ["attachment.state"] = function (item)
    return item.Attachments[1] and item.Attachments[1].State
  end }

function ops.describe_internet_gateways(call, p)
  local list, refused = common.select(call.region.internet_gateways, { filters = p.Filters,
    ids = p.InternetGatewayIds, missing = "InvalidInternetGatewayID.NotFound",
    known = GATEWAY_FILTERS })
  return list and { InternetGateways = list }, refused
end

function ops.create_internet_gateway(call, p)
  local refused = common.wrong_tags(p, "internet-gateway")
  if refused then return nil, refused end
  if #call.region.internet_gateways.order >= quotas.value(call.world, "L-A4707A72") then
    return fault.fail("InternetGatewayLimitExceeded",
                      "The maximum number of internet gateways has been reached.")
  end
  local id = call.world:id "igw"
  return { InternetGateway = call.region.internet_gateways:add(id, { InternetGatewayId = id,
    OwnerId = call.account, Attachments = array {},
    Tags = common.tags_for(p, "internet-gateway") }) }
end

local function need_gateway(call, p)
  return common.need(call.region.internet_gateways, p.InternetGatewayId,
                     "InvalidInternetGatewayID.NotFound", "internetGateway ID")
end

function ops.attach_internet_gateway(call, p)
  local gateway, refused = need_gateway(call, p)
  if not gateway then return nil, refused end
  local vpc
  vpc, refused = common.need(call.region.vpcs, p.VpcId, "InvalidVpcID.NotFound", "vpc ID")
  if not vpc then return nil, refused end
  if gateway.Attachments[1] then
    return fault.fail("Resource.AlreadyAssociated", ("resource %s is already attached to network "
      .. "%s"):format(gateway.InternetGatewayId, gateway.Attachments[1].VpcId))
  end
  local other = call.region.internet_gateways:first(function (it)
    return it.Attachments[1] and it.Attachments[1].VpcId == vpc.VpcId
  end)
  if other then
    return fault.fail("InvalidParameterValue", ("Network %s already has an internet gateway "
                                                .. "attached"):format(vpc.VpcId))
  end
  gateway.Attachments[1] = { State = "available", VpcId = vpc.VpcId }
  return {}
end

local function public_addresses(call, vpc_id)
  return call.region.nat_gateways:first(function (it)
    return it.VpcId == vpc_id and it.State ~= "deleted" and it.ConnectivityType == "public"
  end)
end

function ops.detach_internet_gateway(call, p)
  local gateway, refused = need_gateway(call, p)
  if not gateway then return nil, refused end
  local attachment = gateway.Attachments[1]
  if not attachment or attachment.VpcId ~= p.VpcId then
    return fault.fail("Gateway.NotAttached", ("resource %s is not attached to network %s")
                                             :format(p.InternetGatewayId, p.VpcId))
  end
  if public_addresses(call, p.VpcId) then
    return fault.fail("DependencyViolation", ("Network %s has some mapped public address(es). "
      .. "Please unmap those public address(es) before detaching the gateway."):format(p.VpcId))
  end
  gateway.Attachments[1] = nil
  return {}
end

function ops.delete_internet_gateway(call, p)
  local gateway, refused = need_gateway(call, p)
  if not gateway then return nil, refused end
  if gateway.Attachments[1] then
    return fault.fail("DependencyViolation", ("The internetGateway '%s' has dependencies and "
      .. "cannot be deleted."):format(gateway.InternetGatewayId))
  end
  call.region.internet_gateways:remove(gateway.InternetGatewayId)
  return {}
end

local ADDRESS_FILTERS = { ["allocation-id"] = "AllocationId", ["public-ip"] = "PublicIp",
  domain = "Domain", ["association-id"] = "AssociationId", ["instance-id"] = "InstanceId",
  ["network-interface-id"] = "NetworkInterfaceId" }

function ops.describe_addresses(call, p)
  local list, refused = common.select(call.region.addresses, { ids = p.AllocationIds,
    filters = p.Filters, missing = "InvalidAllocationID.NotFound", known = ADDRESS_FILTERS })
  return list and { Addresses = list }, refused
end

function ops.allocate_address(call, p)
  local refused = common.wrong_tags(p, "elastic-ip")
  if refused then return nil, refused end
  if #call.region.addresses.order >= quotas.value(call.world, "L-0263D0A3") then
    return fault.fail("AddressLimitExceeded", "The maximum number of addresses has been reached.")
  end
  local id, n = call.world:id "eipalloc", call.world:count "public address"
  local address = call.region.addresses:add(id, { AllocationId = id, Domain = "vpc",
    PublicIp = ("203.0.113.%d"):format(9 + n % 240), Tags = common.tags_for(p, "elastic-ip") })
  return { AllocationId = id, PublicIp = address.PublicIp, Domain = "vpc" }
end

function ops.release_address(call, p)
  local address, refused = common.need(call.region.addresses, p.AllocationId,
                                       "InvalidAllocationID.NotFound", "allocation ID")
  if not address then return nil, refused end
  if address.AssociationId then
    return fault.fail("InvalidIPAddress.InUse", ("Address %s is in use."):format(address.PublicIp))
  end
  call.region.addresses:remove(address.AllocationId)
  return {}
end

function ops.disassociate_address(call, p)
  local address = call.region.addresses:first(function (it)
    return it.AssociationId == p.AssociationId
  end)
  if not address then
    return fault.fail("InvalidAssociationID.NotFound", ("The association ID '%s' does not exist")
                                                       :format(tostring(p.AssociationId)))
  end
  return fault.fail("AuthFailure", "You do not have permission to access the specified resource.")
end

local NAT_FILTERS = { ["nat-gateway-id"] = "NatGatewayId", ["vpc-id"] = "VpcId", state = "State",
                      ["subnet-id"] = "SubnetId" }

function ops.describe_nat_gateways(call, p)
  local list, refused = common.select(call.region.nat_gateways, { ids = p.NatGatewayIds,
    filters = p.Filter, missing = "NatGatewayNotFound", known = NAT_FILTERS })
  return list and { NatGateways = list }, refused
end

-- Why a NAT gateway that is pending will fail: code and message.
local function nat_failure(call, subnet, address)
  local struck = call.world:strikes "nat-failure"
  if struck then return table.unpack(struck.failure) end
  local gateway = call.region.internet_gateways:first(function (it)
    return it.Attachments[1] and it.Attachments[1].VpcId == subnet.VpcId
  end)
  if not gateway then
    return "Gateway.NotAttached", ("Network %s has no Internet gateway attached")
                                  :format(subnet.VpcId)
  end
  if not address then
    return "InvalidAllocationID.NotFound", "Elastic IP address could not be associated with this "
                                           .. "NAT gateway"
  end
  if address.AssociationId then
    return "Resource.AlreadyAssociated", ("Elastic IP address [%s] is already associated")
                                         :format(address.AllocationId)
  end
  return nil
end

local function finish_nat(call, nat, subnet, address)
  local code, message = nat_failure(call, subnet, address)
  if code then
    nat.State, nat.FailureCode, nat.FailureMessage = "failed", code, message
    return
  end
  local entry = nat.NatGatewayAddresses[1]
  local interface = network.make_interface(call, { subnet = subnet, groups = {},
    Description = "Interface for NAT Gateway " .. nat.NatGatewayId, InterfaceType = "nat_gateway",
    RequesterManaged = true, RequesterId = "amazon-elb-natgw" })
  address.AssociationId = call.world:id "eipassoc"
  address.NetworkInterfaceId = interface.NetworkInterfaceId
  entry.AssociationId, entry.NetworkInterfaceId = address.AssociationId,
                                                  interface.NetworkInterfaceId
  entry.PublicIp, entry.PrivateIp = address.PublicIp, interface.PrivateIpAddress
  entry.Status, nat.State = "succeeded", "available"
end

function ops.create_nat_gateway(call, p)
  local refused = common.wrong_tags(p, "natgateway")
  if refused then return nil, refused end
  local subnet
  subnet, refused = common.need(call.region.subnets, p.SubnetId, "InvalidSubnetID.NotFound",
                                "subnet ID")
  if not subnet then return nil, refused end
  if p.ConnectivityType ~= "private" and not p.AllocationId then
    return nil, fault.missing "AllocationId"
  end
  local id = call.world:id "nat"
  local nat = call.region.nat_gateways:add(id, { NatGatewayId = id, SubnetId = subnet.SubnetId,
    VpcId = subnet.VpcId, State = "pending", CreateTime = call.world:second(),
    ConnectivityType = p.ConnectivityType or "public", AvailabilityMode = "zonal",
    NatGatewayAddresses = array { { AllocationId = p.AllocationId, IsPrimary = true,
                                    Status = "associating" } },
    Tags = common.tags_for(p, "natgateway") })
  call.world:after(call.world:spread(85, 140, id), function ()
    if nat.State == "pending" then
      finish_nat(call, nat, subnet, call.region.addresses:get(p.AllocationId))
    end
  end)
  return { NatGateway = nat, ClientToken = p.ClientToken }
end

local VISIBLE = 3600

local function end_nat(call, nat)
  local entry = nat.NatGatewayAddresses[1]
  local address = call.region.addresses:get(entry.AllocationId)
  if address and address.AssociationId == entry.AssociationId then
    address.AssociationId, address.NetworkInterfaceId = nil, nil
  end
  local interface = call.region.interfaces:get(entry.NetworkInterfaceId)
  if interface then network.drop_interface(call.region, interface) end
  nat.State, nat.DeleteTime = "deleted", call.world:second()
  for _, routes in ipairs(call.region.route_tables:all()) do
    for _, route in ipairs(routes.Routes) do
      if route.NatGatewayId == nat.NatGatewayId then route.State = "blackhole" end
    end
  end
  call.world:after(VISIBLE, function () call.region.nat_gateways:remove(nat.NatGatewayId) end)
end

function ops.delete_nat_gateway(call, p)
  local nat, refused = common.need(call.region.nat_gateways, p.NatGatewayId, "NatGatewayNotFound",
                                   "NatGateway")
  if not nat then return nil, refused end
  if nat.State ~= "deleted" and nat.State ~= "deleting" then
    nat.State = "deleting"
    call.world:after(call.world:spread(35, 60, "end", nat.NatGatewayId), function ()
      end_nat(call, nat)
    end)
  end
  return { NatGatewayId = nat.NatGatewayId }
end

return M
