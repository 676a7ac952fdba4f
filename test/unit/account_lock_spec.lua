-- The account's lock: an SSM parameter, also where answers are lost.
local account_lock = require "rtl.kinds.account_lock"
local clock = require "rtl.clock"
local err = require "rtl.err"
local json = require "rtl.native.json"
local scripted_aws = require "test.support.scripted_aws"
local task = require "rtl.task"

-- A parameter store with one parameter; `lose` says of each put whether its answer is lost
-- ("before" or "after" its effect).
local function store(lose)
  local it = { puts = 0 }
  it.answers = {
    ["ssm:put_parameter"] = function (params)
      it.puts = it.puts + 1
      local lost = lose and lose[it.puts]
      local gone = err.new { code = "RTL-NET-008", message = "lost", sent = true }
      if lost == "before" then return nil, gone end
      if it.value and not params.Overwrite then
        return scripted_aws.refuse("ParameterAlreadyExists", "there already")
      end
      it.value, it.version = params.Value, (it.version or 0) + 1
      if lost == "after" then return nil, gone end
      return { Version = it.version }
    end,
    ["ssm:get_parameter"] = function ()
      if not it.value then return scripted_aws.refuse("ParameterNotFound", "none") end
      return { Parameter = { Value = it.value, Version = it.version } }
    end,
    ["ssm:delete_parameter"] = function ()
      it.value = nil
      return {}
    end,
  }
  return it
end

local function take(it, options)
  local ctx = scripted_aws.context(it.answers, { run_id = "run-2" })
  return task.run(account_lock.take, ctx, options)
end

local function held_by(it, run, expires)
  it.value, it.version = json.encode { run = run, host = "h",
    expires = clock.iso(clock.utc() + expires) }, 7
end

local function holder(it)
  return it.value and json.decode(it.value).run
end

describe("the account's lock", function ()
  it("is taken where there is none, and given back", function ()
    local it = store()
    local lock = assert(take(it))
    assert.equal("run-2", holder(it))
    assert.is_true(lock:close())
    assert.is_nil(holder(it))
  end)

  it("is taken once more where the put was lost on its way", function ()
    local it = store { "before", "before" }
    assert(take(it))
    assert.equal("run-2", holder(it))
    assert.equal(3, it.puts)
  end)

  it("is ours where only the answer was lost", function ()
    local it = store { "after" }
    assert(take(it))
    assert.equal(1, it.puts)
  end)

  it("names who holds it", function ()
    local it = store()
    held_by(it, "run-1", 600)
    local _, failure = take(it)
    assert.equal("RTL-PLAN-020", failure.code)
    assert.matches("run%-1 on h", failure.message)
    assert.equal("run-1", holder(it))
  end)

  it("is taken from a dead run and from one whose time is over, though the answer is lost",
    function ()
    for _, case in ipairs { { 600, { dead = { ["run-1"] = true } } }, { -1, {} } } do
      local it = store { nil, "after" }
      held_by(it, "run-1", case[1])
      assert(take(it, case[2]))
      assert.equal("run-2", holder(it))
      assert.equal(8, it.version)
    end
  end)

  it("lasts as long as a run may take, and what it waits for beside", function ()
    for waits, seconds in pairs { [0] = 4 * 3600, [30 * 86400] = 30 * 86400 + 4 * 3600 } do
      local it = store()
      local before = clock.utc()
      assert(take(it, { waits = waits }))
      local ends = clock.parse_iso(json.decode(it.value).expires)
      assert.is_true(ends >= math.floor(before + seconds) and ends <= clock.utc() + seconds)
    end
  end)
end)
