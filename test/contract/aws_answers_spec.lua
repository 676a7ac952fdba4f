-- Generated answers and refusals of every operation, read by rtl and by botocore's parser.
local array = require "rtl.array"
local crypto = require "rtl.native.crypto"
local json = require "rtl.native.json"
local names = require "test.contract.aws_names"
local protocol = require "rtl.aws.protocol"
local python = require "test.support.python"
local secret = require "rtl.native.secret"
local value = require "rtl.aws.value"

-- Every operation (`few`: the first of each service), and what Python made for it.
local function generated(what, few)
  local cases, operations, last = array {}, {}, nil
  names.each_operation(function (op, service)
    if few and service == last then return end
    last = service
    operations[#operations + 1] = op
    cases[#cases + 1] = { service = service, operation = op.name,
                          protocol = op.service.protocol }
  end)
  return operations, json.decode(python.run("test/contract/aws_answers.py", json.encode(cases),
    what))
end

local function response(answer)
  return { status = answer.status, headers = answer.headers,
           body = assert(crypto.base64_decode(answer.body)) }
end

-- What the text that botocore read is for a member whose text is JSON.
local function document(shape, text)
  local found = json.decode(shape.kind == "urljson" and value.unescape(text) or text)
  if found == nil then return text end
  return found
end

local function same(shape, ours, theirs)
  local kind = shape.kind
  if ours == nil or theirs == nil then return ours == theirs end
  if kind == "json" or kind == "urljson" then
    return json.encode { ours } == json.encode { document(shape, theirs) }
  elseif kind == "secret" then
    return secret.is(ours) and secret.reveal(ours) == theirs
  elseif kind == "blob" then
    return crypto.base64_encode(ours) == theirs
  elseif kind == "time" then
    return type(ours) == "number" and math.abs(ours - theirs) < 1e-5
  elseif kind == "int" then
    return math.type(ours) == "integer" and ours == theirs
  end
  return ours == theirs and type(ours) == type(theirs)
end

local differ

local function structures(shape, ours, theirs, path, wrong)
  if ours == nil and theirs == nil then return end
  if type(ours) ~= "table" or type(theirs) ~= "table" then
    wrong[#wrong + 1] = ("%s is %s, botocore read %s"):format(path, ours, theirs)
    return
  end
  for _, member in ipairs(shape.members) do
    local name = member.name
    differ(member.shape, ours[name], theirs[name], path .. "." .. name, wrong)
  end
  for name, field in pairs(ours) do
    local time = shape.by_name[name:match "^(.*)_text$"] -- a time keeps its text beside it
    local kept = time and time.shape.kind == "time" and type(field) == "string"
    if not shape.by_name[name] and not kept then
      wrong[#wrong + 1] = path .. "." .. name .. " is extra"
    end
  end
end

-- Absent lists and maps are empty here.
local function collections(shape, ours, theirs, path, wrong)
  theirs = theirs or {}
  if type(ours) ~= "table" or shape.kind == "list" and not array.is(ours) then
    wrong[#wrong + 1] = path .. " is no " .. shape.kind
    return
  end
  for key, item in pairs(theirs) do
    differ(shape.member, ours[key], item, path .. "[" .. key .. "]", wrong)
  end
  for key in pairs(ours) do
    if theirs[key] == nil then wrong[#wrong + 1] = path .. "[" .. key .. "] is extra" end
  end
end

-- Adds to `wrong` where `ours` differs from what botocore read, as far as our table goes.
function differ(shape, ours, theirs, path, wrong)
  if shape.kind == "structure" then return structures(shape, ours, theirs, path, wrong) end
  if shape.kind == "list" or shape.kind == "map" then
    return collections(shape, ours, theirs, path, wrong)
  end
  if not same(shape, ours, theirs) then
    wrong[#wrong + 1] = ("%s (%s) is %s, botocore read %s"):format(path, shape.kind,
      json.encode { tostring(ours) }, json.encode { theirs })
  end
end

local function shown(wrong)
  return table.concat(wrong, "\n", 1, math.min(#wrong, 12))
end

-- What rtl calls an answer without a body, by its status; botocore says the number.
local BARE = {
  [301] = "MovedPermanently", [400] = "BadRequest", [403] = "Forbidden", [404] = "NotFound",
  [409] = "Conflict", [412] = "PreconditionFailed", [429] = "TooManyRequests",
}

-- Adds to `wrong` where a refusal is read otherwise.
local function compare_error(op, answer, wrong)
  local ours, theirs = protocol.decode_error(op, response(answer)), answer.read
  local function check(what, mine, other)
    if mine == other then return end
    wrong[#wrong + 1] = ("%s %d %s %s: %s is %s, botocore read %s"):format(op.action,
      answer.status, json.encode(answer.headers), crypto.base64_decode(answer.body), what,
      json.encode { mine }, json.encode { other })
  end
  check("status", ours.status, answer.status)
  check("code", ours.code, theirs.code)
  if theirs.message and theirs.message ~= "" then -- ours is one line
    check("message", ours.message, (theirs.message:gsub("%c+", " ")))
  end
  if theirs.request_id then check("request id", ours.request_id, theirs.request_id) end
  for name, field in pairs(theirs.fields) do
    local mine = ours.fields and ours.fields[name]
    if type(field) == "table" then mine, field = json.encode(mine or {}), json.encode(field) end
    check(name, tostring(mine), (tostring(field):gsub("%c+", " ")))
  end
end

describe("the answers of all operations", function ()
  it("are read as botocore reads them", function ()
    local operations, answers = generated "answers"
    local wrong, count = {}, 0
    for i, op in ipairs(operations) do
      for _, answer in ipairs(answers[i]) do
        count = count + 1
        local ours, e = protocol.decode(op, response(answer))
        if answer.body == "" and e then -- nothing, where the service has something to say
          assert.equal("RTL-AWS-003", e.code)
        else
          differ(op.output, assert(ours, e), answer.read, op.action, wrong)
        end
      end
    end
    assert.equal("", shown(wrong))
    assert.is_true(count > 2000, count .. " answers")
  end)

  it("that are refusals are, too", function ()
    local operations, answers = generated "errors"
    local wrong, count = {}, 0
    for i, op in ipairs(operations) do
      for _, answer in ipairs(answers[i]) do
        count = count + 1
        compare_error(op, answer, wrong)
      end
    end
    assert.equal("", shown(wrong))
    assert.is_true(count > 5000, count .. " refusals")
  end)

  it("that no service sends have a code of their own", function ()
    local operations, answers = generated("strange", true)
    local count = 0
    for i, op in ipairs(operations) do
      for _, answer in ipairs(answers[i]) do
        count = count + 1
        local e = protocol.decode_error(op, response(answer))
        local name = answer.body == "" and BARE[answer.status] or "RTL-AWS-003"
        assert.equal(name, e.code, answer.body)
        assert.equal(answer.status, e.status)
        assert.is_true(name ~= "RTL-AWS-003" or e.retryable == (answer.status >= 500))
      end
    end
    assert.is_true(count > 1000, count .. " refusals")
  end)
end)
