-- EC2 Auto Scaling: what a node group's group does and why it fails.
-- The format is described in rtl/aws/model.lua.
return {
  name = "autoscaling", id = "Auto Scaling", protocol = "awsquery", version = "2011-01-01",
  endpoint = "autoscaling", signing = "autoscaling", actions = "autoscaling",
  xmlns = "http://autoscaling.amazonaws.com/doc/2011-01-01/",
  page = { send = "NextToken", receive = "NextToken", size = "MaxRecords" },
  operations = {
    describe_auto_scaling_groups = {
      items = "AutoScalingGroups",
      input = [[
        AutoScalingGroupNames:[string(1..255)] IncludeInstances:bool MaxRecords:int
        Filters:[Filter] NextToken]],
      output = "AutoScalingGroups:[AutoScalingGroup] NextToken",
    },
    describe_scaling_activities = {
      items = "Activities",
      input = [[
        ActivityIds:[string] AutoScalingGroupName:string(1..255) IncludeDeletedGroups:bool
        MaxRecords:int Filters:[Filter] NextToken]],
      output = "Activities:[Activity] NextToken",
    },
  },
  shapes = {
    Activity = [[
      ActivityId AutoScalingGroupName Cause StartTime:time StatusCode Description EndTime:time
      StatusMessage Progress:int Details AutoScalingGroupState AutoScalingGroupARN]],
    AutoScalingGroup = [[
      AutoScalingGroupName AutoScalingGroupARN LaunchTemplate:LaunchTemplateSpecification
      MixedInstancesPolicy:MixedInstancesPolicy MinSize:int MaxSize:int DesiredCapacity:int
      AvailabilityZones:[string] Instances:[Instance] SuspendedProcesses:[SuspendedProcess]
      VPCZoneIdentifier Status Tags:[TagDescription] CreatedTime:time HealthCheckType]],
    Filter = "Name Values:[string]",
    Instance = [[
      InstanceId InstanceType AvailabilityZone LifecycleState HealthStatus
      LaunchTemplate:LaunchTemplateSpecification ProtectedFromScaleIn:bool]],
    LaunchTemplate = "LaunchTemplateSpecification:LaunchTemplateSpecification",
    LaunchTemplateSpecification = "LaunchTemplateId LaunchTemplateName Version",
    MixedInstancesPolicy = "LaunchTemplate:LaunchTemplate",
    SuspendedProcess = "ProcessName SuspensionReason",
    TagDescription = "ResourceId ResourceType Key Value PropagateAtLaunch:bool",
  },
  errors = {
    ResourceContention = 500,
  },
}
