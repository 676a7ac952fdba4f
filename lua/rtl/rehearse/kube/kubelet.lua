--- What happens to a pod on its node: images are pulled, init containers run one after another,
-- containers start and get ready or end, and at the end the pod goes away.

local array = require "rtl.array"
local bill = require "rtl.rehearse.aws.bill"
local chance = require "rtl.rehearse.chance"
local images = require "rtl.rehearse.kube.images"
local nodes = require "rtl.rehearse.kube.nodes"
local pods = require "rtl.rehearse.kube.pods"
local sky = require "rtl.rehearse.weather.cluster"

local M = {}

local function current(kube, pod)
  local now = kube.store:get(kube.pods, pod.metadata.namespace, pod.metadata.name)
  return now and now.metadata.uid == pod.metadata.uid and now or nil
end

-- Runs `step` after a while if the pod still lives.
local function later(kube, pod, seconds, step)
  kube.world:after(seconds, function ()
    local now = current(kube, pod)
    if now and not now.metadata.deletionTimestamp then step(now) end
  end)
end

local function container_id(kube, pod, container)
  local key = pod.metadata.uid .. container.name
  local id = kube.container_ids[key]
  if not id then
    id = "containerd://" .. chance.hex(64, kube.world.seed, key)
    kube.container_ids[key] = id
  end
  return id
end

local function status_entry(kube, pod, container, state, ready)
  return { name = container.name, image = container.image,
           imageID = state.waiting and "" or images.id(container.image), ready = ready,
           started = state.running ~= nil, restartCount = 0, state = state,
           containerID = state.waiting and "" or container_id(kube, pod, container) }
end

local function entries(kube, pod, list, state_of)
  local out = array {}
  for i, container in ipairs(list or {}) do
    local state, ready = state_of(i, container)
    out[i] = status_entry(kube, pod, container, state, ready)
  end
  return out
end

local function waiting(reason)
  return function () return { waiting = { reason = reason } }, false end
end

local function set_status(kube, pod, change)
  return kube.store:edit_status(kube.pods, pod, function (status)
    change(status, kube.store:timestamp())
  end)
end

local function finished(kube)
  return { terminated = { exitCode = 0, reason = "Completed",
                          finishedAt = kube.store:timestamp() } }
end

-- The first init container that has not ended is number `at`.
local function init_states(kube, at)
  return function (i)
    if i < at then return finished(kube), true end
    if i == at then return { running = { startedAt = kube.store:timestamp() } }, false end
    return { waiting = { reason = "PodInitializing" } }, false
  end
end

local function begin(kube, pod)
  set_status(kube, pod, function (status, time)
    status.phase, status.startTime = "Pending", time
    status.hostIP = kube:node_address(pod.spec.nodeName)
    pods.set_condition(status, "PodReadyToStartContainers", "False", time)
    pods.set_condition(status, "Initialized", "False", time, "ContainersNotInitialized")
    pods.set_condition(status, "Ready", "False", time, "ContainersNotReady")
    pods.set_condition(status, "ContainersReady", "False", time, "ContainersNotReady")
    status.initContainerStatuses = entries(kube, pod, pod.spec.initContainers,
                                           waiting "PodInitializing")
    status.containerStatuses = entries(kube, pod, pod.spec.containers,
                                       waiting "ContainerCreating")
  end)
end

-- Images of the region's own registry come by the S3 endpoint, all others through the NAT gateway.
local function note_pull(kube, node, image)
  local megabytes = images.megabytes(image)
  if not image:find("%.dkr%.ecr%.") then
    bill.pulled(kube.world, kube.region, megabytes, kube.machines[node].zone)
  end
  nodes.add_image(kube, node, { names = array { images.id(image), image },
    sizeBytes = megabytes * 1000000 })
end

-- Seconds that the images of a pod still need on its node; pulls are noted as events.
local function pull_seconds(kube, pod)
  local have = kube.images_on[pod.spec.nodeName]
  local total = 0
  for _, list in ipairs { pod.spec.initContainers or {}, pod.spec.containers } do
    for _, container in ipairs(list) do
      if not have[container.image] then
        have[container.image] = true
        note_pull(kube, pod.spec.nodeName, container.image)
        kube:event(pod, "Normal", "Pulling", ('Pulling image "%s"'):format(container.image))
        total = total + images.pull_seconds(kube.world, container.image, pod.spec.nodeName)
      end
    end
  end
  return total
end

local function mark_ready(kube, pod)
  set_status(kube, pod, function (status, time)
    for _, entry in ipairs(status.containerStatuses) do entry.ready = true end
    pods.set_condition(status, "ContainersReady", "True", time)
    pods.set_condition(status, "Ready", "True", time)
  end)
  kube:pod_ready(pod)
end

local function end_pod(kube, pod, result)
  set_status(kube, pod, function (status, time)
    status.phase = result.code == 0 and "Succeeded" or "Failed"
    status.reason, status.message = result.pod_reason, result.message
    for _, entry in ipairs(status.containerStatuses) do
      entry.ready, entry.started = false, false
      entry.state = { terminated = { exitCode = result.code, finishedAt = time,
                                     reason = result.reason
                                       or result.code == 0 and "Completed" or "Error" } }
    end
    pods.set_condition(status, "Ready", "False", time, "PodCompleted")
    pods.set_condition(status, "ContainersReady", "False", time, "PodCompleted")
  end)
end

local function start_containers(kube, pod)
  local ip = pod.status.podIP or (pod.spec.hostNetwork and kube:node_address(pod.spec.nodeName))
             or kube:new_pod_address(pod.spec.nodeName)
  local running = set_status(kube, pod, function (status, time)
    status.phase, status.podIP, status.podIPs = "Running", ip, array { { ip = ip } }
    pods.set_condition(status, "PodReadyToStartContainers", "True", time)
    pods.set_condition(status, "Initialized", "True", time)
    status.initContainerStatuses = entries(kube, pod, pod.spec.initContainers,
                                           init_states(kube, math.huge))
    status.containerStatuses = entries(kube, pod, pod.spec.containers, function ()
      return { running = { startedAt = time } }, false
    end)
  end)
  if not running then return end
  local bad = sky.end_of(kube.world, running)
  if bad then
    later(kube, running, bad.seconds, function (now)
      if not pods.ended(now) then end_pod(kube, now, bad) end
    end)
  end
  local course = kube:course_of(running)
  if course.ends_after then
    later(kube, running, course.ends_after, function (now) end_pod(kube, now, course) end)
  end
  if not course.ends_after or course.ends_after > course.ready_after then
    later(kube, running, course.ready_after, function (now) mark_ready(kube, now) end)
  end
end

local function run_init(kube, pod, at)
  local container = (pod.spec.initContainers or {})[at]
  if not container then return start_containers(kube, pod) end
  if not pod.status.podIP and not pod.spec.hostNetwork then
    pod = set_status(kube, pod, function (status)
      status.podIP = kube:new_pod_address(pod.spec.nodeName)
    end)
  end
  pod = set_status(kube, pod, function (status)
    status.initContainerStatuses = entries(kube, pod, pod.spec.initContainers,
                                           init_states(kube, at))
  end)
  local function look(now)
    if kube:init_done(now, container) then return run_init(kube, now, at + 1) end
    later(kube, now, 2, look)
  end
  later(kube, pod, kube.world:spread(1, 2, "init", pod.metadata.name, at), look)
end

-- The image can't be had: the kubelet says so, tries again, and says that it waits.
local function back_off(kube, pod)
  kube:event(pod, "Warning", "Failed", "Failed to pull image: 429 Too Many Requests")
  set_status(kube, pod, function (status)
    for _, entry in ipairs(status.containerStatuses) do
      entry.state = { waiting = { reason = "ImagePullBackOff",
                                  message = "Back-off pulling image " .. entry.image } }
    end
  end)
end

--- Takes a pod that was bound to a node.
function M.take(kube, pod)
  later(kube, pod, kube.world:spread(0.3, 0.8, "sandbox", pod.metadata.name), function (now)
    begin(kube, now)
    local fails = sky.pull_fails(kube.world)
    if fails then
      later(kube, now, 3, function (pulling) back_off(kube, pulling) end)
    end
    local seconds = pull_seconds(kube, now) + (fails or 0)
    later(kube, now, seconds + 0.5, function (pulled)
      if seconds > 0 then
        kube:event(pulled, "Normal", "Pulled", ("Successfully pulled images in %.1fs")
                   :format(seconds))
      end
      run_init(kube, pulled, 1)
    end)
  end)
end

--- Lets a pod go: it ends within its grace period and is taken out.
function M.let_go(kube, pod, grace)
  local seconds = pod.spec.nodeName and math.min(grace or 30,
    kube.world:spread(1, 4, "stop", pod.metadata.name)) or 0
  kube.world:after(seconds, function ()
    local now = current(kube, pod)
    if now then kube.store:remove(kube.pods, now) end
  end)
end

return M
