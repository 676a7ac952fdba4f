--- Step 1: what is wanted, checked before anything is asked of the cloud.

local instance_types = require "rtl.recipe.instance_types"
local keys = require "rtl.keys"
local settings = require "rtl.recipe.settings"
local text = require "rtl.recipe.text"
local value = require "rtl.recipe.value"

local function refuse(run, message, hint)
  return run:fail { code = "RTL-STEP-001", message = message, hint = hint, exit = "usage" }
end

-- How many of the node's devices a worker gets: all of them, or as many as the setting says.
local function share(run, wanted, has, what)
  if wanted == 0 then return has end
  if wanted <= has then return wanted end
  return refuse(run, ("%d %s for each worker, but %s has %d"):format(wanted, what,
    run.settings.gpu_type, has))
end

-- What the rest of the recipe reckons with: the GPU type's facts, devices a worker, world size.
local function reckon(run)
  local s, facts = run.settings, run.facts
  local instance = instance_types.known(run, "gpu_type")
  facts.instance = instance
  facts.gpus = share(run, s.gpus_per_node, instance.gpus, "GPUs")
  facts.efa = share(run, s.efa_per_node, instance.efa, "EFA interfaces")
  facts.world = facts.gpus * s.gpu_count
  if s.num_workers > facts.world then
    return refuse(run, ("%d training processes for %d GPUs"):format(s.num_workers, facts.world))
  end
  if facts.gpus == 0 then return refuse(run, s.gpu_type .. " has no GPU") end
  if facts.efa == 0 and s.transport == "efa" then
    return refuse(run, s.gpu_type .. " has no EFA interface", "Set transport=any to train without")
  end
end

-- A pod that asks for more than its node has would wait for ever, beside nodes that are paid for.
-- Of a node, one CPU and a fourteenth of the memory are left to the system.
local function check_fits(run, pod, type_name)
  local s, instance = run.settings, instance_types.known(run, type_name)
  local cpus, gib = instance.vcpu - 1, instance.memory_gib * 13 // 14
  for setting, most in keys.pairs { [pod .. "_cpu"] = cpus, [pod .. "_memory"] = gib * 2 ^ 30 } do
    if value.amount(s[setting]) > most then
      refuse(run, ("%s is %s, more than a %s has for a pod"):format(setting, s[setting],
        s[type_name]), ("Set %s_cpu to %d at most and %s_memory to %dGi at most"):format(pod, cpus,
        pod, gib))
    end
  end
end

local function wrong_network(run, message, hint)
  return run:fail { code = "RTL-STEP-002", message = message, hint = hint, exit = "usage" }
end

-- What is given stays as it is: a setting that would say how to make it says nothing, and whoever
-- set it believes otherwise.
local SAYS_NOTHING = {
  { given = "vpc_id", "vpc_cidr" },
  { given = "use_cluster", "kubernetes_version", "cluster_role", "public_access_cidrs" },
  { given = "use_bucket", "bucket" },
  { given = "use_placement_group", "placement_group" },
  { given = "use_system_group", "system_disk" },
  { given = "use_gpu_group", "gpu_group", "gpu_disk", "reservation", "probe", "placement_group",
    "use_placement_group", "request_quota" },
}

local function check_given(run)
  local s = run.settings
  for _, name in ipairs { "use_system_group", "use_gpu_group" } do
    if s[name] ~= "" and s.use_cluster == "" then
      run:fail { code = "RTL-STEP-014", exit = "usage",
        message = ("%s=%s is given without use_cluster, the cluster that it is in"):format(name,
          s[name]) }
    end
  end
  for _, row in ipairs(SAYS_NOTHING) do
    for _, name in ipairs(s[row.given] ~= "" and row or {}) do
      local source = settings.source(s, name)
      if source ~= "default" then
        run:fail { code = "RTL-STEP-014", exit = "usage",
          message = ("%s is set (%s), and %s=%s is used as it is"):format(name, source, row.given,
            s[row.given]), hint = ("Take %s back, or leave %s out"):format(name, row.given) }
      end
    end
  end
end

-- Ranges that no address of the internet is in: EKS refuses them.
local PRIVATE = { "^10%.", "^127%.", "^169%.254%.", "^172%.1[6-9]%.", "^172%.2%d%.",
  "^172%.3[01]%.", "^192%.168%." }

local MOST_CIDRS = 40

local function wrong_cidrs(run, message, hint)
  return run:fail { code = "RTL-STEP-015", exit = "usage", hint = hint,
    message = "public_access_cidrs: " .. message }
end

local function check_cidrs(run)
  local list = run.settings.public_access_cidrs
  if #list > MOST_CIDRS then
    wrong_cidrs(run, ("%d ranges; EKS takes %d"):format(#list, MOST_CIDRS))
  end
  for _, cidr in ipairs(list) do
    for _, pattern in ipairs(PRIVATE) do
      if cidr:match(pattern) then
        wrong_cidrs(run, cidr .. " is a private range, and the endpoint is reached over the "
          .. "internet", "Give the public addresses from which you reach out; the VPC itself "
          .. "has the private endpoint")
      end
    end
  end
end

local AGENT = "eks-pod-identity-agent"

-- Pods get the role of their bucket from an agent on their node.
local function check_checkpoints(run)
  local s = run.settings
  local wanted = s.bucket ~= "" and "bucket" or s.use_bucket ~= "" and "use_bucket" or nil
  if not wanted then
    if s.pod_role == "" then return end
    run:fail { code = "RTL-STEP-014", exit = "usage",
      message = "pod_role is set, and there is neither bucket nor use_bucket" }
  end
  for _, name in ipairs(s.addons) do
    if name == AGENT then return end
  end
  run:fail { code = "RTL-STEP-014", exit = "usage",
    message = ("%s is set, and addons lacks %s, which gives the pods their role"):format(wanted,
      AGENT), hint = "Add it to addons" }
end

-- AWS takes a VPC from /16 and a subnet to /28; each subnet is a sixteenth of the VPC.
local function check_network(run)
  local s = run.settings
  local bits = tonumber(s.vpc_cidr:match("/(%d+)$"))
  if s.use_cluster ~= "" and s.vpc_id == "" then
    wrong_network(run, ("use_cluster is given without the network of %s"):format(s.use_cluster),
      "Set vpc_id to its VPC, and private_subnets to two private subnets for the nodes")
  elseif s.vpc_id ~= "" and #s.region > 1 then
    wrong_network(run, ("vpc_id=%s is in one region, and region lists %s"):format(s.vpc_id,
      table.concat(s.region, ", ")), "Name the region that it is in")
  elseif s.vpc_id ~= "" and #s.private_subnets < 2 then
    wrong_network(run, ("vpc_id is given with %d private subnets; two are needed"):format(
      #s.private_subnets))
  elseif s.vpc_id == "" and #s.private_subnets > 0 then
    wrong_network(run, "subnets are given without the vpc_id that they are in")
  elseif s.vpc_id == "" and (bits < 16 or bits > 24) then
    wrong_network(run, ("vpc_cidr: %s is not between /16 and /24"):format(s.vpc_cidr))
  end
end

-- AWS keeps aws: for itself, as rtl does rtl: and the name.
local function check_tags(run)
  for _, pair in ipairs(run.settings.tags) do
    local key, word = pair:match("^(.-)=(.*)$")
    if key:match("^[Aa][Ww][Ss]:") or key:match("^rtl:") or key == "Name" then
      refuse(run, ("tags: the key %s is not free"):format(key),
        "AWS keeps aws: for itself, and rtl keeps rtl: and Name")
    elseif #key > 128 or #word > 256 then
      refuse(run, ("tags: %s is too long: AWS takes 128 characters = 256"):format(pair))
    end
  end
end

return {
  title   = "Read and check the settings",

  preflight = function (run)
    instance_types.learn(run)
    reckon(run)
    if run:has_aws() then
      check_fits(run, "head", "system_type")
      check_fits(run, "worker", "gpu_type")
    end
    check_given(run)
    check_network(run)
    if run:has_aws() then
      check_cidrs(run)
      check_checkpoints(run)
    end
    check_tags(run)
  end,

  verify = function (run)
    local s, facts = run.settings, run.facts
    return ("%d × %s: %d %s, %s, world size %d"):format(s.gpu_count, s.gpu_type,
      facts.gpus * s.gpu_count, facts.instance.gpu,
      text.count(facts.efa * s.gpu_count, "EFA interface"), facts.world)
  end,
}
