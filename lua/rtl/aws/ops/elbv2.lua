-- Application and network load balancers, for the sweep.
-- The format is described in rtl/aws/model.lua.
return {
  name = "elbv2", id = "Elastic Load Balancing v2", protocol = "awsquery", version = "2015-12-01",
  endpoint = "elasticloadbalancing", signing = "elasticloadbalancing",
  actions = "elasticloadbalancing",
  xmlns = "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/",
  page = { send = "Marker", receive = "NextMarker", size = "PageSize" },
  operations = {
    describe_load_balancers = {
      items = "LoadBalancers",
      input = "LoadBalancerArns:[string] Names:[string] PageSize:int(1..400) Marker",
      output = "LoadBalancers:[LoadBalancer] NextMarker",
    },
    describe_target_groups = {
      items = "TargetGroups",
      input = "LoadBalancerArn TargetGroupArns:[string] Names:[string] PageSize:int(1..400) Marker",
      output = "TargetGroups:[TargetGroup] NextMarker",
    },
    describe_tags = {
      input = "ResourceArns!:[string]",
      output = "TagDescriptions:[TagDescription]",
    },
    delete_load_balancer = {
      input = "LoadBalancerArn!",
    },
    delete_target_group = {
      input = "TargetGroupArn!",
    },
  },
  shapes = {
    AvailabilityZone = "ZoneName SubnetId",
    LoadBalancer = [[
      LoadBalancerArn DNSName CreatedTime:time LoadBalancerName Scheme VpcId
      State:LoadBalancerState Type AvailabilityZones:[AvailabilityZone] SecurityGroups:[string]
    ]],
    LoadBalancerState = "Code Reason",
    Tag = "Key Value",
    TagDescription = "ResourceArn Tags:[Tag]",
    TargetGroup = [[
      TargetGroupArn TargetGroupName Protocol Port:int VpcId LoadBalancerArns:[string] TargetType]],
  },
  waiters = {
    load_balancer_exists = { op = "describe_load_balancers", delay = 15, tries = 40,
      { "success", status = 200 },
      { "retry", error = "LoadBalancerNotFound" },
    },
    load_balancer_available = { op = "describe_load_balancers", delay = 15, tries = 40,
      { "success", all = "LoadBalancers[].State.Code", is = "active" },
      { "retry", any = "LoadBalancers[].State.Code", is = "provisioning" },
      { "retry", error = "LoadBalancerNotFound" },
    },
    load_balancers_deleted = { op = "describe_load_balancers", delay = 15, tries = 40,
      { "retry", all = "LoadBalancers[].State.Code", is = "active" },
      { "success", error = "LoadBalancerNotFound" },
    },
  },
}
