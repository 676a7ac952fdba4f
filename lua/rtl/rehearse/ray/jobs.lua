--- Ray jobs: what happens to a submitted job over virtual time. The script is not run; what is
-- played is a training loop that sums a tensor over all GPUs in each step, with the settings in
-- RTL_JOB, as recipes/train/job.py does.

local array = require "rtl.array"
local clock = require "rtl.clock"
local json = require "rtl.native.json"
local nccl = require "rtl.rehearse.ray.nccl"
local pods = require "rtl.rehearse.kube.pods"
local quantity = require "rtl.rehearse.kube.quantity"
local types = require "rtl.rehearse.aws.types"

local M = {}

local function jobs_of(kube, head)
  local uid = head.metadata.uid
  if not kube.jobs[uid] then kube.jobs[uid] = { by_id = {}, order = {} } end
  return kube.jobs[uid]
end

local function gpus_of(pod)
  local limits = (pod.spec.containers[1].resources or {}).limits or {}
  return math.tointeger(quantity.value(limits["nvidia.com/gpu"] or 0)) or 0,
         math.tointeger(quantity.value(limits["vpc.amazonaws.com/efa"] or 0)) or 0
end

-- The ready workers of the head's cluster, by name.
local function workers_of(kube, head)
  local name, list = head.metadata.labels["ray.io/cluster"], {}
  for _, pod in ipairs(kube.store:list(kube.pods, head.metadata.namespace)) do
    local labels = pod.metadata.labels or {}
    if labels["ray.io/cluster"] == name and labels["ray.io/node-type"] == "worker"
      and pods.ready(pod) then
      list[#list + 1] = pod
    end
  end
  return list
end

local function container_env(pod, more)
  local env = {}
  for _, entry in ipairs(pod.spec.containers[1].env or {}) do env[entry.name] = entry.value end
  for name, value in pairs(more or {}) do env[name] = value end
  return env
end

local START, INIT, AFTER = 2.4, 21, 3.5 -- s: until it runs, until NCCL is up, from last step to end
local LOST = 1.4                        -- s until a refused network has failed the job

-- Seconds of one step: the ring moves the tensor nearly twice through the slowest link.
local function step_seconds(job)
  local bytes = 2 * (job.world - 1) / job.world * job.mib * 1048576
  local gbit = job.way == "efa" and job.gbit * 0.8 or math.min(job.gbit, 40) * 0.3
  return bytes / (gbit / 8 * 1e9) + 0.04
end

-- A script that fails by itself after two steps, and one that hangs in the second.
local function weather_of(kube, job)
  local failing = kube.world:strikes "failing-job"
  if failing then
    job.ends_at, job.result = job.init_at + 2 * job.step, "FAILED"
    job.exit_code = failing.code
  elseif kube.world:strikes "stuck-job" then
    job.ends_at, job.steps, job.stuck = math.huge, 1, true
  end
end

local function plan(kube, job)
  local spread = kube.world:spread(0.9, 1.15, "job", job.id)
  job.running_at = START * spread
  job.init_at = job.running_at + INIT * spread
  if job.way == "refused" or job.way == "blocked" then
    job.ends_at, job.result = job.init_at + LOST, "FAILED"
  elseif job.workers[1] == nil or job.world > job.slots then
    job.ends_at, job.result = math.huge, nil
  else
    job.step = step_seconds(job)
    job.ends_at = job.init_at + (job.steps + 1) * job.step + AFTER
    job.result = "SUCCEEDED"
    weather_of(kube, job)
  end
end

local function read_config(env)
  local config = env.RTL_JOB and json.decode(env.RTL_JOB) or {}
  return type(config) == "table" and config or {}
end

local function describe(kube, job)
  local first = job.workers[1]
  job.gpus, job.efa = 0, 0
  if first then
    job.gpus, job.efa = gpus_of(first)
    local machine = kube.machines[first.spec.nodeName]
    local kind = machine and types.of(machine.type)
    job.type, job.gbit = machine and machine.type or "?", kind and kind.gbit or 10
    job.rdma = job.type:find "^p%d" ~= nil and job.type ~= "p5.4xlarge"
  end
  job.slots = job.gpus * #job.workers
  local config = read_config(job.env)
  job.steps, job.mib, job.folder = config.steps or 5, config.mib or 64, config.dir
  job.world = config.workers or math.max(job.slots, 1)
  job.nodes = job.gpus > 0 and math.min(#job.workers, -(-job.world // job.gpus)) or 1
  job.full_env = first and container_env(first, job.env) or job.env
  job.way = first and nccl.way(kube, job.full_env, first) or "socket"
end

--- Submits a job: returns it, or nil and why Ray refuses.
function M.submit(kube, head, id, entrypoint, runtime, folder)
  local jobs = jobs_of(kube, head)
  if jobs.by_id[id] then
    return nil, ("RuntimeError: Request failed with status code 500: Job with submission_id %s "
                 .. "already exists. Please use a different submission_id."):format(id)
  end
  for name, value in pairs(runtime.env_vars or {}) do
    if type(value) ~= "string" then
      return nil, ("TypeError: runtime_env['env_vars'] values must be strings (%s)"):format(name)
    end
  end
  local job = { id = id, entrypoint = table.concat(entrypoint, " "), env = runtime.env_vars or {},
                runtime = runtime, folder_of_code = folder, begun = kube.world:now(),
                workers = workers_of(kube, head), head = head }
  describe(kube, job)
  plan(kube, job)
  jobs.by_id[id] = job
  jobs.order[#jobs.order + 1] = id
  kube.world:touch()
  return job
end

--- A pod has ended or gone: what runs on it as a worker fails with it.
function M.pod_lost(kube, uid)
  M.each(kube, function (job)
    local t = kube.world:now() - job.begun
    if job.stopped_at or t >= job.ends_at then return end
    for _, worker in ipairs(job.workers) do
      if worker.metadata.uid == uid then
        job.ends_at, job.result, job.lost, job.lines = t + LOST, "FAILED", worker, nil
      end
    end
  end)
end

--- The job of a head pod with that id, or nil.
function M.find(kube, head, id)
  return jobs_of(kube, head).by_id[id or ""]
end

local function elapsed(kube, job)
  return (job.stopped_at or kube.world:now()) - job.begun
end

--- Its status now.
function M.state(kube, job)
  local t = elapsed(kube, job)
  if t >= job.ends_at then return job.result end
  if job.stopped_at then return "STOPPED" end
  return t >= job.running_at and "RUNNING" or "PENDING"
end

--- Steps that are done now, the first one (which only connects) included.
function M.steps_done(kube, job)
  local t = elapsed(kube, job)
  if not job.step or t < job.init_at then return 0 end
  return math.min(job.steps + 1, math.floor((t - job.init_at) / job.step))
end

--- Whether its processes have set up NCCL.
function M.has_init(kube, job)
  return job.slots > 0 and elapsed(kube, job) >= job.init_at
end

--- Bytes that each node has sent to others so far.
function M.bytes_moved(kube, job)
  if job.nodes < 2 then return 0 end
  local each = 2 * (job.world - 1) / job.world * job.mib * 1048576
  return math.floor(M.steps_done(kube, job) * each)
end

local function stamp(job, t)
  local at = job.begun + t
  return clock.iso(math.floor(at)):sub(1, 19):gsub("T", " ") .. (",%03d")
    :format(math.floor(at % 1 * 1000))
end

local function driver_lines(job)
  local lines = {}
  local function say(t, text) lines[#lines + 1] = { t, text } end
  say(job.running_at + 1.8, stamp(job, job.running_at + 1.8) .. "\tINFO worker.py:1696 -- Using "
      .. "address 127.0.0.1:6379 set in the environment variable RAY_ADDRESS")
  say(job.running_at + 1.9, stamp(job, job.running_at + 1.9) .. "\tINFO worker.py:1837 -- "
      .. "Connecting to existing Ray cluster at address: " .. tostring(job.head.status.podIP)
      .. ":6379...")
  say(job.running_at + 6, ("(TrainController pid=812) Attempting to start training worker group of "
      .. "size %d with the following resources: [{'CPU': 1, 'GPU': 1}] * %d"):format(job.world,
                                                                                   job.world))
  if job.way == "blocked" then
    say(job.init_at + LOST * 0.8, "(TrainController pid=812) torch.distributed."
        .. "DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, remote process exited or "
        .. "there was a network error, NCCL version " .. nccl.VERSIONS.nccl)
    say(job.init_at + LOST, "ray.train.WorkerGroupError: Training failed due to worker errors")
    return lines
  end
  if job.way == "refused" then
    say(job.init_at + LOST * 0.8, "(TrainController pid=812) torch.distributed."
        .. "DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, invalid usage (run with "
        .. "NCCL_DEBUG=WARN for details), NCCL version " .. nccl.VERSIONS.nccl)
    say(job.init_at + LOST * 0.9, "ncclInvalidUsage: This usually reflects invalid usage of NCCL "
        .. "library.\nLast error:\nFailed to initialize any NET plugin")
    say(job.init_at + LOST, "ray.train.WorkerGroupError: Training failed due to worker errors")
    return lines
  end
  if not job.step then return lines end
  say(job.init_at, ("(TrainController pid=812) Started training worker group of size %d")
                   :format(job.world))
  for i = 1, job.steps do
    say(job.init_at + (i + 1) * job.step, ("step %d of %d"):format(i, job.steps))
  end
  if job.lost then
    say(job.ends_at - 0.2, ("(TrainController pid=812) A worker node has died: %s")
      :format(job.lost.metadata.name))
    say(job.ends_at - 0.1, "ray.train.WorkerGroupError: Training failed due to worker errors")
    return lines
  end
  if job.stuck or job.exit_code then
    if job.exit_code then say(job.ends_at - 0.1, "RuntimeError: the script ends by itself") end
    return lines
  end
  say(job.ends_at - 0.2, ('RTL-RESULT {"backend": "nccl", "bytes_per_node": %d, "nodes": %d, "ok": '
      .. 'true, "seconds": %.3f, "steps": %d, "world_size": %d}'):format(
      (job.steps + 1) * job.mib * 1048576, job.nodes, job.steps * job.step, job.steps, job.world))
  return lines
end

--- The driver's log as it is now.
function M.driver_log(kube, job)
  job.lines = job.lines or driver_lines(job)
  local t, out = elapsed(kube, job), {}
  for _, line in ipairs(job.lines) do
    if line[1] <= t then out[#out + 1] = line[2] .. "\n" end
  end
  return table.concat(out)
end

--- The jobs of all heads of a cluster.
function M.each(kube, visit)
  local heads = {}
  for uid in pairs(kube.jobs) do heads[#heads + 1] = uid end
  table.sort(heads)
  for _, uid in ipairs(heads) do
    for _, id in ipairs(kube.jobs[uid].order) do visit(kube.jobs[uid].by_id[id], uid) end
  end
end

-- ---- Ray's HTTP API ----

local function milliseconds(job, t)
  return math.floor((job.begun + t) * 1000)
end

local function info_of(kube, job)
  local null = require "rtl.null"
  local state = M.state(kube, job)
  local over = state == "SUCCEEDED" or state == "FAILED" or state == "STOPPED"
  local code = state == "SUCCEEDED" and 0 or state == "FAILED" and (job.exit_code or 1) or nil
  local messages = { PENDING = "Job has not started yet. It may be waiting for resources.",
    RUNNING = "Job is currently running.", SUCCEEDED = "Job finished successfully.",
    STOPPED = "Job was intentionally stopped.",
    FAILED = ("Job entrypoint command failed with exit code %d, last available logs (truncated to "
      .. "20,000 chars):\n"):format(job.exit_code or 1) .. M.driver_log(kube, job) }
  return { type = "SUBMISSION", job_id = "02000000", submission_id = job.id, status = state,
           entrypoint = job.entrypoint, message = messages[state], error_type = null,
           start_time = milliseconds(job, 0), runtime_env = job.runtime, metadata = {},
           end_time = over and milliseconds(job, math.min(elapsed(kube, job), job.ends_at)) or null,
           driver_exit_code = code or null, driver_info = null }
end

local function node_rows(kube, head)
  local rows = array {}
  local function add(pod, is_head)
    local gpus = gpus_of(pod)
    rows[#rows + 1] = { node_id = pod.metadata.uid:gsub("%-", ""), node_ip = pod.status.podIP,
      is_head_node = is_head, state = "ALIVE", node_name = pod.status.podIP,
      resources_total = { GPU = gpus > 0 and gpus + 0.0 or nil, CPU = is_head and 3.0 or 40.0 } }
  end
  add(head, true)
  for _, pod in ipairs(workers_of(kube, head)) do add(pod, false) end
  return rows
end

local function list_jobs(kube, head)
  local list = array {}
  local jobs = jobs_of(kube, head)
  for i, id in ipairs(jobs.order) do list[i] = info_of(kube, jobs.by_id[id]) end
  return 200, json.encode(list)
end

local function stop(kube, job)
  if M.state(kube, job) == "PENDING" or M.state(kube, job) == "RUNNING" then
    job.stopped_at = kube.world:now()
    kube.world:touch()
    return 200, '{"stopped": true}'
  end
  return 200, '{"stopped": false}'
end

--- Answers a request to the dashboard's port: status and body.
function M.http(kube, head, method, path)
  local bare = path:match "^[^?]*"
  if bare == "/api/version" then
    return 200, json.encode { version = "4", ray_version = nccl.VERSIONS.ray,
                              ray_commit = "0123456789abcdef", session_name = "session_latest" }
  elseif bare == "/api/jobs/" and method == "GET" then
    return list_jobs(kube, head)
  elseif bare == "/api/v0/nodes" then
    local rows = node_rows(kube, head)
    return 200, json.encode { result = true, msg = "", data = { result = { total = #rows,
      num_after_truncation = #rows, num_filtered = #rows, result = rows } } }
  end
  local id, rest = bare:match "^/api/jobs/([^/]+)(.*)$"
  local job = id and M.find(kube, head, id)
  if not id then return 404, "404: Not Found" end
  if not job then return 404, ("Job %s does not exist"):format(id) end
  if rest == "/stop" and method == "POST" then return stop(kube, job) end
  if rest == "/logs" then return 200, json.encode { logs = M.driver_log(kube, job) } end
  return 200, json.encode(info_of(kube, job))
end

return M
