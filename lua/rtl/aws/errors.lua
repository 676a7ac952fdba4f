--- What an AWS error code means: gone, taken, in use, no capacity, quota, throttled, refused.
-- Branch on these, or on `err.code`, never on a message.

local err = require "rtl.err"

local M = {}

local function set(text)
  local codes = {}
  for word in text:gmatch "%S+" do codes[word] = true end
  return codes
end

local NOT_FOUND = set [[
  NatGatewayNotFound InvalidLaunchTemplateName.NotFoundException InvalidPlacementGroup.Unknown
  InvalidLaunchTemplateId.VersionNotFound NoSuchEntity ResourceNotFoundException NotFoundException
  ParameterNotFound NoSuchResourceException NoSuchBucket NoSuchKey NoSuchTagSet NoSuchUpload
  NoSuchPublicAccessBlockConfiguration ServerSideEncryptionConfigurationNotFoundError NotFound
  LoadBalancerNotFound TargetGroupNotFound]]

local EXISTS = set [[
  RouteAlreadyExists Resource.AlreadyAssociated InvalidSubnet.Conflict EntityAlreadyExists
  InvalidLaunchTemplateName.AlreadyExistsException ResourceAlreadyExistsException
  ParameterAlreadyExists BucketAlreadyOwnedByYou BucketAlreadyExists ConflictException]]

local IN_USE = set [[
  DependencyViolation InvalidGroup.InUse InvalidPlacementGroup.InUse InvalidNetworkInterface.InUse
  InvalidIPAddress.InUse DeleteConflict ResourceInUseException VolumeInUse ResourceInUse
  BucketNotEmpty]]

local NO_CAPACITY = set [[
  InsufficientInstanceCapacity UnfulfillableCapacity Unsupported ReservationCapacityExceeded
  InsufficientFreeAddressesInSubnet MaxSpotInstanceCountExceeded
  InsufficientReservedInstanceCapacity InsufficientCapacity InsufficientHostCapacity]]

local QUOTA = set [[
  VcpuLimitExceeded InstanceLimitExceeded VpcLimitExceeded SubnetLimitExceeded
  AddressLimitExceeded NatGatewayLimitExceeded InternetGatewayLimitExceeded
  SecurityGroupLimitExceeded RulesPerSecurityGroupLimitExceeded AttachmentLimitExceeded
  ResourceLimitExceededException ResourceLimitExceeded LimitExceeded LimitExceededException
  RouteTableLimitExceeded
  VpcEndpointLimitExceeded ServiceQuotaExceededException QuotaExceededException
  ParameterLimitExceeded TooManyBuckets]]

-- The quota behind a refusal, as Service Quotas has it: its code and name.
local QUOTA_OF = {
  VpcLimitExceeded = "L-F678F1CE (VPCs per Region)",
  AddressLimitExceeded = "L-0263D0A3 (EC2-VPC Elastic IPs)",
  InternetGatewayLimitExceeded = "L-A4707A72 (Internet gateways per Region)",
  NatGatewayLimitExceeded = "L-FE5A380F (NAT gateways per Availability Zone)",
  SubnetLimitExceeded = "L-407747CB (Subnets per VPC)",
  RouteTableLimitExceeded = "L-589F43AA (Route tables per VPC)",
  SecurityGroupLimitExceeded = "L-E79EC296 (VPC security groups per Region)",
  RulesPerSecurityGroupLimitExceeded = "L-0EA8095F (rules per security group)",
}

local THROTTLED = set [[
  RequestLimitExceeded EC2ThrottledException Throttling ThrottlingException ThrottledException
  RequestThrottled RequestThrottledException TooManyRequestsException TooManyRequests
  BandwidthLimitExceeded SlowDown PriorRequestNotComplete ProvisionedThroughputExceededException
  TransactionInProgressException TooManyUpdates DependencyThrottle]]

local DENIED = set [[
  UnauthorizedOperation AccessDenied AccessDeniedException ForbiddenException Forbidden
  NotAuthorized]]

-- The keys, not the caller's rights: they are not known, not good here, or not good for this.
local NOT_TAKEN = set [[
  AuthFailure InvalidClientTokenId UnrecognizedClientException OptInRequired InvalidAccessKeyId
  AuthFailure.ServiceLinkedRoleCreationNotPermitted]]

local EXPIRED = set "ExpiredToken ExpiredTokenException RequestExpired"

local TRANSIENT = set [[
  RequestTimeout RequestTimeoutException InternalError InternalErrorException InternalFailure
  ServiceUnavailable BadDigest
  Unavailable InternalServerError InternalServerErrorException InternalServerException
  ServerException ServiceUnavailableException IDPCommunicationError ConcurrentModification
  EntityTemporarilyUnmodifiable ResourceContention ScalingActivityInProgress
  ResourcePropagationDelayException ServiceFailure OperationAborted]]

-- The clock is surely wrong, or perhaps.
local SKEWED = set "RequestTimeTooSkewed RequestExpired RequestInTheFuture"
local PERHAPS_SKEWED = set "InvalidSignatureException SignatureDoesNotMatch AuthFailure"

-- 509: bandwidth limit exceeded.
local STATUS = {
  [429] = true, [500] = true, [502] = true, [503] = true, [504] = true, [509] = true,
}

local function has(codes)
  return function (e) return err.is(e) and codes[e.code] or false end
end

--- Whether the error says that the thing does not exist.
function M.not_found(e)
  if not err.is(e) then return false end
  if NOT_FOUND[e.code] or e.code:lower():find("%.notfound$") then return true end
  return e.code == "ClientException" and e.message:find("No cluster found", 1, true) ~= nil
end

--- Whether it says that such a thing exists already.
function M.exists(e)
  return err.is(e) and (EXISTS[e.code] or e.code:find("%.Duplicate$") ~= nil) or false
end

--- Whether something else still holds or uses the thing (try again later).
M.in_use = has(IN_USE)
--- Whether AWS has no capacity for the request now (another zone or type may have).
M.no_capacity = has(NO_CAPACITY)
--- Whether a quota of the account is exhausted (no retry helps).
M.quota = has(QUOTA)
--- What a person may do about an exhausted quota, or nil where the error is none.
function M.quota_hint(e)
  if not M.quota(e) then return nil end
  local quota = QUOTA_OF[e.code]
  return ("take away what the account does not need, or ask for more%s in Service Quotas, then run "
    .. "this again"):format(quota and " of " .. quota or "")
end

--- Whether the service asks for a slower pace.
M.throttled = has(THROTTLED)
--- Whether the caller lacks the right to do this (rtl.aws.denial finds out which).
M.denied = has(DENIED)
--- Whether the credentials have expired.
M.expired = has(EXPIRED)

--- "sure", "perhaps" or nil: whether the error comes from a wrong clock.
function M.skewed(e)
  return SKEWED[e.code] and "sure" or PERHAPS_SKEWED[e.code] and "perhaps" or nil
end

--- The codes and HTTP statuses (as text) that are tried again, sorted.
function M.retried()
  local list = {}
  for _, codes in ipairs { THROTTLED, TRANSIENT, STATUS } do
    for code in pairs(codes) do list[#list + 1] = tostring(code) end
  end
  table.sort(list)
  return list
end

--- Sets `retryable` and `throttled` of a service's error.
function M.classify(e)
  e.throttled = THROTTLED[e.code] or e.status == 429
  e.retryable = e.throttled or TRANSIENT[e.code] or STATUS[e.status] or false
  if NO_CAPACITY[e.code] or QUOTA[e.code] or DENIED[e.code] or NOT_TAKEN[e.code] then
    e.retryable = false
  end
  return e
end

return M
