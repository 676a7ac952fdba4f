-- The process dies at a mutating call (really, by SIGKILL): before it left, after it took effect,
-- or once it was answered. The same command goes on, teardown ends empty, and the world holds no
-- orphan. RTL_KILLED=all plays every call in every way instead of a sample.
local fs = require "rtl.fs"
local journal = require "rtl.rehearse.journal"
local program = require "test.support.program"
local rehearse = require "rtl.rehearse"
local rehearse_aws = require "rtl.rehearse.aws"

local SAMPLE = { { 1, "before" }, { 2, "after" }, { 9, "answered" }, { 17, "after" },
                 { 33, "before" }, { 52, "after" }, { 64, "answered" } }

local function every_one(last)
  local list = {}
  for call = 1, last do
    for _, when in ipairs { "before", "after", "answered" } do list[#list + 1] = { call, when } end
  end
  return list
end

describe("a deploy that is killed", function ()
  local state
  before_each(function () state = fs.temp_dir "rtl-killed-" end)
  after_each(function () fs.remove_tree(state) end)

  local function play(spec, recipe)
    return program.rtl({ "--rehearse" .. spec, recipe }, { state = state })
  end

  local function world()
    return assert(rehearse.recall(journal.path(state)))
  end

  local function vpcs(w)
    local own = 0
    for _, vpc in ipairs(w.aws.regions["us-east-2"].vpcs:all()) do
      if not vpc.native then own = own + 1 end
    end
    return own
  end

  local cases = os.getenv "RTL_KILLED" == "all" and every_one(70) or SAMPLE
  for _, case in ipairs(cases) do
    local call, when = case[1], case[2]
    local title = ("%s call %d goes on to its verdict and leaves nothing behind"):format(when, call)
    it(title, function ()
      local spec = ("=killed,call=%d,when=%s"):format(call, when)
      local died = play(spec, "recipes/deploy.lua")
      assert.equal(9, died.signal, died.stdout .. died.stderr)
      assert.is_true(world().was_killed)
      local ran = play(spec, "recipes/deploy.lua")
      assert.equal(0, ran.status, ran.stdout .. ran.stderr)
      assert.matches("Verdict  EFA", ran.stdout, 1, true)
      assert.equal(1, vpcs(world()))
      local gone = play("", "recipes/teardown.lua")
      assert.equal(0, gone.status, gone.stdout .. gone.stderr)
      assert.same({}, rehearse_aws.standing(world()))
    end)
  end
end)
