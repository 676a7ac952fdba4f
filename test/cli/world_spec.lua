-- The simulated world as a person meets it: it stands from command to command, one at a time, and
-- says what it is.
local fs = require "rtl.fs"
local journal = require "rtl.rehearse.journal"
local program = require "test.support.program"
local rehearse = require "rtl.rehearse"
local rehearse_aws = require "rtl.rehearse.aws"

describe("the simulated world", function ()
  local state
  before_each(function () state = fs.temp_dir "rtl-world-" end)
  after_each(function () fs.remove_tree(state) end)

  local function play(option, ...)
    return program.rtl({ option, ... }, { state = state })
  end

  local function recall(name)
    return assert(rehearse.recall(journal.path(state, name)))
  end

  it("is not changed by a plan: no call but reads reaches it", function ()
    local ran = play("--rehearse", "recipes/deploy.lua", "--plan")
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    local world = recall()
    assert.equal(0, world.calls)
    assert.same({}, rehearse_aws.standing(world))
    assert.equal(0, play("--rehearse", "recipes/deploy.lua").status)
    local calls = recall().calls
    assert.is_true(calls > 50)
    assert.equal(0, play("--rehearse", "recipes/deploy.lua", "--plan").status)
    assert.equal(calls, recall().calls)
  end)

  it("stays the one that stands, until it is removed", function ()
    assert.equal(0, play("--rehearse=calm,seed=9", "recipes/deploy.lua", "--to", "cluster").status)
    local ran = play("--rehearse=tcp-fallback", "recipes/deploy.lua")
    assert.equal(2, ran.status, ran.stdout .. ran.stderr)
    assert.matches("RTL-WORLD-004", ran.stderr, 1, true)
    assert.matches("rtl --rehearse recipes/teardown.lua", ran.stderr, 1, true)
    assert.equal(9, recall().seed)
    assert.equal(0, play("--rehearse", "recipes/teardown.lua").status)
    assert.same({}, rehearse_aws.standing(recall()))
    assert.equal(3, play("--rehearse=tcp-fallback", "recipes/deploy.lua").status)
    assert.equal("tcp-fallback", recall().scenario)
  end)

  it("says how each deployment in it is removed, whatever its name and region", function ()
    assert.equal(0, play("--rehearse", "recipes/deploy.lua", "--to", "cluster").status)
    local WEST = { "--name", "a", "--region", "us-west-2" }
    assert.equal(0, play("--rehearse", "recipes/deploy.lua", "--to", "cluster",
      table.unpack(WEST)).status)
    local function told()
      local ran = play("--rehearse=tcp-fallback", "recipes/deploy.lua")
      assert.equal(2, ran.status, ran.stdout .. ran.stderr)
      return (ran.stderr:gsub("%s+", " "))
    end
    assert.matches("rtl --rehearse recipes/teardown.lua --name a --region us-west-2, then rtl "
      .. "--rehearse recipes/teardown.lua --name ray-train --region us-east-2 removes", told(), 1,
      true)
    assert.equal(0, play("--rehearse", "recipes/teardown.lua", table.unpack(WEST)).status)
    assert.matches("try rtl --rehearse recipes/teardown.lua --name ray-train --region us-east-2 "
      .. "removes", told(), 1, true)
  end)

  it("has room for another one under a name of its own", function ()
    assert.equal(0, play("--rehearse", "recipes/deploy.lua", "--to", "cluster").status)
    local ran = play("--rehearse=no-quota,name=other", "recipes/deploy.lua", "--name", "other")
    assert.equal(5, ran.status, ran.stdout .. ran.stderr)
    assert.equal("no-quota", recall("other").scenario)
    assert.equal("calm", recall().scenario)
  end)

  it("lets in one process at a time", function ()
    local path = journal.path(state)
    assert(fs.mkdirs(fs.dirname(path)))
    local lock <close> = assert(fs.lock(path .. ".lock"))
    local ran = play("--rehearse", "recipes/status.lua")
    assert.not_equal(0, ran.status)
    assert.matches("held by process", ran.stderr, 1, true)
    lock:close()
  end)

  it("tells a misspelt scenario and the ones that there are", function ()
    local ran = play("--rehearse=no-capcity", "recipes/deploy.lua")
    assert.equal(2, ran.status)
    assert.matches("did you mean 'no-capacity'", ran.stderr, 1, true)
    assert.matches("rtl --rehearse=? lists them", ran.stderr, 1, true)
  end)

  it("says in its last screen what no counterpart confirms", function ()
    local ran = play("--rehearse", "recipes/deploy.lua")
    assert.matches("unconfirmed", ran.stdout, 1, true)
    assert.matches("its script is played, not run", ran.stdout, 1, true)
  end)
end)
