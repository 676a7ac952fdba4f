-- Each kind of operation against moto, every request judged by botocore on its way.
local aws = require "rtl.aws"
local array = require "rtl.array"
local clock = require "rtl.clock"
local json = require "rtl.native.json"
local moto = require "test.support.moto"
local secret = require "rtl.native.secret"

local server, session
local function client(service) return session:client(service) end

-- What a call gave, or its error as the failure of the test.
local function ok(value, failure)
  if value == nil then error(tostring(failure), 2) end
  return value
end

local function tags(kind, name)
  return { { ResourceType = kind, Tags = { { Key = "Name", Value = name } } } }
end

describe("AWS, as moto plays it,", function ()
  lazy_setup(function ()
    server = moto.start()
    session = server:session()
  end)

  lazy_teardown(function () server:stop() end)

  after_each(function ()
    local report = server:report()
    server:reset()
    assert.same({}, report.problems)
    assert.same({}, report.repeated_creates_without_token)
    assert.same({}, report.guessed)
  end)

  it("says who the caller is and where the keys came from", function ()
    local who = ok(session:identity())
    assert.equal("123456789012", who.account)
    assert.equal("aws", who.partition)
    local facts = ok(session:describe())
    assert.equal("given", facts.source)
    assert.equal("us-east-1", facts.region)
    assert.equal(who.arn, facts.arn)
  end)

  it("makes and removes a network", function ()
    local ec2 = client "ec2"
    local vpc = ok(ec2:create_vpc {
      CidrBlock = "10.42.0.0/16", TagSpecifications = tags("vpc", "main"),
    }).Vpc
    assert.same({ { Key = "Name", Value = "main" } }, vpc.Tags)
    ok(ec2:wait("vpc_available", { VpcIds = { vpc.VpcId } }))
    ok(ec2:modify_vpc_attribute { VpcId = vpc.VpcId, EnableDnsHostnames = { Value = true } })
    local dns = ok(ec2:describe_vpc_attribute {
      VpcId = vpc.VpcId, Attribute = "enableDnsHostnames",
    })
    assert.is_true(dns.EnableDnsHostnames.Value)
    local subnet = ok(ec2:create_subnet {
      VpcId = vpc.VpcId, CidrBlock = "10.42.0.0/24", AvailabilityZone = "us-east-1a",
      TagSpecifications = tags("subnet", "public"),
    }).Subnet
    ok(ec2:modify_subnet_attribute {
      SubnetId = subnet.SubnetId, MapPublicIpOnLaunch = { Value = true },
    })
    local subnets = ok(ec2:all("describe_subnets", {
      Filters = { { Name = "vpc-id", Values = { vpc.VpcId } } },
    }))
    assert.is_true(subnets[1].MapPublicIpOnLaunch)
    assert.is_true(array.is(subnets))
    ok(ec2:delete_subnet { SubnetId = subnet.SubnetId })
    ok(ec2:delete_vpc { VpcId = vpc.VpcId })
    local gone, failure = ec2:describe_vpcs { VpcIds = { vpc.VpcId } }
    assert.is_nil(gone)
    assert.equal("InvalidVpcID.NotFound", failure.code)
    assert.is_true(aws.errors.not_found(failure))
  end)

  it("makes gateways, addresses, routes and endpoints", function ()
    local ec2 = client "ec2"
    local vpc = ok(ec2:create_vpc { CidrBlock = "10.42.0.0/16" }).Vpc.VpcId
    local subnet = ok(ec2:create_subnet { VpcId = vpc, CidrBlock = "10.42.0.0/24" }).Subnet
    local igw = ok(ec2:create_internet_gateway {
      TagSpecifications = tags("internet-gateway", "igw"),
    }).InternetGateway.InternetGatewayId
    ok(ec2:attach_internet_gateway { InternetGatewayId = igw, VpcId = vpc })
    assert.equal(vpc, ok(ec2:describe_internet_gateways {
      InternetGatewayIds = { igw },
    }).InternetGateways[1].Attachments[1].VpcId)
    local address = ok(ec2:allocate_address {
      Domain = "vpc", TagSpecifications = tags("elastic-ip", "nat"),
    }).AllocationId
    local nat = ok(ec2:create_nat_gateway {
      SubnetId = subnet.SubnetId, AllocationId = address, ClientToken = "run-1-nat",
      TagSpecifications = tags("natgateway", "nat"),
    }).NatGateway
    local again = ok(ec2:create_nat_gateway {
      SubnetId = subnet.SubnetId, AllocationId = address, ClientToken = "run-1-nat",
      TagSpecifications = tags("natgateway", "nat"),
    }).NatGateway
    assert.equal(nat.NatGatewayId, again.NatGatewayId)
    ok(ec2:wait("nat_gateway_available", { NatGatewayIds = { nat.NatGatewayId } }))
    local table_id = ok(ec2:create_route_table { VpcId = vpc }).RouteTable.RouteTableId
    ok(ec2:create_route {
      RouteTableId = table_id, DestinationCidrBlock = "0.0.0.0/0",
      NatGatewayId = nat.NatGatewayId,
    })
    ok(ec2:replace_route {
      RouteTableId = table_id, DestinationCidrBlock = "0.0.0.0/0", GatewayId = igw,
    })
    local association = ok(ec2:associate_route_table {
      RouteTableId = table_id, SubnetId = subnet.SubnetId,
    }).AssociationId
    local found = ok(ec2:describe_route_tables { RouteTableIds = { table_id } }).RouteTables[1]
    assert.equal(subnet.SubnetId, found.Associations[1].SubnetId)
    local endpoint = ok(ec2:create_vpc_endpoint {
      VpcId = vpc, ServiceName = "com.amazonaws.us-east-1.s3", VpcEndpointType = "Gateway",
      RouteTableIds = { table_id }, TagSpecifications = tags("vpc-endpoint", "s3"),
    }).VpcEndpoint
    assert.same({ table_id }, endpoint.RouteTableIds)
    assert.same({}, ok(ec2:delete_vpc_endpoints {
      VpcEndpointIds = { endpoint.VpcEndpointId },
    }).Unsuccessful)
    ok(ec2:disassociate_route_table { AssociationId = association })
    ok(ec2:delete_route { RouteTableId = table_id, DestinationCidrBlock = "0.0.0.0/0" })
    ok(ec2:delete_route_table { RouteTableId = table_id })
    ok(ec2:delete_nat_gateway { NatGatewayId = nat.NatGatewayId })
    ok(ec2:wait("nat_gateway_deleted", { NatGatewayIds = { nat.NatGatewayId } }))
    ok(ec2:release_address { AllocationId = address })
    ok(ec2:detach_internet_gateway { InternetGatewayId = igw, VpcId = vpc })
    ok(ec2:delete_internet_gateway { InternetGatewayId = igw })
  end)

  it("makes security groups with rules both ways", function ()
    local ec2 = client "ec2"
    local vpc = ok(ec2:create_vpc { CidrBlock = "10.42.0.0/16" }).Vpc.VpcId
    local group = ok(ec2:create_security_group {
      GroupName = "efa", Description = "EFA traffic", VpcId = vpc,
      TagSpecifications = tags("security-group", "efa"),
    }).GroupId
    local own = { {
      IpProtocol = "-1", UserIdGroupPairs = { { GroupId = group, Description = "efa" } },
    } }
    ok(ec2:authorize_security_group_ingress { GroupId = group, IpPermissions = own })
    ok(ec2:authorize_security_group_egress { GroupId = group, IpPermissions = own })
    local twice, failure = ec2:authorize_security_group_ingress {
      GroupId = group, IpPermissions = own,
    }
    assert.is_nil(twice)
    assert.is_true(aws.errors.exists(failure))
    local seen = ok(ec2:describe_security_groups { GroupIds = { group } }).SecurityGroups[1]
    assert.equal(group, seen.IpPermissions[1].UserIdGroupPairs[1].GroupId)
    assert.same({}, seen.IpPermissions[1].IpRanges)
    local rules = ok(ec2:all("describe_security_group_rules", {
      Filters = { { Name = "group-id", Values = { group } } },
    }))
    assert.is_true(#rules >= 2)
    ok(ec2:revoke_security_group_ingress { GroupId = group, IpPermissions = own })
    ok(ec2:delete_security_group { GroupId = group })
  end)

  it("makes launch templates and reads them back", function ()
    local ec2 = client "ec2"
    local made = ok(ec2:create_launch_template {
      LaunchTemplateName = "gpu", TagSpecifications = tags("launch-template", "gpu"),
      LaunchTemplateData = {
        NetworkInterfaces = { {
          DeviceIndex = 0, NetworkCardIndex = 0, InterfaceType = "efa", Groups = { "sg-1", "sg-2" },
          DeleteOnTermination = true,
        } },
        BlockDeviceMappings = { {
          DeviceName = "/dev/xvda",
          Ebs = { VolumeSize = 200, VolumeType = "gp3", Encrypted = true },
        } },
        MetadataOptions = { HttpTokens = "required", HttpPutResponseHopLimit = 2 },
        TagSpecifications = tags("instance", "gpu"),
      },
    }).LaunchTemplate
    assert.equal(1, made.LatestVersionNumber)
    local version = ok(ec2:all("describe_launch_template_versions", {
      LaunchTemplateId = made.LaunchTemplateId, Versions = { "$Latest" },
    }))[1]
    local interface = version.LaunchTemplateData.NetworkInterfaces[1]
    assert.equal("efa", interface.InterfaceType)
    assert.equal(200, version.LaunchTemplateData.BlockDeviceMappings[1].Ebs.VolumeSize)
    ok(ec2:create_launch_template_version {
      LaunchTemplateId = made.LaunchTemplateId, LaunchTemplateData = { ImageId = "ami-1" },
    })
    ok(ec2:modify_launch_template {
      LaunchTemplateId = made.LaunchTemplateId, DefaultVersion = "2",
    })
    local templates = ok(ec2:all("describe_launch_templates", { LaunchTemplateNames = { "gpu" } }))
    assert.equal(2, templates[1].DefaultVersionNumber)
    ok(ec2:delete_launch_template { LaunchTemplateId = made.LaunchTemplateId })
  end)

  it("knows zones, types, offerings, images and what runs", function ()
    local ec2 = client "ec2"
    assert.is_true(#ok(ec2:describe_regions { AllRegions = true }).Regions > 10)
    local zones = ok(ec2:describe_availability_zones {
      Filters = { { Name = "zone-type", Values = { "availability-zone" } } },
    }).AvailabilityZones
    assert.equal("us-east-1", zones[1].RegionName)
    assert.truthy(zones[1].ZoneId:find "^use1%-az")
    local offerings = ok(ec2:all("describe_instance_type_offerings", {
      LocationType = "availability-zone",
      Filters = { { Name = "instance-type", Values = { "p4d.24xlarge" } } },
    }))
    assert.equal("p4d.24xlarge", offerings[1].InstanceType)
    local info = ok(ec2:describe_instance_types {
      InstanceTypes = { "p4d.24xlarge" },
    }).InstanceTypes[1]
    assert.equal(96, info.VCpuInfo.DefaultVCpus)
    assert.equal(8, info.GpuInfo.Gpus[1].Count)
    assert.is_true(info.NetworkInfo.EfaSupported)
    assert.is_true(#ok(ec2:all("describe_images", { Owners = { "amazon" } })) > 0)
    assert.same({}, ok(ec2:all("describe_instances", {})))
    assert.same({}, ok(ec2:all("describe_volumes", {})))
    assert.same({}, ok(ec2:all("describe_network_interfaces", {})))
    assert.is_true(#ok(ec2:describe_account_attributes {}).AccountAttributes > 0)
    assert.is_true(array.is(ok(ec2:describe_spot_price_history {
      InstanceTypes = { "m5.large" }, ProductDescriptions = { "Linux/UNIX" },
      StartTime = "2026-12-01T10:00:00Z",
    }).SpotPriceHistory))
    local text, failure = ec2:get_console_output { InstanceId = "i-0123456789abcdef0" }
    assert.is_nil(text)
    assert.equal("InvalidInstanceID.NotFound", failure.code)
  end)

  it("holds capacity, and groups to place it in", function ()
    local ec2 = client "ec2"
    local group = ok(ec2:create_placement_group {
      GroupName = "near", Strategy = "cluster",
      TagSpecifications = tags("placement-group", "near"),
    }).PlacementGroup
    local held = ok(ec2:create_capacity_reservation {
      InstanceType = "g6.12xlarge", InstancePlatform = "Linux/UNIX", InstanceCount = 2,
      AvailabilityZone = "us-east-1a", InstanceMatchCriteria = "targeted",
      EndDateType = "limited", EndDate = 1788220800, PlacementGroupArn = group.GroupArn,
      TagSpecifications = tags("capacity-reservation", "probe"),
    }).CapacityReservation
    assert.equal("active", held.State)
    assert.equal(1788220800, held.EndDate)
    local id = held.CapacityReservationId
    assert.equal(2, ok(ec2:all("describe_capacity_reservations", {
      CapacityReservationIds = { id },
    }))[1].AvailableInstanceCount)
    ok(ec2:modify_capacity_reservation { CapacityReservationId = id, InstanceCount = 3 })
    assert.equal(3, ok(ec2:describe_capacity_reservations {
      Filters = { { Name = "state", Values = { "active" } } },
    }).CapacityReservations[1].TotalInstanceCount)
    ok(ec2:create_tags { Resources = { id }, Tags = { { Key = "a", Value = "b" } } })
    ok(ec2:cancel_capacity_reservation { CapacityReservationId = id })
    ok(ec2:delete_placement_group { GroupName = "near" })
    local gone, failure = ec2:describe_placement_groups { GroupNames = { "near" } }
    assert.is_nil(gone)
    assert.is_true(aws.errors.not_found(failure))
    local offers = ok(ec2:all("describe_capacity_block_offerings", {
      InstanceType = "p5.48xlarge", InstanceCount = 2, CapacityDurationHours = 24,
    }))
    assert.equal("1000.00", offers[1].UpfrontFee)
  end)

  it("makes roles with policies", function ()
    local iam = client "iam"
    local trust = {
      Version = "2012-10-17",
      Statement = { {
        Effect = "Allow", Principal = { Service = "eks.amazonaws.com" }, Action = "sts:AssumeRole",
      } },
    }
    local role = ok(iam:create_role {
      RoleName = "cluster", Path = "/rtl/us-east-1/ray-train/", AssumeRolePolicyDocument = trust,
      Tags = { { Key = "rtl:deployment", Value = "ray train+more" } },
    }).Role
    assert.equal("/rtl/us-east-1/ray-train/", role.Path)
    local read = ok(iam:get_role { RoleName = "cluster" }).Role
    assert.same(trust.Statement[1].Principal,
      read.AssumeRolePolicyDocument.Statement[1].Principal)
    assert.equal("ray train+more", read.Tags[1].Value)
    local arn = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
    ok(iam:attach_role_policy { RoleName = "cluster", PolicyArn = arn })
    assert.equal(arn, ok(iam:all("list_attached_role_policies", {
      RoleName = "cluster",
    }))[1].PolicyArn)
    local own = {
      Version = "2012-10-17",
      Statement = { { Effect = "Allow", Action = "s3:ListBucket", Resource = "*" } },
    }
    ok(iam:put_role_policy { RoleName = "cluster", PolicyName = "own", PolicyDocument = own })
    assert.same({ "own" }, ok(iam:all("list_role_policies", { RoleName = "cluster" })))
    assert.same(own, ok(iam:get_role_policy {
      RoleName = "cluster", PolicyName = "own",
    }).PolicyDocument)
    local twice, failure = iam:create_role {
      RoleName = "cluster", AssumeRolePolicyDocument = trust,
    }
    assert.is_nil(twice)
    assert.equal("EntityAlreadyExists", failure.code)
    assert.equal(409, failure.status)
    ok(iam:tag_role { RoleName = "cluster", Tags = { { Key = "x", Value = "" } } })
    assert.same({}, ok(iam:all("list_instance_profiles_for_role", { RoleName = "cluster" })))
    local paged, count = {}, 0
    for i = 1, 5 do
      ok(iam:create_role { RoleName = "r" .. i, AssumeRolePolicyDocument = trust })
    end
    for page in iam:pages("list_roles", { MaxItems = 2 }) do
      count = count + 1
      for _, one in ipairs(page.Roles) do paged[one.RoleName] = true end
    end
    assert.is_true(count >= 3)
    assert.is_true(paged.r1 and paged.r5 and paged.cluster)
    assert.equal("allowed", ok(iam:all("simulate_principal_policy", {
      PolicySourceArn = role.Arn, ActionNames = { "ec2:CreateVpc" },
    }))[1].EvalDecision)
    ok(iam:delete_role_policy { RoleName = "cluster", PolicyName = "own" })
    ok(iam:detach_role_policy { RoleName = "cluster", PolicyArn = arn })
    ok(iam:delete_role { RoleName = "cluster" })
    local _, missing = iam:get_role { RoleName = "cluster" }
    assert.is_true(aws.errors.not_found(missing))
  end)

  it("makes a cluster with groups, add-ons and access", function ()
    local ec2, eks = client "ec2", client "eks"
    local vpc = ok(ec2:create_vpc { CidrBlock = "10.42.0.0/16" }).Vpc.VpcId
    local subnets = {}
    for i = 1, 2 do
      subnets[i] = ok(ec2:create_subnet {
        VpcId = vpc, CidrBlock = ("10.42.%d.0/24"):format(i),
      }).Subnet.SubnetId
    end
    local cluster = ok(eks:create_cluster {
      name = "demo", roleArn = "arn:aws:iam::123456789012:role/cluster", version = "1.33",
      resourcesVpcConfig = { subnetIds = subnets, endpointPrivateAccess = true },
      accessConfig = { authenticationMode = "API" }, bootstrapSelfManagedAddons = false,
      upgradePolicy = { supportType = "STANDARD" }, tags = { ["rtl:deployment"] = "demo" },
    }).cluster
    assert.equal("demo", cluster.name)
    assert.equal(vpc, cluster.resourcesVpcConfig.vpcId)
    ok(eks:wait("cluster_active", { name = "demo" }, { delay = 0 }))
    assert.same({ "demo" }, ok(eks:all("list_clusters", {})))
    local group = ok(eks:create_nodegroup {
      clusterName = "demo", nodegroupName = "system", subnets = { subnets[1] },
      nodeRole = "arn:aws:iam::123456789012:role/node",
      scalingConfig = { minSize = 1, maxSize = 1, desiredSize = 1 },
      labels = { role = "system" },
      taints = { { key = "nvidia.com/gpu", value = "true", effect = "NO_SCHEDULE" } },
      updateConfig = { maxUnavailable = 1, updateStrategy = "MINIMAL" },
    }).nodegroup
    assert.equal("system", group.nodegroupName)
    assert.equal("NO_SCHEDULE", group.taints[1].effect)
    assert.same({ "system" }, ok(eks:all("list_nodegroups", { clusterName = "demo" })))
    ok(eks:create_addon {
      clusterName = "demo", addonName = "vpc-cni", configurationValues = { env = { A = "1" } },
    })
    local addon = ok(eks:describe_addon { clusterName = "demo", addonName = "vpc-cni" }).addon
    assert.same({ env = { A = "1" } }, addon.configurationValues)
    ok(eks:update_addon {
      clusterName = "demo", addonName = "vpc-cni", configurationValues = { env = { A = "2" } },
    })
    local scaled = ok(eks:update_nodegroup_config {
      clusterName = "demo", nodegroupName = "system", scalingConfig = { desiredSize = 1 },
    }).update
    assert.equal("Successful", ok(eks:describe_update {
      name = "demo", nodegroupName = "system", updateId = scaled.id,
    }).update.status)
    local arn = "arn:aws:iam::123456789012:role/admin"
    ok(eks:create_access_entry { clusterName = "demo", principalArn = arn })
    ok(eks:associate_access_policy {
      clusterName = "demo", principalArn = arn, accessScope = { type = "cluster" },
      policyArn = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
    })
    assert.same({ arn }, ok(eks:all("list_access_entries", { clusterName = "demo" })))
    local bound = ok(eks:create_pod_identity_association {
      clusterName = "demo", namespace = "ray", serviceAccount = "ray", roleArn = arn,
    }).association
    ok(eks:delete_pod_identity_association {
      clusterName = "demo", associationId = bound.associationId,
    })
    ok(eks:delete_access_entry { clusterName = "demo", principalArn = arn })
    ok(eks:delete_addon { clusterName = "demo", addonName = "vpc-cni", preserve = true })
    ok(eks:delete_nodegroup { clusterName = "demo", nodegroupName = "system" })
    ok(eks:delete_cluster { name = "demo" })
    ok(eks:wait("cluster_deleted", { name = "demo" }, { delay = 0 }))
  end)

  it("asks for quotas, prices and activities", function ()
    server:post("set", { key = "quota:ec2:L-DB2E81BA", value = 192 })
    local quotas = client "service-quotas"
    assert.equal(192, ok(quotas:get_service_quota {
      ServiceCode = "ec2", QuotaCode = "L-DB2E81BA",
    }).Quota.Value)
    assert.equal(192, ok(quotas:get_aws_default_service_quota {
      ServiceCode = "ec2", QuotaCode = "L-DB2E81BA",
    }).Quota.Value)
    local products = ok(client("pricing"):all("get_products", {
      ServiceCode = "AmazonEC2", FormatVersion = "aws_v1",
      Filters = { { Type = "TERM_MATCH", Field = "instanceType", Value = "g6.12xlarge" } },
    }))
    assert.equal("g6.12xlarge", products[1].product.attributes.instanceType)
    server:post("set", {
      key = "activities:eks-gpu", value = {
        { StatusCode = "Failed", StatusMessage = "no capacity", Cause = "a test" },
      },
    })
    local activities = ok(client("autoscaling"):all("describe_scaling_activities", {
      AutoScalingGroupName = "eks-gpu",
    }))
    assert.equal("no capacity", activities[1].StatusMessage)
    assert.same({}, ok(client("autoscaling"):all("describe_auto_scaling_groups", {
      AutoScalingGroupNames = { "eks-gpu" },
    })))
  end)

  it("keeps a bucket with objects, tags and its settings", function ()
    local s3 = client "s3"
    local bucket = "rtl-demo-checkpoints"
    ok(s3:create_bucket { Bucket = bucket })
    ok(s3:put_bucket_tagging {
      Bucket = bucket, Tagging = { TagSet = { { Key = "a", Value = "<b> & \"c\"" } } },
    })
    assert.equal("<b> & \"c\"", ok(s3:get_bucket_tagging { Bucket = bucket }).TagSet[1].Value)
    ok(s3:put_public_access_block {
      Bucket = bucket, PublicAccessBlockConfiguration = {
        BlockPublicAcls = true, IgnorePublicAcls = true, BlockPublicPolicy = true,
        RestrictPublicBuckets = true,
      },
    })
    assert.is_true(ok(s3:get_public_access_block {
      Bucket = bucket,
    }).PublicAccessBlockConfiguration.BlockPublicAcls)
    ok(s3:put_bucket_encryption {
      Bucket = bucket, ServerSideEncryptionConfiguration = { Rules = { {
        ApplyServerSideEncryptionByDefault = { SSEAlgorithm = "AES256" },
      } } },
    })
    for i = 1, 5 do
      ok(s3:put_object { Bucket = bucket, Key = "step 1/a+b=" .. i, Body = "bytes\0" .. i })
    end
    assert.equal("bytes\0003", ok(s3:get_object { Bucket = bucket, Key = "step 1/a+b=3" }).Body)
    local listed = ok(s3:all("list_objects_v2", { Bucket = bucket, MaxKeys = 2 }))
    assert.equal(5, #listed)
    assert.equal(7, listed[1].Size)
    local objects = {}
    for i, object in ipairs(listed) do objects[i] = { Key = object.Key } end
    local deleted = ok(s3:delete_objects { Bucket = bucket, Delete = { Objects = objects } })
    assert.equal(5, #deleted.Deleted)
    ok(s3:put_object { Bucket = bucket, Key = "one", Body = "" })
    local full, failure = s3:delete_bucket { Bucket = bucket }
    assert.is_nil(full)
    assert.is_true(aws.errors.in_use(failure))
    ok(s3:delete_object { Bucket = bucket, Key = "one" })
    ok(s3:delete_bucket { Bucket = bucket })
    local gone
    gone, failure = s3:head_bucket { Bucket = bucket }
    assert.is_nil(gone)
    assert.equal(404, failure.status)
    assert.is_true(aws.errors.not_found(failure))
  end)

  -- What the judge has against the token of a session for the cluster "demo".
  local function token_problems(of)
    local token = secret.reveal(ok(aws.eks_token(of, "demo")))
    return json.decode(server:post("verify", { token = token, cluster = "demo" })).problems
  end

  it("signs with the temporary keys of a role, its token included", function ()
    local keys = ok(client("sts"):assume_role {
      RoleArn = "arn:aws:iam::123456789012:role/admin", RoleSessionName = "rtl",
      DurationSeconds = 900,
    }).Credentials
    assert.is_true(keys.Expiration > clock.utc())
    local as_role = server:session { credentials = {
      access_key_id = keys.AccessKeyId, secret_access_key = keys.SecretAccessKey,
      session_token = keys.SessionToken,
    } }
    assert.truthy(ok(as_role:identity()).arn:find "assumed%-role/admin/rtl")
    assert.same({}, token_problems(as_role))
  end)

  it("makes a token that names the cluster", function ()
    assert.same({}, token_problems(session))
  end)

  it("keeps its connection", function ()
    for _ = 1, 5 do ok(client("eks"):list_clusters {}) end
    assert.equal(1, server:report().connections)
  end)
end)
