--- The nodes of a deployment: those of its node groups, or those of a cluster that was given.

local M = {}

--- The name of the GPU node group: the setting and the zone's id, since another zone is another
-- group.
function M.group(run)
  return ("%s-%s"):format(run.settings.gpu_group, run.facts.choice.gpu.zone_id)
end

--- The name that EKS has a node group of the run by, where that says whose it is: in a cluster of
-- others. nil in one of our own, where it is the resource's.
function M.name_among_others(run, name)
  return run.settings.use_cluster ~= "" and run.deployment .. "-" .. name or nil
end

--- Handles to the node groups that something runs on: "system" or "gpu". None where the nodes were
-- given by a kubeconfig.
function M.after(run, which)
  if not run:has_aws() then return {} end
  local name = which == "gpu" and M.group(run) or "system"
  return { run:resource("node_group", name) }
end

-- ---- a cluster given by kubeconfig ----

local function is_ready(node)
  for _, condition in ipairs(node.status.conditions or {}) do
    if condition.type == "Ready" then return condition.status == "True" end
  end
  return false
end

local function ready_nodes(run, label)
  local answer = assert(assert(run:k8s()):list("Node", { labels = label }))
  local names = {}
  for _, node in ipairs(answer.items) do
    if is_ready(node) then names[#names + 1] = node.metadata.name end
  end
  table.sort(names)
  return names
end

local function refuse(run, have, wanted, label)
  run:fail { code = "RTL-STEP-003", exit = "refused",
    message = ("%d ready nodes have the label %s; %d are needed"):format(have, label, wanted) }
end

--- Checks the nodes of a cluster that was given. Raises RTL-STEP-003.
function M.check_given(run)
  local s = run.settings
  local system, gpu = ready_nodes(run, "role=system"), ready_nodes(run, "role=gpu-worker")
  if #system < s.system_count then refuse(run, #system, s.system_count, "role=system") end
  if #gpu ~= s.gpu_count then refuse(run, #gpu, s.gpu_count, "role=gpu-worker") end
  run.facts.given_nodes = { system = system, gpu = gpu }
end

--- What was found of them, as proofs.
function M.describe_given(run)
  local nodes = run.facts.given_nodes
  return {
    "given by kubeconfig: nothing made here",
    "system nodes: " .. table.concat(nodes.system, ", "),
    "GPU nodes: " .. table.concat(nodes.gpu, ", "),
  }
end

return M
