--- Step 4: the KubeRay operator, on the system node.

local helm_release = require "rtl.kinds.helm_release"
local nodes = require "rtl.recipe.nodes"

return {
  title   = "Install the KubeRay operator",
  creates = "Helm release kuberay-operator with its CRDs, on the system node",

  resources = function (run)
    local s = run.settings
    run:declare(helm_release "kuberay-operator" {
      chart = { repo = s.kuberay_repo, name = "kuberay-operator", version = s.kuberay_version },
      namespace = s.kuberay_namespace, create_namespace = true,
      values = {
        nodeSelector = { role = "system" },
        -- Else the operator adds an init container that spoils the workers' Guaranteed class.
        env = { { name = "ENABLE_INIT_CONTAINER_INJECTION", value = "false" } },
      },
      after = nodes.after(run, "system"),
    })
  end,

  verify = function (run)
    local s = run.settings
    local deployment = assert(assert(run:k8s()):get("Deployment", "kuberay-operator",
      { namespace = s.kuberay_namespace }))
    local image = deployment.spec.template.spec.containers[1].image
    return ("chart %s, app %s; operator ready: %s"):format(
      run:output("helm_release", "kuberay-operator", "chart_version") or "?",
      run:output("helm_release", "kuberay-operator", "app_version") or "?", image)
  end,
}
