-- The teardown, with a ledger and without: what it finds, in which order, and what it keeps.
local plan = require "rtl.plan"
local task = require "rtl.task"
local toy = require "test.support.toy"

describe("teardown", function ()
  local system, kinds, restore

  before_each(function ()
    restore = toy.virtual_clock()
    system = toy.system()
    kinds = toy.kinds(system)
  end)
  after_each(function () restore() end)

  local function put(kind_name, name, parent, deployment)
    local id = kind_name .. "-" .. name
    system.things[id] = { id = id, kind = kind_name, name = name, size = 1, born = 0,
      parent = parent, deployment = deployment or "toy" }
    return id
  end

  local function run(options, prepare)
    return task.run(function ()
      local ctx = toy.context()
      local t = plan.teardown.plan(ctx, kinds.all, options)
      if prepare then prepare() end
      return plan.teardown.run(t, ctx), t
    end)
  end

  it("works without a ledger, in reverse order of kinds", function ()
    put("room", "a", put("house", "main"))
    local outcome = run()
    assert.same({}, outcome.left)
    assert.same({}, system.things)
    local place = {}
    for i, what in ipairs(system.log) do place[what] = i end
    assert.is_true(place["delete room/a"] < place["delete house/main"])
  end)

  it("says how long it usually takes, one after the other where it must be", function ()
    put("room", "a", put("house", "main"))
    put("room", "b", "house-main")
    for kind, seconds in pairs { room = 40, house = 100 } do
      kinds[kind].ready.delete_usual = seconds
    end
    task.run(function ()
      assert.equal(140, plan.teardown.plan(toy.context(), kinds.all).usual_s)
    end)
  end)

  it("makes no call for what goes with its holder", function ()
    local house = put("house", "main")
    put("paper", "a", house)
    put("room", "a", house)
    local outcome = run()
    assert.same({}, outcome.left)
    assert.equal(3, #outcome.removed)
    for _, what in ipairs(system.log) do assert.not_equal("delete paper/a", what) end
  end)

  it("leaves what would go with a holder that stays", function ()
    put("paper", "a", put("house", "main"))
    system.fail["delete house/main"] = { code = "Stuck", stays = true }
    local outcome = run()
    assert.equal(2, #outcome.left)
  end)

  it("lets go with its holder what does not go by itself, and is kept by its like only", function ()
    local paper, tried = kinds.all[4], 0
    paper.holder, paper.carrier = paper.carrier, nil
    put("paper", "a", put("house", "main"))
    system.fail["delete paper/a"] = { code = "Stuck", stays = true }
    local outcome = run()
    assert.same({ {}, 2 }, { outcome.left, #outcome.removed })
    assert.same({}, toy.inventory(system))
    put("paper", "a", put("house", "main"))
    system.fail["delete house/main"] = { code = "Stuck", stays = true }
    outcome = run()
    assert.equal(2, #outcome.left)
    for _, what in ipairs(system.log) do
      if what == "delete house/main" then tried = tried + 1 end
    end
    assert.equal(2, tried)
  end)

  it("says before anything is deleted that others stand on something of ours", function ()
    put("house", "main")
    kinds.house.users = function () return { "a lodger" } end
    task.run(function ()
      local t = plan.teardown.plan(toy.context(), kinds.all)
      assert.equal("RTL-PLAN-016", t.problem.code)
      assert.matches("used by a lodger", t.problem.message)
    end)
    kinds.house.users = function () return {} end
    task.run(function ()
      assert.is_nil(plan.teardown.plan(toy.context(), kinds.all).problem)
    end)
  end)

  it("leaves neighbours alone", function ()
    put("house", "theirs", nil, "another")
    put("house", "main")
    run()
    assert.same({ ["house:theirs"] = 1 }, toy.inventory(system))
  end)

  it("keeps data and lists it, unless it is purged", function ()
    put("data", "disk")
    local outcome = run()
    assert.equal("data/disk", outcome.kept[1].key)
    assert.equal(0.5, outcome.kept[1].hourly)
    assert.same({}, outcome.left)
    outcome = run { purge = true }
    assert.same({}, outcome.kept)
    assert.same({}, system.things)
  end)

  it("lists what can't be deleted, with its price and reason, and does the rest", function ()
    put("room", "a", put("house", "main"))
    put("house", "other")
    system.fail["delete room/a"] = { code = "Stuck", stays = true }
    local outcome = run()
    local left = {}
    for _, row in ipairs(outcome.left) do left[row.key] = row end
    assert.matches("Stuck", left["room/a"].reason)
    assert.equal(0.5, left["room/a"].hourly)
    assert.matches("is in it", left["house/main"].reason)
    assert.is_nil(left["house/other"])
    assert.same({ ["house:main"] = 1, ["room:a"] = 1 }, toy.inventory(system))
  end)

  it("deletes what appeared meanwhile, and looks once more", function ()
    put("house", "main")
    local outcome = run(nil, function () put("room", "late") end)
    assert.same({}, outcome.left)
    assert.equal(2, #outcome.removed)
    assert.same({}, system.things)
  end)

  it("leaves, with its reason, what appeared meanwhile and can't be deleted", function ()
    put("house", "main")
    system.fail["delete room/late"] = { code = "Stuck", stays = true }
    local outcome = run(nil, function () put("room", "late") end)
    assert.equal("room/late", outcome.left[1].key)
    assert.matches("Stuck", outcome.left[1].reason)
  end)

  it("does not run after what always comes back", function ()
    put("room", "hydra")
    local inner = kinds.room.delete
    kinds.room.delete = function (ctx, item)
      local gone, failure = inner(ctx, item)
      put("room", "hydra")
      return gone, failure
    end
    local outcome = run()
    assert.equal("still there after its deletion", outcome.left[1].reason)
    assert.equal(1, #outcome.left)
  end)

  it("deletes nothing twice and counts what is gone as deleted", function ()
    put("house", "main")
    local outcome = run(nil, function () system.things = {} end)
    assert.same({}, outcome.left)
    outcome = run()
    assert.same({}, outcome.removed)
  end)
end)
