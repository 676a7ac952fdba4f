return {
  ["RTL-PROC-001"] = {
    title = "The program could not be started",
    cause = "It is not installed, not in PATH, or may not be run.",
    next = "Install it, or give its full path.",
  },
  ["RTL-PROC-002"] = {
    title = "The program did not end in time",
    cause = "It ran past its time limit and was killed.",
    next = "Run it by hand to see what it waits for.",
  },
  ["RTL-PROC-003"] = {
    title = "Nobody reads the output any more",
    cause = "Standard output or error is closed, or the program behind the pipe has ended.",
    next = "Nothing, if that was meant (`| head`); else look at the program behind the pipe.",
  },
}
