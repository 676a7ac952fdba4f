--- A public NAT gateway. Its creation "succeeds" and may then fail; the reason is read from it.
-- nat_gateway "main" { subnet_id = public.id, allocation_id = ip.id, after = gateway } → id

local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local pricing = require "rtl.kinds.pricing"
local support = require "rtl.kinds.support"

local GONE = { deleted = true, deleting = true }

local SPEC = { op = "describe_nat_gateways", items = "NatGateways", id = "NatGatewayId",
  id_filter = "nat-gateway-id", filters = "Filter",
  gone = function (item) return GONE[item.State] end }

local function live_of(item)
  local address = item.NatGatewayAddresses and item.NatGatewayAddresses[1] or {}
  local live = { id = item.NatGatewayId, subnet_id = item.SubnetId, state = item.State,
    allocation_id = address.AllocationId, public_ip = address.PublicIp }
  if item.State == "failed" then
    live.failed = ("it failed: %s %s"):format(item.FailureCode or "", item.FailureMessage or "")
  elseif item.State ~= "available" then
    live.ready = false
  end
  return live
end

local function read(ctx, res)
  local item, failure = support.look_up(ctx, res, SPEC)
  if not item then return nil, failure end
  return live_of(item)
end

local function create(ctx, res, f, token)
  local answer, failure = support.insist(ctx, res, 120, support.not_found, function ()
    return ctx:aws("ec2"):create_nat_gateway { SubnetId = f.subnet_id,
      AllocationId = f.allocation_id, ConnectivityType = "public", ClientToken = token,
      TagSpecifications = support.tag_specifications(ctx, res, "natgateway") }
  end)
  if not answer then return nil, failure end
  local live = live_of(answer.NatGateway)
  live.failed, live.subnet_id, live.allocation_id = nil, f.subnet_id, f.allocation_id
  return live
end

local function wait(ctx, res, _, live)
  return support.wait({ ctx = ctx, res = res, every = 10, limit = 900 }, function ()
    local item, failure = support.by_id(ctx, SPEC, live.id)
    if failure then return nil, failure end
    if not item then return false, "not visible yet" end
    if item.State == "available" then return live_of(item) end
    if item.State == "pending" then return false, "pending" end
    return nil, err.new { code = item.FailureCode or "RTL-PLAN-017", doing = res.key,
      message = ("NAT gateway %s is %s: %s"):format(item.NatGatewayId, item.State,
        item.FailureMessage or "no reason given"),
      hint = "Run the same command again: a NAT gateway that failed is made anew" }
  end)
end

-- Gone means state deleted; it stays visible as such for about an hour.
local function delete(ctx, item)
  local done, failure = support.delete(ctx, item, function ()
    return ctx:aws("ec2"):delete_nat_gateway { NatGatewayId = item.id }
  end, { spec = SPEC })
  if not done then return nil, failure end
  return support.wait({ ctx = ctx, res = item, every = 10, limit = 900, what = "deleted" },
    function ()
      local gateway, refused = support.by_id(ctx, SPEC, item.id)
      if refused then return nil, refused end
      local state = gateway and gateway.State or "deleted"
      return state == "deleted" or state == "failed", state
    end)
end

-- Nodes that are being drained may still need it for some minutes.
local function lease(res)
  return { action = "ec2:deleteNatGateway", input = { NatGatewayId = res.id }, delay = 600,
    late = true, resource = "natgateway/*" }
end

-- Those on their way out still hold address and subnet: a teardown waits for them, too.
local function find(ctx)
  local list, failure = support.list(ctx, SPEC, support.deployment_filters(ctx))
  if not list then return nil, failure end
  local found = {}
  for _, item in ipairs(list) do
    if item.State ~= "deleted" then
      local name = support.tags_of(item.Tags)["rtl:resource"] or ""
      found[#found + 1] = { id = item.NatGatewayId, name = name:match("/(.*)$"),
        hourly = pricing.of(ctx, "nat_gateway"), outputs = live_of(item) }
    end
  end
  return found
end

return kind.define {
  name = "nat_gateway",
  outputs = { "id", "public_ip" },
  fields = { subnet_id = "string", allocation_id = "string" },
  within = { "subnet_id" },
  read = read,
  compare = { "subnet_id", "allocation_id" },
  replace_when = { "subnet_id", "allocation_id" },
  create = create,
  delete = delete,
  tokened = true,
  ready = { wait = wait, usual = 120, delete_usual = 60 },
  depends = { "subnet", "elastic_ip", "internet_gateway", "vpc", "schedule_group" },
  lease = lease,
  cost = function (ctx)
    local hourly, source = pricing.of(ctx, "nat_gateway")
    return { hourly = hourly, source = source, what = "NAT gateway", begun_hours = true }
  end,
  find = find,
  actions = {
    "ec2:DescribeNatGateways",
    { "ec2:CreateNatGateway", new = "natgateway/*",
      uses = { "subnet/{subnet_id}", "elastic-ip/{allocation_id}" } },
    { "ec2:DeleteNatGateway", ours = "natgateway/*" },
  },
}
