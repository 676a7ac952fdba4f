--- What the lines of a job's logs say, gathered by process, communicator and edge.
-- An edge is one rank sending to another within a communicator; only those that NCCL carries over
-- a network ("via NET/…") are kept, for P2P, SHM and NVLS say nothing of it.

local causes = require "rtl.nccl.causes"
local lines = require "rtl.nccl.lines"

local M = {}

-- Names under which the AWS plugin has registered itself with NCCL.
local PLUGIN_NETWORKS = { ["Libfabric"] = true, ["AWS Libfabric"] = true, ["OFI"] = true }
M.PLUGIN_NETWORKS = PLUGIN_NETWORKS

local job_mt = { __index = {} }
local Job = job_mt.__index

-- A process is known by host and pid; lines without them belong to their file.
function Job:process(line, file)
  local key = line.pid and (line.host or "?") .. ":" .. line.pid or "file " .. file
  local process = self.processes[key]
  if not process then
    process = { key = key, host = line.host, comms = {}, networks = {}, edges = 0 }
    self.processes[key] = process
    self.process_list[#self.process_list + 1] = process
  end
  return process
end

local function comm_of(process, pointer)
  local comm = process.comms[pointer]
  if not comm then
    comm = { pointer = pointer, order = 0 }
    process.comms[pointer] = comm
    process.comms[#process.comms + 1] = comm
    comm.order = #process.comms
  end
  return comm
end

-- Send lines are printed by the sender, receive lines by the receiver; the communicator is the
-- latest of this process in which it has that rank (the lines themselves do not name it).
local function comm_of_edge(process, rank)
  for i = #process.comms, 1, -1 do
    local comm = process.comms[i]
    if comm.rank == rank and comm.nodes ~= 1 then return comm end
  end
  return nil
end

local function edge_key(comm, src, dst)
  return (comm and comm.id or "?") .. "|" .. src .. "|" .. dst
end

function Job:edge(process, comm, src, dst)
  local key = edge_key(comm, src, dst)
  local edge = self.edges[key]
  if not edge then
    edge = { comm = comm and comm.id or "?", nodes = comm and comm.nodes, src = src, dst = dst,
      ranks = comm and comm.id and comm.ranks, ends = {}, channels = 0 }
    self.edges[key] = edge
    self.edge_list[#self.edge_list + 1] = edge
  end
  edge.nodes = edge.nodes or comm and comm.nodes
  process.edges = process.edges + 1
  return edge
end

local HANDLERS = {
  -- Of two that a process names, the one that is not efa counts.
  { "^NET/OFI Selected [Pp]rovider is ([^%s,]+)(.*)$", function (_, process, provider, rest)
    if not process.provider or process.provider == "efa" then process.provider = provider end
    process.nics = tonumber(rest:match("found (%d+) nics")) or process.nics
  end },
  { "^NET/OFI Initializing aws%-ofi%-nccl (%S+)", function (job, process, version)
    process.plugin_version, job.plugin_version = version, job.plugin_version or version
  end },
  { "^NCCL version (%S+)", function (job, _, version)
    job.nccl_version = job.nccl_version or version
  end },
  { "^Using network (.-)%s*$", function (_, process, network)
    process.network = network
    process.networks[network] = true
  end },
  { "^Initialized NET plugin (.-)%s*$", function (_, process, network)
    if PLUGIN_NETWORKS[network] then process.plugin_up = true end
  end },
  { "^NCCL_HOSTID set by environment to (.-)%.?$", function (_, process, id)
    process.hostid = id
  end },
  { "comm (0x%x+) rank (%d+) nranks (%d+) .*commId (0x%x+) %- Init (%u+)",
    function (_, process, pointer, rank, ranks, id, phase)
      local comm = comm_of(process, pointer)
      comm.rank, comm.ranks, comm.id = tonumber(rank), tonumber(ranks), id
      if phase == "START" then comm.started = true else comm.complete = true end
    end },
  { "^comm (0x%x+) rank (%d+) nRanks (%d+) nNodes (%d+) localRanks (%d+)",
    function (_, process, pointer, rank, ranks, nodes, local_ranks)
      local comm = comm_of(process, pointer)
      comm.rank, comm.ranks, comm.nodes = tonumber(rank), tonumber(ranks), tonumber(nodes)
      comm.local_ranks = tonumber(local_ranks)
    end },
  { "^Channel [%d/]+ : (%d+)%[[^%]]*%] %-> (%d+)%[[^%]]*%] %[(%a+)%] via NET/(.-)/(%d+)(.*)$",
    function (job, process, src, dst, side, network, nic, rest)
      src, dst = tonumber(src), tonumber(dst)
      local comm = comm_of_edge(process, side == "send" and src or dst)
      local edge = job:edge(process, comm, src, dst)
      edge.channels = edge.channels + 1
      edge.ends[#edge.ends + 1] = { side = side, network = network, nic = nic, process = process,
        gdr = rest:find("GDRDMA", 1, true) ~= nil }
      return true
    end },
  { "^Connected all ", function (_, process) process.connected = true end },
}

-- Lines that a reader wants to see as proof; the first of each sort is kept.
local TELLING = {
  { "provider", "Selected [Pp]rovider is" },
  { "network", "^Using network" },
  { "connected", "^Connected all" },
}

function Job:keep_evidence(sort, line, file, number)
  if self.evidence[sort] then return end
  local item = { sort = sort, file = file, line = number, text = line.message }
  self.evidence[sort] = item
  self.evidence[#self.evidence + 1] = item
end

function Job:note_cause(line, process, file, number)
  local cause, conditional = causes.of(line.message)
  if not cause then return end
  cause.process, cause.conditional = process, conditional
  cause.evidence = { file = file, line = number, text = line.message }
  self.causes[#self.causes + 1] = cause
end

local function captures(message, pattern)
  local found = table.pack(message:match(pattern))
  return found[1] ~= nil, found
end

function Job:take(line, file, number)
  local process = self:process(line, file)
  self.lines = self.lines + 1
  if line.level == "INFO" then self.info = self.info + 1 end
  if line.repeated then self.partial = true end
  for _, handler in ipairs(HANDLERS) do
    local hit, found = captures(line.message, handler[1])
    if hit then
      local is_edge = handler[2](self, process, table.unpack(found, 1, found.n))
      if is_edge then
        self:keep_evidence("via " .. (line.message:match("via (NET/.-)/%d") or "NET"), line, file,
          number)
      end
      break
    end
  end
  -- Most lines of a log; they name neither a provider nor a cause.
  if line.message:find("^Channel %d") then return end
  for _, sort in ipairs(TELLING) do
    if line.message:find(sort[2]) then self:keep_evidence(sort[1], line, file, number) end
  end
  self:note_cause(line, process, file, number)
end

--- Reads the files of one job.
-- `files`: array of {name, text}. Returns a job: processes, process_list, edges (by key), edge_list
-- (in order of appearance), causes, evidence, lines and info (counts of NCCL lines), partial
-- (whether lines were merged by Ray), nccl_version, plugin_version.
function M.read(files)
  local job = setmetatable({ processes = {}, process_list = {}, edges = {}, edge_list = {},
    causes = {}, evidence = {}, lines = 0, info = 0, partial = false }, job_mt)
  for _, file in ipairs(files) do
    local number = 0
    for text in (file.text .. "\n"):gmatch("(.-)\n") do
      number = number + 1
      local line = text:find("NCCL", 1, true) and lines.parse(text)
        or text:find("libfabric:", 1, true) and lines.parse(text)
      if line then job:take(line, file.name, number) end
    end
  end
  return job
end

return M
