local fs = require "rtl.fs"
local graph = require "rtl.plan.graph"
local ledger = require "rtl.plan.ledger"
local plan = require "rtl.plan"
local task = require "rtl.task"
local toy = require "test.support.toy"

describe("plan and apply", function ()
  local system, kinds, restore, dir

  before_each(function ()
    restore = toy.virtual_clock()
    system = toy.system()
    kinds = toy.kinds(system)
    dir = fs.temp_dir("rtl-plan-")
  end)
  after_each(function ()
    restore()
    fs.remove_tree(dir)
  end)

  -- A house with two rooms and a second house; `change` edits the fields.
  local function declare(change)
    change = change or {}
    local g = graph.new()
    local main = g:declare(kinds.house "main" { size = change.size or 3, given = change.given })
    g:declare(kinds.room "a" { parent = main.id, size = 1 })
    if not change.no_b then
      g:declare(kinds.room "b" { parent = change.b_in or main.id, text = "in " .. main.id })
    end
    g:declare(kinds.house "other" { size = 1, after = g:resource("room", "a") })
    return g
  end

  local function with_ledger(f, run)
    return task.run(function ()
      local l <close> = assert(ledger.open(dir, run or "run-1"))
      return f(toy.context(l, run))
    end)
  end

  local function deploy(change, run)
    return with_ledger(function (ctx)
      local p = plan.read(declare(change), ctx, { kinds = kinds.all })
      local result, failure, rest = plan.apply(p, ctx)
      return result, failure, rest, p, ctx
    end, run)
  end

  local function actions(p)
    local list = {}
    for _, row in ipairs(p.changes) do list[row.resource.key] = row.action end
    return list
  end

  it("creates everything, then plans nothing to do", function ()
    local result = assert(deploy())
    assert.equal(4, #result.done)
    assert.same({ ["house:main"] = 1, ["room:a"] = 1, ["room:b"] = 1, ["house:other"] = 1 },
      toy.inventory(system))
    local _, _, _, p = deploy(nil, "run-2")
    assert.same({ none = 4, delete = 0 }, p.counts)
    assert.same({}, p.problems)
  end)

  it("reads without changing: what does not exist is to be created, inside it nothing is read",
    function ()
      local p = with_ledger(function (ctx) return plan.read(declare(), ctx) end)
      assert.same({ create = 4, delete = 0 }, p.counts)
      assert.same({}, toy.inventory(system))
      assert.equal(2, system.calls)
      assert.same({ ["room/b"] = "text: known once house/main.id is made" },
        { ["room/b"] = p:change("room/b").reasons[2] })
    end)

  it("reads in parallel", function ()
    local g = graph.new()
    for i = 1, 10 do g:declare(kinds.house("h" .. i) { size = i }) end
    task.run(function () plan.read(g, toy.context(), { limit = 4 }) end)
    assert.equal(4, system.most)
  end)

  it("creates in parallel along the graph", function ()
    assert(deploy())
    local place = {}
    for i, what in ipairs(system.log) do place[what] = place[what] or i end
    assert.is_true(place["create room/a"] > place["wait house/main"])
    assert.is_true(place["create house/other"] > place["wait room/a"])
    assert.is_true(math.abs(place["create room/a"] - place["create room/b"]) == 1)
  end)

  it("changes what can be changed and says what and why", function ()
    assert(deploy())
    local _, _, _, p = deploy({ size = 5 }, "run-2")
    assert.equal("change", actions(p)["house/main"])
    assert.equal("size: 3 → 5", p:change("house/main").reasons[1])
    local sizes = {}
    for _, thing in pairs(system.things) do sizes[thing.name] = thing.size end
    assert.equal(5, sizes.main)
  end)

  it("replaces what can't be changed", function ()
    assert(deploy())
    local _, _, _, p = deploy({ b_in = "house-9" }, "run-2")
    local row = p:change("room/b")
    assert.equal("replace", row.action)
    assert.equal("parent can't be changed on a living one", row.reasons[1])
    assert.equal(1, toy.inventory(system)["room:b"])
  end)

  it("deletes what no step declares any more", function ()
    assert(deploy())
    local _, _, _, p = deploy({ no_b = true }, "run-2")
    assert.equal(1, p.counts.delete)
    assert.equal("room/b", p.surplus[1].key)
    assert.is_nil(toy.inventory(system)["room:b"])
    assert.equal(1, toy.inventory(system)["room:a"])
  end)

  local function theirs(size)
    system.things["house-x"] = { id = "house-x", kind = "house", name = "theirs", size = size,
      born = 0 }
  end

  it("uses and checks what is given, and never deletes it", function ()
    theirs(3)
    local result, _, _, p = deploy { given = "house-x" }
    assert.is_truthy(result)
    assert.equal("given", actions(p)["house/main"])
    assert.is_nil(toy.inventory(system)["house:main"])
    local outcome = with_ledger(function (ctx)
      return plan.teardown.run(plan.teardown.plan(ctx, kinds.all), ctx)
    end)
    assert.same({}, outcome.left)
    assert.same({ ["house:theirs"] = 1 }, toy.inventory(system))
  end)

  it("uses what others made under the name, refuses it where it does not fit, keeps it", function ()
    theirs(3)
    system.things["house-x"].name = "main"
    local read = kinds.house.read
    kinds.house.read = function (...)
      local live, failure = read(...)
      if live and live.id == "house-x" then live.ours = false end
      return live, failure
    end
    local result, _, _, p = deploy()
    assert.is_truthy(result)
    assert.equal("none", actions(p)["house/main"])
    assert.matches("made by others", p:change("house/main").reasons[1])
    system.things["house-x"].size = 1
    local none, failure = deploy(nil, "run-2")
    assert.is_nil(none)
    assert.equal("RTL-PLAN-007", failure.code)
    assert.matches("house%-x is not ours and does not fit: size: 1 → 3", failure.message)
    system.things["house-x"].deployment = "another"
    with_ledger(function (ctx)
      return plan.teardown.run(plan.teardown.plan(ctx, kinds.all), ctx)
    end)
    assert.same({ ["house:main"] = 1 }, toy.inventory(system))
  end)

  it("refuses what is given and absent, or does not fit, before anything is made", function ()
    local result, failure = deploy { given = "house-9" }
    assert.is_nil(result)
    assert.equal("RTL-PLAN-006", failure.code)
    assert.equal("refused", failure.exit)
    theirs(1)
    result, failure = deploy { given = "house-x" }
    assert.is_nil(result)
    assert.equal("RTL-PLAN-007", failure.code)
    assert.matches("size: 1 → 3", failure.message)
    assert.same({ ["house:theirs"] = 1 }, toy.inventory(system))
  end)

  it("goes on beside a failure, not below it, and reports the first", function ()
    system.fail["create room/a"] = { code = "Denied" }
    local result, failure, rest = deploy()
    assert.is_nil(result)
    assert.equal("Denied", failure.code)
    assert.same({ "house/other" }, rest.blocked)
    assert.same({ ["house:main"] = 1, ["room:b"] = 1 }, toy.inventory(system))
    assert(deploy(nil, "run-2"))
    assert.equal(1, toy.inventory(system)["room:a"])
  end)

  it("clears away what another declaration can cure, and says so", function ()
    local wait = kinds.room.ready.wait
    kinds.room.ready.wait = function (ctx, res, f, live)
      if res.name == "a" then
        return nil, require("rtl.err").new { code = "RTL-CAP-003", message = "full", replan = true }
      end
      return wait(ctx, res, f, live)
    end
    local result, failure = deploy()
    assert.is_nil(result)
    assert.is_true(failure.replan)
    assert.equal("room/a", failure.resource)
    assert.is_nil(toy.inventory(system)["room:a"])
    assert.equal(1, toy.inventory(system)["room:b"])
  end)

  it("applies what the filter selects and uses the rest where it exists", function ()
    local function only(name)
      return with_ledger(function (ctx)
        local p = plan.read(declare(), ctx)
        return plan.apply(p, ctx, { filter = function (res) return res.name == name end })
      end)
    end
    local result, failure = only("a")
    assert.is_nil(result)
    assert.equal("RTL-PLAN-024", failure.code)
    assert.matches("house/main is not there", failure.message, 1, true)
    assert.same({}, toy.inventory(system))
    assert(only("main"))
    assert(only("a"))
    assert.same({ ["house:main"] = 1, ["room:a"] = 1 }, toy.inventory(system))
  end)

  it("settles an unknown outcome by looking, not by a second create", function ()
    system.lag = 20
    system.fail["create house/main"] = { code = "RTL-NET-008", sent = true, effect = true }
    assert(deploy())
    assert.equal(1, toy.inventory(system)["house:main"])
  end)

  it("makes up for what a create of unknown outcome left undone", function ()
    system.fail["create house/main"] = { code = "RTL-NET-008", sent = true, effect = true,
      half = true }
    local result = assert(deploy())
    assert.equal(1, toy.inventory(system)["house:main"])
    assert.equal(3, result.outputs["house/main"].size)
    local plan_again = with_ledger(function (ctx) return plan.read(declare(), ctx) end)
    assert.equal(0, (plan_again.counts.change or 0) + (plan_again.counts.create or 0))
  end)

  it("creates again when the first one came to nothing", function ()
    system.fail["create house/main"] = { code = "RTL-NET-008", sent = true }
    system.fail["create room/a"] = { code = "RTL-NET-008", sent = true }
    assert(deploy())
    assert.equal(1, toy.inventory(system)["house:main"])
    assert.equal(1, toy.inventory(system)["room:a"])
  end)

  it("knows the longest chain and the counts", function ()
    local p = with_ledger(function (ctx) return plan.read(declare(), ctx) end)
    assert.equal(180, p.critical_path_s)
    assert.same({ "house/main", "room/a", "house/other" }, p.critical_path)
  end)

  it("tells of each resource from start to end", function ()
    local _, _, _, _, ctx = deploy()
    local states = {}
    for _, event in ipairs(ctx.events) do
      if event.name == "a" and event.kind == "room" then states[#states + 1] = event.state end
    end
    assert.same({ "start", "done" }, states)
    assert.equal(60, ctx.events[1].usual_s)
  end)

  -- Death at every call and every ledger write, before and after its effect; then the same command
  -- again, or a teardown.
  local EXPECTED = { ["house:main"] = 1, ["room:a"] = 1, ["room:b"] = 1, ["house:other"] = 1 }

  local function fresh()
    fs.remove_tree(dir)
    system = toy.system { lag = 15 }
    kinds = toy.kinds(system)
  end

  local function deploy_dying(number, when)
    fresh()
    system.die, system.when = number, when
    local ok, failure = pcall(deploy)
    system.die = nil
    if not ok then assert.equal(toy.DEATH, failure) end
    return ok
  end

  local function teardown()
    return with_ledger(function (ctx)
      return plan.teardown.run(plan.teardown.plan(ctx, kinds.all), ctx)
    end, "run-3")
  end

  for _, when in ipairs { "before", "after" } do
    it("resumes after a death " .. when .. " every call", function ()
      local number, finished = 0, false
      while not finished do
        number = number + 1
        finished = deploy_dying(number, when)
        assert(deploy(nil, "run-2"))
        assert.same(EXPECTED, toy.inventory(system))
      end
      assert.equal(11, number)
    end)

    it("tears down after a death " .. when .. " every call", function ()
      local number, finished = 0, false
      while not finished do
        number = number + 1
        finished = deploy_dying(number, when)
        task.run(task.sleep, 60)
        assert.same({}, teardown().left)
        assert.same({}, toy.inventory(system))
      end
    end)
  end

  it("resumes after a death at every ledger write", function ()
    local writes = 0
    local function dying_context(l, number)
      local append = l.append
      l.append = function (self, record)
        writes = writes + 1
        if writes == number then error(toy.DEATH, 0) end
        return append(self, record)
      end
      return toy.context(l, "run-1")
    end
    local number, finished = 0, false
    while not finished do
      fresh()
      number, writes = number + 1, 0
      finished = pcall(task.run, function ()
        local l <close> = assert(ledger.open(dir, "run-1"))
        local ctx = dying_context(l, number)
        assert(plan.apply(plan.read(declare(), ctx, { kinds = kinds.all }), ctx))
      end)
      assert(deploy(nil, "run-2"))
      assert.same(EXPECTED, toy.inventory(system))
    end
    assert.equal(13, number)
  end)
end)
