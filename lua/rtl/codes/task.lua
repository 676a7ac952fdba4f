return {
  ["RTL-TASK-001"] = {
    title = "A deadline has passed",
    cause = "What was started with a time limit was not done in time and was stopped.",
    next = "Look at what was being done: the error above it says so. A longer limit is a setting "
      .. "where the operation has one.",
  },
  ["RTL-TASK-002"] = {
    title = "Interrupted",
    cause = "Ctrl-C was pressed, or the program was asked to end, or the task was cancelled "
      .. "because another one of its group had failed.",
    next = "Run the same command again to go on: what was made is in the ledger.",
  },
  ["RTL-TASK-003"] = {
    title = "All tasks wait for each other",
    cause = "No task can run, no timer is set and no input or output is on its way: a programming "
      .. "error, usually a future that nobody sets or a queue that nobody closes.",
    next = "Please report it with the command and the trace.",
  },
}
