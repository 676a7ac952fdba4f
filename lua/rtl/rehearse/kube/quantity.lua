--- Kubernetes quantities ("40", "3920m", "160Gi") as numbers.

local M = {}

local UNITS = { m = 0.001, k = 1e3, M = 1e6, G = 1e9, T = 1e12, Ki = 2.0 ^ 10, Mi = 2.0 ^ 20,
                Gi = 2.0 ^ 30, Ti = 2.0 ^ 40 }

--- The value of a quantity (text or number); nil if it is none.
function M.value(quantity)
  if type(quantity) == "number" then return quantity end
  if type(quantity) ~= "string" then return nil end
  local number, unit = quantity:match "^([%d.eE+-]-)([kKMGTm]?i?)$"
  number = tonumber(number)
  if not number then return nil end
  if unit == "" then return number end
  return UNITS[unit] and number * UNITS[unit]
end

return M
