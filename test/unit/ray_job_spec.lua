local counters = require "rtl.recipe.counters"
local nccl = require "rtl.nccl"
local ray_job = require "rtl.recipe.ray_job"
local verdict = require "rtl.recipe.verdict"

local SETTINGS = { namespace = "ray-train", ray_cluster = "c", steps = 5, num_workers = 0,
  reduce_mib = 64, pin = true, nccl_socket_ifname = "eth0", nccl_debug = "INFO", gpu_count = 2,
  gpu_type = "g6.12xlarge", ray_image = "image", transport = "efa", proof = "counters",
  job_timeout = 600, bucket = "", use_bucket = "" }

-- A run over pods that answer exec by a function.
local function run_over(pods, exec)
  local client = {}
  function client.list(_, _, options)
    local node_type = options.labels:match("node%-type=(%a+)")
    local items = {}
    for _, pod in ipairs(pods) do
      if pod.type == node_type then
        items[#items + 1] = { metadata = { name = pod.name, namespace = "ray-train" },
          spec = { nodeName = pod.node, containers = { { name = "ray-" .. pod.type } } },
          status = { phase = "Running" } }
      end
    end
    return { items = items }
  end
  function client.exec(_, what) return exec(what.pod, what.argv) end
  return { settings = SETTINGS, deployment = "d", facts = { world = 8, efa = 1 },
    has_aws = function () return true end,
    k8s = function () return client end, progress = function () end, log = function () end }
end

describe("a job's identity", function ()
  it("changes with the script and with the settings that change what it does", function ()
    local run = { settings = setmetatable({}, { __index = SETTINGS }) }
    local first = ray_job.digest(run, "script")
    assert.equal(first, ray_job.digest(run, "script"))
    assert.not_equal(first, ray_job.digest(run, "script "))
    run.settings.steps = 6
    assert.not_equal(first, ray_job.digest(run, "script"))
  end)

  it("is numbered after the last one of the same digest", function ()
    local there = { { submission_id = "d-01234567-2", status = "SUCCEEDED" },
      { submission_id = "d-01234567-10", status = "FAILED" },
      { submission_id = "d-01234567-1", status = "FAILED" },
      { submission_id = "d-01234567-x", status = "FAILED" },
      { submission_id = "d-99999999-11", status = "FAILED" } }
    local jobs = { list = function () return there end }
    local id, info, next_id = ray_job.find({ deployment = "d" }, jobs, "0123456789")
    assert.same({ "d-01234567-10", "FAILED", "d-01234567-11" }, { id, info.status, next_id })
    there = {}
    id, info, next_id = ray_job.find({ deployment = "d" }, jobs, "0123456789")
    assert.is_nil(id)
    assert.is_nil(info)
    assert.equal("d-01234567-1", next_id)
  end)
end)

describe("a job's environment", function ()
  it("has NCCL's file per rank, named after the job, and the pin only if there is one", function ()
    local run = run_over({}, nil)
    local env = ray_job.environment(run, "id-1", "Libfabric")
    assert.equal("/tmp/rtl/nccl/id-1/%h.%p.log", env.NCCL_DEBUG_FILE)
    assert.equal("INIT,NET,ENV,GRAPH", env.NCCL_DEBUG_SUBSYS)
    assert.equal("Libfabric", env.NCCL_NET)
    assert.is_nil(ray_job.environment(run, "id-1", nil).NCCL_NET)
    for name, value in pairs(env) do assert.is_string(value, name) end
    assert.matches('"workers":8', env.RTL_JOB, 1, true)
  end)

  it("has its own part of the bucket for checkpoints, made or given", function ()
    local run = run_over({}, nil)
    assert.is_nil(ray_job.environment(run, "id-1").RTL_CHECKPOINTS)
    for _, name in ipairs { "bucket", "use_bucket" } do
      run.settings = setmetatable({ [name] = "team-ckpt" }, { __index = SETTINGS })
      assert.equal("s3://team-ckpt/d/", ray_job.environment(run, "id-1").RTL_CHECKPOINTS)
    end
    run.has_aws = function () return false end
    assert.is_nil(ray_job.environment(run, "id-1").RTL_CHECKPOINTS)
  end)
end)

describe("a job's files", function ()
  local framed = "h.1.log 12\nline\n2\nh.2 3rank-0.json 8\n{\"rank\"}"

  it("are told apart by their sizes, whatever bytes they hold", function ()
    local run = run_over({ { type = "worker", name = "w-b", node = "n2" },
      { type = "worker", name = "w-a", node = "n1" }, { type = "head", name = "h", node = "n0" } },
      function (pod, argv)
        assert.equal("rtl-collect", argv[4])
        assert.equal("/tmp/rtl/nccl/id", argv[5])
        return { code = 0, stdout = pod == "w-a" and framed or "", stderr = "" }
      end)
    local files, errors = ray_job.collect(run, "id")
    assert.same({}, errors)
    assert.same({ "w-a/h.1.log", "w-a/rank-0.json" }, { files[1].name, files[2].name })
    assert.equal("line\n2\nh.2 3", files[1].text)
    assert.equal("n1", files[1].node)
    assert.equal(2, #files)
  end)

  it("that a pod does not give are an error beside those of the others", function ()
    local run = run_over({ { type = "worker", name = "a", node = "n1" },
      { type = "worker", name = "b", node = "n2" } }, function (pod)
      if pod == "b" then return { code = 1, stdout = "", stderr = "no sh\n" } end
      return { code = 0, stdout = "x.log 1\nx", stderr = "" }
    end)
    local files, errors = ray_job.collect(run, "id")
    assert.equal(1, #files)
    assert.matches("no sh", errors[1].message, 1, true)
  end)

  it("tell the environment of each process", function ()
    local ranks = ray_job.environments {
      { name = "b/rank-1.json", text = '{"rank":1,"env":{"NCCL_NET":"Libfabric"}}' },
      { name = "a/rank-0.json", text = '{"rank":0,"env":{}}' },
      { name = "a/x.log", text = "" }, { name = "a/rank-2.json", text = "5" },
      { name = "a/rank-3.json", text = '{"rank":"x","env":{}}' },
      { name = "a/rank-4.json", text = '{"rank":4}' },
    }
    assert.same({ 0, 1 }, { ranks[1].rank, ranks[2].rank })
    assert.equal("Libfabric", ranks[2].env.NCCL_NET)
    assert.equal(2, #ranks)
  end)
end)

describe("a job that does not end", function ()
  it("is stopped, and what it left is brought home", function ()
    local run = run_over({ { type = "worker", name = "w", node = "n1" } }, function ()
      return { code = 0, stdout = "h.1.log 4\nNCCL", stderr = "" }
    end)
    local notes, stopped = {}, nil
    run.note = function (_, said) notes[#notes + 1] = said end
    local jobs = {
      follow = function ()
        return nil, require("rtl.err").new { code = "RTL-RAY-005", message = "not at its end" }
      end,
      stop = function (_, id) stopped = id return true end,
      status = function () return { status = "RUNNING" } end,
    }
    local job = ray_job.follow(run, jobs, "id-1")
    assert.same({ "id-1", "STOPPED", "NCCL" }, { stopped, job.info.status, job.files[1].text })
    assert.matches("not at its end after 10m00s", notes[1], 1, true)
  end)
end)

describe("the environment of the training processes", function ()
  local wanted = { FI_PROVIDER = "efa", NCCL_NET = "Libfabric" }
  local function note(rank, env)
    return { name = ("w/rank-%d.json"):format(rank),
      text = ('{"rank":%d,"env":%s}'):format(rank, env) }
  end

  it("is compared with what was set, rank by rank", function ()
    local text, wrong = ray_job.check_environment({
      note(0, '{"FI_PROVIDER":"efa","NCCL_NET":"Libfabric"}'),
      note(1, '{"FI_PROVIDER":"tcp"}') }, wanted)
    assert.matches("2 training processes.*2 differences", text)
    assert.same({ "rank 1 has FI_PROVIDER=tcp instead of efa",
      "rank 1 has NCCL_NET=(unset) instead of Libfabric" }, wrong)
  end)

  it("is unknown when nobody noted it", function ()
    assert.matches("no training process", (ray_job.check_environment({}, wanted)))
  end)
end)

describe("a job's own result", function ()
  it("is the last line that says so", function ()
    local log = "step 1\nRTL-RESULT {\"ok\":false}\nnoise\nRTL-RESULT {\"ok\":true,\"nodes\":2}\n"
    assert.same({ ok = true, nodes = 2 }, ray_job.result(log))
    assert.same({}, ray_job.result("nothing\n"))
  end)

  it("is nothing where a script prints another thing after the word", function ()
    for _, said in ipairs { "5", "null", "\"x\"", "{", "[1" } do
      assert.same({}, ray_job.result("RTL-RESULT " .. said .. "\n"))
    end
    for _, bytes in ipairs { "\"many\"", "null", "{}", "1.5" } do
      local said = ray_job.result("RTL-RESULT {\"ok\":true,\"bytes_per_node\":" .. bytes .. "}\n")
      assert.same({ ok = true }, said)
    end
  end)
end)

describe("the nodes of a job", function ()
  it("are those of the workers and those that were read before it", function ()
    local run = run_over({ { type = "worker", name = "a", node = "n2" },
      { type = "worker", name = "b", node = "n2" } })
    assert.same({ "n2" }, ray_job.nodes(run))
    assert.same({ "n1", "n2" }, ray_job.nodes(run, { n1 = "text" }))
  end)
end)

describe("the counters", function ()
  it("of a node that could not be read are unknown, never zero", function ()
    local full = "efa/d/1/tx_bytes %d\nefa/d/1/rx_bytes %d\nnet/eth0/tx_bytes 5\nend\n"
    local before, after = full:format(0, 0), full:format(1000, 1000)
    local judged = counters.judge({ "a", "b" }, { a = before, b = before },
      { a = after, b = after }, 900)
    assert.equal("as_expected", judged.state)
    judged = counters.judge({ "a", "b" }, { a = before }, { a = after, b = after }, 900)
    assert.equal("unknown", judged.state)
  end)

  it("of a job that did not come to its result were read, and are held against nothing", function ()
    local text = "efa/d/1/tx_bytes %d\nefa/d/1/rx_bytes %d\nnet/eth0/tx_bytes 5\nend\n"
    local judged = counters.judge({ "a" }, { a = text:format(0, 0) }, { a = text:format(9, 9) })
    assert.equal("unmeasured", judged.state)
    local shown = verdict.of(nccl.join { log = { verdict = "EFA" }, counters = judged })
    assert.same({ "UNKNOWN", "RTL-NCCL-030" }, { shown.verdict, shown.code })
    assert.equal("failed", verdict.exit(shown, "FAILED"))
    assert.equal("transport", verdict.exit(shown, "SUCCEEDED"))
    local log_alone = nccl.join { log = { verdict = "EFA" }, counters = judged, proof = "log" }
    assert.equal("EFA", log_alone.verdict)
  end)
end)

describe("a verdict", function ()
  it("of a job without NCCL says so", function ()
    local joined = nccl.join { log = nccl.classify({}, {}), unused = true }
    local shown = verdict.of(joined)
    assert.same({ "UNKNOWN", "RTL-NCCL-029", "transport" },
      { shown.verdict, shown.code, shown.exit })
    assert.matches("did not use NCCL", shown.cause, 1, true)
  end)

  it("names a file once above its lines, and nodes by their first part", function ()
    local joined = { verdict = "TCP", ok = false, log = { verdict = "TCP", edges = {}, evidence = {
      { file = "/logs/a.log", line = 13, text = "Using network Socket" },
      { file = "/logs/b.log", line = 2, text = "Connected all rings" } } },
      cause = { code = "RTL-NCCL-001",
        evidence = { file = "/logs/a.log", line = 6, text = "lost" } },
      counters = { state = "flat", nodes = {
        { name = "ip-10-0-0-1.us-east-2.compute.internal", efa_tx = 0, efa_rx = 0 } } } }
    assert.same({ "in a.log", "  line 6: lost", "  line 13: Using network Socket", "in b.log",
      "  line 2: Connected all rings",
      "counters of ip-10-0-0-1: EFA sent 0 B, got 0 B; Ethernet sent unknown" },
      verdict.of(joined).lines)
  end)

  it("sums the counters of many nodes, and names those that are not as expected", function ()
    local nodes = {}
    for i = 1, 64 do
      nodes[i] = { name = "n" .. i, state = i == 7 and "flat" or "as_expected", efa_rx = 0,
        efa_tx = i == 7 and 0 or 1024, net_tx = 1 }
    end
    local shown = verdict.of { verdict = "EFA", ok = true, log = { verdict = "EFA" },
      counters = { state = "flat", nodes = nodes } }
    assert.same({ "counters of n7: EFA sent 0 B, got 0 B; Ethernet sent 1 B",
      "counters of all 64 nodes: EFA sent 63.0 KiB; Ethernet sent 64 B" }, shown.lines)
  end)

  it("shown again follows the transport that is wanted now", function ()
    local known = { verdict = "UNKNOWN", ok = false, exit = "transport", code = "RTL-NCCL-029" }
    assert.equal("done", verdict.again(known, "any", "SUCCEEDED").exit)
    assert.equal("transport", verdict.again(known, "efa", "SUCCEEDED").exit)
    known = { verdict = "TCP", ok = true, exit = "done" }
    assert.equal("transport", verdict.again(known, "efa", "SUCCEEDED").exit)
    assert.equal("done", known.exit)
  end)
end)

describe("the exit code of a judged job", function ()
  local function name(shown, status) return verdict.exit(shown, status) end

  it("is the transport's before the job's", function ()
    assert.equal("done", name({ verdict = "EFA", ok = true }, "SUCCEEDED"))
    assert.equal("failed", name({ verdict = "EFA", ok = true }, "FAILED"))
    assert.equal("transport", name({ verdict = "TCP", ok = false }, "SUCCEEDED"))
    assert.equal("transport", name({ verdict = "TCP", ok = false }, "FAILED"))
    assert.equal("transport",
      name({ verdict = "UNKNOWN", ok = false, code = "RTL-NCCL-007" }, "FAILED"))
    assert.equal("transport", name({ verdict = "UNKNOWN", ok = false }, "SUCCEEDED"))
    assert.equal("done", name({ verdict = "UNKNOWN", ok = true }, "SUCCEEDED"))
  end)

  it("is the job's when it died before NCCL said anything", function ()
    assert.equal("failed", name({ verdict = "UNKNOWN", ok = false }, "FAILED"))
    assert.equal("failed",
      name({ verdict = "UNKNOWN", ok = false, code = "RTL-NCCL-016" }, "STOPPED"))
  end)
end)
