--- Death at call N: the process is really killed, before a mutating call takes effect, after it
-- did, or once its answer was given.

local M = {}

-- The kernel's SIGKILL, sent by a child: nothing of this process runs after it. The child is held
-- meanwhile, since one whose handle is collected is killed with it.
local function die()
  local loop = require "rtl.native.loop"
  local native = require "rtl.native.process"
  local held = {}
  while true do
    held[#held + 1] = native.spawn { argv = { "/bin/sh", "-c", "kill -KILL $PPID" },
      stdin = "null", stdout = "null", stderr = "null" }
    loop.wait(1)
  end
end

local function note_and_die(world)
  world.was_killed = true
  if world.journal then
    world.journal:append { t = world.now_us, k = "killed", n = world.calls }
  end
  die()
end

--- Gives a world the methods that count mutating calls and end the process at the wanted one.
function M.arm(world)
  local at, when = world.keys.call, world.keys.when or "after"
  world.calls = 0

  --- Performs a call that changes things; `kind` and `args` as for perform.
  function world:change(kind, args)
    self.calls = self.calls + 1
    local hit = at == self.calls and not self.was_killed
    if hit and when == "before" then note_and_die(self) end
    local a, b = self:perform(kind, args)
    if hit and when == "after" then note_and_die(self) end
    if hit then self.doomed = true end
    return a, b
  end

  --- Ends the process if it was to end once a call was answered.
  function world:check_death()
    if self.doomed then note_and_die(self) end
  end
end

return M
