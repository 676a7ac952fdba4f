local fs = require "rtl.fs"
local host = require "rtl.native.host"
local process = require "rtl.process"

local EXE = assert(fs.readlink "/proc/self/exe")

local function rtl(...)
  return assert(process.run { argv = { EXE, ... } })
end

describe("host", function ()
  it("carries the library", function ()
    assert.is_string(host.embedded("rtl/cli/main.lua"))
    assert.is_nil(host.embedded("no/such/file"))
  end)

  it("prints warnings once they are asked for, as lua5.4 does", function ()
    local ran = rtl("-e", [[warn "a" warn "@on" warn("b", "c") warn "@else" warn "@off" warn "d"]])
    assert.same({ 0, "Lua warning: bc\n" }, { ran.status, ran.stderr })
  end)

  it("resumes a coroutine as coroutine.resume does", function ()
    local co = coroutine.create(function (a) local b = coroutine.yield(a + 1) return b * 2 end)
    assert.same({ true, 2 }, { host.resume(co, 1) })
    assert.same({ true, 10 }, { host.resume(co, 5) })
    assert.same({ false, "cannot resume dead coroutine" }, { host.resume(co) })
  end)

  it("refuses to resume what is no coroutine, or runs", function ()
    assert.error_matches(function () host.resume(print) end, "coroutine expected")
    local co
    co = coroutine.create(function () return host.resume(co) end)
    assert.same({ true, false, "cannot resume non-suspended coroutine" }, { host.resume(co) })
  end)

  it("catches everything at the outermost call, and may wait in it", function ()
    local task = require "rtl.task"
    local function shown(e) return "shown: " .. tostring(e) end
    local function same(...) return ... end
    assert.same({ true, 1, nil, 3 }, { host.outermost(same, shown, 1, nil, 3) })
    assert.same({ false, "shown: x" }, { host.outermost(error, shown, "x") })
    assert.same({ true, "waited" }, { task.run(host.outermost, function ()
      task.sleep(0.001)
      return "waited"
    end, shown) })
    assert.error_matches(function () host.outermost(print) end, "bad argument #2 to 'outermost'")
  end)
end)

describe("the program", function ()
  it("takes --rehearse before -- out of the words, and chooses the world by it", function ()
    local code = "print(require 'rtl.wire'.describe().name, ...)"
    assert.matches("^rehearsal.*\ta\n$", rtl("-e", code, "--rehearse", "a").stdout)
    assert.matches("^rehearsal.*\ta\n$", rtl("--rehearse=calm", "-e", code, "a").stdout)
    assert.equal("native\t--\t--rehearse\n", rtl("-e", code, "--", "--rehearse").stdout)
    assert.equal("native\t--rehearsed\n", rtl("-e", code, "--rehearsed").stdout)
  end)

  it("runs standard input when there is no word and no terminal", function ()
    local r = assert(process.run { argv = { EXE }, stdin = "print(1 + 1) return 3" })
    assert.same({ "2\n", 3 }, { r.stdout, r.status })
  end)

  it("shows an error and exits with 1", function ()
    local r = rtl("-e", "error 'boom'")
    assert.equal(1, r.status)
    assert.matches("^rtl: .*boom", r.stderr)
    assert.equal("", r.stdout)
  end)

  it("shows an error object that can't be shown", function ()
    local r = rtl("-e", "error(setmetatable({}, { __tostring = function () error 'no' end }))")
    assert.equal(1, r.status)
    assert.is_true(#r.stderr > 0)
  end)

  it("runs with any of its standard descriptors closed", function ()
    for _, closed in ipairs { "<&-", ">&-", "2>&-", "<&- >&- 2>&-" } do
      local r = assert(process.run { argv = { "sh", "-c",
        '"$0" -e "require [[rtl.task]].sleep(0) io.stderr:write(1) print(2)" ' .. closed, EXE } })
      assert.equal(closed == "2>&-" and "2\n" or closed == "<&-" and "2\n" or "", r.stdout)
      assert.equal(closed:find("2>", 1, true) and "" or "1", r.stderr)
    end
  end)
end)
