--- Nearest-name suggestions for misspelt settings, outputs, operations and commands.

local M = {}

local function fold(word)
  return (word:lower():gsub("[-_ ]", ""))
end

-- Edit distance with swaps of neighbours (optimal string alignment), on folded words.
local function distance(a, b)
  local before, last = {}, {}
  for j = 0, #b do last[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      local cost = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same and 0 or 1))
      local swapped = i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j)
      if swapped then cost = math.min(cost, before[j - 2] + 1) end
      row[j] = cost
    end
    before, last = last, row
  end
  return last[#b]
end

--- The entry of `list` that `word` most likely stands for, or nil when nothing is near.
-- `max` is the greatest edit distance that counts (default: a third of the word, at least 1).
function M.nearest(word, list, max)
  if type(word) ~= "string" then return nil end
  local wanted = fold(word)
  local limit = max or math.max(1, #wanted // 3)
  local best, best_cost
  for _, name in ipairs(list) do
    local cost = distance(wanted, fold(name))
    local better = not best or cost < best_cost or (cost == best_cost and name < best)
    if cost <= limit and better then best, best_cost = name, cost end
  end
  return best
end

--- A text to append to an error: ` (did you mean "x"?)`, or "" when nothing is near.
function M.suggest(word, list)
  local near = M.nearest(word, list)
  return near and (' (did you mean "%s"?)'):format(near) or ""
end

--- The keys of a table, sorted: what nearest() wants.
function M.keys(t)
  local keys = {}
  for key in pairs(t) do
    if type(key) == "string" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  return keys
end

return M
