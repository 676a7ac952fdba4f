-- Which errors are tried again, beside botocore's tables, both ways.
local array = require "rtl.array"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local json = require "rtl.native.json"
local model = require "rtl.aws.model"
local names = require "test.contract.aws_names"
local python = require "test.support.python"

-- What botocore tries again and rtl does not.
local NOT_OURS = {
  LimitExceededException = "a quota: IAM's, CloudWatch Logs' and their like, which no patience mends",
}

-- What rtl tries again, or takes for throttling, and botocore does not.
local ONLY_OURS = {
  ["429"] = "standard mode leaves it to the code, legacy mode has it",
  ["509"] = "legacy mode only",
  ConcurrentModification = "IAM's 409: another change of the same role is under way",
  EntityTemporarilyUnmodifiable = "IAM's 409: the same",
  ResourceContention = "Auto Scaling: another change is under way",
  ScalingActivityInProgress = "Auto Scaling: the same",
  ResourcePropagationDelayException = "EKS' 428: a role that was just made",
  OperationAborted = "S3's 409: another change of the same bucket is under way",
  IDPCommunicationError = "STS says itself that it may be tried again",
  DependencyThrottle = "ELB: a service behind it throttles",
  TooManyRequests = "429 in words, for answers without a body",
  TooManyUpdates = "SSM: two writes of one parameter at once",
}

-- Codes of server errors: tried again by their name, should a proxy change the status.
local SERVER = "InternalError InternalErrorException InternalFailure ServiceUnavailable Unavailable "
  .. "InternalServerError InternalServerErrorException InternalServerException ServerException "
  .. "ServiceUnavailableException ServiceFailure"

local function classified(code, status)
  return errors.classify(err.new { code = code or "SomethingElse", status = status,
    message = "m" })
end

describe("the errors that are tried again", function ()
  local rows

  lazy_setup(function ()
    local list = array {}
    for i, name in ipairs(model.services()) do list[i] = names.botocore(name) end
    rows = json.decode(python.run("test/contract/aws_retry.py", json.encode(list)))
  end)

  it("are those of botocore", function ()
    local wrong = {}
    for _, row in ipairs(rows) do
      local e = classified(row.code, row.status)
      local name = row.code or tostring(row.status)
      if NOT_OURS[name] then
        assert.is_false(e.retryable, name)
      elseif not e.retryable then
        wrong[#wrong + 1] = name .. " is tried again by botocore"
      elseif row.throttled and not e.throttled then
        wrong[#wrong + 1] = name .. " is throttling for botocore"
      end
    end
    assert.same({}, wrong)
    assert.is_true(#rows > 30)
  end)

  it("are no others, but for the rows with a reason", function ()
    local theirs, server = {}, {}
    for _, row in ipairs(rows) do theirs[row.code or tostring(row.status)] = true end
    for code in SERVER:gmatch "%S+" do server[code] = true end
    local wrong, used = {}, {}
    for _, code in ipairs(errors.retried()) do
      if ONLY_OURS[code] then
        used[code] = true
      elseif not theirs[code] and not server[code] then
        wrong[#wrong + 1] = code
      end
    end
    assert.same({}, wrong)
    for code in pairs(ONLY_OURS) do
      assert.is_true(used[code] or false, code .. " is tried again no more: its row is idle")
    end
  end)

  it("are never those that need another zone, a larger quota, or a permission", function ()
    for _, row in ipairs {
      { "InsufficientInstanceCapacity", 500 }, { "InsufficientCapacity", 503 },
      { "InsufficientHostCapacity", 500 }, { "VcpuLimitExceeded", 400 }, { "LimitExceeded", 409 },
      { "LimitExceededException", 400 }, { "ResourceLimitExceededException", 400 },
      { "ServiceQuotaExceededException", 402 }, { "UnauthorizedOperation", 403 },
      { "AccessDeniedException", 400 }, { "AuthFailure", 401 }, { "InvalidParameterValue", 400 },
      { "IdempotentParameterMismatch", 400 }, { "DryRunOperation", 412 },
    } do
      assert.is_false(classified(row[1], row[2]).retryable, row[1])
      assert.falsy(classified(row[1], row[2]).throttled, row[1])
    end
  end)
end)
