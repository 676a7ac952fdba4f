--- The world's prices: what its Pricing service tells and what its bill reckons with. From facts of
-- their own, kept apart from rtl's built-in table so that each can check the other.

local M = {}

-- USD an hour in us-east-1, Linux On-Demand.
local INSTANCES = {
  ["m7i.large"] = 0.1008, ["m7i.xlarge"] = 0.2016, ["m7i.2xlarge"] = 0.4032,
  ["m7i.4xlarge"] = 0.8064, ["m6i.xlarge"] = 0.192, ["g4dn.12xlarge"] = 3.912,
  ["g5.12xlarge"] = 5.672, ["g5.24xlarge"] = 8.144, ["g5.48xlarge"] = 16.288,
  ["g6.xlarge"] = 0.8048, ["g6.8xlarge"] = 2.0144, ["g6.12xlarge"] = 4.6016,
  ["g6.16xlarge"] = 3.3968, ["g6.24xlarge"] = 6.6752, ["g6.48xlarge"] = 13.3504,
  ["g6e.8xlarge"] = 4.52856, ["g6e.12xlarge"] = 10.49264, ["g6e.24xlarge"] = 15.06559,
  ["g6e.48xlarge"] = 30.13118, ["p4d.24xlarge"] = 21.9576, ["p4de.24xlarge"] = 27.44705,
  ["p5.4xlarge"] = 6.88, ["p5.48xlarge"] = 55.04, ["p5en.48xlarge"] = 63.296,
  ["p6-b200.48xlarge"] = 113.9328, ["p6-b300.48xlarge"] = 142.416,
}

-- What other regions take for it; those that are not here take the same.
local FACTORS = {
  ["eu-central-1"] = 1.25, ["eu-west-1"] = 1.11, ["eu-west-2"] = 1.17, ["us-west-1"] = 1.19,
  ["ap-northeast-1"] = 1.36, ["ap-southeast-1"] = 1.24, ["ap-southeast-2"] = 1.3,
  ["sa-east-1"] = 1.6, ["ca-central-1"] = 1.1, ["ap-south-1"] = 1.08,
}

-- How usage types of a region begin; us-east-1 has no prefix but for the younger services.
local PREFIXES = { ["us-east-1"] = "", ["us-east-2"] = "USE2-", ["us-west-1"] = "USW1-",
  ["us-west-2"] = "USW2-", ["eu-west-1"] = "EU-", ["eu-central-1"] = "EUC1-" }

M.HOURS_A_MONTH = 730

-- name → { price, unit, does it differ by region }
local OTHERS = {
  cluster = { 0.10, "Hours" }, extended_support = { 0.50, "Hours" },
  nat_hour = { 0.045, "Hrs", true }, nat_gb = { 0.045, "GB", true },
  address = { 0.005, "Hrs" }, gp3 = { 0.08, "GB-Mo", true }, regional_gb = { 0.01, "GB" },
}

local function factor(region)
  return FACTORS[region] or 1
end

--- The price of an instance's hour in a region, or nil for a type that is sold in blocks only.
function M.instance(region, name)
  return INSTANCES[name] and INSTANCES[name] * factor(region)
end

--- The price of something else: cluster, extended_support, nat_hour, nat_gb, address, gp3,
-- regional_gb; and its unit.
function M.other(region, name)
  local row = OTHERS[name]
  return row[1] * (row[3] and factor(region) or 1), row[2]
end

--- The names of all instance types with a price, sorted.
function M.instances()
  local names = {}
  for name in pairs(INSTANCES) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- How the usage types of a region begin; `young` services name us-east-1, too.
function M.prefix(region, young)
  if young and region == "us-east-1" then return "USE1-" end
  if PREFIXES[region] then return PREFIXES[region] end
  local a, b, n = region:match "^(%a+)%-(%a+)%-(%d+)$"
  return ("%s%s%s-"):format(a, b:sub(1, 1), n):upper()
end

return M
