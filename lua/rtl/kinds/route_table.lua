--- A route table with its routes and the subnets that use it.
-- route_table "private" { vpc_id = v.id, subnets = { a.id, b.id },
--   routes = { { to = "0.0.0.0/0", nat_gateway = nat.id } } }    (or gateway = igw.id)

local keys = require "rtl.keys"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local SPEC = { op = "describe_route_tables", items = "RouteTables", id = "RouteTableId",
  id_filter = "route-table-id" }

-- Only routes that somebody made by hand or by API; local ones and endpoints' are AWS' own.
local function routes_of(item)
  local routes = {}
  for _, route in ipairs(item.Routes or {}) do
    local made = route.Origin == nil or route.Origin == "CreateRoute"
    local endpoint = route.GatewayId and route.GatewayId:match("^vpce%-")
    if made and route.DestinationCidrBlock and route.GatewayId ~= "local" and not endpoint then
      routes[route.DestinationCidrBlock] = { nat_gateway = route.NatGatewayId,
        gateway = route.GatewayId, state = route.State }
    end
  end
  return routes
end

local function live_of(item)
  local live = { id = item.RouteTableId, vpc_id = item.VpcId, routes = routes_of(item),
    subnets = {}, associations = {} }
  for _, one in ipairs(item.Associations or {}) do
    if one.SubnetId then
      live.subnets[#live.subnets + 1] = one.SubnetId
      live.associations[one.SubnetId] = one.RouteTableAssociationId
    end
  end
  return live
end

local function read(ctx, res)
  local item, failure = support.look_up(ctx, res, SPEC)
  if not item then return nil, failure end
  return live_of(item)
end

local function target(route)
  return route.nat_gateway or route.gateway
end

local function diff(_, _, f, live)
  local changes = {}
  for _, route in ipairs(f.routes or {}) do
    local have = live.routes[route.to]
    if not have or target(have) ~= target(route) or have.state == "blackhole" then
      changes[#changes + 1] = { field = "route " .. route.to, want = target(route),
        have = have and (have.state == "blackhole" and "blackhole" or target(have)), route = route,
        exists = have ~= nil }
    end
  end
  for _, subnet in ipairs(f.subnets or {}) do
    if not live.associations[subnet] then
      changes[#changes + 1] = { field = "subnet " .. subnet, want = "associated", subnet = subnet }
    end
  end
  if f.vpc_id and f.vpc_id ~= live.vpc_id then
    table.insert(changes, 1, { field = "vpc_id", want = f.vpc_id, have = live.vpc_id })
  end
  return changes
end

local function put_route(ctx, res, id, change)
  local route = change.route
  local params = { RouteTableId = id, DestinationCidrBlock = route.to,
    NatGatewayId = route.nat_gateway, GatewayId = route.gateway }
  local op = change.exists and "replace_route" or "create_route"
  local done, failure = support.insist(ctx, res, 300, support.not_found, function ()
    return ctx:aws("ec2"):call(op, params)
  end)
  if not done and failure.code == "RouteAlreadyExists" then
    return ctx:aws("ec2"):replace_route(params)
  end
  return done, failure
end

local function other_association(ctx, subnet)
  local list, failure = support.list(ctx, SPEC, { support.filter("association.subnet-id", subnet) })
  if not list then return nil, failure end
  return list[1] and live_of(list[1]).associations[subnet]
end

local function associate(ctx, res, id, subnet)
  local done, failure = support.insist(ctx, res, 300, support.not_found, function ()
    return ctx:aws("ec2"):associate_route_table { RouteTableId = id, SubnetId = subnet }
  end)
  if done or failure.code ~= "Resource.AlreadyAssociated" then return done, failure end
  local association, why = other_association(ctx, subnet)
  if not association then return nil, why or failure end
  return ctx:aws("ec2"):replace_route_table_association {
    AssociationId = association, RouteTableId = id }
end

local function apply_changes(ctx, res, id, changes)
  for _, change in ipairs(changes) do
    local done, failure = true, nil
    if change.route then
      done, failure = put_route(ctx, res, id, change)
    elseif change.subnet then
      done, failure = associate(ctx, res, id, change.subnet)
    end
    if not done then return nil, failure end
  end
  return true
end

local function create(ctx, res, f, token)
  local answer, failure = support.insist(ctx, res, 120, support.not_found, function ()
    return ctx:aws("ec2"):create_route_table { VpcId = f.vpc_id, ClientToken = token,
      TagSpecifications = support.tag_specifications(ctx, res, "route-table") }
  end)
  if not answer then return nil, failure end
  local live = live_of(answer.RouteTable)
  local done, refused = apply_changes(ctx, res, live.id, diff(ctx, res, f, live))
  if not done then return nil, refused, live end
  return live
end

-- Seen twice in a row: route tables are visible, then gone, then visible again for a while.
local function wait(ctx, res, f, live)
  local seen = 0
  return support.wait({ ctx = ctx, res = res, every = 1, limit = 300 }, function ()
    local list, failure = support.list(ctx, SPEC, { support.filter("route-table-id", live.id) })
    if not list then return nil, failure end
    local now = list[1] and live_of(list[1])
    local missing = not now or #diff(ctx, res, f, now) > 0
    seen = missing and 0 or seen + 1
    if seen >= 2 then return now end
    return false, missing and "routes not visible yet" or "seen once"
  end)
end

-- Subnet → id of its association, of a table that may be gone.
local function associations(ctx, id)
  local item, failure = support.by_id(ctx, SPEC, id)
  if failure then return nil, failure end
  return item and live_of(item).associations or {}
end

local function disassociate(ctx, item, subnet, association)
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):disassociate_route_table { AssociationId = association }
  end, { look = function ()
    local now, failure = associations(ctx, item.id)
    return now and now[subnet], failure
  end })
end

local function delete(ctx, item)
  local list, failure = associations(ctx, item.id)
  if not list then return nil, failure end
  for subnet, association in keys.pairs(list) do
    local gone, refused = disassociate(ctx, item, subnet, association)
    if not gone then return nil, refused end
  end
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):delete_route_table { RouteTableId = item.id }
  end, { spec = SPEC })
end

local function find(ctx)
  return support.find(ctx, SPEC, function (item) return { vpc_id = item.VpcId } end)
end

return kind.define {
  name = "route_table",
  outputs = { "id", "vpc_id" },
  fields = { vpc_id = "string", routes = "list?", subnets = "list?" },
  within = { "vpc_id" },
  read = read,
  diff = diff,
  replace_when = { "vpc_id" },
  create = create,
  update = function (ctx, res, _, live, changes)
    return apply_changes(ctx, res, live.id, changes)
  end,
  delete = delete,
  tokened = true,
  ready = { wait = wait, usual = 4, delete_usual = 3 },
  depends = { "vpc", "subnet", "nat_gateway", "internet_gateway" },
  find = find,
  actions = {
    "ec2:DescribeRouteTables",
    { "ec2:CreateRouteTable", new = "route-table/*", uses = "vpc/{vpc_id}" },
    { "ec2:CreateRoute", "ec2:ReplaceRoute", "ec2:DeleteRouteTable", ours = "route-table/*" },
    { "ec2:AssociateRouteTable", "ec2:ReplaceRouteTableAssociation",
      "ec2:DisassociateRouteTable", ours = "route-table/*", uses = "subnet/{subnets}" },
  },
}
