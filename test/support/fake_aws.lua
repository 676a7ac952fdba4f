--- For unit specs of rtl.aws: scripted answers on the wire, a clock that only waits move, and
-- chance that is always one half.

local aws = require "rtl.aws"
local clock = require "rtl.clock"
local credentials = require "rtl.aws.credentials"
local entropy = require "rtl.entropy"
local err = require "rtl.err"
local process = require "rtl.process"
local wire = require "rtl.wire"

local M = {}

M.KEYS = {
  access_key_id = "AKIDEXAMPLE", secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
}

--- Installs the fakes. `answers` is an array of {status, body, headers}, {status, headers, read,
-- close}, {err} or function(req) that gives one; it is used up in order. Returns a table with
-- `requests`, `clock` (seconds since the start) and `restore`, to be called at the end.
function M.install(answers, start)
  local fake = { requests = {}, answers = answers or {}, now = 0, start = start or 1440938160 }
  local former_wire = wire.use {
    request = function (req)
      fake.requests[#fake.requests + 1] = req
      local answer = table.remove(fake.answers, 1)
      if type(answer) == "function" then answer = answer(req) end
      assert(answer, "a request too many: " .. tostring(req.url))
      if answer.err then return nil, answer.err end
      local headers = {}
      for name, value in pairs(answer.headers or {}) do headers[#headers + 1] = { name, value } end
      return {
        status = answer.status or 200, headers = headers, body = answer.body or "",
        read = answer.read, close = answer.close,
      }
    end,
    connect = function () error "no connections here" end,
    describe = function () return { name = "fake" } end,
  }
  local former_clock = clock.use {
    mono = function () return fake.now end,
    utc = function () return fake.start + fake.now end,
    advance = function (to) fake.now = to end,
  }
  local former_skew = clock.correct(0)
  local former_entropy = entropy.use { bytes = function (n) return ("\x80"):rep(n) end }
  function fake.restore()
    wire.use(former_wire)
    clock.use(former_clock)
    clock.correct(former_skew)
    entropy.use(former_entropy)
  end
  return fake
end

--- Replaces the environment (a table) and the process runner; nobody sits at a terminal unless
-- `lines`, what a person types, is given. Returns a function that undoes it.
function M.environment(variables, run, lines)
  local former = process.use {
    getenv = function (name) return variables[name] end,
    run = run or function () error "no processes here" end,
    is_terminal = function () return lines ~= nil end,
    read_line = function () return table.remove(lines, 1) end,
    write = lines and function () return true end or nil,
  }
  return function () process.use(former) end
end

--- A client with KEYS; options: as rtl.aws.client.
function M.client(service, options)
  local given = { region = "us-east-1", credentials = credentials.static(M.KEYS) }
  for key, value in pairs(options or {}) do given[key] = value end
  return aws.client(service, given)
end

-- ---- answers ----

--- What EC2 says to describe_vpcs where there is none.
M.NO_VPCS = { body = "<DescribeVpcsResponse><vpcSet/></DescribeVpcsResponse>" }

--- An error in EC2's form.
function M.ec2_error(code, status)
  return { status = status or 400, body = "<Response><Errors><Error><Code>" .. code
    .. "</Code><Message>m</Message></Error></Errors></Response>" }
end

--- An error of a service that speaks JSON.
function M.json_error(code, status)
  return { status = status or 400, body = '{"__type":"' .. code .. '","message":"m"}' }
end

--- A connection that was lost; `sent`: the request may have taken effect.
function M.lost(sent)
  return { err = err.new { code = "RTL-NET-008", message = "connection lost", retryable = true,
                           sent = sent } }
end

--- A header of a request, or nil.
function M.header(request, name)
  for _, pair in ipairs(request.headers) do
    if pair[1]:lower() == name then return pair[2] end
  end
end

return M
