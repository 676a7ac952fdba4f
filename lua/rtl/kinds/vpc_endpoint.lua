--- A gateway endpoint (S3: free, and checkpoints do not cross the NAT).
-- vpc_endpoint "s3" { vpc_id = v.id, service = "s3", route_tables = { private.id } } → id

local compare = require "rtl.plan.compare"
local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local GONE = { deleted = true, deleting = true }

local SPEC = { op = "describe_vpc_endpoints", items = "VpcEndpoints", id = "VpcEndpointId",
  ids = "VpcEndpointIds",
  gone = function (item) return GONE[(item.State or ""):lower()] end }

local function live_of(item)
  return { id = item.VpcEndpointId, vpc_id = item.VpcId, service = item.ServiceName,
    route_tables = item.RouteTableIds or {}, state = (item.State or "available"):lower() }
end

local function read(ctx, res)
  local item, failure = support.look_up(ctx, res, SPEC)
  if not item then return nil, failure end
  return live_of(item)
end

local function service_name(ctx, f)
  return ("com.amazonaws.%s.%s"):format(ctx.region, f.service)
end

local function diff(ctx, _, f, live)
  local changes = {}
  if f.service and live.service ~= service_name(ctx, f) then
    changes[1] = { field = "service", want = service_name(ctx, f), have = live.service }
  end
  if f.vpc_id and f.vpc_id ~= live.vpc_id then
    changes[#changes + 1] = { field = "vpc_id", want = f.vpc_id, have = live.vpc_id }
  end
  if f.route_tables and not compare.same_set(f.route_tables, live.route_tables) then
    changes[#changes + 1] = { field = "route_tables", want = f.route_tables,
      have = live.route_tables }
  end
  return changes
end

local function create(ctx, res, f, token)
  local answer, failure = support.insist(ctx, res, 120, support.not_found, function ()
    return ctx:aws("ec2"):create_vpc_endpoint { VpcId = f.vpc_id, VpcEndpointType = "Gateway",
      ServiceName = service_name(ctx, f), RouteTableIds = f.route_tables, ClientToken = token,
      TagSpecifications = support.tag_specifications(ctx, res, "vpc-endpoint") }
  end)
  if not answer then return nil, failure end
  return live_of(answer.VpcEndpoint)
end

-- What is in the one list and not in the other; nil when nothing (EC2 omits empty lists).
local function minus(list, other)
  local there, rest = {}, {}
  for _, value in ipairs(other) do there[value] = true end
  for _, value in ipairs(list) do
    if not there[value] then rest[#rest + 1] = value end
  end
  return rest[1] and rest or nil
end

local function update(ctx, _, f, live)
  return ctx:aws("ec2"):modify_vpc_endpoint { VpcEndpointId = live.id,
    AddRouteTableIds = minus(f.route_tables, live.route_tables),
    RemoveRouteTableIds = minus(live.route_tables, f.route_tables) }
end

local function delete_call(ctx, id)
  local answer, failure = ctx:aws("ec2"):delete_vpc_endpoints { VpcEndpointIds = { id } }
  if not answer then return nil, failure end
  local refused = answer.Unsuccessful and answer.Unsuccessful[1]
  if refused and not tostring(refused.Error and refused.Error.Code):lower():find("notfound") then
    return err.fail { code = refused.Error.Code, message = refused.Error.Message or "refused" }
  end
  return true
end

local function delete(ctx, item)
  local done, failure = support.delete(ctx, item, function ()
    return delete_call(ctx, item.id)
  end, { spec = SPEC })
  if not done then return nil, failure end
  return support.wait({ ctx = ctx, res = item, every = 3, limit = 300, what = "deleted" },
    function ()
      local live, refused = support.by_id(ctx, SPEC, item.id)
      if refused then return nil, refused end
      local state = live and live_of(live).state or "deleted"
      return state == "deleted", state
    end)
end

return kind.define {
  name = "vpc_endpoint",
  outputs = { "id" },
  fields = { vpc_id = "string", service = "string", route_tables = "list" },
  identity = { "service" },
  within = { "vpc_id" },
  read = read,
  diff = diff,
  replace_when = { "vpc_id", "service" },
  create = create,
  update = update,
  delete = delete,
  tokened = true,
  ready = { usual = 3, delete_usual = 5 },
  depends = { "vpc", "route_table" },
  find = function (ctx) return support.find(ctx, SPEC, live_of) end,
  actions = {
    "ec2:DescribeVpcEndpoints",
    { "ec2:CreateVpcEndpoint", new = "vpc-endpoint/*",
      uses = { "vpc/{vpc_id}", "route-table/{route_tables}" } },
    { "ec2:ModifyVpcEndpoint", ours = "vpc-endpoint/*", uses = "route-table/{route_tables}" },
    { "ec2:DeleteVpcEndpoints", ours = "vpc-endpoint/*" },
  },
}
