-- Forks as `rtl init` makes them: what a team changes in its copy, the plan, the counts and the
-- verdict follow, without a touch of anything else.
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local played = require "test.support.played"
local program = require "test.support.program"

local STEPS = { "settings", "cluster", "device_plugins", "kuberay", "ray_cluster", "job" }

describe("a fork", function ()
  local state, fork

  before_each(function ()
    state = fs.temp_dir("rtl-fork-")
    fork = fs.join(state, "team")
    assert.equal(0, program.rtl({ "init", fork }).status)
  end)
  after_each(function () fs.remove_tree(state) end)

  local function play(words, wanted)
    local ran = program.rtl({ "--rehearse", table.unpack(words) }, { state = state, cwd = fork })
    assert.equal(wanted or 0, ran.status, ran.stdout .. ran.stderr)
    return ran
  end

  local function put(name, text) assert(fs.write(fs.join(fork, name), text)) end

  local function edit(name, from, to)
    local text, count = assert(fs.read(fs.join(fork, name))):gsub(from, to)
    assert.is_true(count > 0, name .. " has no " .. from)
    put(name, text)
  end

  local function steps(names)
    local list = {}
    for i, name in ipairs(names) do list[i] = ('"steps/%s"'):format(name) end
    edit("recipes/deploy.lua", "steps = {.-\n  },",
      "steps = {\n    " .. table.concat(list, ",\n    ") .. ",\n  },")
  end

  local function deploy()
    local ran = play { "recipes/deploy.lua", "--json" }
    local events = {}
    for line in ran.stdout:gmatch("[^\n]+") do
      local event = json.decode(line)
      events[event.type] = event
    end
    return events
  end

  -- Deployed, deployed again with nothing to do, and gone.
  local function whole(count)
    local events = deploy()
    assert.equal(count, events.plan.counts.create)
    assert.equal("EFA", events.verdict.verdict)
    local stood = played.inventory(state)
    assert.matches("0 to create · 0 to change · 0 to delete", play({ "recipes/deploy.lua" }).stdout,
      1, true)
    local gone = play { "recipes/teardown.lua" }
    assert.matches("Empty ", gone.stdout, 1, true)
    assert.same({}, played.inventory(state))
    return table.concat(stood, "\n"), events
  end

  local function count_of(text, pattern) return select(2, text:gsub(pattern, "")) end

  it("that changes nothing is the deploy itself", function ()
    local stood = whole(28)
    local own = fs.join(state, "own")
    local ran = program.rtl({ "--rehearse", "recipes/deploy.lua" }, { state = own })
    assert.equal(0, ran.status)
    assert.equal(table.concat(played.inventory(own), "\n"), stood)
  end)

  it("under another name and in another region", function ()
    put("rtl.yaml", "name: team\nregion: us-west-2\n")
    local stood, events = whole(28)
    assert.equal("team", events["run.start"].deployment)
    assert.equal("us-west-2", events["run.start"].region)
    assert.equal(0, count_of(stood, "\nus%-east%-2 "))
    assert.equal(0, count_of(stood, '"Value\\*":\\*"ray%-train'))
    assert.equal(1, count_of(stood, "\nus%-west%-2 vpcs"))
  end)

  it("with its defaults in the recipe and not in rtl.yaml", function ()
    edit("recipes/settings.lua", 'default = "us%-east%-2"', 'default = "us-west-2"')
    local _, events = whole(28)
    assert.equal("us-west-2", events["run.start"].region)
  end)

  it("with p5.48xlarge: 32 cards, 8 GPUs a node", function ()
    put("rtl.yaml", "region: us-west-2\ngpu_type: p5.48xlarge\n"
      .. "worker_cpu: 150\nworker_memory: 1500Gi\n")
    local plan = play({ "recipes/deploy.lua", "--plan" }).stdout
    assert.matches("2 × p5.48xlarge = 16 H100", plan, 1, true)
    local stood = whole(28)
    assert.equal(2, count_of(stood, '\nus%-west%-2 instances [^\n]*"p5%.48xlarge"'))
    assert.equal(64, count_of(stood, '\nus%-west%-2 interfaces [^\n]*"InterfaceType":"efa'))
  end)

  it("with three GPU nodes", function ()
    put("rtl.yaml", "gpu_count: 3\n")
    local stood = whole(28)
    assert.equal(3, count_of(stood, '\nus%-east%-2 instances [^\n]*"g6%.12xlarge"'))
    assert.equal(4, count_of(stood, "\npods%. ray%-train/"))
    assert.matches("3 × g6.12xlarge = 12 L4", play({ "recipes/deploy.lua", "--plan" }).stdout, 1,
      true)
  end)

  it("with its steps in another order makes the same cloud", function ()
    local stood = whole(28)
    steps { "kuberay", "ray_cluster", "device_plugins", "cluster", "settings", "job" }
    assert.equal(stood, (whole(28)))
  end)

  local HELLO = [[
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
]]

  it("with one step more makes what it declares; without it again, removes it", function ()
    put("recipes/steps/hello.lua", HELLO)
    steps { "settings", "cluster", "hello", "device_plugins", "kuberay", "ray_cluster", "job" }
    assert.equal(29, deploy().plan.counts.create)
    local function hello()
      return count_of(table.concat(played.inventory(state), "\n"), "configmaps%. ray%-train/hello")
    end
    assert.equal(1, hello())
    steps(STEPS)
    local plan = play { "recipes/deploy.lua", "--plan" }
    assert.matches("0 to create · 0 to change · 1 to delete", plan.stdout, 1, true)
    local counts = deploy().plan.counts
    assert.equal(1, counts.delete)
    assert.equal(0, hello())
    play { "recipes/teardown.lua" }
    assert.same({}, played.inventory(state))
  end)

  it("without its job step ends when the cluster stands", function ()
    steps { "settings", "cluster", "device_plugins", "kuberay", "ray_cluster" }
    local events = deploy()
    assert.equal(28, events.plan.counts.create)
    assert.is_nil(events.verdict)
    assert.equal("done", events["run.end"].exit)
    assert.equal(0, count_of(table.concat(played.inventory(state), "\n"), "\njob "))
  end)

  it("whose step is no table, or names another that nobody makes, says where", function ()
    put("recipes/steps/hello.lua", "return 7\n")
    steps { "settings", "hello" }
    local ran = program.rtl({ "--rehearse", "recipes/deploy.lua" }, { state = state, cwd = fork })
    assert.is_true(ran.status ~= 0)
    assert.matches("hello", ran.stderr, 1, true)
    put("recipes/steps/hello.lua", HELLO)
    ran = program.rtl({ "--rehearse", "recipes/deploy.lua" }, { state = state, cwd = fork })
    assert.is_true(ran.status ~= 0)
    assert.matches("namespace/ray-train", ran.stdout .. ran.stderr, 1, true)
    assert.same({}, played.inventory(state))
  end)
end)
