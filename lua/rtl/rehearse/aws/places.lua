--- Regions and zones: names, zone ids, and which of them EKS refuses. Names and ids stand in a
-- fixed order here; in a real account the letters are shuffled.

local M = {}

-- Region → prefix of its zone ids and the number of the zone behind each letter.
local ROWS = {
  ["us-east-1"] = { "use1", 1, 2, 4, 6, 3, 5 }, ["us-east-2"] = { "use2", 1, 2, 3 },
  ["us-west-1"] = { "usw1", 1, 3 }, ["us-west-2"] = { "usw2", 1, 2, 3, 4 },
  ["ca-central-1"] = { "cac1", 1, 2, 4 }, ["sa-east-1"] = { "sae1", 1, 2, 3 },
  ["eu-west-1"] = { "euw1", 1, 2, 3 }, ["eu-west-2"] = { "euw2", 1, 2, 3 },
  ["eu-west-3"] = { "euw3", 1, 2, 3 }, ["eu-central-1"] = { "euc1", 1, 2, 3 },
  ["eu-north-1"] = { "eun1", 1, 2, 3 }, ["eu-south-1"] = { "eus1", 1, 2, 3 },
  ["eu-south-2"] = { "eus2", 1, 2, 3 }, ["eu-central-2"] = { "euc2", 1, 2, 3 },
  ["ap-northeast-1"] = { "apne1", 1, 2, 4 }, ["ap-northeast-2"] = { "apne2", 1, 2, 3, 4 },
  ["ap-northeast-3"] = { "apne3", 1, 2, 3 }, ["ap-southeast-1"] = { "apse1", 1, 2, 3 },
  ["ap-southeast-2"] = { "apse2", 1, 2, 3 }, ["ap-southeast-3"] = { "apse3", 1, 2, 3 },
  ["ap-south-1"] = { "aps1", 1, 2, 3 }, ["ap-east-1"] = { "ape1", 1, 2, 3 },
  ["me-south-1"] = { "mes1", 1, 2, 3 }, ["me-central-1"] = { "mec1", 1, 2, 3 },
  ["af-south-1"] = { "afs1", 1, 2, 3 }, ["il-central-1"] = { "ilc1", 1, 2, 3 },
}

-- Regions that an account must enable first; the simulated one has not.
local OPT_IN = { "af-south-1", "ap-east-1", "ap-southeast-3", "eu-central-2", "eu-south-1",
                 "eu-south-2", "il-central-1", "me-central-1", "me-south-1" }

local REFUSED_BY_EKS = { ["use1-az3"] = true, ["usw1-az2"] = true, ["cac1-az3"] = true }

local function zones_of(region, row)
  local zones = {}
  for i = 2, #row do
    local id = ("%s-az%d"):format(row[1], row[i])
    zones[i - 1] = { name = region .. string.char(95 + i), id = id, index = i - 1,
                     eks = not REFUSED_BY_EKS[id] }
  end
  return zones
end

--- Region name → array of zones { name, id, index, eks }.
M.regions = {}
--- The names of all regions, sorted.
M.names = {}
for region, row in pairs(ROWS) do
  M.regions[region] = zones_of(region, row)
  M.names[#M.names + 1] = region
end
table.sort(M.names)
--- Region name → true for those that are not enabled in the account.
M.disabled = {}
for _, region in ipairs(OPT_IN) do M.disabled[region] = true end

--- The zone of a region by name or id; nil if there is none.
function M.zone(region, name)
  for _, zone in ipairs(M.regions[region]) do
    if zone.name == name or zone.id == name then return zone end
  end
  return nil
end

return M
