-- What the world's Ray and NCCL show: logs that the classifier reads like real ones, a job's
-- course, counters that agree with it.
local json = require "rtl.native.json"
local nccl = require "rtl.nccl"
local ray = require "rtl.ray"
local task = require "rtl.task"
local world = require "test.support.world"
local world_nccl = require "rtl.rehearse.ray.nccl"

local function logs(way, more)
  local files = {}
  local facts = { world = 8, nodes = 2, gpus = 4, efa = 1, channels = 2, type = "g6.12xlarge",
                  env = { NCCL_SOCKET_IFNAME = "eth0" }, plugin = true, seed = 1, job = "j",
                  date = "2026-12-01 10:00:00" }
  for name, value in pairs(more or {}) do facts[name] = value end
  for rank = 0, facts.world - 1 do
    local own = setmetatable({ rank = rank, device = rank % facts.gpus, pid = 1400 + rank,
      host = "worker-" .. rank // facts.gpus, ip = "10.0.0." .. rank // facts.gpus },
      { __index = facts })
    files[rank + 1] = { name = ("rank%d.log"):format(rank), text = world_nccl.log(way, own) }
  end
  return files
end

describe("the NCCL logs of the world", function ()
  it("show EFA where it was taken", function ()
    local found = nccl.classify(logs "efa", { nics = 1 })
    assert.equal("EFA", found.verdict)
    assert.equal("efa", found.provider)
    assert.is_false(found.gdr)
    found = nccl.classify(logs("efa", { world = 24, nodes = 3, gpus = 8, efa = 32, channels = 8,
      rdma = true, type = "p5.48xlarge" }), { nics = 32 })
    assert.equal("EFA", found.verdict)
    assert.is_true(found.gdr)
  end)

  it("show fewer interfaces than there should be", function ()
    assert.equal("DEGRADED", nccl.classify(logs "efa", { nics = 4 }).verdict)
  end)

  it("show TCP without a plugin, without a device, and by a pin", function ()
    local found = nccl.classify(logs("socket", { plugin = false }))
    assert.equal("TCP", found.verdict)
    assert.equal("PLUGIN_NOT_FOUND", found.cause.class)
    assert.equal("TCP", nccl.classify(logs "no-device").verdict)
    assert.equal("TCP", nccl.classify(logs "pinned").verdict)
  end)

  it("show that a pin was refused", function ()
    local found = nccl.classify(logs("refused", { plugin = false }))
    assert.equal("UNKNOWN", found.verdict)
    assert.equal("PIN_REFUSED", found.causes[#found.causes].class)
  end)

  it("show no network on one node", function ()
    assert.equal("NOT_APPLICABLE", nccl.classify(logs("efa", { world = 4, nodes = 1 })).verdict)
  end)
end)

describe("a job in the world", function ()
  local server, client

  lazy_setup(function () server = world.start() end)
  lazy_teardown(function () server:stop() end)

  local IMAGE = "public.ecr.aws/deep-learning-containers/ray:train-ml-cuda-v1.1"

  local function ray_pod(name, kind, node, limits)
    return { apiVersion = "v1", kind = "Pod", metadata = { name = name, namespace = "ray",
      labels = { ["ray.io/cluster"] = "r", ["ray.io/node-type"] = kind } },
      spec = { nodeName = node, containers = { { name = "ray", image = IMAGE,
        env = { { name = "FI_PROVIDER", value = "efa" },
                { name = "NCCL_NET_PLUGIN", value = "ofi" } },
        resources = { limits = limits, requests = limits } } } } }
  end

  local jobs

  local function begin(spec, limits)
    server.spec = spec
    server:reset()
    local gpu = { type = "g6.12xlarge", gpus = 4, efa = 1, vcpu = 48, memory_gib = 192 }
    client = select(2, server:cluster { {}, gpu, gpu })
    assert(client:apply { apiVersion = "v1", kind = "Namespace", metadata = { name = "ray" } })
    assert(client:create(ray_pod("head", "head", "node-1", {})))
    limits = limits or { ["nvidia.com/gpu"] = "4", ["vpc.amazonaws.com/efa"] = "1" }
    assert(client:create(ray_pod("worker-1", "worker", "node-2", limits)))
    assert(client:create(ray_pod("worker-2", "worker", "node-3", limits)))
    for _, name in ipairs { "head", "worker-1", "worker-2" } do
      assert(client:wait("Pod", name, { namespace = "ray", timeout = 900,
                                         test = require("rtl.k8s").ready.pod }))
    end
    jobs = ray.jobs { exec = function (argv, options)
      return client:exec { namespace = "ray", pod = "head", container = "ray", argv = argv,
                           stdin = options and options.stdin }
    end }
  end

  local function submit(env)
    env.RTL_JOB = json.encode { steps = 5, mib = 64, dir = "/tmp/rtl/j", workers = 8 }
    env.NCCL_DEBUG_FILE = "/tmp/rtl/j/%h.%p.log"
    return jobs:submit { id = "j", entrypoint = "python3 job.py", env = env }
  end

  local function read(pod, script)
    return assert(client:exec { namespace = "ray", pod = pod, container = "ray",
                                argv = { "sh", "-c", script } }).stdout
  end

  it("goes from PENDING to its end, with its log, files and counters", function ()
    begin "calm"
    assert.is_false(assert(submit {}).existed)
    assert.equal("PENDING", assert(jobs:status "j").status)
    local text = {}
    local info = assert(jobs:follow("j", { on_bytes = function (bytes)
      text[#text + 1] = bytes
    end }))
    assert.equal("SUCCEEDED", info.status)
    assert.equal(0, info.driver_exit_code)
    local result = assert(json.decode(table.concat(text):match "RTL%-RESULT ({.*})"))
    assert.equal(8, result.world_size)
    assert.equal(2, result.nodes)
    assert.equal(6 * 64 * 1048576, result.bytes_per_node)
    local names = read("worker-1", "cd /tmp/rtl/j; ls")
    assert.matches("rank-0.json", names, 1, true)
    assert.matches("worker-1.1400.log", names, 1, true)
    assert.is_nil(names:find("rank-4.json", 1, true))
    local note = assert(json.decode(read("worker-2", "cat /tmp/rtl/j/rank-4.json")))
    assert.equal("efa", note.env.FI_PROVIDER)
    assert.is_true(assert(submit {}).existed)
  end)

  it("leaves counters on the host, and none in a pod", function ()
    begin "calm"
    local function counters(node)
      local name = ("reader-%s-%d"):format(node, server.world.now_us // 1000)
      assert(client:create { apiVersion = "v1", kind = "Pod",
        metadata = { name = name, namespace = "ray" }, spec = { nodeName = node,
          hostNetwork = true, restartPolicy = "Never", containers = { { name = "reader",
            image = "busybox", command = { "sh", "-c", nccl.counters.script } } } } })
      assert(client:wait("Pod", name, { namespace = "ray", test = function (pod)
        return pod and pod.status.phase == "Succeeded"
      end }))
      return nccl.counters.parse(assert(client:logs("ray", name, { container = "reader" })))
    end
    local before = { counters "node-2", counters "node-3" }
    assert(submit {})
    assert.equal("SUCCEEDED", assert(jobs:follow("j", {})).status)
    local after = { counters "node-2", counters "node-3" }
    local judged = nccl.counters.judge { expected_bytes = 6 * 64 * 1048576, nodes = {
      { name = "node-2", before = before[1], after = after[1] },
      { name = "node-3", before = before[2], after = after[2] } } }
    assert.equal("as_expected", judged.state)
    assert.equal("", read("worker-1", "cat /sys/class/infiniband/*/ports/1/hw_counters/tx_bytes "
                                      .. "2>/dev/null || true"))
  end)

  it("fails when its pin can not be kept, and goes over TCP without one", function ()
    begin "tcp-fallback"
    assert(submit { NCCL_NET = "Libfabric" })
    local info = assert(jobs:follow("j", {}))
    assert.equal("FAILED", info.status)
    assert.equal(1, info.driver_exit_code)
    assert.matches("ncclInvalidUsage", info.message, 1, true)
    begin "tcp-fallback"
    assert(submit {})
    assert.equal("SUCCEEDED", assert(jobs:follow("j", {})).status)
    assert.matches("via NET/Socket/0", read("worker-1", "cat /tmp/rtl/j/*.log"), 1, true)
  end)

  it("does not take EFA in a pod that asked for none", function ()
    begin("calm", { ["nvidia.com/gpu"] = "4" })
    assert(submit {})
    assert.equal("SUCCEEDED", assert(jobs:follow("j", {})).status)
    assert.matches("NET/Socket", read("worker-1", "cat /tmp/rtl/j/*.log"), 1, true)
  end)

  it("can be stopped, waits for GPUs that are not there, and is not known before", function ()
    begin "calm"
    local info, e = jobs:status "j"
    assert.is_nil(info)
    assert.equal("RTL-RAY-003", e.code)
    local env = { RTL_JOB = json.encode { workers = 64 } }
    assert(jobs:submit { id = "j", entrypoint = "x", env = env })
    task.sleep(600)
    assert.equal("RUNNING", assert(jobs:status "j").status)
    assert(jobs:stop "j")
    assert.equal("STOPPED", assert(jobs:status "j").status)
    assert.equal(3, #assert(jobs:nodes()))
    assert.equal("2.58.0", assert(jobs:versions()).ray_version)
    local refused
    refused, e = jobs:submit { id = "k", entrypoint = "x", working_dir = "/none" }
    assert.is_nil(refused)
    assert.equal("RTL-RAY-002", e.code)
  end)
end)
