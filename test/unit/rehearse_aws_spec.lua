-- What the world's AWS does beyond single answers: signatures, machines of node groups and why they
-- fail, schedules that fire, what stands.
local aws = require "rtl.aws"
local clock = require "rtl.clock"
local rehearse_aws = require "rtl.rehearse.aws"
local task = require "rtl.task"
local wire = require "rtl.wire"
local world = require "test.support.world"

local REGION = "us-east-2"

local function ok(value, failure)
  if value == nil then error(tostring(failure), 2) end
  return value
end

describe("the world's AWS", function ()
  local server, clients

  lazy_setup(function () server = world.start() end)
  lazy_teardown(function () server:stop() end)
  before_each(function ()
    server.spec = "calm"
    server:reset()
    clients = {}
  end)

  local function client(service)
    clients[service] = clients[service] or server:session({ region = REGION }):client(service)
    return clients[service]
  end

  local function with_scenario(text)
    server.spec = text
    server:reset()
    clients = {}
  end

  describe("asks for a right signature:", function ()
    local function refused(options)
      options.region = REGION
      local keys = world.KEYS
      options.credentials = options.credentials or keys
      local session = assert(aws.session(options))
      local value, e = session:client("ec2"):describe_vpcs {}
      assert.is_nil(value)
      return e.code
    end

    it("of a known key, with its secret and its token", function ()
      local keys = world.KEYS
      assert.equal("AuthFailure", refused { credentials = { access_key_id = "AKIANOBODY",
        secret_access_key = "x", session_token = keys.session_token } })
      assert.equal("AuthFailure", refused { credentials = {
        access_key_id = keys.access_key_id, secret_access_key = "wrong",
        session_token = keys.session_token } })
      assert.equal("InvalidClientTokenId", refused { credentials = {
        access_key_id = keys.access_key_id, secret_access_key = keys.secret_access_key } })
    end)

    it("of now", function ()
      clock.correct(-3600)
      local session = server:session { region = REGION }
      local value = session:client("ec2"):describe_vpcs {}
      assert.is_table(value) -- the client has learnt the time from the first answer
      clock.correct(0)
    end)

    it("at all", function ()
      local res = assert(wire.request { method = "POST",
        url = "https://ec2.us-east-2.amazonaws.com/",
        body = "Action=DescribeVpcs&Version=2016-11-15" })
      assert.equal(403, res.status)
      assert.matches("MissingAuthenticationToken", res.body, 1, true)
    end)
  end)

  it("knows no host but its own", function ()
    for _, host in ipairs { "example.com", "ec2.us-east-9.amazonaws.com.evil.example" } do
      local res, e = wire.request { url = "https://" .. host .. "/" }
      assert.is_nil(res)
      assert.equal("RTL-NET-001", e.code)
    end
    local res, e = wire.request { url = "http://169.254.169.254/latest/api/token" }
    assert.is_nil(res)
    assert.equal("RTL-NET-005", e.code)
  end)

  it("refuses parameters that it does not know, in each protocol's way", function ()
    local call = function (service, text)
      local keys = world.KEYS
      local url = ("https://%s.us-east-2.amazonaws.com/"):format(service)
      local headers = { ["content-type"] = "application/x-www-form-urlencoded; charset=utf-8" }
      local added = require "rtl.native.crypto".sigv4.sign { method = "POST", url = url,
        headers = headers, body = text, region = REGION, service = service,
        time = clock.amz(clock.utc()), access_key_id = keys.access_key_id,
        secret_access_key = keys.secret_access_key, session_token = keys.session_token }
      for name, value in pairs(headers) do added[#added + 1] = { name, value } end
      return assert(wire.request { method = "POST", url = url, headers = added, body = text })
    end
    local res = call("ec2", "Action=DescribeVpcs&Version=2016-11-15&VpcIds.1=vpc-1")
    assert.equal(400, res.status)
    assert.matches("<Code>UnknownParameter</Code>", res.body, 1, true)
    res = call("ec2", "Action=DeleteVpc&Version=2016-11-15")
    assert.matches("<Code>MissingParameter</Code>", res.body, 1, true)
    res = call("ec2", "Action=NoSuchThing&Version=2016-11-15")
    assert.matches("<Code>InvalidAction</Code>", res.body, 1, true)
  end)

  -- A cluster in two private subnets, one of them with a way out; returns what a group needs.
  local function cluster(options)
    local ec2, iam, eks = client "ec2", client "iam", client "eks"
    local vpc = ok(ec2:create_vpc { CidrBlock = "10.42.0.0/16" }).Vpc.VpcId
    local function subnet(cidr, zone)
      return ok(ec2:create_subnet { VpcId = vpc, CidrBlock = cidr,
                                    AvailabilityZoneId = zone }).Subnet.SubnetId
    end
    local public, first, second = subnet("10.42.0.0/24", "use2-az2"),
      subnet("10.42.1.0/24", "use2-az2"), subnet("10.42.2.0/24", "use2-az3")
    local gateway = ok(ec2:create_internet_gateway {}).InternetGateway.InternetGatewayId
    ok(ec2:attach_internet_gateway { InternetGatewayId = gateway, VpcId = vpc })
    if not options.no_way_out then
      local address = ok(ec2:allocate_address {}).AllocationId
      local nat = ok(ec2:create_nat_gateway { SubnetId = public,
                                              AllocationId = address }).NatGateway.NatGatewayId
      local routes = ok(ec2:create_route_table { VpcId = vpc }).RouteTable.RouteTableId
      ok(ec2:create_route { RouteTableId = routes, DestinationCidrBlock = "0.0.0.0/0",
                            NatGatewayId = nat })
      for _, id in ipairs { first, second } do
        ok(ec2:associate_route_table { RouteTableId = routes, SubnetId = id })
      end
    end
    local function role(name, service, ...)
      local arn = ok(iam:create_role { RoleName = name, AssumeRolePolicyDocument = {
        Version = "2012-10-17", Statement = { { Effect = "Allow", Action = "sts:AssumeRole",
          Principal = { Service = service } } } } }).Role.Arn
      for _, policy in ipairs { ... } do
        ok(iam:attach_role_policy { RoleName = name,
                                    PolicyArn = "arn:aws:iam::aws:policy/" .. policy })
      end
      return arn
    end
    local cluster_role = role("c", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
    local node_role = role("n", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy",
                           "AmazonEC2ContainerRegistryPullOnly")
    task.sleep(15)
    ok(eks:create_cluster { name = "demo", roleArn = cluster_role, resourcesVpcConfig = {
      subnetIds = { first, second } }, accessConfig = { authenticationMode = "API" },
      bootstrapSelfManagedAddons = false })
    ok(eks:wait("cluster_active", { name = "demo" }))
    if not options.no_cni then
      ok(eks:create_addon { clusterName = "demo", addonName = "vpc-cni" })
    end
    return { first = first, second = second, role = node_role, group = ok(eks:describe_cluster {
      name = "demo" }).cluster.resourcesVpcConfig.clusterSecurityGroupId }
  end

  local function node_group(parts, more)
    local create = { clusterName = "demo", nodegroupName = "g", subnets = { parts.first },
      nodeRole = parts.role, scalingConfig = { minSize = 2, maxSize = 2, desiredSize = 2 } }
    if not (more or {}).launchTemplate then create.instanceTypes = { "m7i.xlarge" } end
    for name, value in pairs(more or {}) do create[name] = value end
    ok(client("eks"):create_nodegroup(create))
    local function find()
      return ok(client("eks"):describe_nodegroup { clusterName = "demo",
                                                    nodegroupName = "g" }).nodegroup
    end
    for _ = 1, 400 do
      local group = find()
      if group.status ~= "CREATING" then return group end
      task.sleep(10)
    end
    error "the group stays CREATING"
  end

  it("brings the machines of a node group up as Ready nodes", function ()
    local parts = cluster {}
    local group = node_group(parts)
    assert.equal("ACTIVE", group.status)
    local reservations = ok(client("ec2"):all("describe_instances", {}))
    assert.equal(2, #reservations)
    local item = reservations[1].Instances[1]
    assert.equal("running", item.State.Name)
    assert.equal(parts.group, item.SecurityGroups[1].GroupId)
    assert.equal(2, #ok(client("ec2"):all("describe_volumes", {})))
    local scaling = ok(client("autoscaling"):all("describe_auto_scaling_groups", {
      AutoScalingGroupNames = { group.resources.autoScalingGroups[1].name } }))[1]
    assert.equal(2, #scaling.Instances)
    ok(client("eks"):delete_nodegroup { clusterName = "demo", nodegroupName = "g" })
    ok(client("eks"):wait("nodegroup_deleted", { clusterName = "demo", nodegroupName = "g" }))
    assert.same({}, ok(client("ec2"):all("describe_volumes", {})))
    assert.same({}, ok(client("iam"):all("list_instance_profiles_for_role", { RoleName = "n" })))
  end)

  it("says in activities why there are no machines, and gives up after twenty minutes", function ()
    with_scenario "no-capacity"
    local parts = cluster {}
    local began = clock.utc()
    local group = node_group(parts, { instanceTypes = { "g6.12xlarge" },
                                      amiType = "AL2023_x86_64_NVIDIA" })
    assert.equal("CREATE_FAILED", group.status)
    assert.equal("AsgInstanceLaunchFailures", group.health.issues[1].code)
    assert.is_true(clock.utc() - began > 1200)
    local activities = ok(client("autoscaling"):all("describe_scaling_activities", {
      AutoScalingGroupName = group.resources.autoScalingGroups[1].name }))
    assert.equal("Failed", activities[1].StatusCode)
    assert.matches("do not have sufficient g6.12xlarge capacity", activities[1].StatusMessage, 1,
                   true)
  end)

  it("counts vCPUs against the quota of the family", function ()
    with_scenario "no-quota"
    local parts = cluster {}
    local group = node_group(parts, { instanceTypes = { "g6.12xlarge" } })
    assert.matches("vCPU limit of 0", group.health.issues[1].message, 1, true)
  end)

  it("lets no node join without a way out, or without the cluster's group", function ()
    local group = node_group(cluster { no_way_out = true })
    assert.equal("NodeCreationFailure", group.health.issues[1].code)
    server:reset()
    clients = {}
    local parts = cluster {}
    local vpc = ok(client("ec2"):all("describe_subnets", { SubnetIds = { parts.first } }))[1].VpcId
    local own = ok(client("ec2"):create_security_group { GroupName = "own", Description = "x",
                                                         VpcId = vpc }).GroupId
    local template = ok(client("ec2"):create_launch_template { LaunchTemplateName = "t",
      LaunchTemplateData = { InstanceType = "m7i.xlarge", NetworkInterfaces = { {
        DeviceIndex = 0, Groups = { own } } } } }).LaunchTemplate.LaunchTemplateId
    group = node_group(parts, { launchTemplate = { id = template, version = "1" } })
    assert.equal("NodeCreationFailure", group.health.issues[1].code)
  end)

  it("lets no node get Ready without the CNI", function ()
    local group = node_group(cluster { no_cni = true })
    assert.equal("NodeCreationFailure", group.health.issues[1].code)
  end)

  it("takes a new version of a group's template, and no other template", function ()
    local parts = cluster {}
    local ec2, eks = client "ec2", client "eks"
    local data = { InstanceType = "m7i.xlarge", MetadataOptions = { HttpTokens = "required" } }
    local id = ok(ec2:create_launch_template { LaunchTemplateName = "t",
                                               LaunchTemplateData = data }).LaunchTemplate
               .LaunchTemplateId
    assert.equal("ACTIVE", node_group(parts, { launchTemplate = { id = id } }).status)
    ok(ec2:create_launch_template_version { LaunchTemplateId = id, LaunchTemplateData = data })
    local named = { clusterName = "demo", nodegroupName = "g",
                    launchTemplate = { id = "lt-0123456789abcdef0", version = "2" } }
    local value, e = eks:update_nodegroup_version(named)
    assert.is_nil(value)
    assert.equal("InvalidParameterException", e.code)
    named.launchTemplate.id = id
    ok(eks:update_nodegroup_version(named))
    task.sleep(400)
    assert.equal("2", ok(eks:describe_nodegroup { clusterName = "demo",
                                                  nodegroupName = "g" }).nodegroup.launchTemplate
                         .version)
  end)

  -- A role that the scheduler may take, to end node groups.
  local function lease_role()
    local role = ok(client("iam"):create_role { RoleName = "lease", AssumeRolePolicyDocument = {
      Version = "2012-10-17", Statement = { { Effect = "Allow", Action = "sts:AssumeRole",
        Principal = { Service = "scheduler.amazonaws.com" } } } } }).Role.Arn
    ok(client("iam"):put_role_policy { RoleName = "lease", PolicyName = "end", PolicyDocument = {
      Version = "2012-10-17", Statement = { { Effect = "Allow", Resource = "*",
        Action = "eks:DeleteNodegroup" } } } })
    task.sleep(15)
    return role
  end

  local function at(seconds)
    return ("at(%s)"):format(clock.iso(clock.utc() + seconds):sub(1, -2))
  end

  -- Makes a schedule in an hour that ends the node group "g", but for what `more` says.
  local function schedule(role, more)
    local wanted = { Name = "end", FlexibleTimeWindow = { Mode = "OFF" },
      ScheduleExpression = at(3600), ActionAfterCompletion = "DELETE", Target = { RoleArn = role,
        Arn = "arn:aws:scheduler:::aws-sdk:eks:deleteNodegroup",
        Input = { ClusterName = "demo", NodegroupName = "g" } } }
    for key, value in pairs(more or {}) do wanted[key] = value end
    return client("scheduler"):create_schedule(wanted)
  end

  it("refuses schedules as AWS does, and says which ones the world does not play", function ()
    local role, now = lease_role(), math.floor(clock.utc())
    local function refused(more)
      local answer, e = schedule(role, more)
      assert.is_nil(answer)
      return { e.code, e.message }
    end
    local day = "rate(1 days)"
    assert.same({ "ValidationException", "The StartDate you specify cannot be earlier than 5 "
      .. "minutes ago." }, refused { ScheduleExpression = day, StartDate = now - 400 })
    assert.same({ "ValidationException", "The EndDate you specify must be after the StartDate." },
      refused { ScheduleExpression = day, StartDate = now + 60, EndDate = now + 60 })
    for _, wrong in ipairs { "at(tomorrow)", "at(2030-02-31T00:00:00)", "rate(x)", "hourly" } do
      assert.same({ "ValidationException", "Invalid Schedule Expression " .. wrong .. "." },
        refused { ScheduleExpression = wrong })
    end
    for text, more in pairs { ["cron"] = { ScheduleExpression = "cron(0 12 * * ? *)" },
      ["has passed"] = { ScheduleExpression = at(-60) },
      ["Europe/Berlin"] = { ScheduleExpressionTimezone = "Europe/Berlin" },
      ["flexible"] = { FlexibleTimeWindow = { Mode = "FLEXIBLE", MaximumWindowInMinutes = 5 } },
      ["sqs"] = { Target = { Arn = "arn:aws:sqs:us-east-2:1:q", RoleArn = role } } } do
      local told = refused(more)
      assert.equal("NotSimulated", told[1])
      assert.matches(text, told[2], 1, true)
    end
    ok(schedule(role, { ScheduleExpression = day, StartDate = now - 200,
      ScheduleExpressionTimezone = "UTC" }))
  end)

  it("tries a schedule's call again as often and as long as its retry policy says", function ()
    local role = lease_role()
    local policies = { often = { MaximumRetryAttempts = 3 }, long = { MaximumRetryAttempts = 50,
      MaximumEventAgeInSeconds = 60 } }
    for name, policy in pairs(policies) do
      ok(schedule(role, { Name = name, Target = { RoleArn = role, RetryPolicy = policy,
        Arn = "arn:aws:scheduler:::aws-sdk:eks:deleteNodegroup",
        Input = { ClusterName = "demo", NodegroupName = "g" } } }))
    end
    server.world.performers.aws = function ()
      return nil, { fault = true, code = "ThrottlingException", status = 429 }
    end
    local due = server.world:now() + 3600
    server.world:advance(server.world.now_us + 7200 * 1000000)
    local times = { often = {}, long = {} }
    for _, one in ipairs(server.world.aws.fired) do
      table.insert(times[one.name], one.at)
    end
    for _, list in pairs(times) do assert.is_true(list[1] >= due and list[1] < due + 60) end
    assert.equal(4, #times.often)
    assert.equal(6, #times.long) -- after 1, 3, 7, 15 and 31 s; the next is later than 60 s
  end)

  it("fires its schedules with nobody there", function ()
    local parts = cluster {}
    assert.equal("ACTIVE", node_group(parts).status)
    ok(schedule(lease_role()))
    task.sleep(3000)
    assert.same({ "g" }, ok(client("eks"):all("list_nodegroups", { clusterName = "demo" })))
    task.sleep(1200)
    assert.same({}, ok(client("eks"):all("list_nodegroups", { clusterName = "demo" })))
    assert.same({}, ok(client("scheduler"):all("list_schedules", {})))
  end)

  it("knows what stands, and that an account's own things do not count", function ()
    assert.same({}, rehearse_aws.standing(server.world))
    ok(client("ec2"):describe_vpcs {})
    assert.same({}, rehearse_aws.standing(server.world))
    local vpc = ok(client("ec2"):create_vpc { CidrBlock = "10.42.0.0/16" }).Vpc.VpcId
    local standing = rehearse_aws.standing(server.world)
    assert.equal(1, #standing)
    assert.equal(vpc, standing[1].id)
    ok(client("ec2"):delete_vpc { VpcId = vpc })
    assert.same({}, rehearse_aws.standing(server.world))
  end)
end)
