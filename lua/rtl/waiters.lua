--- Tasks that wait for the same thing: first come, first woken, however many there are. A queue is
-- an empty table at first.

local M = {}

--- Puts `task` at the end of queue `q`.
function M.add(q, task)
  local last = (q.last or 0) + 1
  q[last], q.last = task, last
end

--- Takes the first task out; nil when nobody waits.
function M.take(q)
  if not q.last then return nil end
  local first, last = q.first or 1, q.last
  while first <= last do
    local task = q[first]
    q[first], first = nil, first + 1
    if task then
      q.first = first
      return task
    end
  end
  q.first, q.last = nil, nil
  return nil
end

--- Takes `task` out, wherever it stands; false when it is not there.
function M.drop(q, task)
  for i = q.first or 1, q.last or 0 do
    if q[i] == task then
      q[i] = false
      return true
    end
  end
  return false
end

return M
