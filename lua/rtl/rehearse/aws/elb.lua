--- Elastic Load Balancing: none are made here, but teardown asks for those in a VPC.

local array = require "rtl.array"

local M = { operations = {} }
local ops = M.operations

function ops.describe_load_balancers(call)
  local list = array(call.region.load_balancers:all())
  return { LoadBalancers = list, LoadBalancerDescriptions = array {} }
end

function ops.describe_target_groups()
  return { TargetGroups = array {} }
end

function ops.describe_tags()
  return { TagDescriptions = array {} }
end

return M
