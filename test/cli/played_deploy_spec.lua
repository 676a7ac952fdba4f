-- The deploy from outside, against the simulated cloud: what a newcomer sees, what a fork changes.
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local program = require "test.support.program"

local function events_of(stdout)
  local list = {}
  for line in stdout:gmatch("[^\n]+") do list[#list + 1] = assert(json.decode(line)) end
  return list
end

local function last_of(events, kind)
  local found
  for _, event in ipairs(events) do
    if event.type == kind then found = event end
  end
  return found
end

describe("a played deploy", function ()
  local state

  before_each(function () state = fs.temp_dir("rtl-played-") end)
  after_each(function () fs.remove_tree(state) end)

  local function play(words, options)
    options = options or {}
    options.state = state
    return program.rtl(words, options)
  end

  it("ends in the verdict EFA, its cost, and the command that removes it", function ()
    local ran = play { "--rehearse", "recipes/deploy.lua" }
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    for _, text in ipairs { "28 to create", "✓ step 6", "Verdict  EFA", "SUCCEEDED", "so far",
      "Remove   rtl --rehearse recipes/teardown.lua" } do
      assert.matches(text, ran.stdout, 1, true)
    end
  end)

  it("has nothing to do the second time, and shows the job's verdict", function ()
    play { "--rehearse", "recipes/deploy.lua" }
    local ran = play { "--rehearse", "recipes/deploy.lua" }
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    assert.matches("0 to create · 0 to change · 0 to delete", ran.stdout, 1, true)
    assert.matches("not submitted again", ran.stdout, 1, true)
    assert.matches("Verdict  EFA", ran.stdout, 1, true)
    local plan = play { "--rehearse", "recipes/deploy.lua", "--plan", "--exit-code" }
    assert.equal(0, plan.status, plan.stdout)
  end)

  it("leaves nothing after the teardown, and a plan then makes everything again", function ()
    play { "--rehearse", "recipes/deploy.lua" }
    local ran = play { "--rehearse", "recipes/teardown.lua" }
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    assert.matches("Empty    nothing of ray-train is left", ran.stdout, 1, true)
    assert.equal(4, play({ "--rehearse", "recipes/deploy.lua", "--plan", "--exit-code" }).status)
  end)

  it("that falls back to TCP ends with 3, the cause and the next step", function ()
    local ran = play { "--rehearse=tcp-fallback", "recipes/deploy.lua" }
    assert.equal(3, ran.status, ran.stdout .. ran.stderr)
    for _, text in ipairs { "Verdict  TCP", "Cause", "Next", "rtl explain RTL-NCCL-" } do
      assert.matches(text, ran.stdout, 1, true)
    end
    assert.equal(3, play({ "--rehearse", "recipes/verify.lua" }).status)
    assert.equal(0, play({ "--rehearse", "recipes/verify.lua", "--transport", "any" }).status)
  end)

  it("without quota is refused before anything is made", function ()
    local ran = play { "--rehearse=no-quota", "recipes/deploy.lua" }
    assert.equal(5, ran.status)
    assert.matches("L-DB2E81BA", ran.stderr, 1, true)
    assert.matches("0 things to delete", play({ "--rehearse", "recipes/teardown.lua" }).stdout, 1,
      true)
  end)

  it("without capacity goes to the next zone under another group name", function ()
    local ran = play { "--rehearse=no-capacity", "recipes/deploy.lua" }
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    assert.matches("no capacity in use2%-az2: going on in use2%-az3", ran.stdout)
    assert.matches("gpu-workers-use2-az3", ran.stdout, 1, true)
  end)

  it("that died with its job in flight follows it, and submits nothing twice", function ()
    play { "--rehearse", "recipes/deploy.lua" }
    local folder = fs.join(state, "aws", fs.list(fs.join(state, "aws"))[1], "us-east-2/ray-train")
    assert(fs.remove(fs.join(folder, "job.json"))) -- as if the run had not lived to judge it
    local ran = play { "--rehearse", "recipes/deploy.lua" }
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    assert.matches("was submitted by an earlier run: following it", ran.stdout, 1, true)
    assert.matches("Verdict  EFA", ran.stdout, 1, true)
    assert.matches("not submitted again", play({ "--rehearse", "recipes/deploy.lua" }).stdout, 1,
      true)
  end)

  it("into a given VPC uses it, and never deletes it", function ()
    local first = play({ "--rehearse", "recipes/deploy.lua", "--to", "cluster" }).stdout
    local vpc = first:match("vpc ray%-train +made +%w+ +(vpc%-%x+)")
    local a, b = first:match("subnet private.-(subnet%-%x+).-subnet private.-(subnet%-%x+)")
    local words = { "--rehearse", "recipes/deploy.lua", "--name", "guest", "--vpc-id", vpc,
      "--private-subnets", a .. "," .. b, "--to", "cluster" }
    local ran = play(words)
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    assert.matches("given: " .. vpc, ran.stdout, 1, true)
    local gone = play { "--rehearse", "recipes/teardown.lua", "--name", "guest" }
    assert.equal(0, gone.status, gone.stdout .. gone.stderr)
    assert.is_nil(gone.stdout:find(vpc, 1, true))
    assert.matches(vpc, play({ "--rehearse", "recipes/status.lua" }).stdout, 1, true)
  end)

  it("in the second of two regions, when the first can't hold it, says so to the end", function ()
    local ran = play { "--rehearse", "recipes/deploy.lua", "-r", "us-east-2,us-west-2", "--zones",
      "usw2-az2", "--to", "cluster" }
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    assert.matches("recipes/teardown.lua --region us-west-2", ran.stdout, 1, true)
    local gone = play { "--rehearse", "recipes/teardown.lua", "--region", "us-west-2" }
    assert.equal(0, gone.status, gone.stdout .. gone.stderr)
    assert.is_nil(gone.stdout:find("Removed  0 things", 1, true))
  end)

  it("that dies goes on where it was", function ()
    for _, call in ipairs { "20", "70" } do
      local world = "killed,call=" .. call .. ",name=w" .. call
      local words = { "recipes/deploy.lua", "--name", "d" .. call }
      local died = play { "--rehearse=" .. world, table.unpack(words) }
      assert.not_equal(0, died.status or 137)
      local ran = play { "--rehearse=" .. world, table.unpack(words) }
      assert.equal(0, ran.status, ran.stdout .. ran.stderr)
      assert.matches("Verdict  EFA", ran.stdout, 1, true)
      local gone = play { "--rehearse=" .. world, "recipes/teardown.lua", "--name", "d" .. call }
      assert.equal(0, gone.status, gone.stdout .. gone.stderr)
    end
  end)

  it("gives the same events, byte for byte, in every process", function ()
    local first
    for i = 1, 20 do
      local folder = fs.join(state, tostring(i))
      local ran = program.rtl({ "--rehearse=calm,seed=7", "recipes/deploy.lua", "--json" },
        { state = folder })
      local events = ran.stdout:gsub(folder, "STATE")
      first = first or events
      assert.is_true(first == events, "run " .. i .. " differs")
    end
    assert.is_true(#events_of(first) > 100)
  end)

  it("says everything once more as JSON, the exit code included", function ()
    local ran = play { "--rehearse", "recipes/deploy.lua", "--json" }
    local events = events_of(ran.stdout)
    assert.equal(28, last_of(events, "plan").counts.create)
    assert.equal("EFA", last_of(events, "verdict").verdict)
    assert.equal("done", last_of(events, "run.end").exit)
  end)

  describe("of a fork", function ()
    local fork

    before_each(function ()
      fork = fs.join(state, "fork")
      assert.equal(0, program.rtl({ "init", fork }).status)
    end)

    local function edit(name, from, to)
      local path = fs.join(fork, "recipes", name)
      local text, count = assert(fs.read(path)):gsub(from, to)
      assert.is_true(count > 0, name)
      assert(fs.write(path, text))
    end

    local function play_fork(words) return play(words, { cwd = fork }) end

    it("in another region, with another type and three nodes", function ()
      fs.write(fs.join(fork, "rtl.yaml"), "name: team\nregion: us-west-2\ngpu_type: p5.48xlarge\n"
        .. "gpu_count: 3\nworker_cpu: 150\nworker_memory: 1500Gi\n")
      local ran = play_fork { "--rehearse", "recipes/deploy.lua" }
      assert.equal(0, ran.status, ran.stdout .. ran.stderr)
      for _, text in ipairs { "us-west-2", "3 × p5.48xlarge = 24 H100", "rtl.yaml",
        "world size 24", "Verdict  EFA" } do
        assert.matches(text, ran.stdout, 1, true)
      end
    end)

    it("with its steps in another order and one more", function ()
      edit("deploy.lua", 'steps = {.-\n  },', [[steps = {
    "steps/kuberay", "steps/ray_cluster", "steps/device_plugins", "steps/mine", "steps/cluster",
    "steps/settings", "steps/job",
  },]])
      fs.write(fs.join(fork, "recipes/steps/mine.lua"), [[
local kubernetes_object = require "rtl.kinds.kubernetes_object"
return {
  title = "Say hello",
  resources = function (run)
    run:declare(kubernetes_object "hello" {
      manifest = { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = "hello", namespace = run.settings.namespace }, data = { a = "b" } },
      after = run:resource("namespace", run.settings.namespace),
    })
  end,
  verify = function () return "hello was said" end,
}
]])
      local ran = play_fork { "--rehearse", "recipes/deploy.lua" }
      assert.equal(0, ran.status, ran.stdout .. ran.stderr)
      assert.matches("29 to create", ran.stdout, 1, true)
      assert.matches("hello was said", ran.stdout, 1, true)
      assert.matches("Verdict  EFA", ran.stdout, 1, true)
      ran = play_fork { "--rehearse", "recipes/teardown.lua" }
      assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    end)
  end)
end)
