--- What each operation needs of IAM: the resources that its action is authorized on, by AWS'
-- service authorization reference. Data; a contract test compares it with a copy of that reference.
--
--   "*"                no resource of its own
--   "+vpc"             a new one, with the tags of the request
--   "vpc=VpcId"        the one, or each, that a parameter names; without the parameter none
--   "addon=clusterName/addonName"     one that several parameters name
--   "route-table=*AssociationId"      one that a lookup finds (rtl.rehearse.rights.things)
--
-- The action is the operation's permission. Reads of the services in ANY need no more than "*".

local M = {}

M.ANY = { ec2 = true, autoscaling = true, elb = true, elbv2 = true, pricing = true,
  service_quotas = true, tagging = true }

M.ec2 = {
  allocate_address = "+elastic-ip",
  associate_route_table = "route-table=RouteTableId subnet=SubnetId internet-gateway=GatewayId",
  attach_internet_gateway = "internet-gateway=InternetGatewayId vpc=VpcId",
  authorize_security_group_egress = "security-group=GroupId",
  authorize_security_group_ingress = "security-group=GroupId",
  cancel_capacity_reservation = "capacity-reservation=CapacityReservationId",
  create_capacity_reservation = "+capacity-reservation",
  create_internet_gateway = "+internet-gateway",
  create_launch_template = "+launch-template",
  create_launch_template_version = "launch-template=LaunchTemplateId",
  create_nat_gateway = "+natgateway subnet=SubnetId elastic-ip=AllocationId",
  create_placement_group = "+placement-group",
  create_route = "route-table=RouteTableId",
  create_route_table = "+route-table vpc=VpcId",
  create_security_group = "+security-group vpc=VpcId",
  create_subnet = "+subnet vpc=VpcId",
  create_tags = "any=Resources",
  create_vpc = "+vpc",
  create_vpc_endpoint = "+vpc-endpoint vpc=VpcId route-table=RouteTableIds subnet=SubnetIds"
    .. " security-group=SecurityGroupIds",
  delete_internet_gateway = "internet-gateway=InternetGatewayId",
  delete_launch_template = "launch-template=LaunchTemplateId",
  delete_nat_gateway = "natgateway=NatGatewayId",
  delete_network_interface = "network-interface=NetworkInterfaceId",
  delete_placement_group = "placement-group=GroupName",
  delete_route = "route-table=RouteTableId",
  delete_route_table = "route-table=RouteTableId",
  delete_security_group = "security-group=GroupId",
  delete_subnet = "subnet=SubnetId",
  delete_tags = "any=Resources",
  delete_volume = "volume=VolumeId",
  delete_vpc = "vpc=VpcId",
  delete_vpc_endpoints = "vpc-endpoint=VpcEndpointIds",
  describe_vpc_attribute = "vpc=VpcId",
  detach_internet_gateway = "internet-gateway=InternetGatewayId vpc=VpcId",
  detach_network_interface = "network-interface=*AttachmentId instance=*AttachmentId",
  disassociate_address = "elastic-ip=*AssociationId",
  disassociate_route_table = "route-table=*AssociationId subnet=*AssociationId",
  get_console_output = "instance=InstanceId",
  modify_capacity_reservation = "capacity-reservation=CapacityReservationId",
  purchase_capacity_block = "+capacity-reservation",
  modify_launch_template = "launch-template=LaunchTemplateId",
  modify_subnet_attribute = "subnet=SubnetId",
  modify_vpc_attribute = "vpc=VpcId",
  modify_vpc_endpoint = "vpc-endpoint=VpcEndpointId route-table=AddRouteTableIds"
    .. " route-table=RemoveRouteTableIds",
  release_address = "elastic-ip=AllocationId",
  replace_route = "route-table=RouteTableId",
  replace_route_table_association = "route-table=RouteTableId subnet=*AssociationId",
  revoke_security_group_egress = "security-group=GroupId",
  revoke_security_group_ingress = "security-group=GroupId",
  terminate_instances = "instance=InstanceIds",
}

local ENTRY = "access-entry=clusterName/principalArn"
local ASSOCIATION = "podidentityassociation=clusterName/associationId"
local ADDON, GROUP = "addon=clusterName/addonName", "nodegroup=clusterName/nodegroupName"

M.eks = {
  associate_access_policy = ENTRY,
  create_access_entry = "cluster=clusterName +",
  create_addon = "cluster=clusterName +",
  create_cluster = "* +",
  create_nodegroup = "cluster=clusterName +",
  create_pod_identity_association = "cluster=clusterName +",
  delete_access_entry = ENTRY,
  delete_addon = ADDON,
  delete_cluster = "cluster=name",
  delete_nodegroup = GROUP,
  delete_pod_identity_association = ASSOCIATION,
  describe_access_entry = ENTRY,
  describe_addon = ADDON,
  describe_addon_configuration = "*",
  describe_addon_versions = "*",
  describe_cluster = "cluster=name",
  describe_cluster_versions = "*",
  describe_nodegroup = GROUP,
  describe_pod_identity_association = ASSOCIATION,
  describe_update = "cluster=name addon=name/addonName nodegroup=name/nodegroupName",
  disassociate_access_policy = ENTRY,
  list_access_entries = "cluster=clusterName",
  list_addons = "cluster=clusterName",
  list_associated_access_policies = ENTRY,
  list_clusters = "*",
  list_nodegroups = "cluster=clusterName",
  list_pod_identity_associations = "cluster=clusterName",
  list_tags_for_resource = "any=resourceArn",
  list_updates = "cluster=name addon=name/addonName nodegroup=name/nodegroupName",
  tag_resource = "any=resourceArn +",
  untag_resource = "any=resourceArn",
  update_access_entry = ENTRY,
  update_addon = ADDON,
  update_cluster_config = "cluster=name",
  update_cluster_version = "cluster=name",
  update_nodegroup_config = GROUP,
  update_nodegroup_version = GROUP,
  update_pod_identity_association = ASSOCIATION,
}

local ROLE, PROFILE = "role=RoleName", "instance-profile=InstanceProfileName"

M.iam = {
  add_role_to_instance_profile = PROFILE,
  attach_role_policy = ROLE,
  create_instance_profile = PROFILE .. " +",
  create_policy = "policy=PolicyName +",
  create_role = ROLE .. " +",
  create_service_linked_role = "role=*AWSServiceName",
  delete_instance_profile = PROFILE,
  delete_open_id_connect_provider = "any=OpenIDConnectProviderArn",
  delete_policy = "policy=PolicyArn",
  delete_role = ROLE,
  delete_role_policy = ROLE,
  detach_role_policy = ROLE,
  get_instance_profile = PROFILE,
  get_open_id_connect_provider = "any=OpenIDConnectProviderArn",
  get_policy = "policy=PolicyArn",
  get_role = ROLE,
  get_role_policy = ROLE,
  list_attached_role_policies = ROLE,
  list_instance_profiles_for_role = ROLE,
  list_open_id_connect_providers = "*",
  list_policies = "*",
  list_role_policies = ROLE,
  list_role_tags = ROLE,
  list_roles = "*",
  put_role_permissions_boundary = ROLE,
  put_role_policy = ROLE,
  remove_role_from_instance_profile = PROFILE,
  simulate_principal_policy = "any=PolicySourceArn",
  tag_role = ROLE .. " +",
  untag_role = ROLE,
  update_assume_role_policy = ROLE,
  update_role = ROLE,
}

M.logs = {
  delete_log_group = "log-group=logGroupName",
  describe_log_groups = "*",
  list_tags_for_resource = "any=resourceArn",
}

M.resource_groups = {
  create_group = "* +",
  delete_group = "group=Group group=GroupName",
  get_group = "group=Group group=GroupName",
  get_group_configuration = "group=Group",
  get_tags = "any=Arn",
  group_resources = "group=Group",
  list_group_resources = "group=Group group=GroupName",
  list_groups = "*",
  tag = "any=Arn +",
  ungroup_resources = "group=Group",
}

local BUCKET, OBJECT = "bucket=Bucket", "object=Bucket/Key"

M.s3 = {
  create_bucket = BUCKET,
  delete_bucket = BUCKET,
  delete_object = OBJECT,
  delete_objects = "object=*Delete",
  get_bucket_encryption = BUCKET,
  get_bucket_tagging = BUCKET,
  get_bucket_versioning = BUCKET,
  get_object = OBJECT,
  get_public_access_block = BUCKET,
  head_bucket = BUCKET,
  list_buckets = "*",
  list_multipart_uploads = BUCKET,
  list_object_versions = BUCKET,
  list_objects_v2 = BUCKET,
  put_bucket_encryption = BUCKET,
  put_bucket_lifecycle_configuration = BUCKET,
  put_bucket_tagging = BUCKET,
  put_object = OBJECT,
  put_public_access_block = BUCKET,
}

local SCHEDULE = "schedule=GroupName/Name"

M.scheduler = {
  create_schedule = SCHEDULE,
  create_schedule_group = "schedule-group=Name +",
  delete_schedule = SCHEDULE,
  delete_schedule_group = "schedule-group=Name",
  get_schedule = SCHEDULE,
  get_schedule_group = "schedule-group=Name",
  list_schedule_groups = "*",
  list_schedules = "*",
  list_tags_for_resource = "any=ResourceArn",
  update_schedule = SCHEDULE,
}

M.service_quotas = { request_service_quota_increase = "quota=ServiceCode/QuotaCode" }

M.ssm = {
  add_tags_to_resource = "parameter=ResourceId +",
  delete_parameter = "parameter=Name",
  get_parameter = "parameter=Name",
  get_parameters = "parameter=Names",
  get_parameters_by_path = "parameter=Path",
  put_parameter = "parameter=Name +",
}

M.sts = { assume_role = "any=RoleArn", decode_authorization_message = "*",
  get_caller_identity = false } -- allowed to everybody, whatever a policy says

M.tagging = { tag_resources = "* +", untag_resources = "*" }

--- What tags in a create need beside it: the action, and the resource that does not exist yet. EC2
-- has one for all, ec2:CreateTags, and says for which call it is done.
M.tagged = {
  ["eks:create_cluster"] = { "eks:TagResource", "cluster=name" },
  ["eks:create_nodegroup"] = { "eks:TagResource", GROUP },
  ["eks:create_addon"] = { "eks:TagResource", ADDON },
  ["eks:create_access_entry"] = { "eks:TagResource", ENTRY },
  ["eks:create_pod_identity_association"] = { "eks:TagResource",
    "podidentityassociation=clusterName/serviceAccount" },
  ["iam:create_role"] = { "iam:TagRole", ROLE },
  ["iam:create_instance_profile"] = { "iam:TagInstanceProfile", PROFILE },
  ["iam:create_policy"] = { "iam:TagPolicy", "policy=PolicyName" },
  ["scheduler:create_schedule_group"] = { "scheduler:TagResource", "schedule-group=Name" },
  ["resource_groups:create_group"] = { "resource-groups:Tag", "group=Name" },
  ["ssm:put_parameter"] = { "ssm:AddTagsToResource", "parameter=Name" },
}

return M
