local entropy = require "rtl.entropy"
local native = require "rtl.native.entropy"

describe("entropy", function ()
  it("gives as many bytes as asked for", function ()
    for _, count in ipairs { 0, 1, 16, 257, 1 << 20 } do
      assert.equal(count, #native.bytes(count))
    end
  end)

  it("refuses a count out of bounds", function ()
    assert.error_matches(function () native.bytes(-1) end, "bad argument #1 to 'bytes'")
    assert.error_matches(function () native.bytes((1 << 20) + 1) end, "bad argument #1 to 'bytes'")
    assert.error_matches(function () native.bytes("x") end, "bad argument #1 to 'bytes'")
  end)

  it("never gives the same twice", function ()
    local seen = {}
    for _ = 1, 1000 do
      local bytes = native.bytes(16)
      assert.is_nil(seen[bytes])
      seen[bytes] = true
    end
  end)

  it("uses each byte value", function ()
    local seen, count = {}, 0
    for c in native.bytes(1 << 16):gmatch(".") do
      if not seen[c] then seen[c], count = true, count + 1 end
    end
    assert.is_true(count >= 255) -- a value is missed with p < 1e-100
  end)

  describe("with a known source", function ()
    local former, given
    before_each(function ()
      former = entropy.use {
        bytes = function (count) return given:rep(count // #given + 1):sub(1, count) end,
      }
    end)
    after_each(function () entropy.use(former) end)

    it("makes hexadecimal digits", function ()
      given = "\x00\xab"
      assert.equal("00ab00", entropy.hex(3))
      assert.equal("", entropy.hex(0))
    end)

    it("makes a version 4 UUID", function ()
      given = "\xff"
      assert.equal("ffffffff-ffff-4fff-bfff-ffffffffffff", entropy.uuid())
      given = "\0"
      assert.equal("00000000-0000-4000-8000-000000000000", entropy.uuid())
    end)

    it("makes numbers below 1", function ()
      given = "\xff"
      assert.is_true(entropy.number() < 1)
      assert.is_true(entropy.number() > 0.9999999)
      given = "\0"
      assert.equal(0, entropy.number())
    end)
  end)
end)
