--- Service Quotas.

local array = require "rtl.array"
local fault = require "rtl.rehearse.aws.fault"
local values = require "rtl.rehearse.aws.quota_values"

local M = { operations = {} }
local ops = M.operations

local function quota_of(call, code, value)
  local row = values.rows[code]
  return { ServiceCode = row[1], ServiceName = row[1], QuotaCode = code, QuotaName = row[2],
           Value = value + 0.0, Unit = "None", Adjustable = true, GlobalQuota = false,
           QuotaArn = ("arn:aws:servicequotas:%s:%s:%s/%s"):format(call.region.name, call.account,
                                                                  row[1], code) }
end

local function row_of(p)
  local row = values.rows[p.QuotaCode]
  if row and row[1] == p.ServiceCode then return row end
  return fault.fail("NoSuchResourceException", "The request failed because the specified quota "
                    .. "does not exist.")
end

function ops.get_service_quota(call, p)
  local row, refused = row_of(p)
  if not row then return nil, refused end
  local applied = row[4] or (call.world.weather.quota or {})[p.QuotaCode]
  if not applied then
    return fault.fail("NoSuchResourceException", "There is no applied value for this quota.")
  end
  return { Quota = quota_of(call, p.QuotaCode, values.value(call.world, p.QuotaCode, call.region)) }
end

function ops.get_aws_default_service_quota(call, p)
  local row, refused = row_of(p)
  if not row then return nil, refused end
  return { Quota = quota_of(call, p.QuotaCode, row[3]) }
end

local function sorted_codes(service)
  local codes = {}
  for code, row in pairs(values.rows) do
    if row[1] == service then codes[#codes + 1] = code end
  end
  table.sort(codes)
  return codes
end

function ops.list_service_quotas(call, p)
  local list = array {}
  for _, code in ipairs(sorted_codes(p.ServiceCode)) do
    if values.rows[code][4] then
      list[#list + 1] = quota_of(call, code, values.value(call.world, code, call.region))
    end
  end
  return { Quotas = list }
end

local function history(call)
  call.region.quota_requests = call.region.quota_requests or array {}
  return call.region.quota_requests
end

function ops.list_requested_service_quota_change_history_by_quota(call, p)
  local list = array {}
  for _, request in ipairs(history(call)) do
    if request.QuotaCode == p.QuotaCode and (not p.Status or request.Status == p.Status) then
      list[#list + 1] = request
    end
  end
  return { RequestedQuotas = list }
end

-- A person at AWS looks at it first; where the scenario says so, it is granted in the end.
local function review(call, request)
  call.world:after(call.world:spread(60, 240, "case", request.Id), function ()
    if request.Status ~= "PENDING" then return end
    request.Status, request.CaseId = "CASE_OPENED", "case-" .. request.Id:sub(1, 8)
  end)
  if not call.world.weather.quota_granted then return end
  call.world:after(call.world.keys.after or 1200, function ()
    local granted = call.region.quotas_granted or {}
    granted[request.QuotaCode] = math.tointeger(request.DesiredValue) or request.DesiredValue
    call.region.quotas_granted, request.Status = granted, "CASE_CLOSED"
  end)
end

function ops.request_service_quota_increase(call, p)
  local row, refused = row_of(p)
  if not row then return nil, refused end
  for _, request in ipairs(history(call)) do
    local open = request.Status == "PENDING" or request.Status == "CASE_OPENED"
    if request.QuotaCode == p.QuotaCode and open then
      return fault.fail("ResourceAlreadyExistsException",
                        "A request for this quota is open already.")
    end
  end
  if p.DesiredValue <= values.value(call.world, p.QuotaCode, call.region) then
    return fault.fail("IllegalArgumentException",
                      "The desired value must be greater than the current one.")
  end
  local request = { Id = call.world:uuid "quota", ServiceCode = p.ServiceCode,
    QuotaCode = p.QuotaCode, QuotaName = row[2], DesiredValue = p.DesiredValue,
    Status = "PENDING", Created = call.world:second() }
  table.insert(history(call), request)
  review(call, request)
  return { RequestedQuota = request }
end

return M
