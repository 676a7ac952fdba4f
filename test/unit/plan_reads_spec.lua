-- A plan reads, and does nothing else: every request that it sends is looked at.
local fs = require "rtl.fs"
local model = require "rtl.aws.model"
local played = require "test.support.played"

-- What a plan may ask of AWS. An operation that is not here is a reason to think.
local READS = {}
for name in ([[
  DescribeAvailabilityZones DescribeInstanceTypeOfferings DescribeInstanceTypes
  DescribeCapacityReservations DescribeInstances DescribeVpcs DescribeVpcAttribute DescribeSubnets
  DescribeInternetGateways DescribeAddresses DescribeNatGateways DescribeRouteTables
  DescribeVpcEndpoints DescribeSecurityGroups DescribeSecurityGroupRules DescribeLaunchTemplates
  GetProducts DescribeClusterVersions ListSchedules SimulatePrincipalPolicy
  DescribeLaunchTemplateVersions DescribePlacementGroups GetRole ListRolePolicies GetRolePolicy
  ListAttachedRolePolicies DescribeCluster ListNodegroups DescribeNodegroup DescribeAddon
  DescribeAccessEntry ListAssociatedAccessPolicies GetServiceQuota GetAWSDefaultServiceQuota
  GetCallerIdentity DescribeAutoScalingGroups GetGroup GetTags
]]):gmatch("%S+") do READS[name] = true end

local function header(req, wanted)
  for _, pair in ipairs(req.headers or {}) do
    if pair[1]:lower() == wanted then return tostring(pair[2]) end
  end
end

-- The name of the AWS operation of a request, or nil when it goes elsewhere.
local function operation(req)
  local host, path = req.url:match("^https://([^/]+)([^?]*)")
  if not host:match("amazonaws%.com$") or host:match("%.eks%.amazonaws%.com$") then return nil end
  local named = tostring(req.body or ""):match("Action=(%w+)")
  local target = header(req, "x-amz-target")
  if named or target then return named or target:match("%.(%w+)$") end
  local service = host:match("^([%w-]+)%.")
  local op = model.find(model.service(service), req.method, path, {})
  return op and op.name
end

describe("a plan", function ()
  it("sends only operations that read", function ()
    local state, sent, wrong = fs.temp_dir("rtl-reads-"), {}, {}
    local function watched(inner)
      return setmetatable({ request = function (req)
        local name = operation(req)
        if name then
          sent[name] = (sent[name] or 0) + 1
          if not READS[name] then wrong[#wrong + 1] = name end
        elseif req.method ~= "GET" then
          wrong[#wrong + 1] = req.method .. " " .. req.url
        end
        return inner.request(req)
      end }, { __index = inner })
    end
    local _, leave = played.enter("calm,seed=3", state, watched)
    local exit, failure = played.run("recipes/deploy.lua", false, { plan = true })
    leave()
    local left = fs.list(state)
    fs.remove_tree(state)
    assert.equal("done", exit, tostring(failure))
    assert.same({}, wrong)
    assert.is_true(sent.DescribeVpcs >= 1 and sent.GetServiceQuota >= 1)
    assert.same({}, left)
  end)
end)
