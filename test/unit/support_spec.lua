-- What the kinds share: rtl.kinds.support.
local err = require "rtl.err"
local support = require "rtl.kinds.support"
local task = require "rtl.task"
local toy = require "test.support.toy"

describe("a wait", function ()
  local restore
  before_each(function () restore = toy.virtual_clock() end)
  after_each(function () restore() end)

  local function failing(fields)
    fields.code, fields.message = fields.code or "Down", "down"
    return err.new(fields)
  end

  -- Waits with looks that give what `looks` has, the last one for ever; returns what wait gives and
  -- how often it looked.
  local function wait(looks)
    local count, told = 0, {}
    local ctx = { waiting = function (_, _, text) told[#told + 1] = text end }
    local value, failure = task.run(function ()
      local options = { ctx = ctx, res = { key = "vpc/x" }, every = 10, limit = 900 }
      return support.wait(options, function ()
        count = count + 1
        return table.unpack(looks[math.min(count, #looks)])
      end)
    end)
    return value, failure, count, told
  end

  it("looks past what only passes, and says so", function ()
    local value, _, count, told = wait { { false, "pending" },
      { nil, failing { retryable = true } }, { nil, failing { sent = true } }, { "ready" } }
    assert.equal("ready", value)
    assert.equal(4, count)
    assert.same({ "pending", "down", "down" }, told)
  end)

  it("ends at once with what can't pass", function ()
    local value, failure, count = wait { { false, "pending" },
      { nil, failing { code = "Failed" } } }
    assert.is_nil(value)
    assert.equal("Failed", failure.code)
    assert.equal(2, count)
  end)

  it("does not wait for ever in the dark", function ()
    local value, failure, count = wait { { nil, failing { retryable = true } } }
    assert.is_nil(value)
    assert.equal("Down", failure.code)
    assert.equal(31, count)
  end)
end)
