--- What NCCL and aws-ofi-nccl write in a simulated container, in the forms of real logs: over EFA
-- (as public logs show it), over sockets with no plugin, with a plugin but no EFA device, and
-- refused.

local chance = require "rtl.rehearse.chance"
local json = require "rtl.native.json"
local null = require "rtl.null"

local M = {}

--- What the image holds.
M.VERSIONS = { ray = "2.58.0", python = "3.13.9", torch = "2.13.0", torchvision = "0.28.0",
               cuda = "13.0", nccl = "2.29.7" }

local PLUGIN = { path = "/opt/amazon/ofi-nccl/lib64/libnccl-net-ofi.so", name = "Libfabric",
                 version = "1.19.0", abi = 11 }

--- Whether the container's NCCL finds a network plugin.
function M.has_plugin(kube)
  return kube.world.weather.nccl ~= "socket"
end

--- The answer to the look at a container's versions, as JSON.
function M.versions(kube)
  local out = { memlock = null, plugin = null }
  for name, version in pairs(M.VERSIONS) do out[name] = version end
  if M.has_plugin(kube) then
    out.plugin = { path = PLUGIN.path, name = PLUGIN.name, abi = PLUGIN.abi }
  end
  return json.encode(out)
end

local REFUSED_NETS = { socket = true, ib = true }

local function lets_itself(region, group_id, egress)
  return region.rules:first(function (rule)
    return rule.GroupId == group_id and (rule.IsEgress or false) == egress
      and (rule.ReferencedGroupInfo or {}).GroupId == group_id
  end) ~= nil
end

--- Whether no security group of the pod's machine lets all traffic through to itself and from
-- itself: EFA's does not count by addresses.
function M.is_closed(kube, pod)
  local region, machine = kube.world.aws.regions[kube.region], kube.machines[pod.spec.nodeName]
  local instance = region and machine and region.instances:get(machine.id)
  for _, group in ipairs(instance and instance.SecurityGroups or {}) do
    if lets_itself(region, group.GroupId, true) and lets_itself(region, group.GroupId, false) then
      return false
    end
  end
  return instance ~= nil
end

--- Which way a job takes: "efa", "socket" (no plugin), "no-device" (plugin, but no EFA in the pod),
-- "pinned" (to sockets), "refused" (a pin that nothing fulfils) or "blocked" (EFA, and its packets
-- are dropped).
function M.way(kube, env, pod)
  local limits = (pod.spec.containers[1].resources or {}).limits or {}
  local net = (env.NCCL_NET or ""):lower()
  local plugin = M.has_plugin(kube) and env.NCCL_NET_PLUGIN ~= "none"
  if net == "socket" then return "pinned" end
  local usable = plugin and limits["vpc.amazonaws.com/efa"] ~= nil
                 and (env.FI_PROVIDER or "efa") == "efa"
  local known = net == "" or net == "libfabric" or net == "aws libfabric" or net == "ofi"
  if usable and known then return M.is_closed(kube, pod) and "blocked" or "efa" end
  if net ~= "" and not REFUSED_NETS[net] then return "refused" end
  return plugin and "no-device" or "socket"
end

-- ---- one rank's log ----

local function plugin_lines(way, facts)
  if way == "socket" then
    return { "NCCL_NET_PLUGIN set by environment to ofi",
             "NET/Plugin: Could not find: ofi libnccl-net-ofi.so" }
  end
  local lines = {
    "NCCL_NET_PLUGIN set by environment to ofi",
    "NET/Plugin: Loaded net plugin Libfabric (v11)",
    "Successfully loaded external network plugin libnccl-net-ofi.so",
    "NET/OFI Initializing aws-ofi-nccl " .. PLUGIN.version,
    "NET/OFI Using Libfabric version 2.4",
    "NET/OFI Using CUDA driver version 13000 with runtime 13000",
    "NET/OFI Plugin selected platform: AWS",
    "NET/OFI Configuring AWS-specific options",
    "NET/OFI Setting provider_filter to efa",
  }
  local function add(text) lines[#lines + 1] = text end
  if facts.rdma then
    add "NET/OFI Using transport protocol RDMA (platform set)"
    add(("NET/OFI Running on %s platform, topology file %s"):format(facts.type,
      "/opt/amazon/ofi-nccl/share/aws-ofi-nccl/xml/" .. facts.type .. "-topo.xml"))
  end
  add(("NET/OFI Internode latency set at %s us"):format(facts.rdma and "35.0" or "75.0"))
  return lines
end

local function provider_lines(facts)
  if facts.rdma then
    return {
      ("NET/OFI Selected provider is efa, fabric is efa-direct (found %d nics)"):format(facts.efa),
      "NET/OFI Creating one domain per process",
      "NET/OFI Support for global registrations: true",
      "NET/OFI Support for DMA-BUF registrations: true",
      "Initialized NET plugin Libfabric", "Assigned NET plugin Libfabric to comm",
      "Using network Libfabric", "DMA-BUF is available on GPU device 0",
    }
  end
  return {
    "NET/OFI No eligible providers were found",
    ("NET/OFI Selected provider is efa, fabric is efa (found %d nics)"):format(facts.efa),
    "NET/OFI Using transport protocol SENDRECV",
    "NET/OFI Creating one domain per process",
    "NET/OFI Support for global registrations: false",
    "NET/OFI Support for DMA-BUF registrations: false",
    "NET/OFI Need to force simple protocol: GDR not supported",
    "NET/OFI Adding NCCL_PROTO=simple to environment",
    "Initialized NET plugin Libfabric", "Assigned NET plugin Libfabric to comm",
    "Using network Libfabric", "DMA-BUF is available on GPU device 0",
  }
end

local function failed_plugin_lines()
  return { "NET/OFI No eligible providers were found",
           "WARN NET/OFI OFI fi_getinfo() call failed: No data available",
           "WARN NET/OFI Unable to find a protocol that worked.  Failing initialization.",
           "WARN NET/OFI aws-ofi-nccl initialization failed",
           "Failed to initialize NET plugin Libfabric" }
end

local function socket_lines(facts)
  return { "NET/IB : No device found.", "NET/IB : Using [RO]; OOB eth0:" .. facts.ip .. "<0>",
           "Failed to initialize NET plugin IB",
           ("NET/Socket : Using [0]eth0:%s<0>"):format(facts.ip), "Initialized NET plugin Socket" }
end

local function refused_lines()
  return { "WARN Failed to initialize any NET plugin", "init.cc:389 -> 5", "init.cc:1527 -> 5",
           "init.cc:1957 -> 5", "init.cc:1983 -> 5" }
end

local function network_lines(way, facts)
  local lines = plugin_lines(way == "refused" and not facts.plugin and "socket" or way, facts)
  local function add_all(list)
    for _, text in ipairs(list) do lines[#lines + 1] = text end
  end
  if way == "efa" or way == "blocked" then
    add_all(provider_lines(facts))
    if way == "blocked" then
      add_all { "WARN NET/OFI Unable to insert remote address into address vector for device 0. "
                .. "RC: -22" }
    end
    return lines
  end
  if way == "no-device" or (way == "refused" and facts.plugin) then
    add_all(failed_plugin_lines())
  end
  add_all(socket_lines(facts))
  if way == "refused" then
    add_all(refused_lines())
  else
    add_all { "Assigned NET plugin Socket to comm", "Using network Socket" }
  end
  return lines
end

-- Local ranks of channel `c` in the order of its ring within a node.
local function ring_place(facts, c, place)
  local shift = facts.rdma and c or 0
  return (place + shift) % facts.gpus
end

local function via_net(way, facts)
  if way == "efa" then return facts.rdma and "NET/Libfabric/%d/GDRDMA" or "NET/Libfabric/%d" end
  return "NET/Socket/%d"
end

local function edge(from, to, facts, kind, c, net)
  local g = facts.gpus
  return ("Channel %02d/0 : %d[%d] -> %d[%d] [%s] via %s"):format(c, from, from % g, to, to % g,
    kind, net:format(facts.rdma and c * facts.efa // facts.gpus or 0))
end

local function local_edge(from, to, facts, c)
  local g = facts.gpus
  if facts.rdma then
    return ("Channel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM"):format(c, from, from % g, to, to % g)
  end
  return ("Channel %02d : %d[%d] -> %d[%d] via SHM/direct/direct"):format(c, from, from % g, to,
                                                                          to % g)
end

-- The channel lines of one rank: what it receives and sends on each ring.
local function channel_lines(way, facts)
  local lines, g, n = {}, facts.gpus, facts.nodes
  local node, own = facts.rank // g, facts.rank % g
  local net = via_net(way, facts)
  for c = 0, facts.channels - 1 do
    local first, last = ring_place(facts, c, 0), ring_place(facts, c, g - 1)
    if own == first and n > 1 then
      lines[#lines + 1] = edge((node - 1) % n * g + last, facts.rank, facts, "receive", c, net)
    end
    if own == last and n > 1 then
      lines[#lines + 1] = edge(facts.rank, (node + 1) % n * g + first, facts, "send", c, net)
    elseif own ~= last then
      lines[#lines + 1] = local_edge(facts.rank, node * g + (own + 1) % g, facts, c)
    end
  end
  return lines
end

local function comm_lines(facts, what)
  return ("ncclCommInitRank comm 0x%s rank %d nranks %d cudaDev %d nvmlDev %d busId %s commId 0x%s "
          .. "- Init %s"):format(facts.comm, facts.rank, facts.world, facts.device, facts.device,
                                 facts.bus, facts.comm_id, what)
end

local function topology_lines(facts)
  local lines = { ("comm 0x%s rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0")
                  :format(facts.comm, facts.rank, facts.world, facts.nodes, facts.gpus,
                          facts.device) }
  if facts.rank == 0 then
    local ranks = {}
    for r = 0, facts.world - 1 do ranks[r + 1] = tostring(r) end
    for c = 0, facts.channels - 1 do
      lines[#lines + 1] = ("Channel %02d/%02d : %s"):format(c, facts.channels,
                                                            table.concat(ranks, " "))
    end
  end
  lines[#lines + 1] = ("P2P Chunksize set to %d"):format(facts.rdma and 524288 or 131072)
  lines[#lines + 1] = "PROFILER/Plugin: Could not find: libnccl-profiler.so"
  lines[#lines + 1] = ("%d coll channels, %d collnet channels, 0 nvls channels, %d p2p channels, "
    .. "%d p2p channels per peer"):format(facts.channels, facts.channels, facts.channels,
                                          facts.channels)
  return lines
end

local function written(facts, lines)
  local head = ("%s:%d:%d [%d] "):format(facts.host, facts.pid, facts.pid, facts.device)
  local out = {}
  for _, text in ipairs(lines) do
    local warning = text:match "^WARN (.*)$"
    if warning then
      out[#out + 1] = ("\n[%s] %splugin/net.cc:306 NCCL WARN %s"):format(facts.date, head, warning)
    else
      out[#out + 1] = head .. "NCCL INFO " .. text
    end
  end
  return table.concat(out, "\n") .. "\n"
end

--- The NCCL_DEBUG_FILE of one rank. `facts`: rank, world, nodes, gpus (a node), efa (of the pod),
-- rdma (whether the type has GPUDirect RDMA), type, channels, host, pid, device, ip, date, env,
-- plugin (whether one is there), seed, job.
function M.log(way, facts)
  facts.comm = "5" .. chance.hex(11, facts.seed, facts.job, "comm", facts.rank)
  facts.comm_id = chance.hex(16, facts.seed, facts.job, "comm id")
  facts.bus = ("%x000"):format(0x30 + facts.device * 2)
  local lines = { "cudaDriverVersion 13000", "NCCL version " .. M.VERSIONS.nccl .. "+cuda13.0" }
  local function add_all(list)
    for _, text in ipairs(list) do lines[#lines + 1] = text end
  end
  if facts.env.NCCL_SOCKET_IFNAME then
    add_all { "NCCL_SOCKET_IFNAME set by environment to " .. facts.env.NCCL_SOCKET_IFNAME,
              ("Bootstrap: Using eth0:%s<0>"):format(facts.ip) }
  end
  add_all(network_lines(way, facts))
  if way == "refused" or way == "blocked" then return written(facts, lines) end
  add_all { comm_lines(facts, "START") }
  add_all(topology_lines(facts))
  add_all { comm_lines(facts, "COMPLETE") }
  add_all(channel_lines(way, facts))
  add_all { ("Connected all rings, use ring PXN 0 GDR %d"):format(facts.rdma and way == "efa"
                                                                  and 1 or 0) }
  return written(facts, lines)
end

return M
