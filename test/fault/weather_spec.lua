-- Some lives in bad weather: deploy, again where it failed or was killed, teardown. Each ends in
-- success or in a failure with a name, makes an end, and leaves nothing of ours and all of others'.
-- test/fault/weather.lua plays as many as one likes (`make weather`: ten thousand).

local weather = require "test.support.weather"

local FROM, SEEDS = 6, 15 -- the last of them is killed

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

  it("lives again in the same way from the same seed", function ()
    local first, second = weather.play(5), weather.play(5)
    assert.same(first.ends, second.ends)
    assert.same(first.struck, second.struck)
    assert.equal(first.virtual, second.virtual)
  end)
end)
