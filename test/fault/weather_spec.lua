-- Some lives in bad weather: deploy, again where it failed or was killed, teardown. Each ends in
-- success or in a failure with a name, makes an end, and leaves nothing of ours and all of others'.
-- test/fault/weather.lua plays as many as one likes (`make weather`: ten thousand).

local weather = require "test.support.weather"

local FROM, SEEDS = 13, 8 -- the last of them is killed

describe("a deployment in bad weather", function ()
  it("ends in success or in a named error, and leaves nothing", function ()
    local wrong, got = {}, 0
    for seed = FROM, FROM + SEEDS - 1 do
      local life = weather.play(seed)
      if life.success then got = got + 1 end
      if life.problem then wrong[#wrong + 1] = ("seed %d: %s"):format(seed, life.problem) end
    end
    print(("weather: %d lives, %d got their deploy, %d wrong"):format(SEEDS, got, #wrong))
    assert.equal(0, #wrong, table.concat(wrong, "\n"))
    assert.is_true(got * 2 > SEEDS)
  end)

  -- What passes by itself must not end a run; what a second run can cure, it must.
  for _, kind in ipairs { "no-network", "late-name", "late-access", "late-ids", "api-restart",
    "lost-machine", "stuck-nodegroup" } do
    it("gets over " .. kind, function ()
      local life = weather.play(2, { only = kind })
      assert.is_nil(life.problem)
      assert.is_true(life.struck[kind] > 0)
      assert.same({ "deploy done", "teardown done" }, life.ends)
    end)
  end

  for kind, seed in pairs { ["cluster-failure"] = 1, ["altered-group"] = 105,
    ["lost-worker"] = 102, ["expired-keys"] = 2 } do
    it("makes good in the next run what " .. kind .. " did", function ()
      local life = weather.play(seed, { only = kind })
      assert.is_nil(life.problem)
      assert.not_equal("deploy done", life.ends[1])
      assert.equal("deploy done", life.ends[2], table.concat(life.errors, "\n"))
    end)
  end

  it("says early, and of the add-on, why no node gets Ready", function ()
    local life = weather.play(3, { only = "addon-failure" })
    assert.is_nil(life.problem)
    assert.matches("node_group/.*: the add%-on vpc%-cni is CREATE_FAILED", life.errors[1])
    assert.is_true(life.longest < 1200)
  end)

  it("says early, with a node's console, why it does not join, and replaces the group", function ()
    local life = weather.play(1, { only = "node-never-joins" })
    assert.is_nil(life.problem)
    assert.equal("deploy done", life.ends[2])
    assert.matches("node_group/.*: instance i%-%x+ runs and does not join\nconsole of i%-",
      life.errors[1])
    assert.is_true(life.longest < 1800)
  end)

  -- Seed 20183 held its GPUs twice: the first hold's tags were late.
  it("holds its GPUs once, however late their tags are", function ()
    assert.is_nil(weather.play(20183, { settings = { probe = "true" } }).problem)
  end)

  -- Both allocated a second address, since describe did not show the first one yet, and lost one.
  it("takes nothing for absent that was made a moment ago", function ()
    assert.is_nil(weather.play(2958).problem)
    assert.is_nil(weather.play(3725).problem)
  end)

  it("lives again in the same way from the same seed", function ()
    local first, second = weather.play(5), weather.play(5)
    assert.same(first.ends, second.ends)
    assert.same(first.struck, second.struck)
    assert.equal(first.virtual, second.virtual)
  end)
end)
