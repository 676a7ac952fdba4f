--- The pods of the run's Ray cluster: found, and spoken to by exec.

local err = require "rtl.err"
local json = require "rtl.native.json"
local ray = require "rtl.ray"
local task = require "rtl.task"

local M = {}

local function is_live(pod)
  return pod.metadata.deletionTimestamp == nil
    and (pod.status.phase == "Running" or pod.status.phase == "Pending")
end

--- The live pods of a node type ("head" or "worker"), sorted by name.
function M.list(run, node_type)
  local s = run.settings
  local answer = assert(assert(run:k8s()):list("Pod", { namespace = s.namespace,
    labels = ("ray.io/cluster=%s,ray.io/node-type=%s"):format(s.ray_cluster, node_type) }))
  local pods = {}
  for _, pod in ipairs(answer.items) do
    if is_live(pod) then pods[#pods + 1] = pod end
  end
  table.sort(pods, function (a, b) return a.metadata.name < b.metadata.name end)
  return pods
end

--- The head pod. Raises RTL-STEP-010 when there is none.
function M.head(run)
  local pod = M.list(run, "head")[1]
  if pod then return pod end
  return run:fail { code = "RTL-STEP-010",
    message = ("the Ray cluster %s has no head pod"):format(run.settings.ray_cluster),
    hint = "Deploy it first: rtl recipes/deploy.lua --to ray_cluster" }
end

local TRIES, PAUSE = 5, 3 -- of a command that only reads, where its stream breaks off

-- Whether a stream broke off before it told how the command ended, or before it began.
local function broke_off(e)
  return e.code == "RTL-K8S-030" or e.code:find "^RTL%-NET%-" ~= nil
end

--- Runs a command in the pod's first container. `options`: stdin, timeout, on_stdout, again (it
-- only reads: may be run once more when its stream breaks off). Returns {code, stdout, stderr} |
-- nil, err.
function M.exec(run, pod, argv, options)
  options = options or {}
  for try = 1, TRIES do
    local result, failure = assert(run:k8s()):exec {
      namespace = pod.metadata.namespace, pod = pod.metadata.name,
      container = pod.spec.containers[1].name, argv = argv, stdin = options.stdin,
      on_stdout = options.on_stdout, timeout = options.timeout or 60,
    }
    if result or not options.again or try == TRIES or not broke_off(failure) then
      return result, failure
    end
    task.sleep(PAUSE)
  end
end

--- The output of a command that only reads; a code other than 0 is an error (RTL-STEP-011).
function M.output(run, pod, argv, options)
  options = setmetatable({ again = true }, { __index = options })
  local result, failure = M.exec(run, pod, argv, options)
  if not result then return nil, failure end
  if result.code == 0 then return result.stdout end
  return err.fail {
    code = "RTL-STEP-011", doing = ("%s in pod %s"):format(argv[1], pod.metadata.name),
    message = ("ended with %d: %s"):format(result.code,
      (result.stderr or ""):match("([^\n]*)\n*$")),
  }
end

--- The Ray jobs of the head pod (rtl.ray).
function M.jobs(run, head)
  return ray.jobs {
    exec = function (argv, options) return M.exec(run, head, argv, options) end,
  }
end

--- What a pod's container holds: {ray, python, torch, torchvision, cuda, nccl, plugin, memlock};
-- what is absent is nil. Raises when it can't be read.
function M.versions(run, pod)
  local script = run:asset("train/versions.py")
  local text = assert(M.output(run, pod, { "python3", "-c", script, "rtl-versions" }))
  local found = assert(json.decode(text:match("{.*}") or text))
  local null = require "rtl.null"
  for key, value in pairs(found) do
    if value == null then found[key] = nil end
  end
  if found.plugin and found.plugin.name == null then found.plugin.name = nil end
  return found
end

--- The digest of the image that the pod's first container runs, or nil.
function M.image_digest(pod)
  local status = (pod.status.containerStatuses or {})[1]
  return status and (status.imageID or ""):match("sha256:%x+")
end

--- What in a pod keeps it from being ready, in a few words, or nil.
function M.trouble(pod)
  for _, list in ipairs { "initContainerStatuses", "containerStatuses" } do
    for _, status in ipairs(pod.status[list] or {}) do
      local waiting = status.state and status.state.waiting
      local ended = status.lastState and status.lastState.terminated
      if ended then
        return ("%s: %s (exit %d)"):format(status.name, ended.reason, ended.exitCode)
      end
      if waiting and waiting.reason ~= "PodInitializing" then
        return ("%s: %s"):format(status.name, waiting.reason)
      end
    end
  end
  for _, condition in ipairs(pod.status.conditions or {}) do
    if condition.type == "PodScheduled" and condition.status == "False" then
      return condition.message
    end
  end
  return nil
end

return M
