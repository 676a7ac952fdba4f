-- The frame of a world: chance, scenarios, time, the journal, the seams.
local chance = require "rtl.rehearse.chance"
local fs = require "rtl.fs"
local journal = require "rtl.rehearse.journal"
local rehearse = require "rtl.rehearse"
local scenarios = require "rtl.rehearse.scenarios"
local spec = require "rtl.rehearse.spec"
local world_module = require "rtl.rehearse.world"

describe("chance", function ()
  it("gives the same for the same, another for anything else", function ()
    assert.equal(chance.hash(1, "a", "b"), chance.hash(1, "a", "b"))
    local seen = {}
    for _, hash in ipairs { chance.hash(1, "a", "b"), chance.hash(2, "a", "b"),
      chance.hash(1, "ab"), chance.hash(1, "b", "a"), chance.hash(1, "a", "b", ""),
      chance.hash(1, ("x"):rep(8)), chance.hash(1, ("x"):rep(8) .. "\0") } do
      assert.is_nil(seen[hash])
      seen[hash] = true
    end
  end)

  it("spreads evenly", function ()
    local low, sum = 0, 0
    for i = 1, 4000 do
      local x = chance.unit(7, "spread", i)
      assert.is_true(x >= 0 and x < 1)
      sum = sum + x
      if x < 0.25 then low = low + 1 end
    end
    assert.is_true(math.abs(sum / 4000 - 0.5) < 0.03)
    assert.is_true(math.abs(low / 4000 - 0.25) < 0.03)
  end)

  it("writes ids in the forms that they have", function ()
    assert.matches("^%x+$", chance.hex(17, 1, "x"))
    assert.equal(17, #chance.hex(17, 1, "x"))
    assert.matches("^%x%x%x%x%x%x%x%x%-%x%x%x%x%-4%x%x%x%-a%x%x%x%-%x+$", chance.uuid(1, "x"))
    assert.matches("^[%l%d]+$", chance.letters(25, 1, "x"))
    assert.equal(25, #chance.letters(25, 1, "x"))
    assert.equal(33, #chance.bytes(33, 1, "x"))
  end)
end)

describe("the text of a scenario", function ()
  it("is read with its keys, and written back in one order", function ()
    local read = assert(spec.parse "killed,when=before,call=12,seed=3")
    assert.same({ scenario = "killed", given = true,
                  keys = { call = 12, when = "before", seed = 3 } }, read)
    assert.equal("killed,call=12,seed=3,when=before", spec.text(read))
    assert.same({ scenario = "calm", keys = {}, given = false }, spec.parse "")
    assert.same({ scenario = "calm", keys = {}, given = false }, spec.parse(nil))
    assert.same({ scenario = "calm", keys = { name = "k" }, given = false }, spec.parse "name=k")
  end)

  it("is refused with what there is", function ()
    for text, words in pairs {
      ["no-capcity"] = "no-capacity", ["calm,call=1"] = "takes no",
      ["calm,seed=x"] = "whole number",
      killed = "needs call", ["killed,call=1,when=never"] = "can not be", [",sed=1"] = "takes no",
    } do
      local read, e = spec.parse(text)
      assert.is_nil(read)
      assert.equal("RTL-WORLD-001", e.code)
      assert.equal("usage", e.exit)
      assert.matches(words, tostring(e), 1, true)
    end
  end)

  it("answers ? with each scenario and what it does", function ()
    local read, e = spec.parse "?"
    assert.is_nil(read)
    assert.equal("done", e.exit)
    for name, scenario in pairs(scenarios) do
      assert.matches(("%-20s  %s"):format(name, scenario.title), e.hint, 1, true)
    end
  end)
end)

describe("time in a world", function ()
  it("lets happen what is due, in order, each at its own time", function ()
    local world = world_module.new { seed = 1, scenario = "calm" }
    local seen = {}
    local function note(name)
      return function () seen[#seen + 1] = ("%s@%d"):format(name, world:now() * 1000 % 100000) end
    end
    world:after(2, note "c")
    world:after(1, note "a")
    world:after(1, function ()
      note "b" ()
      world:after(0.5, note "between")
    end)
    world:after(9, note "late")
    world:advance(world.now_us + 3000000)
    assert.same({ "a@1000", "b@1000", "between@1500", "c@2000" }, seen)
    assert.equal(6, world:next_in())
    world:advance(world.now_us + 6000000)
    assert.equal("late@9000", seen[5])
    assert.is_nil(world:next_in())
  end)

  it("keeps its order over many events", function ()
    local world = world_module.new { seed = 1, scenario = "calm" }
    local last, count = 0, 0
    for i = 1, 500 do
      world:after(chance.between(0, 100, 3, i), function ()
        assert.is_true(world.now_us >= last)
        last, count = world.now_us, count + 1
      end)
    end
    world:advance(world.now_us + 200000000)
    assert.equal(500, count)
  end)
end)

describe("a world's journal", function ()
  local folder, path

  before_each(function ()
    folder = fs.temp_dir "rtl-world-"
    path = journal.path(folder)
  end)
  after_each(function () fs.remove_tree(folder) end)

  local function begun(text)
    local world = assert(rehearse.world(text))
    world.journal = assert(journal.open(path, { spec = world.title }))
    return world
  end

  local CREATE = { s = "ec2", r = "us-east-2", o = "create_vpc", p = { CidrBlock = "10.0.0.0/16" } }

  it("brings the world back as it was, and as it goes on", function ()
    local world = begun "calm,seed=5"
    local vpc = world:change("aws", CREATE).Vpc
    world:advance(world.now_us + 5000000)
    world:change("aws", CREATE)
    world:mark(true)
    world.journal:close()
    local again = assert(rehearse.recall(path))
    assert.equal(world.now_us, again.now_us)
    assert.equal(5, again.seed)
    local same = again.aws.regions["us-east-2"].vpcs:get(vpc.VpcId)
    assert.equal("available", same.State)
    assert.equal(2, again.calls)
    assert.equal(world:id "x", again:id "x")
  end)

  it("does not count a line that was cut off", function ()
    local world = begun "calm"
    world:change("aws", CREATE)
    world:change("aws", CREATE)
    world.journal:close()
    local text = assert(fs.read(path))
    assert(fs.write(path, text:sub(1, -20)))
    assert.equal(1, assert(rehearse.recall(path)).calls)
  end)

  it("goes on after a line that was cut off, be it the head", function ()
    local world = begun "calm"
    world:change("aws", CREATE)
    world.journal:close()
    local text = assert(fs.read(path))
    for _, kept in ipairs { #text - 20, 5, 0 } do
      assert(fs.write(path, text:sub(1, kept)))
      world = rehearse.recall(path) or assert(rehearse.world "calm")
      world.journal = assert(journal.open(path, { spec = world.title }))
      world:change("aws", CREATE)
      world.journal:close()
      assert.equal(1, assert(rehearse.recall(path)).calls)
    end
  end)

  it("that holds no records is refused", function ()
    local world = begun "calm"
    world.journal:close()
    for _, line in ipairs { "5", "garbage", "null" } do
      assert(fs.write(path, assert(fs.read(path)):match("^[^\n]*\n") .. line .. "\n"))
      assert.equal("RTL-WORLD-002", select(2, rehearse.recall(path)).code)
    end
  end)

  it("keeps bytes that are no UTF-8", function ()
    local world = begun "calm"
    world.performers.note = function (w, args)
      w:touch()
      w.noted = args.bytes
    end
    world:perform("note", { bytes = "\255\0\128" })
    world.journal:close()
    local _, records = journal.read(path)
    assert.equal("\255\0\128", records[1].a.bytes)
  end)

  it("notes nothing for a call that only looked", function ()
    local world = begun "calm"
    world:perform("aws", { s = "ec2", r = "us-east-2", o = "describe_vpcs", p = {} })
    world.journal:close()
    local _, records = journal.read(path)
    assert.same({}, records)
  end)

  it("of another version is refused with what to do", function ()
    fs.mkdirs(fs.dirname(path))
    assert(fs.write(path, '{"version":0}\n'))
    local world, e = rehearse.recall(path)
    assert.is_nil(world)
    assert.equal("RTL-WORLD-002", e.code)
    assert.matches(path, e.hint, 1, true)
  end)
end)

describe("the seams of a world", function ()
  local seams = require "rtl.rehearse.seams"

  it("give the simulated account, rtl's settings, and nothing of the operator's", function ()
    local world = assert(rehearse.world "calm")
    local real = { RTL_STATE = "/s", AWS_PROFILE = "mine", KUBECONFIG = "/k", HOME = "/h",
                   AWS_ACCESS_KEY_ID = "AKIAREAL", HTTPS_PROXY = "http://p" }
    local process = seams.process(world, {
      getenv = function (name) return real[name] end, environ = function ()
        local list = {}
        for name, value in pairs(real) do list[#list + 1] = name .. "=" .. value end
        return list
      end })
    assert.equal("/s", process.getenv "RTL_STATE")
    assert.equal("/h", process.getenv "HOME")
    assert.is_nil(process.getenv "AWS_PROFILE")
    assert.is_nil(process.getenv "KUBECONFIG")
    assert.is_nil(process.getenv "HTTPS_PROXY")
    assert.matches("^ASIA", process.getenv "AWS_ACCESS_KEY_ID")
    assert.equal("/dev/null", process.getenv "AWS_CONFIG_FILE")
    for _, pair in ipairs(process.environ()) do assert.is_nil(pair:find "AKIAREAL") end
    local ran, e = process.run { argv = { "aws", "--version" } }
    assert.is_nil(ran)
    assert.equal("RTL-WORLD-003", e.code)
  end)

  it("draw other tokens in each run of a world", function ()
    local world = assert(rehearse.world "calm")
    world:perform("run", {})
    local first = seams.entropy(world).bytes(16)
    world:perform("run", {})
    assert.not_equal(first, seams.entropy(world).bytes(16))
    local again = assert(rehearse.world "calm")
    again:perform("run", {})
    assert.equal(first, seams.entropy(again).bytes(16))
  end)
end)
