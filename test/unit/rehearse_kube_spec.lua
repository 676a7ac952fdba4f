-- What a world's cluster does by itself: scheduling, nodes and devices, deletion, the KubeRay
-- operator, watches, exec.
local k8s = require "rtl.k8s"
local quantity = require "rtl.rehearse.kube.quantity"
local select_by = require "rtl.rehearse.kube.select"
local task = require "rtl.task"
local world = require "test.support.world"

describe("quantities", function ()
  it("are numbers", function ()
    for text, value in pairs { ["40"] = 40, ["3920m"] = 3.92, ["160Gi"] = 160 * 2 ^ 30,
                               ["1k"] = 1000, ["15189958Ki"] = 15189958 * 1024, ["0"] = 0 } do
      assert.equal(value, quantity.value(text))
    end
    assert.is_nil(quantity.value "many")
  end)
end)

describe("selectors", function ()
  local object = { metadata = { name = "a", labels = { app = "x", tier = "front" } } }

  it("of labels match as kubectl's", function ()
    for text, wanted in pairs { ["app=x"] = true, ["app==x,tier=front"] = true, ["app!=x"] = false,
      ["app in (x, y)"] = true, ["app notin (y)"] = true, ["none notin (y)"] = true,
      tier = true, ["!tier"] = false, ["!none"] = true, ["app=x,none"] = false } do
      assert.equal(wanted, select_by.labels(text)(object), text)
    end
    assert.is_nil(select_by.labels "a b c")
  end)

  it("of fields know the fields of their kind", function ()
    assert.is_true(select_by.fields("metadata.name=a", "pods")(object))
    assert.is_false(select_by.fields("metadata.name!=a", "pods")(object))
    local test, bad = select_by.fields("spec.color=red", "pods")
    assert.is_nil(test)
    assert.equal("spec.color", bad)
  end)
end)

local function pod_spec(more)
  local spec = { containers = { { name = "main", image = "busybox" } } }
  for name, value in pairs(more or {}) do spec[name] = value end
  return spec
end

local function pod(name, more)
  return { apiVersion = "v1", kind = "Pod", metadata = { name = name, namespace = "default" },
           spec = pod_spec(more) }
end

local function with_resources(resources)
  return { containers = { { name = "main", image = "busybox", resources = resources } } }
end

local here = { namespace = "default" }

describe("a world's cluster", function ()
  local server, kube, client

  local function begin(machines)
    server:reset()
    kube, client = server:cluster(machines)
  end

  lazy_setup(function () server = world.start() end)
  lazy_teardown(function () server:stop() end)
  before_each(function () begin { {} } end)

  local function ready(name)
    return client:wait("Pod", name, { namespace = "default", test = k8s.ready.pod, timeout = 300 })
  end

  it("tells pods that request equals limit from the others", function ()
    local same = { cpu = "1", memory = "1Gi" }
    assert(client:apply(pod("guaranteed", with_resources { limits = same, requests = same })))
    assert(client:apply(pod("filled", with_resources { limits = same })))
    assert(client:apply(pod("burstable", with_resources { limits = same,
      requests = { cpu = "500m", memory = "1Gi" } })))
    assert(client:apply(pod "best"))
    local init = with_resources { limits = same, requests = same }
    init.initContainers = { { name = "init", image = "busybox" } }
    assert(client:apply(pod("spoilt", init)))
    local classes = {}
    for _, name in ipairs { "guaranteed", "filled", "burstable", "best", "spoilt" } do
      classes[name] = assert(client:get("Pod", name, here)).status.qosClass
    end
    assert.same({ guaranteed = "Guaranteed", filled = "Guaranteed", burstable = "Burstable",
                  best = "BestEffort", spoilt = "Burstable" }, classes)
  end)

  it("says why a pod fits nowhere, and starts it when it does", function ()
    begin { { gpus = 4, taints = { { key = "nvidia.com/gpu", value = "true",
                                     effect = "NoSchedule" } } }, {} }
    assert(client:apply(pod("gpu", with_resources { limits = { ["nvidia.com/gpu"] = "4" } })))
    task.sleep(2)
    local condition = assert(client:get("Pod", "gpu", here)).status.conditions[1]
    assert.equal("Unschedulable", condition.reason)
    assert.matches("2 Insufficient nvidia.com/gpu", condition.message, 1, true)
    require "rtl.rehearse.kube.nodes".set_devices(kube, "node-1", "nvidia.com/gpu", 4)
    assert(ready "gpu")
    assert.equal("node-1", assert(client:get("Pod", "gpu", here)).spec.nodeName)
    assert(client:apply(pod("more", with_resources { limits = { ["nvidia.com/gpu"] = "1" } })))
    assert(client:apply(pod("selective", { nodeSelector = { role = "none" } })))
    task.sleep(2)
    assert.matches("node affinity/selector",
      assert(client:get("Pod", "selective", here)).status.conditions[1].message, 1, true)
    assert(client:delete("Pod", "gpu", here))
    task.sleep(5) -- no plugin runs here, so that the devices turn unhealthy
    require "rtl.rehearse.kube.nodes".set_devices(kube, "node-1", "nvidia.com/gpu", 4)
    assert(ready "more")
  end)

  it("keeps pods apart that must not share a node", function ()
    begin { {}, {} }
    local apart = { podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution = { {
      topologyKey = "kubernetes.io/hostname",
      labelSelector = { matchLabels = { app = "one-a-node" } } } } } }
    for i = 1, 3 do
      local object = pod("apart-" .. i, { affinity = apart })
      object.metadata.labels = { app = "one-a-node" }
      assert(client:apply(object))
    end
    task.sleep(20)
    local nodes, waiting = {}, 0
    for _, item in ipairs(assert(client:list("Pod", here)).items) do
      if item.spec.nodeName then nodes[item.spec.nodeName] = true else waiting = waiting + 1 end
    end
    assert.same({ ["node-1"] = true, ["node-2"] = true }, nodes)
    assert.equal(1, waiting)
  end)

  it("shows devices while their plugin runs", function ()
    begin { { gpus = 4, efa = 1 } }
    local function plugin(name, image)
      return { apiVersion = "apps/v1", kind = "DaemonSet",
        metadata = { name = name, namespace = "kube-system" },
        spec = { selector = { matchLabels = { app = name } }, template = {
          metadata = { labels = { app = name } },
          spec = { containers = { { name = "c", image = image } } } } } }
    end
    assert(client:apply(plugin("gpu", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0")))
    assert(client:apply(plugin("efa", "x/eks/aws-efa-k8s-device-plugin:v0.5.20")))
    assert(client:wait("DaemonSet", "gpu", { namespace = "kube-system",
                                              test = k8s.ready.daemonset }))
    task.sleep(30)
    local function allocatable()
      local node = assert(client:get("Node", "node-1", {}))
      return node.status.allocatable["nvidia.com/gpu"],
             node.status.allocatable["vpc.amazonaws.com/efa"]
    end
    assert.same({ "4", "1" }, { allocatable() })
    assert(client:delete("DaemonSet", "gpu", { namespace = "kube-system" }))
    task.sleep(30)
    assert.same({ "0", "1" }, { allocatable() })
  end)

  local function deployment(replicas)
    return { apiVersion = "apps/v1", kind = "Deployment", metadata = { name = "d",
      namespace = "default" }, spec = { replicas = replicas,
      selector = { matchLabels = { app = "d" } },
      template = { metadata = { labels = { app = "d" } }, spec = pod_spec() } } }
  end

  it("keeps the pods of a deployment, and lets them go with it", function ()
    assert(client:apply(deployment(2)))
    assert(client:wait("Deployment", "d", { namespace = "default", test = k8s.ready.deployment }))
    assert.equal(2, #assert(client:list("Pod", here)).items)
    assert(client:apply(deployment(1)))
    task.sleep(20)
    assert.equal(1, #assert(client:list("Pod", here)).items)
    assert(client:delete("Deployment", "d", { namespace = "default", propagation = "Foreground" }))
    assert(client:wait("Deployment", "d", { namespace = "default", deleted = true }))
    task.sleep(20)
    assert.same({}, assert(client:list("Pod", here)).items)
    assert.same({}, assert(client:list("ReplicaSet", here)).items)
  end)

  it("refuses another certificate authority, a bad token, an old one, a stranger", function ()
    local aws = require "rtl.aws"
    local secret = require "rtl.native.secret"
    local address = { server = "https://" .. kube.host, ca = kube.authority }
    local function refused(options)
      for name, value in pairs(address) do
        if options[name] == nil then options[name] = value end
      end
      local value, e = k8s.client(options):get("Namespace", "default", {})
      assert.is_nil(value)
      return e
    end
    local good = secret.reveal(assert(aws.eks_token(server:session(), "test")))
    assert.equal("Unauthorized", refused({ token = "k8s-aws-v1.bm9uZQ" }).code)
    assert.equal("Unauthorized", refused({ token = good:sub(1, -5) .. "AAAA" }).code)
    local other = secret.reveal(assert(aws.eks_token(server:session(), "other")))
    assert.equal("Unauthorized", refused({ token = other }).code)
    local cause = refused { token = good, ca = "-----BEGIN CERTIFICATE-----other" }
    assert.truthy(tostring(cause):find "RTL%-NET%-003")
    task.sleep(901)
    assert.equal("Unauthorized", refused({ token = good }).code)
    kube.admits = function () return false end
    kube.good_tokens = {}
    local fresh = secret.reveal(assert(aws.eks_token(server:session(), "test")))
    assert.equal("Unauthorized", refused({ token = fresh }).code)
  end)

  it("runs nothing of KubeRay before its operator is there, and all of it then", function ()
    begin { {}, { gpus = 4 } }
    local charts = require "rtl.rehearse.charts.kuberay"
    local yaml = require "rtl.native.yaml"
    local crd = assert(yaml.decode(charts.files("1.4.0", "1.4.0")["crds/ray.io_rayclusters.yaml"]))
    assert(client:apply(crd))
    assert(client:wait("CustomResourceDefinition", "rayclusters.ray.io",
                       { test = k8s.ready.crd }))
    local template = { spec = pod_spec() }
    assert(client:apply { apiVersion = "ray.io/v1", kind = "RayCluster",
      metadata = { name = "r", namespace = "default" }, spec = { rayVersion = "2.58.0",
        headGroupSpec = { rayStartParams = {}, template = template },
        workerGroupSpecs = { { groupName = "g", replicas = 2, minReplicas = 2, maxReplicas = 2,
                               rayStartParams = {}, template = template } } } })
    task.sleep(60)
    assert.same({}, assert(client:list("Pod", here)).items)
    local operator = deployment(1)
    operator.spec.template.spec.containers[1].image = "quay.io/kuberay/operator:v1.4.0"
    operator.metadata.name = "operator"
    assert(client:apply(operator))
    assert(client:wait("RayCluster", "r", { namespace = "default", timeout = 600,
      test = function (object)
        return object and object.status and object.status.state == "ready"
      end }))
    local workers = assert(client:list("Pod", { namespace = "default",
                                                 labels = "ray.io/node-type=worker" })).items
    assert.equal(2, #workers)
    assert.equal("wait-gcs-ready", workers[1].spec.initContainers[1].name)
    assert.equal("None", assert(client:get("Service", "r-head-svc", here)).spec.clusterIP)
    local cluster = assert(client:get("RayCluster", "r", here))
    assert.equal(2, cluster.status.readyWorkerReplicas)
    assert(client:delete("RayCluster", "r", here))
    task.sleep(60)
    assert.same({}, assert(client:list("Pod", { namespace = "default",
                                                 labels = "ray.io/cluster=r" })).items)
  end)

  it("takes strategic patches for its own kinds only", function ()
    assert(client:apply(deployment(1)))
    local patched = assert(client:patch("Deployment", "d", { spec = { replicas = 2 } },
                                        { namespace = "default", type = "strategic" }))
    assert.equal(2, patched.spec.replicas)
    local value, e = client:patch("Deployment", "d", { spec = { selector = {
      matchLabels = { app = "other" } } } }, { namespace = "default", type = "merge" })
    assert.is_nil(value)
    assert.equal("Invalid", e.code)
  end)
end)
