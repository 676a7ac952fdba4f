-- The limit of rtl.task: so many at once.
local clock = require "rtl.clock"
local task = require "rtl.task"
local toy = require "test.support.toy"

describe("a limit", function ()
  local restore
  before_each(function () restore = toy.virtual_clock(0) end)
  after_each(function () restore() end)

  it("lets so many in at once, and the next in when one fails", function ()
    local l, inside, most, failed = task.limit(2), 0, 0, 0
    task.group(function (g)
      for i = 1, 6 do
        g:spawn(function ()
          local ok = pcall(l.with, l, function ()
            inside = inside + 1
            most = math.max(most, inside)
            task.sleep(1)
            inside = inside - 1
            if i % 2 == 0 then error "no" end
          end)
          if not ok then failed = failed + 1 end
        end)
      end
    end)
    assert.same({ 2, 3, 3 }, { most, failed, clock.mono() })
  end)

  it("gives its place back when it is cancelled", function ()
    local l = task.limit(1)
    task.deadline(1, l.with, l, task.sleep, 9)
    assert.equal("in", l:with(function () return "in" end))
  end)

  it("lets thousands in in the order in which they came, but for those that left", function ()
    local limit, order = task.limit(1), {}
    task.run(function ()
      task.group(function (g)
        local left
        for i = 1, 3000 do
          local t = g:spawn(function ()
            limit:with(function ()
              order[#order + 1] = i
              task.yield()
            end)
          end)
          if i == 1500 then left = t end
        end
        task.yield()
        left:cancel()
      end)
    end)
    assert.equal(2999, #order)
    for i, n in ipairs(order) do assert.equal(i < 1500 and i or i + 1, n) end
  end)
end)
