--- What to do about EKS' health issues: code (of a cluster, an add-on or a node group) → next step.
-- The codes are those of botocore's eks model (ClusterIssueCode, AddonIssueCode,
-- NodegroupIssueCode); EKS' own message says what it saw.

local AGAIN = "Run the same command again: what failed is made anew"
local ROLE = "Look at the role that the message names, its policies and who may assume it; then "
  .. "run the same command again"
local SUBNET = "Look at the subnets that the message names; then run the same command again"
local TEMPLATE = "Do not touch the launch template of a node group; run the same command again"
local KEY = "Look at the KMS key of the cluster's secrets: EKS must be able to use it"

return {
  AccessDenied = ROLE,
  AddonPermissionFailure = ROLE,
  AddonSubscriptionNeeded = "Subscribe to the add-on in AWS Marketplace first",
  AdmissionRequestDenied = "Look which admission webhook or policy of the cluster refuses the "
    .. "add-on's objects",
  AmiIdNotFound = "Leave the AMI to EKS, or give one that stands in this region",
  AsgInstanceLaunchFailures = "The scaling activities of the group say why: rtl shows the newest",
  AutoScalingGroupInstanceRefreshActive = "Wait for the instance refresh of the group to end",
  AutoScalingGroupInvalidConfiguration = "Do not touch the Auto Scaling group of a node group; "
    .. "run the same command again",
  AutoScalingGroupNotFound = "Do not touch the Auto Scaling group of a node group; run the same "
    .. "command again",
  AutoScalingGroupOptInRequired = "Enable the region or Auto Scaling for this account",
  AutoScalingGroupRateLimitExceeded = "Others use up the rate of Auto Scaling: run the same "
    .. "command again in a while",
  ClusterUnreachable = "Look at the cluster's endpoint, its security group and its subnets",
  ConfigurationConflict = "Something else made the same objects: take it away, or let rtl's add-on "
    .. "replace it by running the same command again",
  Ec2InstanceTypeDoesNotExist = "Choose an instance type that this region has",
  Ec2LaunchTemplateDeletionFailure = TEMPLATE,
  Ec2LaunchTemplateInvalidConfiguration = TEMPLATE,
  Ec2LaunchTemplateMaxLimitExceeded = "Delete launch templates that nobody needs, or ask for more "
    .. "in Service Quotas",
  Ec2LaunchTemplateNotFound = TEMPLATE,
  Ec2LaunchTemplateVersionMaxLimitExceeded = "Delete versions of the launch template that nobody "
    .. "needs",
  Ec2LaunchTemplateVersionMismatch = TEMPLATE,
  Ec2SecurityGroupDeletionFailure = "Look what else uses the security group; then run the same "
    .. "command again",
  Ec2SecurityGroupNotFound = "The cluster's security group is gone: tear the deployment down and "
    .. "deploy it again",
  Ec2ServiceNotSubscribed = "Let the account's EC2 be activated first",
  Ec2SubnetInvalidConfiguration = SUBNET,
  Ec2SubnetListTooLong = "Give the group fewer subnets",
  Ec2SubnetMissingIpv6Assignment = SUBNET,
  Ec2SubnetNotFound = SUBNET,
  IamInstanceProfileNotFound = AGAIN,
  IamLimitExceeded = "Delete roles or instance profiles that nobody needs, or ask for more in "
    .. "Service Quotas",
  IamNodeRoleNotFound = ROLE,
  IamRoleNotFound = ROLE,
  IamThrottling = "Others use up the rate of IAM: run the same command again in a while",
  InstanceLimitExceeded = "Ask for a higher quota of this instance type in Service Quotas",
  InsufficientFreeAddresses = "Give the deployment a network with larger subnets, or free "
    .. "addresses in the subnets that the message names",
  InsufficientNumberOfReplicas = "Its pods do not run: look at them and at the nodes",
  InternalFailure = AGAIN .. "; if it stays, ask AWS",
  K8sResourceNotFound = AGAIN,
  KmsGrantRevoked = KEY,
  KmsKeyDisabled = KEY,
  KmsKeyMarkedForDeletion = KEY,
  KmsKeyNotFound = KEY,
  KubernetesLabelInvalid = "Correct the labels of the group",
  LimitExceeded = "Ask for a higher quota in Service Quotas: the message says of what",
  NodeCreationFailure = "Look at the nodes' way out (NAT, routes), their role and their console",
  NodeTerminationFailure = AGAIN,
  Other = AGAIN,
  PodEvictionFailure = "A pod does not let itself be evicted (a disruption budget, a finalizer): "
    .. "take it away, then run the same command again",
  ResourceLimitExceeded = "Ask for a higher quota in Service Quotas: the message says of what",
  ResourceNotFound = AGAIN,
  SourceEc2LaunchTemplateNotFound = TEMPLATE,
  StsRegionalEndpointDisabled = "Activate STS in this region (IAM, account settings)",
  Unknown = AGAIN,
  UnsupportedAddonModification = "Take the add-on's own changes back; then run the same command "
    .. "again",
  UnsupportedVersion = "Choose a version of Kubernetes that EKS offers",
  VpcNotFound = "The VPC is gone: tear the deployment down and deploy it again",
}
