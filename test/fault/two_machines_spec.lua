-- Two machines at one deployment: each has a ledger of its own, and the account is all that they
-- share.

local events = require "rtl.recipe.events"
local failure = require "rtl.recipe.failure"
local fs = require "rtl.fs"
local load_file = require "rtl.recipe.load"
local phases = require "rtl.recipe.phases"
local played = require "test.support.played"
local process = require "rtl.process"
local recipe = require "rtl.recipe.recipe"
local run_object = require "rtl.recipe.run"
local task = require "rtl.task"

local DEPLOY, TEARDOWN = "recipes/deploy.lua", "recipes/teardown.lua"

describe("of two machines at one deployment", function ()
  local world, restore, folders, here

  before_each(function ()
    folders = { a = assert(fs.temp_dir "rtl-two-a-"), b = assert(fs.temp_dir "rtl-two-b-") }
    world, restore = played.enter("calm", folders.a)
    local inner = process.use {}
    process.use(setmetatable({ getenv = function (name)
      return name == "RTL_STATE" and folders[here] or inner.getenv(name)
    end }, { __index = inner }))
  end)
  after_each(function ()
    restore()
    for _, folder in pairs(folders) do fs.remove_tree(folder) end
  end)

  -- Runs a recipe as machine `name`, which has only its own state folder. `more`: to (the last
  -- step), asked (called where its person is asked), told (called with each event), dies (it gives
  -- nothing back), dead_run (a setting). Returns the name of the exit, or nil and the error.
  local function on(name, path, more)
    local before, given = here, more or {}
    here = name
    local r = recipe.open(assert(load_file.find(path)))
    local run = run_object.new { recipe = r, words = {},
      values = assert(r.set:resolve { options = { dead_run = given.dead_run } }),
      options = { yes = true, to = given.to }, bus = events.bus() }
    if given.told then run.bus:add(given.told) end
    run.confirm = function ()
      if given.asked then given.asked() end
      return true
    end
    local ok, result = failure.call(function ()
      local _ <close> = setmetatable({}, { __close = function ()
        if not given.dies then run:let_go() end
        run:close()
      end })
      if #r.steps > 0 then return phases.run(run) end
      r.action(run)
      return run.outcome.exit or "done"
    end)
    here = before
    if ok then return result end
    return nil, result
  end

  -- The VPCs of the deployment: the region's default one is the account's.
  local function networks()
    local some = 0
    for _, vpc in ipairs(world.aws.regions["us-east-2"].vpcs:all()) do
      if not vpc.IsDefault then some = some + 1 end
    end
    return some
  end

  it("the second is refused while the first works, and hears which run it is", function ()
    local exit, refused
    local first = task.run(on, "a", DEPLOY, { told = function (event)
      if refused or event.type ~= "resource" or event.state ~= "done" then return end
      exit, refused = on("b", DEPLOY)
    end })
    assert.equal("done", first)
    assert.is_nil(exit)
    assert.equal("RTL-PLAN-020", refused.code)
    assert.equal("refused", refused.exit)
    assert.matches("run %d+t%d+z%-%x+ on [%w.-]+ holds", refused.message)
    assert.equal(1, networks())
    assert.equal("done", (task.run(on, "b", TEARDOWN)))
    assert.same({}, played.list(world))
  end)

  local function refused_as_old(exit, refused)
    assert.is_nil(exit)
    assert.equal("RTL-PLAN-026", refused.code, tostring(refused))
    assert.equal("refused", refused.exit)
  end

  it("the second does not make again what the first made while it was asked", function ()
    assert(task.run(on, "b", DEPLOY, { to = "cluster" })) -- what its ledger has of that is gone
    assert(task.run(on, "b", TEARDOWN))
    refused_as_old(task.run(on, "b", DEPLOY, { to = "cluster", asked = function ()
      assert(on("a", DEPLOY, { to = "cluster" }))
    end }))
    assert.equal(1, networks())
    assert.equal("done", (task.run(on, "b", DEPLOY, { to = "cluster" })))
    assert.equal(1, networks())
  end)

  it("the second builds nothing on what the first removed while it was asked", function ()
    assert(task.run(on, "a", DEPLOY, { to = "cluster" }))
    refused_as_old(task.run(on, "b", DEPLOY, { asked = function ()
      assert(on("a", TEARDOWN))
    end }))
    assert.same({}, played.list(world))
  end)

  it("the second removes nothing that the first made while it was asked", function ()
    assert(task.run(on, "a", DEPLOY, { to = "cluster" }))
    refused_as_old(task.run(on, "b", TEARDOWN, { asked = function ()
      assert(on("a", TEARDOWN))
      assert(on("a", DEPLOY, { to = "cluster" }))
    end }))
    assert.equal(1, networks())
    assert.equal("done", (task.run(on, "b", TEARDOWN)))
    assert.same({}, played.list(world))
  end)

  it("the second gives back what a dead first holds, with nothing else to do, too", function ()
    local function locks() return #world.aws.regions["us-east-2"].parameters:all() end
    assert(task.run(on, "a", DEPLOY, { to = "cluster", dies = true }))
    local before = locks()
    assert.equal("done", (task.run(on, "b", DEPLOY, { to = "cluster" })))
    assert.equal(before, locks())
    local _, refused = task.run(on, "b", TEARDOWN)
    local run = refused.hint:match("%-%-dead%-run (%S+)$")
    assert.equal("done", (task.run(on, "b", DEPLOY, { to = "cluster", dead_run = run })))
    assert.equal(before - 1, locks())
  end)

  -- A laptop that died holds the lock for hours, while what it made bills.
  it("the second takes the lock of a first that it is told is dead, and of no other", function ()
    assert(task.run(on, "a", DEPLOY, { to = "cluster", dies = true }))
    local exit, refused = task.run(on, "b", TEARDOWN)
    assert.is_nil(exit)
    local run = refused.hint:match("%-%-dead%-run (%S+)$")
    exit, refused = task.run(on, "b", TEARDOWN, { dead_run = run .. "0" })
    assert.is_nil(exit)
    assert.equal("RTL-PLAN-020", refused.code)
    assert.equal("done", (task.run(on, "b", TEARDOWN, { dead_run = run })))
    assert.same({}, played.list(world))
  end)
end)
