-- The recipes against a real Kubernetes with KubeRay and Ray: run by test/lab/test.sh, in the lab's
-- network. The cases build on each other: one deployment from nothing to nothing.
local fs = require "rtl.fs"
local helm = require "rtl.helm"
local json = require "rtl.native.json"
local k8s = require "rtl.k8s"
local keys = require "rtl.keys"
local native = require "rtl.native.process"
local peer = require "test.support.peer"
local process = require "rtl.process"
local program = require "test.support.program"
local task = require "rtl.task"

local KUBECONFIG = assert(process.getenv("KUBECONFIG"), "run this through test/lab/in")
local LAB = assert(process.getenv("LAB"), "run this through test/lab/in")
local RELEASES = { { "aws-efa-k8s-device-plugin", "kube-system", "v0.5.32" },
  { "kuberay-operator", "kuberay-operator", "1.4.0" },
  { "nvidia-device-plugin", "nvidia-device-plugin", "0.20.0" } }

local function run(argv, timeout)
  local ran = assert(process.run { argv = argv, timeout = timeout or 120 })
  assert(ran.status == 0, ("%s: %s"):format(table.concat(argv, " "), ran.stderr))
  return ran.stdout
end

-- Serves a folder over HTTP; returns a URL and the server.
local function serve(folder)
  local server = peer.start({ "python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1",
    "--directory", folder }, { stderr = "null" })
  return "http://127.0.0.1:" .. server:line():match("port (%d+)"), server
end

-- "resource namespace/name" of all that the API server lists, but what comes and goes by itself.
local PASSING = { events = true, leases = true }

local function listing(client)
  local names = {}
  for _, resource in ipairs(assert(client:discover { refresh = true }).resources) do
    if not PASSING[resource.plural] and not resource.plural:find("/", 1, true) then
      local list = client:list(resource.api_version == "v1" and resource.kind
        or resource.api_version .. "/" .. resource.kind, { namespace = false })
      for _, item in ipairs(list and list.items or {}) do
        names[("%s.%s %s/%s"):format(resource.plural, resource.group,
          item.metadata.namespace or "", item.metadata.name)] = true
      end
    end
  end
  return names
end

-- What is in one listing and not in the other.
local function differences(before, after)
  local out = {}
  for name in keys.pairs(before) do
    if not after[name] then out[#out + 1] = "gone: " .. name end
  end
  for name in keys.pairs(after) do
    if not before[name] then out[#out + 1] = "left: " .. name end
  end
  return table.concat(out, "\n")
end

-- A young cluster still makes accounts and the like: its listing when that has ended.
local function settled(client)
  local now = listing(client)
  repeat
    local former = now
    task.sleep(2)
    now = listing(client)
  until differences(former, now) == ""
  return now
end

describe("the lab", function ()
  local client, dir, url, server, before

  lazy_setup(function ()
    client = assert(k8s.from_kubeconfig {})
    dir = assert(fs.temp_dir("rtl-lab-"))
    run { program.path, "test/lab/charts.lua", dir .. "/charts", LAB .. "/kuberay-crds" }
    url, server = serve(dir .. "/charts")
    before = settled(client)
  end)

  lazy_teardown(function ()
    server:stop()
    assert(fs.remove_tree(dir))
  end)

  local function words(recipe, ...)
    return { "recipes/" .. recipe .. ".lua", "--kubeconfig", KUBECONFIG, ... }
  end

  local function deploy_words(...)
    return words("deploy", "--ray-image", "docker.io/lab/ray:2.58.0", "--kuberay-repo", url,
      "--nvidia-plugin-repo", url, "--efa-plugin-repo", url, ...)
  end

  local function rtl(list, timeout)
    return program.rtl(list, { state = dir .. "/state", timeout = timeout or 600 })
  end

  local function says(ran, status, ...)
    local text = ran.stdout .. ran.stderr
    for _, wanted in ipairs { ... } do assert.matches(wanted, text, 1, true) end
    assert(ran.status == status, ("exit %s\n%s"):format(ran.status or ran.signal, text))
  end

  it("begins without a deployment", function ()
    for _, name in ipairs { "namespaces. /ray-train", "customresourcedefinitions"
      .. ".apiextensions.k8s.io /rayclusters.ray.io" } do assert.is_nil(before[name]) end
    says(rtl(words "status"), 0, "0 things")
  end)

  it("plans, and changes nothing", function ()
    local ran = rtl(deploy_words "--plan")
    says(ran, 0, "5 to create · 0 to change · 0 to delete", "submit the job train/job.py")
    assert.equal("", differences(before, listing(client)))
  end)

  -- Until `test()` holds, at most `seconds`; the value that it gave.
  local function wait(seconds, test)
    return task.run(function ()
      return task.deadline(seconds, function ()
        while true do
          local value = test()
          if value then return value end
          task.sleep(0.2)
        end
      end)
    end)
  end

  -- Starts the deploy and kills it when `test()` holds.
  local function killed_when(test)
    local child = assert(native.spawn { stdin = "null", stdout = "null", stderr = "null",
      argv = { program.path, table.unpack(deploy_words "--yes") },
      env = { "PATH=" .. process.getenv("PATH"), "HOME=/nonexistent",
        "RTL_STATE=" .. dir .. "/state" } })
    local reached = wait(300, test)
    child:kill(9)
    local how, number = task.await(child)
    child:close()
    assert(reached, "the moment to kill it did not come")
    assert.same({ "signal", 9 }, { how, number })
  end

  it("loses the deploy while it installs the operator", function ()
    killed_when(function ()
      return client:get("CustomResourceDefinition", "rayclusters.ray.io")
    end)
  end)

  it("loses it again while the Ray cluster comes up", function ()
    killed_when(function ()
      return client:get("ray.io/v1/RayCluster", "ray-train-cluster", { namespace = "ray-train" })
    end)
  end)

  it("loses it a third time, with the job on its way", function ()
    killed_when(function ()
      local answer = client:exec { namespace = "ray-train", pod = "ray-train-cluster-head",
        argv = { "sh", "-c", "ls /tmp/ray/session_latest/logs/job-driver-*.log" } }
      return answer and answer.code == 0
    end)
  end)

  it("goes on to a verdict: UNKNOWN, since there is no NCCL", function ()
    says(rtl(deploy_words "--yes"), 3, "was submitted by an earlier run: following it",
      "2 GPU nodes, each with 4 GPUs and 1 EFA interface",
      "operator ready: quay.io/kuberay/operator:v1.4.0",
      "3 pods ready, workers Guaranteed and on nodes of their own",
      "Ray counts 3 nodes and 8 GPUs", "ray 2.58.0", "nccl absent", "step 5 of 5",
      "Verdict  UNKNOWN", "The job did not use NCCL", "rtl explain RTL-NCCL-029",
      "Job      SUCCEEDED")
  end)

  it("finds nothing to do the second time and shows the verdict", function ()
    says(rtl(deploy_words "--yes"), 3, "0 to create · 0 to change · 0 to delete",
      "ended well before: not submitted again", "Verdict  UNKNOWN", "The job did not use NCCL")
  end)

  it("is content when any transport will do", function ()
    says(rtl(deploy_words("--yes", "--transport", "any")), 0, "not submitted again",
      "Verdict  UNKNOWN")
  end)

  it("verifies and shows what stands", function ()
    says(rtl(words "verify"), 3, "Verdict  UNKNOWN", "The job did not use NCCL")
    says(rtl(words("verify", "--transport", "any")), 0, "Verdict  UNKNOWN")
    says(rtl(words "status"), 0, "ray-train-cluster-head", "Guaranteed", "4 GPUs  1 EFA",
      "helm_release  kuberay-operator", "Verdict  UNKNOWN")
  end)

  it("leaves the edit of a living Ray cluster to a replace", function ()
    says(rtl(deploy_words("--plan", "--worker-cpu", "39")), 0, "0 to create", "ray_cluster",
      "manifest")
  end)

  it("installed releases that helm lists, with their history", function ()
    local rows = json.decode(run { "helm", "list", "-A", "-o", "json" })
    for i, release in ipairs(RELEASES) do
      assert.same({ release[1], release[2], "deployed", release[1] .. "-" .. release[3] },
        { rows[i].name, rows[i].namespace, rows[i].status, rows[i].chart })
      local history = json.decode(run { "helm", "history", release[1], "-n", release[2], "-o",
        "json" })
      assert.equal("deployed", history[#history].status)
    end
  end)

  it("renders as helm does, byte for byte", function ()
    local values = fs.join(dir, "values.yaml")
    assert(fs.write(values, 'nodeSelector: {role: x}\ntolerations: [{key: k, operator: Exists}]\n'))
    for _, release in ipairs(RELEASES) do
      local path = ("%s/charts/%s-%s.tgz"):format(dir, release[1], release[3])
      local rendered = assert(helm.render(assert(helm.fetch { path = path }), {
        name = "some", namespace = "where", kube_version = "v1.36.1",
        values = { nodeSelector = { role = "x" },
          tolerations = { { key = "k", operator = "Exists" } } } }))
      assert.equal(run { "helm", "template", "some", path, "-n", "where", "--kube-version",
        "v1.36.1", "-f", values }, rendered.manifest)
    end
  end)

  local function annotations()
    local plugin = assert(client:get("DaemonSet", "nvidia-device-plugin",
      { namespace = "nvidia-device-plugin" }))
    return plugin.spec.template.metadata.annotations or {}
  end

  it("lets helm upgrade and roll back without force, and brings back what was asked", function ()
    run { "helm", "upgrade", "nvidia-device-plugin", "nvidia-device-plugin", "--repo", url,
      "--version", "0.20.0", "-n", "nvidia-device-plugin", "--reuse-values", "--set",
      "podAnnotations.by=helm", "--wait", "--timeout", "120s" }
    says(rtl(deploy_words "--plan"), 0, "0 to create · 1 to change", "values")
    assert.equal("helm", annotations().by)
    says(rtl(deploy_words("--yes", "--to", "device_plugins")), 0, "changed")
    assert.is_nil(annotations().by)
    run { "helm", "rollback", "nvidia-device-plugin", "1", "-n", "nvidia-device-plugin", "--wait",
      "--timeout", "120s" }
    says(rtl(deploy_words "--plan"), 0, "0 to create · 0 to change · 0 to delete")
  end)

  it("is taken away and leaves the cluster as it was", function ()
    says(rtl(words("teardown", "--yes")), 0, "nothing of ray-train is left")
    local left
    local same = wait(60, function ()
      left = differences(before, listing(client))
      return left == ""
    end)
    assert(same, left)
  end)
end)
