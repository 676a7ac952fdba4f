local array = require "rtl.array"
local differences = require "test.contract.differences"
local json = require "rtl.native.json"
local model = require "rtl.aws.model"
local python = require "test.support.python"
local waiter = require "rtl.aws.waiter"

-- A compiled shape as plain data; structures by name, since they may hold themselves.
local function plain(shape, structures)
  local out = {}
  for _, key in ipairs { "kind", "enum", "min", "max", "item", "flat", "format" } do
    out[key] = shape[key]
  end
  if shape.enum then out.enum = array(table.move(shape.enum, 1, #shape.enum, 1, {})) end
  if shape.member then out.member = plain(shape.member, structures) end
  if shape.key then out.key = plain(shape.key, structures) end
  if shape.kind ~= "structure" then return out end
  out.name = shape.name
  local called = shape.name == "input" or shape.name == "output"
  if not called and structures[shape.name] then return out end
  local full = { name = shape.name, members = array {} }
  if not called then structures[shape.name] = full end
  for i, member in ipairs(shape.members) do
    full.members[i] = {
      name = member.name, required = member.required, where = member.where,
      wire_in = member.wire_in, wire_out = member.wire_out,
      shape = plain(member.shape, structures),
    }
  end
  return called and full or out
end

-- Waiters with their rules; the first field of a rule is its state.
local function plain_waiters(svc)
  local list = array {}
  for _, name in ipairs(waiter.names(svc)) do
    local raw, rules = svc.waiters[name], array {}
    for i, rule in ipairs(raw) do
      rules[i] = { state = rule[1], all = rule.all, any = rule.any, path = rule.path,
                   some = rule.some, error = rule.error, status = rule.status, is = rule.is }
    end
    list[#list + 1] = { name = name, operation = svc.ops[raw.op].name, delay = raw.delay,
                        tries = raw.tries, rules = rules }
  end
  return list
end

local function reasons_of(svc)
  local reasons = {}
  for _, row in ipairs(differences.waiters) do
    local service, name = row[1]:match "^([^:]+):(.+)$"
    if service == svc.name then reasons[name] = row[2] end
  end
  return reasons
end

local function plain_service(svc)
  local out = { structures = {}, operations = array {}, waiters = plain_waiters(svc),
                waiter_reasons = reasons_of(svc) }
  for _, key in ipairs { "name", "id", "protocol", "version", "endpoint", "signing", "json",
    "target" } do
    out[key] = svc[key]
  end
  for i, key in ipairs(model.operations(svc)) do
    local op = svc.ops[key]
    out.operations[i] = {
      key = key, name = op.name, method = op.method, path = op.path, status = op.status,
      unsigned = op.unsigned, checksum = op.checksum, reads = op.reads, token = op.token,
      page = op.page, payload = op.payload,
      output_payload = op.output_payload, input = plain(op.input, out.structures),
      output = plain(op.output, out.structures),
    }
  end
  return out
end

describe("the operation tables", function ()
  it("say what botocore's models say", function ()
    local services = array {}
    for i, name in ipairs(model.services()) do
      services[i] = plain_service(model.service(name))
    end
    local found = python.run("test/contract/aws_model.py", json.encode(services))
    assert.equal("", (found:gsub("%s+$", "")))
  end)
end)
