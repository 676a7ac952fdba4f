-- Other settings on a deployment that stands: one run brings it there, and the next has nothing to
-- do; or the plan says that it can't.

local fs = require "rtl.fs"
local played = require "test.support.played"

local DEPLOY, TEARDOWN = "recipes/deploy.lua", "recipes/teardown.lua"

describe("a deployment that stands", function ()
  local state, world, leave

  before_each(function ()
    state = fs.temp_dir "rtl-changes-"
    world, leave = played.enter("calm", state)
    assert.equal("done", (played.run(DEPLOY)))
  end)
  after_each(function ()
    leave()
    fs.remove_tree(state)
  end)

  local function plan(settings)
    local _, _, last = played.run(DEPLOY, false, { yes = true, plan = true }, settings)
    return last.plan
  end

  -- One deploy with the settings is enough; then nothing is left to do, and nothing is left over.
  local function comes_to(settings)
    local exit, failure = played.run(DEPLOY, false, nil, settings)
    assert.equal("done", exit, tostring(failure))
    local counts = plan(settings).counts
    for _, action in ipairs { "create", "change", "replace", "delete" } do
      assert.equal(0, counts[action] or 0, action)
    end
    local region = world.aws.regions["us-east-2"]
    local group = region.clusters:all()[1].nodegroups:get "gpu-workers-use2-az2"
    assert.equal("done", (played.run(TEARDOWN, false, nil, settings)))
    assert.same({}, played.list(world))
    return group
  end

  it("gets its nodes from a template that changed, in the same run", function ()
    local planned = {}
    for _, row in ipairs(plan({ placement_group = "true" }).changes) do
      planned[row.resource] = row.unknown
    end
    assert.same({ "launch_template/gpu-workers-use2-az2.version" },
      planned["node_group/gpu-workers-use2-az2"].launch_template_version)
    assert.equal("2", comes_to({ placement_group = "true" }).launchTemplate.version)
  end)

  it("waits for the pods that go to new nodes", function ()
    assert.same({ "g6.24xlarge" }, comes_to({ gpu_type = "g6.24xlarge" }).instanceTypes)
  end)

  it("moves to another namespace or name, where the old one held the GPUs", function ()
    comes_to { namespace = "other", ray_cluster = "ray" }
  end)

  it("moves to another namespace alone", function ()
    comes_to { namespace = "other" }
  end)

  it("is not moved to a zone beside the one that it stands in", function ()
    local before = played.list(world)
    local exit, failure = played.run(DEPLOY, false, nil, { zones = "use2-az3" })
    assert.is_nil(exit)
    assert.equal("RTL-CAP-011", failure.code)
    assert.matches("stand in use2-az2, which is not among the zones set (use2-az3)",
      failure.message, 1, true)
    assert.same(before, played.list(world))
    assert.equal("done", (played.run(DEPLOY, false, nil, { zones = "use2-az3,use2-az2" })))
  end)

  it("is not brought to another version of Kubernetes, as the plan says", function ()
    local before = played.list(world)
    for _, version in ipairs { "1.35", "1.37" } do
      local exit, failure = played.run(DEPLOY, false, nil, { kubernetes_version = version })
      assert.is_nil(exit)
      assert.equal("RTL-PLAN-008", failure.code)
      assert.equal("refused", failure.exit)
    end
    assert.same(before, played.list(world))
  end)
end)
