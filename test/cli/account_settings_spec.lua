-- Settings that an organization asks for: tags, a permissions boundary, further admins, public
-- CIDRs, a proxy. They reach the account, and stay changeable.

local fs = require "rtl.fs"
local played = require "test.support.played"
local program = require "test.support.program"
local rights = require "rtl.rehearse.rights"

local DEPLOY = "recipes/deploy.lua"
local BOUNDARY = "arn:aws:iam::000000009012:policy/team/boundary"
local OPS = "arn:aws:iam::000000009012:role/team/ops"

local function deploy(state, ...)
  return program.rtl({ "--rehearse", DEPLOY, ... }, { state = state })
end

local function tag_of(item, key)
  local tags = item.Tags or item.TagSet or item.tags
  if not tags then return nil, true end
  if tags[key] then return tags[key] end
  for _, tag in ipairs(tags) do
    if tag.Key == key then return tag.Value end
  end
end

describe("what an organization asks for", function ()
  local state, world

  setup(function ()
    state = fs.temp_dir "rtl-test-"
    local ran = deploy(state, "--to", "cluster", "--tags", "cost-center=42,owner=me@x.test",
      "--permissions-boundary", BOUNDARY, "--admins", OPS,
      "--public-access-cidrs", "198.51.100.0/24,203.0.113.7/32", "--bucket", "team-ckpt")
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    world = played.world(state)
  end)

  teardown(function () fs.remove_tree(state) end)

  local function each(shelf, check)
    local count = 0
    for _, item in ipairs(world.aws.regions["us-east-2"][shelf]:all()) do
      if not item.native then
        count = count + 1
        check(item)
      end
    end
    return count
  end

  it("is on everything that can carry tags", function ()
    for _, shelf in ipairs { "vpcs", "subnets", "internet_gateways", "addresses", "nat_gateways",
      "route_tables", "vpc_endpoints", "launch_templates", "clusters" } do
      local count = each(shelf, function (item)
        assert.equal("42", tag_of(item, "cost-center"), shelf)
        assert.equal("me@x.test", tag_of(item, "owner"), shelf)
        assert.equal("ray-train", tag_of(item, "rtl:deployment"), shelf)
      end)
      assert(count > 0, shelf)
    end
  end)

  it("is on the instances, their disks and interfaces, which EKS makes", function ()
    local us = world.aws.regions["us-east-2"]
    for shelf, tagged in pairs { instances = "Tags", volumes = "Tags", interfaces = "TagSet" } do
      local count = 0
      for _, item in ipairs(us[shelf]:all()) do
        local of_a_node = item.InstanceId or item.Attachment or item.Attachments
        if of_a_node then
          count = count + 1
          assert.equal("42", tag_of({ Tags = item[tagged] }, "cost-center"), shelf)
          assert.equal("ray-train", tag_of({ Tags = item[tagged] }, "rtl:deployment"), shelf)
        end
      end
      assert(count >= 3, shelf .. " " .. count)
    end
  end)

  it("limits every role that is made", function ()
    local count = 0
    for _, role in ipairs(world.aws.iam.roles:all()) do
      if role.Path:find "^/rtl/" then
        count = count + 1
        assert.equal(BOUNDARY, role.PermissionsBoundary.PermissionsBoundaryArn, role.RoleName)
        assert.equal("42", tag_of(role, "cost-center"))
      end
    end
    assert(count >= 2, count)
  end)

  it("lets in whom it lists, from where it says", function ()
    local cluster = world.aws.regions["us-east-2"].clusters:get "ray-train"
    assert.same({ "198.51.100.0/24", "203.0.113.7/32" },
      { table.unpack(cluster.resourcesVpcConfig.publicAccessCidrs) })
    local entry = cluster.entries:get(OPS)
    assert.truthy(entry.policies:get(
      "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"))
  end)

  it("can be changed on what stands", function ()
    local other = BOUNDARY .. "-2"
    local ran = deploy(state, "--to", "cluster", "--permissions-boundary", other, "--admins", OPS,
      "--public-access-cidrs", "198.51.100.0/24")
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    local now = played.world(state)
    local role = now.aws.iam.roles:get "ray-train-node-us-east-2"
    assert.equal(other, role.PermissionsBoundary.PermissionsBoundaryArn)
    local cluster = now.aws.regions["us-east-2"].clusters:get "ray-train"
    assert.same({ "198.51.100.0/24" },
      { table.unpack(cluster.resourcesVpcConfig.publicAccessCidrs) })
  end)
end)

describe("--policy", function ()
  it("prints JSON and nothing else, and what else there is to say beside it", function ()
    local state = fs.temp_dir "rtl-test-"
    local ran = deploy(state, "--policy", "--bucket", "team-ckpt")
    assert.equal(0, ran.status, ran.stderr)
    local path = fs.join(state, "policy.json")
    assert(fs.write(path, ran.stdout))
    local documents = assert(rights.read(path))
    fs.remove_tree(state)
    assert(#documents > 1)
    assert.matches(#documents .. " documents", ran.stderr)
  end)
end)

describe("tags by setting", function ()
  it("are refused where AWS or rtl keeps the key for itself", function ()
    for _, pair in ipairs { "aws:x=1", "rtl:deployment=other", "Name=x" } do
      local state = fs.temp_dir "rtl-test-"
      local ran = deploy(state, "--plan", "--tags", pair)
      fs.remove_tree(state)
      assert.equal(2, ran.status)
      assert.matches("is not free", ran.stderr)
    end
  end)

  it("are refused without a value's sign", function ()
    local state = fs.temp_dir "rtl-test-"
    local ran = deploy(state, "--plan", "--tags", "owner")
    fs.remove_tree(state)
    assert.equal(2, ran.status)
    assert.matches("key=value", ran.stderr)
  end)
end)

describe("a refusal", function ()
  local function refused(spec, ...)
    local state = fs.temp_dir "rtl-test-"
    local ran = program.rtl({ "--rehearse=policy," .. spec, DEPLOY, ... }, { state = state })
    fs.remove_tree(state)
    return ran
  end

  it("by the organization names the action, and whom to ask", function ()
    local ran = refused "scp=ec2:DescribeVpcs"
    assert.equal(5, ran.status)
    assert.matches("ec2:DescribeVpcs", ran.stderr)
    assert.matches("organization", ran.stderr)
    assert.is_nil(ran.stderr:find("--policy", 1, true))
  end)

  it("of a launch that EKS tried names what EC2 kept to itself, decoded", function ()
    local ran = refused("scp=ec2:RunInstances", "--no-check-rights")
    assert.equal(1, ran.status)
    assert.matches("ec2:RunInstances on%s+arn:aws:ec2:us%-east%-2:000000009012", ran.stderr)
    assert.is_nil(ran.stderr:find("Encoded", 1, true))
  end)

  it("that IAM foresees names all that it is about, and comes before anything is made", function ()
    local ran = refused "scp=ec2:*"
    assert.equal(5, ran.status)
    ran = refused "scp=eks:DeleteNodegroup"
    assert.equal(5, ran.status)
    assert.matches("RTL%-PLAN%-025", ran.stderr)
    assert.matches("eks:DeleteNodegroup", ran.stderr)
    assert.matches("service control policy", ran.stderr)
  end)

  it("by a policy says how to get the one that is needed", function ()
    local folder = fs.temp_dir "rtl-test-"
    local path = fs.join(folder, "p.json")
    assert(fs.write(path, '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", '
      .. '"Action": ["ec2:Describe*", "servicequotas:*"], "Resource": "*"}]}'))
    local ran = refused("file=" .. path)
    fs.remove_tree(folder)
    assert.equal(5, ran.status)
    assert.matches("allow [%w-]+:%w+", ran.stderr)
    assert.matches("deploy.lua %-%-policy", ran.stderr)
  end)
end)
