local err = require "rtl.err"

describe("err", function ()
  it("shows code, status, request and the innermost hint in one line", function ()
    local inner = err.new { code = "AccessDenied", message = "no", status = 403,
      request_id = "r-1", hint = "ask for ec2:CreateVpc" }
    local outer = err.wrap(inner, { doing = "create vpc ray-train", message = "refused",
      hint = "outer" })
    assert.equal("create vpc ray-train: refused (AccessDenied, HTTP 403, request r-1): "
      .. "no (AccessDenied, HTTP 403, request r-1). ask for ec2:CreateVpc", tostring(outer))
    assert.equal("AccessDenied", outer.code)
    assert.is_true(err.is(outer))
    assert.is_true(err.has_code(outer, "AccessDenied"))
  end)

  it("shows nothing that a terminal acts upon", function ()
    local e = err.new { code = "E", message = "a\27[2Jb\7\u{9b}1mc é\r\n\td\127\0", hint = "h\8" }
    assert.equal("a?[2Jb??1mc é?\n\td?? (E). h?", tostring(e))
  end)

  it("fails as nil and an error", function ()
    local value, e = err.fail { code = "X", message = "m" }
    assert.is_nil(value)
    assert.equal("m (X)", tostring(e))
  end)

  it("raises on misuse, naming the argument", function ()
    assert.error_matches(function () err.new { message = "m" } end,
      "bad argument #1 to 'new' %(code expected%)")
  end)

  it("finds the error under an error", function ()
    local middle = err.wrap(err.new { code = "A", message = "a" }, { code = "B", message = "b" })
    local deep = err.wrap(middle, { code = "C", message = "c" })
    assert.equal("a", err.find(deep, function (e) return e.code == "A" end).message)
    assert.is_nil(err.find(deep, function (e) return e.code == "D" end))
  end)
end)
