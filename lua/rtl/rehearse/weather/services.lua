--- Weather in the services of AWS: rate limits that others use up, and answers of 500 and 503.

local fault = require "rtl.rehearse.aws.fault"
local chance = require "rtl.rehearse.chance"
local weather = require "rtl.rehearse.weather"

local M = {}

-- What a service answers when it is asked too often: code, status. Those of botocore's models and
-- its _retry.json; the query services share the common error.
local THROTTLED = {
  ec2 = { "RequestLimitExceeded", 503 }, eks = { "ThrottlingException", 429 },
  ssm = { "ThrottlingException", 400 }, service_quotas = { "TooManyRequestsException", 400 },
  pricing = { "ThrottlingException", 400 }, scheduler = { "ThrottlingException", 429 },
  logs = { "ThrottlingException", 400 }, resource_groups = { "TooManyRequestsException", 429 },
  tagging = { "ThrottledException", 400 }, s3 = { "SlowDown", 503 },
}
local COMMON_THROTTLED = { "Throttling", 400 }

-- What it answers when it is ill.
local ILL = {
  ec2 = { { "InternalError", 500 }, { "Unavailable", 503 } },
  eks = { { "ServerException", 500 }, { "ServiceUnavailableException", 503 } },
  iam = { { "ServiceFailure", 500 }, { "ServiceUnavailable", 503 } },
  ssm = { { "InternalServerError", 500 } },
  pricing = { { "InternalErrorException", 500 } },
  scheduler = { { "InternalServerException", 500 } },
  logs = { { "ServiceUnavailableException", 503 } },
  resource_groups = { { "InternalServerErrorException", 500 } },
  tagging = { { "InternalServiceException", 500 } },
  s3 = { { "InternalError", 500 }, { "SlowDown", 503 } },
}
local COMMON_ILL = { { "InternalFailure", 500 }, { "ServiceUnavailable", 503 } }

-- Tokens of one operation in one region: EC2's documented buckets, the same for the others, whose
-- own are not published.
local READS, CHANGES = { 100, 20 }, { 50, 5 }

local function bucket_of(world, svc, op, region)
  local key = svc.name .. " " .. region .. " " .. op.key
  world.buckets = world.buckets or {}
  local bucket = world.buckets[key]
  if not bucket then
    bucket = { tokens = (op.reads and READS or CHANGES)[1], at = world:age() }
    world.buckets[key] = bucket
  end
  return bucket
end

-- Whether the operation's bucket has a token for this call. In a spell of throttling others leave
-- it `left` tokens a second, and no store.
local function has_token(world, svc, op, region)
  local bucket, now = bucket_of(world, svc, op, region), world:age()
  local limit, refill = table.unpack(op.reads and READS or CHANGES)
  local spell = weather.blows(world, "throttling")
  if spell then limit, refill = 1, spell.left end
  bucket.tokens = math.min(limit, bucket.tokens + (now - bucket.at) * refill)
  bucket.at = now
  if bucket.tokens < 1 then
    if spell then world:struck "throttling" end
    return false
  end
  bucket.tokens = bucket.tokens - 1
  return true
end

local function throttled(svc)
  local row = THROTTLED[svc.name] or COMMON_THROTTLED
  return fault.new(row[1], "Request limit exceeded. (Rate exceeded)", row[2])
end

local function ill(world, svc)
  local rows = ILL[svc.name] or COMMON_ILL
  local row = rows[1 + math.floor(#rows * chance.unit(world.seed, "ill", world.runs,
                                                      world.calls_made))]
  return fault.new(row[1], "An internal error has occurred. Retry your request.", row[2])
end

--- What a service answers instead of doing what it is asked: a fault, or nil.
function M.before(world, svc, op, region)
  if not has_token(world, svc, op, region) then return throttled(svc) end
  if weather.hits_call(world, "server-errors") then return ill(world, svc) end
  return nil
end

--- What it answers though it did it: a fault, or nil.
function M.after(world, svc)
  if weather.hits_call(world, "server-errors-after") then return ill(world, svc) end
  return nil
end

--- How many items a page may hold: `size`, or fewer.
function M.page_size(world, size)
  local small = world.sky["small-pages"]
  if not small then return size end
  return math.min(size, small.size)
end

return M
