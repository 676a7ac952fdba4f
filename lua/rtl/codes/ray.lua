-- What the codes RTL-RAY-… mean: jobs on a Ray cluster.
return {
  ["RTL-RAY-001"] = {
    title = "Ray's dashboard does not answer",
    cause = "The head pod's dashboard (port 8265) is not up yet, or ended; or it asks for a "
      .. "token.",
    next = "Look at the head pod's state and its logs (dashboard.log).",
  },
  ["RTL-RAY-002"] = {
    title = "Ray refused the job",
    cause = "The submission was turned down: a runtime environment that is wrong, or a version "
      .. "that differs.",
    next = "Read the message, which is Ray's own.",
  },
  ["RTL-RAY-003"] = {
    title = "No such job",
    cause = "The cluster knows no job with this submission id: it was never submitted, or the "
      .. "head pod has been replaced, and its memory with it.",
    next = "Submit it again; if the head was replaced, find out why (events of the pod).",
  },
  ["RTL-RAY-004"] = {
    title = "Answer from the head pod can't be read",
    cause = "The command in the head pod printed something else than expected.",
    next = "Read the message; check that the image has python3 and ray on its PATH.",
  },
  ["RTL-RAY-005"] = {
    title = "Job did not end in time",
    cause = "The time to wait is over; the job goes on running.",
    next = "Run the command again: it goes on following the same job. Look whether its log "
      .. "still grows.",
  },
}
