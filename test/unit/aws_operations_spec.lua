-- The calls that a deployment, its checks and its removal can need: each has its row.
local model = require "rtl.aws.model"

local NEEDED = {
  autoscaling = "DescribeAutoScalingGroups DescribeScalingActivities",
  ec2 = [[
    DescribeRegions DescribeAvailabilityZones DescribeInstanceTypeOfferings DescribeInstanceTypes
    GetSpotPlacementScores DescribeSpotPriceHistory DescribeCapacityReservations
    DescribeCapacityBlockOfferings DescribeInstances DescribeVpcs DescribeAddresses
    DescribeNatGateways CreateVpc ModifyVpcAttribute DescribeVpcAttribute CreateSubnet
    ModifySubnetAttribute DescribeSubnets CreateInternetGateway AttachInternetGateway
    DescribeInternetGateways AllocateAddress CreateNatGateway CreateRouteTable DescribeRouteTables
    CreateRoute ReplaceRoute DeleteRoute AssociateRouteTable ReplaceRouteTableAssociation
    CreateVpcEndpoint DescribeVpcEndpoints CreateSecurityGroup DescribeSecurityGroups
    DescribeSecurityGroupRules AuthorizeSecurityGroupIngress AuthorizeSecurityGroupEgress
    RevokeSecurityGroupIngress RevokeSecurityGroupEgress CreateTags DeleteTags DescribeTags
    DisassociateRouteTable DeleteNatGateway DisassociateAddress ReleaseAddress
    DetachInternetGateway DeleteInternetGateway DeleteRouteTable DeleteSubnet DeleteSecurityGroup
    DeleteVpcEndpoints DeleteVpc DescribeNetworkInterfaces DetachNetworkInterface
    DeleteNetworkInterface CreatePlacementGroup DescribePlacementGroups DeletePlacementGroup
    CreateCapacityReservation ModifyCapacityReservation CancelCapacityReservation
    PurchaseCapacityBlock CreateLaunchTemplate CreateLaunchTemplateVersion
    DescribeLaunchTemplates DescribeLaunchTemplateVersions ModifyLaunchTemplate
    DeleteLaunchTemplate DescribeVolumes DeleteVolume DescribeImages]],
  eks = [[
    CreateCluster DescribeCluster UpdateClusterConfig DeleteCluster CreateNodegroup
    DescribeNodegroup ListNodegroups UpdateNodegroupConfig UpdateNodegroupVersion DeleteNodegroup
    CreateAddon DescribeAddon UpdateAddon DeleteAddon DescribeAddonConfiguration CreateAccessEntry
    DescribeAccessEntry DeleteAccessEntry AssociateAccessPolicy DisassociateAccessPolicy
    CreatePodIdentityAssociation ListPodIdentityAssociations DeletePodIdentityAssociation
    DescribeUpdate ListClusters ListAddons ListAccessEntries TagResource UntagResource
    DescribeClusterVersions DescribeAddonVersions]],
  elb = "DescribeLoadBalancers DescribeTags DeleteLoadBalancer",
  elbv2 = "DescribeLoadBalancers DescribeTags DeleteLoadBalancer DescribeTargetGroups",
  iam = [[
    CreateRole GetRole UpdateAssumeRolePolicy AttachRolePolicy DetachRolePolicy PutRolePolicy
    DeleteRolePolicy TagRole DeleteRole CreatePolicy DeletePolicy CreateOpenIDConnectProvider
    GetOpenIDConnectProvider DeleteOpenIDConnectProvider CreateServiceLinkedRole
    CreateInstanceProfile AddRoleToInstanceProfile ListAttachedRolePolicies
    ListInstanceProfilesForRole ListRolePolicies]],
  logs = "DescribeLogGroups DeleteLogGroup",
  pricing = "GetProducts",
  resource_groups = "CreateGroup DeleteGroup GroupResources UngroupResources ListGroupResources",
  s3 = [[
    CreateBucket HeadBucket DeleteBucket PutBucketTagging GetBucketTagging PutPublicAccessBlock
    PutBucketEncryption ListObjectsV2 GetObject PutObject DeleteObjects]],
  scheduler = "CreateSchedule GetSchedule UpdateSchedule DeleteSchedule ListSchedules",
  service_quotas = [[
    GetServiceQuota GetAWSDefaultServiceQuota RequestServiceQuotaIncrease
    ListRequestedServiceQuotaChangeHistoryByQuota]],
  ssm = "GetParameter PutParameter DeleteParameter",
  sso = "GetRoleCredentials",
  sso_oidc = "CreateToken",
  sts = "GetCallerIdentity AssumeRole AssumeRoleWithWebIdentity DecodeAuthorizationMessage",
  tagging = "GetResources",
}

-- Creates that may be repeated though they have no token, and why.
local HARMLESS = {
  ["ec2:CreateRoute"] = "the second time answers RouteAlreadyExists",
  ["ec2:CreateTags"] = "sets the same tags again",
}

describe("the operation tables", function ()
  it("hold every call that a deployment can need", function ()
    local missing = {}
    for service, names in pairs(NEEDED) do
      local svc = model.service(service)
      for name in names:gmatch "%S+" do
        if not svc.by_name[name] then missing[#missing + 1] = service .. ":" .. name end
      end
    end
    table.sort(missing)
    assert.same({}, missing)
  end)

  it("are of these services and no others", function ()
    local names = {}
    for service in pairs(NEEDED) do names[#names + 1] = service end
    table.sort(names)
    assert.same(names, model.services())
  end)

  it("let none be sent twice that the service would do twice", function ()
    local count = 0
    for _, name in ipairs(model.services()) do
      local svc = model.service(name)
      for _, key in ipairs(model.operations(svc)) do
        local op, raw = svc.ops[key], svc.operations[key]
        if key:find "^create_" or key:find "^allocate_" or key:find "^purchase_"
          or key:find "^request_" or key:find "^run_" or key:find "^register_" then
          count = count + 1
          local safe = op.once or op.token ~= nil or HARMLESS[op.action] ~= nil
          assert.is_true(safe, op.action .. " has neither token nor once")
          assert.equal(HARMLESS[op.action] ~= nil, raw.repeatable == true, op.action)
        end
        assert.is_false(op.once and op.token ~= nil, op.action .. " has a token and once")
      end
    end
    assert.is_true(count > 25)
  end)
end)
