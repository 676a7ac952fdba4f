-- The pace that is learnt from throttling, beside that of botocore's adaptive mode: the same crowd
-- at the same service.
local array = require "rtl.array"
local crowd = require "test.support.crowd"
local json = require "rtl.native.json"
local limiter = require "rtl.aws.limiter"
local python = require "test.support.python"

local CASES = array {}
for i, row in ipairs { { 100, 20 }, { 50, 5 }, { 10, 2 } } do
  CASES[i] = { holds = row[1], refill = row[2], count = 50, at_once = 10,
    answer_takes = crowd.ANSWER_TAKES, from = 60, to = 240 }
end

describe("the pace of a throttled service", function ()
  it("is as fast as with botocore's adaptive mode, with half the refusals", function ()
    local theirs = json.decode(python.run("test/contract/aws_limiter.py", json.encode(CASES)))
    for i, case in ipairs(CASES) do
      crowd.in_virtual_time(function ()
        local s = crowd.service(case.holds, case.refill)
        crowd.ask(limiter.new(), s, case.count, case.to)
        local rate, refused = s.between(case.from, case.to)
        assert.is_true(rate >= 0.95 * theirs[i].rate, rate)
        assert.is_true(refused <= theirs[i].refused / 2, refused) -- 21 of 58, 90 and 55, as seen
      end)
    end
  end)
end)
