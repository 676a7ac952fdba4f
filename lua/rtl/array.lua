--- Tables marked as arrays: they encode as an array even when empty.
-- Decoders mark every array. `array(t)` is `array.mark(t)`.

local mark = require "rtl.native.json".array_mark

local M = {}

--- Marks a table as an array and returns it. nil: a new empty array.
function M.mark(t)
  if t == nil then t = {} end
  if type(t) ~= "table" then error("bad argument #1 to 'array' (table expected)", 2) end
  return setmetatable(t, mark)
end

--- Whether a value is a table marked as an array.
function M.is(t)
  return type(t) == "table" and getmetatable(t) == mark
end

return setmetatable(M, { __call = function (_, t) return M.mark(t) end })
