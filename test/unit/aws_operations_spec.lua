-- The calls that a deployment, its checks and its removal can need: each has its row.
local check = require "rtl.aws.check"
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

-- Writes that may be repeated though they have no token, by the reason.
local REPEATABLE = {
  ["the second time sets the same again"] = [[
    ec2:CreateTags ec2:ModifyCapacityReservation ec2:ModifySubnetAttribute ec2:ModifyVpcAttribute
    ec2:ModifyVpcEndpoint ec2:ReplaceRoute eks:AssociateAccessPolicy eks:TagResource
    iam:AttachRolePolicy iam:PutRolePermissionsBoundary iam:PutRolePolicy iam:TagRole
    iam:UpdateAssumeRolePolicy iam:UpdateRole resource-groups:GroupResources resource-groups:Tag
    s3:PutBucketEncryption s3:PutBucketLifecycleConfiguration s3:PutBucketTagging s3:PutObject
    s3:PutPublicAccessBlock ssm:AddTagsToResource tag:TagResources]],
  ["the second time is refused, for it is done"] = [[
    ec2:AssociateRouteTable ec2:AttachInternetGateway ec2:AuthorizeSecurityGroupEgress
    ec2:AuthorizeSecurityGroupIngress ec2:CreateRoute ec2:ReplaceRouteTableAssociation
    iam:AddRoleToInstanceProfile]],
  ["it only takes away"] = [[
    ec2:CancelCapacityReservation ec2:DetachInternetGateway ec2:DetachNetworkInterface
    ec2:DisassociateAddress ec2:DisassociateRouteTable ec2:ReleaseAddress
    ec2:RevokeSecurityGroupEgress ec2:RevokeSecurityGroupIngress ec2:TerminateInstances
    eks:DisassociateAccessPolicy eks:UntagResource iam:DetachRolePolicy
    iam:RemoveRoleFromInstanceProfile iam:UntagRole resource-groups:UngroupResources
    s3:AbortMultipartUpload tag:UntagResources]],
  ["it makes nothing that stays"] = "sts:AssumeRole sts:AssumeRoleWithWebIdentity",
}

local function each_operation(f)
  for _, name in ipairs(model.services()) do
    local svc = model.service(name)
    for _, key in ipairs(model.operations(svc)) do f(svc.ops[key], svc.operations[key]) end
  end
end

-- A value outside of a shape's limits (its least or its most), or nil where it has none.
local function outside(shape, word)
  local limit = shape[word]
  if not limit or limit > 5000 or limit < 1 and shape.kind ~= "int" then return nil end
  local n = word == "min" and limit - 1 or limit + 1
  if shape.kind == "int" then return n end
  if shape.kind == "list" then
    local items = {}
    for i = 1, n do items[i] = "x" end
    return items
  end
  return shape.kind == "string" and ("é"):rep(n) or nil
end

-- Parameters that hold only `member`, checked; the error text.
local function refusal(op, member, given)
  local good, message = pcall(check.parameters, op, { [member.name] = given })
  assert.is_false(good, op.action .. " takes a wrong " .. member.name)
  return message
end

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
    local reasons, count = {}, 0
    for why, actions in pairs(REPEATABLE) do
      for action in actions:gmatch "%S+" do reasons[action] = why end
    end
    each_operation(function (op, raw)
      if op.reads then return end
      count = count + 1
      local deletes = op.key:find "^delete_" ~= nil
      local safe = { op.token ~= nil, op.once, deletes and not op.token,
                     reasons[op.action] ~= nil }
      local ways = 0
      for i = 1, 4 do ways = ways + (safe[i] and 1 or 0) end
      assert.equal(1, ways, op.action .. " is safe in so many ways to repeat")
      assert.equal(reasons[op.action] ~= nil, raw.repeatable == true, op.action)
      reasons[op.action] = nil
    end)
    assert.same({}, reasons)
    assert.is_true(count > 100)
  end)

  it("refuse each value outside of its limits, and name the member", function ()
    local count = 0
    each_operation(function (op)
      for _, member in ipairs(op.input.members) do
        for _, word in ipairs { "min", "max" } do
          local wrong = outside(member.shape, word)
          if wrong ~= nil then
            count = count + 1
            assert.truthy(refusal(op, member, wrong):find("(" .. member.name .. "[1]: ", 1, true)
              or refusal(op, member, wrong):find("(" .. member.name .. ": ", 1, true))
          end
        end
        if member.shape.enum then
          count = count + 1
          assert.truthy(refusal(op, member, "no such word"):find("'no such word' is none of", 1,
            true))
        end
      end
    end)
    assert.is_true(count > 300, count .. " limits")
  end)
end)
