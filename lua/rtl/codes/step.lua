-- What the codes of the recipes' steps mean: shown by `rtl explain CODE`.
return {
  ["RTL-STEP-001"] = {
    title = "The instance type does not fit the deployment",
    cause = "The GPU nodes' type has no GPU or no EFA interface, or fewer than the settings ask for.",
    next = "Choose a type with EFA (g6.8xlarge and up, g5.8xlarge and up, p4d, p5, …), or set "
      .. "transport=any to train over TCP on purpose.",
  },
  ["RTL-STEP-002"] = {
    title = "A given network lacks what the nodes need",
    cause = "With vpc_id the subnets must be given too: private ones in two zones for the nodes, "
      .. "and a way out of them (NAT) for images.",
    next = "Set private_subnets to two subnet ids of that VPC, or leave vpc_id out.",
  },
  ["RTL-STEP-003"] = {
    title = "The cluster's nodes are not those that the deployment needs",
    cause = "A cluster given by kubeconfig must have ready nodes with the label role=system (for "
      .. "the operator and the head) and role=gpu-worker (for the workers), as many as set.",
    next = "Label them: rtl -e with k8s.patch, or kubectl label node NAME role=gpu-worker. Or set "
      .. "gpu_count and system_count to what is there.",
  },
  ["RTL-STEP-004"] = {
    title = "A GPU node does not show what its type has",
    cause = "The device plugins are running, but the node's allocatable GPUs or EFA interfaces "
      .. "differ from the instance table: a plugin skipped the node, the interface is not of type "
      .. "efa, or GPUs are shared by time slices.",
    next = "Look at the plugin's pod on that node and at the node's labels; the interfaces of the "
      .. "launch template are fixed when a node starts.",
  },
  ["RTL-STEP-005"] = {
    title = "DRA drivers manage the same devices",
    cause = "A DRA driver for NVIDIA GPUs or for the network is on these nodes. A device plugin "
      .. "beside it would hand the same device out twice.",
    next = "Remove the driver from the GPU nodes, or train with claims in a recipe of your own.",
  },
  ["RTL-STEP-006"] = {
    title = "A node is not where or what it should be",
    cause = "The live instances were compared with what was asked for: zone, VPC, security groups "
      .. "and the type of each network interface.",
    next = "The message names the instance and the difference. Delete the node group (teardown, or "
      .. "in the console) and deploy again; what a launch template says is fixed at launch.",
  },
  ["RTL-STEP-007"] = {
    title = "The Ray cluster is not whole",
    cause = "A pod of the Ray cluster is missing, not ready, not Guaranteed, on the wrong node, or "
      .. "Ray counts fewer nodes or GPUs than there should be.",
    next = "The message names the pod and what it waits for. Image pulls of 10+ GB take minutes.",
  },
  ["RTL-STEP-008"] = {
    title = "The container does not hold what the settings say",
    cause = "Ray, torch or CUDA in the image differ from the setting: another tag, or a tag that "
      .. "was moved.",
    next = "Set ray_version to what the message shows, or ray_image to an image with that version.",
  },
  ["RTL-STEP-009"] = {
    title = "No job has been judged yet",
    cause = "There is no record of a job of this deployment in the state folder.",
    next = "Run one: rtl recipes/deploy.lua --only job. The state folder is $RTL_STATE.",
  },
}
