-- What the codes RTL-HELM-… mean: fetching and rendering charts, release records.
return {
  ["RTL-HELM-001"] = {
    title = "Chart not found",
    cause = "The repository does not answer, has no such chart, or no version that fits; or "
      .. "the path is empty.",
    next = "Check repository, name and version; the hint lists the newest versions.",
  },
  ["RTL-HELM-002"] = {
    title = "Not a chart",
    cause = "The archive can't be read, or Chart.yaml or values.yaml is missing or wrong.",
    next = "Read the message; `helm lint` says the same of a local chart.",
  },
  ["RTL-HELM-003"] = {
    title = "Chart archive is not the one that the index promises",
    cause = "Its SHA-256 differs from the digest in the index: changed, or cut short, or "
      .. "tampered with.",
    next = "Do not install it. Fetch again; if it stays, ask the chart's publisher.",
  },
  ["RTL-HELM-004"] = {
    title = "Source of a chart that is not supported",
    cause = "Charts in OCI registries are not fetched.",
    next = "Give a chart repository, a folder or a tgz (`helm pull oci://… ` makes one).",
  },
  ["RTL-HELM-005"] = {
    title = "Template can't be rendered",
    cause = "The chart refuses these values (required, fail), a template has an error, or it "
      .. "uses a function that is not supported (those with random or secret results, and a "
      .. "few rare ones).",
    next = "The message names file, line and template; check the values given. An unsupported "
      .. "function is never skipped in silence: use another version of the chart, or render "
      .. "it with helm and apply the result.",
  },
  ["RTL-HELM-006"] = {
    title = "Template renders something that is no YAML object",
    cause = "Usually a value with the wrong type or indentation.",
    next = "The message names the file and the line in what it rendered.",
  },
  ["RTL-HELM-007"] = {
    title = "Release record can't be read",
    cause = "The Secret is no helm release, or was written by something else.",
    next = "Look at it with `helm history`.",
  },
  ["RTL-HELM-008"] = {
    title = "Chart refuses this version of Kubernetes",
    cause = "kubeVersion in Chart.yaml excludes the cluster's version.",
    next = "Choose another version of the chart or of the cluster.",
  },
  ["RTL-HELM-009"] = {
    title = "Values are not what the chart's schema allows",
    cause = "values.schema.json of the chart refuses a value: a wrong type, a missing or unknown "
      .. "field.",
    next = "The message names the field; see the chart's values.yaml.",
  },
}
