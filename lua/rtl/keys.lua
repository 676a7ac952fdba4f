--- Keys in a fixed order: `pairs` gives another in each process, which must not reach an effect.

local M = {}

local function before(a, b)
  if math.type(a) and math.type(b) then return a < b end
  if math.type(a) or math.type(b) then return math.type(a) ~= nil end
  return tostring(a) < tostring(b)
end

--- All keys of a table: numbers first, then texts, each in ascending order.
function M.sorted(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, before)
  return keys
end

--- Iterates over a table in the order of sorted(): `for key, value in keys.pairs(t) do`.
function M.pairs(t)
  local keys, i = M.sorted(t), 0
  return function ()
    i = i + 1
    if keys[i] ~= nil then return keys[i], t[keys[i]] end
  end
end

return M
