--- The services of rtl.aws under botocore's names.

local model = require "rtl.aws.model"

local M = {}

local BOTOCORE = {
  service_quotas = "service-quotas", resource_groups = "resource-groups",
  tagging = "resourcegroupstaggingapi", sso_oidc = "sso-oidc",
}

--- botocore's name of a service.
function M.botocore(service)
  return BOTOCORE[service] or service
end

--- Calls f(op, botocore's name of its service) for every operation, in order.
function M.each_operation(f)
  for _, service in ipairs(model.services()) do
    local svc = model.service(service)
    for _, key in ipairs(model.operations(svc)) do f(svc.ops[key], M.botocore(service)) end
  end
end

return M
