-- Finding and holding GPUs, as a person does it: the program in a simulated world.
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local played = require "test.support.played"
local program = require "test.support.program"

local CAPACITY, DEPLOY, TEARDOWN = "recipes/capacity.lua", "recipes/deploy.lua",
  "recipes/teardown.lua"

describe("capacity", function ()
  local state
  before_each(function () state = fs.temp_dir "rtl-capacity-" end)
  after_each(function () fs.remove_tree(state) end)

  local function play(spec, ...)
    local option = "--rehearse" .. (spec and "=" .. spec or "")
    return program.rtl({ option, ... }, { state = state })
  end

  local function must(status, spec, ...)
    local ran = play(spec, ...)
    assert.equal(status, ran.status, ran.stdout .. ran.stderr)
    return ran.stdout, ran.stderr
  end

  -- The reservations of a region of the world, of one state or all.
  local function reservations(region, wanted)
    local list = {}
    local here = played.world(state).aws.regions[region]
    for _, item in ipairs(here and here.reservations:all() or {}) do
      if not wanted or item.State == wanted then list[#list + 1] = item end
    end
    return list
  end

  local function events(text)
    local list = {}
    for line in text:gmatch("[^\n]+") do list[#list + 1] = assert(json.decode(line)) end
    return list
  end

  local function event(text, kind)
    for _, one in ipairs(events(text)) do
      if one.type == kind then return one end
    end
    error("no event " .. kind)
  end

  it("is one ranked table of many regions; one that is not enabled is a row with its reason",
    function ()
      local text = must(0, nil, CAPACITY, "-r", "us-west-2,af-south-1,us-east-2")
      assert.matches("us%-west%-2%s+usw2%-az2 .-yes%s+yes%s+not probed%s+%$9%.20", text)
      assert.matches("us%-east%-2%s+use2%-az1 .-not offered here", text)
      assert.matches("af%-south%-1%s+not enabled for this account %(%u", text)
      assert.matches("L-DB2E81BA 192 granted, 0 used, 96 needed", text, 1, true)
      local first = text:find("usw2%-az2")
      assert.is_true(first < text:find("use2%-az2"))
    end)

  it("tells programs the same in a shape that stays", function ()
    local one = event(must(0, nil, CAPACITY, "-r", "us-east-2,af-south-1", "--gpu-type",
      "p5.48xlarge", "--worker-cpu", "40", "--json"), "capacity")
    assert.same({ 1, "p5.48xlarge", 2 }, { one.version, one.instance_type, one.count })
    local zone = one.zones[1]
    assert.same({ 1, "us-east-2", "use2-az2", "us-east-2b", true, true, true, true },
      { zone.rank, zone.region, zone.zone_id, zone.zone_name, zone.usable, zone.efa, zone.offered,
        zone.eks })
    assert.equal(110.08, zone.price_per_hour)
    assert.same({ 2, 24, "2026-12-02T11:30:00Z", "2026-12-03T11:30:00Z", 1843.2, "USD" },
      { zone.block.count, zone.block.hours, zone.block.starts, zone.block.ends, zone.block.price,
        zone.block.currency })
    assert.equal("not offered here", one.zones[2].why)
    local quota = one.regions[1].quotas[1]
    assert.same({ "L-417A185B", 1152, 0, 0, 384, true, 384 }, { quota.code, quota.granted,
      quota.used, quota.own, quota.needed, quota.enough, quota.ask })
    assert.matches("not enabled", one.regions[2].why)
    assert.is_nil(one.problem)
  end)

  it("has a page that shows its own settings, and how to answer its question", function ()
    local page = program.rtl({ "help", "capacity" }, { state = state }).stdout
    for _, text in ipairs { "--all-regions", "--release", "-y, --yes" } do
      assert.matches(text, page, 1, true)
    end
  end)

  it("ranks every region that AWS has", function ()
    local one = event(must(0, nil, CAPACITY, "--all-regions", "--json"), "capacity")
    local why = {}
    for _, region in ipairs(one.regions) do why[region.region] = region.why or "read" end
    assert.equal("read", why["eu-west-1"])
    assert.matches("not enabled", why["il-central-1"])
    assert.is_true(#one.regions > 20)
    for i = 2, #one.zones do -- the cheapest that can be used come first
      local former, zone = one.zones[i - 1], one.zones[i]
      if zone.usable then assert.is_true(former.price_per_hour <= zone.price_per_hour) end
    end
  end)

  -- Three rounds of calls: who is asking, which regions there are, all that is asked of them. No
  -- call of a world takes longer than 0.16 s.
  it("takes little longer for all regions than the slowest of its calls", function ()
    local world, leave = played.enter("calm", state)
    local began = world.now_us
    local done, _, last = played.run(CAPACITY, false, {}, { all_regions = "true",
      gpu_type = "p5.48xlarge" })
    leave()
    assert.equal("done", done)
    assert.is_true(#last.capacity.regions > 20)
    assert.is_true(world.now_us - began < 4 * 160000)
  end)

  it("names the quota that is missing and what to ask for, and asks for it once", function ()
    local _, problem = must(5, "no-quota", DEPLOY, "--plan")
    assert.matches("96 vCPU of L-DB2E81BA", problem, 1, true)
    assert.matches("L-DB2E81BA = 96", problem, 1, true)
    local text, refused = must(5, nil, CAPACITY, "--request-quota")
    assert.matches("L-DB2E81BA = 96 in us-east-2 is asked for", text, 1, true)
    assert.matches("RTL-CAP-010", refused, 1, true)
    text = must(5, nil, DEPLOY, "--request-quota", "--quota-wait", "20m")
    assert.matches("is asked for already", text, 1, true)
    assert.equal(1, #played.world(state).aws.regions["us-east-2"].quota_requests)
  end)

  it("waits for quota that is granted, and goes on", function ()
    local text = must(0, "quota-later,after=5400", DEPLOY, "--to", "cluster", "--request-quota",
      "--quota-wait", "2h")
    assert.matches("96 vCPU of L-DB2E81BA (96 granted, 0 used)", text, 1, true)
    must(0, nil, TEARDOWN)
  end)

  it("is held by --probe, and launched into by the next deployment", function ()
    local text = must(0, nil, CAPACITY, "--probe")
    assert.matches("idle it costs $9.20/h", text, 1, true)
    assert.matches("up to an hour late", text, 1, true)
    local held = reservations("us-east-2")[1]
    assert.same({ "targeted", "limited", 2 }, { held.InstanceMatchCriteria, held.EndDateType,
      held.AvailableInstanceCount })
    assert.equal(4 * 3600, held.EndDate - held.StartDate)
    local plan = must(0, nil, DEPLOY, "--probe", "--plan")
    assert.matches("held: " .. held.CapacityReservationId, plan, 1, true)
    must(0, nil, DEPLOY, "--to", "cluster")
    assert.equal(1, #reservations("us-east-2"))
    assert.equal(0, reservations("us-east-2", "active")[1].AvailableInstanceCount)
    local region = played.world(state).aws.regions["us-east-2"]
    local group = region.resource_groups:all()[1]
    assert.same({ held.CapacityReservationArn }, table.move(group.members, 1, 9, 1, {}))
    text = must(0, nil, DEPLOY, "--to", "cluster")
    assert.matches("0 to create · 0 to change · 0 to delete", text, 1, true)
    assert.matches("the nodes run in it", text, 1, true)
    must(0, nil, TEARDOWN)
    assert.same({}, reservations("us-east-2", "active"))
    assert.same({}, played.inventory(state))
  end)

  it("is given back by --release", function ()
    must(0, nil, CAPACITY, "--probe", "-r", "us-west-2")
    assert.equal(1, #reservations("us-west-2", "active"))
    local text = must(0, nil, CAPACITY, "--release", "-r", "us-east-2,us-west-2")
    assert.matches("1 hold given back", text, 1, true)
    assert.same({}, played.inventory(state))
  end)

  it("refuses a zone that no region has, and a hold that is to be given back at once", function ()
    local _, told = must(2, nil, CAPACITY, "--zones", "use2-az9")
    assert.matches("'use2-az9' is no AZ id of us-east-2", told, 1, true)
    assert.matches("There are: use2-az1, use2-az2, use2-az3", told, 1, true)
    _, told = must(2, nil, CAPACITY, "--probe", "--release")
    assert.matches("choose one", told, 1, true)
    for _, other in ipairs { "--release", "--region=us-west-2" } do
      _, told = must(2, nil, CAPACITY, "--all-regions", other)
      assert.matches("--all-regions", told, 1, true)
      assert.matches("choose one", (told:gsub("%s+", " ")), 1, true)
    end
    assert.same({}, played.inventory(state))
  end)

  it("leads a deployment to the next region, and back to it in the next run", function ()
    local text = must(0, "empty,region=us-east-2", DEPLOY, "--to", "cluster", "-r",
      "us-east-2,us-west-2", "--down-after", "6h")
    assert.matches("no capacity in use2-az2: going on in use2-az3", text, 1, true)
    assert.matches("no capacity in use2-az3: going on in us-west-2 (usw2-az2)", text, 1, true)
    assert.matches("Remove   rtl --rehearse recipes/teardown.lua --region us-west-2", text, 1, true)
    for _, item in ipairs(played.inventory(state)) do
      assert.is_nil(item:find("^us%-east%-2 "), item)
    end
    local held = reservations("us-west-2", "active")[1]
    local lasts = held.EndDate - held.StartDate -- less by what came before it
    assert.is_true(lasts <= 6 * 3600 and lasts > 6 * 3600 - 120)
    text = must(0, nil, DEPLOY, "--to", "cluster", "-r", "us-east-2,us-west-2", "--down-after",
      "6h")
    assert.matches("0 to create · 0 to change · 0 to delete", text, 1, true)
    fs.remove_tree(fs.join(state, "aws")) -- as from another machine
    must(0, nil, TEARDOWN, "-r", "us-east-2,us-west-2")
    assert.same({}, played.inventory(state))
  end)

  it("gives a hold back that a failed run leaves idle", function ()
    local text = must(1, "cluster-failure", DEPLOY, "--probe")
    assert.matches("is given back: idle it would cost $9.20/h", text, 1, true)
    assert.same({}, reservations("us-east-2", "active"))
    assert.equal(1, #reservations("us-east-2", "cancelled"))
  end)

  it("takes a reservation that was given: its zone wins, nothing is probed", function ()
    must(0, nil, CAPACITY, "--probe", "--name", "other", "--zones", "use2-az3")
    local held = reservations("us-east-2")[1].CapacityReservationId
    local text = must(0, nil, DEPLOY, "--to", "cluster", "--reservation", held)
    assert.matches("→%s+use2%-az3", text)
    assert.matches("placement group: none (reservation given)", text, 1, true)
    assert.equal(0, reservations("us-east-2", "active")[1].AvailableInstanceCount)
    must(0, nil, TEARDOWN)
    assert.equal(2, reservations("us-east-2", "active")[1].AvailableInstanceCount)
    local _, problem = must(5, nil, DEPLOY, "--plan", "--reservation", held, "--gpu-count", "3")
    assert.matches("has 2 free, 3 are needed", problem, 1, true)
    _, problem = must(5, nil, DEPLOY, "--plan", "--reservation", held, "--placement-group")
    assert.matches("RTL-CAP-006", problem, 1, true)
  end)

  it("runs a deployment in a Capacity Block that was bought", function ()
    local world, leave = played.enter("calm", state)
    local clock = require "rtl.clock"
    local session = assert(require("rtl.aws").session { region = "us-east-2" })
    local settings = { gpu_type = "p5.48xlarge", gpu_count = "2" }
    local ok, message = pcall(function ()
      local ec2 = session:client "ec2"
      local offer = ec2:all("describe_capacity_block_offerings", { InstanceType = "p5.48xlarge",
        InstanceCount = 2, CapacityDurationHours = 24 })[1]
      local block = assert(ec2:purchase_capacity_block { InstancePlatform = "Linux/UNIX",
        CapacityBlockOfferingId = offer.CapacityBlockOfferingId }).CapacityReservation
      settings.reservation = block.CapacityReservationId
      for _, state_text in ipairs { "payment-pending", "scheduled" } do
        local none, failure = played.run(DEPLOY, false, { yes = true, to = "cluster" }, settings)
        assert.is_nil(none)
        assert.matches(("is %s, from 2026-12-02T11:30:00Z"):format(state_text), failure.message, 1,
          true)
        world:advance(world.now_us + 600 * 1000000)
      end
      world:advance(world.now_us + math.ceil(offer.StartDate - clock.utc() + 60) * 1000000)
      assert.equal("done", (played.run(DEPLOY, false, { yes = true, to = "cluster" }, settings)))
      local region = world.aws.regions["us-east-2"]
      local group = region.clusters:all()[1].nodegroups:first(function (one)
        return one.capacityType == "CAPACITY_BLOCK"
      end)
      assert.same({}, table.move(group.instanceTypes or {}, 1, 9, 1, {}))
      local inside = region.instances:all(function (one)
        return one.CapacityReservationId == block.CapacityReservationId
      end)
      assert.equal(2, #inside)
      assert.equal(32, #inside[1].NetworkInterfaces)
      assert.equal("done", (played.run(TEARDOWN, false, { yes = true }, settings)))
      assert.equal("active", ec2:all("describe_capacity_reservations", {
        CapacityReservationIds = { block.CapacityReservationId } })[1].State)
    end)
    leave()
    if not ok then error(message, 0) end
  end)

  it("says of a Capacity Block that was not paid in time that it is none", function ()
    local world, leave = played.enter("unpaid-block", state)
    local ok, message = pcall(function ()
      local ec2 = assert(require("rtl.aws").session { region = "us-east-2" }):client "ec2"
      local offer = ec2:all("describe_capacity_block_offerings", { InstanceType = "p5.48xlarge",
        InstanceCount = 2, CapacityDurationHours = 24 })[1]
      local block = assert(ec2:purchase_capacity_block { InstancePlatform = "Linux/UNIX",
        CapacityBlockOfferingId = offer.CapacityBlockOfferingId }).CapacityReservation
      world:advance(world.now_us + 43201 * 1000000)
      local none, failure = played.run(DEPLOY, false, { plan = true }, { gpu_type = "p5.48xlarge",
        gpu_count = "2", reservation = block.CapacityReservationId })
      assert.is_nil(none)
      assert.equal("RTL-CAP-005", failure.code)
      assert.matches("is payment-failed", failure.message, 1, true)
    end)
    leave()
    if not ok then error(message, 0) end
  end)

  it("takes types from a file of the team, and says what is wrong in it", function ()
    local path = fs.join(state, "types.lua")
    local function types(text) assert(fs.write(path, text)) end
    types [[return { ["x9.large"] = { gpus = 1, vcpu = 2 } }]]
    local _, problem = must(2, nil, CAPACITY, "--instance-types", path)
    assert.matches("x9.large: field%s+'cards' is missing", problem)
    types [[return { ["g6.12xlarge"] = { gpus = 4, gpu = "L4", gpu_memory_gib = 96, vcpu = 64,
      memory_gib = 192, cards = 1, efa = 1, quota = "L-DB2E81BA" } }]]
    _, problem = must(5, nil, DEPLOY, "--plan", "--instance-types", path)
    assert.matches("g6.12xlarge: vcpu is 48 by EC2, 64 by rtl's table", problem, 1, true)
    _, problem = must(2, nil, DEPLOY, "--plan", "--gpu-type", "x9.large")
    assert.matches("instance_types", problem, 1, true)
  end)
end)
