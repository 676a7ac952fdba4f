--- Instance types of the world: what DescribeInstanceTypes says and where they are offered. From
-- facts about the types, kept apart from rtl's own table so that each can check the other.

local M = {}

-- type → vCPU, GiB, GPUs, GPU name, MiB a GPU, network cards, interfaces a card, IPv4 an
-- interface, EFA interfaces, Gbit/s, quota code
local G, P, STANDARD = "L-DB2E81BA", "L-417A185B", "L-1216C47A"
local ROWS = {
  ["m7i.large"] = { 2, 8, 0, nil, nil, 1, 3, 10, 0, 12, STANDARD },
  ["m7i.xlarge"] = { 4, 16, 0, nil, nil, 1, 4, 15, 0, 12, STANDARD },
  ["m7i.2xlarge"] = { 8, 32, 0, nil, nil, 1, 4, 15, 0, 12, STANDARD },
  ["m7i.4xlarge"] = { 16, 64, 0, nil, nil, 1, 8, 30, 0, 12, STANDARD },
  ["m6i.xlarge"] = { 4, 16, 0, nil, nil, 1, 4, 15, 0, 12, STANDARD },
  ["g4dn.12xlarge"] = { 48, 192, 4, "T4", 16384, 1, 8, 30, 1, 50, G },
  ["g5.12xlarge"] = { 48, 192, 4, "A10G", 22888, 1, 15, 50, 1, 40, G },
  ["g5.24xlarge"] = { 96, 384, 4, "A10G", 22888, 1, 15, 50, 1, 50, G },
  ["g5.48xlarge"] = { 192, 768, 8, "A10G", 22888, 1, 7, 50, 1, 100, G },
  ["g6.xlarge"] = { 4, 16, 1, "L4", 22888, 1, 4, 15, 0, 10, G },
  ["g6.8xlarge"] = { 32, 128, 1, "L4", 22888, 1, 8, 30, 1, 25, G },
  ["g6.12xlarge"] = { 48, 192, 4, "L4", 22888, 1, 8, 30, 1, 40, G },
  ["g6.16xlarge"] = { 64, 256, 1, "L4", 22888, 1, 15, 50, 1, 25, G },
  ["g6.24xlarge"] = { 96, 384, 4, "L4", 22888, 1, 15, 50, 1, 50, G },
  ["g6.48xlarge"] = { 192, 768, 8, "L4", 22888, 1, 15, 50, 1, 100, G },
  ["g6e.8xlarge"] = { 32, 256, 1, "L40S", 45776, 1, 8, 30, 1, 25, G },
  ["g6e.12xlarge"] = { 48, 384, 4, "L40S", 45776, 1, 10, 30, 1, 100, G },
  ["g6e.24xlarge"] = { 96, 768, 4, "L40S", 45776, 2, 10, 50, 2, 200, G },
  ["g6e.48xlarge"] = { 192, 1536, 8, "L40S", 45776, 4, 10, 50, 4, 400, G },
  ["p4d.24xlarge"] = { 96, 1152, 8, "A100", 40960, 4, 15, 50, 4, 400, P },
  ["p4de.24xlarge"] = { 96, 1152, 8, "A100", 81920, 4, 15, 50, 4, 400, P },
  ["p5.4xlarge"] = { 16, 256, 1, "H100", 81920, 1, 4, 50, 1, 100, P },
  ["p5.48xlarge"] = { 192, 2048, 8, "H100", 81920, 32, 2, 50, 32, 3200, P },
  ["p5e.48xlarge"] = { 192, 2048, 8, "H200", 144384, 32, 2, 50, 32, 3200, P },
  ["p5en.48xlarge"] = { 192, 2048, 8, "H200", 144384, 16, 4, 50, 16, 3200, P },
  ["p6-b200.48xlarge"] = { 192, 2048, 8, "B200", 184320, 8, 4, 50, 8, 3200, P },
  ["p6-b300.48xlarge"] = { 192, 4096, 8, "B300", 276480, 17, 4, 50, 16, 6400, P },
}

--- The names of all types, sorted.
M.names = {}
local types = {}
for name, row in pairs(ROWS) do
  M.names[#M.names + 1] = name
  types[name] = { name = name, vcpu = row[1], memory_gib = row[2], gpus = row[3], gpu = row[4],
                  gpu_mib = row[5], cards = row[6], interfaces = row[7], addresses = row[8],
                  efa = row[9], gbit = row[10], quota = row[11] }
end
table.sort(M.names)

--- The facts of a type: name, vcpu, memory_gib, gpus, gpu, gpu_mib, cards, interfaces (a card),
-- addresses (an interface), efa (at most), gbit, quota; nil for an unknown type.
function M.of(name)
  return types[name]
end

--- Pods that a node of the type may run, as the VPC CNI reckons.
function M.max_pods(kind)
  return math.min(kind.interfaces * (kind.addresses - 1) + 2, kind.vcpu > 30 and 250 or 110)
end

local FIRST_ZONE_WITHOUT = { ["us-east-2"] = true, ["us-west-2"] = true, ["us-east-1"] = true }
local NO_P_TYPES = { ["us-west-1"] = true, ["sa-east-1"] = true, ["eu-west-3"] = true }

--- Whether a type is offered in a zone of a region.
function M.offered(kind, region, zone)
  if kind.gpus == 0 then return true end
  if kind.quota == P and NO_P_TYPES[region] then return false end
  if zone.index == 1 and FIRST_ZONE_WITHOUT[region] then return false end
  return kind.quota ~= P or zone.index % 3 ~= 0 or kind.name:find "^p4" ~= nil
end

return M
