-- The process is killed at each call that changes something, in a deploy, in a deploy with other
-- settings on what stands, and in a teardown, at three moments: before the call takes effect, after
-- its effect but before its answer, and after its answer. The same command again must end as if
-- nothing had happened: same verdict, same cloud. The teardown then leaves nothing.
--
-- RTL_TEST_SLOW=1 (`make fault`) takes every call and moment; the quick form each 11th of them.

local fs = require "rtl.fs"
local journal = require "rtl.rehearse.journal"
local played = require "test.support.played"
local program = require "test.support.program"
local task = require "rtl.task"

local SLOW = os.getenv("RTL_TEST_SLOW")
local AT_ONCE = 2
local MOMENTS = { "before", "after", "answered" }
local DEPLOY, TEARDOWN = { "recipes/deploy.lua" }, { "recipes/teardown.lua" }
-- Other settings: nodes that change, pods that are replaced, things that come and go.
local CHANGE = { "recipes/deploy.lua", "--gpu-disk", "300", "--namespace", "other", "--bucket",
  "b-rtl-1" }

local function folder() return assert(fs.temp_dir("rtl-death-")) end

local function play(state, spec, words)
  return program.rtl({ "--rehearse" .. (spec and "=" .. spec or ""), table.unpack(words) },
    { state = state })
end

-- Calls × moments, or some of them spread over all. Nothing follows the answer of a last call.
local function cases(first, last)
  local all, some = {}, {}
  for call = first, last do
    for _, moment in ipairs(MOMENTS) do all[#all + 1] = { call = call, moment = moment } end
  end
  all[#all] = nil
  if SLOW then return all end
  for i = 1, #all, 11 do some[#some + 1] = all[i] end
  return some
end

local function spec_of(case) return ("killed,call=%d,when=%s"):format(case.call, case.moment) end

local function tail(ran)
  local text = (ran.stdout or "") .. (ran.stderr or "")
  return text:sub(-1500)
end

-- Raises, with a text, where a run is not as it must be.
local function ends_well(ran, what)
  if ran.status ~= 0 then
    error(("%s: status %s signal %s\n%s"):format(what, tostring(ran.status), tostring(ran.signal),
      tail(ran)), 0)
  end
end

local function must_die(ran, what)
  if ran.signal ~= 9 then error(what .. ": was not killed\n" .. tail(ran), 0) end
end

local function must_be_equal(wanted, have, what)
  local text = played.difference(wanted, have)
  if text then error(what .. "\n  " .. text, 0) end
end

-- Runs all cases, some at once; returns the texts of what went wrong.
local function run_all(list, f)
  local wrong = {}
  task.run(function ()
    task.map(list, function (case)
      local state = folder()
      local ok, message = pcall(f, state, case)
      fs.remove_tree(state)
      if not ok then
        wrong[#wrong + 1] = ("%s: %s"):format(spec_of(case), tostring(message))
        if SLOW then print(wrong[#wrong]) end
      end
    end, AT_ONCE)
  end)
  table.sort(wrong)
  return wrong
end

local function verdict_of(ran) return ran.stdout:match("Verdict  [^\n]*") end

describe("a process that is killed", function ()
  local stood, wanted, verdict, deploy_calls, all_calls

  setup(function ()
    stood = folder()
    local ran = play(stood, nil, DEPLOY)
    assert(ran.status == 0, tail(ran))
    verdict, wanted = verdict_of(ran), played.inventory(stood)
    deploy_calls = played.world(stood).calls
    local gone = folder()
    played.fork(stood, gone)
    ran = play(gone, nil, TEARDOWN)
    assert(ran.status == 0, tail(ran))
    all_calls = played.world(gone).calls
    assert.same({}, played.inventory(gone))
    fs.remove_tree(gone)
  end)

  teardown(function () fs.remove_tree(stood) end)

  -- What the ledger has of a deploy that died at a call.
  local function ledger_after(call, moment)
    local state = folder()
    must_die(play(state, spec_of { call = call, moment = moment }, DEPLOY), moment)
    local found = program.shell("cat $(find " .. state .. " -name ledger.ndjson)")
    fs.remove_tree(state)
    local events = {}
    for event, key in found.stdout:gmatch('"event":"(%a+)".-"key":"([^"]+)"') do
      events[#events + 1] = event .. " " .. key
    end
    return events
  end

  it("after an answer has not written it down", function ()
    for _, call in ipairs { 3, 6, 12, 30 } do
      local before, after, answered = ledger_after(call, "before"), ledger_after(call, "after"),
        ledger_after(call, "answered")
      assert.is_true(#answered > 0)
      assert.same(before, answered)
      assert.same(after, answered)
    end
  end)

  it("in a deploy goes on to the same cloud and verdict, and leaves nothing", function ()
    local list = cases(1, deploy_calls)
    local wrong = run_all(list, function (state, case)
      must_die(play(state, spec_of(case), DEPLOY), "deploy")
      local ran = play(state, spec_of(case), DEPLOY)
      ends_well(ran, "the deploy again")
      assert(verdict_of(ran) == verdict, verdict_of(ran))
      must_be_equal(wanted, played.inventory(state), "another cloud")
      ends_well(play(state, nil, TEARDOWN), "teardown")
      must_be_equal({}, played.inventory(state), "left")
    end)
    print(("deploy: %d calls, died at %d points, %d wrong"):format(deploy_calls, #list, #wrong))
    assert.equal(0, #wrong, table.concat(wrong, "\n"))
  end)

  it("in a change of what stands goes on to the same cloud, and leaves nothing", function ()
    local changed = folder()
    played.fork(stood, changed)
    ends_well(play(changed, nil, CHANGE), "the change")
    local calls, other = played.world(changed).calls, played.inventory(changed)
    fs.remove_tree(changed)
    local list = cases(deploy_calls + 1, calls)
    local wrong = run_all(list, function (state, case)
      played.fork(stood, state, spec_of(case))
      must_die(play(state, spec_of(case), CHANGE), "change")
      ends_well(play(state, spec_of(case), CHANGE), "the change again")
      must_be_equal(other, played.inventory(state), "another cloud")
      ends_well(play(state, nil, { TEARDOWN[1], "--purge" }), "teardown")
      must_be_equal({}, played.inventory(state), "left")
    end)
    print(("change: %d calls, died at %d points, %d wrong"):format(calls - deploy_calls, #list,
      #wrong))
    assert.equal(0, #wrong, table.concat(wrong, "\n"))
  end)

  it("in a teardown goes on until nothing is left", function ()
    local list = cases(deploy_calls + 1, all_calls)
    local wrong = run_all(list, function (state, case)
      played.fork(stood, state, spec_of(case))
      must_die(play(state, spec_of(case), TEARDOWN), "teardown")
      ends_well(play(state, spec_of(case), TEARDOWN), "the teardown again")
      must_be_equal({}, played.inventory(state), "left")
    end)
    print(("teardown: %d calls, died at %d points, %d wrong"):format(all_calls - deploy_calls,
      #list, #wrong))
    assert.equal(0, #wrong, table.concat(wrong, "\n"))
  end)

  -- Every life ends a few calls after it began, until one comes through. Nine calls are enough for
  -- the longest way between two points that a next life goes on from: the lock is taken from the
  -- dead, old counter readers go, new ones come and go, the job is submitted.
  local function lives(state, words, every)
    local count = 0
    while true do
      local standing = fs.exists(journal.path(state))
      local call = (standing and played.world(state).calls or 0) + every
      count = count + 1
      assert(count < 400, "no end")
      local spec = ("killed,call=%d,when=after"):format(call)
      if standing then played.again(state, spec) end
      local ran = play(state, spec, words)
      if ran.signal ~= 9 then
        ends_well(ran, words[1])
        return count
      end
    end
  end

  it("again and again gets through all the same", function ()
    local state, every = folder(), 9
    local made = lives(state, DEPLOY, every)
    must_be_equal(wanted, played.inventory(state), "another cloud")
    local gone = lives(state, TEARDOWN, every)
    must_be_equal({}, played.inventory(state), "left")
    fs.remove_tree(state)
    print(("killed each %d calls: %d lives to deploy, %d to tear down"):format(every, made, gone))
  end)
end)
