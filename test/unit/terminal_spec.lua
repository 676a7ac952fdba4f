local process = require "rtl.process"
local terminal = require "rtl.native.terminal"
local fs = require "rtl.fs"

local EXE = assert(fs.readlink "/proc/self/exe")

local function sh(script, ...)
  return assert(process.run { argv = { "sh", "-c", script, EXE, ... } })
end

describe("terminal", function ()
  it("knows what is none", function ()
    assert.is_false(terminal.is_terminal(1000))
    assert.is_nil(terminal.columns(1000))
    local code = "local t = require 'rtl.native.terminal' "
      .. "print(t.is_terminal(0), t.is_terminal(1), t.columns(1))"
    assert.equal("false\tfalse\tnil\n", sh('"$0" -e "$1"', code).stdout)
  end)

  it("knows one, and its width", function ()
    local code = "local p = require 'rtl.process' print(p.is_terminal(1), p.columns())"
    local r = sh('exec script -qec "stty cols 123; $0 -e \\"$1\\"" /dev/null', code)
    assert.matches("true\t123", r.stdout)
  end)

  it("takes the width from COLUMNS, else 80, where there is no terminal", function ()
    local code = "print(require 'rtl.process'.columns())"
    assert.equal("57\n", sh('COLUMNS=57 "$0" -e "$1"', code).stdout)
    assert.equal("80\n", sh('unset COLUMNS; "$0" -e "$1"', code).stdout)
    assert.equal("80\n", sh('COLUMNS=wide "$0" -e "$1"', code).stdout)
  end)

  it("writes all, also into a slow pipe", function ()
    local code = "print(require 'rtl.process'.write(('x'):rep(1000000), 1))"
    assert.equal(1000005, #sh('"$0" -e "$1" | (sleep 0.1; cat)', code).stdout)
  end)

  it("says when nobody reads, and goes on", function ()
    local code = [[
      local process = require "rtl.process"
      local ok, e
      repeat ok, e = process.write(("x"):rep(65536)) until not ok
      process.write(e.code .. " " .. e.errno .. " " .. tostring(process.write("again")), 2)
    ]]
    assert.equal("RTL-PROC-003 EPIPE nil", sh('"$0" -e "$1" | head -c1 >/dev/null', code).stderr)
    assert.equal("RTL-PROC-003 EBADF nil", sh('"$0" -e "$1" >&-', code).stderr)
  end)

  it("reads what is there", function ()
    local code = "local t = require 'rtl.native.terminal' print(t.read(0)) print(t.read(0))"
    assert.equal("hello\nnil\n", sh('printf hello | "$0" -e "$1"', code).stdout)
    assert.same({ nil, "Bad file descriptor", "EBADF" }, { terminal.read(1000) })
    assert.is_true(fs.exists(EXE))
  end)
end)
