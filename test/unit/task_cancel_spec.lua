-- How tasks of rtl.task are ended before their time: deadlines, cancellation, shields.
local clock = require "rtl.clock"
local err = require "rtl.err"
local task = require "rtl.task"
local toy = require "test.support.toy"

local now, restore = clock.mono, nil

local closer, BOOM = toy.closer, toy.BOOM

describe("task", function ()
  before_each(function () restore = toy.virtual_clock(0) end)
  after_each(function () restore() end)

  describe("deadline", function ()
    it("gives results that come in time", function ()
      local function work()
        task.sleep(4)
        return 1, nil, 3
      end
      assert.same({ 1, nil, 3 }, { task.deadline(5, work) })
      assert.equal(4, now())
    end)

    it("turns its own expiry into nil and an error", function ()
      local value, e = task.deadline(5, task.sleep, 60)
      assert.is_nil(value)
      assert.is_true(err.has_code(e, "RTL-TASK-001"))
      assert.equal("not done within 5 s (RTL-TASK-001)", tostring(e))
      assert.equal(5, now())
    end)

    it("gives nested calls what is left", function ()
      local inner_result = "untouched"
      local _, e = task.deadline(5, function ()
        assert.equal(5, task.remaining())
        inner_result = task.deadline(60, function ()
          assert.equal(5, task.remaining())
          task.sleep(100)
        end)
      end)
      assert.equal("not done within 5 s (RTL-TASK-001)", tostring(e))
      assert.equal("untouched", inner_result) -- the inner one did not take the outer's expiry
      assert.equal(5, now())
    end)

    it("lets an inner one expire alone", function ()
      assert.equal("after", task.deadline(60, function ()
        local _, e = task.deadline(5, task.sleep, 100)
        assert.is_true(err.has_code(e, "RTL-TASK-001"))
        task.sleep(1)
        assert.equal(54, task.remaining())
        return "after"
      end))
      assert.is_nil(task.remaining())
    end)

    it("stops tasks that were started inside", function ()
      local log = {}
      local _, e = task.deadline(5, task.group, function (g)
        for i = 1, 2 do
          g:spawn(function ()
            local _ <close> = closer(log, i)
            task.sleep(100)
          end)
        end
      end)
      assert.is_true(err.has_code(e, "RTL-TASK-001"))
      assert.same({ 1, 2 }, log)
    end)

    it("leaves what fails by itself as it is", function ()
      local ok, e = pcall(task.deadline, 5, error, BOOM)
      assert.is_false(ok)
      assert.equal(BOOM, e)
    end)

    it("of no time at all stops at the first wait", function ()
      local reached
      assert.is_nil(task.deadline(0, function ()
        reached = true
        task.sleep(1)
        reached = false
      end))
      assert.is_true(reached)
    end)

    it("closes <close> values in reverse order, once each", function ()
      local log = {}
      task.deadline(1, function ()
        local _ <close> = closer(log, "first")
        local _ <close> = closer(log, "second")
        local _ <close> = closer(log, "third")
        task.sleep(9)
      end)
      assert.same({ "third", "second", "first" }, log)
    end)
  end)

  describe("cancellation", function ()
    it("is never caught by pcall, xpcall or resume", function ()
      local log = {}
      task.deadline(3, function ()
        pcall(function ()
          xpcall(function ()
            local co = coroutine.create(function ()
              local _ <close> = closer(log, "inner coroutine")
              task.sleep(100)
            end)
            coroutine.resume(co)
            log[#log + 1] = "resume returned"
          end, function () log[#log + 1] = "handler ran" end)
          log[#log + 1] = "xpcall returned"
        end)
        log[#log + 1] = "pcall returned"
      end)
      assert.same({ "inner coroutine" }, log)
    end)

    it("ends a loop around pcall", function ()
      local turns = 0
      local _, e = task.deadline(3, function ()
        while true do
          turns = turns + 1
          pcall(task.sleep, 1)
        end
      end)
      assert.is_true(err.has_code(e, "RTL-TASK-001"))
      assert.is_true(turns <= 4)
    end)

    it("is raised again at each further wait", function ()
      local waits = 0
      local function clean_up()
        waits = waits + 1
        task.sleep(1)
        waits = waits + 100
      end
      task.deadline(1, function ()
        local _ <close> = setmetatable({}, { __close = clean_up })
        local _ <close> = setmetatable({}, { __close = clean_up })
        task.sleep(9)
      end)
      assert.equal(2, waits)
      assert.equal(1, now())
    end)

    it("loses no value of a queue", function ()
      local q = task.queue()
      local got
      task.group(function (g)
        local loser = g:spawn(function () q:get() end)
        g:spawn(function () got = q:get() end)
        task.yield()
        q:put("the only one")
        loser:cancel() -- it was woken already, and had not run yet
      end)
      assert.equal("the only one", got)
    end)

    it("leaves errors that are not its own to pcall", function ()
      task.run(function ()
        assert.same({ false, BOOM }, { pcall(error, BOOM) })
        local function handler(e) return "handled " .. tostring(e) end
        assert.same({ false, "handled boom" }, { xpcall(error, handler, BOOM) })
        assert.same({ true, 1, nil, 3 }, { pcall(function () return 1, nil, 3 end) })
      end)
    end)
  end)

  describe("shield", function ()
    it("lets clean-up wait", function ()
      local log = {}
      task.deadline(1, function ()
        local _ <close> = setmetatable({}, { __close = function ()
          task.shield(10, function ()
            task.sleep(5)
            log[#log + 1] = "cleaned at " .. now()
          end)
        end })
        task.sleep(100)
      end)
      assert.same({ "cleaned at 6" }, log)
    end)

    it("has a limit of its own", function ()
      local _, e = task.shield(2, task.sleep, 100)
      assert.is_true(err.has_code(e, "RTL-TASK-001"))
      assert.equal(2, now())
    end)

    it("hides the deadlines around it", function ()
      task.deadline(5, function ()
        task.shield(60, function () assert.equal(60, task.remaining()) end)
      end)
    end)

    it("ends: then the cancellation comes", function ()
      local log = {}
      local _, e = task.deadline(1, function ()
        task.shield(10, task.sleep, 5)
        log[#log + 1] = "shield left at " .. now()
        task.yield()
        log[#log + 1] = "never"
      end)
      assert.is_true(err.has_code(e, "RTL-TASK-001"))
      assert.same({ "shield left at 5" }, log)
    end)

    it("protects tasks started inside", function ()
      local log = {}
      task.deadline(1, function ()
        task.shield(10, task.group, function (g)
          g:spawn(function ()
            task.sleep(5)
            log[1] = now()
          end)
        end)
      end)
      assert.same({ 5 }, log)
    end)
  end)
end)
