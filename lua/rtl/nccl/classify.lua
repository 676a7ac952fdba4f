--- The verdict that the logs of a job support.
-- Order of judgement: facts of the NCCL and aws-ofi-nccl sources, and 78 logs of real runs in
-- test/vectors/nccl. Channel lines between nodes decide; "Loaded net plugin", the provider line and
-- "NET/Socket : Using" alone do not, since each of them also occurs in runs that took another path.

local job_reader = require "rtl.nccl.job"

local M = {}

-- What carries an end of an edge: the network's name, and for the plugin its libfabric provider.
local function kind_of(network, provider)
  if network == "Socket" then return "TCP" end
  if not job_reader.PLUGIN_NETWORKS[network] then return "OTHER" end
  if not provider then return "UNKNOWN" end
  if provider == "efa" then return "EFA" end
  if provider:match("^tcp") or provider:match("^sockets") or provider:match("^udp") then
    return "TCP"
  end
  return "OTHER"
end

-- The provider that all processes with a provider line agree on; nil where they differ.
local function common_provider(job)
  local common
  for _, process in ipairs(job.process_list) do
    if process.provider then
      if common and common ~= process.provider then return nil end
      common = process.provider
    end
  end
  return common
end

-- The process of each rank: "COMM|RANK" → process; and how many ranks of each communicator spoke.
local function rank_processes(job)
  local processes, heard = {}, {}
  for _, process in ipairs(job.process_list) do
    for _, comm in ipairs(process.comms) do
      local key = comm.id and comm.rank and comm.id .. "|" .. comm.rank
      if key and not processes[key] then
        processes[key], heard[comm.id] = process, (heard[comm.id] or 0) + 1
      end
    end
  end
  return processes, heard
end

-- An end whose own channel lines are missing still says which network its process took.
local function judge_edges(job)
  local fallback, ranks = common_provider(job), rank_processes(job)
  for _, edge in ipairs(job.edge_list) do
    edge.kinds, edge.networks = {}, {}
    for _, e in ipairs(edge.ends) do
      local kind = kind_of(e.network, e.process.provider or fallback)
      edge.kinds[kind] = (edge.kinds[kind] or 0) + 1
      edge.networks[e.network] = true
    end
    for _, rank in ipairs { edge.src, edge.dst } do
      local process = ranks[edge.comm .. "|" .. rank]
      for network in pairs(process and process.networks or {}) do edge.networks[network] = true end
    end
  end
end

local function count(set)
  local n = 0
  for _ in pairs(set) do n = n + 1 end
  return n
end

-- Whether every rank of an edge's communicator has said something. Ray's merged lines leave out
-- what other ranks said alike; then it can't be asked.
local function all_heard(job, edge, heard)
  return job.partial or not edge.ranks or (heard[edge.comm] or 0) >= edge.ranks
end

-- The communicator that does not show an edge into and one out of each of its nodes, or has a rank
-- that said nothing; nil where all is seen.
local function uncovered(job)
  local ranks, heard = rank_processes(job)
  local seen = {}
  -- Which node a rank lives on, by its own log. The silent may all share one.
  local function node(comm, rank)
    local process = ranks[comm .. "|" .. rank]
    return process and (process.hostid or process.host) or "?"
  end
  for _, edge in ipairs(job.edge_list) do
    local comm = seen[edge.comm] or { out = {}, into = {}, nodes = edge.nodes, id = edge.comm }
    if not seen[edge.comm] then
      seen[edge.comm] = comm
      seen[#seen + 1] = comm
    end
    edge.src_node, edge.dst_node = node(edge.comm, edge.src), node(edge.comm, edge.dst)
    comm.out[edge.src_node], comm.into[edge.dst_node] = true, true
    if not all_heard(job, edge, heard) then return comm end
  end
  for _, comm in ipairs(seen) do
    local wanted = comm.nodes or 2
    if count(comm.out) < wanted or count(comm.into) < wanted then return comm end
  end
  return nil
end

local function cause(class, code)
  return { class = class, code = code }
end

-- Causes in the order in which they were said; those that also occur in runs that end well count
-- only where this process' plugin did not come up.
local function causes_of(job, opts)
  local list = {}
  for _, c in ipairs(job.causes) do
    if not (c.conditional and c.process.plugin_up) then
      local class = c.class
      if class == "EFA_DEVICES_NOT_IN_POD" and opts.pod_has_efa ~= false then
        class = "NO_PROVIDER"
      elseif class == "PLUGIN_NOT_FOUND" and opts.plugin_files and #opts.plugin_files > 0 then
        class = "PLUGIN_NAME_MISMATCH"
      end
      list[#list + 1] = { class = class, code = c.code, evidence = c.evidence }
    end
  end
  return list
end

local function has_class(list, classes)
  for _, c in ipairs(list) do
    if classes[c.class] then return true end
  end
  return false
end

-- These stop initialisation whatever the network; they are the cause even if others came first.
local FATAL = { DUPLICATE_GPU = true, NO_INTERFACE = true, CUDA_FAILED = true,
  VERSION_MISMATCH = true }
local REFUSED = { PIN_REFUSED = true, DUPLICATE_GPU = true, NO_INTERFACE = true,
  CUDA_FAILED = true, VERSION_MISMATCH = true }

-- Facts about communicators: the most nodes, whether any did not say how many it has, whether any
-- began and never came up.
local function shape(job)
  local most, seen, unknown, unfinished, plugin_up = 0, false, false, false, false
  for _, process in ipairs(job.process_list) do
    plugin_up = plugin_up or process.plugin_up or false
    for _, comm in ipairs(process.comms) do
      seen = seen or comm.nodes ~= nil
      unknown = unknown or not comm.nodes and (comm.ranks or 2) > 1
      most = math.max(most, comm.nodes or 0)
      unfinished = unfinished or (comm.started and not comm.complete and not comm.nodes)
    end
  end
  return { nodes = most, seen = seen, unknown = unknown, unfinished = unfinished,
    plugin_up = plugin_up }
end

local function networks_used(job)
  local used = {}
  for _, process in ipairs(job.process_list) do
    if process.network then used[process.network] = process end
  end
  return used
end

local function first_network(job)
  for _, process in ipairs(job.process_list) do
    if process.network then return process.network end
  end
  return nil
end

-- Whether hosts that each have a communicator of one node only ran one job: they are several jobs
-- then, of which none had anything to do with the other.
local function apart(job)
  local hosts = {}
  for _, process in ipairs(job.process_list) do
    if #process.comms > 0 and process.host then hosts[process.host] = true end
  end
  return count(hosts) > 1
end

local function without_edges(job, causes)
  local facts = shape(job)
  if has_class(causes, REFUSED) then return "UNKNOWN" end
  if facts.nodes == 1 and apart(job) then
    return "UNKNOWN", cause("EDGES_NOT_SEEN", "RTL-NCCL-020")
  end
  if facts.seen and facts.nodes == 1 and not facts.unknown then return "NOT_APPLICABLE" end
  if facts.unfinished then
    return "UNKNOWN", cause("INIT_UNFINISHED", "RTL-NCCL-017")
  end
  local used = networks_used(job)
  if count(used) == 1 then
    local network, process = next(used)
    local kind = kind_of(network, process.provider or common_provider(job))
    if kind == "TCP" then return "TCP", nil, true end
    if kind == "EFA" then return "UNKNOWN", cause("NOT_CONNECTED", "RTL-NCCL-027") end
  end
  return "UNKNOWN", count(used) == 0 and cause("NO_TRANSPORT_LINES", "RTL-NCCL-016") or nil
end

-- Of each edge, one end says that its rings or trees connected.
local function connected(job)
  for _, edge in ipairs(job.edge_list) do
    local said = false
    for _, e in ipairs(edge.ends) do said = said or e.process.connected end
    if not said then return false end
  end
  return true
end

-- A process of a communicator over several nodes that took something else than EFA, though no edge
-- of its own is in the log.
local function other_way(job)
  for _, process in ipairs(job.process_list) do
    local far = false
    for _, comm in ipairs(process.comms) do far = far or comm.nodes ~= 1 end
    for network in pairs(far and process.networks or {}) do
      if kind_of(network, process.provider or "efa") ~= "EFA" then return true end
    end
  end
  return false
end

local function efa_verdict(job, opts, gap)
  if other_way(job) then return "MIXED", cause("ENDS_DIFFER", "RTL-NCCL-018") end
  if gap then return "UNKNOWN", cause("EDGES_NOT_SEEN", "RTL-NCCL-020") end
  if not connected(job) then return "UNKNOWN", cause("NOT_CONNECTED", "RTL-NCCL-027") end
  for _, process in ipairs(job.process_list) do
    if opts.nics and process.nics and process.nics < opts.nics then
      return "DEGRADED", cause("EFA_PARTIAL", "RTL-NCCL-019")
    end
  end
  return "EFA"
end

local function tcp_cause(job)
  for _, edge in ipairs(job.edge_list) do
    if not edge.networks.Socket then return cause("PROVIDER_NOT_EFA", "RTL-NCCL-004") end
  end
  if shape(job).plugin_up then return cause("NET_PINNED_TO_SOCKET", "RTL-NCCL-005") end
  return nil
end

local function with_edges(job, opts)
  judge_edges(job)
  local gap = uncovered(job)
  local kinds = {}
  for _, edge in ipairs(job.edge_list) do
    if count(edge.networks) > 1 then return "MIXED", cause("ENDS_DIFFER", "RTL-NCCL-018") end
    for kind in pairs(edge.kinds) do kinds[kind] = true end
  end
  if count(kinds) > 1 then
    local known = kinds.EFA and kinds.TCP or kinds.OTHER
    return known and "MIXED" or "UNKNOWN", cause("ENDS_DIFFER", "RTL-NCCL-018")
  end
  local kind = next(kinds)
  if kind == "EFA" then return efa_verdict(job, opts, gap) end
  if kind == "TCP" then return "TCP", tcp_cause(job) end
  if kind == "OTHER" then return "OTHER", cause("OTHER_NETWORK", "RTL-NCCL-028") end
  return "UNKNOWN", cause("NO_PROVIDER_LINE", "RTL-NCCL-016")
end

local function first_cause(causes, verdict)
  if verdict == "DEGRADED" then return nil end
  for _, c in ipairs(causes) do
    if verdict == "UNKNOWN" and FATAL[c.class] then return c end
  end
  return causes[1]
end

local function edges_for_reader(job)
  local list = {}
  for _, edge in ipairs(job.edge_list) do
    list[#list + 1] = { comm = edge.comm, src = edge.src, dst = edge.dst, src_node = edge.src_node,
      dst_node = edge.dst_node, kinds = edge.kinds, networks = edge.networks,
      channels = edge.channels }
  end
  return list
end

local function any_gdr(job)
  for _, edge in ipairs(job.edge_list) do
    for _, e in ipairs(edge.ends) do
      if e.gdr then return true end
    end
  end
  return false
end

--- Judges the logs of one job.
-- `files`: array of {name = string, text = string}, one per rank at best. `opts` (optional): nics
-- (EFA devices a pod should have), pod_has_efa (false: the pod did not ask for any), plugin_files
-- (network plugin files found in the image).
-- Returns a table: verdict ("EFA", "DEGRADED", "TCP", "OTHER", "MIXED", "UNKNOWN" or
-- "NOT_APPLICABLE"), weak (true where only hints spoke), cause ({class, code, evidence} or nil),
-- causes, evidence (array of {file, line, text}), edges, provider, network, nccl_version,
-- plugin_version, gdr, partial, lines (NCCL lines read), nodes (the most of a communicator; 0 where
-- none said it).
function M.classify(files, opts)
  opts = opts or {}
  local job = job_reader.read(files)
  local causes = causes_of(job, opts)
  local verdict, own_cause, weak
  if job.lines == 0 then
    verdict, own_cause = "UNKNOWN", cause("NO_NCCL_LINES", "RTL-NCCL-016")
  elseif #job.edge_list > 0 then
    verdict, own_cause = with_edges(job, opts)
  else
    verdict, own_cause, weak = without_edges(job, causes)
  end
  local good = verdict == "EFA" or verdict == "NOT_APPLICABLE"
  local first = first_cause(causes, verdict)
  return {
    verdict = verdict, weak = weak or false, partial = job.partial,
    cause = not good and (first or own_cause) or nil, causes = causes,
    evidence = job.evidence, edges = edges_for_reader(job), gdr = any_gdr(job),
    provider = common_provider(job), network = first_network(job),
    nccl_version = job.nccl_version, plugin_version = job.plugin_version, lines = job.lines,
    nodes = shape(job).nodes,
  }
end

return M
