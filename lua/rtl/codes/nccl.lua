-- What `rtl explain` says of the causes that the transport verdict names.
return {
  ["RTL-NCCL-001"] = {
    title = "NCCL's network plugin was not found",
    cause = "NCCL looked for the plugin's library and fell back to sockets without an error: the "
      .. "image's library path lacks it, or it has another name than the one asked for.",
    next = "In the worker pod: ldconfig -p | grep nccl-net. Put the folder on LD_LIBRARY_PATH, or "
      .. "give NCCL_NET_PLUGIN the full path of the file. LD_PRELOAD does not help.",
  },
  ["RTL-NCCL-002"] = {
    title = "The network plugin exists but could not be loaded",
    cause = "A library that it needs is missing or too old (libfabric, libcudart, hwloc), or it "
      .. "has no interface version in common with this NCCL.",
    next = "Read the loader's text in the line shown; use the plugin and libfabric of one EFA "
      .. "installer, and keep the distribution's libfabric off the library path.",
  },
  ["RTL-NCCL-003"] = {
    title = "libfabric offered no EFA device",
    cause = "The plugin asked for the efa provider and got nothing: the node has no EFA "
      .. "interface, the pod did not ask for vpc.amazonaws.com/efa, or /dev/infiniband is not in "
      .. "the pod.",
    next = "Check that the pod's limits name vpc.amazonaws.com/efa: 1, that the node shows it as "
      .. "allocatable, and that the instance's interface has type efa.",
  },
  ["RTL-NCCL-004"] = {
    title = "libfabric carried the traffic over TCP, not EFA",
    cause = "The plugin ran with a provider other than efa. Its lines look like EFA's.",
    next = "Set FI_PROVIDER=efa in the training processes' own environment; a plugin outside of "
      .. "EC2 takes tcp by itself.",
  },
  ["RTL-NCCL-005"] = {
    title = "Sockets were chosen although the plugin worked",
    cause = "NCCL_NET=Socket, in the environment or in a configuration file (NCCL_CONF_FILE, "
      .. "/etc/nccl.conf, ~/.nccl.conf). NCCL prints no line for it.",
    next = "Remove the setting, or pin NCCL_NET to the plugin's network name.",
  },
  ["RTL-NCCL-006"] = {
    title = "The network plugin was switched off",
    cause = "NCCL_NET_PLUGIN=none.",
    next = "Set NCCL_NET_PLUGIN=ofi.",
  },
  ["RTL-NCCL-007"] = {
    title = "The pinned network did not come up",
    cause = "NCCL_NET names a network that is missing or failed to initialise, so NCCL stopped "
      .. "instead of falling back. Names differ by plugin version: 'AWS Libfabric' to 1.12, "
      .. "'Libfabric' from 1.13.",
    next = "Read the plugin's lines before this one for why; check the name against the line "
      .. "'Initialized NET plugin'.",
  },
  ["RTL-NCCL-008"] = {
    title = "NCCL found no usable network interface",
    cause = "NCCL_SOCKET_IFNAME matches no interface of the pod.",
    next = "In the pod: ip -br addr. In a pod on EKS the name is eth0.",
  },
  ["RTL-NCCL-009"] = {
    title = "A CUDA error came before any network",
    cause = "No GPU in the process, a driver that does not fit, or an earlier failure on the GPU.",
    next = "nvidia-smi in the worker pod; the network is innocent.",
  },
  ["RTL-NCCL-010"] = {
    title = "Two ranks use the same GPU",
    cause = "More processes than GPUs on a node, or CUDA_VISIBLE_DEVICES gives both the same one.",
    next = "One worker process a GPU: compare Ray's num-gpus with the pod's nvidia.com/gpu.",
  },
  ["RTL-NCCL-011"] = {
    title = "The ranks run different NCCL versions",
    cause = "Images, or libraries inside them, differ between the nodes.",
    next = "Use one image digest for all workers.",
  },
  ["RTL-NCCL-012"] = {
    title = "EFA is blocked between the nodes",
    cause = "The device is there, but the peer did not answer the handshake: the security group "
      .. "lacks the rule to itself in one direction, or the nodes are in different zones. A CIDR "
      .. "rule such as 0.0.0.0/0 does not count for EFA.",
    next = "Both an ingress and an egress rule, all protocols, from and to the group itself; both "
      .. "nodes in one subnet.",
  },
  ["RTL-NCCL-013"] = {
    title = "Memory could not be registered with the EFA device",
    cause = "The locked-memory limit or the huge pages of the pod are too small, or GPU memory "
      .. "registration was refused.",
    next = "Unlimited memlock for containers on the node; hugepages-2Mi in the pod if asked for.",
  },
  ["RTL-NCCL-014"] = {
    title = "Shared memory of the pod is too small",
    cause = "/dev/shm is 64 MiB by default.",
    next = "Mount an emptyDir with medium: Memory at /dev/shm.",
  },
  ["RTL-NCCL-015"] = {
    title = "A peer went away",
    cause = "Another rank died or was killed; what this rank says is the consequence.",
    next = "Look at the rank that stopped first: OOMKilled, an exception, a lost node.",
  },
  ["RTL-NCCL-016"] = {
    title = "The log shows no transport",
    cause = "No NCCL lines at INFO level: NCCL_DEBUG is unset or lower, output was lost, or the "
      .. "process crashed before its buffer was written.",
    next = "NCCL_DEBUG=INFO with NCCL_DEBUG_FILE per rank; look at the process' exit code.",
  },
  ["RTL-NCCL-017"] = {
    title = "The communicator never came up",
    cause = "Initialisation began and did not end: a rank is missing, or can't be reached.",
    next = "Are all workers running? Compare the number of ranks with the pods; check "
      .. "NCCL_SOCKET_IFNAME on each.",
  },
  ["RTL-NCCL-018"] = {
    title = "The two ends of a connection use different networks",
    cause = "One rank took the plugin, its peer sockets. Initialisation completes, then the job "
      .. "hangs.",
    next = "The same image and the same environment for all ranks.",
  },
  ["RTL-NCCL-019"] = {
    title = "Fewer EFA devices than the instance type has",
    cause = "The pod got only some of the node's EFA devices.",
    next = "Ask for all of them in the pod's limits.",
  },
  ["RTL-NCCL-020"] = {
    title = "Traffic between some nodes was not seen",
    cause = "The logs hold no inter-node edge for each node in both directions.",
    next = "Collect the files of all ranks; with Ray's merged lines set RAY_DEDUP_LOGS=0.",
  },
  ["RTL-NCCL-021"] = {
    title = "The hardware counters did not grow as the job should have made them",
    cause = "The log announces EFA, the devices carried (almost) nothing: the traffic went another "
      .. "way, or the job moved less than reckoned.",
    next = "Read the counters of eth0: gigabytes there are TCP.",
  },
  ["RTL-NCCL-022"] = {
    title = "The hardware counters could not be read",
    cause = "They exist only on the host, not in a pod's network namespace; a missing file is "
      .. "unknown, never zero.",
    next = "Run the reader pod with hostNetwork on each GPU node, or accept the log alone with "
      .. "--proof=log.",
  },
  ["RTL-NCCL-023"] = {
    title = "The network plugin failed to initialise",
    cause = "It was loaded, then refused to start; NCCL went on without it, or crashed.",
    next = "The plugin's own warnings before this line say why.",
  },
  ["RTL-NCCL-024"] = {
    title = "A link-local interface was used",
    cause = "NCCL's sockets picked 169.254.x.x (on EKS: pod-id-link0), which is not routed between "
      .. "nodes.",
    next = "NCCL_SOCKET_IFNAME=eth0.",
  },
  ["RTL-NCCL-025"] = {
    title = "The topology file and this NCCL do not fit",
    cause = "NCCL refused an attribute of the topology file that the plugin names.",
    next = "Use a plugin and an NCCL of one release of the image.",
  },
  ["RTL-NCCL-026"] = {
    title = "The tuner plugin refused the algorithm or protocol setting",
    cause = "NCCL_ALGO or NCCL_PROTO is set; the plugin itself may have set it.",
    next = "Unset both.",
  },
  ["RTL-NCCL-027"] = {
    title = "Nothing connected yet",
    cause = "Channel lines announce a network before they connect; no line says that they did.",
    next = "Run at least one collective; look for 'Connected all rings'.",
  },
  ["RTL-NCCL-028"] = {
    title = "Another network carried the traffic",
    cause = "NCCL used InfiniBand verbs, or the plugin ran over another fabric than EFA.",
    next = "FI_PROVIDER=efa and NCCL_NET_PLUGIN=ofi for all ranks.",
  },
  ["RTL-NCCL-029"] = {
    title = "The job did not use NCCL",
    cause = "The script found no torch with CUDA on the workers and ran without NCCL, so nothing "
      .. "of the transport could be seen.",
    next = "Use an image with torch for CUDA (ray_image), or do without proof: transport=any.",
  },
  ["RTL-NCCL-030"] = {
    title = "Nobody knows how much the job moved between the nodes",
    cause = "A job's result says how many bytes each node sent (bytes_per_node), and this one has "
      .. "none: it failed or was stopped before its end. The counters were read, and there is "
      .. "nothing to hold them against.",
    next = "See to the job's own failure first: its last lines say why. --proof=log takes the log "
      .. "alone.",
  },
}
