--- The On-Demand quotas of EC2, in vCPU: what is granted, what is used, and asking for more.

local clock = require "rtl.clock"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local instances = require "rtl.kinds.instances"
local keys = require "rtl.keys"
local support = require "rtl.kinds.support"
local task = require "rtl.task"

local M = {}

local FAMILIES = {
  ["L-DB2E81BA"] = { name = "Running On-Demand G and VT instances", pattern = "^[gv]" },
  ["L-417A185B"] = { name = "Running On-Demand P instances", pattern = "^p%d" },
  ["L-1216C47A"] = { name = "Running On-Demand Standard instances", pattern = "^[acdhimrtz]%d" },
}

--- What Service Quotas grants of a quota in a region: number | nil, err. Where no value of the
-- account's own is stored, AWS' default counts.
function M.granted(ctx, region, code)
  local quotas = ctx:aws("service_quotas", { region = region })
  local answer, failure = quotas:get_service_quota { ServiceCode = "ec2", QuotaCode = code }
  if not answer and errors.not_found(failure) then
    answer, failure = quotas:get_aws_default_service_quota {
      ServiceCode = "ec2", QuotaCode = code }
  end
  if not answer then return nil, failure end
  return math.tointeger(answer.Quota.Value) or answer.Quota.Value
end

-- Numbers of instances by type that count against On-Demand quotas: all, and this deployment's own.
-- Spot instances and those in capacity blocks do not; an instance in a reservation counts once.
local function tally(ctx, pattern, running, reservations)
  local all, own = {}, {}
  local function add(name, n, tags)
    if n <= 0 or not name:match(pattern) then return end
    all[name] = (all[name] or 0) + n
    if support.is_ours(ctx, support.tags_of(tags)) then own[name] = (own[name] or 0) + n end
  end
  for _, instance in ipairs(running) do
    if not instance.InstanceLifecycle then add(instance.InstanceType, 1, instance.Tags) end
  end
  for _, one in ipairs(reservations) do
    local counts = one.State == nil or one.State == "active" or one.State == "pending"
    local mine = one.OwnerId == nil or one.OwnerId == ctx.account
    if counts and mine and one.ReservationType ~= "capacity-block" then
      add(one.InstanceType, one.AvailableInstanceCount or 0, one.Tags)
    end
  end
  return all, own
end

-- vCPU of types: the table's, else what EC2 says.
local function sizes_of(ec2, counts)
  local sizes, ask = {}, {}
  for _, name in ipairs(keys.sorted(counts)) do
    local row = instances.find(name)
    sizes[name] = row and row.vcpu
    if not row then ask[#ask + 1] = name end
  end
  if #ask == 0 then return sizes end
  local list, failure = ec2:all("describe_instance_types", { InstanceTypes = ask })
  if not list then return nil, failure end
  for _, info in ipairs(list) do
    sizes[info.InstanceType] = info.VCpuInfo and info.VCpuInfo.DefaultVCpus
  end
  return sizes
end

local function vcpus(counts, sizes)
  local sum = 0
  for name, n in pairs(counts) do sum = sum + n * (sizes[name] or 0) end
  return sum
end

--- Reckons a quota: `value` granted against `need` vCPU and what runs or is held. Returns { code,
-- name, region, need, granted, used (by all), own (by this deployment, a part of the need), enough,
-- ask (the least value that is enough) } | nil, err.
function M.reckon(ctx, region, want, value, running, reservations)
  local family = FAMILIES[want.code] or { name = want.code, pattern = "^$" }
  local all, own = tally(ctx, family.pattern, running, reservations)
  local sizes, failure = sizes_of(ctx:aws("ec2", { region = region }), all)
  if not sizes then return nil, failure end
  local used, mine = vcpus(all, sizes), vcpus(own, sizes)
  local least = used - mine + want.need
  return { code = want.code, name = family.name, region = region, need = want.need,
    granted = value, used = used, own = mine, ask = least, enough = value >= least }
end

-- ---- asking for more ----

local OPEN = { PENDING = true, CASE_OPENED = true, APPROVED = true }

-- The newest request for a quota that is open, and the newest that was refused.
local function requests(ctx, quota)
  local client = ctx:aws("service_quotas", { region = quota.region })
  local list, failure = client:all("list_requested_service_quota_change_history_by_quota",
    { ServiceCode = "ec2", QuotaCode = quota.code })
  if not list then return nil, failure end
  local found = {}
  for _, one in ipairs(list) do
    local slot = OPEN[one.Status] and "open" or "closed"
    local newest = found[slot]
    if not newest or (one.Created or 0) >= (newest.Created or 0) then found[slot] = one end
  end
  return found
end

--- Asks for `quota` (of M.reckon) to be raised to its `ask`, unless a request for it is open
-- already. Returns { id, value, open (it was open before) } | nil, err.
function M.request(ctx, quota)
  local found, failure = requests(ctx, quota)
  if not found then return nil, failure end
  if found.open then
    return { id = found.open.Id, value = found.open.DesiredValue, open = true }
  end
  local answer, refused = ctx:aws("service_quotas", { region = quota.region })
    :request_service_quota_increase { ServiceCode = "ec2", QuotaCode = quota.code,
      DesiredValue = quota.ask + 0.0 }
  if answer then return { id = answer.RequestedQuota.Id, value = quota.ask, open = false } end
  if refused.code ~= "ResourceAlreadyExistsException" then return nil, refused end
  return { value = quota.ask, open = true }
end

local REFUSED = { DENIED = true, NOT_APPROVED = true, INVALID_REQUEST = true }

local function refusal(quota, text, hint)
  return nil, err.new { code = "RTL-CAP-010", exit = "refused", quota = quota.code,
    message = ("%s = %d in %s %s"):format(quota.code, quota.ask, quota.region, text),
    hint = hint }
end

-- A refusal of the request that is waited for, by its status; nil while it is open.
local function refused_request(ctx, quota, id)
  local found, failure = requests(ctx, quota)
  if not found then return nil, failure end
  local closed = found.closed
  if closed and closed.Id == id and REFUSED[closed.Status] then return closed.Status end
end

--- Waits until a quota is enough, at most `limit` seconds; looks every minute. `request` is what
-- M.request returned. Returns the granted value | nil, err (RTL-CAP-010: refused, or not yet).
function M.wait(ctx, quota, request, limit)
  local began = clock.mono()
  while true do
    local value, failure = M.granted(ctx, quota.region, quota.code)
    if not value then return nil, failure end
    if value >= quota.ask then return value end
    local status, unread = refused_request(ctx, quota, request.id)
    if unread then return nil, unread end
    if status then
      return refusal(quota, ("was not granted: %s"):format(status),
        "Answer the case in AWS Support, or choose another type or region")
    end
    local left = limit - (clock.mono() - began)
    if left <= 0 then
      return refusal(quota, "is asked for and not granted yet",
        "Run the same command again later: the request stays open; --quota-wait waits longer")
    end
    task.sleep(math.min(60, left))
  end
end

return M
