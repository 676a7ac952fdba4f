--- The hardware counters of the EFA interfaces, read where they exist: on the host. A pod has its
-- own network namespace, in which the kernel shows none; so a short-lived pod with the host's
-- network reads them on each GPU node and is deleted.

local nccl = require "rtl.nccl"
local task = require "rtl.task"

local M = {}

local PATIENCE = 120

-- A name that is a valid pod name for any node's name and differs for differing ones.
local function name_for(run, i)
  return ("rtl-counters-%s-%d"):format(run.id:match("[^-]*$"), i)
end

local function reader(run, node, i)
  return {
    apiVersion = "v1", kind = "Pod",
    metadata = { name = name_for(run, i), namespace = run.settings.namespace,
      labels = { ["app.kubernetes.io/managed-by"] = "rtl",
        ["app.kubernetes.io/name"] = "rtl-counters" } },
    spec = {
      nodeName = node, hostNetwork = true, restartPolicy = "Never",
      automountServiceAccountToken = false, terminationGracePeriodSeconds = 1,
      tolerations = { { operator = "Exists" } },
      containers = { {
        name = "reader", image = run.settings.ray_image, imagePullPolicy = "IfNotPresent",
        command = { "sh", "-c", nccl.counters.script },
        env = { { name = "NVIDIA_VISIBLE_DEVICES", value = "void" } },
        resources = { requests = { cpu = "10m", memory = "32Mi" },
          limits = { cpu = "100m", memory = "64Mi" } },
      } },
    },
  }
end

local function ended(pod)
  if not pod then return nil end
  return pod.status.phase == "Succeeded" or pod.status.phase == "Failed"
end

local function read_one(run, client, node, i)
  local pod = reader(run, node, i)
  local name, namespace = pod.metadata.name, pod.metadata.namespace
  local made, failure = client:apply(pod) -- not create: an apply may be sent again
  if not made then return nil, failure end
  local _ <close> = setmetatable({}, { __close = function ()
    task.shield(20, function ()
      client:delete("Pod", name, { namespace = namespace, grace = 1, missing_ok = true })
      client:wait("Pod", name, { namespace = namespace, deleted = true, timeout = 15 })
    end)
  end })
  local done, late = client:wait("Pod", name, { namespace = namespace, timeout = PATIENCE,
    test = ended })
  if not done then return nil, late end
  return client:logs(namespace, name, { container = "reader" })
end

-- Readers of a run that died before it could delete them.
local function sweep(run, client)
  local namespace = run.settings.namespace
  local list, failure = client:list("Pod", { namespace = namespace,
    labels = "app.kubernetes.io/managed-by=rtl,app.kubernetes.io/name=rtl-counters" })
  if not list then error(failure, 0) end
  for _, pod in ipairs(list.items) do
    assert(client:delete("Pod", pod.metadata.name, { namespace = namespace, grace = 1,
      missing_ok = true }))
  end
end

--- Reads the counters on each of the nodes (array of names), at the same time. Returns node → text
-- as the reader printed it; a node that could not be read is left out, with its error in the second
-- result (node → err).
function M.read(run, nodes)
  local client = assert(run:k8s())
  sweep(run, client)
  local texts, errors = {}, {}
  task.map(nodes, function (node, i)
    texts[node], errors[node] = read_one(run, client, node, i)
  end)
  return texts, errors
end

--- Judges the growth between two readings (node → text) against the bytes that each node should
-- have sent: what rtl.nccl's counters.judge returns.
function M.judge(nodes, before, after, expected_bytes)
  local list = {}
  for i, node in ipairs(nodes) do
    list[i] = { name = node, before = nccl.counters.parse(before[node] or ""),
      after = nccl.counters.parse(after[node] or "") }
  end
  return nccl.counters.judge { nodes = list, expected_bytes = expected_bytes }
end

return M
