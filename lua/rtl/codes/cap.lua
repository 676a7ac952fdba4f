-- What the codes of capacity and quota mean; shown by `rtl explain`.
return {
  ["RTL-CAP-001"] = {
    title = "The quota is too small",
    cause = "The account's vCPU quota for this family, less what is used, is below the need.",
    next = "Ask for the shown quota code in Service Quotas; a review can take hours to days.",
  },
  ["RTL-CAP-002"] = {
    title = "No zone offers what is needed",
    cause = "No zone of the region has the instance type with EFA and can be used with EKS.",
    next = "Try another region or type: rtl recipes/capacity.lua -r REGION,REGION.",
  },
  ["RTL-CAP-003"] = {
    title = "No capacity in the zone",
    cause = "EC2 has no free instances of the type there now; the quota allows them.",
    next = "rtl goes on in the next ranked zone by itself; else try another region or later.",
  },
  ["RTL-CAP-004"] = {
    title = "No zone is left for the GPU group",
    cause = "Each zone, or the one that is wanted, can't be used or had no capacity lately.",
    next = "The message has the reason of each. Try another zone or region, or a reservation.",
  },
  ["RTL-CAP-005"] = {
    title = "The reservation does not fit",
    cause = "The given capacity reservation is of another type or zone, or has too few free.",
    next = "Compare type, zone and free instances in the message with the settings.",
  },
  ["RTL-CAP-006"] = {
    title = "Placement group and reservation do not match",
    cause = "A reservation is used only by launches into its own placement group, or into none.",
    next = "Take the placement group out of the settings, or reserve inside of it.",
  },
  ["RTL-CAP-007"] = {
    title = "A vCPU limit was hit at launch",
    cause = "EC2 refused to start the instances: the account's quota is used up.",
    next = "Ask for the quota named in the message, or stop other instances of the family.",
  },
  ["RTL-CAP-008"] = {
    title = "The type does not have what the table says",
    cause = "DescribeInstanceTypes and rtl's instance table disagree on the field that is named.",
    next = "Correct the type in a Lua file of yours (--instance-types FILE), or report it.",
  },
  ["RTL-CAP-009"] = {
    title = "The file of instance types can't be used",
    cause = "It is missing, is no Lua, or one of its rows lacks a field or has a wrong one.",
    next = "It returns { [\"x9.large\"] = { gpus = 1, … } }: rtl help kinds.instances has all.",
  },
  ["RTL-CAP-010"] = {
    title = "The quota that was asked for is not granted",
    cause = "The request is still open, or AWS refused it; reviews take hours to days.",
    next = "Run the same command again later: an open request is not filed twice.",
  },
  ["RTL-CAP-011"] = {
    title = "The GPU nodes stand in a zone that the setting zones leaves out",
    cause = "A node group keeps its subnet for life, and the Ray cluster runs in it.",
    next = "Tear the deployment down and make it anew in the other zone, or add the zone to zones.",
  },
}
