-- Times in answers, in each protocol and form, beside botocore's parsers.
local array = require "rtl.array"
local json = require "rtl.native.json"
local model = require "rtl.aws.model"
local null = require "rtl.null"
local protocol = require "rtl.aws.protocol"
local python = require "test.support.python"

-- Where a time can stand: the answer around it, and the way to it.
local PLACES = {
  { service = "ec2", key = "describe_nat_gateways", path = { "NatGateways", 0, "CreateTime" },
    body = "<DescribeNatGatewaysResponse><natGatewaySet><item><createTime>%s</createTime></item>"
      .. "</natGatewaySet></DescribeNatGatewaysResponse>" },
  { service = "sts", key = "assume_role", path = { "Credentials", "Expiration" },
    body = "<AssumeRoleResponse><AssumeRoleResult><Credentials><Expiration>%s</Expiration>"
      .. "</Credentials></AssumeRoleResult></AssumeRoleResponse>" },
  { service = "s3", key = "list_objects_v2", path = { "Contents", 0, "LastModified" },
    body = "<ListBucketResult><Contents><LastModified>%s</LastModified></Contents>"
      .. "</ListBucketResult>" },
  { service = "ssm", key = "get_parameter", path = { "Parameter", "LastModifiedDate" },
    body = '{"Parameter":{"LastModifiedDate":%s}}', is_json = true },
  { service = "eks", key = "describe_cluster", path = { "cluster", "createdAt" },
    body = '{"cluster":{"createdAt":%s}}', is_json = true },
  { service = "s3", key = "get_object", path = { "LastModified" }, header = "last-modified" },
}

local TEXTS = {
  "2026-12-01T10:00:00Z", "2026-12-01T10:00:00.000Z", "2026-12-01T10:00:00.123456Z",
  "2026-12-01T10:00:00.5Z", "2026-12-01T10:00:00+00:00", "2026-12-01T10:00:00+05:30",
  "2026-12-01T10:00:00-0800", "20261201T100000Z", "2026-12-01 10:00:00Z", "2024-02-29T23:59:59Z",
  "1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
  "Tue, 01 Dec 2026 10:00:00 GMT", "Tue, 29 Apr 2014 18:30:38 GMT",
  "Tue, 29 Apr 2014 18:30:38.25 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
  "0", "1796119200", "1796119200.123", "1.7961192E9", "-1", "4102444800", "253402300799",
  -- out of range, or no time at all
  "2026-02-30T10:00:00Z", "2026-13-01T10:00:00Z", "2026-12-01T25:00:00Z", "2026-12-01T10:61:00Z",
  "0000-00-00T00:00:00Z", "1e400", "nan", "Infinity", "soon", "Tue, 32 Dec 2026 10:00:00 GMT",
  "Tue, 01 Foo 2026 10:00:00 GMT", "T", "-", "12:99",
}

-- Where rtl and botocore differ: by text, and why.
local DIFFERENT = {
  ["2026-12-01T10:00:00"] = "no zone: botocore takes the machine's own, rtl does not guess",
  ["2026-12-01"] = "no time of day: rtl gives the text alone",
  ["2026-12-01T10:00Z"] = "no seconds: no AWS service writes it; the text alone",
  ["December 1, 2026 10:00 GMT"] = "dateutil guesses; no AWS service writes it",
  ["2016-12-31T23:59:60Z"] = "a leap second: botocore refuses the whole answer, rtl reads the next",
}

local function case_of(place, text, raw)
  local body = place.body or ""
  if place.body then
    body = body:format((place.is_json and not raw and json.encode(text) or text):gsub("%%", "%%%%"))
  end
  local svc = model.service(place.service)
  return {
    service = place.service, operation = svc.ops[place.key].name, protocol = svc.protocol,
    headers = place.header and { [place.header] = text } or {}, body = body,
    path = array(table.move(place.path, 1, #place.path, 1, {})),
  }
end

-- What rtl reads: the number and the text beside it.
local function ours_of(place, case)
  local op = model.service(place.service).ops[place.key]
  local found = assert(protocol.decode(op, {
    status = 200, headers = case.headers, body = case.body,
  }))
  for i = 1, #place.path - 1 do
    local step = place.path[i]
    found = found[math.type(step) == "integer" and step + 1 or step]
  end
  local name = place.path[#place.path]
  return found[name], found[name .. "_text"]
end

describe("the times in answers", function ()
  local function read(texts, raw)
    local cases, rows = array {}, {}
    for _, text in ipairs(texts) do
      for _, place in ipairs(PLACES) do
        if not raw or place.is_json then
          local case = case_of(place, text, raw)
          cases[#cases + 1] = case
          local number, kept = ours_of(place, case)
          rows[#rows + 1] = { text = text, number = number, kept = kept,
            where = ("%s in %s"):format(text, place.service) }
        end
      end
    end
    local theirs = json.decode(python.run("test/contract/aws_times.py", json.encode(cases)))
    for i, row in ipairs(rows) do row.theirs = theirs[i] ~= null and theirs[i] or nil end
    return rows
  end

  it("are the seconds that botocore reads, with the text kept", function ()
    local rows, numbers, none = read(TEXTS), 0, 0
    for _, row in ipairs(rows) do
      assert.equal(row.text, row.kept, row.where)
      if row.theirs == nil or row.number == nil then
        assert.equal(row.theirs, row.number, row.where)
        none = none + 1
      else
        assert.near(row.theirs, row.number, 1e-5, row.where)
        numbers = numbers + 1
      end
    end
    assert.equal(#TEXTS * #PLACES, numbers + none)
    assert.is_true(none >= 14 * #PLACES, none)
  end)

  it("are numbers where the service writes numbers", function ()
    for _, row in ipairs(read({ "0", "1796119200", "1796119200.123", "1.7961192E9", "-1.5",
      "253402300799" }, true)) do
      assert.is_nil(row.kept, row.where)
      assert.near(row.theirs, row.number, 1e-5, row.where)
    end
  end)

  it("differ from botocore's only where a row says why", function ()
    local texts = {}
    for text in pairs(DIFFERENT) do texts[#texts + 1] = text end
    table.sort(texts)
    for _, row in ipairs(read(texts)) do
      assert.equal(row.text, row.kept)
      if row.text:find ":60Z$" then
        assert.equal(1483228800, row.number)
        assert.is_nil(row.theirs, row.where)
      else
        assert.is_nil(row.number, row.where)
        assert.not_nil(row.theirs, row.where)
      end
    end
  end)
end)
