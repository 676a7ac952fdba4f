-- Classic load balancers, for the sweep.
-- The format is described in rtl/aws/model.lua.
return {
  name = "elb", id = "Elastic Load Balancing", protocol = "awsquery", version = "2012-06-01",
  endpoint = "elasticloadbalancing", signing = "elasticloadbalancing",
  actions = "elasticloadbalancing",
  xmlns = "http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/",
  page = { send = "Marker", receive = "NextMarker", size = "PageSize" },
  operations = {
    describe_load_balancers = {
      items = "LoadBalancerDescriptions",
      input = "LoadBalancerNames:[string] PageSize:int(1..400) Marker",
      output = "LoadBalancerDescriptions:[LoadBalancerDescription] NextMarker",
    },
    describe_tags = {
      input = "LoadBalancerNames!:[string](1..20)",
      output = "TagDescriptions:[TagDescription]",
    },
    delete_load_balancer = {
      input = "LoadBalancerName!",
    },
  },
  shapes = {
    Instance = "InstanceId",
    LoadBalancerDescription = [[
      LoadBalancerName DNSName VPCId Subnets:[string] Instances:[Instance] SecurityGroups:[string]
      CreatedTime:time Scheme]],
    Tag = "Key Value",
    TagDescription = "LoadBalancerName Tags:[Tag]",
  },
}
