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
  return { Quota = quota_of(call, p.QuotaCode, values.value(call.world, p.QuotaCode)) }
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
      list[#list + 1] = quota_of(call, code, values.value(call.world, code))
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

function ops.request_service_quota_increase(call, p)
  local row, refused = row_of(p)
  if not row then return nil, refused end
  for _, request in ipairs(history(call)) do
    if request.QuotaCode == p.QuotaCode and request.Status == "PENDING" then
      return fault.fail("ResourceAlreadyExistsException",
                        "A request for this quota is open already.")
    end
  end
  local request = { Id = call.world:uuid "quota", ServiceCode = p.ServiceCode,
    QuotaCode = p.QuotaCode, QuotaName = row[2], DesiredValue = p.DesiredValue,
    Status = "PENDING", Created = call.world:second() }
  table.insert(history(call), request)
  return { RequestedQuota = request }
end

return M
