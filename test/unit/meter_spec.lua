-- What a deployment has cost: rtl's meter, from its ledger, against the world's own bill.
local bill = require "rtl.rehearse.aws.bill"
local events = require "rtl.recipe.events"
local fs = require "rtl.fs"
local meter = require "rtl.plan.meter"
local played = require "test.support.played"

-- A world in which f(world, play) runs; play(recipe, settings, options, words) → exit, text,
-- outcome, and what the world's bill was when the last lines were told.
local function in_world(spec, f)
  local state = assert(fs.temp_dir "rtl-meter-")
  local world, restore = played.enter(spec, state)
  local function play(name, settings, options, words)
    local bus, lines = events.bus(), {}
    local bill_then
    bus:add(function (event)
      if event.type == "text" then bill_then = select(3, pcall(bill.lines, world)) end
      for _, line in ipairs(event.type == "text" and event.lines or {}) do
        lines[#lines + 1] = line
      end
    end)
    if options then options.yes = true end
    local exit, outcome = played.run("recipes/" .. name .. ".lua", false, options, settings,
      { words = words, bus = bus })
    return exit, table.concat(lines, "\n"), outcome, bill_then
  end
  local ok, failure = xpcall(f, debug.traceback, world, play)
  restore()
  fs.remove_tree(state)
  if not ok then error(failure, 0) end
end

local function cents(usd) return ("%.2f"):format(usd) end

local function billed(world)
  local _, sum = bill.lines(world)
  return sum
end

-- The sum that a line "WORD … $1.23 …" of the text tells.
local function told(text, word)
  return text:match(word .. "[^\n$]*%$([%d.]+)")
end

describe("the cost so far", function ()
  for _, spec in ipairs { "calm", "calm,seed=2", "calm,seed=7", "tcp-fallback,seed=4",
    "no-capacity" } do
    it("is the world's own bill to the cent: " .. spec, function ()
      in_world(spec, function (world, play)
        local exit, text, _, sum = play "deploy"
        assert.is_string(exit)
        assert.equal(cents(sum), told(text, "\nCost"))
        local moved = spec == "no-capacity"
        assert.equal(moved, world.aws.pulled["us-east-2"].across > 20) -- to a zone without NAT
        world:advance(world.now_us + 5000 * 1000000)
        exit, text, _, sum = play "report"
        assert.equal("done", exit)
        assert.equal(cents(sum), told(text, "Receipt  "))
        exit, text = play "teardown"
        assert.equal("done", exit)
        assert.is_true(math.abs(billed(world) - tonumber(told(text, "Receipt  "))) < 0.01)
        assert.truthy(text:find("in all", 1, true))
      end)
    end)
  end

  it("has the hold until its nodes start", function ()
    in_world("calm", function (world, play)
      local exit, text, _, sum = play("deploy", { probe = "true" })
      assert.equal("done", exit)
      assert.equal(cents(sum), told(text, "\nCost"))
      text = select(2, play "teardown")
      assert.is_true(math.abs(billed(world) - tonumber(told(text, "Receipt  "))) < 0.01)
    end)
  end)

  it("goes on where a run stopped", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", nil, { to = "cluster" })))
      world:advance(world.now_us + 7200 * 1000000)
      local exit, text, _, sum = play "deploy"
      assert.equal("done", exit)
      assert.equal(cents(sum), told(text, "\nCost"))
    end)
  end)

  it("has the hours begun of a NAT gateway in full, and the region's prices", function ()
    in_world("calm", function (world, play)
      local settings = { region = "eu-central-1" }
      assert.equal("done", (play("deploy", settings)))
      world:advance(world.now_us + 3 * 3600 * 1000000)
      local exit, text, _, sum = play("report", settings)
      assert.equal("done", exit)
      assert.equal(cents(sum), told(text, "Receipt  "))
      assert.truthy(text:find("NAT gateway +stands +4%.00 h × %$0%.05625"))
      assert.truthy(text:find("prices: AWS price list of eu-central-1", 1, true))
    end)
  end)

  it("knows when a lease ended what nobody saw end", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { down_after = "2h" })))
      world:advance(world.now_us + 48 * 3600 * 1000000)
      local _, text = play "report"
      local sum = tonumber(told(text, "Receipt  "))
      assert.truthy(text:find("about $", 1, true))
      assert.truthy(text:find(" in all", 1, true)) -- nothing of it goes on
      assert.is_true(sum >= billed(world) - 0.01 and sum < billed(world) * 1.1,
        ("%s for %s"):format(sum, billed(world)))
      assert.equal("done", (play "teardown"))
      _, text = play "report"
      assert.is_true(math.abs(tonumber(told(text, "Receipt  ")) - sum) < 0.02)
    end)
  end)

  it("names what has no price, and does not take it for free", function ()
    in_world("calm", function (world, play)
      local settings = { gpu_type = "p5e.48xlarge" } -- on no price list: it is sold in blocks
      local named = "no price known:%s+node_group/gpu%-workers"
      local exit, text = play("deploy", settings)
      assert.equal("done", exit)
      assert.matches("\nCost [^\n]*" .. named, text)
      text = select(2, play("report", settings))
      assert.matches("Receipt [^\n]*" .. named, text)
      assert.matches("2 × p5e.48xlarge +stands +no price known +%?\n", text)
      local ok, message = pcall(bill.lines, world)
      assert.is_false(ok)
      assert.matches("no On%-Demand price of p5e.48xlarge", message)
    end)
  end)

  it("begins anew when everything was gone, and says what came before", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play "deploy"))
      assert.equal("done", (play "teardown"))
      local first = billed(world)
      local exit, text, _, sum = play "deploy"
      assert.equal("done", exit)
      assert.equal(cents(sum - first), told(text, "\nCost"))
      text = select(2, play "report")
      assert.is_true(math.abs(first - tonumber(told(text, "before it: "))) < 0.01)
    end)
  end)

  it("counts in what --max-cost leaves", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play "deploy"))
      world:advance(world.now_us + 3600 * 1000000)
      local spent = billed(world)
      local settings = { max_cost = cents(spent + 10) }
      assert.equal("done", (play("deploy", settings)))
      world:advance(world.now_us + 48 * 3600 * 1000000)
      assert.same({}, bill.running(world))
      assert.is_true(billed(world) <= spent + 10 and billed(world) > spent + 8)
    end)
  end)

  it("is not known where nothing was made from here", function ()
    in_world("calm", function (_, play)
      local exit, _, failure = play "report"
      assert.is_nil(exit)
      assert.equal("RTL-COST-001", failure.code)
    end)
  end)
end)

describe("the meter", function ()
  local function at(minute)
    return ("2026-12-01T%02d:%02d:00Z"):format(10 + minute // 60, minute % 60)
  end
  local NOW = require("rtl.clock").parse_iso(at(120))

  local function life(key, cost, from, till)
    local records = { { event = "intent", key = key, at = at(from), cost = cost },
      { event = "outcome", key = key, at = at(from), ok = true, id = key .. "-id" } }
    if till then records[3] = { event = "deleted", key = key, at = at(till) } end
    return records
  end

  local function receipt(...)
    local all = {}
    for _, records in ipairs { ... } do table.move(records, 1, #records, #all + 1, all) end
    return meter.receipt(all, { now = NOW })
  end

  local function seconds(minute) return require("rtl.clock").parse_iso(at(minute)) end

  it("counts what stood, and nothing that was refused or only intended", function ()
    local got = receipt(life("a/x", { hourly = 2.0, what = "x" }, 0, 90),
      { { event = "intent", key = "b/y", at = at(0), cost = { hourly = 100.0 } },
        { event = "outcome", key = "b/y", at = at(1), ok = false },
        { event = "intent", key = "c/z", at = at(0), cost = { hourly = 100.0 } } })
    assert.equal(3.0, got.total)
    assert.equal(1, #got.lines)
    assert.equal(0.0, got.hourly)
  end)

  it("counts each life of a thing", function ()
    local got = receipt(life("a/x", { hourly = 1.0 }, 0, 30), life("b/y", { hourly = 0.0 }, 0),
      life("a/x", { hourly = 1.0 }, 60))
    assert.equal(1.5, got.total)
  end)

  it("bills a hold for what no instance in it is billed for", function ()
    local hold = { hourly = 0.0, hold = 8.0, units = 2 }
    local got = receipt(life("capacity_reservation/gpu", hold, 0),
      life("node_group/gpu", { hourly = 8.0, units = 2 }, 30),
      { { event = "used", key = "node_group/gpu", at = at(60), spans = {
        { id = "i-1", since = seconds(60), within = "capacity_reservation/gpu-id" },
        { id = "i-2", since = seconds(90), within = "capacity_reservation/gpu-id" } } } })
    -- Two hours of two are four; 1 h and 0.5 h of them were instances.
    assert.equal(2.5 * 4.0, got.lines[1].amount)
    assert.equal(1.5 * 4.0, got.lines[2].amount)
  end)

  it("bills a hold in full though what started in it goes on after its end", function ()
    local hold = { hourly = 0.0, hold = 8.0, units = 2 }
    local got = receipt(life("capacity_reservation/gpu", hold, 0, 90),
      life("node_group/gpu", { hourly = 8.0, units = 2 }, 30),
      { { event = "used", key = "node_group/gpu", at = at(60), spans = {
        { id = "i-1", since = seconds(60), within = "capacity_reservation/gpu-id" },
        { id = "i-2", since = seconds(90), within = "capacity_reservation/gpu-id" } } } })
    -- One and a half hours of two are three; half an hour of them was an instance.
    assert.equal(2.5 * 4.0, got.lines[1].amount)
    assert.equal(1.5 * 4.0, got.lines[2].amount)
  end)

  it("ends what another took the place of, unseen", function ()
    local got = receipt(life("a/x", { hourly = 1.0 }, 0),
      { { event = "intent", key = "a/x", at = at(60), cost = { hourly = 1.0 }, adopted = true },
        { event = "outcome", key = "a/x", at = at(60), ok = true, id = "other" } })
    assert.equal(2.0, got.total)
    assert.is_true(got.about)
  end)

  it("says where it guesses: units that nobody looked at, pulls that nobody measured", function ()
    local got = receipt(life("node_group/gpu", { hourly = 8.0, units = 2 }, 60))
    assert.is_true(got.about)
    assert.equal(8.0, got.total)
    got = receipt(life("ray_cluster/r", { once = 1.5 }, 60))
    assert.is_true(got.about)
    assert.equal(1.5, got.total)
    got = receipt(life("ray_cluster/r", { once = 1.5, each = 0.25 }, 60),
      { { event = "used", key = "ray_cluster/r", at = at(61),
          counted = { { id = "n i", count = 5 } } },
        { event = "used", key = "ray_cluster/r", at = at(62), counted = { { id = "n i", count = 5 },
          { id = "m i", count = 2 } } } })
    assert.is_false(got.about)
    assert.equal(1.75, got.total)
  end)
end)
