-- Ray jobs by exec: argv as sent, settling of unknown outcomes, following by byte offset.
local api = require "test.support.apiserver"
local clock = require "rtl.clock"
local err = require "rtl.err"
local fs = require "rtl.fs"
local array = require "rtl.array"
local json = require "rtl.native.json"
local null = require "rtl.null"
local process = require "rtl.process"
local ray = require "rtl.ray"

local s -- only for its virtual clock

before_each(function () s = api.start() end)
after_each(function () s:stop() end)

local function ok(stdout) return { code = 0, stdout = stdout or "", stderr = "" } end

local function rest(status, body)
  return ok(status .. "\n" .. (type(body) == "table" and json.encode(body) or body))
end

-- A head pod: `play` has rest (function (method, url, count)), log (text or function (count)),
-- submit.
local function head(play)
  local pod = { argv = {}, counts = { rest = 0, log = 0, submit = 0 } }
  local function exec(argv)
    pod.argv[#pod.argv + 1] = argv
    if argv[1] == "python3" then
      pod.counts.rest = pod.counts.rest + 1
      return play.rest(argv[4], argv[5], pod.counts.rest)
    elseif argv[1] == "sh" then
      pod.counts.log = pod.counts.log + 1
      local text, problem = play.log, nil
      if type(text) == "function" then text, problem = text(pod.counts.log) end
      if not text then return nil, problem end
      return ok(text:sub(tonumber(argv[6]) + 1, tonumber(argv[6]) + tonumber(argv[7])))
    end
    pod.counts.submit = pod.counts.submit + 1
    return play.submit(argv, pod.counts.submit)
  end
  return ray.jobs { exec = exec }, pod
end

local function lost()
  return nil, err.new { code = "RTL-K8S-030", message = "no status", sent = true }
end

describe("submit", function ()
  it("sends our id, does not wait, and quotes nothing itself", function ()
    local jobs, pod = head { rest = function () return rest(404, "not found") end,
      submit = function () return ok() end }
    assert.same({ id = "j-1", existed = false }, assert(jobs:submit { id = "j-1",
      entrypoint = "python train.py > 'x y'", env = { NCCL_DEBUG = "INFO" }, working_dir = "/w",
      runtime_env = { env_vars = { A = "1" }, excludes = { "b" } }, num_cpus = 1 }))
    assert.same({ "python3", "-c", ray.REST_SCRIPT, "GET", "http://127.0.0.1:8265/api/jobs/j-1" },
      { table.unpack(pod.argv[1]) })
    local argv = pod.argv[2]
    assert.same({ env_vars = { A = "1", NCCL_DEBUG = "INFO" }, excludes = { "b" } },
      json.decode((table.remove(argv, 10))))
    assert.same({ "ray", "job", "submit", "--address", "http://127.0.0.1:8265", "--submission-id",
      "j-1",
      "--no-wait", "--runtime-env-json", "--working-dir", "/w", "--entrypoint-num-cpus", "1", "--",
        "sh",
      "-c", "python train.py > 'x y'" }, argv)
  end)

  it("does not submit what is there", function ()
    local jobs, pod = head { rest = function () return rest(200, { status = "RUNNING" }) end }
    assert.is_true(assert(jobs:submit { id = "j", entrypoint = { "true" } }).existed)
    assert.equal(0, pod.counts.submit)
  end)

  it("looks whether a submission arrived whose connection broke", function ()
    local jobs = head { submit = lost, rest = function (_, _, count)
      return count < 3 and rest(404, "no") or rest(200, { status = "PENDING" })
    end }
    assert.is_false(assert(jobs:submit { id = "j", entrypoint = { "true" } }).existed)
    local none = head { submit = lost, rest = function () return rest(404, "no") end }
    local r, problem = none:submit { id = "j", entrypoint = { "true" } }
    assert.is_nil(r)
    assert.equal("RTL-K8S-030", problem.code)
  end)

  it("gives Ray's own words when it refuses", function ()
    local jobs = head { rest = function () return rest(404, "no") end, submit = function ()
      return { code = 1, stdout = "", stderr = "Traceback\nRuntimeError: bad runtime_env\n" }
    end }
    local _, problem = jobs:submit { id = "j", entrypoint = { "true" } }
    assert.equal("RTL-RAY-002", problem.code)
    assert.equal("RuntimeError: bad runtime_env", problem.message)
  end)

  it("refuses an environment that Ray would refuse", function ()
    local jobs = head {}
    assert.error_matches(function () jobs:submit { id = "j", entrypoint = "x",
      env = { A = 1 } } end,
      "env A must be a string")
    assert.error_matches(function () jobs:submit { id = "j" } end, "id and entrypoint expected")
  end)
end)

describe("status", function ()
  it("tells what the head pod says, and what it is not", function ()
    local answers = {
      { rest(200, { status = "FAILED", driver_exit_code = 3 }) },
      { rest(404, "Job j does not exist"), "RTL-RAY-003" },
      { rest(500, "Traceback\nValueError: x"), "RTL-RAY-001" },
      { rest(0, "Connection refused"), "RTL-RAY-001" },
      { rest(200, "<html>"), "RTL-RAY-004" },
      { rest(200, "[]"), "RTL-RAY-004" },
      { { code = 127, stdout = "", stderr = "python3: not found\n" }, "RTL-RAY-004" },
    }
    for _, case in ipairs(answers) do
      local jobs = head { rest = function () return case[1] end }
      local info, problem = jobs:status "j"
      assert.equal(case[2], problem and problem.code)
      assert.equal(not case[2] and 3 or nil, info and info.driver_exit_code)
    end
  end)
end)

describe("list", function ()
  it("gives the submitted jobs, without the drivers that nobody submitted", function ()
    local jobs, pod = head { rest = function ()
      return rest(200, { { submission_id = "j-1", status = "FAILED", message = null },
        { job_id = "02000000", submission_id = null, status = "RUNNING" } })
    end }
    assert.same({ { submission_id = "j-1", status = "FAILED" } }, assert(jobs:list()))
    assert.equal("http://127.0.0.1:8265/api/jobs/", pod.argv[1][5])
    jobs = head { rest = function () return rest(200, array {}) end }
    assert.same({}, assert(jobs:list()))
  end)

  it("takes nothing else for an array of jobs", function ()
    for _, case in ipairs { { rest(200, { jobs = 1 }), "RTL-RAY-004" },
      { rest(503, "starting"), "RTL-RAY-001" }, { rest(200, "[[1]]"), nil } } do
      local jobs = head { rest = function () return case[1] end }
      local list, problem = jobs:list()
      assert.equal(case[2], problem and problem.code)
      assert.equal(case[2] == nil, list ~= nil and #list == 0)
    end
  end)
end)

describe("follow", function ()
  -- The state of the job at each look.
  local function states(list)
    return function (_, _, count)
      return rest(200, { status = list[math.min(count, #list)], driver_exit_code = 0 })
    end
  end

  it("hands every byte over once, also those written at the end", function ()
    local texts = { "", "one\n", "one\ntwo\n", "one\ntwo\n", "one\ntwo\nlast\n" }
    local jobs = head { rest = states { "PENDING", "RUNNING", "RUNNING", "SUCCEEDED" },
      log = function (count) return texts[math.min(count, #texts)] end }
    local seen, statuses = {}, {}
    local info = assert(jobs:follow("j", { on_bytes = function (b) seen[#seen + 1] = b end,
      on_status = function (i) statuses[#statuses + 1] = i.status end }))
    assert.equal("one\ntwo\nlast\n", table.concat(seen))
    assert.same({ "PENDING", "RUNNING", "SUCCEEDED" }, statuses)
    assert.equal(13, info.offset)
    assert.equal("SUCCEEDED", info.status)
  end)

  it("goes on from an offset, and where a connection broke", function ()
    local jobs = head { rest = states { "RUNNING", "SUCCEEDED" }, log = function (count)
      if count == 1 or count == 3 or count == 5 then return lost() end
      return "0123456789"
    end }
    local seen = {}
    assert(jobs:follow("j", { offset = 4, on_bytes = function (b) seen[#seen + 1] = b end }))
    assert.equal("456789", table.concat(seen))
  end)

  it("gives up when nothing answers for long, and at once when the job is gone", function ()
    local jobs, pod = head { log = lost }
    local _, problem = jobs:follow "j"
    assert.equal("RTL-K8S-030", problem.code)
    assert.equal(10, pod.counts.log)
    local gone = head { log = "x", rest = function () return rest(404, "no") end }
    _, problem = gone:follow "j"
    assert.equal("RTL-RAY-003", problem.code)
    assert.equal(1, problem.offset)
  end)

  it("looks less often while nothing comes, and stops in time", function ()
    local jobs, pod = head { log = "", rest = states { "RUNNING" } }
    local _, problem = jobs:follow("j", { timeout = 600 })
    assert.equal("RTL-RAY-005", problem.code)
    assert.is_true(clock.mono() >= 600 and clock.mono() <= 610)
    assert.is_true(pod.counts.log < 100)
  end)
end)

describe("the scripts", function ()
  local dir
  before_each(function () dir = assert(fs.temp_dir()) end)
  after_each(function () fs.remove_tree(dir) end)

  local function exec(argv)
    local r = assert(process.run { argv = argv })
    return { code = r.status, stdout = r.stdout, stderr = r.stderr }
  end

  it("read bytes from an offset", function ()
    local path = fs.join(dir, "log")
    assert(fs.write(path, "0123456789\0\n"))
    assert.equal("3456", assert(ray.read(exec, path, 3, 4)))
    assert.equal("\0\n", assert(ray.read(exec, path, 10, 100)))
    assert.equal("", assert(ray.read(exec, path, 12, 100)))
    assert.equal("", assert(ray.read(exec, fs.join(dir, "none"), 0, 1)))
  end)

  it("say that nobody listens", function ()
    local jobs = ray.jobs { exec = exec, address = "http://127.0.0.1:1" }
    local _, problem = jobs:status "j"
    assert.equal("RTL-RAY-001", problem.code)
    assert.is_true(problem.retryable)
  end)
end)

describe("nodes", function ()
  it("are those that are alive", function ()
    local jobs = head { rest = function (method, url)
      assert.equal("GET http://127.0.0.1:8265/api/v0/nodes?detail=1", method .. " " .. url)
      return rest(200, { result = true, data = { result = { total = 2, result = {
        { node_id = "a", state = "ALIVE" }, { node_id = "b", state = "DEAD" } } } } })
    end }
    local nodes = assert(jobs:nodes())
    assert.equal(1, #nodes)
    assert.equal("a", nodes[1].node_id)
  end)
end)
