-- What the codes RTL-K8S-… mean: the API server, exec and copies, kubeconfig.
-- Errors that the server names itself keep its reason as code ("NotFound", "Conflict" …).
return {
  ["RTL-K8S-002"] = {
    title = "API server answered with an error that has no reason",
    cause = "The status is one that Kubernetes gives no reason for, or a proxy answered in its "
      .. "place.",
    next = "Read the message and the HTTP status; look whether the address is the API server's "
      .. "own.",
  },
  ["RTL-K8S-003"] = {
    title = "Answer is not what Kubernetes sends",
    cause = "The body was cut short or is not the JSON that was asked for: a proxy, or a "
      .. "server that is no Kubernetes API.",
    next = "Run it again; if it stays, look at the address and at what stands between.",
  },
  ["RTL-K8S-010"] = {
    title = "Cluster knows no such kind",
    cause = "The kind is misspelt, or its CustomResourceDefinition is not installed or not yet "
      .. "Established.",
    next = "Install the operator that brings the definition; look at the kinds the cluster "
      .. "has: run.k8s:discover{refresh = true}.",
  },
  ["RTL-K8S-020"] = {
    title = "Object did not get there in time",
    cause = "The time to wait is over; the message names the conditions that are not true, or "
      .. "the finalizers that keep an object alive.",
    next = "Look at the object's events and pods; wait longer only if something still moves. "
      .. "An object kept by a finalizer needs the controller that set it.",
  },
  ["RTL-K8S-021"] = {
    title = "Object failed and will not get ready by waiting",
    cause = "A Deployment passed its progress deadline, or a pod ended as failed.",
    next = "Look at the pods behind it: image names, resources, events.",
  },
  ["RTL-K8S-030"] = {
    title = "Exec ended without a status",
    cause = "The connection ended before the command's exit status came. The command may have "
      .. "run, may still run, or never began.",
    next = "Look in the pod before running it again. A proxy that cuts long streams is the "
      .. "usual cause.",
  },
  ["RTL-K8S-031"] = {
    title = "Command could not be run in the pod",
    cause = "There is no such program in the image, the container is not running, or the node "
      .. "refused.",
    next = "Read the message; look at the container's state and at what the image has.",
  },
  ["RTL-K8S-032"] = {
    title = "Command in the pod took too long",
    cause = "The time given to the command is over. It may still run: closing the connection "
      .. "does not end it.",
    next = "Look in the pod; give it more time, or run long work detached from the connection.",
  },
  ["RTL-K8S-033"] = {
    title = "Command in the pod printed too much",
    cause = "Its output is over what is kept in memory (64 MiB).",
    next = "Take the output as it comes (on_stdout), or copy a file in ranges.",
  },
  ["RTL-K8S-040"] = {
    title = "Copy is not equal to its source",
    cause = "Size or SHA-256 differ after several tries, or the pod refused to write: a stream "
      .. "that ends early loses its tail and still reports success, so both sides are "
      .. "compared.",
    next = "Run it again; check the free space in the pod and that nothing writes the file "
      .. "meanwhile. The image needs sh, head, tail, wc and sha256sum.",
  },
  ["RTL-K8S-041"] = {
    title = "No such file in the pod",
    cause = "The path is not a file there, or the container is another one.",
    next = "Check path and container.",
  },
  ["RTL-K8S-050"] = {
    title = "kubeconfig can't be used",
    cause = "It is missing or not YAML, the context is unknown, or an entry contradicts itself "
      .. "(a certificate as file and as data, a certificate without its key …). kubectl "
      .. "refuses the same.",
    next = "Read the message; `kubectl config view` shows the merged file. In $KUBECONFIG the "
      .. "first file that has an entry wins the whole entry.",
  },
  ["RTL-K8S-051"] = {
    title = "Credential plugin of the kubeconfig failed",
    cause = "The program named under exec is missing, ended with an error, or printed "
      .. "something else than an ExecCredential.",
    next = "Run the command by hand; the hint says how it is installed.",
  },
}
