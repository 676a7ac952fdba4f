-- luacheck: std +busted
-- Cases of an account's other services: identity, roles, clusters, parameters, schedules, buckets.
local contract = ...
local case, tags = contract.case, contract.tags
local array = require "rtl.array"

local function trust(service)
  return { Version = "2012-10-17", Statement = array { { Effect = "Allow",
    Action = array { "sts:AssumeRole", "sts:TagSession" }, Principal = { Service = service } } } }
end

local function role(t, name, service, ...)
  local made = t.ask("iam", "create_role", { RoleName = name, Path = "/rtl/demo/",
    AssumeRolePolicyDocument = trust(service),
    Tags = { { Key = "rtl:deployment", Value = "demo" } } }).Role
  for _, policy in ipairs { ... } do
    t.ask("iam", "attach_role_policy", { RoleName = name,
      PolicyArn = "arn:aws:iam::aws:policy/" .. policy })
  end
  return made.Arn
end

case("says who calls", function (t)
  assert.equal(t.with.account(), t.ask("sts", "get_caller_identity", {}).Account)
  local arn = role(t, "other", "ec2.amazonaws.com")
  t.strictly("InvalidAuthorizationMessageException", "sts", "decode_authorization_message", {
    EncodedMessage = "none" })
  local session = t.ask("sts", "assume_role", { RoleArn = arn, RoleSessionName = "test" })
  assert.truthy(session.AssumedRoleUser.Arn:find("assumed-role/other/test", 1, true))
end)

case("keeps roles with their policies", function (t)
  local arn = role(t, "node", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy")
  assert.equal(("arn:aws:iam::%s:role/rtl/demo/node"):format(t.with.account()), arn)
  t.refuse("EntityAlreadyExists", "iam", "create_role", { RoleName = "node",
    AssumeRolePolicyDocument = trust "ec2.amazonaws.com" })
  assert.same(trust "ec2.amazonaws.com", t.ask("iam", "get_role", {
    RoleName = "node" }).Role.AssumeRolePolicyDocument)
  assert.equal("node", t.ask("iam", "list_roles", { PathPrefix = "/rtl/demo/" }).Roles[1].RoleName)
  t.ask("iam", "put_role_policy", { RoleName = "node", PolicyName = "own", PolicyDocument = {
    Version = "2012-10-17", Statement = array { { Effect = "Allow", Action = "s3:GetObject",
                                                  Resource = "*" } } } })
  assert.equal("s3:GetObject", t.ask("iam", "get_role_policy", { RoleName = "node",
    PolicyName = "own" }).PolicyDocument.Statement[1].Action)
  assert.same({ "own" }, t.ask("iam", "list_role_policies", { RoleName = "node" }).PolicyNames)
  assert.equal("AmazonEKSWorkerNodePolicy", t.ask("iam", "list_attached_role_policies", {
    RoleName = "node" }).AttachedPolicies[1].PolicyName)
  t.refuse("DeleteConflict", "iam", "delete_role", { RoleName = "node" })
  t.ask("iam", "detach_role_policy", { RoleName = "node",
    PolicyArn = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy" })
  t.ask("iam", "delete_role_policy", { RoleName = "node", PolicyName = "own" })
  t.ask("iam", "tag_role", { RoleName = "node", Tags = { { Key = "a", Value = "b" } } })
  t.ask("iam", "untag_role", { RoleName = "node", TagKeys = { "rtl:deployment" } })
  assert.same({ { Key = "a", Value = "b" } }, t.ask("iam", "list_role_tags", {
    RoleName = "node" }).Tags)
  t.ask("iam", "update_assume_role_policy", { RoleName = "node",
    PolicyDocument = trust "eks.amazonaws.com" })
  t.ask("iam", "update_role", { RoleName = "node", Description = "x" })
  local boundary = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
  t.ask("iam", "put_role_permissions_boundary", { RoleName = "node",
    PermissionsBoundary = boundary })
  assert.equal(boundary, t.ask("iam", "get_role", {
    RoleName = "node" }).Role.PermissionsBoundary.PermissionsBoundaryArn)
  t.ask("iam", "delete_role", { RoleName = "node" })
  t.refuse("NoSuchEntity", "iam", "get_role", { RoleName = "node" })
end)

case("keeps profiles and policies of the account", function (t)
  role(t, "node", "ec2.amazonaws.com")
  t.ask("iam", "create_instance_profile", { InstanceProfileName = "p" })
  t.ask("iam", "add_role_to_instance_profile", { InstanceProfileName = "p", RoleName = "node" })
  assert.equal("p", t.ask("iam", "list_instance_profiles_for_role", {
    RoleName = "node" }).InstanceProfiles[1].InstanceProfileName)
  assert.equal("node", t.ask("iam", "get_instance_profile", {
    InstanceProfileName = "p" }).InstanceProfile.Roles[1].RoleName)
  t.refuse("DeleteConflict", "iam", "delete_role", { RoleName = "node" })
  t.ask("iam", "remove_role_from_instance_profile", { InstanceProfileName = "p",
    RoleName = "node" })
  t.ask("iam", "delete_instance_profile", { InstanceProfileName = "p" })
  local policy = t.ask("iam", "create_policy", { PolicyName = "least", PolicyDocument = {
    Version = "2012-10-17", Statement = array { { Effect = "Allow", Action = "ec2:Describe*",
                                                  Resource = "*" } } } }).Policy.Arn
  assert.equal("least", t.ask("iam", "get_policy", { PolicyArn = policy }).Policy.PolicyName)
  assert.equal(1, #t.ask("iam", "list_policies", { Scope = "Local" }).Policies)
  t.ask("iam", "delete_policy", { PolicyArn = policy })
  assert.same({}, t.ask("iam", "list_open_id_connect_providers", {}).OpenIDConnectProviderList)
  local arn = ("arn:aws:iam::%s:oidc-provider/none"):format(t.with.account())
  t.refuse("NoSuchEntity", "iam", "get_open_id_connect_provider", {
    OpenIDConnectProviderArn = arn })
  t.strictly("NoSuchEntity", "iam", "delete_open_id_connect_provider", {
    OpenIDConnectProviderArn = arn })
  if not t.with.lax then
    assert.equal("allowed", t.ask("iam", "simulate_principal_policy", { PolicySourceArn =
      ("arn:aws:iam::%s:role/node"):format(t.with.account()),
      ActionNames = { "ec2:CreateVpc" } }).EvaluationResults[1].EvalDecision)
  end
  t.ask("iam", "create_service_linked_role", { AWSServiceName = "spot.amazonaws.com" })
end)

-- A cluster with what it needs. `two_zones` false: both subnets in one zone.
local function cluster_parts(t)
  local vpc, first = contract.network(t)
  local second = t.ask("ec2", "create_subnet", { VpcId = vpc, CidrBlock = "10.42.1.0/24",
    AvailabilityZone = "us-east-1b" }).Subnet.SubnetId
  local cluster_role = role(t, "cluster", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
  local node_role = role(t, "node", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy",
                         "AmazonEC2ContainerRegistryReadOnly")
  return { first = first, second = second, cluster_role = cluster_role, node_role = node_role }
end

local function cluster_request(parts)
  return { name = "demo", roleArn = parts.cluster_role, version = "1.33",
    resourcesVpcConfig = { subnetIds = { parts.first, parts.second },
                           endpointPrivateAccess = true },
    accessConfig = { authenticationMode = "API" }, bootstrapSelfManagedAddons = false,
    upgradePolicy = { supportType = "STANDARD" }, tags = { ["rtl:deployment"] = "demo" } }
end

local function make_cluster(t)
  local parts = cluster_parts(t)
  t.strictly("InvalidParameterException", "eks", "create_cluster", cluster_request(parts))
  if not t.with.lax then require "rtl.task".sleep(15) end
  assert.equal("demo", t.ask("eks", "create_cluster", cluster_request(parts)).cluster.name)
  t.wait("eks", "cluster_active", { name = "demo" })
  return parts
end

case("makes a cluster and shows its endpoint, its group and its issuer", function (t)
  make_cluster(t)
  local cluster = t.ask("eks", "describe_cluster", { name = "demo" }).cluster
  assert.equal("ACTIVE", cluster.status)
  assert.truthy(cluster.endpoint:find "^https://")
  assert.is_string(cluster.certificateAuthority.data)
  assert.is_string(cluster.identity.oidc.issuer)
  if not t.with.lax then
    assert.is_string(cluster.resourcesVpcConfig.clusterSecurityGroupId)
  end
  assert.same({ "demo" }, t.ask("eks", "list_clusters", {}).clusters)
  assert.is_true(#t.ask("eks", "describe_cluster_versions", {}).clusterVersions > 0)
  local update = t.ask("eks", "update_cluster_config", { name = "demo",
    resourcesVpcConfig = { endpointPublicAccess = true } }).update
  if not t.with.lax then
    assert.is_string(t.ask("eks", "describe_update", { name = "demo",
                                                        updateId = update.id }).update.status)
    t.refuse("ResourceInUseException", "eks", "update_cluster_version", { name = "demo",
                                                                         version = "1.34" })
    require "rtl.task".sleep(120)
    t.ask("eks", "update_cluster_version", { name = "demo", version = "1.34" })
    require "rtl.task".sleep(120)
    assert.equal(2, #t.ask("eks", "list_updates", { name = "demo" }).updateIds)
    t.ask("eks", "tag_resource", { resourceArn = cluster.arn, tags = { a = "b" } })
    t.ask("eks", "untag_resource", { resourceArn = cluster.arn, tagKeys = { "rtl:deployment" } })
    assert.same({ a = "b" }, t.ask("eks", "list_tags_for_resource", {
      resourceArn = cluster.arn }).tags)
  end
  t.ask("eks", "delete_cluster", { name = "demo" })
  t.wait("eks", "cluster_deleted", { name = "demo" })
  t.refuse("ResourceNotFoundException", "eks", "describe_cluster", { name = "demo" })
end)

case("runs node groups in a cluster", function (t)
  local parts = make_cluster(t)
  t.ask("eks", "create_addon", { clusterName = "demo", addonName = "vpc-cni" })
  local create = { clusterName = "demo", nodegroupName = "system", subnets = { parts.first },
    nodeRole = parts.node_role, instanceTypes = { "m7i.xlarge" },
    scalingConfig = { minSize = 1, maxSize = 1, desiredSize = 1 }, labels = { role = "system" },
    taints = { { key = "a", value = "b", effect = "NO_SCHEDULE" } } }
  local group = t.ask("eks", "create_nodegroup", create).nodegroup
  assert.equal("NO_SCHEDULE", group.taints[1].effect)
  assert.same({ "system" }, t.ask("eks", "list_nodegroups", { clusterName = "demo" }).nodegroups)
  assert.equal(parts.node_role, t.ask("eks", "describe_nodegroup", { clusterName = "demo",
    nodegroupName = "system" }).nodegroup.nodeRole)
  t.strictly("ResourceInUseException", "eks", "delete_cluster", { name = "demo" })
  if not t.with.lax then
    t.refuse("ResourceInUseException", "eks", "update_nodegroup_config", { clusterName = "demo",
      nodegroupName = "system", labels = { addOrUpdateLabels = { a = "b" } } })
  end
  t.ask("eks", "delete_nodegroup", { clusterName = "demo", nodegroupName = "system" })
  t.wait("eks", "nodegroup_deleted", { clusterName = "demo", nodegroupName = "system" })
end)

case("brings add-ons, access and pod identities into a cluster", function (t)
  local parts = make_cluster(t)
  assert.is_true(#t.ask("eks", "describe_addon_versions", { kubernetesVersion = "1.33",
                                                              addonName = "coredns" }).addons > 0)
  t.ask("eks", "create_addon", { clusterName = "demo", addonName = "vpc-cni",
                                  configurationValues = { env = { A = "1" } } })
  assert.same({ env = { A = "1" } }, t.ask("eks", "describe_addon", { clusterName = "demo",
    addonName = "vpc-cni" }).addon.configurationValues)
  t.strictly("ResourceInUseException", "eks", "create_addon", { clusterName = "demo",
                                                                addonName = "vpc-cni" })
  assert.same({ "vpc-cni" }, t.ask("eks", "list_addons", { clusterName = "demo" }).addons)
  t.ask("eks", "update_addon", { clusterName = "demo", addonName = "vpc-cni",
                                  configurationValues = { env = { A = "2" } } })
  if not t.with.lax then
    t.ask("eks", "describe_addon_configuration", { addonName = "vpc-cni", addonVersion = "v1" })
  end
  local entry = { clusterName = "demo", principalArn = parts.node_role }
  t.ask("eks", "create_access_entry", entry)
  t.strictly("ResourceInUseException", "eks", "create_access_entry", entry)
  local policy = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
  t.ask("eks", "associate_access_policy", { clusterName = "demo", policyArn = policy,
    principalArn = parts.node_role, accessScope = { type = "cluster" } })
  assert.equal(policy, t.ask("eks", "list_associated_access_policies",
                             entry).associatedAccessPolicies[1].policyArn)
  assert.same({ parts.node_role }, t.ask("eks", "list_access_entries", {
    clusterName = "demo" }).accessEntries)
  assert.equal(parts.node_role, t.ask("eks", "describe_access_entry",
                                      entry).accessEntry.principalArn)
  if not t.with.lax then
    t.ask("eks", "update_access_entry", { clusterName = "demo", username = "x",
                                           principalArn = parts.node_role })
  end
  t.ask("eks", "disassociate_access_policy", { clusterName = "demo", policyArn = policy,
                                                principalArn = parts.node_role })
  t.ask("eks", "delete_access_entry", entry)
  t.refuse({ "ResourceNotFoundException", "NotFoundException" }, "eks", "describe_access_entry",
           entry)
  local pods = role(t, "pods", "pods.eks.amazonaws.com")
  if not t.with.lax then require "rtl.task".sleep(15) end
  local bound = t.ask("eks", "create_pod_identity_association", { clusterName = "demo",
    namespace = "ray", serviceAccount = "ray", roleArn = pods }).association.associationId
  local named = { clusterName = "demo", associationId = bound }
  assert.equal(pods, t.ask("eks", "describe_pod_identity_association", named).association.roleArn)
  assert.equal(1, #t.ask("eks", "list_pod_identity_associations", {
    clusterName = "demo" }).associations)
  if not t.with.lax then
    t.ask("eks", "update_pod_identity_association", { clusterName = "demo", roleArn = pods,
                                                       associationId = bound })
  end
  t.ask("eks", "delete_pod_identity_association", named)
  t.ask("eks", "delete_addon", { clusterName = "demo", addonName = "vpc-cni" })
end)

case("keeps parameters, and lets one writer in", function (t)
  local put = { Name = "/rtl/lock", Value = "run-1", Type = "String", Overwrite = false }
  assert.equal(1, t.ask("ssm", "put_parameter", put).Version)
  t.refuse("ParameterAlreadyExists", "ssm", "put_parameter", put)
  assert.equal(2, t.ask("ssm", "put_parameter", { Name = "/rtl/lock", Value = "run-2",
    Type = "String", Overwrite = true }).Version)
  assert.equal("run-2", t.ask("ssm", "get_parameter", { Name = "/rtl/lock" }).Parameter.Value)
  assert.same({ "/none" }, t.ask("ssm", "get_parameters", {
    Names = { "/rtl/lock", "/none" } }).InvalidParameters)
  assert.equal(1, #t.ask("ssm", "get_parameters_by_path", { Path = "/rtl" }).Parameters)
  t.ask("ssm", "add_tags_to_resource", { ResourceType = "Parameter", ResourceId = "/rtl/lock",
                                          Tags = { { Key = "a", Value = "b" } } })
  t.ask("ssm", "delete_parameter", { Name = "/rtl/lock" })
  t.refuse("ParameterNotFound", "ssm", "get_parameter", { Name = "/rtl/lock" })
end)

case("schedules calls", function (t)
  local arn = role(t, "lease", "scheduler.amazonaws.com")
  if not t.with.lax then require "rtl.task".sleep(15) end
  local group = t.ask("scheduler", "create_schedule_group", { Name = "rtl-demo",
    Tags = { { Key = "a", Value = "b" } } })
  assert.same({ { Key = "a", Value = "b" } }, t.ask("scheduler", "list_tags_for_resource",
    { ResourceArn = group.ScheduleGroupArn }).Tags)
  t.strictly("ConflictException", "scheduler", "create_schedule_group", { Name = "rtl-demo",
                                                                       ClientToken = "two" })
  local create = { Name = "end-gpu", GroupName = "rtl-demo",
    ScheduleExpression = "at(2030-01-01T00:00:00)", FlexibleTimeWindow = { Mode = "OFF" },
    ActionAfterCompletion = "DELETE", Target = {
      Arn = "arn:aws:scheduler:::aws-sdk:eks:deleteNodegroup", RoleArn = arn,
      Input = { ClusterName = "demo", NodegroupName = "gpu" } } }
  t.ask("scheduler", "create_schedule", create)
  local named = { Name = "end-gpu", GroupName = "rtl-demo" }
  assert.equal("demo", t.ask("scheduler", "get_schedule", named).Target.Input.ClusterName)
  assert.equal(1, #t.ask("scheduler", "list_schedules", { GroupName = "rtl-demo" }).Schedules)
  create.ScheduleExpression = "at(2031-01-01T00:00:00)"
  t.ask("scheduler", "update_schedule", create)
  create.ScheduleExpression = "rate(10 minutes)"
  create.StartDate, create.EndDate = 1900000000, 1900014400
  create.Target.RetryPolicy = { MaximumRetryAttempts = 5, MaximumEventAgeInSeconds = 600 }
  t.ask("scheduler", "update_schedule", create)
  local live = t.ask("scheduler", "get_schedule", named)
  assert.same({ 1900000000, 1900014400, "rate(10 minutes)" }, { live.StartDate, live.EndDate,
    live.ScheduleExpression })
  create.Target.Input = { clusterName = "demo", nodegroupName = "gpu" }
  t.strictly("ValidationException", "scheduler", "update_schedule", create)
  create.Target.Input = nil
  create.Target.Arn = "arn:aws:scheduler:::aws-sdk:eks:describeCluster"
  t.strictly("ValidationException", "scheduler", "update_schedule", create)
  assert.equal("rtl-demo", t.ask("scheduler", "get_schedule_group", { Name = "rtl-demo" }).Name)
  assert.is_true(#t.ask("scheduler", "list_schedule_groups", {}).ScheduleGroups >= 1)
  t.ask("scheduler", "delete_schedule", named)
  t.refuse("ResourceNotFoundException", "scheduler", "get_schedule", named)
  t.ask("scheduler", "delete_schedule_group", { Name = "rtl-demo" })
end)

case("groups resources and finds them by tag", function (t)
  local vpc = contract.network(t)
  t.ask("resource_groups", "create_group", { Name = "rtl-demo", Tags = { a = "b" },
    Configuration = { { Type = "AWS::EC2::CapacityReservationPool" },
      { Type = "AWS::ResourceGroups::Generic", Parameters = { { Name = "allowed-resource-types",
        Values = { "AWS::EC2::CapacityReservation" } } } } } })
  local group = t.ask("resource_groups", "get_group", { GroupName = "rtl-demo" }).Group
  assert.equal("rtl-demo", group.Name)
  assert.is_true(#t.ask("resource_groups", "list_groups", {}).GroupIdentifiers >= 1)
  if not t.with.lax then
    local held = t.ask("ec2", "create_capacity_reservation", { InstanceType = "g6.12xlarge",
      InstancePlatform = "Linux/UNIX", InstanceCount = 1, AvailabilityZone = "us-east-1b",
      InstanceMatchCriteria = "targeted" }).CapacityReservation
    local members = { Group = "rtl-demo", ResourceArns = { held.CapacityReservationArn } }
    assert.equal(1, #t.ask("resource_groups", "group_resources", members).Succeeded)
    assert.equal(1, #t.ask("resource_groups", "list_group_resources", {
      Group = "rtl-demo" }).ResourceIdentifiers)
    t.ask("resource_groups", "ungroup_resources", members)
    t.ask("resource_groups", "get_group_configuration", { Group = "rtl-demo" })
    t.ask("resource_groups", "tag", { Arn = group.GroupArn, Tags = { c = "d" } })
    assert.equal("d", t.ask("resource_groups", "get_tags", { Arn = group.GroupArn }).Tags.c)
  end
  t.ask("resource_groups", "delete_group", { GroupName = "rtl-demo" })
  local found = t.ask("tagging", "get_resources", { TagFilters = {
    { Key = "rtl:deployment", Values = { "demo" } } } }).ResourceTagMappingList
  local arns = {}
  for _, item in ipairs(found) do arns[#arns + 1] = item.ResourceARN end
  assert.truthy(table.concat(arns, " "):find("vpc/" .. vpc, 1, true))
  local keys = t.ask("tagging", "get_tag_keys", {}).TagKeys
  if not t.with.lax then assert.same({ "Name", "rtl:deployment" }, keys) end
end)

case("lists what else may cost", function (t)
  assert.same({}, t.ask("elb", "describe_load_balancers", {}).LoadBalancerDescriptions)
  assert.same({}, t.ask("elbv2", "describe_load_balancers", {}).LoadBalancers)
  assert.same({}, t.ask("elbv2", "describe_target_groups", {}).TargetGroups)
  assert.same({}, t.ask("logs", "describe_log_groups", {
    logGroupNamePrefix = "/aws/eks/" }).logGroups)
  t.refuse("ResourceNotFoundException", "logs", "delete_log_group", { logGroupName = "none" })
  t.strictly("ResourceNotFoundException", "logs", "list_tags_for_resource", {
    resourceArn = "arn:aws:logs:us-east-1:1:log-group:none" })
end)

local function bucket_settings(t, bucket)
  t.ask("s3", "put_bucket_tagging", { Bucket = bucket, Tagging = { TagSet = {
    { Key = "a", Value = "<b> & \"c\"" } } } })
  assert.equal("<b> & \"c\"", t.ask("s3", "get_bucket_tagging", {
    Bucket = bucket }).TagSet[1].Value)
  t.ask("s3", "put_public_access_block", { Bucket = bucket, PublicAccessBlockConfiguration = {
    BlockPublicAcls = true, IgnorePublicAcls = true, BlockPublicPolicy = true,
    RestrictPublicBuckets = true } })
  assert.is_true(t.ask("s3", "get_public_access_block", {
    Bucket = bucket }).PublicAccessBlockConfiguration.BlockPublicAcls)
  t.ask("s3", "put_bucket_encryption", { Bucket = bucket, ServerSideEncryptionConfiguration = {
    Rules = { { ApplyServerSideEncryptionByDefault = { SSEAlgorithm = "AES256" } } } } })
  t.ask("s3", "get_bucket_encryption", { Bucket = bucket })
  t.ask("s3", "put_bucket_lifecycle_configuration", { Bucket = bucket, LifecycleConfiguration = {
    Rules = { { ID = "x", Status = "Enabled", Filter = { Prefix = "" },
                AbortIncompleteMultipartUpload = { DaysAfterInitiation = 7 } } } } })
  t.ask("s3", "get_bucket_versioning", { Bucket = bucket })
end

case("keeps a bucket with objects and settings", function (t)
  local bucket = "rtl-demo-checkpoints"
  t.ask("s3", "create_bucket", { Bucket = bucket })
  bucket_settings(t, bucket)
  for i = 1, 5 do
    t.ask("s3", "put_object", { Bucket = bucket, Key = "step 1/a+b=" .. i, Body = "bytes\0" .. i })
  end
  assert.equal("bytes\0003", t.ask("s3", "get_object", { Bucket = bucket,
                                                          Key = "step 1/a+b=3" }).Body)
  local listed = t.ask("s3", "list_objects_v2", { Bucket = bucket }).Contents
  assert.equal(5, #listed)
  assert.equal(7, listed[1].Size)
  assert.equal(5, #t.ask("s3", "list_object_versions", { Bucket = bucket }).Versions)
  assert.same({}, t.ask("s3", "list_multipart_uploads", { Bucket = bucket }).Uploads)
  t.refuse("BucketNotEmpty", "s3", "delete_bucket", { Bucket = bucket })
  t.ask("s3", "delete_object", { Bucket = bucket, Key = "step 1/a+b=1" })
  local objects = {}
  for i = 2, 5 do objects[i - 1] = { Key = "step 1/a+b=" .. i } end
  assert.equal(4, #t.ask("s3", "delete_objects", { Bucket = bucket,
    Delete = { Objects = objects } }).Deleted)
  assert.equal(bucket, t.ask("s3", "list_buckets", {}).Buckets[1].Name)
  t.ask("s3", "head_bucket", { Bucket = bucket })
  t.ask("s3", "delete_bucket", { Bucket = bucket })
  t.refuse("NoSuchBucket", "s3", "list_objects_v2", { Bucket = bucket })
end)

contract.tags = tags
