-- Prices: from the price list by region, and from the built-in table where that has no answer.
local cost = require "rtl.plan.cost"
local eks_cluster = require "rtl.kinds.eks_cluster"
local nat_gateway = require "rtl.kinds.nat_gateway"
local node_group = require "rtl.kinds.node_group"
local price_list = require "rtl.rehearse.aws.price_list"
local prices = require "rtl.plan.prices"
local pricing = require "rtl.kinds.pricing"
local scripted_aws = require "test.support.scripted_aws"
local task = require "rtl.task"
local toy = require "test.support.toy"

-- The products that the price list has of a usage type, as GetProducts gives them.
local function product(usage, amount, currency)
  return { product = { sku = "X", attributes = { usagetype = usage } }, terms = { OnDemand = {
    ["X.JRTCKXETXF"] = { priceDimensions = { ["X.JRTCKXETXF.6YS6EN2CT7"] = {
      unit = "Hrs", pricePerUnit = { [currency or "USD"] = amount } } } } } } }
end

-- Answers by service and, for instances, by type; `log` takes what was asked.
local function listed(all)
  return function (params)
    local name = params.ServiceCode
    for _, filter in ipairs(params.Filters) do
      if filter.Field == "instanceType" then name = filter.Value end
      if filter.Field == "productFamily" and filter.Value ~= "Storage" then name = filter.Value end
    end
    return all[name] or {}
  end
end

local EKS = { product("USE2-AmazonEKS-Hours:perCluster", "0.1000000000"),
  product("USE2-AmazonEKS-Hours:extendedSupport", "0.5000000000") }
local NAT = { product("USE2-NatGateway-Bytes", "0.0450000000"),
  product("USE2-NatGateway-Hours", "0.0470000000"),
  product("USE2-NatGateway-Prvd-Bytes", "0.9900000000") }
local BOX = { product("USE2-BoxUsage:g6.12xlarge", "0.0000000000"),
  product("USE2-BoxUsage:g6.12xlarge", "4.7000000000") }

local function context(answers)
  return scripted_aws.context({ ["pricing:get_products"] = answers,
    ["eks:describe_cluster_versions"] = function (params)
      return { { clusterVersion = params.clusterVersions[1],
        versionStatus = params.clusterVersions[1] == "1.33" and "EXTENDED_SUPPORT"
          or "STANDARD_SUPPORT" } }
    end })
end

local function load(ctx, wanted)
  task.run(pricing.load, ctx, wanted or { others = true, types = { "g6.12xlarge" },
    version = "1.36" })
  return ctx
end

describe("prices", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  it("come from the price list, each with its source", function ()
    local ctx = load((context(listed { AmazonEKS = EKS, ["NAT Gateway"] = NAT,
      ["g6.12xlarge"] = BOX })))
    local usd, source = pricing.of(ctx, "g6.12xlarge")
    assert.equal(4.7, usd)
    assert.matches("^AWS price list of us%-east%-2, read %d+%-%d+%-%d+$", source)
    assert.equal(0.047, (pricing.of(ctx, "nat_gateway")))
    assert.equal(0.045, (pricing.of(ctx, "nat_gateway_gb")))
    assert.equal(0.1, (pricing.of(ctx, "eks_cluster")))
  end)

  it("ask for the region that is priced, wherever the list is served", function ()
    local asked = {}
    local ctx = context(function (params)
      for _, filter in ipairs(params.Filters) do
        if filter.Field:find "egionCode$" then asked[filter.Value] = true end
      end
      return {}
    end)
    load(ctx, { region = "eu-west-3", others = true, types = { "g6.12xlarge" } })
    assert.same({ ["eu-west-3"] = true }, asked)
  end)

  it("fall back on the built-in table and say why", function ()
    local ctx = load((context(function ()
      return scripted_aws.refuse("AccessDeniedException", "not authorized")
    end)))
    local usd, source = pricing.of(ctx, "g6.12xlarge")
    assert.equal(4.6016, usd)
    assert.equal(prices.source .. "; pricing:GetProducts is not allowed", source)
    ctx = load((context(function () return {} end)))
    usd, source = pricing.of(ctx, "nat_gateway")
    assert.equal(prices.nat_gateway, usd)
    assert.equal(prices.source .. "; the price list of us-east-2 has none", source)
    ctx = load((context(function () return scripted_aws.refuse("RTL-NET-003", "reset") end)))
    assert.matches("the price list was not read: RTL%-NET%-003", (select(2,
      pricing.of(ctx, "public_ipv4"))))
    assert.equal(prices.source, (select(2, pricing.of((context(nil)), "eks_cluster"))))
  end)

  it("take no price in another currency, and none that is not one", function ()
    local ctx = load((context(listed {
      AmazonEKS = { product("CNN1-AmazonEKS-Hours:perCluster", "0.688", "CNY") },
      ["g6.12xlarge"] = { product("USE2-BoxUsage:g6.12xlarge", "4.7"),
        product("BoxUsage:g6.12xlarge", "4.6") } })))
    assert.equal(prices.eks_cluster, (pricing.of(ctx, "eks_cluster")))
    assert.equal(4.6016, (pricing.of(ctx, "g6.12xlarge")))
  end)

  it("know no price of what neither has", function ()
    local ctx = load((context(function () return {} end)), { types = { "p5e.48xlarge" } })
    assert.is_nil((pricing.of(ctx, "p5e.48xlarge")))
    assert.is_nil((pricing.of(ctx, "x1.unknown")))
  end)

  it("add extended support where the version is in it", function ()
    local ctx = load((context(listed { AmazonEKS = EKS })), { others = true, version = "1.33" })
    assert.equal(0.6, (pricing.cluster(ctx, "1.33")))
    assert.equal(0.1, (pricing.cluster(ctx, "1.36")))
    local fields = { role_arn = "r", subnet_ids = {} }
    fields.version = "1.33"
    local line = cost.of_resource(ctx, eks_cluster "demo"(fields))
    assert.same({ 0.6, "EKS control plane, extended support" }, { line.hourly, line.what })
  end)

  it("make a plan's cost, with every source in it", function ()
    local ctx = load((context(listed { ["g6.12xlarge"] = BOX })))
    local group = node_group "gpu" { cluster = "c", role_arn = "r", subnet_ids = {},
      instance_type = "g6.12xlarge", count = 2, ami_type = "AL2023_x86_64_NVIDIA",
      disk_gib = 200 }
    local nat = nat_gateway "nat" { subnet_id = "s", allocation_id = "a" }
    local total = cost.of_resources(ctx, { group, nat })
    assert.is_true(math.abs(total.hourly - (9.4 + 2 * 200 * 0.08 / 730 + 0.045)) < 1e-9)
    assert.equal(2, #total.sources)
    for _, line in ipairs(total.lines) do assert.is_string(line.source) end
  end)

  it("are, as far as both know them, the same in the built-in table and in the world's", function ()
    local instances = require "rtl.kinds.instances"
    for _, name in ipairs(price_list.instances()) do
      local row = instances.find(name)
      if row and row.price then
        local world = price_list.instance("us-east-1", name)
        assert.is_true(math.abs(row.price - world) < 0.001, name)
      end
    end
    local names = { eks_cluster = "cluster", eks_extended = "extended_support",
      nat_gateway = "nat_hour", nat_gateway_gb = "nat_gb", public_ipv4 = "address",
      gp3_gb_month = "gp3", cross_zone_gb = "regional_gb" }
    for ours, theirs in pairs(names) do
      assert.equal((price_list.other("us-east-1", theirs)), prices[ours])
    end
  end)
end)

describe("the world's price list", function ()
  local world_support = require "test.support.world"
  local server

  before_each(function () server = world_support.start "calm" end)
  after_each(function () server:stop() end)

  it("has exactly one product for each question, in every region", function ()
    local ctx = scripted_aws.context({}, { aws = function (service, options)
      return server:session { region = "us-east-2" }:client(service, options)
    end })
    for _, region in ipairs { "us-east-1", "us-east-2", "eu-central-1", "af-south-1" } do
      task.run(pricing.load, ctx, { region = region, others = true,
        types = { "g6.12xlarge", "m7i.xlarge", "p5.48xlarge" } })
      local book = ctx.price_books[region]
      assert.is_nil(book.trouble)
      for _, name in ipairs { "eks_cluster", "eks_extended", "nat_gateway", "nat_gateway_gb",
        "public_ipv4", "gp3_gb_month", "cross_zone_gb", "g6.12xlarge", "m7i.xlarge",
        "p5.48xlarge" } do
        assert.is_number(book.prices[name], region .. " " .. name)
      end
      assert.is_true(math.abs(book.prices["g6.12xlarge"]
        - price_list.instance(region, "g6.12xlarge")) < 1e-9)
    end
  end)
end)
