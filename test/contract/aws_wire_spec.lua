-- Generated requests and answers of every operation, beside botocore's serializer and parser.
local array = require "rtl.array"
local crypto = require "rtl.native.crypto"
local json = require "rtl.native.json"
local model = require "rtl.aws.model"
local protocol = require "rtl.aws.protocol"
local python = require "test.support.python"
local secret = require "rtl.native.secret"

local BOTOCORE_NAMES = {
  service_quotas = "service-quotas", resource_groups = "resource-groups",
  tagging = "resourcegroupstaggingapi", sso_oidc = "sso-oidc",
}

local TIME = 1796119200

local function text_of(shape, where)
  if shape.enum then return shape.enum[1] end
  local text = where == "header" and "plain" or "a/b &<é+ *~"
  local length = utf8.len(text)
  if shape.max and length > shape.max then text = ("x"):rep(shape.max) end
  if shape.min and length < shape.min then text = text .. ("x"):rep(shape.min - length) end
  return text
end

local sample

local function structure(shape, depth)
  local out = {}
  for _, member in ipairs(shape.members) do
    if member.required or depth < 8 then
      out[member.name] = sample(member.shape, depth + 1, member.where)
    end
  end
  return out
end

-- A value for a shape; `count` items in its list.
function sample(shape, depth, where, count)
  local kind = shape.kind
  if kind == "structure" then return structure(shape, depth) end
  if kind == "list" then
    local items = array {}
    for i = 1, count or 2 do items[i] = sample(shape.member, depth + 1, where) end
    return items
  end
  if kind == "map" then return { ["k 1"] = sample(shape.member, depth + 1, where) } end
  if kind == "int" then return shape.min or shape.max or 9007199254740993 end
  if kind == "float" then return 1.5 end
  if kind == "bool" then return depth % 2 == 0 end
  if kind == "time" then return TIME end
  if kind == "blob" then return "\0bytes\255" end
  if kind == "json" or kind == "urljson" then return '{"a":[1,"é"]}' end
  return text_of(shape, where)
end

local function required(op)
  local out = {}
  for _, member in ipairs(op.input.members) do
    if member.required then out[member.name] = sample(member.shape, 1, member.where) end
  end
  return out
end

-- All members together, none but the required, each alone with them, lists of 0, 1 and 3.
local function inputs(op)
  local list = { structure(op.input, 0), required(op) }
  for _, member in ipairs(op.input.members) do
    for _, count in ipairs(member.shape.kind == "list" and { 0, 1, 3 } or { 1 }) do
      local params = required(op)
      params[member.name] = sample(member.shape, 2, member.where, count)
      list[#list + 1] = params
    end
  end
  return list
end

-- Blobs are shown to Python as base64.
local function shown(shape, value)
  if shape.kind == "structure" then
    local out = {}
    for name, field in pairs(value) do out[name] = shown(shape.by_name[name].shape, field) end
    return out
  elseif shape.kind == "list" then
    local out = array {}
    for i, item in ipairs(value) do out[i] = shown(shape.member, item) end
    return out
  elseif shape.kind == "map" then
    local out = {}
    for key, item in pairs(value) do out[key] = shown(shape.member, item) end
    return out
  end
  return shape.kind == "blob" and crypto.base64_encode(value) or value
end

local function request_of(op, params)
  local made = protocol.encode(op, params)
  local headers = {}
  for _, pair in ipairs(made.headers) do headers[pair[1]] = pair[2] end
  return {
    method = made.method, url_path = made.path, query_string = made.query or "",
    headers = headers, body = crypto.base64_encode(made.body or ""),
  }
end

local function each_operation(f)
  for _, name in ipairs(model.services()) do
    local svc = model.service(name)
    for _, key in ipairs(model.operations(svc)) do f(svc.ops[key], BOTOCORE_NAMES[name] or name) end
  end
end

-- Adds to `wrong` where `ours` differs from what botocore read, as far as our table goes.
local function differ(shape, ours, theirs, path, wrong)
  if shape.kind == "structure" then
    if (ours == nil) ~= (theirs == nil) and theirs and next(theirs) then
      wrong[#wrong + 1] = path .. " is " .. tostring(ours)
    end
    for _, member in ipairs(ours and theirs and shape.members or {}) do
      differ(member.shape, ours[member.name], theirs[member.name], path .. "." .. member.name,
        wrong)
    end
  elseif shape.kind == "list" or shape.kind == "map" then
    for key, item in pairs(theirs or {}) do
      differ(shape.member, ours and ours[key], item, path .. "[" .. key .. "]", wrong)
    end
    for key in pairs(ours or { missing = true }) do
      if not (theirs or {})[key] then wrong[#wrong + 1] = path .. "[" .. key .. "] is extra" end
    end
  else
    if shape.kind == "secret" and ours then ours = secret.reveal(ours) end
    if shape.kind == "blob" and ours then ours = crypto.base64_encode(ours) end
    if ours ~= theirs then
      wrong[#wrong + 1] = ("%s is %s, botocore read %s"):format(path, ours, theirs)
    end
  end
end

describe("the wire forms of all operations", function ()
  it("are botocore's", function ()
    local cases = array {}
    each_operation(function (op, service)
      for _, params in ipairs(inputs(op)) do
        cases[#cases + 1] = {
          service = service, operation = op.name, protocol = op.service.protocol,
          params = shown(op.input, params), request = request_of(op, params),
        }
      end
    end)
    assert.is_true(#cases > 1000)
    local differences = python.run("test/contract/aws_wire.py", json.encode(cases))
    assert.equal("", (differences:gsub("%s+$", ""):sub(1, 3000)))
  end)

  it("are read as botocore reads them", function ()
    local cases, operations = array {}, {}
    each_operation(function (op, service)
      operations[#operations + 1] = op
      cases[#cases + 1] = {
        service = service, operation = op.name, protocol = op.service.protocol,
      }
    end)
    local answers = json.decode(python.run("test/contract/aws_wire.py", json.encode(cases),
      "answers"))
    local wrong, count = {}, 0
    for i, op in ipairs(operations) do
      for _, answer in ipairs(answers[i]) do
        count = count + 1
        local ours, e = protocol.decode(op, {
          status = answer.status, headers = answer.headers,
          body = assert(crypto.base64_decode(answer.body)),
        })
        if answer.body == "" and next(answer.read) then -- no service sends nothing for something
          assert.equal("RTL-AWS-003", e.code)
        else
          differ(op.output, assert(ours, e), answer.read, op.action, wrong)
        end
      end
    end
    assert.same({}, wrong)
    assert.is_true(count > 300)
  end)
end)
