-- Each weather of the rehearsed cloud from outside, held against what then really stands in it; and
-- what the options of a run do and leave alone.
local failure = require "rtl.recipe.failure"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local played = require "test.support.played"
local program = require "test.support.program"

local DEPLOY, TEARDOWN = "recipes/deploy.lua", "recipes/teardown.lua"

-- NDJSON: each line an object with type, run, growing number and time.
local function events_of(stdout)
  assert.matches("\n$", stdout)
  local list = {}
  for line in stdout:gmatch("([^\n]*)\n") do
    local event = assert(json.decode(line))
    assert.is_string(event.type)
    assert.is_string(event.run)
    assert.is_true(event.seq > (#list > 0 and list[#list].seq or 0))
    assert.matches("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$", event.time)
    list[#list + 1] = event
  end
  return list
end

local function of_type(events, wanted)
  local list = {}
  for _, event in ipairs(events) do
    if event.type == wanted then list[#list + 1] = event end
  end
  return list
end

local function of_kind(inventory, text)
  local list = {}
  for _, line in ipairs(inventory) do
    if line:find(text, 1, true) then list[#list + 1] = line end
  end
  return list
end

local function has(text, wanted)
  for _, words in ipairs(wanted) do assert.matches(words, text, 1, true) end
end

-- What was done to the world, without runs beginning and time passing.
local function changes(state)
  local list = {}
  for _, record in ipairs(played.records(state)) do
    if record.k ~= "run" and record.k ~= "time" then list[#list + 1] = record end
  end
  return list
end

describe("the rehearsed cloud", function ()
  local state

  before_each(function () state = fs.temp_dir("rtl-rehearsal-") end)
  after_each(function () fs.remove_tree(state) end)

  local function play(words, spec, options)
    options = options or {}
    options.state = state
    return program.rtl({ "--rehearse" .. (spec and "=" .. spec or ""), table.unpack(words) },
      options)
  end

  local function ends(wanted, words, spec)
    local ran = play(words, spec)
    assert.equal(wanted, ran.status, ran.stdout .. ran.stderr)
    return ran
  end

  describe("on a calm day", function ()
    it("submits the job once, and a second deploy changes nothing in the cloud", function ()
      local first = ends(0, { DEPLOY })
      local stood, done = played.inventory(state), #changes(state)
      assert.same({ "job " .. first.stdout:match("ray%-train%-%x+%-1") .. " SUCCEEDED" },
        of_kind(stood, "job "))
      local again = ends(0, { DEPLOY })
      has(again.stdout, { "0 to create · 0 to change · 0 to delete", "not submitted again",
        "Verdict  EFA" })
      assert.same(stood, played.inventory(state))
      assert.equal(done, #changes(state))
    end)

    it("is empty after a teardown, and a teardown of nothing says so", function ()
      local none = ends(0, { TEARDOWN })
      has(none.stdout, { "0 things to delete", "Empty", "Removed  0 things" })
      ends(0, { DEPLOY })
      local gone = ends(0, { TEARDOWN })
      has(gone.stdout, { "Empty    nothing of ray-train is left" })
      assert.same({}, played.inventory(state))
      has(ends(0, { TEARDOWN }).stdout, { "0 things to delete", "Empty", "Removed  0 things" })
    end)

    it("has other ids under another seed, and the same cloud", function ()
      local other = fs.join(state, "other")
      local function vpc(ran) return ran.stdout:match("vpc%-0%x+") end
      local first = ends(0, { DEPLOY, "--to", "cluster" })
      local second = program.rtl({ "--rehearse=calm,seed=2", DEPLOY, "--to", "cluster" },
        { state = other })
      assert.equal(0, second.status)
      assert.is_true(#vpc(first) > 10 and vpc(first) ~= vpc(second))
      assert.same(played.inventory(state), played.inventory(other))
    end)

    it("names what cannot be known in a rehearsal", function ()
      has(ends(0, { DEPLOY }).stdout, { "rehearsal calm, seed 1", "nothing real was made",
        "unconfirmed: " })
    end)
  end)

  describe("without an EFA provider", function ()
    it("ends with 3, the cause, a next step and an explained code", function ()
      local ran = ends(3, { DEPLOY }, "tcp-fallback")
      has(ran.stdout, { "Verdict  TCP", "Cause", "Next" })
      local code = ran.stdout:match("rtl explain (RTL%-NCCL%-%d+)")
      has(program.rtl({ "explain", code }).stdout, { code })
      assert.same({ "job " .. ran.stdout:match("ray%-train%-%x+%-1") .. " SUCCEEDED" },
        of_kind(played.inventory(state), "job "))
      ends(3, { "recipes/verify.lua" })
      ends(0, { TEARDOWN })
      assert.same({}, played.inventory(state))
    end)
  end)

  describe("without capacity in the first zone", function ()
    it("makes the group under another name in the next, beside the same NAT", function ()
      local ran = ends(0, { DEPLOY }, "no-capacity")
      has(ran.stdout, { "no capacity", "going on in use2-az3", "Verdict  EFA" })
      local stood = played.inventory(state)
      local nat = of_kind(stood, "us-east-2 nat_gateways")
      assert.equal(1, #nat)
      local made = 0
      for _, record in ipairs(changes(state)) do
        if record.a.o == "create_nat_gateway" then made = made + 1 end
      end
      assert.equal(1, made)
      assert.equal(0, #of_kind(stood, "eks-gpu-workers-use2-az2"))
      assert.is_true(#of_kind(stood, "eks-gpu-workers-use2-az3") >= 1)
      assert.equal(0, #of_kind(stood, '"LaunchTemplateName":"ray-train-gpu-workers-use2-az2"'))
      has(ends(0, { DEPLOY }).stdout, { "0 to create · 0 to change · 0 to delete" })
      ends(0, { TEARDOWN })
      assert.same({}, played.inventory(state))
    end)
  end)

  describe("without quota", function ()
    it("ends with 5 before anything is made, naming the quota", function ()
      local ran = ends(5, { DEPLOY }, "no-quota")
      has(ran.stderr .. ran.stdout, { "L-DB2E81BA" })
      assert.same({}, changes(state))
      assert.same({}, played.inventory(state))
    end)
  end)

  describe("of another scenario", function ()
    it("is refused while something stands, with the command that removes it", function ()
      ends(0, { DEPLOY, "--to", "cluster" })
      local stood = played.inventory(state)
      local ran = ends(2, { DEPLOY }, "tcp-fallback")
      has(ran.stderr, { "RTL-WORLD-004", "rtl --rehearse recipes/teardown.lua" })
      assert.same(stood, played.inventory(state))
      ends(0, { TEARDOWN })
      ends(3, { DEPLOY }, "tcp-fallback")
    end)

    it("under a name of its own stands beside it, and says so in what to type", function ()
      ends(0, { DEPLOY, "--to", "settings" })
      local ran = ends(0, { DEPLOY, "--to", "cluster" }, "calm,name=other")
      local remove = ran.stdout:match("Remove +rtl ([^\n]+)")
      assert.equal("--rehearse=calm,name=other recipes/teardown.lua", remove)
      has(ends(0, { TEARDOWN }).stdout, { "0 things to delete" })
      has(ends(0, { TEARDOWN }, "calm,name=other").stdout, { "Removed  24 things" })
    end)

    it("that is unknown, or lacks a key, is a usage error", function ()
      has(ends(2, { DEPLOY }, "calmer").stderr, { "did you mean 'calm'", "--rehearse=? lists" })
      has(ends(0, { DEPLOY }, "?").stderr, { "calm ", "no-quota ", "weather " })
      has(ends(2, { DEPLOY }, "killed").stderr, { "call=N" })
      has(ends(2, { DEPLOY }, "calm,sead=1").stderr, { "sead" })
    end)
  end)

  describe("under a plan", function ()
    it("is left as it is, empty or standing; --exit-code says whether there is work", function ()
      has(ends(0, { DEPLOY, "--plan" }).stdout, { "28 to create" })
      ends(4, { DEPLOY, "--plan", "--exit-code" })
      assert.same({}, changes(state))
      ends(0, { DEPLOY })
      local done = #changes(state)
      ends(0, { DEPLOY, "--plan", "--exit-code" })
      has(ends(0, { TEARDOWN, "--plan" }).stdout, { "31 things to delete" })
      ends(4, { TEARDOWN, "--plan", "--exit-code" })
      assert.equal(done, #changes(state))
    end)

    it("counts what --only, --from and --to choose, and says what they leave out", function ()
      local function plan(...)
        return of_type(events_of(ends(0, { DEPLOY, "--plan", "--json", ... }).stdout), "plan")[1]
      end
      local all = plan()
      assert.equal(28, all.counts.create)
      local cluster, rest = plan("--to", "cluster"), plan("--from", "device_plugins")
      assert.equal(28, cluster.counts.create + rest.counts.create)
      assert.equal(1, plan("--only", "kuberay").counts.create)
      assert.equal(rest.counts.create, plan("--only", "3,4,5,6").counts.create)
      assert.is_true(plan("--only", "kuberay").left_out > 20)
      assert.equal(0, plan("--only", "kuberay").cost.hourly)
      assert.equal(all.cost.hourly, cluster.cost.hourly)
      assert.is_true(cluster.critical_path_s < all.critical_path_s)
    end)
  end)

  describe("taken for the real one", function ()
    it("is not touched without --yes where nobody can be asked", function ()
      local world, leave = played.enter("calm", state, function (impl)
        local function describe_real() return { name = "native", unconfirmed = {} } end
        return setmetatable({ describe = describe_real }, { __index = impl })
      end)
      local name, e = played.run(DEPLOY, true)
      local calls = world.calls
      local done = played.run(DEPLOY)
      local gone, why = played.run(TEARDOWN, true)
      leave()
      assert.is_nil(name)
      assert.equal("usage", failure.exit_name(e))
      assert.matches("--yes", tostring(e), 1, true)
      assert.equal(0, calls)
      assert.equal("done", done)
      assert.is_nil(gone)
      assert.equal("usage", failure.exit_name(why))
      assert.is_true(#played.list(world) > 50)
    end)
  end)

  describe("step by step", function ()
    it("is the same in the end", function ()
      ends(0, { DEPLOY, "--to", "cluster" })
      assert.equal(0, #of_kind(played.inventory(state), "kuberay"))
      ends(0, { DEPLOY, "--only", "kuberay" })
      assert.equal(0, #of_kind(played.inventory(state), "nvidia-device-plugin"))
      has(ends(0, { DEPLOY, "--from", "device_plugins" }).stdout, { "Verdict  EFA" })
      local stood = played.inventory(state)
      fs.remove_tree(state)
      ends(0, { DEPLOY })
      assert.same(played.inventory(state), stood)
    end)

    it("says what a step lacks, and which steps there are", function ()
      local ran = ends(1, { DEPLOY, "--only", "kuberay" })
      has(ran.stdout .. ran.stderr, { "node_group/system is not there", "RTL-PLAN-024",
        "recipes/deploy.lua --only kuberay (the same command again)" })
      assert.same({}, played.inventory(state))
      has(ends(2, { DEPLOY, "--only", "kubray" }).stderr, { "kuberay" })
    end)
  end)

  describe("as JSON", function ()
    it("tells a whole deploy and teardown in valid NDJSON, and nothing else", function ()
      local ran = ends(0, { DEPLOY, "--json" })
      assert.equal("", ran.stderr)
      local events = events_of(ran.stdout)
      assert.equal("run.start", events[1].type)
      assert.equal("run.end", events[#events].type)
      assert.equal("done", events[#events].exit)
      assert.equal("EFA", of_type(events, "verdict")[1].verdict)
      local proved = 0
      for _, event in ipairs(of_type(events, "step")) do
        if event.state == "proved" then proved = proved + 1 end
      end
      assert.equal(6, proved)
      events = events_of(ends(0, { TEARDOWN, "--json" }).stdout)
      assert.same({}, of_type(events, "teardown")[1].left)
      assert.equal("done", events[#events].exit)
    end)

    it("tells a failure with its code and the name of its exit", function ()
      local events = events_of(play({ DEPLOY, "--json" }, "no-quota").stdout)
      local failed = of_type(events, "failure")[1]
      assert.equal("RTL-CAP-001", failed.err.code)
      assert.equal("refused", failed.exit)
      assert.equal("refused", events[#events].exit)
    end)
  end)
end)
