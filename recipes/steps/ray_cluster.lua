--- Step 5: the Ray cluster, a head on the system node and one worker on each GPU node.
--
-- It is applied only when every GPU node shows the GPUs and EFA interfaces of its type. Its workers
-- are Guaranteed (requests equal limits in every container), so an own init container waits for
-- the head; the operator's has smaller limits and would spoil that.

local bucket = require "rtl.kinds.bucket"
local iam_role = require "rtl.kinds.iam_role"
local kubernetes_object = require "rtl.kinds.kubernetes_object"
local namespace = require "rtl.kinds.namespace"
local nodes = require "rtl.recipe.nodes"
local pod_identity_association = require "rtl.kinds.pod_identity_association"
local pods = require "rtl.recipe.ray_pods"
local ray_cluster = require "rtl.kinds.ray_cluster"
local value = require "rtl.recipe.value"

local GCS_PORT = 6379
local ACCOUNT = "ray-train" -- the service account of the Ray pods

-- What NCCL and libfabric read in every worker. The pin itself (NCCL_NET) is the job's.
local function transport_env(s)
  return {
    { name = "FI_PROVIDER", value = "efa" },
    { name = "NCCL_NET_PLUGIN", value = "ofi" },
    { name = "NCCL_SOCKET_IFNAME", value = s.nccl_socket_ifname },
    { name = "NCCL_DEBUG", value = s.nccl_debug },
    { name = "RAY_USAGE_STATS_ENABLED", value = "0" },
  }
end

local function same(resources)
  return { requests = resources, limits = resources }
end

local function head(s)
  return {
    serviceType = "ClusterIP",
    rayStartParams = { ["dashboard-host"] = "0.0.0.0", ["num-gpus"] = "0" },
    template = { spec = {
      nodeSelector = { role = "system" },
      containers = { {
        name = "ray-head", image = s.ray_image, imagePullPolicy = "IfNotPresent",
        ports = {
          { name = "gcs-server", containerPort = GCS_PORT },
          { name = "dashboard", containerPort = 8265 },
          { name = "client", containerPort = 10001 },
        },
        -- The image asks for all GPUs; on a node with the NVIDIA runtime the head would get them.
        env = {
          { name = "NVIDIA_VISIBLE_DEVICES", value = "void" },
          { name = "RAY_USAGE_STATS_ENABLED", value = "0" },
        },
        resources = same { cpu = s.head_cpu, memory = s.head_memory },
      } },
    } },
  }
end

-- Waits for the head's port. Ends by itself after ten minutes: the kubelet starts it again, and the
-- pod's state says so, instead of a silent wait for ever.
local WAIT_FOR_HEAD = [[
for i in $(seq 300); do
  (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null && exit 0
  sleep 2
done
echo "no head at $1:$2 after ten minutes" >&2
exit 1]]

local function wait_for_head(s)
  return {
    name = "wait-for-head", image = s.ray_image, imagePullPolicy = "IfNotPresent",
    command = { "bash", "-c", WAIT_FOR_HEAD, "wait-for-head", s.ray_cluster .. "-head-svc",
      tostring(GCS_PORT) },
    env = { { name = "NVIDIA_VISIBLE_DEVICES", value = "void" } },
    resources = same { cpu = "1", memory = "256Mi" },
  }
end

local function worker_resources(s, gpus, efa)
  local resources = { cpu = s.worker_cpu, memory = s.worker_memory,
    ["nvidia.com/gpu"] = tostring(gpus) }
  if efa > 0 then resources["vpc.amazonaws.com/efa"] = tostring(efa) end
  return resources
end

-- One worker a node, even when it takes fewer GPUs than the node has.
local function one_a_node(s)
  return { podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution = { {
    topologyKey = "kubernetes.io/hostname",
    labelSelector = { matchLabels = { ["ray.io/cluster"] = s.ray_cluster,
      ["ray.io/node-type"] = "worker" } },
  } } } }
end

local function worker(s, facts)
  return {
    groupName = "gpu", replicas = s.gpu_count, minReplicas = s.gpu_count,
    maxReplicas = s.gpu_count,
    -- Ray's count of GPUs and the pod's limit come from the same figure.
    rayStartParams = { ["num-gpus"] = tostring(facts.gpus) },
    template = { spec = {
      nodeSelector = { role = "gpu-worker" },
      affinity = one_a_node(s),
      tolerations = {
        { key = "nvidia.com/gpu", operator = "Exists", effect = "NoSchedule" },
        { key = "aws.amazon.com/efa", operator = "Exists", effect = "NoSchedule" },
      },
      initContainers = { wait_for_head(s) },
      containers = { {
        name = "ray-worker", image = s.ray_image, imagePullPolicy = "IfNotPresent",
        env = transport_env(s),
        resources = same(worker_resources(s, facts.gpus, facts.efa)),
        securityContext = s.ipc_lock and { capabilities = { add = { "IPC_LOCK" } } } or nil,
        volumeMounts = { { name = "shm", mountPath = "/dev/shm" } },
      } },
      volumes = { { name = "shm", emptyDir = { medium = "Memory", sizeLimit = s.shm_size } } },
    } },
  }
end

-- ---- checkpoints ----

local function statement(actions, resource)
  return { Effect = "Allow", Action = actions, Resource = resource }
end

-- The least that reading and writing checkpoints takes.
local function checkpoint_policy(store)
  return { Version = "2012-10-17", Statement = {
    statement({ "s3:ListBucket", "s3:GetBucketLocation" }, store.arn),
    statement({ "s3:GetObject", "s3:PutObject", "s3:DeleteObject",
      "s3:AbortMultipartUpload" }, store.arn .. "/*"),
  } }
end

-- A bucket, a role that may use it, and the pods' service account tied to that role.
local function declare_checkpoints(run, space)
  local s = run.settings
  local name = value.given(s.use_bucket) or s.bucket
  local store = run:declare(bucket(name) { bucket_name = name, given = value.given(s.use_bucket) })
  local given = value.given(s.pod_role)
  local role = run:declare(iam_role "pods" { service = "pods.eks.amazonaws.com", given = given,
    boundary = value.given(s.permissions_boundary),
    inline = not given and { checkpoints = checkpoint_policy(store) } or nil })
  local account = run:declare(kubernetes_object "ray-service-account" {
    manifest = { apiVersion = "v1", kind = "ServiceAccount",
      metadata = { name = ACCOUNT, namespace = s.namespace } },
    after = space,
  })
  local tie = run:declare(pod_identity_association "ray" {
    cluster = run:resource("eks_cluster", run.deployment).cluster_name,
    namespace = s.namespace, service_account = ACCOUNT, role_arn = role.arn,
  })
  return { account, tie }
end

-- ---- what is checked on the live pods ----

local function refuse(run, message, hint)
  return run:fail { code = "RTL-STEP-007", message = message, hint = hint }
end

local function is_ready(pod)
  for _, condition in ipairs(pod.status.conditions or {}) do
    if condition.type == "Ready" then return condition.status == "True" end
  end
  return false
end

local function check_pods(run, list, wanted, what)
  if #list ~= wanted then
    return refuse(run, ("%d %s pods instead of %d"):format(#list, what, wanted))
  end
  for _, pod in ipairs(list) do
    if not is_ready(pod) then
      return refuse(run, ("pod %s is not ready: %s"):format(pod.metadata.name,
        pods.trouble(pod) or pod.status.phase))
    end
  end
end

local function check_workers(run, workers)
  local on = {}
  for _, pod in ipairs(workers) do
    local name, node = pod.metadata.name, pod.spec.nodeName
    if pod.status.qosClass ~= "Guaranteed" then
      return refuse(run, ("pod %s is %s, not Guaranteed"):format(name, pod.status.qosClass),
        "A sidecar or init container without limits spoils it")
    elseif on[node] then
      return refuse(run, ("pods %s and %s are on one node"):format(on[node], name))
    end
    on[node] = name
  end
end

-- Ray's own count, from the head: what the job will see.
local function check_ray(run, head_pod)
  local alive = assert(pods.jobs(run, head_pod):nodes())
  local gpus = 0
  for _, node in ipairs(alive) do gpus = gpus + (node.resources_total.GPU or 0) end
  local wanted = run.settings.gpu_count + 1
  if #alive ~= wanted or gpus ~= run.facts.world then
    return refuse(run, ("Ray counts %d nodes and %d GPUs instead of %d and %d"):format(#alive, gpus,
      wanted, run.facts.world))
  end
  return ("Ray counts %d nodes and %d GPUs"):format(#alive, gpus)
end

local function check_versions(run, head_pod)
  local found = pods.versions(run, head_pod)
  if found.ray ~= run.settings.ray_version then
    run:fail { code = "RTL-STEP-008",
      message = ("the container has Ray %s, the setting ray_version says %s"):format(
        found.ray or "none", run.settings.ray_version) }
  end
  run.facts.versions = found
  local parts = {}
  for _, name in ipairs { "ray", "python", "torch", "torchvision", "cuda", "nccl" } do
    parts[#parts + 1] = ("%s %s"):format(name, found[name] or "absent")
  end
  return table.concat(parts, ", ")
end

return {
  title   = "Start the Ray cluster",
  creates = "namespace, RayCluster: head on the system node, worker on each GPU node",

  summary = function (run)
    local s = run.settings
    return { ("Image    %s, Ray %s"):format(s.ray_image, s.ray_version) }
  end,

  resources = function (run)
    local s = run.settings
    local space = run:declare(namespace(s.namespace) { after = nodes.after(run, "system") })
    local after = { space, run:resource("helm_release", "kuberay-operator"),
      run:resource("gpu_nodes", "all") }
    local groups = { head(s), worker(s, run.facts) }
    if (s.bucket ~= "" or s.use_bucket ~= "") and run:has_aws() then
      local ready = declare_checkpoints(run, space)
      table.move(ready, 1, #ready, #after + 1, after)
      for _, group in ipairs(groups) do group.template.spec.serviceAccountName = ACCOUNT end
    end
    run:declare(ray_cluster(s.ray_cluster) {
      namespace = s.namespace, workers = s.gpu_count,
      manifest = { apiVersion = "ray.io/v1", kind = "RayCluster", metadata = {}, spec = {
        rayVersion = s.ray_version, enableInTreeAutoscaling = false,
        headGroupSpec = groups[1], workerGroupSpecs = { groups[2] },
      } },
      after = after,
    })
  end,

  verify = function (run)
    local s = run.settings
    local head_pods, workers = pods.list(run, "head"), pods.list(run, "worker")
    check_pods(run, head_pods, 1, "head")
    check_pods(run, workers, s.gpu_count, "worker")
    check_workers(run, workers)
    local digest = pods.image_digest(workers[1])
    run:save("image.txt", ("%s\n%s\n"):format(s.ray_image, digest or "digest unknown"))
    return {
      ("%d pods ready, workers Guaranteed and on nodes of their own"):format(1 + #workers),
      check_ray(run, head_pods[1]), check_versions(run, head_pods[1]),
      ("image %s"):format(digest or "without a digest"),
    }
  end,
}
