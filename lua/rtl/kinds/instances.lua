--- What instance types have, as far as no API field or no single one tells it; checked against
-- DescribeInstanceTypes at preflight, field by field. A team adds or corrects types by a file of
-- its own, named by the setting instance_types:
--
--   return { ["x9.24xlarge"] = { gpus = 8, gpu = "X9", gpu_memory_gib = 640, vcpu = 96,
--     memory_gib = 1152, cards = 4, devices = 15, efa = 4, gbit = 400, gdr = true,
--     quota = "L-417A185B", price = 20.5 } }
--
-- gpus, gpu, gpu_memory_gib (all GPUs); vcpu, memory_gib; cards (network cards), devices
-- (interfaces a card), efa (the most EFA interfaces), first_efa_card (0 unless card 0 can't hold
-- one); gbit (network, the whole instance, at its peak); gdr (GPUDirect RDMA over EFA); quota
-- (On-Demand vCPU quota); price (USD/h, us-east-1, Linux On-Demand, 2026-07-20; nil: not known, or
-- sold as capacity blocks only); blocks (sold as capacity blocks, too).
--
-- Types of which a field is not known (g7, g7e) and those that another image needs (p6e-gb200 is
-- ARM64) are left out: a guess would build a wrong launch template.

local keys = require "rtl.keys"
local nearest = require "rtl.nearest"

local M = {}

local G, P, STANDARD = "L-DB2E81BA", "L-417A185B", "L-1216C47A"

local function g(gpus, gpu, gpu_memory, vcpu, memory, cards, devices, efa, gbit, price)
  return { gpus = gpus, gpu = gpu, gpu_memory_gib = gpu_memory, vcpu = vcpu, memory_gib = memory,
    cards = cards, devices = devices, efa = efa, gbit = gbit, gdr = false, quota = G,
    price = price }
end

local function p(gpus, gpu, gpu_memory, vcpu, memory, cards, devices, efa, gbit, price)
  local row = g(gpus, gpu, gpu_memory, vcpu, memory, cards, devices, efa, gbit, price)
  row.gdr, row.quota, row.blocks = true, P, true
  return row
end

local function cpu(vcpu, memory, devices, gbit, price)
  return { gpus = 0, gpu_memory_gib = 0, vcpu = vcpu, memory_gib = memory, cards = 1, efa = 0,
    devices = devices, gbit = gbit, gdr = false, quota = STANDARD, price = price }
end

-- GPUs, GPU, their memory; vCPU, memory; cards, interfaces a card, EFA; Gbit/s; price
local TYPES = {
  ["g4dn.8xlarge"] = g(1, "T4", 16, 32, 128, 1, 4, 1, 50, 2.176),
  ["g4dn.12xlarge"] = g(4, "T4", 64, 48, 192, 1, 8, 1, 50, 3.912),
  ["g4dn.16xlarge"] = g(1, "T4", 16, 64, 256, 1, 4, 1, 50, 4.352),
  ["g5.8xlarge"] = g(1, "A10G", 24, 32, 128, 1, 8, 1, 25, 2.448),
  ["g5.12xlarge"] = g(4, "A10G", 96, 48, 192, 1, 15, 1, 40, 5.672),
  ["g5.16xlarge"] = g(1, "A10G", 24, 64, 256, 1, 8, 1, 25, 4.096),
  ["g5.24xlarge"] = g(4, "A10G", 96, 96, 384, 1, 15, 1, 50, 8.144),
  ["g5.48xlarge"] = g(8, "A10G", 192, 192, 768, 1, 7, 1, 100, 16.288),
  ["g6.xlarge"] = g(1, "L4", 24, 4, 16, 1, 4, 0, 10, 0.8048),
  ["g6.2xlarge"] = g(1, "L4", 24, 8, 32, 1, 4, 0, 10, 0.9776),
  ["g6.4xlarge"] = g(1, "L4", 24, 16, 64, 1, 8, 0, 25, 1.3232),
  ["g6.8xlarge"] = g(1, "L4", 24, 32, 128, 1, 8, 1, 25, 2.0144),
  ["g6.12xlarge"] = g(4, "L4", 96, 48, 192, 1, 8, 1, 40, 4.6016),
  ["g6.16xlarge"] = g(1, "L4", 24, 64, 256, 1, 15, 1, 25, 3.3968),
  ["g6.24xlarge"] = g(4, "L4", 96, 96, 384, 1, 15, 1, 50, 6.6752),
  ["g6.48xlarge"] = g(8, "L4", 192, 192, 768, 1, 15, 1, 100, 13.3504),
  ["gr6.8xlarge"] = g(1, "L4", 24, 32, 256, 1, 8, 1, 25, nil),
  ["g6e.8xlarge"] = g(1, "L40S", 48, 32, 256, 1, 8, 1, 25, 4.5286),
  ["g6e.12xlarge"] = g(4, "L40S", 192, 48, 384, 1, 10, 1, 100, 10.4926),
  ["g6e.16xlarge"] = g(1, "L40S", 48, 64, 512, 1, 15, 1, 35, 7.5772),
  ["g6e.24xlarge"] = g(4, "L40S", 192, 96, 768, 2, 10, 2, 200, 15.0656),
  ["g6e.48xlarge"] = g(8, "L40S", 384, 192, 1536, 4, 10, 4, 400, 30.1312),
  ["p4d.24xlarge"] = p(8, "A100", 320, 96, 1152, 4, 15, 4, 400, 21.9576),
  ["p4de.24xlarge"] = p(8, "A100", 640, 96, 1152, 4, 15, 4, 400, 27.447),
  ["p5.4xlarge"] = p(1, "H100", 80, 16, 256, 1, 4, 1, 100, 6.88),
  ["p5.48xlarge"] = p(8, "H100", 640, 192, 2048, 32, 2, 32, 3200, 55.04),
  ["p5e.48xlarge"] = p(8, "H200", 1128, 192, 2048, 32, 2, 32, 3200, nil),
  ["p5en.48xlarge"] = p(8, "H200", 1128, 192, 2048, 16, 4, 16, 3200, 63.296),
  ["p6-b200.48xlarge"] = p(8, "B200", 1440, 192, 2048, 8, 4, 8, 3200, 113.9328),
  ["p6-b300.48xlarge"] = p(8, "B300", 2100, 192, 4096, 17, 4, 16, 6400, 142.416),
  ["m7i.large"] = cpu(2, 8, 3, 12.5, 0.1008),
  ["m7i.xlarge"] = cpu(4, 16, 4, 12.5, 0.2016),
  ["m7i.2xlarge"] = cpu(8, 32, 4, 12.5, 0.4032),
  ["m7i.4xlarge"] = cpu(16, 64, 8, 12.5, 0.8064),
}
-- An EFA on card 0 of it is refused (AttachmentLimitExceeded): 17 cards, 16 EFA interfaces.
TYPES["p6-b300.48xlarge"].first_efa_card = 1

--- All type names, sorted.
function M.names()
  local list = {}
  for name in pairs(TYPES) do list[#list + 1] = name end
  table.sort(list)
  return list
end

--- The row of a type, or nil when the table has none.
function M.find(name)
  return TYPES[name]
end

--- Why the table has no such type, with the nearest name and how one is added.
function M.unknown(name)
  return ("the instance table has no type '%s'%s"):format(tostring(name),
    nearest.hint(tostring(name), M.names())),
    "Add it: a Lua file named by the setting instance_types (rtl help kinds.instances)"
end

--- The row of a type; raises with the nearest name when the table has none.
function M.of(name)
  return TYPES[name] or error((M.unknown(name)), 2)
end

-- What a row must and may hold.
local FIELDS = { gpus = "integer", vcpu = "integer", memory_gib = "number", cards = "integer",
  efa = "integer", quota = "string" }
local MORE = { gpu = "string", gpu_memory_gib = "number", devices = "integer", gbit = "number",
  first_efa_card = "integer", gdr = "boolean", blocks = "boolean", price = "number" }

local function is_a(value, wanted)
  if wanted == "integer" then return math.type(value) == "integer" and value >= 0 end
  if wanted == "number" then return type(value) == "number" and value >= 0 end
  return type(value) == wanted
end

local function all_fields()
  local list = {}
  for field in pairs(FIELDS) do list[#list + 1] = field end
  for field in pairs(MORE) do list[#list + 1] = field end
  table.sort(list)
  return list
end

local function wrong_field(field, value)
  local wanted = FIELDS[field] or MORE[field]
  if not wanted then
    return ("there is no field '%s'%s"):format(tostring(field),
      nearest.hint(tostring(field), all_fields()))
  elseif not is_a(value, wanted) then
    return ("%s is %s, %s expected"):format(field, tostring(value), wanted)
  end
end

--- What is wrong with a row, as text; nil when nothing is.
function M.wrong(row)
  if type(row) ~= "table" then return "it is no table" end
  for _, field in ipairs(all_fields()) do
    if FIELDS[field] and row[field] == nil then return ("field '%s' is missing"):format(field) end
  end
  for field, value in keys.pairs(row) do
    local text = wrong_field(field, value)
    if text then return text end
  end
  local cards = row.cards - (row.first_efa_card or 0)
  if row.efa > cards then
    return ("%d EFA interfaces on %d cards: one a card at most"):format(row.efa, cards)
  end
end

--- Adds or overrides a type: `row` has the fields described at the top of this file; nil takes the
-- type out. Raises what is wrong with the row.
function M.add(name, row)
  local text = row ~= nil and M.wrong(row)
  if text then error(("instance type '%s': %s"):format(tostring(name), text), 2) end
  TYPES[name] = row
end

-- By how much what EC2 says may differ: memory is told a little under its round figure.
local MEMORY, GPU_MEMORY = 0.05, 0.12

local function near(have, want, share)
  return have == nil or math.abs(have - want) <= want * share
end

local function same(have, want)
  return have == nil or have == want
end

local function gpus_of(info)
  local count, memory = 0, 0
  for _, gpu in ipairs(info.GpuInfo and info.GpuInfo.Gpus or {}) do
    count = count + (gpu.Count or 0)
    memory = memory + (gpu.Count or 0) * (gpu.MemoryInfo and gpu.MemoryInfo.SizeInMiB or 0)
  end
  return count, memory > 0 and memory / 1024 or nil
end

local function cards_of(network)
  return network.NetworkCards and #network.NetworkCards or network.MaximumNetworkCards
end

-- The interfaces that a launch template would ask for, against the cards that EC2 knows.
local function card_differences(name, network, add)
  local cards = {}
  for _, card in ipairs(network.NetworkCards or {}) do cards[card.NetworkCardIndex] = card end
  if not next(cards) then return end
  for _, one in ipairs(M.interfaces(name)) do
    local most = cards[one.card] and cards[one.card].MaximumNetworkInterfaces or 0
    if one.device >= most then
      add(("interfaces of card %d"):format(one.card), most, one.device + 1)
    end
  end
end

--- Compares the table's row of a type with what DescribeInstanceTypes says of it (`info`, an
-- InstanceTypeInfo). Returns an array of {field, have (EC2's), want (the table's)}; empty when both
-- agree. What EC2 does not tell is not compared.
function M.differences(name, info)
  local row, network, list = M.of(name), info.NetworkInfo or {}, {}
  local function add(field, have, want)
    list[#list + 1] = { field = field, have = have, want = want }
  end
  local function check(agree, field, have, want, share)
    if want ~= nil and not agree(have, want, share) then add(field, have, want) end
  end
  local gpus, gpu_memory = gpus_of(info)
  check(same, "gpus", gpus, row.gpus)
  check(near, "gpu_memory_gib", gpu_memory, row.gpu_memory_gib, GPU_MEMORY)
  check(same, "vcpu", info.VCpuInfo and info.VCpuInfo.DefaultVCpus, row.vcpu)
  check(near, "memory_gib", info.MemoryInfo and info.MemoryInfo.SizeInMiB / 1024, row.memory_gib,
    MEMORY)
  check(same, "cards", cards_of(network), row.cards)
  check(same, "efa", network.EfaInfo and network.EfaInfo.MaximumEfaInterfaces
    or (network.EfaSupported == false and 0 or nil), row.efa)
  card_differences(name, network, add)
  return list
end

-- Card 0 device 0 carries the node's address: ENA and EFA in one where card 0 can hold EFA, else
-- plain ENA. Each further card has one interface, device 1, EFA without an address (efa-only: it
-- takes no address of the subnet, and the CNI knows to leave it alone).
local function interface_on(row, card)
  if card > 0 then return { card = card, device = 1, type = "efa-only" } end
  local able = row.efa > 0 and (row.first_efa_card or 0) == 0
  return { card = 0, device = 0, type = able and "efa" or "interface" }
end

--- The network interfaces of a launch template for this type, in order: array of {card, device,
-- type}; type is "interface", "efa" or "efa-only". `efa` limits the EFA interfaces (default: all
-- that the type has; 0: none).
function M.interfaces(name, efa)
  local row = M.of(name)
  local wanted = math.min(efa or row.efa, row.efa)
  if wanted == 0 then return { { card = 0, device = 0, type = "interface" } } end
  local list = {}
  for card = 0, (row.first_efa_card or 0) + wanted - 1 do
    list[#list + 1] = interface_on(row, card)
  end
  return list
end

return M
