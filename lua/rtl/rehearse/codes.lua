--- What the codes RTL-WORLD-… mean: the simulated world that --rehearse puts in place.
return {
  ["RTL-WORLD-001"] = {
    title = "The scenario of --rehearse is not known",
    cause = "What stands behind --rehearse= is SCENARIO[,key=value…], and this scenario, key or "
      .. "value does not exist.",
    next = "Use one of the scenarios that the message lists, or --rehearse alone.",
  },
  ["RTL-WORLD-002"] = {
    title = "The journal of the simulated world can't be read",
    cause = "The file under the state folder was changed, or another version of rtl wrote it.",
    next = "Remove the file that the message names: the next rehearsal begins with a new world. "
      .. "Nothing real is lost.",
  },
  ["RTL-WORLD-003"] = {
    title = "A simulated world runs no programs of this machine",
    cause = "Something asked for an outside program (a credential process, an exec plugin) while "
      .. "the run is rehearsed.",
    next = "Leave that setting out of the rehearsal, or run without --rehearse.",
  },
  ["RTL-WORLD-004"] = {
    title = "Another scenario stands in this state folder",
    cause = "There is one simulated world a state folder, it goes on from run to run, and it was "
      .. "begun with another scenario or seed.",
    next = "Remove what stands in it with `rtl --rehearse recipes/teardown.lua`, or use another "
      .. "state folder (RTL_STATE).",
  },
}
