--- Ray jobs, by commands in the head pod: nothing of Ray is exposed, and a job does not hang on a
-- connection. Submitted under an id of our own, followed by the bytes of the driver's log file,
-- judged by Ray's status and the driver's exit code.

local array = require "rtl.array"
local clock = require "rtl.clock"
local err = require "rtl.err"
local json = require "rtl.native.json"
local null = require "rtl.null"
local task = require "rtl.task"

local M = {}

local LOGS = "/tmp/ray/session_latest/logs/"
local PIECE = 1 << 20
local PATIENCE = 10 -- failed looks in a row before following gives up

--- One HTTP request inside the head pod: prints the status, a newline and the body; status 0 means
-- no connection. Python is there because Ray is; Ray's token goes along where the cluster uses
-- tokens.
M.REST_SCRIPT = [[
import os, sys, urllib.error, urllib.request
method, url = sys.argv[1:3]
data = sys.argv[3].encode() if len(sys.argv) > 3 else None
req = urllib.request.Request(url, data=data, method=method)
token = os.environ.get("RAY_AUTH_TOKEN")
path = os.environ.get("RAY_AUTH_TOKEN_PATH") or os.path.expanduser("~/.ray/auth_token")
if not token and os.path.exists(path):
    token = open(path).read().strip()
if token:
    req.add_header("X-Ray-Authorization", "Bearer " + token)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    res = opener.open(req, timeout=30)
    code, body = res.status, res.read()
except urllib.error.HTTPError as e:
    code, body = e.code, e.read()
except OSError as e:
    code, body = 0, str(e).encode()
sys.stdout.buffer.write(b"%d\n" % code + body)
]]

--- Bytes of a file from an offset: arguments FILE OFFSET LIMIT; exit 3 if there is no such file.
M.READ_SCRIPT = [=[[ -f "$1" ] || exit 3; tail -c "+$(($2 + 1))" "$1" | head -c "$3"]=]

local ended = { SUCCEEDED = true, FAILED = true, STOPPED = true }

local Jobs = {}
Jobs.__index = Jobs

--- A handle for jobs. `options`: exec = function (argv, opts) → { code, stdout, stderr } | nil, err
-- (runs a command in the head pod; opts.again: it may be run twice), address
-- ("http://127.0.0.1:8265"), python ("python3").
function M.jobs(options)
  if type(options) ~= "table" or type(options.exec) ~= "function" then
    error("bad argument #1 to 'jobs' (table with exec expected)", 2)
  end
  return setmetatable({ exec = options.exec, address = options.address or "http://127.0.0.1:8265",
    python = options.python or "python3" }, Jobs)
end

-- Ray's HTTP API ------------------------------------------------------------------------------

-- Decoded body, HTTP status; or nil, err.
local function rest(jobs, method, path, doing, body)
  local argv = { jobs.python, "-c", M.REST_SCRIPT, method, jobs.address .. path, body }
  local r, problem = jobs.exec(argv, { again = method == "GET" })
  if not r then return nil, err.wrap(problem, { doing = doing }) end
  local status, text = r.stdout:match("^(%d+)\n(.*)$")
  if r.code ~= 0 or not status then
    return nil, err.new { code = "RTL-RAY-004", doing = doing, message = "the head pod answers: "
      .. (r.stderr:match("([^\n]+)%s*$") or "exit " .. tostring(r.code)) }
  end
  status = math.tointeger(tonumber(status))
  if status == 0 then
    return nil, err.new { code = "RTL-RAY-001", doing = doing, retryable = true,
      message = text:match("[^\n]*") }
  end
  if status >= 400 then
    return nil, err.new { code = status == 404 and "RTL-RAY-003" or "RTL-RAY-001", doing = doing,
      status = status, retryable = status >= 500, message = text:match("([^\n]+)%s*$")
        or "no reason given" }
  end
  local value, bad = json.decode(text)
  if value == nil then
    return nil, err.wrap(bad, { code = "RTL-RAY-004", doing = doing,
      message = "the answer is no JSON" })
  end
  return value, status
end

local function job_path(id) return "/api/jobs/" .. id:gsub("[^%w_.~-]", function (c)
  return ("%%%02X"):format(c:byte())
end) end

local function without_nulls(info)
  for key, value in pairs(info) do
    if value == null then info[key] = nil end
  end
  return info
end

--- What Ray knows of a job: { status = "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "STOPPED",
-- driver_exit_code, message, start_time, end_time (ms), … } | nil, err (RTL-RAY-003: no such job).
function Jobs:status(id)
  local info, problem = rest(self, "GET", job_path(id), "ask for job " .. id)
  if not info then return nil, problem end
  if type(info) ~= "table" or type(info.status) ~= "string" then
    return nil, err.new { code = "RTL-RAY-004", doing = "ask for job " .. id,
      message = "the answer has no status" }
  end
  return without_nulls(info)
end

--- All jobs that were submitted and Ray still knows, in no order: array of what status() gives,
-- each with its `submission_id` | nil, err. Drivers that came without a submission are left out.
function Jobs:list()
  local rows, problem = rest(self, "GET", "/api/jobs/", "list the jobs")
  if not rows then return nil, problem end
  local list = array {}
  for _, info in ipairs(array.is(rows) and rows or {}) do
    if type(info) == "table" and type(info.submission_id) == "string" then
      list[#list + 1] = without_nulls(info)
    end
  end
  if array.is(rows) then return list end
  return nil, err.new { code = "RTL-RAY-004", doing = "list the jobs",
    message = "the answer is no array" }
end

--- Whether a status is one that does not change any more.
function M.is_end(status) return ended[status] == true end

--- Stops a job: true | nil, err.
function Jobs:stop(id)
  local answer, problem = rest(self, "POST", job_path(id) .. "/stop", "stop job " .. id)
  if answer == nil then return nil, problem end
  return true
end

--- The nodes that are alive, as Ray's state API describes them | nil, err.
function Jobs:nodes()
  local answer, problem = rest(self, "GET", "/api/v0/nodes?detail=1", "list Ray's nodes")
  if not answer then return nil, problem end
  local data = type(answer.data) == "table" and answer.data.result
  local rows = type(data) == "table" and data.result
  local alive = {}
  for _, node in ipairs(type(rows) == "table" and rows or {}) do
    if node.state == "ALIVE" then alive[#alive + 1] = node end
  end
  return array(alive)
end

--- Ray's versions: { ray_version, version, ray_commit, … } | nil, err.
function Jobs:versions()
  return rest(self, "GET", "/api/version", "ask for Ray's version")
end

-- Submitting ----------------------------------------------------------------------------------

local function environment_of(job)
  local out = {}
  for key, value in pairs(job.runtime_env or {}) do out[key] = value end
  if job.env then
    local env = {}
    for name, value in pairs(out.env_vars or {}) do env[name] = value end
    for name, value in pairs(job.env) do env[name] = value end
    out.env_vars = env
  end
  for name, value in pairs(out.env_vars or {}) do
    if type(value) ~= "string" then
      error(("bad argument #1 to 'submit' (env %s must be a string)"):format(name), 3)
    end
  end
  return next(out) ~= nil and out or nil
end

local function submit_argv(jobs, job)
  local argv = { "ray", "job", "submit", "--address", jobs.address, "--submission-id", job.id,
    "--no-wait" }
  local function add(...)
    for _, word in ipairs { ... } do argv[#argv + 1] = word end
  end
  local runtime_env = environment_of(job)
  if runtime_env then add("--runtime-env-json", json.encode(runtime_env)) end
  if job.working_dir then add("--working-dir", job.working_dir) end
  if job.num_cpus then add("--entrypoint-num-cpus", tostring(job.num_cpus)) end
  add("--")
  if type(job.entrypoint) == "table" then
    add(table.unpack(job.entrypoint))
  else
    add("sh", "-c", job.entrypoint)
  end
  return argv
end

-- After a submission whose outcome is not known: whether the job is there.
local function settle(jobs, id)
  local problem
  for _ = 1, 4 do
    local info
    info, problem = jobs:status(id)
    if info then return info end
    if problem.code ~= "RTL-RAY-003" and not problem.retryable then break end
    task.sleep(2)
  end
  return nil, problem
end

--- Submits a job and does not wait: { id, existed } | nil, err. Safe to repeat: a job that is there
-- under its id is not submitted again. `job`: id, entrypoint (a shell line, or argv), env
-- (strings), runtime_env, working_dir (in the head pod), num_cpus (for the driver).
function Jobs:submit(job)
  if type(job) ~= "table" or type(job.id) ~= "string" or not job.entrypoint then
    error("bad argument #1 to 'submit' (table with id and entrypoint expected)", 2)
  end
  local argv = submit_argv(self, job)
  local known, problem = self:status(job.id)
  if known then return { id = job.id, existed = true, status = known.status } end
  if problem.code ~= "RTL-RAY-003" then return nil, problem end
  local what = "submit job " .. job.id
  local r, trouble = self.exec(argv, {})
  if r and r.code == 0 then return { id = job.id, existed = false } end
  local there = (r or trouble.sent) and settle(self, job.id)
  if there then return { id = job.id, existed = false, status = there.status } end
  if not r then return nil, err.wrap(trouble, { doing = what }) end
  local text = r.stderr ~= "" and r.stderr or r.stdout
  return nil, err.new { code = "RTL-RAY-002", doing = what, output = text,
    message = text:match("([^\n]+)%s*$") or "exit " .. r.code }
end

-- Following -----------------------------------------------------------------------------------

--- The driver's log file in the head pod.
function Jobs.log_path(_, id) return LOGS .. "job-driver-" .. id .. ".log" end

--- At most `limit` bytes of a file from byte `offset` (0 is the first), by `exec` in whatever pod
-- it reaches: bytes ("" if there are none yet) | nil, err. A file that is not there has no bytes.
function M.read(exec, path, offset, limit)
  local r, problem = exec({ "sh", "-c", M.READ_SCRIPT, "rtl-read", path, tostring(offset),
    tostring(limit or PIECE) }, {})
  if not r then return nil, problem end
  if r.code == 0 then return r.stdout end
  if r.code == 3 then return "" end
  return nil, err.new { code = "RTL-RAY-004", doing = "read " .. path,
    message = r.stderr:match("[^\n]+") or "exit " .. r.code }
end

--- As rtl.ray.read, in the head pod.
function Jobs:read(path, offset, limit) return M.read(self.exec, path, offset, limit) end

-- Hands over all bytes that are there now; moves state.offset. True | nil, err.
local function catch_up(jobs, state)
  while true do
    local bytes, problem = jobs:read(state.path, state.offset, PIECE)
    if not bytes then return nil, problem end
    if #bytes > 0 then
      state.offset = state.offset + #bytes
      state.quiet = 0
      if state.on_bytes then state.on_bytes(bytes) end
    end
    if #bytes < PIECE then return true end
  end
end

local function look(jobs, id, state)
  local ok, problem = catch_up(jobs, state)
  if not ok then return nil, problem end
  local info, trouble = jobs:status(id)
  if not info then return nil, trouble end
  if not ended[info.status] then return info end
  -- What the driver wrote between our read and its end.
  ok, problem = catch_up(jobs, state)
  if not ok then return nil, problem end
  return info, nil, true
end

-- A cut connection or a dashboard that is busy says nothing about the job.
local function heals(problem)
  local inner = err.find(problem, function (e)
    return e.retryable or e.sent or e.code:match("^RTL%-NET%-")
      or e.code:match("^RTL%-K8S%-03[02]$")
  end)
  return inner ~= nil
end

local function pause(state)
  state.quiet = state.quiet + 1
  return state.every * math.min(5, 1 + state.quiet // 5)
end

--- Follows a job to its end: its info with `offset` (bytes read of the log) | nil, err. `options`:
-- on_bytes = function (bytes), on_status = function (info), every (seconds between two looks,
-- default 2; up to five times that while nothing comes), offset (where to go on), timeout (seconds:
-- then RTL-RAY-005 with `offset`). Connections that break are taken up again at the same byte.
function Jobs:follow(id, options)
  options = options or {}
  local state = { path = self:log_path(id), offset = options.offset or 0,
    on_bytes = options.on_bytes,
    every = options.every or 2, quiet = 0 }
  local start, failures, last = clock.mono(), 0, nil
  while true do
    local info, problem, done = look(self, id, state)
    if info then
      failures = 0
      if options.on_status and info.status ~= last then options.on_status(info) end
      last = info.status
      if done then
        info.offset = state.offset
        return info
      end
    else
      failures = failures + 1
      if failures >= PATIENCE or not heals(problem) then
        problem.offset = state.offset
        return nil, problem
      end
    end
    if options.timeout and clock.mono() - start >= options.timeout then
      return nil, err.new { code = "RTL-RAY-005", doing = "follow job " .. id,
        offset = state.offset,
        message = ("not at its end after %g s"):format(options.timeout) }
    end
    task.sleep(pause(state))
  end
end

return M
