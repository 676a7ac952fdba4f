-- What the codes of the command line mean: shown by `rtl explain CODE`.
return {
  ["RTL-CLI-001"] = {
    title = "Unknown option",
    cause = "The option is neither the runner's (--plan, --yes, …) nor a setting of this recipe; "
      .. "or this recipe has no steps or no plan that it could speak of.",
    next = "`rtl help RECIPE` and `rtl help settings` list what there is.",
  },
  ["RTL-CLI-002"] = {
    title = "An option lacks its value",
    cause = "The option needs a value: --gpu-count 3 or --gpu-count=3.",
    next = "Write the value after the option.",
  },
  ["RTL-CLI-003"] = {
    title = "No such command, file or recipe",
    cause = "The first word is a sub-command, a path, a name in ./recipes or an embedded recipe,"
      .. " in that order, and it was none of them.",
    next = "`rtl help` lists sub-commands and recipes.",
  },
  ["RTL-CLI-004"] = {
    title = "A part of a recipe is missing",
    cause = "A recipe names a step or file that is neither beside it nor in the binary.",
    next = "Correct the name in the recipe, or put the file beside it.",
  },
  ["RTL-CLI-005"] = {
    title = "A file is not Lua",
    cause = "The text has a syntax error; the message has file and line.",
    next = "Correct the line.",
  },
  ["RTL-CLI-006"] = {
    title = "A confirmation is needed",
    cause = "A run that makes or deletes something asks once. Without a terminal there is nobody to"
      .. " ask.",
    next = "Look at --plan, then run again with --yes.",
  },
  ["RTL-CLI-007"] = {
    title = "Not confirmed",
    cause = "The question was answered with no.",
    next = "Nothing was made or deleted. --plan shows the plan again without asking.",
  },
  ["RTL-CLI-008"] = {
    title = "No step of that name",
    cause = "--only, --from and --to take the names of the recipe's steps.",
    next = "`rtl help RECIPE` lists the steps.",
  },
  ["RTL-CLI-009"] = {
    title = "No help on that",
    cause = "The word is no module, function, recipe or topic of the help index.",
    next = "`rtl help` lists the topics.",
  },
  ["RTL-CLI-010"] = {
    title = "No such code",
    cause = "The code has no page: it may be a service's own code, or misspelt.",
    next = "`rtl explain` lists all codes.",
  },
  ["RTL-CLI-011"] = {
    title = "The folder has recipes already",
    cause = "`rtl init` writes a fork of the recipes and never over files that are there.",
    next = "Give another folder, or move the old one away.",
  },
  ["RTL-CLI-012"] = {
    title = "A program error",
    cause = "A recipe or rtl itself raised an error that is not an answer of the world.",
    next = "The traceback names file and line. If the line is below rtl/, please report it.",
  },
  ["RTL-CLI-013"] = {
    title = "The recipe is not one",
    cause = "A recipe returns a table with `steps` or `action`.",
    next = "Compare with recipes/deploy.lua (`rtl init DIR` writes it out).",
  },
  ["RTL-CLI-016"] = {
    title = "The recipe takes no words",
    cause = "A word on the command line is neither an option nor the value of one.",
    next = "Write settings as --name value. `rtl help RECIPE` shows whether it takes words.",
  },
  ["RTL-CLI-015"] = {
    title = "Every other way failed too",
    cause = "A failure that another zone or group could cure came back in each of them.",
    next = "The lines above name each attempt. Try another region, or a reservation.",
  },
  ["RTL-CLI-014"] = {
    title = "Output can't be written",
    cause = "Standard output is closed or its disk is full.",
    next = "The run's own record is complete; `rtl status` shows what stands.",
  },
  ["RTL-CLI-017"] = {
    title = "The folder of --out holds other files",
    cause = "`--plan --out DIR` empties DIR of an earlier plan, and of nothing else.",
    next = "Give a folder that does not exist yet, or an empty one.",
  },
}
