-- What the codes of settings mean: shown by `rtl explain CODE`.
return {
  ["RTL-SET-001"] = {
    title = "There is no setting of that name",
    cause = "A name on the command line, in the environment (RTL_…), in rtl.yaml or in a recipe is"
      .. " misspelt, or it belongs to another recipe or version.",
    next = "`rtl help settings` lists every setting with its meaning and default.",
  },
  ["RTL-SET-002"] = {
    title = "A setting is not of its type",
    cause = "For example a word where a number belongs, or a duration without its unit (4h, 30m).",
    next = "The message names where the value came from; correct it there.",
  },
  ["RTL-SET-003"] = {
    title = "A setting is out of its bounds",
    cause = "Each setting has a smallest and largest value, or a list of allowed words.",
    next = "`rtl help settings` shows them. The bounds stand in recipes/settings.lua.",
  },
  ["RTL-SET-004"] = {
    title = "Several settings are wrong",
    cause = "All of them are listed at once, each with its place.",
    next = "Correct them and run again; nothing was made.",
  },
  ["RTL-SET-005"] = {
    title = "rtl.yaml can't be read",
    cause = "The file is not YAML, or not one mapping of names to values.",
    next = "The message has line and column. `rtl init DIR` writes a sample.",
  },
  ["RTL-SET-006"] = {
    title = "This needs AWS, but the run has a kubeconfig",
    cause = "With `kubeconfig` set, rtl works on a cluster that stands and asks AWS for nothing.",
    next = "Leave `kubeconfig` out, or leave out the step that needs AWS.",
  },
}
