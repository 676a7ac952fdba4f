--- A client that changes nothing: it tells what would be sent and answers with placeholders in the
-- shape of the operation. Its reads find nothing, since what is asked for is not made yet, or are
-- those of a live client.

local array = require "rtl.array"
local err = require "rtl.err"
local model = require "rtl.aws.model"

local M = {}

-- What is waited for between two requests is taken to have ended well.
local ENDED = { DescribeUpdate = { update = { status = "Successful" } } }

local answer_of

local function members_of(shape, placeholder, open)
  local out = {}
  for _, member in ipairs(shape.members) do
    out[member.name] = answer_of(member.shape, member.name, placeholder, open)
  end
  return out
end

-- A value of `shape`. `open` holds the structures around it: one that holds itself ends there.
function answer_of(shape, name, placeholder, open)
  if shape.kind == "structure" then
    if open[shape] then return nil end
    open[shape] = true
    local out = members_of(shape, placeholder, open)
    open[shape] = nil
    return out
  end
  if shape.kind == "list" then return array {} end
  if shape.kind == "map" or shape.kind == "json" or shape.kind == "urljson" then return {} end
  if shape.kind == "int" or shape.kind == "float" or shape.kind == "time" then return 0 end
  if shape.kind == "bool" then return false end
  return placeholder(name)
end

-- Whether an operation shows a list, which is empty then, rather than one thing, which is absent.
local function lists(op)
  for _, member in ipairs(op.output.members) do
    if member.shape.kind == "list" then return true end
  end
  return false
end

local function absent(op)
  return err.fail { code = "ResourceNotFoundException", status = 404, doing = op.action,
    message = "not made yet" }
end

local function respond(self, op, params)
  if ENDED[op.name] then return ENDED[op.name] end
  if op.reads and self.live then return self.live:call(op.key, params) end
  if op.reads and not lists(op) then return absent(op) end
  if not op.reads then
    self.told { service = op.service.name, operation = op.name, region = self.region,
      parameters = params or {} }
  end
  return answer_of(op.output, nil, self.placeholder, {})
end

local client = { __name = "rtl.aws.sketch" }

function client.call(self, key, params)
  local op = self.service.ops[key]
  if op then return respond(self, op, params) end
  error(model.unknown(self.service, key), 2)
end

function client:all(key, params)
  if self.live then return self.live:all(key, params) end
  return array {}
end

function client:pages(key, params)
  if self.live then return self.live:pages(key, params) end
  return function () return nil end
end

function client.wait()
  return true
end

function client.__index(_, key)
  if client[key] then return client[key] end
  return function (self, params) return client.call(self, key, params) end
end

--- new(service, {region=, told=, placeholder=, live=}) → client with the methods of rtl.aws.client.
-- `told{service, operation, region, parameters}` is called for each operation that would change
-- something; `placeholder(member)` gives the text that stands for an answer's member;
-- `live` is the client that reads for one that changes what stands.
function M.new(service, options)
  return setmetatable({ service = model.service(service), region = options.region,
    told = options.told, placeholder = options.placeholder, live = options.live or false },
    client)
end

return M
