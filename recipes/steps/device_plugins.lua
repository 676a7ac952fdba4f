--- Step 3: the device plugins make GPUs and EFA interfaces resources of the nodes.
--
-- What is already there (eksctl's, the GPU operator's) is checked and used, not installed twice.

local gpu_nodes = require "rtl.kinds.gpu_nodes"
local helm_release = require "rtl.kinds.helm_release"
local nodes = require "rtl.recipe.nodes"
local text = require "rtl.recipe.text"

-- Both tolerate the GPU nodes' taint and run on them only: elsewhere they would crash or idle.
local TOLERATIONS = {
  { key = "nvidia.com/gpu", operator = "Exists", effect = "NoSchedule" },
  { key = "aws.amazon.com/efa", operator = "Exists", effect = "NoSchedule" },
}

local PLUGINS = {
  nvidia = {
    release = "nvidia-device-plugin", image = "k8s%-device%-plugin",
    chart = "nvidia-device-plugin", namespace = "nvidia-device-plugin",
    not_image = "efa", values = { nodeSelector = { role = "gpu-worker" },
      tolerations = TOLERATIONS },
  },
  efa = {
    release = "aws-efa-k8s-device-plugin", image = "aws%-efa%-k8s%-device%-plugin",
    chart = "aws-efa-k8s-device-plugin", namespace = "kube-system",
    values = { nodeSelector = { role = "gpu-worker" }, tolerations = TOLERATIONS },
  },
}

local DRA_DRIVERS = { ["gpu.nvidia.com"] = true, ["compute-domain.nvidia.com"] = true,
  ["dra.net"] = true }

-- The account whose registry has AWS' own images, where it is not the usual one.
local REGISTRY = {
  ["af-south-1"] = "877085696533", ["ap-east-1"] = "800184023465", ["ap-east-2"] = "533267051163",
  ["ap-south-2"] = "900889452093", ["ap-southeast-3"] = "296578399912",
  ["ap-southeast-4"] = "491585149902", ["ca-west-1"] = "761377655185",
  ["cn-north-1"] = "918309763551", ["cn-northwest-1"] = "961992271922",
  ["eu-central-2"] = "900612956339", ["eu-south-1"] = "590381155156",
  ["eu-south-2"] = "455263428931", ["il-central-1"] = "066635153087",
  ["me-central-1"] = "759879836304", ["me-south-1"] = "558608220178",
  ["us-gov-east-1"] = "151742754352", ["us-gov-west-1"] = "013241004608",
}
local USUAL_REGISTRY = "602401143452"

-- The chart's own default is us-west-2's registry, whatever the region.
local function efa_image(run)
  if not run:has_aws() then return nil end
  local suffix = run.region:match("^cn%-") and ".cn" or ""
  return { repository = ("%s.dkr.ecr.%s.amazonaws.com%s/eks/aws-efa-k8s-device-plugin"):format(
    REGISTRY[run.region] or USUAL_REGISTRY, run.region, suffix) }
end

local function matches(daemonset, plugin)
  for _, container in ipairs(daemonset.spec.template.spec.containers) do
    if container.image:match(plugin.image)
      and not (plugin.not_image and container.image:match(plugin.not_image)) then
      return true
    end
  end
  return false
end

local function is_ours(daemonset, plugin)
  local notes = daemonset.metadata.annotations or {}
  return notes["meta.helm.sh/release-name"] == plugin.release
end

-- Somebody else's daemon set for this plugin: "namespace/name", or nil.
local function foreign(daemonsets, plugin)
  for _, daemonset in ipairs(daemonsets) do
    if matches(daemonset, plugin) and not is_ours(daemonset, plugin) then
      return ("%s/%s"):format(daemonset.metadata.namespace, daemonset.metadata.name)
    end
  end
  return nil
end

local function refuse_dra(run, client)
  local slices = client:list("ResourceSlice", {})
  for _, slice in ipairs(slices and slices.items or {}) do
    if DRA_DRIVERS[slice.spec.driver] then
      run:fail { code = "RTL-STEP-005", exit = "refused",
        message = ("the DRA driver %s manages devices of node %s"):format(slice.spec.driver,
          slice.spec.nodeName or "?") }
    end
  end
end

return {
  title   = "Install the device plugins, or check those that are there",
  creates = "Helm releases nvidia-device-plugin and aws-efa-k8s-device-plugin",

  preflight = function (run)
    run.facts.plugins = {}
    local client, failure = run:k8s()
    if not client and failure.absent then return end
    if not client then error(failure, 0) end
    refuse_dra(run, client)
    local daemonsets = assert(client:list("DaemonSet", { namespace = false })).items
    for _, name in ipairs { "nvidia", "efa" } do
      run.facts.plugins[name] = foreign(daemonsets, PLUGINS[name])
    end
  end,

  resources = function (run)
    local s, after = run.settings, nodes.after(run, "gpu")
    local function install(name, version, repo, more)
      local plugin = PLUGINS[name]
      if run.facts.plugins[name] then return end
      local values = {}
      for key, value in pairs(plugin.values) do values[key] = value end
      for key, value in pairs(more or {}) do values[key] = value end
      after[#after + 1] = run:declare(helm_release(plugin.release) {
        chart = { repo = repo, name = plugin.chart, version = version },
        namespace = plugin.namespace, create_namespace = true, values = values,
        after = nodes.after(run, "gpu"),
      })
    end
    install("nvidia", s.nvidia_plugin_version, s.nvidia_plugin_repo)
    if run.facts.efa > 0 then
      install("efa", s.efa_plugin_version, s.efa_plugin_repo, { image = efa_image(run) })
    end
    -- The gate before the Ray cluster: every GPU node shows what the instance table says.
    local instance = run.facts.instance
    run:declare(gpu_nodes "all" {
      labels = { role = "gpu-worker" }, count = s.gpu_count,
      allocatable = { ["nvidia.com/gpu"] = instance.gpus,
        ["vpc.amazonaws.com/efa"] = instance.efa > 0 and instance.efa or nil },
      after = after,
    })
  end,

  verify = function (run)
    local proofs = {}
    for _, name in ipairs { "nvidia", "efa" } do
      local there, release = run.facts.plugins[name], PLUGINS[name].release
      if there then
        proofs[#proofs + 1] = ("%s plugin was there: %s"):format(name, there)
      elseif name == "nvidia" or run.facts.efa > 0 then
        proofs[#proofs + 1] = ("%s: chart %s, app %s"):format(release,
          run:output("helm_release", release, "chart_version") or "?",
          run:output("helm_release", release, "app_version") or "?")
      end
    end
    local instance = run.facts.instance
    proofs[#proofs + 1] = ("%s, each with %s and %s"):format(
      text.count(run.settings.gpu_count, "GPU node"), text.count(instance.gpus, "GPU"),
      text.count(instance.efa, "EFA interface"))
    return proofs
  end,
}
