-- One AWS call in a process of its own, so that its peak of memory can be told:
--
--   rtl test/support/hostile_call.lua NUMBER URL     NUMBER as in test/support/hostile.lua's CALLS
--
-- Prints {"code": …, "text": …, "before": KB, "peak": KB} as JSON; code is "ok" when it went well.
local aws = require "rtl.aws"
local credentials = require "rtl.aws.credentials"
local fs = require "rtl.fs"
local hostile = require "test.support.hostile"
local json = require "rtl.native.json"

local function peak()
  return math.tointeger(tonumber(fs.read("/proc/self/status"):match "VmHWM:%s*(%d+)"))
end

local number, url = ...
local call = hostile.CALLS[math.tointeger(tonumber(number))]
local client = aws.client(call.service, {
  region = "us-east-1", credentials = credentials.static(hostile.KEYS), endpoint = url,
  attempts = 1,
})
local before = peak()
local out, e = client:call(call.op, call.params)
print(json.encode { code = out and "ok" or e.code, before = before, peak = peak(),
  text = tostring(e or "") })
