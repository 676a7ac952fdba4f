--- The files that nobody wrote: what the kernel, Ray and NCCL show in a pod now.

local chance = require "rtl.rehearse.chance"
local clock = require "rtl.clock"
local jobs = require "rtl.rehearse.ray.jobs"
local json = require "rtl.native.json"
local nccl = require "rtl.rehearse.ray.nccl"

local M = {}

-- ---- counters ----

-- Bytes that a node's jobs sent over EFA and over Ethernet so far.
local function traffic(kube, node)
  local efa, ethernet = 0, 0
  jobs.each(kube, function (job)
    for i = 1, job.nodes do
      local worker = job.workers[i]
      if worker and worker.spec.nodeName == node then
        local moved = jobs.bytes_moved(kube, job)
        if job.way == "efa" then
          efa, ethernet = efa + moved, ethernet + moved // 2000
        else
          ethernet = ethernet + moved
        end
      end
    end
  end)
  return efa, ethernet
end

local function device_name(i)
  return ("rdmap%ds%d"):format((i - 1) // 8 * 16, 27 + (i - 1) % 8)
end

local function value(number)
  return ("%d\n"):format(number)
end

local function efa_files(kube, machine, out, in_pod)
  local sent = traffic(kube, machine.host_name)
  for i = 1, machine.efa do
    local base = "/sys/class/infiniband/" .. device_name(i)
    local share = sent // machine.efa
    local idle = chance.hash(kube.world.seed, machine.id, "idle", i) >> 44
    out[base .. "/ports/1/state"] = "4: ACTIVE\n"
    out[base .. "/node_guid"] = "0600:0000:0000:0000\n"
    if not in_pod then
      local counters = base .. "/ports/1/hw_counters/"
      local bytes = math.floor(share * 1.034) + idle
      local verbs = machine.rdma and "rdma_write" or "send"
      out[counters .. "tx_bytes"], out[counters .. "rx_bytes"] = value(bytes), value(bytes)
      out[counters .. "tx_pkts"] = value(bytes // 4096)
      out[counters .. "rx_pkts"] = value(bytes // 4096)
      out[counters .. "send_bytes"] = value(verbs == "send" and share or idle)
      out[counters .. "recv_bytes"] = value(verbs == "send" and share or idle)
      out[counters .. "rdma_read_bytes"], out[counters .. "rdma_read_resp_bytes"] = "0\n", "0\n"
      out[counters .. "rdma_write_bytes"] = value(verbs == "rdma_write" and share or 0)
      out[counters .. "rdma_write_recv_bytes"] = value(verbs == "rdma_write" and share or 0)
      out[counters .. "retrans_bytes"] = "0\n"
    end
  end
end

-- The Ethernet of a node grows a little all the time: images, logs, the control plane.
local function ethernet_bytes(kube, machine)
  local _, sent = traffic(kube, machine.host_name)
  local idle = (kube.world:second() - 1796119200) * 2100
  return sent + idle + (chance.hash(kube.world.seed, machine.id, "ethernet") >> 40)
end

local function ethernet_files(out, interface, bytes, physical)
  local base = "/sys/class/net/" .. interface
  if physical then out[base .. "/device/vendor"] = "0x1d0f\n" end
  out[base .. "/statistics/tx_bytes"] = value(bytes)
  out[base .. "/statistics/rx_bytes"] = value(bytes + bytes // 3)
end

local function kernel_files(kube, pod, out)
  local machine = kube.machines[pod.spec.nodeName or ""]
  if not machine then return end
  ethernet_files(out, "lo", 1024, false)
  if pod.spec.hostNetwork then
    efa_files(kube, machine, out, false)
    ethernet_files(out, "ens5", ethernet_bytes(kube, machine), true)
  else
    efa_files(kube, machine, out, true)
    ethernet_files(out, "eth0", ethernet_bytes(kube, machine) // 2, false)
  end
end

-- ---- Ray and NCCL ----

local function facts_of(kube, job, pod, index, device)
  local rank = (index - 1) * job.gpus + device
  return { rank = rank, world = job.world, nodes = job.nodes, gpus = job.gpus, efa = job.efa,
    rdma = job.rdma, type = job.type, channels = job.rdma and job.gpus or 2,
    host = pod.metadata.name, pid = 1400 + device * 7, device = device, ip = pod.status.podIP,
    date = clock.iso(math.floor(job.begun + job.init_at)):sub(1, 19):gsub("T", " "),
    env = job.full_env, plugin = nccl.has_plugin(kube), seed = kube.world.seed, job = job.id }
end

local WATCHED = { "^NCCL_", "^FI_", "^OFI_", "^TORCH_NCCL_" }

local function watched_env(env)
  local out = {}
  for name, text in pairs(env) do
    for _, pattern in ipairs(WATCHED) do
      if name:find(pattern) then out[name] = text end
    end
  end
  return out
end

local function log_path(env, facts)
  local pattern = env.NCCL_DEBUG_FILE
  return pattern and (pattern:gsub("%%h", (facts.host:gsub("%%", "%%%%")))
                      :gsub("%%p", tostring(facts.pid)))
end

local function rank_files(kube, job, pod, index, out)
  for device = 0, job.gpus - 1 do
    local facts = facts_of(kube, job, pod, index, device)
    if facts.rank < job.world then
      local path = log_path(job.full_env, facts)
      if path then out[path] = function () return nccl.log(job.way, facts) end end
      if job.folder and job.way ~= "refused" then
        out[("%s/rank-%d.json"):format(job.folder, facts.rank)] = json.encode { rank = facts.rank,
          host = facts.host, pid = facts.pid, env = watched_env(job.full_env) }
      end
    end
  end
end

local function job_files(kube, pod, out)
  jobs.each(kube, function (job, head_uid)
    if head_uid == pod.metadata.uid then
      out[("/tmp/ray/session_latest/logs/job-driver-%s.log"):format(job.id)] = function ()
        return jobs.driver_log(kube, job)
      end
    end
    if not jobs.has_init(kube, job) then return end
    for i = 1, job.nodes do
      local worker = job.workers[i]
      if worker and worker.metadata.uid == pod.metadata.uid then
        rank_files(kube, job, pod, i, out)
      end
    end
  end)
end

--- Path → text or function () → text.
function M.files(kube, pod)
  local out = {}
  kernel_files(kube, pod, out)
  job_files(kube, pod, out)
  return out
end

--- What a pod that runs on has logged.
function M.log(kube, pod)
  local name = pod.spec.containers[1].name
  return ('{"level":"info","ts":"%s","logger":"setup","msg":"%s started"}\n')
         :format(pod.status.startTime or kube.store:timestamp(), name)
end

return M
