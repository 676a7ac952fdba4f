return {
  ["RTL-FS-001"] = {
    title = "There is no such file",
    cause = "The path, or a folder on the way to it, does not exist.",
    next = "Check the spelling; a relative path starts at the folder where rtl was started.",
  },
  ["RTL-FS-002"] = {
    title = "Another rtl has the lock",
    cause = "Another process works on the same deployment; the message names it.",
    next = "Wait until it has ended, or end it. The lock ends with its process: delete nothing.",
  },
  ["RTL-FS-003"] = {
    title = "The file may not be read or written",
    cause = "The permissions of the file or of a folder above forbid it, or the disk is read-only.",
    next = "Look at the permissions; RTL_STATE names another folder for rtl's own files.",
  },
  ["RTL-FS-004"] = {
    title = "The disk is full",
    cause = "No space, no inodes or no quota is left. Files are as they were.",
    next = "Make room, or let RTL_STATE name a folder on another disk.",
  },
  ["RTL-FS-005"] = {
    title = "The file system refused",
    cause = "A file operation failed for a reason that the message gives.",
    next = "Look at the path and the reason.",
  },
}
