-- Which errors are tried again, beside botocore's tables, both ways.
local array = require "rtl.array"
local configured = require "rtl.aws.configured"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local fake_aws = require "test.support.fake_aws"
local json = require "rtl.native.json"
local model = require "rtl.aws.model"
local names = require "test.contract.aws_names"
local null = require "rtl.null"
local profile = require "rtl.aws.profile"
local python = require "test.support.python"

-- What botocore tries again and rtl does not.
local NOT_OURS = {
  LimitExceededException = "a quota: IAM's, CloudWatch Logs' and their like; no patience mends it",
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
local SERVER = "InternalError InternalErrorException InternalFailure ServiceUnavailable "
  .. "Unavailable InternalServerError InternalServerErrorException InternalServerException "
  .. "ServerException ServiceUnavailableException ServiceFailure"

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

-- Environment and profile. Where rtl takes something else than botocore, the row says what and why.
local SETTINGS = {
  { {}, "", ours = { mode = "standard" },
    but = "standard is what the SDKs agree on; legacy is botocore's own default" },
  { { AWS_MAX_ATTEMPTS = "7" }, "retry_mode = standard\n" },
  { { AWS_MAX_ATTEMPTS = "7", AWS_RETRY_MODE = "adaptive" },
    "max_attempts = 2\nretry_mode = standard\n" },
  { { AWS_RETRY_MODE = "legacy" }, "max_attempts = 2\n" },
  { { AWS_MAX_ATTEMPTS = "", AWS_RETRY_MODE = "" }, "max_attempts = 4\nretry_mode = adaptive\n",
    ours = { mode = "adaptive", attempts = 4 }, but = "empty is unset; botocore refuses it" },
  { { AWS_RETRY_MODE = "often" }, "" },
  { { AWS_MAX_ATTEMPTS = "many" }, "" },
  { { AWS_MAX_ATTEMPTS = "0" }, "" },
  { {}, "max_attempts = 1.5\nretry_mode = standard\n" },
}

local function taken(row)
  local undo = fake_aws.environment(row[1])
  local sections = assert(profile.parse("[default]\n" .. row[2], true))
  local found = configured.read(sections.profile.default)
  undo()
  if not found then return "refused" end
  return ("%s, attempts: %s"):format(found.mode or "standard", found.attempts or "by mode")
end

local function shown(found)
  if found.error then return "refused" end
  local attempts = found.attempts ~= null and found.attempts or nil
  return ("%s, attempts: %s"):format(found.mode, attempts or "by mode")
end

describe("the retry settings", function ()
  it("are those that botocore takes", function ()
    local cases = array {}
    for i, row in ipairs(SETTINGS) do cases[i] = { environment = row[1], profile = row[2] } end
    local theirs = json.decode(python.run("test/contract/aws_retry.py", json.encode(cases),
      "settings"))
    for i, row in ipairs(SETTINGS) do
      local context = json.encode(row[1]) .. " " .. row[2]
      assert.equal(shown(row.ours or theirs[i]), taken(row), context)
      if row.but then assert.not_equal(shown(theirs[i]), taken(row), "an idle row: " .. row.but) end
    end
  end)
end)
