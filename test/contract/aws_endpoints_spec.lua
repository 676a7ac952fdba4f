-- Where each service is in each region of each partition, plain, FIPS and dual-stack, and S3's
-- buckets there, beside botocore's endpoint rules.
local array = require "rtl.array"
local endpoint = require "rtl.aws.endpoint"
local json = require "rtl.native.json"
local model = require "rtl.aws.model"
local names = require "test.contract.aws_names"
local python = require "test.support.python"

-- Where rtl differs, and why: service → partition → the one region it asks there.
local ONE_REGION = {
  -- botocore builds a host for any region; the price list is served in us-east-1, eu-central-1,
  -- ap-south-1 and cn-northwest-1, and answers for all regions.
  pricing = { aws = "us-east-1", ["aws-cn"] = "cn-northwest-1" },
}

local function shown(found)
  return found.error and "none" or ("%s signed for %s/%s"):format(found.url, found.region,
    found.name)
end

local function ours_of(svc, case)
  local found = endpoint.resolve(svc, case["in"], nil, case)
  if not found then return { error = true } end
  local url = found.url
  if case.bucket then
    url = endpoint.url(found, { path = "/" .. case.bucket }, case.bucket):gsub("/$", "")
  end
  return { url = url, region = found.region, name = svc.signing }
end

-- What botocore says of the region that rtl asks.
local function theirs_of(cases, name, case)
  local region = ONE_REGION[name] and ONE_REGION[name][case.partition]
  if not region then return case end
  for _, other in ipairs(cases) do
    if other["in"] == region and other.fips == case.fips and other.dual == case.dual then
      return other
    end
  end
end

describe("the endpoints of all services", function ()
  local theirs

  lazy_setup(function ()
    local list = array {}
    for i, name in ipairs(model.services()) do list[i] = names.botocore(name) end
    theirs = json.decode(python.run("test/contract/aws_endpoints.py", json.encode(list)))
  end)

  it("are where botocore's rules say, in all partitions and variants", function ()
    local wrong, count, none = {}, 0, 0
    for _, name in ipairs(model.services()) do
      local svc, cases = model.service(name), theirs[names.botocore(name)]
      for _, case in ipairs(cases) do
        local ours, other = shown(ours_of(svc, case)), shown(theirs_of(cases, name, case))
        count = count + 1
        if ours == "none" then none = none + 1 end
        if ours ~= other then
          wrong[#wrong + 1] = ("%s %s in %s%s%s: %s, botocore has %s"):format(name,
            case.bucket or "", case["in"], case.fips and ", FIPS" or "",
            case.dual and ", dual-stack" or "", ours, other)
        end
      end
    end
    assert.same({}, wrong)
    assert.is_true(count > 2500, count)
    assert.is_true(none > 0) -- combinations that AWS has not are among them
  end)

  it("belong to the partitions that botocore knows", function ()
    local wrong = {}
    for _, case in ipairs(theirs.ec2) do
      local ours = endpoint.partition(case["in"])
      if ours ~= case.partition then wrong[#wrong + 1] = case["in"] .. " is in " .. ours end
    end
    assert.same({}, wrong)
  end)
end)
