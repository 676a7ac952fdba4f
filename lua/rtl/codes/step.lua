-- What the codes of the recipes' steps mean: shown by `rtl explain CODE`.
return {
  ["RTL-STEP-001"] = {
    title = "The instance type does not fit the deployment",
    cause = "The GPU nodes' type has no GPU or no EFA interface, or fewer than are asked for; a "
      .. "pod asks for more CPU or memory than its node has; or the instance table lacks a type.",
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
  ["RTL-STEP-005"] = {
    title = "DRA drivers manage the same devices",
    cause = "A DRA driver for NVIDIA GPUs or for the network is on these nodes. A device plugin "
      .. "beside it would hand the same device out twice.",
    next = "Remove the driver from the GPU nodes, or train with claims in a recipe of your own.",
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
  ["RTL-STEP-010"] = {
    title = "There is no Ray cluster to run on",
    cause = "The Ray cluster has no live head pod: it was never deployed, or it is being replaced.",
    next = "rtl recipes/deploy.lua --to ray_cluster, or rtl recipes/status.lua to see what stands.",
  },
  ["RTL-STEP-011"] = {
    title = "A command in a pod failed",
    cause = "rtl ran a command in a pod of the Ray cluster, and it ended with a code of its own.",
    next = "The message has the command's last words. The container may lack python3 or sh.",
  },
  ["RTL-STEP-012"] = {
    title = "The end of the job is not known",
    cause = "The connection to the head pod was lost, or the job took longer than job_timeout.",
    next = "Run the same command again: it takes the job up where it is; nothing is sent twice.",
  },
  ["RTL-STEP-014"] = {
    title = "Two settings that do not go together",
    cause = "What is given is used as it is, so a setting that would say how to make it says "
      .. "nothing; or one setting needs another that is missing.",
    next = "Take one of the two named settings back; the message says which needs which.",
  },
  ["RTL-STEP-015"] = {
    title = "Address ranges that EKS refuses",
    cause = "The public endpoint is reached over the internet: private ranges and more than 40 "
      .. "ranges are refused.",
    next = "Set public_access_cidrs to the public addresses from which people reach out.",
  },
  ["RTL-STEP-013"] = {
    title = "There is no cluster yet",
    cause = "The deployment's EKS cluster does not exist, or it is still being made.",
    next = "Deploy it first: rtl recipes/deploy.lua.",
  },
}
