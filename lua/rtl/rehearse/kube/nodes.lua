--- Nodes: how a machine joins, gets ready, shows its devices and leaves.

local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local pods = require "rtl.rehearse.kube.pods"

local M = {}

local function reserved_cpu(vcpu)
  local milli = 0
  for i = 1, vcpu do
    milli = milli + (i == 1 and 60 or i == 2 and 10 or i <= 4 and 5 or 2.5)
  end
  return math.floor(milli)
end

-- Capacity and allocatable as a kubelet on Amazon Linux 2023 reckons them.
local function resources_of(machine)
  local memory_ki = math.floor(machine.memory_gib * 1048576 * 0.966)
  local system_ki = (255 + 11 * machine.max_pods + 100) * 1024
  local capacity = {
    cpu = tostring(machine.vcpu), memory = memory_ki .. "Ki", pods = tostring(machine.max_pods),
    ["ephemeral-storage"] = math.floor(machine.disk_gib * 1048576 * 0.995) .. "Ki",
    ["hugepages-1Gi"] = "0", ["hugepages-2Mi"] = machine.efa > 0 and "10256Mi" or "0",
  }
  local allocatable = {}
  for name, value in next, capacity do allocatable[name] = value end
  allocatable.cpu = (machine.vcpu * 1000 - reserved_cpu(machine.vcpu)) .. "m"
  local huge_ki = machine.efa > 0 and 10256 * 1024 or 0
  allocatable.memory = (memory_ki - system_ki - huge_ki) .. "Ki"
  allocatable["ephemeral-storage"] = tostring(math.floor(machine.disk_gib * 1073741824 * 0.89))
  return capacity, allocatable
end

local function labels_of(kube, machine)
  local labels = {
    ["kubernetes.io/arch"] = "amd64", ["kubernetes.io/os"] = "linux",
    ["kubernetes.io/hostname"] = machine.host_name,
    ["node.kubernetes.io/instance-type"] = machine.type,
    ["topology.kubernetes.io/region"] = kube.region,
    ["topology.kubernetes.io/zone"] = machine.zone,
    ["topology.k8s.aws/zone-id"] = machine.zone_id,
    ["eks.amazonaws.com/nodegroup"] = machine.group,
    ["eks.amazonaws.com/nodegroup-image"] = machine.image_id,
    ["eks.amazonaws.com/capacityType"] = "ON_DEMAND",
  }
  for key, value in next, machine.labels or {} do labels[key] = value end
  return labels
end

local function condition(kind, status, reason, time)
  return { type = kind, status = status, reason = reason, lastTransitionTime = time,
           lastHeartbeatTime = time, message = reason }
end

local NOT_READY = { key = "node.kubernetes.io/not-ready", effect = "NoSchedule" }

local function object_of(kube, machine)
  local capacity, allocatable = resources_of(machine)
  local time = kube.store:timestamp()
  local taints = array { NOT_READY }
  for _, taint in ipairs(machine.taints or {}) do taints[#taints + 1] = taint end
  return {
    metadata = { name = machine.host_name, labels = labels_of(kube, machine), annotations = {} },
    spec = { providerID = ("aws:///%s/%s"):format(machine.zone, machine.id), taints = taints },
    status = {
      capacity = capacity, allocatable = allocatable,
      addresses = array { { type = "InternalIP", address = machine.address },
                          { type = "Hostname", address = machine.host_name } },
      conditions = array { condition("MemoryPressure", "False", "KubeletHasSufficientMemory", time),
                           condition("DiskPressure", "False", "KubeletHasNoDiskPressure", time),
                           condition("Ready", "False", "KubeletNotReady", time) },
      nodeInfo = { kubeletVersion = ("v%s.2-eks-a1b2c3d"):format(kube.version),
                   containerRuntimeVersion = "containerd://2.1.4", operatingSystem = "linux",
                   osImage = "Amazon Linux 2023.9.20261110", architecture = "amd64",
                   kernelVersion = "6.12.55-74.119.amzn2023.x86_64",
                   systemUUID = chance.uuid(kube.world.seed, machine.id) },
    },
  }
end

--- A machine registers. `machine`: id, host_name, address, type, zone, zone_id, group, vcpu,
-- memory_gib, disk_gib, gpus, efa (EFA interfaces that it was started with), max_pods, image_id,
-- labels, taints.
function M.join(kube, machine)
  kube.machines[machine.host_name] = machine
  kube.images_on[machine.host_name] = {}
  kube.address_of[machine.host_name] = machine.address
  kube.store:create(kube.nodes, object_of(kube, machine))
end

--- An image of { names, sizeBytes } is on a node now, as the kubelet reports it.
function M.add_image(kube, name, image)
  local node = kube.store:get(kube.nodes, nil, name)
  if not node then return end
  kube.store:edit_status(kube.nodes, node, function (status)
    local list = array(table.move(status.images or {}, 1, #(status.images or {}), 1, {}))
    list[#list + 1] = image
    status.images = list
  end)
end

--- A machine is gone: its pods and its node object too.
function M.leave(kube, host_name)
  for _, pod in ipairs(kube.store:list(kube.pods)) do
    if pod.spec.nodeName == host_name then kube.store:remove(kube.pods, pod) end
  end
  local node = kube.store:get(kube.nodes, nil, host_name)
  if node then kube.store:remove(kube.nodes, node) end
  kube.machines[host_name], kube.images_on[host_name] = nil, nil
end

--- Whether a node is Ready.
function M.ready(node)
  local found = pods.condition(node, "Ready")
  return found ~= nil and found.status == "True"
end

--- Makes a node Ready, as the kubelet does when the CNI is there.
function M.get_ready(kube, name)
  local node = kube.store:get(kube.nodes, nil, name)
  if not node or M.ready(node) then return end
  kube.store:edit(kube.nodes, node, function (copy)
    pods.set_condition(copy.status, "Ready", "True", kube.store:timestamp(), "KubeletReady",
                       "kubelet is posting ready status")
    local kept = array {}
    for _, taint in ipairs(copy.spec.taints) do
      if taint.key ~= NOT_READY.key then kept[#kept + 1] = taint end
    end
    copy.spec.taints = #kept > 0 and kept or nil
  end)
end

--- Sets how many devices of a resource a node shows; capacity stays when they become unhealthy.
function M.set_devices(kube, name, resource, count, unhealthy)
  local node = kube.store:get(kube.nodes, nil, name)
  if not node then return end
  kube.store:edit_status(kube.nodes, node, function (status)
    if not unhealthy then status.capacity[resource] = tostring(count) end
    status.allocatable[resource] = tostring(count)
  end)
end

local GPU, EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"

-- What a plugin's pod lets its node show: the resource and the field of the machine that counts it.
local function plugin_of(pod)
  local image = pod.spec.containers[1].image
  if image:find("efa-k8s-device-plugin", 1, true) then return EFA, "efa" end
  if image:find("k8s-device-plugin", 1, true) then return GPU, "gpus" end
  return nil
end

--- A pod got ready on a node: the CNI lets the node get ready, a device plugin registers.
function M.pod_ready(kube, pod)
  local name = pod.spec.nodeName
  local machine = kube.machines[name]
  if not machine then return end
  if pod.spec.containers[1].image:find("amazon-k8s-cni", 1, true) then
    kube.world:after(kube.world:spread(1, 3, "cni", name), function ()
      M.get_ready(kube, name)
    end)
  end
  local resource, field = plugin_of(pod)
  if resource and machine[field] > 0 then
    kube.world:after(kube.world:spread(2, 6, "register", resource, name), function ()
      local now = kube.store:get(kube.pods, pod.metadata.namespace, pod.metadata.name)
      local dead = field == "gpus" and kube.world:strikes "dead-gpu"
      if now then M.set_devices(kube, name, resource, machine[field] - (dead and 1 or 0)) end
    end)
  end
end

--- Devices whose plugin is gone become unhealthy.
function M.check_devices(kube)
  local alive = {}
  for _, pod in ipairs(kube.store:list(kube.pods)) do
    local resource = pod.spec.nodeName and plugin_of(pod)
    if resource then alive[resource .. " " .. pod.spec.nodeName] = true end
  end
  for _, node in ipairs(kube.store:list(kube.nodes)) do
    for _, resource in ipairs { GPU, EFA } do
      local have = node.status.allocatable[resource]
      if have and have ~= "0" and not alive[resource .. " " .. node.metadata.name] then
        M.set_devices(kube, node.metadata.name, resource, 0, true)
      end
    end
  end
end

return M
