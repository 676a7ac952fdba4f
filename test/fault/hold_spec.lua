-- A hold costs its full price while nothing runs in it. However a run ends before its nodes start,
-- none is left over: stopped by the user at any time, killed at any call. The next run or a
-- teardown finds what a killed one held.
--
-- RTL_TEST_SLOW=1 (`make fault`) kills at every call until the hold is grouped, at three moments.

local err = require "rtl.err"
local failure = require "rtl.recipe.failure"
local fs = require "rtl.fs"
local load_file = require "rtl.recipe.load"
local events = require "rtl.recipe.events"
local phases = require "rtl.recipe.phases"
local played = require "test.support.played"
local program = require "test.support.program"
local recipe = require "rtl.recipe.recipe"
local run_object = require "rtl.recipe.run"
local task = require "rtl.task"

local SLOW = os.getenv("RTL_TEST_SLOW")
local DEPLOY, TEARDOWN = "recipes/deploy.lua", "recipes/teardown.lua"

local function active(world)
  local list = {}
  for _, name in ipairs(world.aws.region_names) do
    for _, item in ipairs(world.aws.regions[name].reservations:all()) do
      if item.State == "active" then list[#list + 1] = item end
    end
  end
  return list
end

local function deploy_run(to)
  local r = recipe.open(assert(load_file.find(DEPLOY)))
  local values = assert(r.set:resolve { options = { probe = "true" } })
  local run = run_object.new { recipe = r, values = values, options = { yes = true, to = to },
    words = {}, bus = events.bus() }
  run.confirm = function () end
  return run
end

-- A deployment with a hold that is stopped `seconds` after its begin, as Ctrl-C stops one. Returns
-- the error that says so, and what was noted.
local function stopped_after(seconds, to)
  local run, notes = deploy_run(to), {}
  run.bus:add(function (event)
    if event.type == "note" then notes[#notes + 1] = event.text end
  end)
  local ok, result, problem = failure.call(task.run, function ()
    return task.deadline(seconds, function ()
      local _ <close> = setmetatable({}, { __close = function () run:let_go() end })
      return phases.run(run)
    end)
  end)
  run:close()
  return ok and problem or result, table.concat(notes, "\n")
end

local function stops(problem)
  return err.is(problem) and (problem.code == "RTL-TASK-001" or problem.code == "RTL-TASK-002")
end

describe("a hold", function ()
  local state
  before_each(function () state = assert(fs.temp_dir "rtl-hold-") end)
  after_each(function () fs.remove_tree(state) end)

  for _, seconds in ipairs { 20, 60, 400 } do
    it(("is given back when the run is stopped after %d s"):format(seconds), function ()
      local world, leave = played.enter("calm", state)
      local ok, message = pcall(function ()
        local problem, notes = stopped_after(seconds, "cluster")
        assert.is_true(stops(problem), tostring(problem))
        assert.same({}, active(world))
        assert.matches("is given back: idle it would cost $9.20/h", notes, 1, true)
        assert.equal("done", played.run(DEPLOY, false, { yes = true, to = "cluster" },
          { probe = "true" }))
        assert.equal(1, #active(world))
        assert.equal("done", played.run(TEARDOWN))
        world:advance(world.now_us + 120 * 1000000)
        assert.same({}, played.list(world))
      end)
      leave()
      if not ok then error(message, 0) end
    end)
  end

  -- The second at which the node group is there and no machine of it in the hold.
  local function idle_group_at(world)
    local at
    for seconds = 600, 900, 5 do
      world:after(seconds, function ()
        local cluster = world.aws.regions["us-east-2"].clusters:all()[1]
        local group = cluster and cluster.nodegroups:first(function (one)
          return one.nodegroupName:find "^gpu"
        end)
        local held = active(world)[1]
        if group and held and held.AvailableInstanceCount == 2 then at = at or seconds end
      end)
    end
    stopped_after(901, "cluster")
    return assert(at, "there is no such second")
  end

  it("stays when its node group is being made", function ()
    local world, leave = played.enter("calm", state)
    local ok, at = pcall(idle_group_at, world)
    leave()
    assert(ok, at)
    local again = assert(fs.temp_dir "rtl-hold-")
    world, leave = played.enter("calm", again)
    local ran, message = pcall(function ()
      assert.is_true(stops(stopped_after(at, "cluster")))
      assert.equal(1, #active(world))
      assert.equal("done", (played.run(TEARDOWN)))
      assert.same({}, active(world))
    end)
    leave()
    fs.remove_tree(again)
    if not ran then error(message, 0) end
  end)

  it("stays when its nodes run in it", function ()
    local world, leave = played.enter("calm", state)
    local ok, message = pcall(function ()
      assert.is_true(stops(stopped_after(1000)))
      assert.equal(1, #active(world))
      assert.equal(0, active(world)[1].AvailableInstanceCount)
    end)
    leave()
    if not ok then error(message, 0) end
  end)

  it("that ended before its nodes started is not needed, and not made again for them", function ()
    local world, leave = played.enter("calm", state)
    local ok, message = pcall(function ()
      world:after(400, function () active(world)[1].State = "expired" end)
      for _ = 1, 2 do
        assert.equal("done", (played.run(DEPLOY, false, { yes = true, to = "cluster" },
          { probe = "true" })))
        assert.same({}, active(world))
      end
      local running = world.aws.regions["us-east-2"].instances:all(function (one)
        return one.InstanceType == "g6.12xlarge" and one.State.Name == "running"
      end)
      assert.equal(2, #running)
      assert.is_nil(running[1].CapacityReservationId)
      assert.equal("done", (played.run(TEARDOWN)))
    end)
    leave()
    if not ok then error(message, 0) end
  end)

  local function play(spec, where, ...)
    return program.rtl({ "--rehearse" .. (spec and "=" .. spec or ""), ... }, { state = where })
  end

  local function said(ran) return (ran.stdout .. ran.stderr):sub(-1200) end

  -- The number of the call that makes the hold, and of the last one that puts it into its group.
  local function calls_of_hold()
    local ran = play(nil, state, "recipes/capacity.lua", "--probe")
    assert.equal(0, ran.status, said(ran))
    local call = played.world(state).calls
    return call - 1, call + 4
  end

  it("of a killed run is found by the next one, and by a teardown", function ()
    local first, last = calls_of_hold()
    local died, wrong = 0, {}
    for call = SLOW and 1 or first, last do
      for _, moment in ipairs(SLOW and { "before", "after", "answered" } or { "after" }) do
        local where = assert(fs.temp_dir "rtl-hold-")
        local spec = ("killed,call=%d,when=%s"):format(call, moment)
        local ran = play(spec, where, DEPLOY, "--probe", "--to", "cluster")
        assert.equal(9, ran.signal, said(ran))
        died = died + 1
        local held = #active(played.world(where))
        local other = assert(fs.temp_dir "rtl-hold-")
        played.fork(where, other)
        ran = play(nil, where, DEPLOY, "--probe", "--to", "cluster")
        local now = active(played.world(where))
        local one = ran.status == 0 and #now == 1 and now[1].AvailableInstanceCount == 0
        local ended = play(nil, other, TEARDOWN)
        local rest = played.inventory(other)
        if not one or ended.status ~= 0 or #rest > 0 or held > 1 then
          wrong[#wrong + 1] = ("%s: %d held then, %d now, %d left\n%s"):format(spec, held, #now,
            #rest, said(ran.status ~= 0 and ran or ended))
        end
        fs.remove_tree(where)
        fs.remove_tree(other)
      end
    end
    print(("hold: died at %d points, %d wrong"):format(died, #wrong))
    assert.equal(0, #wrong, table.concat(wrong, "\n"))
  end)

  -- The first region has nothing: lock, lease, refused hold, what is taken away again, the next.
  it("is in one region only, wherever the run died between two", function ()
    local words = { DEPLOY, "-r", "us-east-2,us-west-2", "--down-after", "6h", "--to", "cluster" }
    local died, wrong = 0, {}
    for call = 2, 44, SLOW and 1 or 9 do
      for _, moment in ipairs(SLOW and { "before", "after", "answered" } or { "after" }) do
        local where = assert(fs.temp_dir "rtl-hold-")
        local spec = ("empty,call=%d,region=us-east-2,when=%s"):format(call, moment)
        local ran = play(spec, where, table.unpack(words))
        assert.equal(9, ran.signal, said(ran))
        died = died + 1
        ran = play(nil, where, table.unpack(words))
        local now = active(played.world(where))
        local ended = play(nil, where, TEARDOWN, "-r", "us-east-2,us-west-2")
        local rest = played.inventory(where)
        if ran.status ~= 0 or #now ~= 1 or ended.status ~= 0 or #rest > 0 then
          wrong[#wrong + 1] = ("%s: %d held, %d left\n%s"):format(spec, #now, #rest,
            said(ran.status ~= 0 and ran or ended))
        end
        fs.remove_tree(where)
      end
    end
    print(("regions: died at %d points, %d wrong"):format(died, #wrong))
    assert.equal(0, #wrong, table.concat(wrong, "\n"))
  end)
end)
