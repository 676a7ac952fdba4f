--- The exit codes of every rtl command, in one table. README shows it; a check keeps them equal.

return {
  done        = 0,   -- done, and proven where there is something to prove
  failed      = 1,   -- a step or the job failed (the job's own code is in the event)
  usage       = 2,   -- the command line or a setting is wrong, or a confirmation could not be asked
  transport   = 3,   -- the transport is not EFA, or was refused by the pin; wins over `failed`
  changes     = 4,   -- `--plan --exit-code` found changes
  refused     = 5,   -- refused before anything was made: quota, capacity, permission, lock
  left        = 6,   -- teardown left something that it should have removed
  interrupted = 130, -- Ctrl-C
}
