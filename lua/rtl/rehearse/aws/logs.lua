--- CloudWatch Logs: the log groups that clusters leave behind.

local array = require "rtl.array"
local fault = require "rtl.rehearse.aws.fault"

local M = { operations = {} }
local ops = M.operations

function ops.describe_log_groups(call, p)
  local prefix = p.logGroupNamePrefix or ""
  return { logGroups = array(call.region.log_groups:all(function (it)
    return it.logGroupName:sub(1, #prefix) == prefix
       and (not p.logGroupNamePattern or it.logGroupName:find(p.logGroupNamePattern, 1, true))
  end)) }
end

local function not_there()
  return fault.fail("ResourceNotFoundException", "The specified log group does not exist.", 400)
end

function ops.delete_log_group(call, p)
  if not call.region.log_groups:get(p.logGroupName) then return not_there() end
  call.region.log_groups:remove(p.logGroupName)
  return {}
end

function ops.list_tags_for_resource(call, p)
  local name = p.resourceArn:match "log%-group:(.+)$"
  local group = name and call.region.log_groups:get((name:gsub(":%*$", "")))
  if not group then return not_there() end
  return { tags = group.tags or {} }
end

return M
