-- Generated calls of every operation, as they leave for the wire, beside botocore's serializer.
local array = require "rtl.array"
local aws = require "rtl.aws"
local credentials = require "rtl.aws.credentials"
local crypto = require "rtl.native.crypto"
local entropy = require "rtl.entropy"
local err = require "rtl.err"
local json = require "rtl.native.json"
local names = require "test.contract.aws_names"
local python = require "test.support.python"
local secret = require "rtl.native.secret"
local values = require "test.contract.aws_values"
local wire = require "rtl.wire"

local ENDPOINT = "https://wire.test"

-- Parameters for Python: blobs as base64.
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

-- Parameters for rtl: members that take secrets get them so.
local function hidden(shape, value)
  if shape.kind ~= "structure" then return value end
  local out = {}
  for name, field in pairs(value) do
    local kind = shape.by_name[name].shape.kind
    out[name] = kind == "secret" and field ~= "" and secret.new(field) or field
  end
  return out
end

local function text_of(value)
  return secret.is(value) and secret.reveal(value) or value
end

-- What Python compares of a request.
local function plain(request)
  local headers = {}
  for _, pair in ipairs(request.headers) do headers[pair[1]] = text_of(pair[2]) end
  local path, query = request.url:sub(#ENDPOINT + 1):match "^([^?]*)%??(.*)$"
  return { method = request.method, url_path = path, query_string = query, headers = headers,
           body = crypto.base64_encode(text_of(request.body or "")) }
end

describe("the wire forms of all operations", function ()
  local sent, former_wire, former_entropy, token

  setup(function ()
    former_wire = wire.use {
      request = function (request)
        sent = request
        return nil, err.new { code = "TEST", message = "nothing is sent" }
      end,
      connect = function () error "no connections here" end,
      describe = function () return { name = "test" } end,
    }
    former_entropy = entropy.use { bytes = function (n) return ("\x80"):rep(n) end }
    token = entropy.uuid()
  end)

  teardown(function ()
    wire.use(former_wire)
    entropy.use(former_entropy)
  end)

  local function request_of(client, op, params)
    local _, failure = client:call(op.key, hidden(op.input, params))
    assert.equal("TEST", failure.code)
    return plain(sent)
  end

  -- What the client must add by itself.
  local function completed(op, params)
    local out = shown(op.input, params)
    if op.token and out[op.token] == nil then out[op.token] = token end
    return out
  end

  it("are botocore's", function ()
    local groups, count = array {}, 0
    names.each_operation(function (op, service)
      local client = aws.client(op.service.name, { region = "us-east-1", endpoint = ENDPOINT,
        credentials = credentials.static { access_key_id = "A", secret_access_key = "s" } })
      local calls = array {}
      for i, params in ipairs(values.inputs(op)) do
        calls[i] = { params = completed(op, params), request = request_of(client, op, params) }
      end
      count = count + #calls
      groups[#groups + 1] = { service = service, operation = op.name, calls = calls,
                              protocol = op.service.protocol }
    end)
    assert.is_true(count > 8000, count .. " calls")
    local differences = python.run("test/contract/aws_wire.py", json.encode(groups))
    assert.equal("", (differences:gsub("%s+$", ""):sub(1, 3000)))
  end)
end)
