--- A public IPv4 address, for the NAT gateway. It bills until it is released.
-- elastic_ip "nat" {} → id (allocation), public_ip

local kind = require "rtl.plan.kind"
local pricing = require "rtl.kinds.pricing"
local support = require "rtl.kinds.support"

local SPEC = { op = "describe_addresses", items = "Addresses", id = "AllocationId",
  id_filter = "allocation-id", paged = false }

local function live_of(item)
  return { id = item.AllocationId, public_ip = item.PublicIp, association = item.AssociationId }
end

local function read(ctx, res)
  local item, failure = support.look_up(ctx, res, SPEC)
  if not item then return nil, failure end
  return live_of(item)
end

local function create(ctx, res)
  local answer, failure = ctx:aws("ec2"):allocate_address {
    Domain = "vpc", TagSpecifications = support.tag_specifications(ctx, res, "elastic-ip") }
  if not answer then return nil, failure end
  return { id = answer.AllocationId, public_ip = answer.PublicIp }
end

-- While a NAT gateway still holds it, the release fails as "in use" or, oddly, as AuthFailure.
local function delete(ctx, item)
  return support.delete(ctx, item, function ()
    local done, failure = ctx:aws("ec2"):release_address { AllocationId = item.id }
    if not done and failure.code == "AuthFailure" then failure.code = "InvalidIPAddress.InUse" end
    return done, failure
  end, { limit = 600, spec = SPEC })
end

-- It can be released only once the NAT gateway is gone.
local function lease(res)
  return { action = "ec2:releaseAddress", input = { AllocationId = res.id }, delay = 900,
    late = true, resource = "elastic-ip/*" }
end

local function find(ctx)
  local list, failure = support.find(ctx, SPEC, live_of)
  for _, item in ipairs(list or {}) do item.hourly = pricing.of(ctx, "public_ipv4") end
  return list, failure
end

return kind.define {
  name = "elastic_ip",
  outputs = { "id", "public_ip" },
  fields = {},
  read = read,
  create = create,
  delete = delete,
  ready = { usual = 2, delete_usual = 3 },
  lease = lease,
  depends = { "schedule_group" },
  cost = function (ctx)
    local hourly, source = pricing.of(ctx, "public_ipv4")
    return { hourly = hourly, source = source, what = "public IPv4 address" }
  end,
  find = find,
  actions = {
    "ec2:DescribeAddresses",
    { "ec2:AllocateAddress", new = "elastic-ip/*" },
    { "ec2:ReleaseAddress", ours = "elastic-ip/*" },
  },
}
