--- How a task waits for the world.

local task = require "rtl.task"

local M = {}

--- Waits until something in the world changed, at most `limit` seconds of virtual time.
function M.wait(world, limit)
  world:advance(world.now_us)
  local future = task.future()
  world.waiters[#world.waiters + 1] = function ()
    if not future:ready() then future:set(true) end
  end
  local next_in = world:next_in()
  if next_in and next_in < limit then limit = next_in end
  task.deadline(math.max(limit, 0.000001), future.get, future)
end

return M
