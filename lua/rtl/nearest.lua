--- The name that was probably meant: for "unknown X" errors.

local M = {}

-- Edit distance with transposition of neighbours as one edit.
local function distance(a, b)
  local before, last = {}, {}
  for j = 0, #b do last[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before, last = last, row
  end
  return last[#b]
end

--- The name in the array `names` that is nearest to `name`, or nil when none is near (more than a
-- third of it would have to change). Of equally near ones, the first in alphabetic order.
function M.name(name, names)
  local best, best_distance
  local sorted = table.move(names, 1, #names, 1, {})
  table.sort(sorted)
  for _, candidate in ipairs(sorted) do
    local d = distance(name:lower(), candidate:lower())
    if not best_distance or d < best_distance then best, best_distance = candidate, d end
  end
  if best and best_distance <= math.max(1, math.max(#name, #best) // 3) then return best end
  return nil
end

--- " (did you mean 'X'?)" for the nearest of `names`, else "".
function M.hint(name, names)
  local near = M.name(name, names)
  return near and (" (did you mean '%s'?)"):format(near) or ""
end

return M
