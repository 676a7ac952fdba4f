-- A deploy with a lease is killed around the creates whose ids no schedule can name before: the
-- same command again must put them in, and the lease must end everything with nobody there.

local bill = require "rtl.rehearse.aws.bill"
local fs = require "rtl.fs"
local played = require "test.support.played"
local program = require "test.support.program"

local DEPLOY = "recipes/deploy.lua"

local function play(state, spec, ...)
  return program.rtl({ "--rehearse" .. (spec and "=" .. spec or ""), ... }, { state = state })
end

local function deploy(state, spec)
  return play(state, spec, DEPLOY, "--down-after", "3h", "--yes")
end

-- The numbers of the calls of these operations in a deploy that nobody kills: op → number.
local function calls_of(wanted)
  local state, calls = assert(fs.temp_dir "rtl-lease-death-"), {}
  assert.equal(0, deploy(state).status)
  for _, record in ipairs(played.records(state)) do
    local op = record.k == "aws" and record.a.o
    if wanted[op] then calls[op] = calls[op] or record.n end
  end
  fs.remove_tree(state)
  return calls
end

local function input_of(world, name)
  local schedule = world.aws.regions["us-east-2"].schedules:get("ray-train-lease/" .. name)
  local _, id = next(schedule.Target.Input)
  return id
end

local function only(shelf) return shelf.order[1] end

describe("a lease whose deploy was killed", function ()
  local calls = calls_of { allocate_address = true, create_nat_gateway = true,
    update_schedule = true, create_schedule = true }

  for _, case in ipairs { { "after", "create_schedule" }, { "before", "allocate_address" },
    { "after", "allocate_address" }, { "answered", "allocate_address" },
    { "after", "create_nat_gateway" }, { "answered", "create_nat_gateway" },
    { "after", "update_schedule" } } do
    local moment, op = case[1], case[2]
    it(("%s %s names what was made, and ends it"):format(moment, op), function ()
      local state = assert(fs.temp_dir "rtl-lease-death-")
      local killed = deploy(state, ("killed,call=%d,when=%s"):format(calls[op], moment))
      assert.equal(9, killed.signal)
      local again = deploy(state)
      assert.equal(0, again.status, again.stdout)
      local world = played.world(state)
      local region = world.aws.regions["us-east-2"]
      assert.equal(only(region.addresses), input_of(world, "elastic_ip-nat"))
      assert.equal(only(region.nat_gateways), input_of(world, "nat_gateway-ray-train"))
      world:advance(world.now_us + 8 * 3600 * 1000000)
      assert.same({}, bill.running(world))
      fs.remove_tree(state)
    end)
  end

  -- What is left open, and no more: a death between a create and the next call, with nobody who
  -- ever runs the command again. Any later run finds it, by its tag or the ledger.
  it("leaves what was made in the moment of its death, and ends all else", function ()
    local state = assert(fs.temp_dir "rtl-lease-death-")
    assert.equal(9, deploy(state, ("killed,call=%d,when=after"):format(
      calls.create_nat_gateway)).signal)
    local world = played.world(state)
    world:advance(world.now_us + 8 * 3600 * 1000000)
    for _, text in ipairs(bill.running(world)) do
      local kind = text:match("^us%-east%-2 (%S+)")
      assert.is_true(kind == "nat_gateways" or kind == "addresses", text)
    end
    fs.remove_tree(state)
  end)
end)

-- Whatever the weather makes of a deploy, its lease leaves nothing that bills. RTL_TEST_SLOW=1
-- (`make fault`) takes many seeds.
describe("a lease in any weather", function ()
  local SEEDS = os.getenv "RTL_TEST_SLOW" and 300 or 8

  it("ends all that a deploy made, whether it came to its end or not", function ()
    local left, ended, spent = {}, 0, 0.0
    for seed = 1, SEEDS do
      local state = assert(fs.temp_dir "rtl-lease-weather-")
      local world, restore = played.enter("weather,seed=" .. seed, state)
      local exit = played.run(DEPLOY, false, nil, { down_after = "3h" })
      ended = ended + (exit and 1 or 0)
      world:advance(world.now_us + 9 * 3600 * 1000000)
      for _, text in ipairs(bill.running(world)) do left[#left + 1] = seed .. ": " .. text end
      spent = spent + select(2, bill.lines(world))
      restore()
      fs.remove_tree(state)
    end
    print(("lease: %d seeds of weather, %d deploys came to their end, $%.2f spent, %d things left")
      :format(SEEDS, ended, spent, #left))
    assert.same({}, left)
    assert.is_true(ended > SEEDS / 3)
  end)
end)
