--- What a service answers when it refuses.

local M = {}

--- A fault. `status`: HTTP status (default 400); `fields`: further members of the error body.
function M.new(code, message, status, fields)
  return { fault = true, code = code, message = message, status = status, fields = fields }
end

--- `nil, fault` with M.new's arguments, for handlers.
function M.fail(code, message, status, fields)
  return nil, M.new(code, message, status, fields)
end

--- A value that a parameter may not have. The front gives it the code of the service's protocol.
function M.invalid(message)
  return { fault = true, kind = "invalid", message = message }
end

--- A parameter that is missing.
function M.missing(name)
  return { fault = true, kind = "missing", message = ("The request must contain the parameter %s")
                                                     :format(name) }
end

--- A parameter that the operation does not have.
function M.unknown(name)
  return { fault = true, kind = "unknown",
           message = ("The parameter %s is not recognized"):format(name) }
end

local CODES = {
  ec2query = { invalid = "InvalidParameterValue", missing = "MissingParameter",
               unknown = "UnknownParameter" },
  awsquery = { invalid = "ValidationError", missing = "ValidationError",
               unknown = "ValidationError" },
  json = { invalid = "ValidationException", missing = "ValidationException",
           unknown = "ValidationException" },
  ["rest-json"] = { invalid = "InvalidParameterException", missing = "InvalidParameterException",
                    unknown = "InvalidParameterException" },
  ["rest-xml"] = { invalid = "InvalidArgument", missing = "InvalidRequest",
                   unknown = "InvalidArgument" },
}

-- HTTP statuses by code where it is not 400.
local STATUS = {
  UnauthorizedOperation = 403, AccessDenied = 403, AccessDeniedException = 403, AuthFailure = 401,
  InvalidClientTokenId = 403, SignatureDoesNotMatch = 403, RequestExpired = 400,
  NoSuchEntity = 404, EntityAlreadyExists = 409, DeleteConflict = 409, LimitExceeded = 409,
  ResourceNotFoundException = 404, NotFoundException = 404, ResourceInUseException = 409,
  ConflictException = 409, InsufficientInstanceCapacity = 500, InternalError = 500,
  RequestLimitExceeded = 503, ServiceUnavailable = 503, ThrottlingException = 429,
  ServerException = 500, NoSuchBucket = 404, NoSuchKey = 404, BucketAlreadyOwnedByYou = 409,
  BucketAlreadyExists = 409, BucketNotEmpty = 409, NoSuchTagSet = 404,
  ResourcePropagationDelayException = 428,
}

--- Fills in what a fault of the protocol needs: code and status.
function M.complete(svc, fault)
  fault.code = fault.code or CODES[svc.protocol][fault.kind]
  fault.status = fault.status or (svc.errors and svc.errors[fault.code])
                 or STATUS[fault.code] or 400
  return fault
end

return M
