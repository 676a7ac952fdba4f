--- An internet gateway, attached to a VPC.
-- internet_gateway "main" { vpc_id = v.id } → id

local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

local SPEC = { op = "describe_internet_gateways", items = "InternetGateways",
  id = "InternetGatewayId", id_filter = "internet-gateway-id" }

local function live_of(item)
  local attached = item.Attachments and item.Attachments[1]
  return { id = item.InternetGatewayId, vpc_id = attached and attached.VpcId }
end

local function read(ctx, res)
  local item, failure = support.look_up(ctx, res, SPEC)
  if not item then return nil, failure end
  return live_of(item)
end

local function attach(ctx, res, id, vpc_id)
  local done, failure = support.insist(ctx, res, 120, support.not_found, function ()
    return ctx:aws("ec2"):attach_internet_gateway { InternetGatewayId = id, VpcId = vpc_id }
  end)
  if not done and failure.code == "Resource.AlreadyAssociated" then
    local live = read(ctx, res)
    if live and live.vpc_id == vpc_id then return true end
  end
  return done, failure
end

local function create(ctx, res, f)
  local answer, failure = ctx:aws("ec2"):create_internet_gateway {
    TagSpecifications = support.tag_specifications(ctx, res, "internet-gateway") }
  if not answer then return nil, failure end
  local live = { id = answer.InternetGateway.InternetGatewayId, vpc_id = f.vpc_id }
  local done, refused = attach(ctx, res, live.id, f.vpc_id)
  if not done then return nil, refused, { id = live.id } end
  return live
end

-- Attached elsewhere is a matter for a person; not attached is ours to mend.
local function update(ctx, res, f, live)
  if live.vpc_id then
    local gone, failure = ctx:aws("ec2"):detach_internet_gateway {
      InternetGatewayId = live.id, VpcId = live.vpc_id }
    if not gone and failure.code ~= "Gateway.NotAttached" then return nil, failure end
  end
  return attach(ctx, res, live.id, f.vpc_id)
end

local function detach(ctx, item, vpc_id)
  return support.delete(ctx, item, function ()
    local gone, failure = ctx:aws("ec2"):detach_internet_gateway {
      InternetGatewayId = item.id, VpcId = vpc_id }
    if not gone and failure.code == "Gateway.NotAttached" then return true end
    return gone, failure
  end)
end

local function delete(ctx, item)
  local list, failure = support.list(ctx, SPEC,
    { support.filter("internet-gateway-id", item.id) })
  if not list then return nil, failure end
  for _, attached in ipairs(list[1] and list[1].Attachments or {}) do
    local gone, refused = detach(ctx, item, attached.VpcId)
    if not gone then return nil, refused end
  end
  return support.delete(ctx, item, function ()
    return ctx:aws("ec2"):delete_internet_gateway { InternetGatewayId = item.id }
  end, { spec = SPEC })
end

return kind.define {
  name = "internet_gateway",
  outputs = { "id", "vpc_id" },
  fields = { vpc_id = "string" },
  within = { "vpc_id" },
  read = read,
  compare = { "vpc_id" },
  create = create,
  update = update,
  delete = delete,
  ready = { usual = 2, delete_usual = 2 },
  depends = { "vpc" },
  find = function (ctx) return support.find(ctx, SPEC, live_of) end,
  actions = {
    "ec2:DescribeInternetGateways",
    { "ec2:CreateInternetGateway", new = "internet-gateway/*" },
    { "ec2:AttachInternetGateway", "ec2:DetachInternetGateway", ours = "internet-gateway/*",
      uses = "vpc/{vpc_id}" },
    { "ec2:DeleteInternetGateway", ours = "internet-gateway/*" },
  },
}
