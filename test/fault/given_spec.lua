-- A deployment among things that were given: the network, the cluster, the roles, the bucket of
-- others. It uses them, and after its teardown they stand as they stood, down to the last tag.

local aws = require "rtl.aws"
local fs = require "rtl.fs"
local played = require "test.support.played"
local task = require "rtl.task"

local DEPLOY, TEARDOWN = "recipes/deploy.lua", "recipes/teardown.lua"

describe("a deployment among given things", function ()
  local state, world, leave, calls, region

  -- What is sent to AWS, in which the calls of EC2 have their names.
  local function watch(impl)
    local request = impl.request
    impl.request = function (wanted)
      if type(wanted.body) == "string" then calls[#calls + 1] = wanted.body end
      return request(wanted)
    end
    return impl
  end

  before_each(function ()
    state, calls = fs.temp_dir "rtl-given-", {}
    world, leave = played.enter("calm", state, watch)
    assert.equal("done", (played.run(DEPLOY, false, { yes = true, to = "cluster" },
      { name = "host" })))
    region = world.aws.regions["us-east-2"]
  end)
  after_each(function ()
    leave()
    fs.remove_tree(state)
  end)

  local function call(service, operation, parameters)
    return task.run(function ()
      local session = assert(aws.session { region = "us-east-2" })
      return assert(session:client(service):call(operation, parameters))
    end)
  end

  local function role(name)
    return world.aws.iam.roles:get(("host-%s-us-east-2"):format(name)).Arn
  end

  -- The host's network and a role of it; `more` settings beside.
  local function given(more)
    local subnets = {}
    for _, one in ipairs(region.subnets:all()) do
      if not one.native and not one.MapPublicIpOnLaunch then
        subnets[#subnets + 1] = one
      end
    end
    table.sort(subnets, function (a, b) return a.AvailabilityZoneId < b.AvailabilityZoneId end)
    for i, one in ipairs(subnets) do subnets[i] = one.SubnetId end
    local settings = { name = "guest", namespace = "guest", node_role = role "node",
      vpc_id = region.vpcs:first(function (one) return not one.native end).VpcId,
      private_subnets = table.concat(subnets, ",") }
    for key, value in pairs(more or {}) do settings[key] = value end
    return settings
  end

  local function count(form)
    local n = 0
    for _, body in ipairs(calls) do
      if body:find(form) then n = n + 1 end
    end
    return n
  end

  -- The cluster of the host, without nodes of its own.
  local function empty_the_cluster()
    for _, group in ipairs(region.clusters:get("host").nodegroups:all()) do
      call("eks", "delete_nodegroup", { clusterName = "host", nodegroupName = group.nodegroupName })
    end
    task.run(task.sleep, 1800)
  end

  -- What stands; the memory of a job is not among it, which went with its head pod.
  local function standing()
    local list = {}
    for _, line in ipairs(played.list(world)) do
      if not line:find "^job " then list[#list + 1] = line end
    end
    return list
  end

  -- Deploys and tears down; `between` happens meanwhile.
  local function play_guest(settings, between)
    local before = standing()
    calls = {}
    local exit, outcome = played.run(DEPLOY, false, { yes = true }, settings)
    assert.equal("done", exit, tostring(outcome))
    assert.equal("done", (played.run(DEPLOY, false, { plan = true, exit_code = true }, settings)))
    if between then between() end
    local gone, why = played.run(TEARDOWN, false, { yes = true },
      { name = "guest", purge = "true" })
    assert.equal("done", gone, tostring(why))
    assert.is_nil(played.difference(before, standing()))
  end

  it("changes nothing of a given network, of given roles, of a given bucket", function ()
    call("s3", "create_bucket", { Bucket = "team-data",
      CreateBucketConfiguration = { LocationConstraint = "us-east-2" } })
    call("s3", "put_object", { Bucket = "team-data", Key = "thesis", Body = "years of work" })
    play_guest(given { cluster_role = role "cluster", use_bucket = "team-data" })
    for _, name in ipairs { "CreateVpc", "ModifyVpcAttribute", "CreateSubnet", "CreateNatGateway",
      "CreateRouteTable", "AllocateAddress", "CreateInternetGateway" } do
      assert.equal(0, count("Action=" .. name), name)
    end
    assert.is_true(count "Action=CreateSecurityGroup" > 0)
  end)

  it("leaves nothing in a given cluster, and its add-ons alone", function ()
    empty_the_cluster()
    play_guest(given { use_cluster = "host", bucket = "guest-data",
      admins = "arn:aws:iam::000000009012:role/team/ops" }, function ()
        local exit, _, last = played.run(TEARDOWN, false, { yes = true }, { name = "guest" })
        assert.equal("done", exit)
        assert.equal(1, #last.teardown.kept)
        assert.equal("guest-data", last.teardown.kept[1].id)
        assert.truthy(region.buckets:get "guest-data")
      end)
    assert.is_nil(region.buckets:get "guest-data")
    assert.is_nil(region.clusters:get "guest")
  end)

  it("uses the groups of a given cluster, and makes no node", function ()
    local host = {}
    for _, group in ipairs(region.clusters:get("host").nodegroups:all()) do
      host[group.nodegroupName == "system" and "system" or "gpu"] = group.nodegroupName
    end
    local efa = region.security_groups:first(function (one) return one.GroupName == "host-efa" end)
    play_guest(given { use_cluster = "host", use_system_group = host.system, node_role = "",
      use_gpu_group = host.gpu, efa_security_group = efa.GroupId }, function ()
        local _, _, last = played.run("recipes/status.lua", false, {}, { name = "guest",
          namespace = "guest" })
        local text = table.concat(last.text.lines, "\n")
        assert.matches("ray_cluster", text, 1, true) -- found in the host's cluster
        assert.matches("kuberay-operator", text, 1, true)
      end)
    for _, name in ipairs { "CreateLaunchTemplate", "CreateSecurityGroup", "CreateRole" } do
      assert.equal(0, count("Action=" .. name), name)
    end
  end)

  it("leaves nothing in a given cluster without its ledger either", function ()
    empty_the_cluster()
    play_guest(given { use_cluster = "host", bucket = "guest-data", down_after = "6h",
      placement_group = "true", admins = "arn:aws:iam::000000009012:role/team/ops" }, function ()
      assert(fs.remove_tree(fs.join(state, "aws")))
    end)
  end)
end)
