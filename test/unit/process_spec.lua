local err = require "rtl.err"
local fs = require "rtl.fs"
local native = require "rtl.native.process"
local process = require "rtl.process"
local task = require "rtl.task"

local function sh(script, more)
  local options = more or {}
  options.argv = { "sh", "-c", script }
  return process.run(options)
end

describe("process", function ()
  it("gives status, output and errors apart", function ()
    local r = assert(sh "echo out; echo err >&2; exit 3")
    assert.same({ status = 3, stdout = "out\n", stderr = "err\n" }, r)
  end)

  it("gives the signal that ended it", function ()
    assert.same({ signal = 9, stdout = "", stderr = "" }, sh "kill -9 $$")
  end)

  it("feeds and drains more than any pipe holds, every byte", function ()
    local bytes = {}
    for i = 0, 255 do bytes[i + 1] = string.char(i) end
    local input = table.concat(bytes):rep(8000)
    local r = assert(process.run { argv = { "cat" }, stdin = input })
    assert.is_true(r.stdout == input)
    assert.equal(0, r.status)
  end)

  it("keeps no more than it is told to, and lets the child go on", function ()
    local r = assert(sh("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; exit 3",
      { most = 100000 }))
    assert.same({ 3, 100000, 100000 }, { r.status, #r.stdout, #r.stderr })
    r = assert(sh("echo all", { most = 4 }))
    assert.equal("all\n", r.stdout)
  end)

  it("gives no input when none is given", function ()
    assert.equal("", assert(process.run { argv = { "cat" } }).stdout)
    assert.equal("", assert(process.run { argv = { "cat" }, stdin = "" }).stdout)
  end)

  it("does not mind a child that reads nothing", function ()
    assert.equal(0, assert(process.run { argv = { "true" }, stdin = ("x"):rep(1 << 20) }).status)
  end)

  it("passes words as they are", function ()
    local words = { "a b", "", "'\"$HOME\\", "*", "-n", "é\n" }
    local r = assert(process.run { argv = { "printf", "%s|", table.unpack(words) } })
    assert.equal(table.concat(words, "|") .. "|", r.stdout)
  end)

  it("sets environment and folder", function ()
    assert.equal("A=1\nB=two words\n", assert(process.run {
      argv = { "env" }, env = { B = "two words", A = "1" } }).stdout)
    assert.equal("C=3\n", assert(process.run { argv = { "env" }, env = { "C=3" } }).stdout)
    assert.equal("/\n", assert(process.run { argv = { "pwd" }, cwd = "/" }).stdout)
  end)

  it("says what can't be started", function ()
    -- Under valgrind vfork is fork, and a child can't tell its parent why it failed.
    if process.getenv "RTL_TEST_SLOW" then return end
    local r, e = process.run { argv = { "/no/such/program" } }
    assert.is_nil(r)
    assert.is_true(err.has_code(e, "RTL-PROC-001"))
    assert.equal("start /no/such/program: No such file or directory (RTL-PROC-001)", tostring(e))
    local wrong = { { argv = { "true" }, cwd = "/no/such" }, { argv = { "/etc/passwd" } } }
    for _, options in ipairs(wrong) do
      assert.is_true(err.has_code(select(2, process.run(options)), "RTL-PROC-001"))
    end
  end)

  it("refuses misuse with the argument's number", function ()
    for _, bad in ipairs { {}, { argv = "ls" }, { argv = {} }, { argv = { 1 } } } do
      assert.error_matches(function () process.run(bad) end, "bad argument #1 to 'run'")
    end
    for _, bad in ipairs { {}, { argv = { "a\0b" } }, { argv = { "ls" }, env = { {} } },
      { argv = { "ls" }, stdin = "x" } } do
      assert.error_matches(function () native.spawn(bad) end, "bad argument #1 to 'spawn'")
    end
  end)

  it("kills what does not end in time, also what holds its pipes", function ()
    local r, e = sh("sleep 30 & echo here; sleep 30", { timeout = 0.1 })
    assert.is_nil(r)
    assert.is_true(err.has_code(e, "RTL-PROC-002"))
  end)

  it("kills it when the task is cancelled", function ()
    local pid
    task.deadline(0.2, function ()
      local child <close> = assert(native.spawn { argv = { "sleep", "30" }, stdin = "null",
        stdout = "null", stderr = "null" })
      pid = child:pid()
      task.await(child)
    end)
    assert.is_false(fs.exists("/proc/" .. pid))
  end)

  it("leaks no descriptor into a child", function ()
    local held <close> = assert(io.open("/etc/passwd"))
    local other <close> = assert(native.spawn {
      argv = { "cat" }, stdout = "null", stderr = "null" })
    assert.is_true(io.type(held) == "file" and other:pid() > 0)
    -- ls itself opens the folder that it lists
    assert.equal("0\n1\n2\n3\n", assert(process.run { argv = { "ls", "/proc/self/fd" } }).stdout)
  end)

  it("gives children the default signals", function ()
    local r = assert(sh "grep -E '^Sig(Ign|Blk)' /proc/self/status")
    assert.matches("SigBlk:%s*0000000000000000", r.stdout)
    local ignored = tonumber(r.stdout:match("SigIgn:%s*(%x+)"), 16)
    assert.equal(0, ignored & 0x7fffffff) -- without 32 and 33, which are the C library's own
  end)

  it("runs many at once", function ()
    local list = {}
    for i = 1, 30 do list[i] = i end
    local results = task.map(list, function (i)
      return assert(process.run { argv = { "sh", "-c", "exit " .. i } }).status
    end, 8)
    assert.same(list, results)
  end)

  it("knows the surroundings", function ()
    assert.is_string(process.getenv("PATH"))
    assert.is_nil(process.getenv("RTL_NO_SUCH_VARIABLE"))
    local pair = "PATH=" .. process.getenv("PATH")
    local found = table.concat(process.environ(), "\n"):find(pair, 1, true)
    assert.is_truthy(found)
    assert.is_true(#process.hostname() > 0)
    assert.is_true(#process.user() > 0)
    assert.is_true(process.pid() > 1)
  end)

  it("can be replaced in part", function ()
    local former = process.use { getenv = function (name) return name .. "!" end,
      run = function (o) return { status = #o.argv } end }
    local run = process.run { argv = { "x", "y" } }
    local results = { process.getenv("A"), run.status, process.pid() }
    process.use(former)
    assert.same({ "A!", 2, native.pid() }, results)
    assert.is_nil(process.getenv("A!"))
  end)

  it("takes an empty variable for one that is not set", function ()
    local values = { EMPTY = "", BLANK = " " }
    local former = process.use { getenv = function (name) return values[name] end }
    local results = { process.variable "EMPTY" or "none", process.variable "BLANK" or "none",
      process.variable "ABSENT" or "none" }
    process.use(former)
    assert.same({ "none", " ", "none" }, results)
  end)

  it("closes a child once, and kills it", function ()
    local child = assert(native.spawn {
      argv = { "sleep", "30" }, stdin = "null", stdout = "null", stderr = "null" })
    local pid = child:pid()
    child:close()
    child:close()
    assert.is_false(fs.exists("/proc/" .. pid))
    assert.error_matches(function () child:kill() end, "closed")
  end)

  it("writes once at a time, and only where it may", function ()
    local child, stdin, stdout = native.spawn { argv = { "sleep", "30" }, stderr = "null" }
    stdin:start(("x"):rep(1 << 20))
    assert.is_false(stdin:take())
    assert.error_matches(function () stdin:start("y") end, "on its way")
    stdin:cancel()
    stdin:start("")
    assert.same({ true, true }, { stdin:take() })
    assert.error_matches(function () stdout:start("y") end, "for reading")
    child:close()
    stdin:close()
    stdout:close()
  end)
end)
