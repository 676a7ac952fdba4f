--- The kinds of weather, as data: what can go wrong in a cloud, and where that is known from.
--
-- title    what happens, for people
-- source   where it is documented or was seen; without one it stands among what is unconfirmed
-- weight   how often it is in a mixed sky (1 is usual; 0: never, since no ordinary life meets it)
-- spells   it blows in spells: { count, shortest, longest } seconds
-- between  { low, high }: seconds between which spells begin (0 and 3000)
-- chance   of each call in a spell to be hit
-- times    of the things of its sort that come by, how many are hit (1), after `skip` (0) others:
--          numbers, or { low, high } from which the seed picks
-- at       { low, high }: seconds after the world's begin at which it happens
-- with     kinds that come with it
-- fields   what it sets for the whole of a world's life (it counts once)
-- pick     lists of which the seed picks one entry each: the draw has it under the list's name

local KUBE = { 600, 1900 } -- while there is a cluster
local EC2_ERRORS = "EC2 API reference, error codes"
local BOTOCORE = "botocore, service-2.json of "

return {
  -- ---- on the way to a server ----
  ["reset-before"] = {
    title = "connections are reset before a request takes effect",
    source = "any network", spells = { 5, 20, 120 }, chance = 0.12,
  },
  ["reset-after"] = {
    title = "connections are reset after a request took effect",
    source = "any network", spells = { 5, 20, 120 }, chance = 0.12,
  },
  ["no-answer"] = {
    title = "requests take effect, but their answers never come",
    source = "any network", spells = { 5, 20, 120 }, chance = 0.08,
  },
  ["no-network"] = {
    title = "the operator's network is gone for a while",
    source = "any laptop", spells = { 3, 10, 90 }, chance = 1,
  },
  ["slow-network"] = {
    title = "every call takes ten to forty times as long",
    source = "any network", spells = { 3, 60, 400 }, chance = 1, pick = { factor = { 10, 20, 40 } },
  },

  -- ---- what every service of AWS may answer ----
  throttling = {
    title = "others in the account use up the rate limits of its services",
    source = "EC2 developer guide, request throttling; botocore, data/_retry.json",
    spells = { 5, 20, 150 }, pick = { left = { 0.2, 0.5, 1 } },
  },
  ["server-errors"] = {
    title = "services answer 500 and 503 and have done nothing",
    source = EC2_ERRORS .. "; AWS common errors", spells = { 5, 20, 120 }, chance = 0.15,
  },
  ["server-errors-after"] = {
    title = "services answer 500 and 503, and the call took effect all the same",
    source = "EC2 developer guide, ensuring idempotency", spells = { 5, 20, 120 }, chance = 0.1,
  },
  ["small-pages"] = {
    title = "pages of lists are very short",
    source = "EC2 developer guide, pagination: a page may hold fewer than MaxResults",
    pick = { size = { 1, 2, 3 } },
  },
  ["clock-skew"] = {
    title = "the operator's clock is wrong by minutes",
    source = "SDK clock-skew test cases", pick = { seconds = { -1500, -420, 360, 900, 4000 } },
  },
  ["expired-keys"] = {
    title = "the session's credentials expire in the middle; a next run has new ones",
    source = BOTOCORE .. "sts: ExpiredTokenException", weight = 0.7, at = { 20, 2400 },
  },

  -- ---- eventual consistency ----
  ["late-ids"] = {
    title = "what was just made is not found for some seconds",
    source = "EC2 developer guide, eventual consistency",
    chance = 0.35, pick = { seconds = { 2, 5, 12 } },
  },
  ["late-tags"] = {
    title = "what was just made is not found by its tags for some seconds, and answers are lost",
    source = "EC2 developer guide, eventual consistency", with = { "reset-after" },
    chance = 0.5, pick = { seconds = { 5, 15, 30 } },
  },
  ["late-roles"] = {
    title = "roles can be used only a minute after they were made",
    source = "Terraform, eks/cluster.go", pick = { seconds = { 25, 50, 90 } },
  },
  ["late-access"] = {
    title = "a new cluster refuses its creator's tokens for some minutes",
    pick = { seconds = { 60, 180, 300 } },
  },
  ["late-name"] = {
    title = "the name of a new cluster's endpoint is not known for some minutes",
    pick = { seconds = { 60, 180, 300 } },
  },

  -- ---- capacity and quotas ----
  ["no-capacity"] = {
    title = "the first zone that is asked for has no GPU instances",
    source = EC2_ERRORS .. ": InsufficientInstanceCapacity",
    fields = { capacity = "first-zone-empty" },
  },
  ["no-capacity-anywhere"] = {
    title = "no zone has GPU instances", source = EC2_ERRORS .. ": InsufficientInstanceCapacity",
    weight = 0.4, fields = { capacity = "none" },
  },
  ["half-capacity"] = {
    title = "a zone has capacity for the first GPU instance and none for the next",
    source = "containers-roadmap #2204",
  },
  ["no-quota"] = {
    title = "the account's quota for GPU instances is zero",
    source = "aws-samples/deepseek-using-vllm-on-eks #3",
    weight = 0.4, fields = { quota = { ["L-DB2E81BA"] = 0, ["L-417A185B"] = 0 } },
  },
  ["quota-taken"] = {
    title = "others start GPU instances in the middle and use the quota up; after a while they go",
    source = EC2_ERRORS .. ": VcpuLimitExceeded", at = { 30, 800 },
    pick = { seconds = { 600, 3000 } },
  },
  ["unpaid-block"] = {
    title = "the payment of a Capacity Block is not processed: it is released after twelve hours",
    source = BOTOCORE .. "ec2: CapacityReservation.State", weight = 0,
  },
  ["vpc-quota"] = {
    title = "others have all the VPCs that a region may hold",
    source = EC2_ERRORS .. ": VpcLimitExceeded", weight = 0.4, at = { 0, 0 },
  },
  ["address-quota"] = {
    title = "others have all the addresses that a region may hold",
    source = EC2_ERRORS .. ": AddressLimitExceeded", weight = 0.4, at = { 0, 0 },
  },

  -- ---- network ----
  ["nat-failure"] = {
    title = "a NAT gateway is accepted and then fails",
    source = BOTOCORE .. "ec2: NatGateway.FailureCode", pick = { failure = {
      { "InternalError", "Network interface eni-0 in subnet could not be created" },
      { "InsufficientFreeAddressesInSubnet", "Subnet has insufficient free addresses to create "
        .. "this NAT gateway" },
      { "Gateway.NotAttached", "Network has no Internet gateway attached" } } },
  },
  ["altered-group"] = {
    title = "somebody takes the EFA group's rules away in the middle",
    source = "gardener-extension-provider-aws #1832", at = { 300, 1500 },
  },
  ["leaked-interfaces"] = {
    title = "nodes leave interfaces of the VPC CNI behind, in their subnet and groups",
    source = "eksctl #1849; amazon-vpc-cni-k8s, pkg/awsutils", times = { 1, 4 },
  },

  -- ---- cluster, add-ons, node groups ----
  ["cluster-failure"] = {
    title = "a cluster is accepted and then FAILED", weight = 0.6,
    source = BOTOCORE .. "eks: ClusterIssueCode", pick = { issue = {
      { "Ec2SubnetNotFound", "One or more subnets could not be found." },
      { "IamRoleNotFound", "The cluster role could not be found." },
      { "InsufficientFreeAddresses", "The subnets do not have enough free addresses." },
      { "InternalFailure", "These errors are usually caused by an Amazon EKS server-side issue." },
    } },
  },
  ["slow-cluster"] = {
    title = "a cluster takes twice its time", source = "reports of 8 to 25 minutes",
    pick = { seconds = { 400, 700, 900 } },
  },
  ["busy-cluster"] = {
    title = "a cluster refuses its deletion for a while: an update is in progress",
    source = "Terraform, eks/cluster.go", times = { 2, 8 },
  },
  ["addon-degraded"] = {
    title = "an add-on is DEGRADED for minutes before it is ACTIVE", skip = { 0, 3 },
    source = "eksctl #4607", pick = { seconds = { 120, 400 } },
  },
  ["addon-failure"] = {
    title = "an add-on is CREATE_FAILED", skip = { 0, 3 }, weight = 0.6,
    source = "containers-roadmap #1411; " .. BOTOCORE .. "eks: AddonIssueCode", pick = { issue = {
      { "ConfigurationConflict", "Conflicts found when trying to apply. Will not continue due to "
        .. "resolve conflicts mode." },
      { "AdmissionRequestDenied", "The request was denied by an admission webhook." },
      { "InternalFailure", "An internal error occurred." } } },
  },
  ["nodegroup-failure"] = {
    title = "a node group is CREATE_FAILED with one of EKS' health codes", skip = { 0, 1 },
    source = BOTOCORE .. "eks: NodegroupIssueCode", weight = 1.2, pick = { issue = {
      { "AutoScalingGroupNotFound", "We couldn't find the Auto Scaling group associated with the "
        .. "managed node group." },
      { "AutoScalingGroupInvalidConfiguration", "The Auto Scaling group has been changed." },
      { "AutoScalingGroupRateLimitExceeded", "The Auto Scaling API limit was exceeded." },
      { "Ec2SecurityGroupNotFound", "We couldn't find the cluster security group." },
      { "Ec2LaunchTemplateNotFound", "We couldn't find the Amazon EC2 launch template." },
      { "Ec2LaunchTemplateVersionMismatch", "The launch template version does not match." },
      { "Ec2LaunchTemplateInvalidConfiguration", "The launch template is not valid." },
      { "Ec2LaunchTemplateMaxLimitExceeded", "The limit of launch templates is reached." },
      { "SourceEc2LaunchTemplateNotFound", "The source launch template could not be found." },
      { "Ec2SubnetNotFound", "We couldn't find one or more subnets." },
      { "Ec2SubnetInvalidConfiguration", "Subnets do not assign public addresses to instances." },
      { "Ec2InstanceTypeDoesNotExist", "The supplied instance type does not exist." },
      { "IamInstanceProfileNotFound", "We couldn't find the IAM instance profile." },
      { "IamNodeRoleNotFound", "We couldn't find the node role." },
      { "IamLimitExceeded", "The limit of IAM instance profiles is reached." },
      { "IamThrottling", "The IAM API limit was exceeded." },
      { "InstanceLimitExceeded", "Your account is unable to launch any more instances of the "
        .. "specified type." },
      { "InsufficientFreeAddresses", "One or more of the subnets do not have enough free "
        .. "addresses for new nodes." },
      { "AmiIdNotFound", "We couldn't find the AMI." },
      { "AccessDenied", "Amazon EKS or one or more of your nodes can't authenticate." },
      { "ClusterUnreachable", "Amazon EKS is unable to communicate with your API server." },
      { "LimitExceeded", "A limit of the account is reached." },
      { "InternalFailure", "These errors are usually caused by an Amazon EKS server-side issue." },
      { "Unknown", "An unknown error occurred." } } },
  },
  ["stuck-nodegroup"] = {
    title = "the deletion of a node group ends in DELETE_FAILED; the next one goes through",
    source = BOTOCORE .. "eks: NodegroupIssueCode", skip = { 0, 1 }, pick = { issue = {
      { "Ec2SecurityGroupDeletionFailure", "We could not delete the remote access group." },
      { "Ec2LaunchTemplateDeletionFailure", "We could not delete the launch template." },
      { "PodEvictionFailure", "Reached max retries while trying to evict pods from nodes." },
      { "NodeTerminationFailure", "Failed to terminate a node." } } },
  },
  ["slow-nodes"] = {
    title = "machines take many minutes more to join", source = "terraform-aws-eks #1910",
    times = { 1, 3 }, pick = { seconds = { 120, 400, 900 } },
  },
  ["node-never-joins"] = {
    title = "a machine runs and never joins", skip = { 0, 2 }, weight = 0.6,
    source = "amazon-eks-ami-rhel #11", pick = { console = {
      "[   31.2] nodeadm[1502]: {\"level\":\"fatal\",\"msg\":\"Command failed\",\"error\":"
        .. "\"missing config\"}",
      "[  312.7] kubelet[1711]: E1201 10:21:07 dial tcp 10.42.3.9:443: i/o timeout" } },
  },
  ["lost-machine"] = {
    title = "a machine dies once its group is there; another one takes its place",
    source = "EC2 user guide, instance retirement", skip = { 0, 1 },
    pick = { seconds = { 20, 120, 400, 900 } },
  },
  ["dead-gpu"] = {
    title = "a node offers a GPU less than its type has", weight = 0.5,
    source = "k8s-device-plugin, health checks (Xid)", skip = { 0, 1 },
  },

  -- ---- Kubernetes ----
  ["api-restart"] = {
    title = "the API server can't be reached for a while, and all watches end",
    source = "EKS user guide, control plane updates",
    spells = { 6, 15, 60 }, between = KUBE, chance = 1,
  },
  ["api-errors"] = {
    title = "the API server answers 429, 500, 503 and 504",
    source = "Kubernetes, API priority and fairness; etcdserver: request timed out",
    spells = { 6, 20, 120 }, between = KUBE, chance = 0.2,
  },
  ["watch-gone"] = {
    title = "watches are told that their version is too old",
    source = "Kubernetes API concepts: 410",
    spells = { 6, 60, 200 }, between = KUBE, chance = 0.5,
  },
  ["watch-cut"] = {
    title = "watches end after some seconds",
    source = "Kubernetes API concepts: timeoutSeconds",
    spells = { 6, 60, 200 }, between = KUBE, chance = 0.7,
  },
  ["exec-cut"] = {
    title = "streams into pods break off in the middle",
    source = "Kubernetes API concepts: long-running requests",
    spells = { 6, 20, 120 }, between = KUBE, chance = 0.3,
  },
  ["image-back-off"] = {
    title = "an image can't be pulled for a while", skip = { 0, 14 },
    source = "Kubernetes, images: ImagePullBackOff", pick = { seconds = { 40, 200, 600 } },
  },
  ["no-image"] = {
    title = "an image can't be pulled at all", skip = { 0, 14 }, weight = 0.4,
    source = "Kubernetes, images: ImagePullBackOff", pick = { seconds = { 100000 } },
  },
  ["evicted-pod"] = {
    title = "a pod is evicted, and its controller makes another", skip = { 0, 14 },
    source = "Kubernetes, node-pressure eviction", pick = { seconds = { 5, 40, 200 } },
  },
  ["lost-head"] = {
    title = "Ray's head pod is killed for its memory, with the job in it; another one comes",
    source = "kuberay: the head restarts, its state is lost", times = { 1, 2 },
    pick = { seconds = { 20, 60, 90, 120, 180 } },
  },
  ["lost-worker"] = {
    title = "a Ray worker pod is killed for its memory", source = "Kubernetes: OOMKilled",
    skip = { 0, 1 }, pick = { seconds = { 30, 60, 90, 120 } },
  },

  -- ---- the job ----
  ["tcp-fallback"] = {
    title = "the NCCL plugin finds no EFA provider: the job runs over TCP sockets",
    source = "aws-ofi-nccl: NET/Socket after a failed plugin", weight = 0.6,
    fields = { nccl = "socket" },
  },
  ["failing-job"] = {
    title = "the job's own script ends with a code", weight = 0.6,
    source = "Ray, job submission: driver_exit_code", pick = { code = { 1, 2, 42, 137 } },
  },
  ["stuck-job"] = {
    title = "the job comes to no end", weight = 0.4, source = "NCCL: a peer that never answers",
  },
}
