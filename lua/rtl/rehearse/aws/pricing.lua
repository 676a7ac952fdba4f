--- Pricing: On-Demand prices of instance types and of what else a deployment pays for.

local array = require "rtl.array"
local json = require "rtl.native.json"

local M = { operations = {} }
local ops = M.operations

local INSTANCES = {
  ["m7i.large"] = 0.1008, ["m7i.xlarge"] = 0.2016, ["m7i.2xlarge"] = 0.4032,
  ["g5.12xlarge"] = 5.672, ["g5.24xlarge"] = 8.144, ["g5.48xlarge"] = 16.288,
  ["g6.8xlarge"] = 2.0144, ["g6.12xlarge"] = 4.6016, ["g6.24xlarge"] = 6.6752,
  ["g6.48xlarge"] = 13.3504, ["g6e.12xlarge"] = 10.4926, ["g6e.48xlarge"] = 30.1312,
  ["p4d.24xlarge"] = 21.9576, ["p5.48xlarge"] = 55.04, ["p5en.48xlarge"] = 63.296,
  ["p6-b200.48xlarge"] = 113.9328,
}

local OTHERS = {
  { "AmazonEKS", { usagetype = "AmazonEKS-Hours:perCluster", productFamily = "Compute" }, 0.10 },
  { "AmazonEC2", { usagetype = "NatGateway-Hours", productFamily = "NAT Gateway" }, 0.045 },
  { "AmazonEC2", { usagetype = "NatGateway-Bytes", productFamily = "NAT Gateway" }, 0.045 },
  { "AmazonVPC", { usagetype = "PublicIPv4:InUseAddress", productFamily = "VpcIp" }, 0.005 },
  { "AmazonEC2", { volumeApiName = "gp3", productFamily = "Storage" }, 0.08 },
}

local FIXED = { operatingSystem = "Linux", preInstalledSw = "NA", tenancy = "Shared",
  licenseModel = "No License required", capacitystatus = "Used", marketoption = "OnDemand" }

local function product(service, attributes, price)
  return json.encode { serviceCode = service, product = { attributes = attributes, sku = "X",
    productFamily = attributes.productFamily or "Compute Instance" },
    terms = { OnDemand = { ["X.JRTC"] = { priceDimensions = { ["X.JRTC.6YS"] = { unit = "Hrs",
      pricePerUnit = { USD = ("%.10f"):format(price) } } } } } } }
end

local function matches(attributes, filters)
  for _, filter in ipairs(filters or {}) do
    local have = attributes[filter.Field]
    if filter.Field ~= "regionCode" and filter.Field ~= "location" then
      if have == nil then return false end
      if filter.Type == "CONTAINS" then
        if not have:find(filter.Value, 1, true) then return false end
      elseif have ~= filter.Value then
        return false
      end
    end
  end
  return true
end

function ops.get_products(_, p)
  local list, names = array {}, {}
  for name in pairs(INSTANCES) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(p.ServiceCode == "AmazonEC2" and names or {}) do
    local attributes = { instanceType = name }
    for key, value in pairs(FIXED) do attributes[key] = value end
    if matches(attributes, p.Filters) then
      list[#list + 1] = product("AmazonEC2", attributes, INSTANCES[name])
    end
  end
  for _, row in ipairs(OTHERS) do
    if row[1] == p.ServiceCode and matches(row[2], p.Filters) then
      list[#list + 1] = product(row[1], row[2], row[3])
    end
  end
  return { FormatVersion = "aws_v1", PriceList = list }
end

return M
