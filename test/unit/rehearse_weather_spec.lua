local kinds = require "rtl.rehearse.weather.kinds"
local rehearse = require "rtl.rehearse"
local scenarios = require "rtl.rehearse.scenarios"
local unconfirmed = require "rtl.rehearse.unconfirmed"
local weather = require "rtl.rehearse.weather"
local world_module = require "rtl.rehearse.world"

local function names_of(sky)
  local list = {}
  for name in pairs(sky) do list[#list + 1] = name end
  table.sort(list)
  return list
end

describe("weather", function ()
  it("is the same for the same seed, and a mix over many", function ()
    local seen, total = {}, 0
    for seed = 1, 400 do
      local world = rehearse.world("weather,seed=" .. seed)
      assert.same(world.sky, rehearse.world("weather,seed=" .. seed).sky)
      for _, name in ipairs(names_of(world.sky)) do
        seen[name], total = true, total + 1
      end
    end
    for name, row in pairs(kinds) do assert.equal(row.weight ~= 0, seen[name] == true, name) end
    assert.is_true(total > 400 and total < 2000, total)
  end)

  it("has a title for each kind, and a source or a place among what is unconfirmed", function ()
    for name, row in pairs(kinds) do
      assert.is_string(row.title, name)
      local told = table.concat(unconfirmed.list { [name] = {} }, "\n")
      local listed = told:find(row.title, 1, true) ~= nil
      assert.equal(row.source == nil, listed, name)
    end
  end)

  it("says what is unconfirmed within 100 columns of the last screen", function ()
    for _, told in ipairs(unconfirmed.list()) do
      assert.is_true(#told <= 100 - #"           unconfirmed: ", told)
    end
  end)

  it("has every kind as a scenario of its own", function ()
    for name in pairs(kinds) do
      assert.is_table(scenarios[name])
      local wanted = { name, table.unpack(kinds[name].with or {}) }
      table.sort(wanted)
      assert.same(wanted, names_of(rehearse.world(name .. ",seed=3").sky))
    end
  end)

  it("blows in its spells only, and not once it is over", function ()
    local world = rehearse.world "no-network,seed=2"
    local spell = world.sky["no-network"].spells[1]
    world:advance(world_module.BEGIN_US + math.floor((spell[1] + 0.5) * 1000000))
    assert.is_table(weather.blows(world, "no-network"))
    weather.clear(world)
    assert.is_nil(weather.blows(world, "no-network"))
  end)

  it("hits as many things as it says, after those that get away", function ()
    local world = rehearse.world "evicted-pod,seed=4"
    world.sky["evicted-pod"].skip, world.sky["evicted-pod"].times = 2, 1
    local hits = {}
    for i = 1, 5 do hits[i] = world:strikes "evicted-pod" ~= nil end
    assert.same({ false, false, true, false, false }, hits)
    assert.equal(1, world.struck_by["evicted-pod"])
    assert.is_nil(world:strikes "nat-failure")
  end)

  it("runs out of an operation's calls only where others use them up", function ()
    local services = require "rtl.rehearse.weather.services"
    local svc, op = { name = "ec2" }, { key = "describe_vpcs", reads = true }
    local calm = rehearse.world "calm"
    for _ = 1, 100 do assert.is_nil(services.before(calm, svc, op, "us-east-2")) end
    assert.equal("RequestLimitExceeded", services.before(calm, svc, op, "us-east-2").code)
    assert.is_nil(services.before(calm, svc, op, "us-west-2"))
    calm:advance(calm.now_us + 1000000)
    for _ = 1, 20 do assert.is_nil(services.before(calm, svc, op, "us-east-2")) end
    assert.is_table(services.before(calm, svc, op, "us-east-2"))
  end)
end)
