local clock = require "rtl.clock"
local err = require "rtl.err"
local process = require "rtl.process"
local task = require "rtl.task"
local toy = require "test.support.toy"

local now, restore = clock.mono, nil

local closer, BOOM = toy.closer, toy.BOOM

describe("task", function ()
  before_each(function () restore = toy.virtual_clock(0) end)
  after_each(function () restore() end)

  describe("run", function ()
    it("gives arguments and results through, nils too", function ()
      local function same(...) return ... end
      assert.same(table.pack(nil, 2, nil), table.pack(task.run(same, nil, 2, nil)))
    end)

    it("raises error objects as they are, and texts with a trace", function ()
      local ok, e = pcall(task.run, function () error(BOOM) end)
      assert.is_false(ok)
      assert.equal(BOOM, e)
      ok, e = pcall(task.run, function () error("plain") end)
      assert.is_false(ok)
      assert.matches("task_spec.lua:%d+: plain\nstack traceback:\n", e)
      assert.equal(1, select(2, e:gsub("stack traceback", "")))
    end)

    it("is a plain call inside a task", function ()
      task.run(function ()
        local me = task.current()
        assert.equal(me, task.run(task.current))
      end)
      assert.is_nil(task.current())
      assert.is_false(task.in_task())
    end)

    it("refuses what is no function", function ()
      assert.error_matches(function () task.run(1) end,
        "bad argument #1 to 'run' %(function expected, got number%)")
      assert.error_matches(function () task.group(nil) end, "bad argument #1 to 'group'")
      assert.error_matches(function () task.deadline(1) end, "bad argument #2 to 'deadline'")
      assert.error_matches(function () task.deadline("x", print) end,
        "bad argument #1 to 'deadline'")
      assert.error_matches(function () task.sleep(0 / 0) end, "bad argument #1 to 'sleep'")
    end)

    it("finds out that all tasks wait for each other", function ()
      local ok, e = pcall(task.run, function () task.future():get() end)
      assert.is_false(ok)
      assert.is_true(err.has_code(e, "RTL-TASK-003"))
    end)

    it("refuses a yield that is nobody's", function ()
      assert.error_matches(function () task.run(function () coroutine.yield(1) end) end,
        "coroutine.yield in a task")
    end)

    it("says so where a wait can't be", function ()
      task.run(function ()
        local ok, e = pcall(table.sort, { 1, 2 }, function () task.sleep(1) end)
        assert.is_false(ok)
        assert.matches("can't be done inside", e)
        assert.is_false(pcall(string.gsub, "x", "x", function () task.yield() end))
        task.sleep(1) -- and the task goes on as if nothing had been
        assert.equal(1, now())
      end)
    end)
  end)

  describe("virtual time", function ()
    it("jumps to the next timer", function ()
      task.sleep(3600)
      assert.equal(3600, now())
    end)

    it("calls after a while, unless it is closed before", function ()
      local called = {}
      do
        local _ <close> = task.after(5, function () called[#called + 1] = "closed" end)
        local late <close> = task.after(2, function () called[#called + 1] = clock.mono() end)
        local before = clock.mono()
        task.sleep(3)
        assert.same({ before + 2 }, called)
        assert.is_table(late)
      end
      task.sleep(10)
      assert.equal(1, #called)
      assert.equal(0, task.live().timers)
      assert.error_matches(function () task.after("soon", print) end, "seconds expected")
      assert.error_matches(function () task.after(1) end, "function expected")
    end)

    it("wakes sleepers in order of time, then of sleeping", function ()
      local order = {}
      task.group(function (g)
        for _, s in ipairs { 3, 1, 2, 1 } do
          g:spawn(function ()
            task.sleep(s)
            order[#order + 1] = s .. "@" .. now()
          end)
        end
      end)
      assert.same({ "1@1", "1@1", "2@2", "3@3" }, order)
    end)

    it("stands while something real is on its way", function ()
      local order = {}
      task.group(function (g)
        g:spawn(function ()
          task.sleep(60)
          order[#order + 1] = "timer"
        end)
        g:spawn(function ()
          assert(process.run { argv = { "sleep", "0.1" } })
          order[#order + 1] = "process@" .. now()
        end)
      end)
      assert.same({ "process@0", "timer" }, order)
      assert.equal(60, now())
    end)

    it("holds a thousand timers set and cleared in any order", function ()
      local timers = require "rtl.timers"
      local fired, kept = {}, {}
      for i = 1, 1000 do
        local at = i * 7919 % 1009
        kept[i] = timers.set(at, function () fired[#fired + 1] = at end)
      end
      for i = 1, 1000, 3 do
        timers.clear(kept[i])
        timers.clear(kept[i])
      end
      timers.fire(2000)
      assert.equal(666, #fired)
      for i = 2, #fired do assert.is_true(fired[i - 1] <= fired[i]) end
      assert.equal(0, timers.count())
    end)
  end)

  describe("group", function ()
    it("leaves when all are done and gives its function's results", function ()
      local done = 0
      assert.equal("x", task.group(function (g)
        for i = 1, 3 do g:spawn(function () task.sleep(i) done = done + 1 end) end
        return "x"
      end))
      assert.equal(3, done)
      assert.equal(3, now())
    end)

    it("joins for results", function ()
      assert.same({ 1, nil, 3 }, { task.group(function (g)
        local t = g:spawn(function (...) task.sleep(1) return ... end, 1, nil, 3)
        return t:join()
      end) })
    end)

    it("cancels the others at the first failure, and raises it after they ended", function ()
      local log = {}
      local ok, e = pcall(task.group, function (g)
        g:spawn(function ()
          local _ <close> = closer(log, "sleeper closed")
          task.sleep(100)
          log[#log + 1] = "never"
        end)
        g:spawn(function ()
          task.sleep(1)
          error(BOOM)
        end)
        task.sleep(50)
        log[#log + 1] = "never"
      end)
      assert.is_false(ok)
      assert.equal(BOOM, e)
      assert.same({ "sleeper closed" }, log)
      assert.equal(1, now())
    end)

    it("raises the first failure, not one that the cancellation brought", function ()
      local _, e = pcall(task.group, function (g)
        g:spawn(function ()
          local _ <close> = setmetatable({}, { __close = function () error("second", 0) end })
          task.sleep(10)
        end)
        g:spawn(function () error(BOOM) end)
      end)
      assert.equal(BOOM, e)
    end)

    it("cancels its tasks when its own function fails", function ()
      local log = {}
      assert.is_false(pcall(task.group, function (g)
        g:spawn(function ()
          local _ <close> = closer(log, "closed")
          task.sleep(9)
        end)
        task.yield()
        error(BOOM)
      end))
      assert.same({ "closed" }, log)
    end)

    it("does not begin what was cancelled before", function ()
      local began
      pcall(task.group, function (g)
        g:spawn(function () began = true end)
        error(BOOM)
      end)
      assert.is_nil(began)
    end)

    it("ends without an error when it was cancelled on purpose", function ()
      local log = {}
      task.group(function (g)
        g:spawn(function ()
          local _ <close> = closer(log, "closed")
          while true do task.sleep(1) end
        end)
        task.sleep(3)
        g:cancel()
      end)
      assert.same({ "closed" }, log)
      assert.equal(3, now())
    end)

    it("goes on when one task was cancelled; its join says so", function ()
      local t
      local value, e = task.group(function (g)
        t = g:spawn(function () task.sleep(100) end)
        task.sleep(1)
        t:cancel("enough")
        return t:join()
      end)
      assert.is_nil(value)
      assert.is_true(err.has_code(e, "RTL-TASK-002"))
      assert.equal("enough", e.message)
      assert.equal(1, now())
    end)

    it("refuses a spawn after its end", function ()
      local kept
      task.group(function (g) kept = g end)
      assert.error_matches(function () kept:spawn(print) end, "the group has ended")
    end)

    it("nests, and a failure climbs through", function ()
      local _, e = pcall(task.group, function (outer)
        outer:spawn(function ()
          task.group(function (inner)
            inner:spawn(function () task.sleep(1) error(BOOM) end)
            inner:spawn(function () task.sleep(100) end)
          end)
        end)
        outer:spawn(function () task.sleep(100) end)
      end)
      assert.equal(BOOM, e)
      assert.equal(1, now())
    end)

    it("cancels in order of creation", function ()
      local log = {}
      pcall(task.group, function (g)
        for i = 1, 20 do
          g:spawn(function ()
            local _ <close> = closer(log, i)
            task.sleep(100)
          end)
        end
        task.sleep(1)
        error(BOOM)
      end)
      for i = 1, 20 do assert.equal(i, log[i]) end
    end)
  end)

  describe("map", function ()
    it("keeps the order, and the limit", function ()
      local inside, most = 0, 0
      local result = task.map({ 5, 1, 4, 2, 3 }, function (x, i)
        inside = inside + 1
        most = math.max(most, inside)
        task.sleep(x)
        inside = inside - 1
        return x * 10 + i
      end, 2)
      assert.same({ 51, 12, 43, 24, 35 }, result)
      assert.equal(2, most)
    end)

    it("takes an empty list", function ()
      assert.same({}, task.map({}, error))
    end)

    it("raises the first failure and stops", function ()
      local calls = 0
      assert.is_false(pcall(task.map, { 1, 2, 3, 4 }, function (x)
        calls = calls + 1
        task.sleep(1)
        if x == 2 then error(BOOM) end
      end, 1))
      assert.equal(2, calls)
    end)
  end)

  describe("coroutines inside tasks", function ()
    it("wait without their consumer seeing it", function ()
      local numbers = coroutine.wrap(function ()
        for i = 1, 3 do
          task.sleep(i)
          coroutine.yield(i)
        end
      end)
      local seen = {}
      task.run(function () for i in numbers do seen[#seen + 1] = i .. "@" .. now() end end)
      assert.same({ "1@1", "2@3", "3@6" }, seen)
    end)

    it("nest", function ()
      local function count(depth)
        return coroutine.wrap(function ()
          if depth == 0 then
            task.sleep(1)
            coroutine.yield("deep")
          else
            for v in count(depth - 1) do coroutine.yield(v) end
          end
        end)
      end
      assert.equal("deep", task.run(count(10)))
    end)

    it("work outside of tasks too", function ()
      local co = coroutine.create(function ()
        task.sleep(1)
        coroutine.yield("a")
        error("b", 0)
      end)
      assert.same({ true, "a" }, { coroutine.resume(co) })
      assert.same({ false, "b" }, { coroutine.resume(co) })
      assert.same({ false, "cannot resume dead coroutine" }, { coroutine.resume(co) })
    end)

    it("raise through wrap, running <close> values", function ()
      local log = {}
      local f = coroutine.wrap(function ()
        local _ <close> = closer(log, "closed")
        error("e", 0)
      end)
      assert.same({ false, "e" }, { pcall(f) })
      assert.same({ "closed" }, log)
    end)
  end)

  describe("future", function ()
    it("gives its values to all who wait and to those who come later", function ()
      local f = task.future()
      assert.is_false(f:ready())
      local got = {}
      task.group(function (g)
        for i = 1, 3 do g:spawn(function () got[i] = table.pack(f:get()) end) end
        task.sleep(1)
        f:set(1, nil, 3)
      end)
      for i = 1, 3 do assert.same(table.pack(1, nil, 3), got[i]) end
      assert.same({ 1, nil, 3 }, { f:get() })
      assert.is_true(f:ready())
    end)

    it("raises what it was failed with, and is set once", function ()
      local f = task.future()
      f:fail(BOOM)
      assert.same({ false, BOOM }, { pcall(f.get, f) })
      assert.error_matches(function () f:set(1) end, "set already")
    end)
  end)

  describe("queue", function ()
    it("keeps order, and ends with nil", function ()
      local q = task.queue()
      q:put(1)
      q:put(false)
      q:close()
      q:close()
      assert.equal(1, q:get())
      assert.equal(false, q:get())
      assert.is_nil(q:get())
      assert.is_nil(q:get())
      assert.error_matches(function () q:put(2) end, "the queue is closed")
      assert.error_matches(function () q:put(nil) end, "bad argument #1 to 'put'")
    end)

    it("holds its writers back", function ()
      local q, log = task.queue(2), {}
      task.group(function (g)
        g:spawn(function ()
          for i = 1, 4 do
            q:put(i)
            log[#log + 1] = "put " .. i
          end
          q:close()
        end)
        task.sleep(1)
        log[#log + 1] = "slept"
        for v in q.get, q do log[#log + 1] = "got " .. v end
      end)
      assert.same({ "put 1", "put 2", "slept" }, { table.unpack(log, 1, 3) })
      assert.equal(9, #log)
    end)

    it("wakes readers when it is closed", function ()
      local q = task.queue()
      assert.equal("ended", task.group(function (g)
        local t = g:spawn(function () return q:get() == nil and "ended" end)
        task.sleep(1)
        q:close()
        return t:join()
      end))
    end)
  end)

  describe("await", function ()
    local function child()
      return assert(require "rtl.native.process".spawn { argv = { "sleep", "30" },
        stdin = "null", stdout = "null", stderr = "null" })
    end

    it("is cut by a deadline, and the handle is whole", function ()
      restore()
      local c <close> = child()
      local _, e = task.deadline(0.02, task.await, c)
      assert.is_true(err.has_code(e, "RTL-TASK-001"))
      c:kill(9)
      assert.same({ "signal", 9 }, { task.await(c) })
    end)

    it("refuses two who wait for one handle", function ()
      restore()
      local c <close> = child()
      local ok, e = pcall(task.group, function (g)
        g:spawn(task.await, c)
        g:spawn(task.await, c)
      end)
      assert.is_false(ok)
      assert.matches("^another task waits for this handle", e)
    end)
  end)

  it("leaves nothing behind", function ()
    assert.same({ tasks = 0, timers = 0, awaited = 0 }, task.live())
  end)

  it("lets a hundred tasks take turns", function ()
    local count = 0
    task.group(function (g)
      for _ = 1, 100 do
        g:spawn(function () for _ = 1, 100 do task.yield() count = count + 1 end end)
      end
    end)
    assert.equal(10000, count)
  end)
end)
