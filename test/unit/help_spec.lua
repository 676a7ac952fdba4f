local explain = require "rtl.cli.explain"
local help = require "rtl.cli.help"

describe("the help index", function ()
  it("has an entry for modules and functions, in order", function ()
    local index, names = help.index(), {}
    assert.is_true(#index > 100)
    for i, entry in ipairs(index) do
      names[entry.name:match("^[%w_.:]+") or ""] = true
      if i > 1 then assert.is_true(index[i - 1].name <= entry.name) end
      assert.is_true(#entry.text > 0 or not entry.name:match("^rtl"), entry.name)
    end
    for _, name in ipairs { "rtl.task", "rtl.task.sleep", "rtl.recipe.settings", "rtl.err.new" } do
      assert.is_true(names[name], name)
    end
  end)
end)

describe("codes", function ()
  it("each have a title, a cause and a next step, in whole sentences", function ()
    local count = 0
    for code, page in pairs(explain.all()) do
      count = count + 1
      for _, part in ipairs { "title", "cause", "next" } do
        assert.is_string(page[part], code .. " " .. part)
        assert.is_true(#page[part] > 3, code .. " " .. part)
      end
    end
    assert.is_true(count > 30)
  end)
end)

describe("the page of an AWS operation", function ()
  local help_aws = require "rtl.cli.help_aws"
  local model = require "rtl.aws.model"

  local function page(word) return table.concat(assert(help_aws.lines(word)), "\n") end

  it("shows what it takes and gives, how it may be repeated and its pages", function ()
    local text = page "aws.ec2.describe_vpcs"
    for _, part in ipairs { "ec2:DescribeVpcs", "Only reads", 'client:all("describe_vpcs"',
      "\n  VpcIds +list of string", "\n  Filters +list of tables\n    Name",
      "\n  Vpcs +list of tables\n    VpcId", "MaxResults +integer, 5 to 1000" } do
      assert.truthy(text:find(part) or text:find(part, 1, true), part)
    end
    assert.truthy(page("aws.s3.head_bucket"):find "IAM action s3:ListBucket\n")
    assert.truthy(page("aws.eks.create_cluster"):find "\n  name ! ")
    assert.truthy(page("aws.eks.create_cluster"):find "again with its clientRequestToken")
    assert.truthy(page("aws.ec2.create_vpc"):find "Sent once only")
    local instances = page "aws.ec2.describe_instances"
    assert.truthy(instances:find("LaunchTime_text as it was written", 1, true))
    local cluster = page "aws.eks.describe_cluster"
    assert.truthy(cluster:find "createdAt +time %(unix seconds%)")
    assert.truthy(page("aws.ec2.create_placement_group"):find "\n  Strategy +%w+ | ")
  end)

  it("exists for every one, in lines that fit", function ()
    for _, name in ipairs(model.services()) do
      assert.truthy(page("aws." .. name):find("aws." .. name, 1, true))
      for _, key in ipairs(model.operations(model.service(name))) do
        for line in page("aws." .. name .. "." .. key):gmatch "[^\n]+" do
          assert.is_true(utf8.len(line) <= 100, line)
        end
      end
    end
  end)

  it("knows a service by the name that the AWS CLI has for it, too", function ()
    assert.equal(page "aws.service_quotas.get_service_quota",
      page "aws.service-quotas.get_service_quota")
    assert.truthy(page("aws.sso-oidc"):find("create_token", 1, true))
  end)

  it("is not there for other words, which have near ones", function ()
    local none, known = help_aws.lines "aws.ec2.describe_vpc"
    assert.is_nil(none)
    assert.truthy(table.concat(known, " "):find "aws.ec2.describe_vpcs")
    none, known = help_aws.lines "aws.ec"
    assert.is_nil(none)
    assert.truthy(table.concat(known, " "):find "aws.ec2")
    assert.is_nil(help_aws.lines "task.spawn")
  end)
end)
