-- What the codes of the resource engine mean; shown by `rtl explain`.
return {
  ["RTL-PLAN-002"] = {
    title = "Resources wait for each other",
    cause = "References and `after` form a loop, so none of them can be made first.",
    next = "The message names the loop: take one reference or one `after` out of it.",
  },
  ["RTL-PLAN-003"] = {
    title = "A resource or output that nobody declares",
    cause = "A step refers to a resource that no step declares, or to an output its kind lacks.",
    next = "Check the kind and name in the message; the nearest known one is shown.",
  },
  ["RTL-PLAN-004"] = {
    title = "An output stayed unknown",
    cause = "A resource was made, yet it has no value for an output that another one needs.",
    next = "Run the same command again; if it stays, the kind reads that output wrongly.",
  },
  ["RTL-PLAN-005"] = {
    title = "The name is taken by a stranger",
    cause = "Something with our name exists that does not carry this deployment's tag.",
    next = "Choose another deployment name, or give that thing to rtl in the settings.",
  },
  ["RTL-PLAN-006"] = {
    title = "What was given does not exist",
    cause = "A setting names a thing to use instead of making it, and it is not there.",
    next = "Check the id, the region and the account that the plan shows.",
  },
  ["RTL-PLAN-007"] = {
    title = "What was given does not fit",
    cause = "A thing given in the settings differs from what the deployment needs.",
    next = "Change it yourself, or give another: rtl never changes what it did not make.",
  },
  ["RTL-PLAN-008"] = {
    title = "A replace that would pull the ground away",
    cause = "A change can only be made by deleting something in which other things stand.",
    next = "Tear the deployment down first, or take the change of the setting back.",
  },
  ["RTL-PLAN-009"] = {
    title = "A change that rtl does not make on a living resource",
    cause = "The declared value differs from the living one and there is no safe way to change it.",
    next = "Take the change back, or tear down and deploy again.",
  },
  ["RTL-PLAN-010"] = {
    title = "Another run works on this deployment",
    cause = "The lock of the deployment is held; the message names the holder.",
    next = "Wait for that run to end. The lock ends with its process, also when it was killed.",
  },
  ["RTL-PLAN-011"] = {
    title = "The ledger is damaged",
    cause = "A line in the middle of the ledger is not a record; a death can only tear the last.",
    next = "Move the file away and run teardown: it also finds everything by tags.",
  },
  ["RTL-PLAN-012"] = {
    title = "A resource vanished while it was changed",
    cause = "It was there before the change and is gone after it: somebody else deleted it.",
    next = "Run the same command again: it will be made anew.",
  },
  ["RTL-PLAN-013"] = {
    title = "Something still stands in it",
    cause = "A deletion failed, so what holds the undeleted thing was kept.",
    next = "See why the first deletion failed, then run teardown again.",
  },
  ["RTL-PLAN-014"] = {
    title = "A wait took too long",
    cause = "A resource did not reach its state in several times the usual time.",
    next = "The last state is in the message. Run the same command again: it waits on.",
  },
  ["RTL-PLAN-015"] = {
    title = "Several things carry the same tags",
    cause = "More than one thing is tagged as this resource; rtl does not guess which is meant.",
    next = "Tear the deployment down (all of them go), or untag those that are not wanted.",
  },
  ["RTL-PLAN-016"] = {
    title = "Still in use",
    cause = "The named things, which rtl did not make here, stand in it or use it.",
    next = "Delete them, if they are yours, and run teardown again.",
  },
  ["RTL-PLAN-017"] = {
    title = "AWS gave up on a resource",
    cause = "The resource went into a failed state; the message has AWS' own reason.",
    next = "Mend the reason and run the same command again: the failed one is replaced.",
  },
  ["RTL-PLAN-018"] = {
    title = "Nodes do not join the cluster",
    cause = "Instances run, but EKS does not see them as nodes of the group.",
    next = "Check the route to the internet of their subnet and the console output shown.",
  },
  ["RTL-PLAN-019"] = {
    title = "What was read back is not what was asked for",
    cause = "AWS took a request and kept something else, e.g. a template without its reservation.",
    next = "Compare the two in the message before money is spent on it; report it if it stays.",
  },
  ["RTL-PLAN-020"] = {
    title = "The account's lock is held",
    cause = "Another machine works on this deployment; holder and expiry are in the message.",
    next = "Wait for it, or until the expiry: then the next run takes the lock over. Where you know"
      .. " that the other run is dead, --dead-run and its id take the lock at once.",
  },
  ["RTL-PLAN-021"] = {
    title = "A workload of a chart does not become ready",
    cause = "A Deployment or DaemonSet of the release has fewer ready pods than wanted.",
    next = "The message has the pod's reason; see its events and log.",
  },
  ["RTL-PLAN-022"] = {
    title = "GPUs or EFA interfaces are missing on a node",
    cause = "A node offers fewer GPUs or EFA interfaces to pods than its instance type has.",
    next = "Check the device plugin's pod on that node; with too few EFA, the launch template.",
  },
  ["RTL-PLAN-023"] = {
    title = "A Ray pod is not what it should be",
    cause = "A pod of the RayCluster is not Guaranteed, or can't be placed.",
    next = "The message names pod and reason; requests must equal limits in each container.",
  },
  ["RTL-PLAN-024"] = {
    title = "A chosen step needs something of a step that was not chosen",
    cause = "With --only, --from or --to only those steps are applied; what they stand on was "
      .. "never made, or is gone.",
    next = "Run the whole recipe, or choose the step that makes it too.",
  },
  ["RTL-PLAN-025"] = {
    title = "The caller may not do all that the plan needs",
    cause = "IAM was asked beforehand, for each action and resource of the plan and of its "
      .. "teardown, and says that the caller's policies, its permissions boundary or the "
      .. "organization do not allow those that are listed. Nothing was made.",
    next = "Give the caller what `--policy` prints, or what is listed. Where IAM is wrong about it,"
      .. " go on with --no-check-rights: the calls themselves will tell.",
  },
  ["RTL-PLAN-026"] = {
    title = "What stands changed since the plan was read",
    cause = "The plan is read before the account's lock is taken, and once more under it. "
      .. "Meanwhile another machine made, changed or removed something of this deployment, or AWS "
      .. "did: an add-on that was being made failed, say. Nothing was done.",
    next = "Run the same command again: its plan starts from what stands now.",
  },
  ["RTL-PLAN-030"] = {
    title = "What a resource would send can't be told",
    cause = "`--plan --out` runs each create against clients that send nothing; this one needs an "
      .. "answer that only the real service can give, or a chart that can't be had.",
    next = "See the error under it. The plan itself (`--plan` alone) does not depend on it.",
  },
}
