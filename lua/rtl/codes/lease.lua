-- Codes of leases: rtl.kinds.lease, rtl.recipe.lease, recipes/lease.lua.
return {
  ["RTL-LEASE-001"] = {
    title = "The lease is over",
    cause = "Its schedules have begun to end what bills and go on for four hours: what is made "
      .. "now would be ended as well.",
    next = "Begin a new lease with --down-after, take it away with 'rtl recipes/lease.lua cancel', "
      .. "or remove the rest with rtl recipes/teardown.lua.",
  },
  ["RTL-LEASE-002"] = {
    title = "A lease that is too short, or no time",
    cause = "It would end things before they are made; or the word given is no time.",
    next = "Give --down-after of ten minutes or more (4h, 90m), or a larger --max-cost.",
  },
  ["RTL-LEASE-003"] = {
    title = "What it costs is not known, so --max-cost can't be kept",
    cause = "Neither the price list nor the built-in table has a price of something in the plan.",
    next = "Say --down-after instead.",
  },
  ["RTL-LEASE-004"] = {
    title = "A schedule of the lease is gone",
    cause = "Something took it away while the deploy ran.",
    next = "Run the same command again: it is made anew, with the id of what it ends.",
  },
  ["RTL-LEASE-006"] = {
    title = "A lease needs an AWS account",
    cause = "The run has a kubeconfig: what bills was made by others; rtl ends only what it made.",
    next = "Leave --down-after and --max-cost out.",
  },
  ["RTL-LEASE-005"] = {
    title = "There is no lease",
    cause = "The deployment was made without --down-after or --max-cost, or its lease was taken "
      .. "away.",
    next = "rtl recipes/deploy.lua --down-after 4h begins one, also on what stands.",
  },
}
