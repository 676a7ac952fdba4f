-- What the pages of recipes say of their exit codes is what they end with. Those of deploy and of a
-- teardown that leaves something are tested where such runs are played.

local fs = require "rtl.fs"
local program = require "test.support.program"

local DEPLOY, TEARDOWN, VERIFY = "recipes/deploy.lua", "recipes/teardown.lua", "recipes/verify.lua"
local NCCL_LOG, VECTORS = "recipes/nccl_log.lua", "test/vectors/nccl/"

describe("the exit code", function ()
  local state

  before_each(function () state = assert(fs.temp_dir "rtl-exit-") end)
  after_each(function () fs.remove_tree(state) end)

  local function ends(code, ...)
    local ran = program.rtl({ ... }, { state = state })
    assert.equal(code, ran.status, table.concat({ ... }, " ") .. "\n" .. ran.stdout .. ran.stderr)
    return ran
  end

  local function rehearsed(code, ...)
    return ends(code, "--rehearse", ...)
  end

  it("of verify is 3 as long as there is no job, and 0 for EFA", function ()
    local ran = rehearsed(3, VERIFY)
    assert.matches("RTL-STEP-009", ran.stderr, 1, true)
    rehearsed(3, VERIFY, "--transport", "any")
    rehearsed(0, DEPLOY)
    rehearsed(0, VERIFY)
  end)

  it("of verify is 3 for another transport, unless any will do", function ()
    ends(3, "--rehearse=tcp-fallback", DEPLOY)
    rehearsed(3, VERIFY)
    rehearsed(3, VERIFY, "--proof", "log")
    rehearsed(0, VERIFY, "--transport", "any")
  end)

  it("of verify is 1 for a job that failed before there was a transport to judge", function ()
    ends(1, "--rehearse=failing-job", DEPLOY)
    rehearsed(1, VERIFY)
    rehearsed(1, VERIFY, "--transport", "any")
  end)

  it("of nccl_log is 0 for one node, 3 for anything but EFA, 2 without a log to read", function ()
    ends(0, NCCL_LOG, VECTORS .. "a-one-rank.log")
    ends(3, NCCL_LOG, VECTORS .. "a-default-4/rank0.log")
    ends(0, NCCL_LOG, VECTORS .. "a-default-4/rank0.log", "--transport", "any")
    ends(3, NCCL_LOG, "/dev/null")
    ends(2, NCCL_LOG)
    ends(2, NCCL_LOG, fs.join(state, "none.log"))
  end)

  it("of a plan is 4 with --exit-code where there are changes, and of no use without", function ()
    rehearsed(0, TEARDOWN, "--plan", "--exit-code")
    rehearsed(4, DEPLOY, "--plan", "--exit-code")
    rehearsed(0, DEPLOY, "--plan")
    rehearsed(0, DEPLOY, "--to", "cluster")
    rehearsed(0, DEPLOY, "--to", "cluster", "--plan", "--exit-code")
    rehearsed(4, TEARDOWN, "--plan", "--exit-code")
    rehearsed(2, TEARDOWN, "--exit-code")
  end)

  it("of what there is nothing to do with is 5, and 2 where the words are wrong", function ()
    rehearsed(5, "recipes/lease.lua")
    rehearsed(2, "recipes/lease.lua", "prolong")
    rehearsed(5, "recipes/report.lua")
    rehearsed(0, "recipes/capacity.lua", "--release")
    ends(5, "--rehearse=no-quota", "recipes/capacity.lua")
    rehearsed(5, DEPLOY)
  end)
end)
