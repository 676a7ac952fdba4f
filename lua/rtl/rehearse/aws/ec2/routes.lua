--- EC2: route tables, routes and gateway endpoints.

local array = require "rtl.array"
local common = require "rtl.rehearse.aws.ec2.common"
local fault = require "rtl.rehearse.aws.fault"

local M = { operations = {} }
local ops = M.operations

local function each_association(field)
  return function (item)
    local out = {}
    for _, one in ipairs(item.Associations) do out[#out + 1] = one[field] end
    return out
  end
end

local TABLE_FILTERS = { ["route-table-id"] = "RouteTableId", ["vpc-id"] = "VpcId",
  ["owner-id"] = "OwnerId", ["association.subnet-id"] = each_association "SubnetId",
  ["association.route-table-association-id"] = each_association "RouteTableAssociationId",
  ["association.main"] = function (item)
    return item.Associations[1] ~= nil and item.Associations[1].Main or false
  end }

function ops.describe_route_tables(call, p)
  local list, refused = common.select(call.region.route_tables, { ids = p.RouteTableIds,
    filters = p.Filters, missing = "InvalidRouteTableID.NotFound", known = TABLE_FILTERS })
  return list and { RouteTables = list }, refused
end

function ops.create_route_table(call, p)
  local vpc, refused = common.need(call.region.vpcs, p.VpcId, "InvalidVpcID.NotFound", "vpc ID")
  if not vpc then return nil, refused end
  refused = common.wrong_tags(p, "route-table")
  if refused then return nil, refused end
  local id = call.world:id "rtb"
  local routes = call.region.route_tables:add(id, { RouteTableId = id, VpcId = vpc.VpcId,
    OwnerId = call.account, Associations = array {}, Tags = common.tags_for(p, "route-table"),
    Routes = array { { DestinationCidrBlock = vpc.CidrBlock, GatewayId = "local",
                       State = "active", Origin = "CreateRouteTable" } } })
  return { RouteTable = routes, ClientToken = p.ClientToken }
end

local function need_table(call, id)
  return common.need(call.region.route_tables, id, "InvalidRouteTableID.NotFound", "routeTable ID")
end

local function find_route(routes, destination)
  for i, route in ipairs(routes.Routes) do
    if route.DestinationCidrBlock == destination then return route, i end
  end
  return nil
end

-- The target of a route as fields, or nil and a fault.
local function target_of(call, routes, p)
  if p.NatGatewayId then
    local nat = call.region.nat_gateways:get(p.NatGatewayId)
    if not nat or nat.State == "deleted" then
      return fault.fail("InvalidNatGatewayID.NotFound", ("The natGateway ID '%s' does not exist")
                                                        :format(p.NatGatewayId))
    end
    return { NatGatewayId = p.NatGatewayId }
  elseif p.GatewayId then
    local gateway = call.region.internet_gateways:get(p.GatewayId)
    if not gateway then
      return fault.fail("InvalidInternetGatewayID.NotFound",
                        ("The gateway ID '%s' does not exist"):format(p.GatewayId))
    end
    if not gateway.Attachments[1] or gateway.Attachments[1].VpcId ~= routes.VpcId then
      return fault.fail("InvalidParameterValue", ("route table %s and network gateway %s belong to "
        .. "different networks"):format(routes.RouteTableId, p.GatewayId))
    end
    return { GatewayId = p.GatewayId }
  end
  return nil, fault.missing "GatewayId"
end

local function set_route(call, p, replace)
  local routes, refused = need_table(call, p.RouteTableId)
  if not routes then return nil, refused end
  if not common.range(p.DestinationCidrBlock) then
    return fault.fail("InvalidParameterValue", "Value for parameter destinationCidrBlock is "
                      .. "invalid. This is not a valid CIDR block.")
  end
  local fields
  fields, refused = target_of(call, routes, p)
  if not fields then return nil, refused end
  local old, at = find_route(routes, p.DestinationCidrBlock)
  if replace and not old then
    return fault.fail("InvalidParameterValue", ("There is no route defined for '%s' in the route "
      .. "table."):format(p.DestinationCidrBlock))
  elseif old and not replace then
    return fault.fail("RouteAlreadyExists", ("The route identified by %s already exists.")
                                            :format(p.DestinationCidrBlock))
  end
  fields.DestinationCidrBlock, fields.State = p.DestinationCidrBlock, "active"
  fields.Origin = "CreateRoute"
  routes.Routes[at or #routes.Routes + 1] = fields
  return { Return = true }
end

function ops.create_route(call, p)
  return set_route(call, p, false)
end

function ops.replace_route(call, p)
  return set_route(call, p, true)
end

function ops.delete_route(call, p)
  local routes, refused = need_table(call, p.RouteTableId)
  if not routes then return nil, refused end
  local route, at = find_route(routes, p.DestinationCidrBlock)
  if not route or route.GatewayId == "local" then
    return fault.fail("InvalidRoute.NotFound", ("no route with destination-cidr-block %s in route "
      .. "table %s"):format(tostring(p.DestinationCidrBlock), p.RouteTableId))
  end
  table.remove(routes.Routes, at)
  return {}
end

local function association_of(call, test)
  for _, routes in ipairs(call.region.route_tables:all()) do
    for i, association in ipairs(routes.Associations) do
      if test(association) then return association, routes, i end
    end
  end
  return nil
end

function ops.associate_route_table(call, p)
  local routes, refused = need_table(call, p.RouteTableId)
  if not routes then return nil, refused end
  local subnet
  subnet, refused = common.need(call.region.subnets, p.SubnetId, "InvalidSubnetID.NotFound",
                                "subnet ID")
  if not subnet then return nil, refused end
  local old, at = association_of(call, function (it) return it.SubnetId == subnet.SubnetId end)
  if old and at ~= routes then
    return fault.fail("Resource.AlreadyAssociated", ("the specified association for route table "
      .. "%s conflicts with an existing association"):format(routes.RouteTableId))
  end
  if not old then
    old = { RouteTableAssociationId = call.world:id "rtbassoc", RouteTableId = routes.RouteTableId,
            SubnetId = subnet.SubnetId, Main = false,
            AssociationState = { State = "associated" } }
    routes.Associations[#routes.Associations + 1] = old
  end
  return { AssociationId = old.RouteTableAssociationId,
           AssociationState = { State = "associated" } }
end

function ops.replace_route_table_association(call, p)
  local routes, refused = need_table(call, p.RouteTableId)
  if not routes then return nil, refused end
  local old, from, at = association_of(call, function (it)
    return it.RouteTableAssociationId == p.AssociationId
  end)
  if not old then
    return fault.fail("InvalidAssociationID.NotFound", "The association does not exist")
  end
  table.remove(from.Associations, at)
  old.RouteTableAssociationId, old.RouteTableId = call.world:id "rtbassoc", routes.RouteTableId
  routes.Associations[#routes.Associations + 1] = old
  return { NewAssociationId = old.RouteTableAssociationId,
           AssociationState = { State = "associated" } }
end

function ops.disassociate_route_table(call, p)
  local old, routes, at = association_of(call, function (it)
    return it.RouteTableAssociationId == p.AssociationId
  end)
  if not old then
    return fault.fail("InvalidAssociationID.NotFound", ("The association ID '%s' does not exist")
                                                       :format(p.AssociationId))
  end
  if old.Main then
    return fault.fail("InvalidParameterValue", "cannot disassociate the main route table "
                      .. "association " .. p.AssociationId)
  end
  table.remove(routes.Associations, at)
  return {}
end

function ops.delete_route_table(call, p)
  local routes, refused = need_table(call, p.RouteTableId)
  if not routes then return nil, refused end
  if #routes.Associations > 0 then
    return fault.fail("DependencyViolation", ("The routeTable '%s' has dependencies and cannot be "
                                              .. "deleted."):format(routes.RouteTableId))
  end
  call.region.route_tables:remove(routes.RouteTableId)
  return {}
end

local ENDPOINT_FILTERS = { ["vpc-endpoint-id"] = "VpcEndpointId", ["vpc-id"] = "VpcId",
  ["service-name"] = "ServiceName", ["vpc-endpoint-state"] = "State",
  ["vpc-endpoint-type"] = "VpcEndpointType" }

function ops.describe_vpc_endpoints(call, p)
  local list, refused = common.select(call.region.vpc_endpoints, { ids = p.VpcEndpointIds,
    filters = p.Filters, missing = "InvalidVpcEndpointId.NotFound", known = ENDPOINT_FILTERS })
  return list and { VpcEndpoints = list }, refused
end

local function prefix_list(call, service)
  local chance = require "rtl.rehearse.chance"
  return "pl-" .. chance.hex(8, 7, call.region.name, service)
end

local function route_refusal(call, p)
  for _, id in ipairs(p.RouteTableIds or {}) do
    local routes, refused = need_table(call, id)
    if not routes then return refused end
    for _, route in ipairs(routes.Routes) do
      if route.DestinationPrefixListId == prefix_list(call, p.ServiceName) then
        return fault.new("RouteAlreadyExists", ("route table %s already has a route with "
          .. "destination-prefix-list-id %s"):format(id, route.DestinationPrefixListId))
      end
    end
  end
  return nil
end

function ops.create_vpc_endpoint(call, p)
  local vpc, refused = common.need(call.region.vpcs, p.VpcId, "InvalidVpcId.NotFound", "vpc ID")
  if not vpc then return nil, refused end
  refused = common.wrong_tags(p, "vpc-endpoint") or route_refusal(call, p)
  if refused then return nil, refused end
  if not (p.ServiceName or ""):find("^com%.amazonaws%." .. call.region.name:gsub("%-", "%%-")) then
    return fault.fail("InvalidServiceName", ("The Vpc Endpoint Service '%s' does not exist")
                                            :format(tostring(p.ServiceName)))
  end
  local id = call.world:id "vpce"
  local endpoint = call.region.vpc_endpoints:add(id, { VpcEndpointId = id, VpcId = vpc.VpcId,
    VpcEndpointType = p.VpcEndpointType or "Gateway", ServiceName = p.ServiceName,
    State = "available", RouteTableIds = p.RouteTableIds or array {}, OwnerId = call.account,
    CreationTimestamp = call.world:second(), RequesterManaged = false,
    PolicyDocument = p.PolicyDocument or { Version = "2008-10-17", Statement = array { {
      Effect = "Allow", Principal = "*", Action = "*", Resource = "*" } } },
    Tags = common.tags_for(p, "vpc-endpoint") })
  for _, route_table in ipairs(p.RouteTableIds or {}) do
    table.insert(call.region.route_tables:get(route_table).Routes, { State = "active",
      DestinationPrefixListId = prefix_list(call, p.ServiceName), GatewayId = id,
      Origin = "CreateRoute" })
  end
  return { VpcEndpoint = endpoint, ClientToken = p.ClientToken }
end

local function drop_endpoint_routes(call, id, only)
  for _, routes in ipairs(call.region.route_tables:all()) do
    for i = #routes.Routes, 1, -1 do
      if routes.Routes[i].GatewayId == id and (not only or only[routes.RouteTableId]) then
        table.remove(routes.Routes, i)
      end
    end
  end
end

function ops.modify_vpc_endpoint(call, p)
  local endpoint, refused = common.need(call.region.vpc_endpoints, p.VpcEndpointId,
                                        "InvalidVpcEndpointId.NotFound", "Vpc Endpoint Id")
  if not endpoint then return nil, refused end
  for _, id in ipairs(p.AddRouteTableIds or {}) do
    local routes
    routes, refused = need_table(call, id)
    if not routes then return nil, refused end
    table.insert(endpoint.RouteTableIds, id)
    table.insert(routes.Routes, { State = "active", Origin = "CreateRoute",
      DestinationPrefixListId = prefix_list(call, endpoint.ServiceName),
      GatewayId = endpoint.VpcEndpointId })
  end
  local gone, kept = {}, array {}
  for _, id in ipairs(p.RemoveRouteTableIds or {}) do gone[id] = true end
  for _, id in ipairs(endpoint.RouteTableIds) do
    if not gone[id] then kept[#kept + 1] = id end
  end
  endpoint.RouteTableIds = kept
  drop_endpoint_routes(call, endpoint.VpcEndpointId, gone)
  return { Return = true }
end

function ops.delete_vpc_endpoints(call, p)
  local unsuccessful = array {}
  for _, id in ipairs(p.VpcEndpointIds) do
    if call.region.vpc_endpoints:get(id) then
      drop_endpoint_routes(call, id)
      call.region.vpc_endpoints:remove(id)
    else
      unsuccessful[#unsuccessful + 1] = { ResourceId = id, Error = {
        Code = "InvalidVpcEndpointId.NotFound",
        Message = ("The Vpc Endpoint Id '%s' does not exist"):format(id) } }
    end
  end
  return { Unsuccessful = unsuccessful }
end

return M
