--- How the KubeRay operator behaves, once its Deployment is available: head pod, worker pods, head
-- service and status of each RayCluster. An edit of a template on live pods is ignored, as there.

local array = require "rtl.array"
local owned = require "rtl.rehearse.kube.owned"
local pods = require "rtl.rehearse.kube.pods"
local quantity = require "rtl.rehearse.kube.quantity"
local store_module = require "rtl.rehearse.kube.store"

local M = {}

local copy = store_module.copy

local function environment_of(deployment)
  local out = {}
  for _, entry in ipairs(deployment.spec.template.spec.containers[1].env or {}) do
    out[entry.name] = entry.value
  end
  return out
end

-- The environment of the running operator, or nil while none runs.
local function running(kube)
  for _, deployment in ipairs(kube.store:list(kube.store:of_kind "Deployment")) do
    local image = deployment.spec.template.spec.containers[1].image or ""
    if image:find("kuberay", 1, true) and (deployment.status or {}).availableReplicas then
      return environment_of(deployment)
    end
  end
  return nil
end

local function cluster_pods(kube, cluster)
  local list = {}
  for _, pod in ipairs(owned.pods_of(kube, cluster)) do
    if not pod.metadata.deletionTimestamp then list[#list + 1] = pod end
  end
  return list
end

local function in_group(list, group)
  local out = {}
  for _, pod in ipairs(list) do
    if pod.metadata.labels["ray.io/group"] == group then out[#out + 1] = pod end
  end
  return out
end

local function service_name(cluster)
  return cluster.metadata.name:sub(1, 50) .. "-head-svc"
end

local function head_address(cluster)
  return ("%s.%s.svc.cluster.local"):format(service_name(cluster), cluster.metadata.namespace)
end

local PORTS = { { "client", 10001 }, { "gcs-server", 6379 }, { "dashboard", 8265 },
                { "metrics", 8080 }, { "serve", 8000 } }

local function service_ports(cluster)
  local declared = cluster.spec.headGroupSpec.template.spec.containers[1].ports or {}
  local ports, has_metrics = array {}, false
  for _, port in ipairs(declared) do
    ports[#ports + 1] = { name = port.name or port.containerPort .. "-port",
                          port = port.containerPort, targetPort = port.containerPort,
                          protocol = "TCP" }
    if port.name == "metrics" then has_metrics = true end
  end
  if #ports == 0 then
    for i, row in ipairs(PORTS) do
      ports[i] = { name = row[1], port = row[2], targetPort = row[2], protocol = "TCP" }
    end
  elseif not has_metrics then
    ports[#ports + 1] = { name = "metrics", port = 8080, targetPort = 8080, protocol = "TCP" }
  end
  return ports
end

local function labels_of(cluster, kind, group)
  local name = cluster.metadata.name
  return { ["ray.io/cluster"] = name, ["ray.io/group"] = group, ["ray.io/is-ray-node"] = "yes",
           ["ray.io/node-type"] = kind, ["ray.io/identifier"] = name .. "-" .. kind,
           ["app.kubernetes.io/name"] = "kuberay",
           ["app.kubernetes.io/created-by"] = "kuberay-operator" }
end

local function make_service(kube, cluster)
  local services = kube.store:of_kind "Service"
  if kube.store:get(services, cluster.metadata.namespace, service_name(cluster)) then return end
  local labels = labels_of(cluster, "head", "headgroup")
  kube.store:create(services, {
    metadata = { name = service_name(cluster), namespace = cluster.metadata.namespace,
                 labels = copy(labels), ownerReferences = owned.reference(cluster) },
    spec = { clusterIP = "None", clusterIPs = array { "None" }, type = "ClusterIP",
             publishNotReadyAddresses = true, ports = service_ports(cluster),
             selector = { ["ray.io/cluster"] = labels["ray.io/cluster"],
                          ["ray.io/node-type"] = "head",
                          ["ray.io/identifier"] = labels["ray.io/identifier"] } } })
end

local function set_env(container, name, value)
  container.env = container.env or array {}
  for _, entry in ipairs(container.env) do
    if entry.name == name then return end
  end
  container.env[#container.env + 1] = { name = name, value = value }
end

local function start_command(cluster, group, container, kind)
  local words = { "ray start" }
  local function flag(text) words[#words + 1] = text end
  if kind == "head" then flag "--head --dashboard-host=0.0.0.0" end
  flag "--metrics-export-port=8080 --dashboard-agent-listen-port=52365 --block"
  if kind == "worker" then flag("--address=" .. head_address(cluster) .. ":6379") end
  local parameters, limits = group.rayStartParams or {}, (container.resources or {}).limits or {}
  local names = {}
  for name in pairs(parameters) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do flag(("--%s=%s"):format(name, parameters[name])) end
  if not parameters["num-cpus"] and limits.cpu then
    flag(("--num-cpus=%d"):format(math.ceil(quantity.value(limits.cpu))))
  end
  if not parameters["num-gpus"] and limits["nvidia.com/gpu"] then
    flag("--num-gpus=" .. limits["nvidia.com/gpu"])
  end
  return "ulimit -n 65536; " .. table.concat(words, " ")
end

local function mounts_shm(container)
  for _, mount in ipairs(container.volumeMounts or {}) do
    if mount.mountPath == "/dev/shm" then return true end
  end
  return false
end

local function add_shared_memory(spec, container)
  if mounts_shm(container) then return end
  local resources = container.resources or {}
  local size = (resources.limits or {}).memory or (resources.requests or {}).memory
  spec.volumes = spec.volumes or array {}
  spec.volumes[#spec.volumes + 1] = { name = "shared-mem",
                                      emptyDir = { medium = "Memory", sizeLimit = size } }
  container.volumeMounts = container.volumeMounts or array {}
  container.volumeMounts[#container.volumeMounts + 1] = { name = "shared-mem",
                                                          mountPath = "/dev/shm" }
end

local function wait_container(cluster, container)
  local small = { cpu = "200m", memory = "256Mi" }
  return { name = "wait-gcs-ready", image = container.image,
           imagePullPolicy = container.imagePullPolicy, env = copy(container.env),
           command = array { "/bin/bash", "-c", "--" },
           args = array { ("until ray health-check --address %s:6379; do sleep 5; done")
                          :format(head_address(cluster)) },
           resources = { requests = copy(small), limits = copy(small) } }
end

-- What the operator changes in a pod before it makes it.
local function prepare(cluster, group, kind, inject_wait)
  return function (pod)
    local labels = pod.metadata.labels or {}
    for key, value in pairs(labels_of(cluster, kind, group.groupName or "headgroup")) do
      labels[key] = value
    end
    pod.metadata.labels = labels
    local container = pod.spec.containers[1]
    set_env(container, "RAY_CLUSTER_NAME", cluster.metadata.name)
    set_env(container, "RAY_PORT", "6379")
    set_env(container, "RAY_ADDRESS", (kind == "head" and "127.0.0.1" or head_address(cluster))
            .. ":6379")
    set_env(container, "RAY_USAGE_STATS_KUBERAY_IN_USE", "1")
    if kind == "worker" then set_env(container, "FQ_RAY_IP", head_address(cluster)) end
    if (pod.metadata.annotations or {})["ray.io/overwrite-container-cmd"] ~= "true" then
      container.command = array { "/bin/bash", "-c", "--" }
      container.args = array { start_command(cluster, group, container, kind) }
    end
    add_shared_memory(pod.spec, container)
    if kind == "worker" and inject_wait then
      pod.spec.initContainers = pod.spec.initContainers or array {}
      table.insert(pod.spec.initContainers, wait_container(cluster, container))
    end
  end
end

local function remove_dead(kube, list)
  for _, pod in ipairs(list) do
    if pods.ended(pod) then kube:delete(kube.pods, pod, {}) end
  end
end

-- The head's name is fixed: a new one comes when the old one is gone.
local function make_head(kube, cluster, list)
  if #in_group(list, "headgroup") > 0 then return end
  local name = cluster.metadata.name:sub(1, 50) .. "-head"
  if kube.store:get(kube.pods, cluster.metadata.namespace, name) then return end
  owned.make_pod(kube, cluster, cluster.spec.headGroupSpec.template, name,
                 prepare(cluster, cluster.spec.headGroupSpec, "head"))
end

local function make_workers(kube, cluster, list, environment)
  local inject = environment.ENABLE_INIT_CONTAINER_INJECTION ~= "false"
  for _, group in ipairs(cluster.spec.workerGroupSpecs or {}) do
    local have, wanted = in_group(list, group.groupName), group.replicas or 0
    local name = ("%s-%s"):format(cluster.metadata.name, group.groupName):sub(1, 50) .. "-worker"
    for _ = #have + 1, wanted do
      owned.make_pod(kube, cluster, group.template, owned.name(kube, name),
                     prepare(cluster, group, "worker", inject))
    end
    for i = wanted + 1, #have do kube:delete(kube.pods, have[i], {}) end
  end
end

local function desired(cluster)
  local workers, gpus, minimum, maximum = 0, 0, 0, 0
  for _, group in ipairs(cluster.spec.workerGroupSpecs or {}) do
    local limits = (group.template.spec.containers[1].resources or {}).limits or {}
    workers = workers + (group.replicas or 0)
    minimum = minimum + (group.minReplicas or 0)
    maximum = maximum + (group.maxReplicas or group.replicas or 0)
    gpus = gpus + (group.replicas or 0) * (quantity.value(limits["nvidia.com/gpu"] or 0) or 0)
  end
  return workers, gpus, minimum, maximum
end

local function endpoints_of(cluster)
  local out = {}
  for _, port in ipairs(service_ports(cluster)) do out[port.name] = tostring(port.port) end
  return out
end

local function waiting_reason(pod)
  for _, entry in ipairs(pod and pod.status.containerStatuses or {}) do
    if entry.state.waiting then return entry.state.waiting.reason end
  end
  return "ContainersNotReady"
end

local function set_head_condition(status, head, time)
  if not head then
    pods.set_condition(status, "HeadPodReady", "False", time, "HeadPodNotFound",
                       "Head Pod not found")
  elseif pods.ready(head) then
    pods.set_condition(status, "HeadPodReady", "True", time, "HeadPodRunningAndReady")
  else
    pods.set_condition(status, "HeadPodReady", "False", time, waiting_reason(head))
  end
end

local function set_counts(cluster, status, list)
  local workers, gpus, minimum, maximum = desired(cluster)
  local ready, available = 0, 0
  for _, pod in ipairs(list) do
    if pod.metadata.labels["ray.io/node-type"] == "worker" then
      if pods.ready(pod) then ready = ready + 1 end
      if pod.status.phase == "Running" then available = available + 1 end
    end
  end
  status.desiredWorkerReplicas, status.minWorkerReplicas = workers, minimum
  status.maxWorkerReplicas, status.desiredGPU = maximum, tostring(math.tointeger(gpus) or gpus)
  status.readyWorkerReplicas = ready > 0 and ready or nil
  status.availableWorkerReplicas = available > 0 and available or nil
  return workers, ready
end

local function set_status(kube, resource, cluster, list)
  local head = in_group(list, "headgroup")[1]
  kube.store:edit_status(resource, cluster, function (status, object)
    local time = kube.store:timestamp()
    status.observedGeneration = object.metadata.generation
    set_head_condition(status, head, time)
    local workers, ready = set_counts(cluster, status, list)
    status.endpoints = endpoints_of(cluster)
    status.head = { serviceName = service_name(cluster), podName = head and head.metadata.name,
                    podIP = head and head.status.podIP, serviceIP = head and head.status.podIP }
    local provisioned = pods.condition({ status = status }, "RayClusterProvisioned")
    local all = head and pods.ready(head) and ready == workers and #list == workers + 1
    if all then
      pods.set_condition(status, "RayClusterProvisioned", "True", time,
                         "AllPodRunningAndReadyFirstTime")
      if status.state ~= "ready" then
        status.state = "ready"
        status.stateTransitionTimes = { ready = time }
        status.lastUpdateTime = time
      end
    elseif not provisioned or provisioned.status ~= "True" then
      pods.set_condition(status, "RayClusterProvisioned", "False", time,
                         "RayClusterPodsProvisioning")
    end
  end)
end

local function fault_of(cluster)
  if #cluster.metadata.name > 53 then
    return "InvalidRayClusterMetadata", "RayCluster name should be no more than 53 characters"
  end
  local head = cluster.spec and cluster.spec.headGroupSpec
  if not head or not head.template or not (head.template.spec or {}).containers then
    return "InvalidRayClusterSpec", "headGroupSpec should have at least one container"
  end
  return nil
end

local function refuse(kube, cluster, reason, message)
  kube.refused = kube.refused or {}
  local key = cluster.metadata.uid .. cluster.metadata.generation
  if kube.refused[key] then return end
  kube.refused[key] = true
  kube:event(cluster, "Warning", reason, message)
end

local function cluster_pass(kube, resource, cluster, environment)
  if cluster.metadata.deletionTimestamp then return end
  local reason, message = fault_of(cluster)
  if reason then return refuse(kube, cluster, reason, message) end
  local list = cluster_pods(kube, cluster)
  remove_dead(kube, list)
  make_service(kube, cluster)
  if cluster.spec.suspend then
    for _, pod in ipairs(list) do kube:delete(kube.pods, pod, {}) end
  else
    make_head(kube, cluster, list)
    make_workers(kube, cluster, list, environment)
  end
  set_status(kube, resource, cluster, cluster_pods(kube, cluster))
end

--- One pass over all RayClusters.
function M.pass(kube)
  local resource = kube.store:resource("ray.io", "v1", "rayclusters")
  if not resource then return end
  local clusters = kube.store:list(resource)
  local environment = #clusters > 0 and running(kube)
  if not environment then return end
  for _, cluster in ipairs(clusters) do cluster_pass(kube, resource, cluster, environment) end
end

return M
