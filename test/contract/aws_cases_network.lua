-- luacheck: std +busted
-- Cases of an account's network: VPCs, subnets, gateways, routes, endpoints, groups, tags.
local contract = ...
local case, tags = contract.case, contract.tags

local function named(kind, name) return tags(kind, name) end

local function network(t)
  local vpc = t.ask("ec2", "create_vpc", { CidrBlock = "10.42.0.0/16",
    TagSpecifications = named("vpc", "main") }).Vpc.VpcId
  local subnet = t.ask("ec2", "create_subnet", { VpcId = vpc, CidrBlock = "10.42.0.0/24",
    AvailabilityZone = "us-east-1a", TagSpecifications = named("subnet", "a") }).Subnet.SubnetId
  return vpc, subnet
end

contract.network = network

case("makes a VPC and its subnets, and refuses what overlaps", function (t)
  local vpc, subnet = network(t)
  t.wait("ec2", "vpc_available", { VpcIds = { vpc } })
  local found = t.ask("ec2", "describe_vpcs", { Filters = { { Name = "tag:rtl:deployment",
    Values = { "demo" } } } }).Vpcs
  assert.equal(vpc, found[1].VpcId)
  assert.equal(1, #found)
  t.ask("ec2", "modify_vpc_attribute", { VpcId = vpc, EnableDnsHostnames = { Value = true } })
  assert.is_true(t.ask("ec2", "describe_vpc_attribute", { VpcId = vpc,
    Attribute = "enableDnsHostnames" }).EnableDnsHostnames.Value)
  t.ask("ec2", "modify_subnet_attribute", { SubnetId = subnet,
    MapPublicIpOnLaunch = { Value = true } })
  local shown = t.ask("ec2", "describe_subnets", { SubnetIds = { subnet } }).Subnets[1]
  assert.is_true(shown.MapPublicIpOnLaunch)
  assert.equal(251, shown.AvailableIpAddressCount)
  assert.truthy(shown.AvailabilityZoneId:find "^use1%-az%d$")
  t.refuse("InvalidSubnet.Conflict", "ec2", "create_subnet", { VpcId = vpc,
    CidrBlock = "10.42.0.0/25" })
  t.refuse("InvalidSubnet.Range", "ec2", "create_subnet", { VpcId = vpc,
    CidrBlock = "10.99.0.0/24" })
  t.refuse("InvalidVpcID.NotFound", "ec2", "describe_vpcs", {
    VpcIds = { "vpc-0123456789abcdef0" } })
  t.refuse("DependencyViolation", "ec2", "delete_vpc", { VpcId = vpc })
  t.ask("ec2", "delete_subnet", { SubnetId = subnet })
  t.refuse({ "InvalidSubnetID.NotFound" }, "ec2", "describe_subnets", { SubnetIds = { subnet } })
  t.ask("ec2", "delete_vpc", { VpcId = vpc })
  t.refuse("InvalidVpcID.NotFound", "ec2", "delete_vpc", { VpcId = vpc })
end)

case("attaches one internet gateway to a VPC", function (t)
  local vpc = network(t)
  local gateway = t.ask("ec2", "create_internet_gateway", {
    TagSpecifications = named("internet-gateway", "igw") }).InternetGateway.InternetGatewayId
  t.ask("ec2", "attach_internet_gateway", { InternetGatewayId = gateway, VpcId = vpc })
  t.refuse("Resource.AlreadyAssociated", "ec2", "attach_internet_gateway", {
    InternetGatewayId = gateway, VpcId = vpc })
  local found = t.ask("ec2", "describe_internet_gateways", { Filters = {
    { Name = "attachment.vpc-id", Values = { vpc } } } }).InternetGateways
  assert.equal(gateway, found[1].InternetGatewayId)
  assert.equal("available", found[1].Attachments[1].State)
  t.refuse("DependencyViolation", "ec2", "delete_internet_gateway", {
    InternetGatewayId = gateway })
  t.ask("ec2", "detach_internet_gateway", { InternetGatewayId = gateway, VpcId = vpc })
  t.refuse("Gateway.NotAttached", "ec2", "detach_internet_gateway", {
    InternetGatewayId = gateway, VpcId = vpc })
  t.ask("ec2", "delete_internet_gateway", { InternetGatewayId = gateway })
end)

case("leads a private subnet through a NAT gateway, and takes it down in order", function (t)
  local vpc, subnet = network(t)
  local gateway = t.ask("ec2", "create_internet_gateway", {}).InternetGateway.InternetGatewayId
  t.ask("ec2", "attach_internet_gateway", { InternetGatewayId = gateway, VpcId = vpc })
  local address = t.ask("ec2", "allocate_address", { Domain = "vpc",
    TagSpecifications = named("elastic-ip", "nat") }).AllocationId
  local create = { SubnetId = subnet, AllocationId = address, ClientToken = "run-1-nat",
                   TagSpecifications = named("natgateway", "nat") }
  local nat = t.ask("ec2", "create_nat_gateway", create).NatGateway.NatGatewayId
  assert.equal(nat, t.ask("ec2", "create_nat_gateway", create).NatGateway.NatGatewayId)
  t.wait("ec2", "nat_gateway_available", { NatGatewayIds = { nat } })
  local shown = t.ask("ec2", "describe_nat_gateways", { Filter = {
    { Name = "vpc-id", Values = { vpc } } } }).NatGateways[1]
  assert.equal(address, shown.NatGatewayAddresses[1].AllocationId)
  local held = t.ask("ec2", "describe_addresses", { AllocationIds = { address } }).Addresses[1]
  if not t.with.lax then assert.is_string(held.AssociationId) end
  local routes = t.ask("ec2", "create_route_table", { VpcId = vpc,
    TagSpecifications = named("route-table", "private") }).RouteTable.RouteTableId
  local route = { RouteTableId = routes, DestinationCidrBlock = "0.0.0.0/0", NatGatewayId = nat }
  t.ask("ec2", "create_route", route)
  t.strictly("RouteAlreadyExists", "ec2", "create_route", route)
  t.ask("ec2", "replace_route", { RouteTableId = routes, DestinationCidrBlock = "0.0.0.0/0",
    GatewayId = gateway })
  t.ask("ec2", "delete_route", { RouteTableId = routes, DestinationCidrBlock = "0.0.0.0/0" })
  t.strictly("AuthFailure", "ec2", "disassociate_address", {
    AssociationId = held.AssociationId })
  t.strictly("InvalidIPAddress.InUse", "ec2", "release_address", { AllocationId = address })
  t.strictly("DependencyViolation", "ec2", "detach_internet_gateway", {
    InternetGatewayId = gateway, VpcId = vpc })
  t.strictly("DependencyViolation", "ec2", "delete_subnet", { SubnetId = subnet })
  t.ask("ec2", "delete_route_table", { RouteTableId = routes })
  assert.equal(nat, t.ask("ec2", "delete_nat_gateway", { NatGatewayId = nat }).NatGatewayId)
  t.wait("ec2", "nat_gateway_deleted", { NatGatewayIds = { nat } })
  t.ask("ec2", "release_address", { AllocationId = address })
  t.refuse("InvalidAllocationID.NotFound", "ec2", "release_address", { AllocationId = address })
end)

case("ties route tables and endpoints to subnets", function (t)
  local vpc, subnet = network(t)
  local function make_table()
    return t.ask("ec2", "create_route_table", { VpcId = vpc }).RouteTable.RouteTableId
  end
  local first, second = make_table(), make_table()
  local association = t.ask("ec2", "associate_route_table", { RouteTableId = first,
    SubnetId = subnet }).AssociationId
  local shown = t.ask("ec2", "describe_route_tables", { Filters = {
    { Name = "association.subnet-id", Values = { subnet } } } }).RouteTables
  assert.equal(first, shown[1].RouteTableId)
  assert.equal("local", shown[1].Routes[1].GatewayId)
  t.refuse("DependencyViolation", "ec2", "delete_route_table", { RouteTableId = first })
  local moved = t.ask("ec2", "replace_route_table_association", { AssociationId = association,
    RouteTableId = second }).NewAssociationId
  local endpoint = t.ask("ec2", "create_vpc_endpoint", { VpcId = vpc, VpcEndpointType = "Gateway",
    ServiceName = "com.amazonaws.us-east-1.s3", RouteTableIds = { second },
    TagSpecifications = named("vpc-endpoint", "s3") }).VpcEndpoint.VpcEndpointId
  if not t.with.lax then
    t.ask("ec2", "modify_vpc_endpoint", { VpcEndpointId = endpoint, AddRouteTableIds = { first } })
  end
  local found = t.ask("ec2", "describe_vpc_endpoints", { Filters = {
    { Name = "vpc-id", Values = { vpc } } } }).VpcEndpoints[1]
  assert.equal(endpoint, found.VpcEndpointId)
  assert.same({}, t.ask("ec2", "delete_vpc_endpoints", {
    VpcEndpointIds = { endpoint } }).Unsuccessful)
  t.ask("ec2", "disassociate_route_table", { AssociationId = moved })
  t.refuse("InvalidAssociationID.NotFound", "ec2", "disassociate_route_table", {
    AssociationId = moved })
  t.ask("ec2", "delete_route_table", { RouteTableId = first })
  t.refuse("InvalidRouteTableID.NotFound", "ec2", "delete_route_table", { RouteTableId = first })
end)

case("keeps the rules of security groups, both ways", function (t)
  local vpc = network(t)
  local create = { GroupName = "efa", Description = "EFA traffic", VpcId = vpc,
                   TagSpecifications = named("security-group", "efa") }
  local group = t.ask("ec2", "create_security_group", create).GroupId
  t.refuse("InvalidGroup.Duplicate", "ec2", "create_security_group", create)
  local own = { { IpProtocol = "-1", UserIdGroupPairs = { { GroupId = group } } } }
  t.ask("ec2", "authorize_security_group_ingress", { GroupId = group, IpPermissions = own })
  t.refuse("InvalidPermission.Duplicate", "ec2", "authorize_security_group_ingress", {
    GroupId = group, IpPermissions = own })
  t.ask("ec2", "authorize_security_group_egress", { GroupId = group, IpPermissions = own })
  local rules = t.ask("ec2", "describe_security_group_rules", { Filters = {
    { Name = "group-id", Values = { group } } } }).SecurityGroupRules
  assert.equal(3, #rules)
  local shown = t.ask("ec2", "describe_security_groups", { GroupIds = { group } }).SecurityGroups[1]
  assert.equal(group, shown.IpPermissions[1].UserIdGroupPairs[1].GroupId)
  assert.equal(vpc, shown.VpcId)
  local other = t.ask("ec2", "create_security_group", { GroupName = "other", Description = "x",
    VpcId = vpc }).GroupId
  local theirs = { { IpProtocol = "tcp", FromPort = 443, ToPort = 443,
                     UserIdGroupPairs = { { GroupId = group } } } }
  t.ask("ec2", "authorize_security_group_ingress", { GroupId = other, IpPermissions = theirs })
  t.strictly("DependencyViolation", "ec2", "delete_security_group", { GroupId = group })
  t.ask("ec2", "revoke_security_group_ingress", { GroupId = other, IpPermissions = theirs })
  t.ask("ec2", "revoke_security_group_egress", { GroupId = group, IpPermissions = own })
  t.ask("ec2", "delete_security_group", { GroupId = group })
  t.refuse("InvalidGroup.NotFound", "ec2", "delete_security_group", { GroupId = group })
end)

case("tags and untags", function (t)
  local vpc, subnet = network(t)
  t.ask("ec2", "create_tags", { Resources = { vpc, subnet },
    Tags = { { Key = "a", Value = "1" }, { Key = "b", Value = "2" } } })
  t.ask("ec2", "delete_tags", { Resources = { subnet }, Tags = { { Key = "a" } } })
  local found = t.ask("ec2", "describe_tags", { Filters = {
    { Name = "resource-id", Values = { subnet } }, { Name = "key", Values = { "a", "b" } } } }).Tags
  assert.equal(1, #found)
  assert.equal("b", found[1].Key)
  assert.equal("subnet", found[1].ResourceType)
end)

case("shows pages to who asks for them", function (t)
  local vpc = network(t)
  for i = 1, 6 do
    t.ask("ec2", "create_subnet", { VpcId = vpc, CidrBlock = ("10.42.%d.0/24"):format(i) })
  end
  local filter = { { Name = "vpc-id", Values = { vpc } } }
  local first = t.ask("ec2", "describe_subnets", { Filters = filter, MaxResults = 5 })
  if not t.with.lax then
    assert.equal(5, #first.Subnets)
    local second = t.ask("ec2", "describe_subnets", { Filters = filter, MaxResults = 5,
      NextToken = first.NextToken })
    assert.equal(2, #second.Subnets)
    assert.is_nil(second.NextToken)
  end
  t.strictly("DryRunOperation", "ec2", "create_subnet", { VpcId = vpc, DryRun = true,
    CidrBlock = "10.42.99.0/24" })
  t.strictly("InvalidParameterValue", "ec2", "describe_subnets", { Filters = {
    { Name = "vpcid", Values = { vpc } } } })
  t.strictly("IdempotentParameterMismatch", "ec2", "create_route_table", { VpcId = vpc,
    ClientToken = t.ask("ec2", "create_route_table", { VpcId = vpc,
      ClientToken = "one" }).ClientToken, TagSpecifications = named("route-table", "x") })
end)
