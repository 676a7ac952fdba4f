-- A lease: AWS ends what bills, with nobody there.
local bill = require "rtl.rehearse.aws.bill"
local clock = require "rtl.clock"
local events = require "rtl.recipe.events"
local fs = require "rtl.fs"
local played = require "test.support.played"
local rehearse_aws = require "rtl.rehearse.aws"

-- The operations that begin to cost money.
local BILLABLE = { allocate_address = true, create_nat_gateway = true, create_cluster = true,
  create_nodegroup = true, create_capacity_reservation = true }

-- A world in which `f(world, play)` runs; play(recipe, options, words) → exit name, lines of text.
local function in_world(spec, f)
  local state = assert(fs.temp_dir "rtl-lease-")
  local world, restore = played.enter(spec, state)
  local perform = world.performers.aws
  world.asked = {}
  world.performers.aws = function (w, args)
    world.asked[#world.asked + 1] = args.o
    return perform(w, args)
  end
  local function play(name, options, words)
    local bus, lines = events.bus(), {}
    bus:add(function (event)
      for _, line in ipairs(event.type == "text" and event.lines or {}) do
        lines[#lines + 1] = line
      end
    end)
    local exit, outcome = played.run("recipes/" .. name .. ".lua", false, nil, options,
      { words = words, bus = bus })
    return exit, table.concat(lines, "\n"), outcome
  end
  local ok, failure = xpcall(f, debug.traceback, world, play)
  restore()
  fs.remove_tree(state)
  if not ok then error(failure, 0) end
end

local function first(list, wanted)
  for i, name in ipairs(list) do
    if wanted[name] then return i end
  end
end

local function last(list, wanted)
  for i = #list, 1, -1 do
    if list[i] == wanted then return i end
  end
end

local function advance(world, seconds)
  world:advance(world.now_us + seconds * 1000000)
end

describe("a lease", function ()
  it("is made before anything that bills, and ends all of it with nobody there", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { down_after = "4h" })))
      local billable = assert(first(world.asked, BILLABLE))
      assert.is_true(last(world.asked, "create_schedule") < billable)
      assert.is_true(#bill.running(world) > 5)
      advance(world, 3 * 3600)
      assert.is_true(#bill.running(world) > 5, "ended too early")
      advance(world, 2 * 3600)
      assert.same({}, bill.running(world))
      local _, sum = bill.lines(world)
      advance(world, 24 * 3600)
      local _, later = bill.lines(world)
      assert.equal(sum, later)
      assert.equal("done", (play "teardown"))
      assert.same({}, rehearse_aws.standing(world))
    end)
  end)

  it("ends in order: cluster and NAT gateway after the nodes, the address last", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { down_after = "1h" })))
      advance(world, 5 * 3600)
      local ended, seen = {}, {}
      for _, shot in ipairs(world.aws.fired) do
        if not shot.code and not seen[shot.name] then
          seen[shot.name] = true
          ended[#ended + 1] = shot.target:match("([^:]+)$")
        end
      end
      assert.same({ "deleteNodegroup", "deleteNodegroup", "deleteCluster", "deleteNatGateway",
        "releaseAddress" }, ended)
    end)
  end)

  it("tries again what AWS refuses at first", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { down_after = "1h" })))
      local cluster = world.aws.regions["us-east-2"].clusters:get "ray-train"
      local begun = #world.aws.regions["us-east-2"].schedules.order
      assert.equal(5, begun)
      -- A node group of somebody else holds the cluster up for forty minutes.
      cluster.nodegroups:add("foreign", { nodegroupName = "foreign", status = "ACTIVE", tags = {} })
      world:after(100 * 60, function () cluster.nodegroups:remove "foreign" end)
      advance(world, 6 * 3600)
      local refused = 0
      for _, shot in ipairs(world.aws.fired) do
        if shot.code == "ResourceInUseException" then refused = refused + 1 end
      end
      assert.is_true(refused >= 3)
      assert.same({}, bill.running(world))
      assert.equal(0, #world.aws.regions["us-east-2"].schedules.order)
    end)
  end)

  it("tries again by its retry policy what fails at AWS", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { down_after = "1h" })))
      local perform, left = world.performers.aws, 3
      world.performers.aws = function (w, args)
        if args.o == "delete_cluster" and left > 0 then
          left = left - 1
          return nil, { fault = true, code = "ServerException", message = "x", status = 500 }
        end
        return perform(w, args)
      end
      advance(world, 3 * 3600)
      local at = {}
      for _, shot in ipairs(world.aws.fired) do
        if shot.target:find "deleteCluster" and #at < 4 then
          at[#at + 1] = shot.at
          assert.equal(#at < 4 and "ServerException" or nil, shot.code)
        end
      end
      assert.same({ 1.0, 2.0, 4.0 }, { at[2] - at[1], at[3] - at[2], at[4] - at[3] })
      assert.same({}, bill.running(world))
    end)
  end)

  it("may end these things and nothing else, and only for its own schedules", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { down_after = "1h" })))
      local role = assert(world.aws.iam.roles:get "ray-train-lease-us-east-2")
      local trust = role.AssumeRolePolicyDocument.Statement[1]
      assert.equal("scheduler.amazonaws.com", trust.Principal.Service)
      assert.same({ StringEquals = { ["aws:SourceAccount"] = "000000009012", ["aws:SourceArn"] =
        "arn:aws:scheduler:us-east-2:000000009012:schedule-group/ray-train-lease" } },
        trust.Condition)
      local allowed = {}
      for _, statement in ipairs(role.inline:get("end").document.Statement) do
        assert.equal("Allow", statement.Effect)
        allowed[statement.Action .. " " .. statement.Resource] = statement.Condition or true
      end
      local ec2, tagged = "arn:aws:ec2:us-east-2:000000009012:", { StringEquals = {
        ["aws:ResourceTag/rtl:deployment"] = "ray-train" } }
      local eks = "arn:aws:eks:us-east-2:000000009012:"
      assert.same({
        ["ec2:DeleteNatGateway " .. ec2 .. "natgateway/*"] = tagged,
        ["ec2:ReleaseAddress " .. ec2 .. "elastic-ip/*"] = tagged,
        ["eks:DeleteCluster " .. eks .. "cluster/ray-train"] = true,
        ["eks:DeleteNodegroup " .. eks .. "nodegroup/ray-train/gpu-workers-use2-az2/*"] = true,
        ["eks:DeleteNodegroup " .. eks .. "nodegroup/ray-train/system/*"] = true,
      }, allowed)
    end)
  end)

  it("stays as it is when the same is asked again, also after it was extended", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { down_after = "4h" })))
      local schedule = world.aws.regions["us-east-2"].schedules:get(
        "ray-train-lease/node_group-system")
      local began = clock.parse_iso "2026-12-01T10:00:00Z"
      assert.is_true(math.abs(schedule.StartDate - began - 4 * 3600) < 60)
      local exit, text = play("lease", nil, { "extend", "90m" })
      assert.equal("done", exit)
      assert.truthy(text:find("now ends 2026-12-01T15:30", 1, true))
      assert.is_true(math.abs(schedule.StartDate - began - 5.5 * 3600) < 60)
      local moved = schedule.StartDate
      assert.equal("done", (play("deploy", { down_after = "4h" })))
      assert.equal(moved, schedule.StartDate)
      assert.equal("done", (play "deploy"))
      assert.equal(moved, schedule.StartDate)
      assert.equal("done", (play("deploy", { down_after = "8h" })))
      assert.is_true(schedule.StartDate > moved + 3600)
    end)
  end)

  it("ends at once when it is told to, and is gone when it is taken away", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { down_after = "9h" })))
      assert.equal("done", (play("lease", nil, { "end" })))
      advance(world, 1800)
      assert.same({}, bill.running(world))
      local exit, _, failure = play "deploy"
      assert.is_nil(exit)
      assert.equal("RTL-LEASE-001", failure.code)
      assert.equal("done", (play("deploy", { down_after = "2h" })))
      assert.equal("done", (play("lease", nil, { "cancel" })))
      assert.equal(0, #world.aws.regions["us-east-2"].schedule_groups.order)
      advance(world, 24 * 3600)
      assert.is_true(#bill.running(world) > 5)
      assert.equal("done", (play "teardown"))
      assert.same({}, rehearse_aws.standing(world))
    end)
  end)

  it("keeps the bill below --max-cost", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { max_cost = "20" })))
      advance(world, 24 * 3600)
      assert.same({}, bill.running(world))
      local _, sum = bill.lines(world)
      assert.is_true(sum <= 20 and sum > 17, tostring(sum))
    end)
  end)

  it("ends a hold, too", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { down_after = "2h", probe = "true" })))
      local billable = assert(first(world.asked, BILLABLE))
      assert.is_true(last(world.asked, "create_schedule") < billable)
      local region = world.aws.regions["us-east-2"]
      local hold = region.reservations:get(region.reservations.order[1])
      advance(world, 3 * 3600)
      assert.equal("cancelled", hold.State)
      assert.same({}, bill.running(world))
    end)
  end)

  it("ends at the earlier of time and cost", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { max_cost = "100", down_after = "1h" })))
      local schedule = world.aws.regions["us-east-2"].schedules:get(
        "ray-train-lease/node_group-system")
      assert.is_true(schedule.StartDate - world:now() < 3600)
      assert.truthy(schedule.Description:find("asked: down-after 1h, max-cost 100", 1, true))
    end)
  end)

  it("ends within a year, whatever it may cost", function ()
    in_world("calm", function (world, play)
      assert.equal("done", (play("deploy", { max_cost = "1000000" })))
      local schedule = world.aws.regions["us-east-2"].schedules:get(
        "ray-train-lease/node_group-system")
      assert.is_true(math.abs(schedule.StartDate - world:now() - 365 * 86400) < 3600)
    end)
  end)

  it("refuses what ends before it begins", function ()
    in_world("calm", function (world, play)
      local exit, _, failure = play("deploy", { max_cost = "2" })
      assert.is_nil(exit)
      assert.equal("RTL-LEASE-002", failure.code)
      exit, _, failure = play("deploy", { down_after = "2m" })
      assert.is_nil(exit)
      assert.equal("RTL-LEASE-002", failure.code)
      assert.is_nil(first(world.asked, BILLABLE))
    end)
  end)

  it("says what a time looks like", function ()
    in_world("calm", function (_, play)
      local wrong = { ["90"] = "'90' is not a duration such as", ["0s"] = "0s is below" }
      for word, told in pairs(wrong) do
        local exit, _, failure = play("lease", nil, { "extend", word })
        assert.is_nil(exit)
        assert.equal("usage", failure.exit)
        assert.matches(told, tostring(failure), 1, true)
      end
    end)
  end)
end)
