--- A job on the Ray cluster: submitted once, followed to its true end, its NCCL files brought home
-- while it runs, since they die with the pods.

local clock = require "rtl.clock"
local counters = require "rtl.recipe.counters"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local json = require "rtl.native.json"
local nccl = require "rtl.nccl"
local pods = require "rtl.recipe.ray_pods"
local task = require "rtl.task"
local value = require "rtl.recipe.value"
local words = require "rtl.recipe.text"

local M = {}

local COLLECT_EVERY = 15
local FILE_LIMIT = 16 * 1024 * 1024

-- Prints each file of a folder as "NAME SIZE" and then its bytes.
local COLLECT = [[
cd "$1" 2>/dev/null || exit 0
for f in *; do
  [ -f "$f" ] || continue
  n=$(wc -c < "$f")
  [ "$n" -gt "$2" ] && n=$2
  echo "$f" $n
  head -c "$n" "$f"
done]]

--- The folder of a job's NCCL files in each pod.
function M.folder(id)
  return "/tmp/rtl/nccl/" .. id
end

-- ---- what the job is ----

--- What identifies a job: the digest of its script and of the settings that change what it does.
function M.digest(run, script)
  local s = run.settings
  local parts = { script }
  for _, name in ipairs { "steps", "num_workers", "reduce_mib", "pin", "nccl_socket_ifname",
    "nccl_debug", "gpu_count", "gpu_type", "ray_image" } do
    parts[#parts + 1] = name .. "=" .. tostring(s[name])
  end
  return crypto.sha256_hex(table.concat(parts, "\0"))
end

--- The newest job of that digest on the cluster: its id and info (nil when there is none), and the
-- id for a new one. Ids are NAME-DIGEST-N; a job that ended badly is followed by the next N.
function M.find(run, jobs, digest)
  local prefix = ("%s-%s-"):format(run.deployment, digest:sub(1, 8))
  local newest, last = 0, nil
  for _, info in ipairs(assert(jobs:list())) do
    local id = info.submission_id
    local n = id:sub(1, #prefix) == prefix and math.tointeger(tonumber(id:sub(#prefix + 1)))
    if n and n > newest then newest, last = n, info end
  end
  return last and last.submission_id, last, prefix .. newest + 1
end

-- Where a job puts its checkpoints: the deployment's own part of its bucket; nil without one.
local function checkpoints(run)
  local s = run.settings
  local bucket = value.given(s.use_bucket) or value.given(s.bucket)
  if not bucket or not run:has_aws() then return nil end
  return ("s3://%s/%s/"):format(bucket, run.deployment)
end

--- The environment of the job (Ray's runtime environment): NCCL's log level and file, and the pin.
function M.environment(run, id, pin)
  local s = run.settings
  local env = {
    NCCL_DEBUG = s.nccl_debug, NCCL_DEBUG_SUBSYS = "INIT,NET,ENV,GRAPH",
    NCCL_DEBUG_FILE = M.folder(id) .. "/%h.%p.log", RAY_TRAIN_V2_ENABLED = "1",
    NCCL_SOCKET_IFNAME = s.nccl_socket_ifname,
    RTL_JOB = json.encode { id = id, steps = s.steps, mib = s.reduce_mib, dir = M.folder(id),
      workers = s.num_workers > 0 and s.num_workers or run.facts.world },
  }
  if pin then env.NCCL_NET = pin end
  env.RTL_CHECKPOINTS = checkpoints(run)
  return env
end

--- Puts the script into the head pod and submits it. Raises what goes wrong.
function M.submit(run, head, jobs, id, script, env)
  local folder = "/tmp/rtl/" .. id
  assert(assert(run:k8s()):cp_to { namespace = head.metadata.namespace, pod = head.metadata.name,
    container = head.spec.containers[1].name, bytes = script, to = folder .. "/job.py" })
  assert(jobs:submit { id = id, entrypoint = "python3 job.py", working_dir = folder,
    runtime_env = { env_vars = env } })
end

-- ---- its files ----

-- Splits what COLLECT printed: array of {name, text}.
local function unframe(text)
  local files, at = {}, 1
  while at <= #text do
    local name, size, stop = text:match("^([^\n]+) (%d+)\n()", at)
    if not name then break end
    files[#files + 1] = { name = name, text = text:sub(stop, stop + tonumber(size) - 1) }
    at = stop + tonumber(size)
  end
  return files
end

--- Brings the files of job `id` from every worker: array of {name, text, pod, node}, sorted; and
-- the errors of pods that could not be read.
function M.collect(run, id)
  local files, errors = {}, {}
  task.map(pods.list(run, "worker"), function (pod)
    local text, failure = pods.output(run, pod,
      { "sh", "-c", COLLECT, "rtl-collect", M.folder(id), tostring(FILE_LIMIT) })
    if not text then
      errors[#errors + 1] = failure
      return
    end
    for _, file in ipairs(unframe(text)) do
      file.pod, file.node = pod.metadata.name, pod.spec.nodeName
      file.name = pod.metadata.name .. "/" .. file.name
      files[#files + 1] = file
    end
  end, 8)
  table.sort(files, function (a, b) return a.name < b.name end)
  return files, errors
end

-- Newer files win; what an unreachable pod had before is kept.
local function merge(kept, files)
  local by_name = {}
  for _, file in ipairs(kept) do by_name[file.name] = file end
  for _, file in ipairs(files) do by_name[file.name] = file end
  local names, merged = {}, {}
  for name in pairs(by_name) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do merged[i] = by_name[name] end
  return merged
end

-- ---- to the end ----

local function show_log(run, bytes, rest)
  local text = rest .. bytes
  local last = text:match("^.*\n()") or 1
  for line in text:sub(1, last - 1):gmatch("([^\n]*)\n") do
    if not line:match("^RTL%-RESULT ") then run:log(line) end
  end
  return text:sub(last)
end

-- A job that does not end (a hang in NCCL's start, say) is stopped, and what it left is judged.
local function stop(run, jobs, id)
  run:note(("job %s is not at its end after %s: stopping it"):format(id,
    words.elapsed(run.settings.job_timeout)), { sign = "✗" })
  jobs:stop(id)
  local info = jobs:status(id) or {}
  if not info.status or info.status == "RUNNING" or info.status == "PENDING" then
    info.status = "STOPPED"
  end
  return info
end

--- Follows job `id` to its end, showing its log; collects NCCL's files meanwhile and once more at
-- the end. Returns {info, log, files, seconds}. Raises when the end can't be learnt.
function M.follow(run, jobs, id)
  local log, rest, files = {}, "", {}
  local began, ended = clock.mono(), false
  local info, failure
  task.group(function (group)
    local collector = group:spawn(function ()
      while not ended do
        task.sleep(COLLECT_EVERY)
        files = merge(files, (M.collect(run, id)))
      end
    end)
    info, failure = jobs:follow(id, { timeout = run.settings.job_timeout,
      on_bytes = function (bytes)
        log[#log + 1] = bytes
        rest = show_log(run, bytes, rest)
      end })
    ended = true
    collector:cancel("the job has ended")
  end)
  if rest ~= "" then show_log(run, "\n", rest) end
  if failure and failure.code == "RTL-RAY-005" then info = stop(run, jobs, id) end
  if not info then
    error(err.wrap(failure, { doing = "follow job " .. id, message = "its end is not known",
      code = "RTL-STEP-012", hint = "The job may still run: run the same command again" }), 0)
  end
  files = merge(files, (M.collect(run, id)))
  return { info = info, log = table.concat(log), files = files, seconds = clock.mono() - began }
end

--- What the job said of itself in its last line, or an empty table. A script of the operator's may
-- print what it likes: a number of bytes that is none is left out.
function M.result(log)
  local text
  for line in log:gmatch("[^\n]+") do text = line:match("RTL%-RESULT (.*)$") or text end
  local said = text and json.decode(text)
  if type(said) ~= "table" then return {} end
  if math.type(said.bytes_per_node) ~= "integer" then said.bytes_per_node = nil end
  return said
end

--- The names of the nodes that the Ray workers run on, and of those in `more` (a table by node: a
-- worker may be gone at the job's end), sorted.
function M.nodes(run, more)
  local names, seen = {}, {}
  local function add(node)
    if node and not seen[node] then
      seen[node] = true
      names[#names + 1] = node
    end
  end
  for node in pairs(more or {}) do add(node) end
  for _, pod in ipairs(pods.list(run, "worker")) do add(pod.spec.nodeName) end
  table.sort(names)
  return names
end

-- ---- the verdict ----

local function logs_of(files)
  local logs = {}
  for _, file in ipairs(files) do
    if file.name:match("%.log$") then logs[#logs + 1] = { name = file.name, text = file.text } end
  end
  return logs
end

--- The environment of each training process as it noted it: array of {rank, host, pid, env}.
function M.environments(files)
  local ranks = {}
  for _, file in ipairs(files) do
    local note = file.name:match("rank%-%d+%.json$") and json.decode(file.text)
    local whole = type(note) == "table" and math.type(note.rank) == "integer"
    if whole and type(note.env) == "table" then ranks[#ranks + 1] = note end
  end
  table.sort(ranks, function (a, b) return a.rank < b.rank end)
  return ranks
end

-- What decides the transport, in the order of telling.
local DECISIVE = { "FI_PROVIDER", "NCCL_NET_PLUGIN", "NCCL_NET", "NCCL_SOCKET_IFNAME", "NCCL_DEBUG",
  "NCCL_DEBUG_FILE" }

--- Compares the environment that each training process noted with what it should be (`wanted`: name
-- → value). Ray and images may override variables, so only the process itself knows. Returns a
-- sentence, and an array of differences.
function M.check_environment(files, wanted)
  local ranks, wrong = M.environments(files), {}
  for _, rank in ipairs(ranks) do
    for _, name in ipairs(DECISIVE) do
      local have = rank.env[name]
      if have ~= wanted[name] then
        wrong[#wrong + 1] = ("rank %d has %s=%s instead of %s"):format(rank.rank, name,
          have or "(unset)", wanted[name] or "(unset)")
      end
    end
  end
  if #ranks == 0 then return "no training process noted its environment", wrong end
  return ("%d training processes noted their environment: %s"):format(#ranks,
    #wrong == 0 and "as set" or #wrong .. " differences"), wrong
end

--- Joins the witnesses of a job that ended: its NCCL files and the counters before and after.
-- `job`: {files, result, nodes, before, after (node → text)}. Returns what rtl.nccl's join returns.
function M.join(run, job)
  local s = run.settings
  local judged = counters.judge(job.nodes, job.before, job.after, job.result.bytes_per_node)
  local log = nccl.classify(logs_of(job.files), { nics = run.facts.efa })
  return nccl.join { log = log, counters = judged, transport = s.transport, proof = s.proof,
    unused = job.result.backend == "none" }
end

--- Saves what the verdict rests on into the run's record, and remembers the job for later runs.
function M.keep(run, job)
  for _, file in ipairs(job.files) do run:save("nccl/" .. file.name, file.text) end
  run:save("job.log", job.log)
  for _, node in ipairs(job.nodes) do
    run:save(("counters/%s.before"):format(node), job.before[node] or "")
    run:save(("counters/%s.after"):format(node), job.after[node] or "")
  end
  run.record:remember("job", { id = job.id, digest = job.digest, status = job.info.status,
    run = run.id, submitted_by = job.submitted_by, seconds = job.seconds, verdict = job.verdict,
    result = job.result, at = clock.iso(clock.utc()) })
end

return M
