local secret = require "rtl.native.secret"

describe("secret", function ()
  it("hides its bytes from tostring, format and errors", function ()
    local s = secret.new "hunter2"
    assert.equal("<secret>", tostring(s))
    assert.equal("<secret>", string.format("%s", s))
    assert.is_nil(getmetatable(s).__index)
    assert.equal("hunter2", secret.reveal(s))
  end)

  it("holds any bytes, also none", function ()
    assert.equal(0, #secret.new "")
    assert.is_true(secret.new(""):equals "")
    assert.is_true(secret.new("a\0b"):equals "a\0b")
    assert.equal(3, secret.length(secret.new "a\0b"))
  end)

  it("joins strings, integers and secrets", function ()
    assert.is_true(secret.join("a", 1, secret.new "b", ""):equals "a1b")
    assert.is_true(("Bearer " .. secret.new "t"):equals "Bearer t")
    assert.is_true((secret.new "t" .. "!"):equals "t!")
    assert.is_true(secret.join():equals "")
  end)

  it("compares by content", function ()
    local s = secret.new "abc"
    assert.is_true(secret.equals(s, "abc"))
    assert.is_false(s:equals "abd")
    assert.is_false(s:equals "ab")
    assert.is_false(s:equals "")
    assert.is_true(s == secret.new "abc")
    assert.is_false(s == "abc")
  end)

  it("can be wiped early, once", function ()
    local s = secret.new "abc"
    do
      local scoped <close> = s
      assert.equal(3, #scoped)
    end
    s:close()
    assert.error_matches(function () secret.reveal(s) end, "secret is closed")
    assert.error_matches(function () return #s end, "secret is closed")
    assert.equal("<secret>", tostring(s))
  end)

  it("tells secrets from other values", function ()
    assert.is_true(secret.is(secret.new "x"))
    assert.is_false(secret.is "x")
    assert.is_false(secret.is(io.stdout))
  end)

  it("can first be made by another module", function ()
    local script = os.tmpname()
    local file <close> = assert(io.open(script, "w"))
    file:write([[
      local json = require "rtl.native.json"
      local v = json.decode('{"a":"x","b":[null]}', { secret = { "a" } })
      print(v.a, #v.a, v.b[1])]]):close()
    local pipe <close> = assert(io.popen((os.getenv "RTL_BUILD" or "build") .. "/rtl " .. script))
    assert.equal("<secret>\t1\tnull\n", pipe:read "a")
    os.remove(script)
  end)

  it("raises on misuse, naming the argument", function ()
    assert.error_matches(function () secret.new(1) end,
      "bad argument #1 to 'new' %(string or secret expected, got number%)")
    assert.error_matches(function () secret.join("a", {}) end, "bad argument #2 to 'join'")
    assert.error_matches(function () secret.is() end, "bad argument #1 to 'is'")
  end)
end)
