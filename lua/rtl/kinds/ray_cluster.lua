--- A RayCluster. A changed manifest is a replace: the operator ignores the edit of a living one.
-- Ready means more than its status says: every pod there, ready and Guaranteed.
-- ray_cluster "ray-train-cluster" { namespace = "ray-train", manifest = {…RayCluster…},
--   workers = 2 } → head_pod, worker_pods, image_id

local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local json = require "rtl.native.json"
local kind = require "rtl.plan.kind"
local kube = require "rtl.kinds.kube"
local support = require "rtl.kinds.support"

local KIND = "ray.io/v1/RayCluster"
local DIGEST = "rtl/digest"

local function digest(f)
  return crypto.sha256_hex(json.encode(f.manifest.spec)):sub(1, 32)
end

local function manifest(ctx, res, f)
  local object = kube.label(ctx, f.manifest)
  object.apiVersion = object.apiVersion or "ray.io/v1"
  object.kind = object.kind or "RayCluster"
  object.metadata.name = res.name
  object.metadata.namespace = f.namespace
  local annotations = { [DIGEST] = digest(f) }
  for key, value in pairs(f.manifest.metadata.annotations or {}) do annotations[key] = value end
  object.metadata.annotations = annotations
  return object
end

local function pods_of(client, res, f)
  local list, failure = client:list("Pod", { namespace = f.namespace,
    labels = "ray.io/cluster=" .. res.name })
  if not list then return nil, failure end
  local pods = { workers = {} }
  for _, pod in ipairs(list.items) do
    local part = (pod.metadata.labels or {})["ray.io/node-type"]
    if not pod.metadata.deletionTimestamp then
      if part == "head" then pods.head = pod end
      if part == "worker" then table.insert(pods.workers, pod) end
    end
  end
  table.sort(pods.workers, function (a, b) return a.metadata.name < b.metadata.name end)
  return pods
end

local function image_id(pod)
  local status = pod and pod.status and pod.status.containerStatuses
  return status and status[1] and status[1].imageID
end

local function names(pods)
  local list = {}
  for _, pod in ipairs(pods) do list[#list + 1] = pod.metadata.name end
  return list
end

-- The first thing that keeps the pods from being ready, as text; nil when they are.
local function pods_unready(pods, workers)
  local all = table.move(pods.workers, 1, #pods.workers, 2, { pods.head })
  for _, pod in ipairs(all) do
    local reason = kube.pod_reason(pod)
    if reason then return ("pod %s: %s"):format(pod.metadata.name, reason) end
  end
  if #pods.workers < workers then return ("%d of %d workers"):format(#pods.workers, workers) end
end

-- The first thing that keeps the cluster from being ready, as text; nil when it is.
local function unready(object, pods, workers)
  if (object.status or {}).observedGeneration ~= object.metadata.generation then
    return "the operator has not seen it yet"
  end
  if not pods.head then
    return select(2, kube.condition(object, "HeadPodReady")) or "no head pod yet"
  end
  local reason = pods_unready(pods, workers)
  if reason then return reason end
  if not kube.condition(object, "HeadPodReady") then return "head pod not ready" end
  local counted = object.status.readyWorkerReplicas or 0
  if counted < workers then return ("%d of %d workers ready"):format(counted, workers) end
end

-- Decided at once: the class of a pod is fixed when it is made.
local function wrong_class(pods)
  for _, pod in ipairs(table.move(pods.workers, 1, #pods.workers, 2, { pods.head })) do
    local class = pod.status and pod.status.qosClass
    if class and class ~= "Guaranteed" then
      return ("pod %s is %s, not Guaranteed"):format(pod.metadata.name, class)
    end
  end
end

local function invalid(client, res, f)
  local list = client:list("Event", { namespace = f.namespace,
    fields = "involvedObject.name=" .. res.name })
  for _, event in ipairs(list and list.items or {}) do
    if event.type == "Warning" and (event.reason or ""):match("^Invalid") then
      return ("%s: %s"):format(event.reason, event.message or "")
    end
  end
end

local function live_of(ctx, res, f, object, pods)
  local workers = f.workers or #pods.workers
  return { id = f.namespace .. "/" .. res.name, namespace = f.namespace,
    digest = (object.metadata.annotations or {})[DIGEST], ours = kube.is_ours(ctx, object),
    head_pod = pods.head and pods.head.metadata.name, worker_pods = names(pods.workers),
    image_id = image_id(pods.head), ready = unready(object, pods, workers) == nil }
end

-- The one that our ledger has in another namespace, if it lives: it goes first, since it holds the
-- GPUs that the new one needs.
local function elsewhere(ctx, res, f)
  local entry = ctx.ledger and ctx.ledger:state()[res.key]
  local lives = entry and (entry.state == "made" or entry.state == "deleting")
  local namespace = lives and (entry.outputs or {}).namespace
  if not namespace or namespace == f.namespace then return nil end
  local object, failure = kube.get(ctx, KIND, res.name, namespace)
  if not object or object.metadata.deletionTimestamp or not kube.is_ours(ctx, object) then
    return nil, failure
  end
  return { id = namespace .. "/" .. res.name, namespace = namespace, ours = true }
end

local function read(ctx, res, f)
  local object, failure = kube.get(ctx, KIND, res.name, f.namespace)
  if not object and not failure then return elsewhere(ctx, res, f) end
  if not object or object.metadata.deletionTimestamp then return nil, failure end
  if not kube.is_ours(ctx, object) then
    return nil, support.stranger(res, "RayCluster " .. res.name)
  end
  local pods, refused = pods_of(ctx:k8s(), res, f)
  if not pods then return nil, refused end
  local live = live_of(ctx, res, f, object, pods)
  live.failed = wrong_class(pods)
  return live
end

local function diff(_, _, f, live)
  if live.namespace ~= f.namespace then
    return { { field = "namespace", want = f.namespace, have = live.namespace } }
  end
  if live.digest == digest(f) then return {} end
  return { { field = "manifest", want = digest(f), have = live.digest } }
end

local function create(ctx, res, f)
  local client, failure = ctx:k8s()
  if not client then return nil, failure end
  local object, refused = client:apply(manifest(ctx, res, f), { manager = "rtl" })
  if not object then return nil, refused end
  return { id = f.namespace .. "/" .. res.name, namespace = f.namespace, digest = digest(f) }
end

local function look(ctx, res, f)
  local client, failure = ctx:k8s()
  if not client then return nil, failure end
  local pods, unread = pods_of(client, res, f)
  if not pods then return nil, unread end
  local class = wrong_class(pods)
  if class then
    return nil, err.new { code = "RTL-PLAN-023", doing = res.key, message = class,
      hint = "Requests must equal limits in every container, init containers too" }
  end
  -- Most looks end here: the pods say more, and earlier, than the cluster's status.
  local reason = pods.head and pods_unready(pods, f.workers)
  if reason then return false, reason end
  local object, refused = client:get(KIND, res.name, { namespace = f.namespace })
  if not object then return nil, refused end
  reason = unready(object, pods, f.workers)
  if not reason then return live_of(ctx, res, f, object, pods) end
  local problem = not pods.head and invalid(client, res, f)
  if problem then
    return nil, err.new { code = "RTL-PLAN-023", doing = res.key, message = problem }
  end
  return false, reason
end

local function wait(ctx, res, f)
  return support.wait({ ctx = ctx, res = res, every = 10, limit = 3600, what = "ready" },
    function () return look(ctx, res, f) end)
end

-- The pods, too: they hold the GPUs until they are gone.
local function wait_pods(ctx, client, item, namespace, name)
  return support.wait({ ctx = ctx, res = item, every = 3, limit = 600, what = "pods deleted" },
    function ()
      local list, failure = client:list("Pod", { namespace = namespace,
        labels = "ray.io/cluster=" .. name })
      if not list then return nil, failure end
      return #list.items == 0, ("%d pod%s left"):format(#list.items,
        #list.items == 1 and "" or "s")
    end)
end

local function delete(ctx, item)
  local namespace, name = item.id:match("^(.-)/(.*)$")
  local done, failure = kube.delete_and_wait(ctx, item, KIND, name, namespace)
  if not done then return nil, failure end
  return kube.delete(ctx, function (client)
    return wait_pods(ctx, client, item, namespace, name)
  end)
end

return kind.define {
  name = "ray_cluster",
  outputs = { "head_pod", "worker_pods", "image_id", "namespace" },
  fields = { namespace = "string", manifest = "table", workers = "integer" },
  identity = { "namespace" },
  reads_with = { "manifest" },
  read = read,
  diff = diff,
  replace_when = { "manifest", "namespace" },
  goes_first = true, -- one of another name waits for the GPUs that its pods hold
  create = create,
  delete = delete,
  tokened = true,
  ready = { wait = wait, usual = 240, delete_usual = 30 },
  holder = kube.in_cluster,
  depends = { "namespace", "helm_release", "node_group", "eks_cluster", "kubernetes_object" },
  find = function (ctx)
    local list = {}
    for _, object in ipairs(kube.ours(ctx, KIND)) do
      local meta = object.metadata
      list[#list + 1] = { id = meta.namespace .. "/" .. meta.name, name = meta.name,
        outputs = { namespace = meta.namespace } }
    end
    return list
  end,
  actions = {},
}
