local context = require "rtl.plan.context"
local err = require "rtl.err"
local field_owner = require "rtl.kinds.field_owner"
local gpu_nodes = require "rtl.kinds.gpu_nodes"
local kube = require "rtl.kinds.kube"
local load_balancer = require "rtl.kinds.load_balancer"
local namespace = require "rtl.kinds.namespace"
local ray_cluster = require "rtl.kinds.ray_cluster"
local task = require "rtl.task"
local toy = require "test.support.toy"

-- A Kubernetes of tables: kind → array of objects. `acts` counts what is changed.
local function kubernetes(objects, options)
  options = options or {}
  local acts = {}
  local client = {}
  local function find(kind, name)
    for i, object in ipairs(objects[kind] or {}) do
      if object.metadata.name == name then return object, i end
    end
  end
  function client.get(_, kind, name)
    if options.down then return nil, err.new { code = "RTL-NET-002", message = "refused" } end
    local object = find(kind, name)
    if object then return object end
    return nil, err.new { code = "NotFound", message = name, status = 404 }
  end
  function client.list(_, kind)
    if options.down then return nil, err.new { code = "RTL-NET-002", message = "refused" } end
    return { items = objects[kind] or {} }
  end
  function client.apply(_, object)
    acts[#acts + 1] = "apply " .. object.kind .. " " .. object.metadata.name
    return object
  end
  function client.patch(_, kind, name, patch)
    if options.no_patch then return nil, err.new { code = "Forbidden", message = name } end
    acts[#acts + 1] = "patch " .. kind .. " " .. name
    return patch
  end
  function client.delete(self, kind, name)
    acts[#acts + 1] = "delete " .. kind .. " " .. name
    local object, at = find(kind, name)
    if not object then return self:get(kind, name) end
    table.remove(objects[kind], at)
    return true
  end
  return client, acts
end

local function context_of(client, ledger)
  return context.new { deployment = "toy", region = "r", ledger = ledger,
    k8s = function () return client end }
end

describe("the Kubernetes kinds", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  local function node(name, gpus, efa, ready)
    return { metadata = { name = name }, status = {
      conditions = { { type = "Ready", status = ready or "True" } },
      allocatable = { ["nvidia.com/gpu"] = gpus, ["vpc.amazonaws.com/efa"] = efa } } }
  end

  local NODES = { labels = { role = "gpu-worker" }, count = 2,
    allocatable = { ["nvidia.com/gpu"] = 4, ["vpc.amazonaws.com/efa"] = 1 } }

  local function look(...)
    local ctx = context_of((kubernetes { Node = { ... } }))
    return task.run(gpu_nodes.create, ctx, gpu_nodes "all" (NODES), NODES)
  end

  it("take nodes that offer exactly what their type has", function ()
    assert.same({ "a", "b" }, look(node("b", "4", "1"), node("a", "4", "1")).node_names)
  end)

  it("name the node and the resource that is short, missing or too much", function ()
    for _, case in ipairs { { node("b", "4", nil), "node b offers 0 of 1 vpc.amazonaws.com/efa" },
      { node("b", "2", "1"), "node b offers 2 of 4 nvidia.com/gpu" },
      { node("b", "8", "1"), "node b offers 8 of 4 nvidia.com/gpu" },
      { node("b", "4", "1", "False"), "node b is not ready" } } do
      local live, failure = look(node("a", "4", "1"), case[1])
      assert.is_nil(live)
      assert.equal("RTL-PLAN-022", failure.code)
      assert.matches(case[2], tostring(failure), 1, true)
    end
    local _, failure = look(node("a", "4", "1"))
    assert.matches("1 of 2 nodes", tostring(failure))
  end)

  it("leave a namespace alone that somebody else made", function ()
    local client, acts = kubernetes { Namespace = { { metadata = { name = "ray-train" } } } }
    local ctx = context_of(client)
    local res = namespace "ray-train" {}
    local live = task.run(namespace.read, ctx, res, {})
    assert.is_false(live.ours)
    assert.same({}, namespace.diff(ctx, res, {}, live))
    assert.same({}, acts)
    assert.same({}, task.run(namespace.find, context_of((kubernetes {}))))
  end)

  local FIELDS = { namespace = "ray-train", workers = 2, manifest = {
    metadata = { name = "ray" }, spec = { rayVersion = "2" } } }

  local function pod(name, part, class, ready)
    return { metadata = { name = name, labels = { ["ray.io/node-type"] = part } }, status = {
      qosClass = class, conditions = { { type = "Ready", status = ready and "True" or "False" } },
      containerStatuses = { { name = "ray", imageID = "img@sha256:1", state = {
        waiting = not ready and { reason = "ImagePullBackOff", message = "no such image" } or nil
      } } } } }
  end

  local function cluster(workers_ready)
    return { metadata = { name = "ray", namespace = "ray-train", generation = 1,
      labels = { ["rtl/deployment"] = "toy" } }, status = { observedGeneration = 1,
      readyWorkerReplicas = workers_ready, conditions = { { type = "HeadPodReady",
        status = "True" } } } }
  end

  local function wait(pods, workers_ready)
    local ctx = context_of((kubernetes { Pod = pods,
      ["ray.io/v1/RayCluster"] = { cluster(workers_ready) } }))
    return task.run(ray_cluster.ready.wait, ctx, ray_cluster "ray" (FIELDS), FIELDS)
  end

  it("take a RayCluster for ready when every pod is there, ready and Guaranteed", function ()
    local live = wait({ pod("h", "head", "Guaranteed", true),
      pod("w2", "worker", "Guaranteed", true), pod("w1", "worker", "Guaranteed", true) }, 2)
    assert.equal("h", live.head_pod)
    assert.same({ "w1", "w2" }, live.worker_pods)
    assert.equal("img@sha256:1", live.image_id)
  end)

  it("end at once when a pod is not Guaranteed: that never changes", function ()
    local live, failure = wait({ pod("h", "head", "Guaranteed", true),
      pod("w1", "worker", "Burstable", false) }, 0)
    assert.is_nil(live)
    assert.equal("RTL-PLAN-023", failure.code)
    assert.matches("pod w1 is Burstable", failure.message)
  end)

  it("say of a pod that is late why", function ()
    local _, failure = wait({ pod("h", "head", "Guaranteed", true),
      pod("w1", "worker", "Guaranteed", false) }, 0)
    assert.equal("RTL-PLAN-014", failure.code)
    assert.matches("pod w1: ray: no such image", failure.message)
  end)

  it("replace a RayCluster whose manifest changed, and refuse one that is not ours", function ()
    for field, live in pairs { manifest = { digest = "other", namespace = FIELDS.namespace },
      namespace = { namespace = "another" } } do
      local changes = ray_cluster.diff({}, ray_cluster "ray" (FIELDS), FIELDS, live)
      assert.equal(field, changes[1].field)
    end
    assert.same({ "manifest", "namespace" }, ray_cluster.replace_when)
    local strange = cluster(2)
    strange.metadata.labels = {}
    local ctx = context_of((kubernetes { ["ray.io/v1/RayCluster"] = { strange } }))
    local found, failure = task.run(ray_cluster.read, ctx, ray_cluster "ray" (FIELDS), FIELDS)
    assert.is_nil(found)
    assert.equal("RTL-PLAN-005", failure.code)
  end)

  local FOUND = { { kind_name = "eks_cluster", id = "toy" } }

  it("find load balancers in a cluster of ours only, and wait until they are gone", function ()
    local client, acts = kubernetes { Service = {
      { metadata = { name = "web", namespace = "x" }, spec = { type = "LoadBalancer" } },
      { metadata = { name = "head", namespace = "x" }, spec = { type = "ClusterIP" } } } }
    local ctx = context_of(client)
    assert.same({}, task.run(load_balancer.find_inside, ctx, {}))
    local list = task.run(load_balancer.find_inside, ctx, FOUND)
    assert.equal(1, #list)
    assert.equal("x/web", list[1].id)
    assert.is_true(task.run(load_balancer.delete, ctx, { id = "x/web", key = "load_balancer/x/web",
      kind = load_balancer, kind_name = "load_balancer", outputs = {} }))
    assert.same({ "delete Service web" }, acts)
  end)

  local function volume(name, space, policy)
    return { metadata = { name = name }, spec = { persistentVolumeReclaimPolicy = policy,
      claimRef = space and { namespace = space, name = "c" } } }
  end

  it("let the volumes of a namespace's claims outlive it, unless data is to go", function ()
    local function delete(purge, options)
      local client, acts = kubernetes({ Namespace = { { metadata = { name = "x" } } },
        PersistentVolume = { volume("a", "x", "Delete"), volume("b", "x", "Retain"),
          volume("c", "other", "Delete"), volume("d", nil, "Delete") } }, options)
      local done, failure = task.run(namespace.delete, context_of(client), { id = "x",
        key = "namespace/x", kind = namespace, kind_name = "namespace", outputs = {},
        purge = purge })
      return acts, done, failure
    end
    assert.same({ "patch PersistentVolume a", "delete Namespace x" }, (delete()))
    assert.same({ "delete Namespace x" }, (delete(true)))
    local acts, done, failure = delete(nil, { no_patch = true })
    assert.same({}, acts)
    assert.is_nil(done)
    assert.equal("Forbidden", failure.code)
  end)

  it("go with their cluster when nobody answers there any more", function ()
    local ledger = { state = function ()
      return { ["eks_cluster/toy"] = { kind = "eks_cluster", state = "deleting" } }
    end }
    local item = { id = "ray-train/ray", key = "ray_cluster/ray", kind = ray_cluster,
      kind_name = "ray_cluster", outputs = {} }
    local client = kubernetes({}, { down = true })
    assert.is_true(task.run(ray_cluster.delete, context_of(client, ledger), item))
    local gone, failure = task.run(ray_cluster.delete, context_of(client), item)
    assert.is_nil(gone)
    assert.equal("RTL-NET-002", failure.code)
    assert.same({}, task.run(load_balancer.find_inside, context_of(client), FOUND))
  end)
end)

describe("why a pod is not ready", function ()
  local function reason(status)
    status.conditions = { { type = "Ready", status = "False" } }
    return kube.pod_reason { metadata = { name = "p" }, status = status }
  end

  it("is what its containers wait for, or what ended them before", function ()
    assert.equal("a: no such image", reason { phase = "Pending", containerStatuses = { { name = "a",
      state = { waiting = { reason = "ErrImagePull", message = "no such image" } } } } })
    assert.equal("a was started again 5 times; it ended with Error (exit code 1)",
      reason { phase = "Running", containerStatuses = { { name = "a", restartCount = 5,
        state = { running = {} }, lastState = { terminated = { reason = "Error", exitCode = 1 } } }
      } })
    assert.equal("Running", reason { phase = "Running" })
    assert.is_nil(kube.pod_reason { metadata = {}, status = { phase = "Running",
      conditions = { { type = "Ready", status = "True" } } } })
  end)
end)

describe("the owner of fields", function ()
  local object = { apiVersion = "apps/v1", kind = "DaemonSet", metadata = { name = "d" } }

  local function patched(entries)
    local patch
    local client = {
      get = function ()
        return { metadata = { name = "d", resourceVersion = "7", managedFields = entries } }
      end,
      patch = function (_, kind, name, operations, options)
        patch = { kind, name, options.type, operations[2].value, operations[1].value }
        return {}
      end,
    }
    assert(field_owner.take_over(client, object, "n", "helm"))
    return patch
  end

  local function entry(manager, operation, fields, subresource)
    return { manager = manager, operation = operation, fieldsV1 = fields,
      subresource = subresource }
  end

  it("of an apply gets what the same manager wrote by patches", function ()
    local patch = patched {
      entry("helm", "Apply", { ["f:spec"] = { ["f:a"] = {} } }),
      entry("kcm", "Update", { ["f:status"] = {} }, "status"),
      entry("helm", "Update", { ["f:spec"] = { ["f:b"] = {} }, ["f:metadata"] = {} }),
    }
    assert.same({ "apps/v1/DaemonSet", "d", "json", "7", {
      entry("helm", "Apply", { ["f:spec"] = { ["f:a"] = {}, ["f:b"] = {} }, ["f:metadata"] = {} }),
      entry("kcm", "Update", { ["f:status"] = {} }, "status"),
    } }, patch)
  end)

  it("becomes one where there was no apply yet; without patches nothing is done", function ()
    assert.same({ entry("helm", "Apply", { ["f:spec"] = {} }) },
      patched({ entry("helm", "Update", { ["f:spec"] = {} }) })[5])
    assert.is_nil(patched { entry("helm", "Apply", {}), entry("kubectl", "Update", {}) })
    assert.is_nil(patched(nil))
  end)
end)
