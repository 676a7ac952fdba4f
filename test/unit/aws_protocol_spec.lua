-- Wire forms: the bodies that AWS documents and botocore writes, and answers as services send them.
local array = require "rtl.array"
local check = require "rtl.aws.check"
local json = require "rtl.native.json"
local model = require "rtl.aws.model"
local protocol = require "rtl.aws.protocol"
local secret = require "rtl.native.secret"

local function op_of(service, key) return model.service(service).ops[key] end

local function encode(service, key, params)
  local op = op_of(service, key)
  check.parameters(op, params)
  return protocol.encode(op, params)
end

-- The form's lines, decoded and sorted.
local function form(service, key, params)
  local lines = {}
  for pair in encode(service, key, params).body:gmatch "[^&]+" do
    lines[#lines + 1] = pair:gsub("%%(%x%x)", function (hex)
      return string.char(tonumber(hex, 16))
    end)
  end
  table.sort(lines)
  return lines
end

local function sorted(text)
  local lines = {}
  for line in text:gmatch "%S+" do lines[#lines + 1] = line end
  table.sort(lines)
  return lines
end

local function answer(service, key, body, headers, status)
  return protocol.decode(op_of(service, key), {
    status = status or 200, headers = headers or {}, body = body,
  })
end

local function refusal(service, key, status, body, headers)
  return protocol.decode_error(op_of(service, key), {
    status = status, headers = headers or {}, body = body,
  })
end

describe("an answer that is not the service's", function ()
  it("is an error, and no list without entries", function ()
    for _, body in ipairs { "", "<html><body>Log in</body></html>", "<a/>", "x", "\0" } do
      for service, key in pairs { ec2 = "describe_vpcs", sts = "get_caller_identity" } do
        local out, failure = answer(service, key, body)
        assert.is_nil(out, body)
        assert.equal("RTL-AWS-003", failure.code)
      end
    end
  end)
end)

describe("EC2's query protocol", function ()
  it("writes a launch template as AWS wants it", function ()
    assert.same(sorted([[
      Action=CreateLaunchTemplate Version=2016-11-15 ClientToken=t LaunchTemplateName=n
      TagSpecification.1.ResourceType=launch-template
      TagSpecification.1.Tag.1.Key=Name TagSpecification.1.Tag.1.Value=demo
      LaunchTemplateData.NetworkInterface.1.DeviceIndex=0
      LaunchTemplateData.NetworkInterface.1.NetworkCardIndex=0
      LaunchTemplateData.NetworkInterface.1.InterfaceType=efa
      LaunchTemplateData.NetworkInterface.1.SecurityGroupId.1=sg-1
      LaunchTemplateData.NetworkInterface.1.SecurityGroupId.2=sg-2
      LaunchTemplateData.NetworkInterface.1.DeleteOnTermination=true
      LaunchTemplateData.BlockDeviceMapping.1.DeviceName=/dev/xvda
      LaunchTemplateData.BlockDeviceMapping.1.Ebs.VolumeSize=200
      LaunchTemplateData.BlockDeviceMapping.1.Ebs.VolumeType=gp3
      LaunchTemplateData.BlockDeviceMapping.1.Ebs.Encrypted=true
      LaunchTemplateData.BlockDeviceMapping.1.Ebs.DeleteOnTermination=true
      LaunchTemplateData.MetadataOptions.HttpTokens=required
      LaunchTemplateData.MetadataOptions.HttpPutResponseHopLimit=2
      LaunchTemplateData.Placement.GroupName=pg
      LaunchTemplateData.TagSpecification.1.ResourceType=instance
      LaunchTemplateData.TagSpecification.1.Tag.1.Key=Name
      LaunchTemplateData.TagSpecification.1.Tag.1.Value=demo ]]
      .. "LaunchTemplateData.CapacityReservationSpecification.CapacityReservationTarget"
      .. ".CapacityReservationId=cr-1"),
      form("ec2", "create_launch_template", {
        ClientToken = "t", LaunchTemplateName = "n",
        TagSpecifications = { {
          ResourceType = "launch-template", Tags = { { Key = "Name", Value = "demo" } },
        } },
        LaunchTemplateData = {
          NetworkInterfaces = { {
            DeviceIndex = 0, NetworkCardIndex = 0, InterfaceType = "efa",
            Groups = { "sg-1", "sg-2" }, DeleteOnTermination = true,
          } },
          BlockDeviceMappings = { { DeviceName = "/dev/xvda", Ebs = {
            VolumeSize = 200, VolumeType = "gp3", Encrypted = true, DeleteOnTermination = true,
          } } },
          MetadataOptions = { HttpTokens = "required", HttpPutResponseHopLimit = 2.0 },
          Placement = { GroupName = "pg" },
          CapacityReservationSpecification = {
            CapacityReservationTarget = { CapacityReservationId = "cr-1" },
          },
          TagSpecifications = { {
            ResourceType = "instance", Tags = { { Key = "Name", Value = "demo" } },
          } },
        },
      }))
  end)

  it("writes rules, reservations, offerings and endpoints with their own names", function ()
    assert.same(sorted [[
      Action=AuthorizeSecurityGroupEgress Version=2016-11-15 GroupId=sg-1
      IpPermissions.1.IpProtocol=-1 IpPermissions.1.Groups.1.GroupId=sg-1
      IpPermissions.1.Groups.1.Description=efa ]],
      form("ec2", "authorize_security_group_egress", {
        GroupId = "sg-1", IpPermissions = { {
          IpProtocol = "-1", UserIdGroupPairs = { { GroupId = "sg-1", Description = "efa" } },
        } },
      }))
    assert.same(sorted [[
      Action=CreateCapacityReservation Version=2016-11-15 ClientToken=t InstanceType=g6.12xlarge
      InstancePlatform=Linux/UNIX AvailabilityZone=us-east-1a InstanceCount=2
      InstanceMatchCriteria=targeted EndDateType=limited EndDate=2026-09-01T00:00:00Z
      TagSpecifications.1.ResourceType=capacity-reservation
      TagSpecifications.1.Tag.1.Key=Name TagSpecifications.1.Tag.1.Value=demo ]],
      form("ec2", "create_capacity_reservation", {
        ClientToken = "t", InstanceType = "g6.12xlarge", InstancePlatform = "Linux/UNIX",
        AvailabilityZone = "us-east-1a", InstanceCount = 2, InstanceMatchCriteria = "targeted",
        EndDateType = "limited", EndDate = 1788220800,
        TagSpecifications = { {
          ResourceType = "capacity-reservation", Tags = { { Key = "Name", Value = "demo" } },
        } },
      }))
    assert.same(sorted [[
      Action=DescribeInstanceTypeOfferings Version=2016-11-15 LocationType=availability-zone
      Filter.1.Name=instance-type Filter.1.Value.1=g6.12xlarge ]],
      form("ec2", "describe_instance_type_offerings", {
        LocationType = "availability-zone",
        Filters = { { Name = "instance-type", Values = { "g6.12xlarge" } } },
      }))
    assert.same(sorted [[
      Action=CreateVpcEndpoint Version=2016-11-15 VpcId=v VpcEndpointType=Gateway ClientToken=t
      ServiceName=com.amazonaws.us-east-1.s3 RouteTableId.1=r1 RouteTableId.2=r2 ]],
      form("ec2", "create_vpc_endpoint", {
        VpcId = "v", VpcEndpointType = "Gateway", ServiceName = "com.amazonaws.us-east-1.s3",
        RouteTableIds = { "r1", "r2" }, ClientToken = "t",
      }))
  end)

  it("leaves empty lists out and encodes by RFC 3986", function ()
    assert.equal("Action=DescribeVpcs&Version=2016-11-15",
      encode("ec2", "describe_vpcs", { VpcIds = {} }).body)
    assert.equal("Action=DescribeVpcs&Version=2016-11-15&Filter.1.Name=tag%3Aa%20b"
      .. "&Filter.1.Value.1=%C3%A9%2B~%2A",
      encode("ec2", "describe_vpcs", {
        Filters = { { Name = "tag:a b", Values = { "é+~*" } } },
      }).body)
  end)

  it("reads answers: empty, single and absent lists stay lists", function ()
    local out = answer("ec2", "describe_vpcs", [[<?xml version="1.0" encoding="UTF-8"?>
      <DescribeVpcsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
        <requestId>r</requestId>
        <vpcSet><item><vpcId>vpc-1</vpcId><isDefault>false</isDefault><tagSet/></item></vpcSet>
      </DescribeVpcsResponse>]])
    assert.equal("vpc-1", out.Vpcs[1].VpcId)
    assert.is_false(out.Vpcs[1].IsDefault)
    assert.same({}, out.Vpcs[1].Tags)
    assert.is_true(array.is(out.Vpcs) and array.is(out.Vpcs[1].Tags))
    assert.is_nil(out.NextToken)
    local none = answer("ec2", "describe_vpcs", "<DescribeVpcsResponse/>")
    assert.equal("[]", json.encode(none.Vpcs))
  end)

  it("reads numbers, dates and nested sets", function ()
    local out = answer("ec2", "describe_instances", [[<DescribeInstancesResponse><reservationSet>
      <item><instancesSet><item><instanceId>i-1</instanceId>
        <launchTime>2026-12-01T10:00:00.000Z</launchTime><ipAddress>1.2.3.4</ipAddress>
        <instanceState><code>16</code><name>running</name></instanceState>
        <networkInterfaceSet><item><interfaceType>efa</interfaceType></item></networkInterfaceSet>
      </item></instancesSet></item></reservationSet></DescribeInstancesResponse>]])
    local instance = out.Reservations[1].Instances[1]
    assert.equal(1796119200, instance.LaunchTime)
    assert.equal("2026-12-01T10:00:00.000Z", instance.LaunchTime_text)
    assert.equal(16, instance.State.Code)
    assert.equal("1.2.3.4", instance.PublicIpAddress)
    assert.equal("efa", instance.NetworkInterfaces[1].InterfaceType)
  end)

  it("reads errors", function ()
    local e = refusal("ec2", "describe_vpcs", 400, [[<?xml version="1.0"?><Response><Errors><Error>
      <Code>InvalidVpcID.NotFound</Code><Message>The vpc ID 'x' does not exist</Message></Error>
      </Errors><RequestID>req-1</RequestID></Response>]])
    assert.equal("InvalidVpcID.NotFound", e.code)
    assert.equal("req-1", e.request_id)
    assert.equal(400, e.status)
  end)
end)

describe("the query protocol", function ()
  it("writes lists with member, and empty ones", function ()
    assert.same(sorted [[
      Action=TagRole Version=2010-05-08 RoleName=r Tags.member.1.Key=a Tags.member.1.Value=
      Tags.member.2.Key=b Tags.member.2.Value=c ]],
      form("iam", "tag_role", {
        RoleName = "r", Tags = { { Key = "a", Value = "" }, { Key = "b", Value = "c" } },
      }))
    assert.same(sorted [[
      Action=DescribeAutoScalingGroups Version=2011-01-01 AutoScalingGroupNames= ]],
      form("autoscaling", "describe_auto_scaling_groups", { AutoScalingGroupNames = {} }))
  end)

  it("takes policies as tables and gives them back so", function ()
    local body = encode("iam", "create_role", {
      RoleName = "r", AssumeRolePolicyDocument = { Version = "2012-10-17" },
    }).body
    assert.truthy(body:find("AssumeRolePolicyDocument=%7B%22Version%22%3A%222012-10-17%22%7D",
      1, true))
    local out = answer("iam", "get_role", [[<GetRoleResponse><GetRoleResult><Role>
      <RoleName>r</RoleName>
      <AssumeRolePolicyDocument>%7B%22Statement%22%3A%5B%5D%7D</AssumeRolePolicyDocument>
      <Tags><member><Key>k</Key><Value>v</Value></member></Tags>
      </Role></GetRoleResult></GetRoleResponse>]])
    assert.same({ Statement = {} }, out.Role.AssumeRolePolicyDocument)
    assert.same({ { Key = "k", Value = "v" } }, out.Role.Tags)
  end)

  it("keeps the keys of an answer out of Lua strings", function ()
    local out = answer("sts", "assume_role", [[<AssumeRoleResponse><AssumeRoleResult><Credentials>
      <AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>hush</SecretAccessKey>
      <SessionToken>token</SessionToken><Expiration>2026-12-01T11:00:00Z</Expiration>
      </Credentials></AssumeRoleResult></AssumeRoleResponse>]])
    assert.is_true(secret.is(out.Credentials.SecretAccessKey))
    assert.is_true(secret.equals(out.Credentials.SessionToken, "token"))
    assert.equal("ASIA1", out.Credentials.AccessKeyId)
    assert.equal(1796122800, out.Credentials.Expiration)
  end)

  it("hides a body that holds a secret", function ()
    local body = encode("sts", "assume_role_with_web_identity", {
      RoleArn = "arn:aws:iam::123456789012:role/r", RoleSessionName = "ss",
      WebIdentityToken = secret.new "hush",
    }).body
    assert.is_true(secret.is(body))
    assert.truthy(secret.reveal(body):find("WebIdentityToken=hush", 1, true))
  end)

  it("reads errors", function ()
    local e = refusal("iam", "get_role", 404, [[<ErrorResponse><Error><Type>Sender</Type>
      <Code>NoSuchEntity</Code><Message>no role</Message></Error><RequestId>q</RequestId>
      </ErrorResponse>]])
    assert.equal("NoSuchEntity", e.code)
    assert.equal("q", e.request_id)
  end)
end)

describe("the json protocol", function ()
  it("names the operation in a header and always has a body", function ()
    local request = encode("service_quotas", "get_service_quota", {
      ServiceCode = "ec2", QuotaCode = "L-DB2E81BA",
    })
    assert.same({ { "Content-Type", "application/x-amz-json-1.1" },
      { "X-Amz-Target", "ServiceQuotasV20190624.GetServiceQuota" } }, request.headers)
    assert.equal('{"QuotaCode":"L-DB2E81BA","ServiceCode":"ec2"}', request.body)
    assert.equal("{}", encode("logs", "describe_log_groups", {}).body)
    assert.equal('{"Filters":[],"ServiceCode":"x"}',
      encode("pricing", "get_products", { ServiceCode = "x", Filters = {} }).body)
  end)

  it("reads JSON inside strings, null and 64-bit integers", function ()
    local out = answer("pricing", "get_products",
      '{"PriceList":["{\\"product\\":{\\"sku\\":\\"A\\"}}"],"NextToken":null}')
    assert.equal("A", out.PriceList[1].product.sku)
    assert.is_nil(out.NextToken)
    local logs = answer("logs", "describe_log_groups",
      '{"logGroups":[{"logGroupName":"g","storedBytes":9007199254740993}]}')
    assert.equal(9007199254740993, logs.logGroups[1].storedBytes)
  end)

  it("lets null, and what is of another kind, end no list and become no text", function ()
    local names = answer("eks", "list_clusters", '{"clusters":["a",null,{"b":1},[2],"c"]}').clusters
    assert.same({ "a", "c" }, table.move(names, 1, #names, 1, {}))
    local cluster = answer("eks", "describe_cluster", '{"cluster":{"name":{"a":1},"version":["b"],'
      .. '"createdAt":{},"arn":5,"tags":{"a":null,"b":{},"c":"d"}}}').cluster
    assert.same({ arn = "5", tags = { c = "d" } },
      { arn = cluster.arn, tags = cluster.tags, name = cluster.name, version = cluster.version,
        createdAt = cluster.createdAt })
  end)

  it("reads errors and undecorates their codes", function ()
    local e = refusal("ssm", "get_parameter", 400,
      '{"__type":"com.amazonaws.ssm#ParameterNotFound","message":"m","extra":1}',
      { ["x-amzn-requestid"] = "j" })
    assert.equal("ParameterNotFound", e.code)
    assert.equal("j", e.request_id)
    assert.same({ extra = 1 }, e.fields)
  end)
end)

describe("the rest protocols", function ()
  it("put members into path, query string and body", function ()
    local request = encode("eks", "describe_access_entry", {
      clusterName = "demo", principalArn = "arn:aws:iam::1:role/node",
    })
    assert.equal("/clusters/demo/access-entries/arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fnode",
      request.path)
    assert.is_nil(request.body)
    request = encode("eks", "delete_addon", {
      clusterName = "demo", addonName = "vpc-cni", preserve = true,
    })
    assert.equal("DELETE", request.method)
    assert.equal("preserve=true", request.query)
    request = encode("eks", "untag_resource", { resourceArn = "a", tagKeys = { "x", "y z" } })
    assert.equal("tagKeys=x&tagKeys=y%20z", request.query)
    request = encode("eks", "create_nodegroup", {
      clusterName = "demo", nodegroupName = "gpu", subnets = { "s" }, nodeRole = "r",
      labels = {}, clientRequestToken = "t",
    })
    assert.equal('{"clientRequestToken":"t","labels":{},"nodeRole":"r","nodegroupName":"gpu",'
      .. '"subnets":["s"]}', request.body)
  end)

  it("read errors from header or body", function ()
    local e = refusal("eks", "describe_cluster", 404,
      '{"clusterName":"demo","message":"No cluster found for name: demo."}',
      { ["x-amzn-errortype"] = "ResourceNotFoundException:http://internal.amazon.com/x" })
    assert.equal("ResourceNotFoundException", e.code)
    assert.same({ clusterName = "demo" }, e.fields)
    e = refusal("eks", "create_cluster", 400, '{"__type":"x#UnsupportedAvailabilityZoneException",'
      .. '"message":"m","validZones":["a"]}')
    assert.equal("UnsupportedAvailabilityZoneException", e.code)
    assert.same({ "a" }, e.fields.validZones)
  end)

  it("write S3's XML with its checksum and read its flat lists", function ()
    local request = encode("s3", "delete_objects", {
      Bucket = "b", Delete = { Objects = { { Key = "a<b>&" }, { Key = "c" } }, Quiet = true },
    })
    assert.equal("/b", request.path)
    assert.equal("delete", request.query)
    assert.equal('<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Object>'
      .. "<Key>a&lt;b&gt;&amp;</Key></Object><Object><Key>c</Key></Object>"
      .. "<Quiet>true</Quiet></Delete>", request.body)
    local names = {}
    for _, pair in ipairs(request.headers) do names[pair[1]] = pair[2] end
    assert.truthy(names["Content-MD5"]:find "^[%w+/]+=*$")
    local out = answer("s3", "list_objects_v2", [[<ListBucketResult><IsTruncated>true</IsTruncated>
      <Contents><Key>a</Key><Size>5</Size></Contents><Contents><Key>b</Key></Contents>
      <NextContinuationToken>n</NextContinuationToken></ListBucketResult>]])
    assert.equal(2, #out.Contents)
    assert.equal(5, out.Contents[1].Size)
    assert.is_true(out.IsTruncated)
    assert.equal("/b/dir/a%20b%2B", encode("s3", "get_object", {
      Bucket = "b", Key = "dir/a b+",
    }).path)
    assert.equal("eu-west-1", answer("s3", "head_bucket", "", {
      ["x-amz-bucket-region"] = "eu-west-1",
    }).BucketRegion)
    assert.equal("NotFound", refusal("s3", "head_bucket", 404, "").code)
    assert.equal("NoSuchBucket", refusal("s3", "list_objects_v2", 404,
      "<Error><Code>NoSuchBucket</Code><Message>m</Message></Error>").code)
  end)
end)

describe("times in answers", function ()
  it("are numbers, with the text beside them where there was one", function ()
    local cluster = answer("eks", "describe_cluster",
      '{"cluster":{"name":"demo","createdAt":1796119200.25}}').cluster
    assert.equal(1796119200.25, cluster.createdAt)
    assert.is_nil(cluster.createdAt_text)
    local object = answer("s3", "get_object", "", {
      ["last-modified"] = "Tue, 01 Dec 2026 10:00:00 GMT",
    })
    assert.equal(1796119200, object.LastModified)
    assert.equal("Tue, 01 Dec 2026 10:00:00 GMT", object.LastModified_text)
  end)

  it("are text only when they are no times, and nothing when there are none", function ()
    for text, kept in pairs { ['"soon"'] = "soon", ['"1e400"'] = "1e400", ['""'] = "" } do
      local cluster = answer("eks", "describe_cluster",
        '{"cluster":{"createdAt":' .. text .. "}}").cluster
      assert.is_nil(cluster.createdAt)
      assert.equal(kept, cluster.createdAt_text)
    end
    for _, text in ipairs { "null", "true", "{}", "[]" } do
      local cluster = answer("eks", "describe_cluster",
        '{"cluster":{"createdAt":' .. text .. "}}").cluster
      assert.same({}, { cluster.createdAt, cluster.createdAt_text })
    end
  end)
end)

describe("answers that no service sends", function ()
  it("are errors of their own, and kept short", function ()
    local page = "<html><body>" .. ("x"):rep(1000)
    local out, e = answer("ec2", "describe_vpcs", page)
    assert.is_nil(out)
    assert.equal("RTL-AWS-003", e.code)
    assert.equal(200, #e.excerpt)
    e = refusal("eks", "list_clusters", 503, "<html>busy</html>")
    assert.equal("RTL-AWS-003", e.code)
    assert.is_true(e.retryable)
    assert.equal(503, e.status)
    e = refusal("ec2", "describe_vpcs", 502, "")
    assert.equal("RTL-AWS-003", e.code)
    out, e = answer("eks", "list_clusters", "[1]")
    assert.is_nil(out)
    assert.matches("it is not an object", e.message, 1, true)
  end)
end)

describe("the check of parameters", function ()
  local function refused(service, key, params, text)
    local good, message = pcall(check.parameters, op_of(service, key), params)
    assert.is_false(good)
    assert.truthy(message:find(text, 1, true), message)
  end

  it("names the member and the nearest right one", function ()
    refused("ec2", "describe_vpcs", { Filter = {} },
      "bad argument #1 to 'describe_vpcs' (parameters: unknown member 'Filter'"
      .. " (did you mean 'Filters'?))")
    refused("ec2", "create_launch_template", {
      LaunchTemplateName = "n", LaunchTemplateData = { NetworkInterfaces = { { Group = {} } } },
    }, "LaunchTemplateData.NetworkInterfaces[1]: unknown member 'Group' (did you mean 'Groups'?)")
    refused("eks", "create_cluster", { name = "x" }, "roleArn: required, but not given")
  end)

  it("tells the first of several problems by name, and what is missing last", function ()
    for _ = 1, 20 do -- the order of pairs() is another in each table
      refused("eks", "create_cluster", { zone = 1, name = 1, roleArn = 2, age = 3 },
        "(parameters: unknown member 'age'")
      refused("eks", "create_cluster", { roleArn = 2, name = 1 }, "(name: string expected")
      refused("eks", "create_cluster", {}, "(name: required")
    end
  end)

  it("knows types, enums, ranges and lists with holes", function ()
    refused("ec2", "describe_vpcs", { VpcIds = "vpc-1" }, "VpcIds: table expected, got string")
    refused("ec2", "describe_vpcs", { VpcIds = { "a", nil, "b" } }, "VpcIds")
    refused("ec2", "describe_vpcs", { MaxResults = 1 }, "MaxResults: it must be at least 5, got 1")
    refused("ec2", "describe_vpcs", { MaxResults = 5.5 }, "an integer expected")
    refused("ec2", "allocate_address", { Domain = "vpx" },
      "Domain: 'vpx' is none of vpc, standard (did you mean 'vpc'?)")
    refused("eks", "create_cluster", {
      name = ("n"):rep(101), roleArn = "r", resourcesVpcConfig = {},
    }, "name: its length must be at most 100, got 101")
    refused("ec2", "modify_vpc_attribute", { VpcId = "v", EnableDnsSupport = true },
      "EnableDnsSupport: table expected, got boolean")
    refused("ec2", "create_capacity_reservation", {
      InstanceType = "a", InstancePlatform = "Linux/UNIX", InstanceCount = 1, EndDate = "soon",
    }, "EndDate: seconds or an ISO 8601 date expected")
    refused("eks", "describe_cluster", { name = "" }, "name: its length must be at least 1")
  end)

  it("takes no number that is none, no time that no date can say, no text that is no UTF-8",
    function ()
      for _, wrong in ipairs { 0 / 0, 1 / 0, -1 / 0, 1e300, -1e13 } do
        refused("ec2", "create_capacity_reservation", {
          InstanceType = "a", InstancePlatform = "Linux/UNIX", InstanceCount = 1, EndDate = wrong,
        }, "EndDate: seconds since 1970 expected")
        refused("scheduler", "create_schedule", { Name = "a", StartDate = wrong },
          "StartDate: seconds since 1970 expected")
      end
      for _, wrong in ipairs { 0 / 0, 1 / 0, -1 / 0 } do
        refused("service_quotas", "request_service_quota_increase", {
          ServiceCode = "ec2", QuotaCode = "L-1", DesiredValue = wrong,
        }, "DesiredValue: a finite")
      end
      for _, wrong in ipairs { "\xff", "a\xc3", "\xed\xa0\x80" } do
        refused("eks", "create_addon", { clusterName = "a", addonName = wrong }, "text in UTF-8")
        refused("eks", "describe_cluster", { name = wrong }, "name: text in UTF-8")
      end
    end)

  it("takes whole numbers of 64 bits as they are", function ()
    assert.truthy(encode("scheduler", "create_schedule", {
      Name = "a", ScheduleExpression = "x", FlexibleTimeWindow = { Mode = "OFF" },
      Target = { Arn = "a", RoleArn = "r" }, StartDate = 253402300799,
    }).body:find('"StartDate":253402300799', 1, true))
  end)
end)
