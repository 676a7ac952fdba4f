--- What instance types have, as far as no API field or no single one tells it; checked against
-- DescribeInstanceTypes at preflight. A team adds a type with instances.add("x", {…}).
--
-- gpus, gpu, gpu_memory_gib (all GPUs); vcpu, memory_gib; cards (network cards), efa (the most EFA
-- interfaces), first_efa_card (0 unless card 0 can't hold one), devices (interfaces a card);
-- gbit (network, the whole instance); gdr (GPUDirect RDMA over EFA); quota (On-Demand vCPU quota);
-- price (USD/h, us-east-1, Linux On-Demand, 2026-07-20; nil: sold as capacity blocks).

local nearest = require "rtl.nearest"

local M = {}

local G, P, STANDARD = "L-DB2E81BA", "L-417A185B", "L-1216C47A"

local function g(gpus, gpu, gpu_memory, vcpu, memory, cards, efa, gbit, price)
  return { gpus = gpus, gpu = gpu, gpu_memory_gib = gpu_memory, vcpu = vcpu, memory_gib = memory,
    cards = cards, efa = efa, devices = 2, gbit = gbit, gdr = false, quota = G, price = price }
end

local function p(gpus, gpu, gpu_memory, vcpu, memory, cards, efa, gbit, price)
  local row = g(gpus, gpu, gpu_memory, vcpu, memory, cards, efa, gbit, price)
  row.gdr, row.quota = true, P
  return row
end

local function cpu(vcpu, memory, gbit, price)
  return { gpus = 0, gpu_memory_gib = 0, vcpu = vcpu, memory_gib = memory, cards = 1, efa = 0,
    devices = 4, gbit = gbit, gdr = false, quota = STANDARD, price = price }
end

local TYPES = {
  ["g6.xlarge"] = g(1, "L4", 24, 4, 16, 1, 0, 10, 0.8048),
  ["g6.2xlarge"] = g(1, "L4", 24, 8, 32, 1, 0, 10, 0.9776),
  ["g6.4xlarge"] = g(1, "L4", 24, 16, 64, 1, 0, 25, 1.3232),
  ["g6.8xlarge"] = g(1, "L4", 24, 32, 128, 1, 1, 25, 2.0144),
  ["g6.12xlarge"] = g(4, "L4", 96, 48, 192, 1, 1, 40, 4.6016),
  ["g6.16xlarge"] = g(1, "L4", 24, 64, 256, 1, 1, 25, 3.3968),
  ["g6.24xlarge"] = g(4, "L4", 96, 96, 384, 1, 1, 50, 6.6752),
  ["g6.48xlarge"] = g(8, "L4", 192, 192, 768, 1, 1, 100, 13.3504),
  ["g6e.8xlarge"] = g(1, "L40S", 48, 32, 256, 1, 1, 25, 4.5286),
  ["g6e.12xlarge"] = g(4, "L40S", 192, 48, 384, 1, 1, 100, 10.4926),
  ["g6e.16xlarge"] = g(1, "L40S", 48, 64, 512, 1, 1, 35, 7.5772),
  ["g6e.24xlarge"] = g(4, "L40S", 192, 96, 768, 2, 2, 200, 15.0656),
  ["g6e.48xlarge"] = g(8, "L40S", 384, 192, 1536, 4, 4, 400, 30.1312),
  ["g5.8xlarge"] = g(1, "A10G", 24, 32, 128, 1, 1, 25, 2.448),
  ["g5.12xlarge"] = g(4, "A10G", 96, 48, 192, 1, 1, 40, 5.672),
  ["g5.24xlarge"] = g(4, "A10G", 96, 96, 384, 1, 1, 50, 8.144),
  ["g5.48xlarge"] = g(8, "A10G", 192, 192, 768, 1, 1, 100, 16.288),
  ["p4d.24xlarge"] = p(8, "A100", 320, 96, 1152, 4, 4, 400, 21.9576),
  ["p4de.24xlarge"] = p(8, "A100", 640, 96, 1152, 4, 4, 400, 27.447),
  ["p5.4xlarge"] = p(1, "H100", 80, 16, 256, 1, 1, 100, 6.88),
  ["p5.48xlarge"] = p(8, "H100", 640, 192, 2048, 32, 32, 3200, 55.04),
  ["p5e.48xlarge"] = p(8, "H200", 1128, 192, 2048, 32, 32, 3200, nil),
  ["p5en.48xlarge"] = p(8, "H200", 1128, 192, 2048, 16, 16, 3200, 63.296),
  ["p6-b200.48xlarge"] = p(8, "B200", 1440, 192, 2048, 8, 8, 3200, 113.9328),
  ["p6-b300.48xlarge"] = p(8, "B300", 2100, 192, 4096, 17, 16, 6400, 142.416),
  ["m7i.large"] = cpu(2, 8, 12.5, 0.1008),
  ["m7i.xlarge"] = cpu(4, 16, 12.5, 0.2016),
  ["m7i.2xlarge"] = cpu(8, 32, 12.5, 0.4032),
  ["m7i.4xlarge"] = cpu(16, 64, 12.5, 0.8064),
}
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

--- The row of a type; raises with the nearest name when the table has none.
function M.of(name)
  local row = TYPES[name]
  if row then return row end
  error(("the instance table has no type '%s'%s"):format(tostring(name),
    nearest.hint(tostring(name), M.names())), 2)
end

--- Adds or overrides a type: `row` has the fields described at the top of this file.
function M.add(name, row)
  TYPES[name] = row
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
