local array = require "rtl.array"
local clock = require "rtl.clock"
local err = require "rtl.err"
local events = require "rtl.recipe.events"
local json = require "rtl.native.json"
local secret = require "rtl.native.secret"
local show = require "rtl.recipe.show"
local text = require "rtl.recipe.text"

describe("events", function ()
  local former, now

  before_each(function ()
    now = 0
    former = clock.use { mono = function () return now end,
      utc = function () return 1764583200 + now end, advance = function (to) now = to end }
  end)
  after_each(function () clock.use(former) end)

  local function face(options)
    local out = {}
    options.write = function (part) out[#out + 1] = part end
    local f, bus = show.open(options.json, options), events.bus("run-1")
    bus:add(function (event) f:sink(event) end)
    return bus, function () return table.concat(out) end, f
  end

  it("are numbered, dated and sent to every sink; a failing one is dropped", function ()
    local bus, seen = events.bus("r"), {}
    bus:add(function () error("closed", 0) end)
    bus:add(function (event) seen[#seen + 1] = event end)
    bus:emit { type = "note", text = "a" }
    now = 61
    bus:emit { type = "note", text = "b" }
    assert.same({ 1, 2 }, { seen[1].seq, seen[2].seq })
    assert.equal("2025-12-01T10:01:01Z", seen[2].time)
    assert.same({ "closed" }, bus.lost)
  end)

  it("are one line of JSON each, with errors as their fields and no secrets", function ()
    local bus, out = face { json = true }
    bus:emit { type = "failure", list = array {}, err = err.new { code = "X", message = "a\nb",
      cause = err.new { code = "Y", message = "under it", status = 403 } } }
    bus:emit { type = "note", text = "t", key = secret.new("hunter2hunter2") }
    bus:emit { type = "text", lines = { "for people" } }
    local lines = {}
    for line in out():gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
    assert.equal(2, #lines)
    local first = assert(json.decode(lines[1]))
    assert.same({ "X", "Y", 403 }, { first.err.code, first.err.cause.code, first.err.cause.status })
    assert.is_true(array.is(first.list))
    assert.is_nil(lines[2]:find("hunter2", 1, true))
  end)

  it("are the same bytes for the same events", function ()
    local function once()
      now = 0
      local bus, out = face { json = true }
      bus:emit { type = "plan", counts = { create = 1, none = 2, change = 0, delete = 4 },
        z = 1, y = { b = 1, a = 2 } }
      return out()
    end
    local first = once()
    for _ = 1, 20 do assert.equal(first, once()) end
  end)

  local function resource(state, fields)
    local event = { type = "resource", kind = "vpc", name = "main", state = state }
    for key, value in pairs(fields or {}) do event[key] = value end
    return event
  end

  it("are plain lines with the time where there is no terminal", function ()
    local bus, out = face { terminal = false }
    bus:emit(resource("start", { action = "create", usual_s = 600 }))
    now = 72
    bus:emit(resource("done", { action = "create", elapsed_s = 72, id = "vpc-1" }))
    bus:emit(resource("done", { action = "none" }))
    assert.matches("^10:00:00   · vpc main +making +usually about 10 min\n"
      .. "10:01:12   ✓ vpc main +made +1m12s  vpc%-1\n$", out())
    assert.is_nil(out():find("\27", 1, true))
  end)

  it("are live lines below the lasting ones on a terminal", function ()
    local bus, out, f = face { terminal = true, columns = 100, colour = false }
    bus:emit(resource("start", { action = "create", usual_s = 60 }))
    bus:emit(resource("waiting", { detail = "pending" }))
    assert.matches("making.*of about 60 s  pending", out())
    bus:emit(resource("done", { action = "create", elapsed_s = 3 }))
    f:close()
    assert.matches("\27[1A\27[J  ✓ vpc main", out(), 1, true)
    local lasting = out():gsub("\27%[2m.-\27%[0m\n", ""):gsub("\27%[%d*%a", "")
    assert.matches("^  ✓ vpc main +made +3s\n$", lasting)
  end)

  it("wait on a terminal until a question is answered", function ()
    local bus, out, f = face { terminal = true, columns = 100, colour = false }
    bus:emit(resource("start", { action = "create", usual_s = 60 }))
    f:pause()
    local before = out()
    assert.matches("\27[1A\27[J", before, #before - 8, true) -- nothing in flight is left to see
    bus:emit(resource("done", { action = "create", elapsed_s = 3 }))
    bus:emit { type = "note", text = "meanwhile" }
    assert.equal(before, out())
    f:resume()
    assert.matches("^  ✓ vpc main .*meanwhile", out():sub(#before + 1))
    f:resume()
    bus:emit { type = "note", text = "later" }
    assert.matches("later\n$", out())
  end)

  it("fold many lines in flight into a count", function ()
    local bus, out = face { terminal = true, columns = 100, colour = false }
    for i = 1, 20 do
      bus:emit { type = "resource", kind = "pod", name = "p" .. i, state = "start",
        action = "create" }
    end
    assert.matches("… and 8 more", out(), 1, true)
  end)
end)

describe("texts for people", function ()
  it("take what steers a terminal out of foreign text", function ()
    assert.equal("at http://x:1 now\tgo",
      text.plain("at \27[1m\27[32mhttp://x:1\27[39m\27[22m now\tgo\7\r"))
    assert.equal("ab", text.plain("a\27]0;title\7b"))
    assert.equal("ab", text.plain("a\27]8;;http://x\27\\b"))
    assert.equal("é ✓", text.plain("é ✓"))
  end)

  it("are short and exact", function ()
    assert.equal("7s", text.elapsed(7.2))
    assert.equal("3m12s", text.elapsed(192))
    assert.equal("1h04m", text.elapsed(3840))
    assert.equal("23 min", text.about(1380))
    assert.equal("2 h 10 min", text.about(7800))
    assert.equal("$9.55", text.money(9.549))
    assert.equal("$0.05", text.money(0.045))
    assert.equal("$9.20/h", text.rate(9.2032))
    assert.equal("$0.045/h", text.rate(0.045))
    assert.equal("$0.005/h", text.rate(0.005))
    assert.equal("1.0 GiB", text.bytes(1 << 30))
    assert.equal("1 thing", text.count(1, "thing"))
  end)

  it("count characters, not bytes", function ()
    assert.equal("äöü…", text.cut("äöüäöü", 4))
    assert.equal("ä  ", text.pad("ä", 3))
    assert.same({ "ä   b", "cc  d" }, text.columns { { "ä", "b" }, { "cc", "d" } })
    assert.same({ "one two", "three" }, text.wrap("one two three", 8))
  end)

  it("fold what is too long at a blank, or else inside a name, and lose nothing", function ()
    assert.same({ "  short" }, text.fold("  short", 20))
    assert.same({ "  a  b  ccc", "      dddd ee" }, text.fold("  a  b  ccc dddd ee", 13))
    assert.same({ "ää bb", "    c" }, text.fold("ää bb c", 5))
    assert.same({ "group/", "workers-", "az2" }, text.fold("group/workers-az2", 8, 0))
    assert.same({ "unbreakable" }, text.fold("unbreakable", 4))
    local line = "ec2:DeleteVpc: vpc-0123 is used by eni-1, eni-2 and sg-3/x_y.z at 10:00"
    for width = 12, 80 do
      local lines = text.fold(line, width, 2)
      local joined = {}
      for i, part in ipairs(lines) do
        assert.is_true(text.width(part) <= width, part)
        joined[i] = part:gsub("^ +", "")
      end
      assert.equal((line:gsub(" ", "")), (table.concat(joined):gsub(" ", "")))
    end
  end)

  it("narrow the widest columns to a screen, and keep each row together", function ()
    local rows = { { "capacity_reservation/gpu-workers", "the idle hold", "1h" },
      { "vpc/a", "none", "2h" } }
    assert.same({ "capacity_reservation/gpu-workers  the idle hold  1h",
      "vpc/a                             none           2h" }, text.columns(rows))
    assert.same({ "  capacity_reservation/  the idle hold  1h", "  gpu-workers",
      "  vpc/a                  none           2h" }, text.columns(rows, "  ", 45))
  end)
end)
