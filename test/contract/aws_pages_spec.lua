-- Every paginated operation with pages of 1 to 5 items, cut by the judge: the same as in one piece.
local json = require "rtl.native.json"
local model = require "rtl.aws.model"
local moto = require "test.support.moto"
local wire = require "rtl.wire"

local COUNT = 6 -- more than the largest page
local POLICY = "arn:aws:iam::aws:policy/"
local MANAGED = { "AmazonEKSClusterPolicy", "AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy",
  "AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly",
  "AmazonSSMManagedInstanceCore" }
local ACCESS = { "AmazonEKSClusterAdminPolicy", "AmazonEKSAdminPolicy", "AmazonEKSEditPolicy",
  "AmazonEKSViewPolicy", "AmazonEKSAdminViewPolicy", "AmazonEKSAutoNodePolicy" }
local ROLE = "arn:aws:iam::123456789012:role/r1"

-- Operations that nothing here can answer with so many items: why.
local NOT = {
  ["eks:describe_addon_versions"] = "moto lacks it", ["eks:list_updates"] = "moto lacks it",
  ["eks:describe_cluster_versions"] = "moto lacks it",
  ["resource_groups:list_group_resources"] = "moto lacks it",
  ["service_quotas:list_service_quotas"] = "moto has quotas of VPC only, and too few",
  ["service_quotas:list_requested_service_quota_change_history_by_quota"] = "moto lacks it",
}

local server, session
local made = {} -- ids that calls need

local function ask(service, op, params)
  local value, failure = session:client(service):call(op, params)
  if value == nil then error(("%s:%s: %s"):format(service, op, tostring(failure)), 2) end
  return value
end

local function times(f)
  for i = 1, COUNT do f(i) end
end

-- What our tables have no operation for is made at moto itself, which looks at no signature.
local function directly(service, body, headers)
  local all = { ["Content-Type"] = "application/x-www-form-urlencoded", Authorization =
    ("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20300101/us-east-1/%s/aws4_request, "
      .. "SignedHeaders=host, Signature=0"):format(service) }
  for name, value in pairs(headers or {}) do all[name] = value end
  local res = assert(wire.request { method = "POST", url = server.moto, headers = all,
    body = body })
  assert(res.status == 200, res.body)
end

local function named(kind, i)
  return { { ResourceType = kind, Tags = { { Key = "n" .. i, Value = "x" } } } }
end

local function make_network()
  times(function (i)
    made.vpc = ask("ec2", "create_vpc", { CidrBlock = ("10.%d.0.0/16"):format(i),
      TagSpecifications = named("vpc", i) }).Vpc.VpcId
    ask("ec2", "create_internet_gateway", {})
  end)
  times(function (i)
    made.subnet = ask("ec2", "create_subnet", { VpcId = made.vpc,
      CidrBlock = ("10.6.%d.0/24"):format(i) }).Subnet.SubnetId
    made.other = made.other or made.subnet
    ask("ec2", "create_route_table", { VpcId = made.vpc })
    made.group = ask("ec2", "create_security_group", { GroupName = "g" .. i, Description = "d",
      VpcId = made.vpc }).GroupId
    ask("ec2", "create_vpc_endpoint", { VpcId = made.vpc, VpcEndpointType = "Gateway",
      ServiceName = "com.amazonaws.us-east-1.s3" })
  end)
  times(function (i)
    ask("ec2", "authorize_security_group_ingress", { GroupId = made.group, IpPermissions = { {
      IpProtocol = "tcp", FromPort = i, ToPort = i, IpRanges = { { CidrIp = "10.0.0.0/8" } } } } })
    ask("ec2", "create_nat_gateway", { SubnetId = made.subnet, ConnectivityType = "private" })
    directly("ec2", "Action=CreateVolume&Version=2016-11-15&Size=1&AvailabilityZone=us-east-1a")
    directly("elasticloadbalancing", ("Action=CreateLoadBalancer&Version=2015-12-01&Name=b%d"
      .. "&Subnets.member.1=%s&Subnets.member.2=%s"):format(i, made.subnet, made.other))
    directly("elasticloadbalancing", ("Action=CreateTargetGroup&Version=2015-12-01&Name=t%d"
      .. "&Protocol=HTTP&Port=80&VpcId=%s"):format(i, made.vpc))
    directly("elasticloadbalancing", ("Action=CreateLoadBalancer&Version=2012-06-01"
      .. "&LoadBalancerName=c%d&AvailabilityZones.member.1=us-east-1a"
      .. "&Listeners.member.1.Protocol=http&Listeners.member.1.LoadBalancerPort=80"
      .. "&Listeners.member.1.InstancePort=80"):format(i))
  end)
end

local function make_compute()
  times(function (i)
    directly("ec2", "Action=RunInstances&Version=2016-11-15&ImageId=ami-12c6146b&MinCount=1"
      .. "&MaxCount=1&InstanceType=m5.large&SubnetId=" .. made.subnet)
    local data = { InstanceType = "g6.12xlarge" }
    made.template = ask("ec2", "create_launch_template", { LaunchTemplateName = "t" .. i,
      LaunchTemplateData = data }).LaunchTemplate.LaunchTemplateId
    directly("autoscaling", ("Action=CreateAutoScalingGroup&Version=2011-01-01&MinSize=0&MaxSize=0"
      .. "&AutoScalingGroupName=a%d&AvailabilityZones.member.1=us-east-1a"
      .. "&LaunchTemplate.LaunchTemplateId=%s&LaunchTemplate.Version=1"):format(i, made.template))
    ask("ec2", "create_capacity_reservation", { InstanceType = "g6.12xlarge", InstanceCount = i,
      InstancePlatform = "Linux/UNIX", AvailabilityZone = "us-east-1a" })
  end)
  times(function (i)
    ask("ec2", "create_launch_template_version", { LaunchTemplateId = made.template,
      LaunchTemplateData = { InstanceType = "g6.12xlarge", KeyName = "k" .. i } })
  end)
end

local function make_roles()
  local policy = { Version = "2012-10-17", Statement = { { Effect = "Allow",
    Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } } } }
  times(function (i)
    ask("iam", "create_role", { RoleName = "r" .. i, AssumeRolePolicyDocument = policy })
  end)
  times(function (i)
    ask("iam", "attach_role_policy", { RoleName = "r1", PolicyArn = POLICY .. MANAGED[i] })
    ask("iam", "put_role_policy", { RoleName = "r1", PolicyName = "p" .. i, PolicyDocument = {
      Version = "2012-10-17", Statement = { { Effect = "Allow", Action = "s3:ListBucket",
        Resource = "*" } } } })
    ask("iam", "tag_role", { RoleName = "r1", Tags = { { Key = "k" .. i, Value = "v" } } })
    ask("iam", "create_instance_profile", { InstanceProfileName = "i" .. i })
    ask("iam", "add_role_to_instance_profile", { InstanceProfileName = "i" .. i, RoleName = "r1" })
  end)
end

local function make_clusters()
  times(function (i)
    ask("eks", "create_cluster", { name = "c" .. i, roleArn = ROLE, version = "1.33",
      resourcesVpcConfig = { subnetIds = { made.subnet, made.other } } })
  end)
  times(function (i)
    ask("eks", "create_nodegroup", { clusterName = "c1", nodegroupName = "n" .. i, nodeRole = ROLE,
      subnets = { made.subnet }, scalingConfig = { minSize = 1, maxSize = 1, desiredSize = 1 } })
    ask("eks", "create_addon", { clusterName = "c1", addonName = "a" .. i })
    ask("eks", "create_access_entry", { clusterName = "c1",
      principalArn = "arn:aws:iam::123456789012:role/r" .. i })
    ask("eks", "create_pod_identity_association", { clusterName = "c1", namespace = "n" .. i,
      serviceAccount = "s", roleArn = ROLE })
    ask("eks", "associate_access_policy", { clusterName = "c1", principalArn = ROLE,
      policyArn = "arn:aws:eks::aws:cluster-access-policy/" .. ACCESS[i],
      accessScope = { type = "cluster" } })
  end)
end

local function make_rest()
  ask("s3", "create_bucket", { Bucket = "bucket-1" })
  ask("scheduler", "create_schedule_group", { Name = "g1" })
  local activities, offerings = {}, {}
  times(function (i)
    if i > 1 then ask("s3", "create_bucket", { Bucket = "bucket-" .. i }) end
    ask("s3", "put_object", { Bucket = "bucket-1", Key = "k " .. i, Body = "b" })
    if i > 1 then ask("scheduler", "create_schedule_group", { Name = "g" .. i }) end
    ask("scheduler", "create_schedule", { Name = "s" .. i, GroupName = "g1",
      ScheduleExpression = "at(2030-01-01T00:00:00)", FlexibleTimeWindow = { Mode = "OFF" },
      Target = { Arn = "arn:aws:scheduler:::aws-sdk:eks:deleteCluster", RoleArn = ROLE } })
    ask("resource-groups", "create_group", { Name = "group-" .. i, ResourceQuery = {
      Type = "TAG_FILTERS_1_0", Query = '{"ResourceTypeFilters":["AWS::AllSupported"],'
        .. '"TagFilters":[{"Key":"k","Values":["v"]}]}' } })
    ask("ssm", "put_parameter", { Name = "/rtl/p" .. i, Value = "v", Type = "String" })
    directly("logs", json.encode { logGroupName = "/aws/eks/" .. i }, {
      ["Content-Type"] = "application/x-amz-json-1.1",
      ["X-Amz-Target"] = "Logs_20140328.CreateLogGroup" })
    server:post("set", { key = "price:x" .. i .. ".large", value = "1.0" .. i })
    activities[i] = { ActivityId = "a" .. i, StatusCode = "Failed", Cause = "c" .. i }
    offerings[i] = { CapacityBlockOfferingId = "cb-" .. i, InstanceCount = i }
  end)
  server:post("set", { key = "activities:eks-gpu", value = activities })
  server:post("set", { key = "offerings", value = offerings })
end

-- What to ask each operation; {} where there is nothing to say.
local function cases()
  local cluster, role = { clusterName = "c1" }, { RoleName = "r1" }
  return {
    autoscaling = { describe_auto_scaling_groups = {},
      describe_scaling_activities = { AutoScalingGroupName = "eks-gpu" } },
    ec2 = {
      describe_capacity_block_offerings = { CapacityDurationHours = 24 },
      describe_capacity_reservations = {}, describe_images = { Owners = { "amazon" } },
      describe_instance_type_offerings = { LocationType = "availability-zone", Filters = {
        { Name = "instance-type", Values = { "m5.large", "g6.12xlarge" } } } },
      describe_instance_types = { InstanceTypes = { "m5.large", "m5.xlarge", "c5.large",
        "c5.xlarge", "r5.large", "g6.12xlarge" } },
      describe_instances = {}, describe_internet_gateways = {},
      describe_launch_template_versions = { LaunchTemplateId = made.template },
      describe_launch_templates = {}, describe_nat_gateways = {},
      describe_network_interfaces = {}, describe_route_tables = {},
      describe_security_group_rules = {}, describe_security_groups = {},
      describe_spot_price_history = { InstanceTypes = { "m5.large", "c5.large" },
        StartTime = "2030-01-01T00:00:00Z" },
      describe_subnets = {}, describe_tags = {}, describe_volumes = {},
      describe_vpc_endpoints = {}, describe_vpcs = {},
      get_spot_placement_scores = { TargetCapacity = 1, RegionNames = { "us-east-1", "us-east-2",
        "us-west-1", "us-west-2", "eu-west-1", "eu-west-2" } },
    },
    eks = {
      list_access_entries = cluster, list_addons = cluster, list_clusters = {},
      list_associated_access_policies = { clusterName = "c1", principalArn = ROLE },
      list_nodegroups = cluster, list_pod_identity_associations = cluster,
    },
    elb = { describe_load_balancers = {} },
    elbv2 = { describe_load_balancers = {}, describe_target_groups = {} },
    iam = {
      list_attached_role_policies = role, list_instance_profiles_for_role = role,
      list_policies = {}, list_role_policies = role, list_role_tags = role, list_roles = {},
      simulate_principal_policy = { PolicySourceArn = ROLE, ActionNames = { "ec2:RunInstances",
        "ec2:CreateVpc", "ec2:DeleteVpc", "iam:PassRole", "eks:CreateCluster", "s3:GetObject" } },
    },
    logs = { describe_log_groups = {} },
    pricing = { get_products = { ServiceCode = "AmazonEC2" } },
    resource_groups = { list_groups = {} },
    s3 = { list_buckets = {}, list_objects_v2 = { Bucket = "bucket-1" } },
    scheduler = { list_schedule_groups = {}, list_schedules = { GroupName = "g1" } },
    ssm = { get_parameters_by_path = { Path = "/rtl" } },
    tagging = { get_resources = {}, get_tag_keys = {} },
  }
end

local function cut(size)
  server:post("set", { key = "pages", value = size })
end

-- Items as text, without how their times were spelled (the judge writes what it cuts anew).
local function plain(items)
  return (json.encode(items):gsub('"[%w]+_text":"[^"]*",?', ""))
end

-- The sizes to try: the smallest, the largest and one between; of a long list the largest only.
local turn = 0
local function sizes(length)
  if length > 4 * COUNT then return { COUNT - 1 } end
  turn = turn + 1
  return { 1, 2 + turn % 3, COUNT - 1 }
end

-- The list in one piece, then in pages of each size.
local function compare(service, key, params)
  local client, problems = session:client(service), {}
  cut(0)
  local whole = assert(client:all(key, params))
  if #whole < COUNT then return { ("%s:%s has only %d items"):format(service, key, #whole) } end
  for _, size in ipairs(sizes(#whole)) do
    cut(size)
    local paged, failure = client:all(key, params)
    if not paged or plain(paged) ~= plain(whole) then
      problems[#problems + 1] = ("%s:%s in pages of %d: %s"):format(service, key, size,
        failure and tostring(failure) or ("%d of %d items"):format(#paged, #whole))
    end
  end
  return problems
end

describe("every paginated operation", function ()
  lazy_setup(function ()
    server = moto.start()
    session = server:session()
    make_network()
    make_compute()
    make_roles()
    make_clusters()
    make_rest()
  end)

  lazy_teardown(function () server:stop() end)

  it("gives the same set in pages of 1 to 5 as in one piece", function ()
    local wrong, known = {}, cases()
    for _, service in ipairs(model.services()) do
      local svc = model.service(service)
      for _, key in ipairs(model.operations(svc)) do
        local params = known[service] and known[service][key]
        if svc.ops[key].page and params then
          for _, text in ipairs(compare(service, key, params)) do wrong[#wrong + 1] = text end
        elseif svc.ops[key].page and not NOT[service .. ":" .. key] then
          wrong[#wrong + 1] = service .. ":" .. key .. " is not asked"
        end
      end
    end
    assert.equal("", table.concat(wrong, "\n"))
  end)

  it("sent no wrong request", function ()
    local report = server:report()
    assert.same({}, report.problems)
    assert.is_true(#report.paged > 40, #report.paged .. " were cut")
  end)
end)
