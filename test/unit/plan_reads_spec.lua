-- A plan reads, and does nothing else: every request that it sends is looked at.
local clock = require "rtl.clock"
local entropy = require "rtl.entropy"
local events = require "rtl.recipe.events"
local fs = require "rtl.fs"
local load_file = require "rtl.recipe.load"
local model = require "rtl.aws.model"
local phases = require "rtl.recipe.phases"
local process = require "rtl.process"
local recipe = require "rtl.recipe.recipe"
local rehearse = require "rtl.rehearse"
local run_object = require "rtl.recipe.run"
local task = require "rtl.task"
local wire = require "rtl.wire"

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
  GetCallerIdentity DescribeAutoScalingGroups GetProducts DescribeClusterVersions ListSchedules
  GetGroup GetTags
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
  local former, state

  before_each(function ()
    state = fs.temp_dir("rtl-reads-")
    local function zero() return 0 end
    former = { clock = clock.use { mono = zero, utc = zero },
      entropy = entropy.use { bytes = zero }, process = process.use {},
      wire = wire.use { request = zero, connect = zero } }
  end)
  after_each(function ()
    clock.use(former.clock)
    entropy.use(former.entropy)
    process.use(former.process)
    wire.use(former.wire)
    fs.remove_tree(state)
  end)

  it("sends only operations that read", function ()
    local world = rehearse.world("calm,seed=3")
    local inner = require("rtl.rehearse.wire").new(world)
    local sent, wrong = {}, {}
    local watched = setmetatable({ request = function (req)
      local name = operation(req)
      if name then
        sent[name] = (sent[name] or 0) + 1
        if not READS[name] then wrong[#wrong + 1] = name end
      elseif req.method ~= "GET" then
        wrong[#wrong + 1] = req.method .. " " .. req.url
      end
      return inner.request(req)
    end }, { __index = inner })
    require("rtl.rehearse.seams").use(world, watched)
    local played = process.use {}
    process.use(setmetatable({ getenv = function (name)
      return name == "RTL_STATE" and state or played.getenv(name)
    end }, { __index = played }))

    local r = recipe.open(assert(load_file.find("recipes/deploy.lua")))
    local run = run_object.new { recipe = r, values = assert(r.set:resolve {}),
      options = { plan = true }, words = {}, bus = events.bus() }
    assert.equal("done", task.run(phases.run, run))
    run:close()
    assert.same({}, wrong)
    assert.is_true(sent.DescribeVpcs >= 1 and sent.GetServiceQuota >= 1)
    assert.same({}, fs.list(state))
  end)
end)
