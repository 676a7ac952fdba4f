--- Comparing what is wanted with what is there: only what is declared counts.

local null = require "rtl.null"

local M = {}

local function is_list(t)
  return t[1] ~= nil
end

local same

local function same_table(want, have)
  if is_list(want) and #want ~= #have then return false end
  if next(want) == nil and is_list(have) then return false end
  for key, value in pairs(want) do
    if not same(value, have[key]) then return false end
  end
  return true
end

function same(want, have)
  if want == null then want = nil end
  if have == null then have = nil end
  if type(want) == "table" and type(have) == "table" then return same_table(want, have) end
  return want == have
end

--- Whether `have` is what `want` says: lists element by element, other tables by the keys of
-- `want` only.
function M.same(want, have)
  return same(want, have)
end

--- Whether two lists of texts hold the same, in any order.
function M.same_set(want, have)
  local a, b = table.move(want or {}, 1, #(want or {}), 1, {}), table.move(have or {}, 1,
    #(have or {}), 1, {})
  table.sort(a)
  table.sort(b)
  return same_table(a, b) and #a == #b
end

local show

local function show_table(value)
  local parts = {}
  if is_list(value) then
    for _, item in ipairs(value) do parts[#parts + 1] = show(item) end
    return "[" .. table.concat(parts, ", ") .. "]"
  end
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function (a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do parts[#parts + 1] = tostring(key) .. "=" .. show(value[key]) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

function show(value)
  if value == nil or value == null then return "nothing" end
  if type(value) == "table" then return show_table(value) end
  return tostring(value)
end

--- A value on one line, for reasons and errors; long ones are cut at 120 bytes.
function M.show(value)
  local text = show(value)
  return #text > 120 and text:sub(1, 117) .. "…" or text
end

--- The differences of the listed fields: array of {field, want, have}.
function M.fields(list, want, have)
  local differences = {}
  for _, field in ipairs(list) do
    if want[field] ~= nil and not same(want[field], have[field]) then
      differences[#differences + 1] = { field = field, want = want[field], have = have[field] }
    end
  end
  return differences
end

return M
