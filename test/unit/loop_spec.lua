local clock = require "rtl.clock"
local fs = require "rtl.fs"
local loop = require "rtl.native.loop"
local native = require "rtl.native.process"
local process = require "rtl.process"
local task = require "rtl.task"

local EXE = assert(fs.readlink "/proc/self/exe")

-- A child that writes to its output when a line comes.
local function cat()
  return assert(native.spawn { argv = { "cat" }, stderr = "null" })
end

-- The round in which `token` comes out of the loop; nil when it does not within a few.
local function wait_for(token)
  for _ = 1, 50 do
    for _, posted in ipairs(loop.wait(5)) do
      if posted == token then return true end
    end
  end
end

describe("loop", function ()
  it("returns no token when nothing happens, and not before the time", function ()
    loop.wait(0) -- tokens of handles that were closed before
    local before = clock.mono()
    assert.same({}, loop.wait(0))
    assert.same({}, loop.wait(0.02))
    assert.is_true(clock.mono() - before >= 0.02)
  end)

  it("refuses what is no time", function ()
    assert.error_matches(function () loop.wait("x") end, "bad argument #1 to 'wait'")
    assert.error_matches(function () loop.wait(0 / 0) end, "bad argument #1 to 'wait'")
  end)

  it("gives a descriptor's token once, and again after the take", function ()
    local child, stdin, stdout = cat()
    local _ <close> = child
    local _ <close> = stdin
    local _ <close> = stdout
    assert.same({ false }, { stdout:take() })
    stdin:start("x")
    assert.same({ true, true }, { stdin:take() })
    assert.is_true(wait_for(stdout:token()))
    assert.same({}, loop.wait(0.01))
    assert.same({ true, "x" }, { stdout:take() })
    assert.same({ false }, { stdout:take() })
  end)

  it("says when a descriptor can't be watched", function ()
    local before = loop.live()
    assert.same({ nil, "Bad file descriptor" }, { loop.watch(1000, "r") })
    assert.same(before, loop.live())
    local child = assert(process.run { argv = { EXE, "-e",
      "print(require 'rtl.native.loop'.watch(0, 'r'))" } }) -- its input is /dev/null
    assert.equal("nil\tOperation not permitted\n", child.stdout)
  end)

  it("refuses an unknown mode", function ()
    assert.error_matches(function () loop.watch(0, "x") end, "bad argument #2 to 'watch'")
  end)

  it("raises when a closed handle is used, and closes twice", function ()
    local child, stdin, stdout = cat()
    child:close()
    child:close()
    stdin:close()
    stdin:close()
    assert.error_matches(function () stdin:token() end, "closed")
    assert.error_matches(function () stdin:take() end, "closed")
    stdout:close()
  end)

  it("counts what is live", function ()
    local before = loop.live()
    local child, stdin, stdout = cat()
    assert.same(before.tokens + 3, loop.live().tokens)
    assert.same(before.children + 1, loop.live().children)
    stdout:take()
    assert.same(before.watches + 1, loop.live().watches)
    child:close()
    stdin:close()
    stdout:close()
    assert.same(before, loop.live())
  end)

  it("wakes who waits for a handle that is closed", function ()
    local child, stdin, stdout = cat()
    local ok, message = pcall(task.group, function (g)
      g:spawn(function () task.await(stdout) end)
      task.yield()
      stdout:close()
    end)
    assert.is_false(ok)
    assert.matches("closed", message)
    child:close()
    stdin:close()
  end)

  it("hands out hundreds of tokens of one round", function ()
    local children = {}
    for i = 1, 40 do
      local child, stdin, stdout = cat()
      children[i] = { child, stdin, stdout }
      stdin:start(("%d"):format(i))
      stdin:take()
      stdin:close()
    end
    local outputs = task.map(children, function (c) return (task.await(c[3])) end)
    for i = 1, 40 do assert.equal(tostring(i), outputs[i]) end
    for _, c in ipairs(children) do
      c[1]:close()
      c[3]:close()
    end
  end)

  it("collects a handle that was forgotten", function ()
    local before = loop.live()
    cat()
    collectgarbage()
    collectgarbage()
    assert.same(before, loop.live())
    assert.equal(0, assert(process.run { argv = { "true" } }).status)
  end)
end)
