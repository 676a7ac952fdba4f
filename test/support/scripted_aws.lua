-- Clients that answer from a table of functions: what a kind asks is seen, and what it is told is
-- written in the spec. Wire forms are the contract specs' business.

local context = require "rtl.plan.context"
local err = require "rtl.err"

local M = {}


local function ask(fake, service, op, params, region)
  fake.log[#fake.log + 1] = service .. ":" .. op
  local handler = fake.answers[service .. ":" .. op]
  if handler == nil then error(("the spec has no answer for %s:%s"):format(service, op), 3) end
  if type(handler) ~= "function" then return handler end
  return handler(params, fake, region)
end

local function client(fake, service, region)
  local methods = {}
  function methods.call(_, op, params) return ask(fake, service, op, params, region) end
  function methods.all(_, op, params) return ask(fake, service, op, params, region) end
  return setmetatable(methods, { __index = function (_, op)
    return function (_, params) return ask(fake, service, op, params, region) end
  end })
end

--- Makes a context whose AWS answers from `answers`: "ec2:describe_vpcs" = value, or a function
-- (params, fake, region) that returns value | nil, err. `fake.log` has the calls in order.
function M.context(answers, more)
  local fake = { answers = answers, log = {}, events = {} }
  local fields = { deployment = "toy", region = "us-east-2", account = "123456789012",
    partition = "aws", run_id = "run-1",
    emit = function (event) fake.events[#fake.events + 1] = event end,
    aws = function (service, options)
      return client(fake, service, options and options.region or "us-east-2")
    end }
  for key, value in pairs(more or {}) do fields[key] = value end
  return context.new(fields), fake
end

--- An AWS error.
function M.refuse(code, message)
  return nil, err.new { code = code, message = message or code }
end


return M
