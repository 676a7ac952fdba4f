--- What stands in a world: everything that somebody made in it.

local M = {}

--- How many resources of AWS stand that were made by a call (what an account has by itself and what
-- only stays visible after its end do not count).
function M.count(world)
  return #require "rtl.rehearse.aws".standing(world)
end

return M
