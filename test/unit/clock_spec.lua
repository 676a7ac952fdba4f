local clock = require "rtl.clock"
local native = require "rtl.native.clock"

describe("clock", function ()
  it("goes forward only", function ()
    local before = native.mono_ns()
    for _ = 1, 1000 do
      local now = native.mono_ns()
      assert.is_true(now >= before)
      before = now
    end
    assert.equal("integer", math.type(before))
  end)

  it("agrees with the machine's idea of UTC", function ()
    local before, now, after = os.time(), clock.utc(), os.time()
    assert.is_true(before <= now and now < after + 1, ("%d %f %d"):format(before, now, after))
  end)

  it("is corrected for skew, for UTC only", function ()
    local mono, utc = clock.mono(), clock.utc()
    assert.equal(0, clock.correct(3600))
    assert.equal(3600, clock.correction())
    assert.is_true(clock.utc() - utc >= 3600)
    assert.is_true(clock.mono() - mono < 3600)
    assert.equal(3600, clock.correct(0))
  end)

  it("can be replaced, and tells whether it is virtual", function ()
    local at = 5
    local former = clock.use {
      mono = function () return at end,
      utc = function () return 1e9 + at end,
      advance = function (to) at = to end,
    }
    local seen = { clock.is_virtual(), clock.advance(9), clock.mono(), clock.utc() }
    clock.use(former)
    assert.same({ true, true, 9, 1e9 + 9 }, seen)
    assert.is_false(clock.is_virtual())
    assert.is_false(clock.advance(9))
  end)

  -- seconds, ISO, AWS; checked with GNU date
  local DATES = {
    { 0, "1970-01-01T00:00:00Z", "19700101T000000Z" },
    { 951868799, "2000-02-29T23:59:59Z", "20000229T235959Z" },
    { 951868800, "2000-03-01T00:00:00Z", "20000301T000000Z" },
    { 1735689599, "2024-12-31T23:59:59Z", "20241231T235959Z" },
    { 1796119200, "2026-12-01T10:00:00Z", "20261201T100000Z" },
    { 4107542400, "2100-03-01T00:00:00Z", "21000301T000000Z" },
    { -1, "1969-12-31T23:59:59Z", "19691231T235959Z" },
    { 253402300799, "9999-12-31T23:59:59Z", "99991231T235959Z" },
  }

  it("writes and reads dates", function ()
    for _, row in ipairs(DATES) do
      assert.equal(row[2], clock.iso(row[1]))
      assert.equal(row[3], clock.amz(row[1]))
      assert.equal(row[1], clock.parse_iso(row[2]))
      assert.equal(row[1], clock.parse_iso(row[3]))
    end
  end)

  it("cuts fractions when it writes", function ()
    assert.equal("1970-01-01T00:00:00Z", clock.iso(0.999))
    assert.equal("1969-12-31T23:59:59Z", clock.iso(-0.001))
  end)

  it("writes every day of four centuries as it reads it", function ()
    for day = -146097, 146097, 37 do
      assert.equal(day * 86400, clock.parse_iso(clock.iso(day * 86400)))
    end
  end)

  it("reads fractions and offsets", function ()
    assert.equal(1796119200.25, clock.parse_iso("2026-12-01T10:00:00.25Z"))
    assert.equal(1796112000, clock.parse_iso("2026-12-01T10:00:00+02:00"))
    assert.equal(1796119200, clock.parse_iso("2026-12-01T04:30:00-0530"))
    assert.equal(1796119200.123456789, clock.parse_iso("20261201 100000.123456789z"))
    assert.equal(1796119260, clock.parse_iso("2026-12-01t10:00:60+0000"))
    assert.equal("integer", math.type(clock.parse_iso("2026-12-01T10:00:00Z")))
    assert.equal("float", math.type(clock.parse_iso("2026-12-01T10:00:00.0Z")))
  end)

  it("gives nil for what is no date", function ()
    for _, text in ipairs {
      "", "x", "2026-12-01", "2026-12-01T10:00:00", "2026-13-01T10:00:00Z", "2026-02-29T10:00:00Z",
      "2026-04-31T10:00:00Z", "2026-00-01T10:00:00Z", "2026-12-00T10:00:00Z",
      "1900-02-29T10:00:00Z", "2026-12-01T10:00:00Z\0", "2026-12-01T10:00:0012Z",
      "2026-12-01T24:00:00Z",
      "2026-12-01T10:60:00Z", "2026-12-01T10:00:61Z", "2026-12-01T10:00:00.Z",
      "2026-12-01T10:00:00+2",
      "2026-12-01T10:00:00Zx", " 2026-12-01T10:00:00Z",
    } do
      assert.is_nil(clock.parse_iso(text), text)
    end
  end)
end)
