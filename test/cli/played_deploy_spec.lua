-- The deploy from outside, against the simulated cloud: a death with a job in flight, given
-- networks, several regions, and the same bytes from the same seed.
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local program = require "test.support.program"

local function events_of(stdout)
  local list = {}
  for line in stdout:gmatch("[^\n]+") do list[#list + 1] = assert(json.decode(line)) end
  return list
end

describe("a played deploy", function ()
  local state

  before_each(function () state = fs.temp_dir("rtl-played-") end)
  after_each(function () fs.remove_tree(state) end)

  local function play(words) return program.rtl(words, { state = state }) end

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
    -- A verdict of another job that had this id, in a cluster that was made before this one.
    local path = fs.join(folder, "job.json")
    local job = assert(json.decode(assert(fs.read(path))))
    job.submitted_by, job.verdict.text = "another run", "of long ago"
    assert(fs.write(path, json.encode(job)))
    ran = play { "--rehearse", "recipes/deploy.lua" }
    assert.is_nil(ran.stdout:find("of long ago", 1, true))
    assert.matches("was submitted by an earlier run: following it", ran.stdout, 1, true)
  end)

  it("does not stumble over a damaged memory of its job", function ()
    play { "--rehearse", "recipes/deploy.lua" }
    local folder = fs.join(state, "aws", fs.list(fs.join(state, "aws"))[1], "us-east-2/ray-train")
    for _, text in ipairs { "5", "{}", '{"id":"x"}', "{", "" } do
      for _, name in ipairs { "job", "submitted" } do
        assert(fs.write(fs.join(folder, name .. ".json"), text))
      end
      assert.equal(0, play({ "--rehearse", "recipes/status.lua" }).status)
      local ran = play { "--rehearse", "recipes/verify.lua" }
      assert.equal(3, ran.status) -- nothing proves EFA
      assert.matches("RTL-STEP-009", ran.stderr, 1, true)
    end
    local ran = play { "--rehearse", "recipes/deploy.lua" }
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    assert.matches("Verdict  EFA", ran.stdout, 1, true)
  end)

  it("shows what a cluster in extended support costs, whatever the settings say later", function ()
    play { "--rehearse", "recipes/deploy.lua", "--to", "cluster", "--kubernetes-version", "1.33" }
    for _, words in ipairs { { "recipes/status.lua" }, { "recipes/teardown.lua", "--plan" } } do
      local ran = play { "--rehearse", table.unpack(words) }
      assert.matches("eks_cluster +ray%-train +%$0%.60/h", ran.stdout)
    end
  end)

  it("is refused while another one has the world, with exit code 5", function ()
    play { "--rehearse", "recipes/status.lua" }
    local _ <close> = assert(fs.lock(fs.join(state, "rehearsal/world.ndjson.lock")))
    local ran = play { "--rehearse", "recipes/deploy.lua" }
    assert.equal(5, ran.status)
    assert.matches("held by process %d+ on ", ran.stderr)
  end)

  it("is judged again from its record when the state folder was moved", function ()
    local before = fs.join(state, "before")
    assert.equal(0, program.rtl({ "--rehearse", "recipes/deploy.lua" }, { state = before }).status)
    assert(fs.rename(before, fs.join(state, "after")))
    local ran = program.rtl({ "--rehearse", "recipes/verify.lua" },
      { state = fs.join(state, "after") })
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    assert.matches("Verdict  EFA", ran.stdout, 1, true)
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
end)
