--- What stands in a world: everything that somebody made in it.

local M = {}

--- How many resources of AWS stand that were made by a call (what an account has by itself and what
-- only stays visible after its end do not count).
function M.count(world)
  return #require "rtl.rehearse.aws".standing(world)
end

-- The deployment that a thing's tags name, or nil; nil for a machine that only stays visible.
local function deployment_of(item)
  if type(item.State) == "table" and item.State.Name == "terminated" then return nil end
  for _, tag in ipairs(item.Tags or item.TagSet or {}) do
    if tag.Key == "rtl:deployment" then return tag.Value end
  end
end

--- The deployments that something stands of: sorted array of { name, region }. By what each has,
-- its network or, in a given one, its machines; else none is named.
function M.deployments(world)
  local list, seen = {}, {}
  for _, region in ipairs(world.aws.region_names) do
    for _, kind in ipairs { "vpcs", "instances" } do
      for _, item in ipairs(world.aws.regions[region][kind]:all()) do
        local name = deployment_of(item)
        local key = name and name .. " " .. region
        if key and not seen[key] then
          seen[key] = true
          list[#list + 1] = { name = name, region = region }
        end
      end
    end
  end
  table.sort(list, function (a, b)
    return a.name < b.name or a.name == b.name and a.region < b.region
  end)
  return list
end

return M
