--- Strict globals for files that rtl runs: a name that nobody declared is an error, not nil.

local names = require "rtl.nearest"

local M = {}

local function globals()
  local list = {}
  for name in pairs(_G) do
    if type(name) == "string" then list[#list + 1] = name end
  end
  return list
end

--- A fresh environment for one chunk: it reads the global names, refuses unknown ones with the
-- nearest right one, and refuses to make new ones (`_G.name = …` is how to mean it).
function M.environment()
  return setmetatable({}, {
    __index = function (_, name)
      local found = rawget(_G, name)
      if found == nil then
        error(("undeclared name '%s'%s"):format(tostring(name),
          names.hint(tostring(name), globals())), 2)
      end
      return found
    end,
    __newindex = function (_, name)
      error(("global '%s' is not allowed here: declare it local, or write _G.%s"):format(
        tostring(name), tostring(name)), 2)
    end,
  })
end

return M
