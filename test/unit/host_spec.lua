local host = require "rtl.native.host"

describe("host", function ()
  it("carries the library", function ()
    assert.is_string(host.embedded("rtl/cli/main.lua"))
    assert.is_nil(host.embedded("no/such/file"))
  end)

  it("resumes a coroutine as coroutine.resume does", function ()
    local co = coroutine.create(function (a) local b = coroutine.yield(a + 1) return b * 2 end)
    assert.same({ true, 2 }, { host.resume(co, 1) })
    assert.same({ true, 10 }, { host.resume(co, 5) })
    assert.same({ false, "cannot resume dead coroutine" }, { host.resume(co) })
  end)
end)
