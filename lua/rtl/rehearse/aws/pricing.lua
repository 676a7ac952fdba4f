--- Pricing: the price list of On-Demand instances and of what else a deployment pays for, in the
-- form of the real one: JSON documents in strings.

local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local json = require "rtl.native.json"
local places = require "rtl.rehearse.aws.places"
local price_list = require "rtl.rehearse.aws.price_list"
local types = require "rtl.rehearse.aws.types"

local M = { operations = {} }
local ops = M.operations

local TERM, RATE = "JRTCKXETXF", "6YS6EN2CT7"

-- A product as GetProducts gives it.
local function document(service, family, attributes, price, unit)
  local sku = chance.hex(16, 7, service, attributes.usagetype, attributes.capacitystatus):upper()
  local term, rate = sku .. "." .. TERM, sku .. "." .. TERM .. "." .. RATE
  return json.encode { serviceCode = service, version = "20261120163507",
    publicationDate = "2026-11-20T16:35:07Z",
    product = { sku = sku, productFamily = family, attributes = attributes },
    terms = { OnDemand = { [term] = { sku = sku, offerTermCode = TERM, termAttributes = {},
      effectiveDate = "2026-11-01T00:00:00Z", priceDimensions = { [rate] = { rateCode = rate,
        unit = unit, beginRange = "0", endRange = "Inf", appliesTo = array {},
        description = ("$%.10g per %s"):format(price, unit),
        pricePerUnit = { USD = ("%.10f"):format(price) } } } } } } }
end

-- The products of a service: function (add, region).
local PRODUCTS = {}

local function instance(add, region, name, status, price)
  local kind = types.of(name)
  local usage = status == "Used" and "BoxUsage:" or "UnusedBox:"
  add("Compute Instance", { instanceType = name, operatingSystem = "Linux", tenancy = "Shared",
    preInstalledSw = "NA", licenseModel = "No License required", capacitystatus = status,
    marketoption = "OnDemand", vcpu = tostring(kind.vcpu), operation = "RunInstances",
    memory = kind.memory_gib .. " GiB", usagetype = price_list.prefix(region) .. usage .. name },
    price, "Hrs")
end

function PRODUCTS.AmazonEC2(add, region)
  local prefix = price_list.prefix(region)
  local function other(family, usagetype, name, fields)
    fields.usagetype = prefix .. usagetype
    add(family, fields, price_list.other(region, name))
  end
  for _, name in ipairs(price_list.instances()) do
    local price = price_list.instance(region, name)
    instance(add, region, name, "Used", price)
    instance(add, region, name, "UnusedCapacityReservation", price)
    instance(add, region, name, "AllocatedCapacityReservation", 0)
  end
  other("NAT Gateway", "NatGateway-Hours", "nat_hour", { group = "NGW:NatGateway" })
  other("NAT Gateway", "NatGateway-Bytes", "nat_gb", { group = "NGW:NatGateway" })
  other("Storage", "EBS:VolumeUsage.gp3", "gp3", { volumeApiName = "gp3" })
end

function PRODUCTS.AmazonEKS(add, region)
  local prefix = price_list.prefix(region, true)
  local cluster, unit = price_list.other(region, "cluster")
  add("Compute", { usagetype = prefix .. "AmazonEKS-Hours:perCluster",
    operation = "CreateOperation" }, cluster, unit)
  add("Compute", { usagetype = prefix .. "AmazonEKS-Hours:extendedSupport",
    operation = "ExtendedSupport" }, price_list.other(region, "extended_support"))
end

function PRODUCTS.AmazonVPC(add, region)
  local prefix = price_list.prefix(region, true)
  for _, use in ipairs { "InUseAddress", "IdleAddress" } do
    add(nil, { usagetype = prefix .. "PublicIPv4:" .. use }, price_list.other(region, "address"))
  end
end

function PRODUCTS.AWSDataTransfer(add, region)
  add("Data Transfer", { transferType = "IntraRegion", fromRegionCode = region,
    toRegionCode = region, usagetype = price_list.prefix(region) .. "DataTransfer-Regional-Bytes" },
    price_list.other(region, "regional_gb"))
end

local function value_of(field, service, family, attributes)
  if field == "productFamily" then return family end
  if field == "ServiceCode" or field == "servicecode" then return service end
  return attributes[field]
end

local function passes(filters, service, family, attributes)
  for _, filter in ipairs(filters or {}) do
    local have = value_of(filter.Field, service, family, attributes)
    if have == nil then return false end
    local fits = have == filter.Value
    if filter.Type == "CONTAINS" then fits = have:find(filter.Value, 1, true) ~= nil end
    if not fits then return false end
  end
  return true
end

-- A filter may name the region, and then no other one's products are looked at.
local function regions_of(filters)
  for _, filter in ipairs(filters or {}) do
    if filter.Field == "regionCode" or filter.Field == "fromRegionCode" then
      return places.regions[filter.Value] and { filter.Value } or {}
    end
  end
  return places.names
end

function ops.get_products(_, p)
  local list, products = array {}, PRODUCTS[p.ServiceCode]
  for _, region in ipairs(products and regions_of(p.Filters) or {}) do
    products(function (family, attributes, price, unit)
      attributes.regionCode, attributes.locationType = region, "AWS Region"
      attributes.servicecode = p.ServiceCode
      if passes(p.Filters, p.ServiceCode, family, attributes) then
        list[#list + 1] = document(p.ServiceCode, family, attributes, price, unit)
      end
    end, region)
  end
  return { FormatVersion = "aws_v1", PriceList = list }
end

return M
