--- Auto Scaling: the groups of node groups and their activities.

local array = require "rtl.array"

local M = { operations = {} }
local ops = M.operations

local function set_of(names)
  if not names or #names == 0 then return nil end
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

local function has_tags(group, filters)
  for _, filter in ipairs(filters or {}) do
    local key = (filter.Name or ""):match "^tag:(.+)$"
    local wanted, found = set_of(filter.Values) or {}, false
    for _, tag in ipairs(group.Tags) do
      if (key and tag.Key == key and wanted[tag.Value])
        or (filter.Name == "tag-key" and wanted[tag.Key]) then
        found = true
      end
    end
    if not found then return false end
  end
  return true
end

function ops.describe_auto_scaling_groups(call, p)
  local wanted = set_of(p.AutoScalingGroupNames)
  return { AutoScalingGroups = array(call.region.groups:all(function (it)
    return (not wanted or wanted[it.AutoScalingGroupName]) and has_tags(it, p.Filters)
  end)) }
end

function ops.describe_scaling_activities(call, p)
  local all, list = call.region.activities:all(), array {}
  for i = #all, 1, -1 do
    local there = call.region.groups:get(all[i].AutoScalingGroupName) or p.IncludeDeletedGroups
    if there and (not p.AutoScalingGroupName
                  or all[i].AutoScalingGroupName == p.AutoScalingGroupName) then
      list[#list + 1] = all[i]
    end
  end
  return { Activities = list }
end

return M
