-- luacheck: std +busted
-- Cases of an account's machines: templates, types, capacity, quotas, prices.
local contract = ...
local case, tags = contract.case, contract.tags

case("keeps launch templates and their versions", function (t)
  local vpc = contract.network(t)
  local group = t.ask("ec2", "create_security_group", { GroupName = "efa", Description = "x",
    VpcId = vpc }).GroupId
  local create = { LaunchTemplateName = "gpu", TagSpecifications = tags("launch-template", "gpu"),
    LaunchTemplateData = {
      NetworkInterfaces = { { DeviceIndex = 0, NetworkCardIndex = 0, InterfaceType = "efa",
                              Groups = { group }, DeleteOnTermination = true } },
      BlockDeviceMappings = { { DeviceName = "/dev/xvda", Ebs = { VolumeSize = 200,
        VolumeType = "gp3", Encrypted = true } } },
      MetadataOptions = { HttpTokens = "required", HttpPutResponseHopLimit = 2 },
      TagSpecifications = tags("instance", "gpu") } }
  local made = t.ask("ec2", "create_launch_template", create).LaunchTemplate
  local id = made.LaunchTemplateId
  assert.equal(1, made.LatestVersionNumber)
  create.ClientToken = "another"
  t.refuse("InvalidLaunchTemplateName.AlreadyExistsException", "ec2", "create_launch_template",
           create)
  local version = t.ask("ec2", "describe_launch_template_versions", { LaunchTemplateId = id,
    Versions = { "$Latest" } }).LaunchTemplateVersions[1]
  local interface = version.LaunchTemplateData.NetworkInterfaces[1]
  assert.equal("efa", interface.InterfaceType)
  assert.same({ group }, interface.Groups)
  assert.equal(200, version.LaunchTemplateData.BlockDeviceMappings[1].Ebs.VolumeSize)
  t.ask("ec2", "create_launch_template_version", { LaunchTemplateId = id,
    LaunchTemplateData = { ImageId = "ami-12345678" } })
  t.ask("ec2", "modify_launch_template", { LaunchTemplateId = id, DefaultVersion = "2" })
  local found = t.ask("ec2", "describe_launch_templates", {
    LaunchTemplateNames = { "gpu" } }).LaunchTemplates[1]
  assert.equal(2, found.DefaultVersionNumber)
  t.ask("ec2", "delete_launch_template", { LaunchTemplateId = id })
  t.refuse("InvalidLaunchTemplateName.NotFoundException", "ec2", "describe_launch_templates", {
    LaunchTemplateNames = { "gpu" } })
end)

case("knows regions, zones, types and where they are offered", function (t)
  assert.is_true(#t.ask("ec2", "describe_regions", { AllRegions = true }).Regions > 10)
  local zones = t.ask("ec2", "describe_availability_zones", { Filters = {
    { Name = "zone-type", Values = { "availability-zone" } } } }).AvailabilityZones
  assert.equal("us-east-1", zones[1].RegionName)
  assert.truthy(zones[1].ZoneId:find "^use1%-az%d$")
  assert.is_true(#zones >= 6)
  local offered = t.ask("ec2", "describe_instance_type_offerings", {
    LocationType = "availability-zone", Filters = {
      { Name = "instance-type", Values = { "p4d.24xlarge" } } } }).InstanceTypeOfferings
  assert.equal("p4d.24xlarge", offered[1].InstanceType)
  assert.truthy(offered[1].Location:find "^us%-east%-1%l$")
  local info = t.ask("ec2", "describe_instance_types", {
    InstanceTypes = { "p4d.24xlarge" } }).InstanceTypes[1]
  assert.equal(96, info.VCpuInfo.DefaultVCpus)
  assert.equal(8, info.GpuInfo.Gpus[1].Count)
  assert.equal(4, info.NetworkInfo.MaximumNetworkCards)
  assert.is_true(info.NetworkInfo.EfaSupported)
  t.refuse("InvalidInstanceType", "ec2", "describe_instance_types", {
    InstanceTypes = { "g6.13xlarge" } })
  t.ask("ec2", "describe_images", { ImageIds = t.with.lax and {} or { "ami-0123456789abcdef0" } })
  assert.is_true(#t.ask("ec2", "describe_account_attributes", {}).AccountAttributes > 0)
  t.ask("ec2", "describe_spot_price_history", { InstanceTypes = { "g6.12xlarge" },
    ProductDescriptions = { "Linux/UNIX" }, StartTime = "2026-12-01T10:00:00Z" })
  if not t.with.lax then
    local scores = t.ask("ec2", "get_spot_placement_scores", { TargetCapacity = 2,
      InstanceTypes = { "g6.12xlarge" }, SingleAvailabilityZone = true,
      RegionNames = { "us-east-1" } }).SpotPlacementScores
    assert.is_true(scores[1].Score >= 1 and scores[1].Score <= 10)
  end
end)

case("has no machines of its own, and says which are not there", function (t)
  assert.same({}, t.ask("ec2", "describe_instances", {}).Reservations)
  assert.same({}, t.ask("ec2", "describe_volumes", {}).Volumes)
  assert.same({}, t.ask("ec2", "describe_network_interfaces", {}).NetworkInterfaces)
  t.refuse("InvalidInstanceID.NotFound", "ec2", "get_console_output", {
    InstanceId = "i-0123456789abcdef0" })
  t.refuse("InvalidInstanceID.NotFound", "ec2", "terminate_instances", {
    InstanceIds = { "i-0123456789abcdef0" } })
  t.refuse("InvalidVolume.NotFound", "ec2", "delete_volume", { VolumeId = "vol-0123456789abcdef0" })
  t.refuse("InvalidNetworkInterfaceID.NotFound", "ec2", "delete_network_interface", {
    NetworkInterfaceId = "eni-0123456789abcdef0" })
  t.strictly("InvalidAttachmentID.NotFound", "ec2", "detach_network_interface", {
    AttachmentId = "eni-attach-0123456789abcdef0" })
end)

case("holds capacity, and groups to place it in", function (t)
  local group = t.ask("ec2", "create_placement_group", { GroupName = "near", Strategy = "cluster",
    TagSpecifications = tags("placement-group", "near") }).PlacementGroup
  t.strictly("InvalidPlacementGroup.Duplicate", "ec2", "create_placement_group", {
    GroupName = "near", Strategy = "cluster" })
  local held = t.ask("ec2", "create_capacity_reservation", { InstanceType = "g6.12xlarge",
    InstancePlatform = "Linux/UNIX", InstanceCount = 2, AvailabilityZone = "us-east-1b",
    InstanceMatchCriteria = "targeted", EndDateType = "limited", EndDate = 1798000000,
    PlacementGroupArn = group.GroupArn,
    TagSpecifications = tags("capacity-reservation", "probe") }).CapacityReservation
  assert.equal("active", held.State)
  local id = held.CapacityReservationId
  t.strictly("InvalidPlacementGroup.InUse", "ec2", "delete_placement_group", {
    GroupName = "near" })
  t.ask("ec2", "modify_capacity_reservation", { CapacityReservationId = id, InstanceCount = 3 })
  assert.equal(3, t.ask("ec2", "describe_capacity_reservations", { Filters = {
    { Name = "state", Values = { "active" } } } }).CapacityReservations[1].TotalInstanceCount)
  t.strictly("InstanceLimitExceeded", "ec2", "create_capacity_reservation", {
    InstanceType = "g6.12xlarge", InstancePlatform = "Linux/UNIX", InstanceCount = 2,
    AvailabilityZone = "us-east-1b" })
  t.ask("ec2", "cancel_capacity_reservation", { CapacityReservationId = id })
  t.ask("ec2", "delete_placement_group", { GroupName = "near" })
  t.refuse("InvalidPlacementGroup.Unknown", "ec2", "describe_placement_groups", {
    GroupNames = { "near" } })
  local offers = t.ask("ec2", "describe_capacity_block_offerings", { InstanceType = "p5.48xlarge",
    InstanceCount = 2, CapacityDurationHours = 24 }).CapacityBlockOfferings
  assert.is_true(tonumber(offers[1].UpfrontFee) > 0)
  if not t.with.lax then
    local block = t.ask("ec2", "purchase_capacity_block", { InstancePlatform = "Linux/UNIX",
      CapacityBlockOfferingId = offers[1].CapacityBlockOfferingId }).CapacityReservation
    assert.same({ "payment-pending", "capacity-block", 2 }, { block.State, block.ReservationType,
      block.TotalInstanceCount })
  end
end)

case("says quotas, prices and what groups did", function (t)
  local quota = { ServiceCode = "ec2", QuotaCode = "L-DB2E81BA" }
  assert.is_number(t.ask("service_quotas", "get_service_quota", quota).Quota.Value)
  assert.is_number(t.ask("service_quotas", "get_aws_default_service_quota", quota).Quota.Value)
  if not t.with.lax then
    assert.is_true(#t.ask("service_quotas", "list_service_quotas", {
      ServiceCode = "ec2" }).Quotas > 0)
    assert.same({}, t.ask("service_quotas",
      "list_requested_service_quota_change_history_by_quota", quota).RequestedQuotas)
    local wanted = { ServiceCode = "ec2", QuotaCode = "L-DB2E81BA", DesiredValue = 384.0 }
    assert.equal("PENDING", t.ask("service_quotas", "request_service_quota_increase",
                                  wanted).RequestedQuota.Status)
    t.refuse("ResourceAlreadyExistsException", "service_quotas",
             "request_service_quota_increase", wanted)
    t.refuse("NoSuchResourceException", "service_quotas", "get_service_quota", {
      ServiceCode = "ec2", QuotaCode = "L-00000000" })
  end
  local products = t.ask("pricing", "get_products", { ServiceCode = "AmazonEC2",
    FormatVersion = "aws_v1", Filters = { { Type = "TERM_MATCH", Field = "instanceType",
                                            Value = "g6.12xlarge" } } }).PriceList
  assert.equal("g6.12xlarge", products[1].product.attributes.instanceType)
  assert.same({}, t.ask("autoscaling", "describe_scaling_activities", {}).Activities)
  assert.same({}, t.ask("autoscaling", "describe_auto_scaling_groups", {
    AutoScalingGroupNames = { "none" } }).AutoScalingGroups)
end)
