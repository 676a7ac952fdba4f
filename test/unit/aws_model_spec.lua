local model = require "rtl.aws.model"

describe("the operation tables", function ()
  it("are data: they load where nothing is", function ()
    for _, name in ipairs(model.services()) do
      local path = "lua/rtl/aws/ops/" .. name .. ".lua"
      local chunk = assert(loadfile(path, "t", {}))
      assert.equal(name, chunk().name)
    end
  end)

  it("compile, every one of them", function ()
    local count = 0
    for _, name in ipairs(model.services()) do
      local svc = model.service(name)
      for _, key in ipairs(model.operations(svc)) do
        local op = svc.ops[key]
        assert.equal(op, svc.by_name[op.name])
        for _, word in ipairs { "payload", "output_payload" } do
          local shape = word == "payload" and op.input or op.output
          if op[word] then assert.is_table(shape.by_name[op[word]]) end
        end
        if op.page then
          assert.is_table(op.input.by_name[op.page.send], key)
          assert.is_table(op.output.by_name[op.page.receive], key)
          assert.equal("list", op.output.by_name[op.page.items].shape.kind)
        end
        count = count + 1
      end
      for waiter, rules in pairs(svc.waiters or {}) do
        assert.is_table(svc.ops[rules.op], waiter)
      end
    end
    assert.is_true(count > 200)
  end)

  it("have times in structures only, and room for the text beside each", function ()
    local wrong = {}
    local function walk(shape, where, seen)
      if seen[shape] then return end
      seen[shape] = true
      for _, member in ipairs(shape.members or {}) do
        local path = where .. "." .. member.name
        if member.name:find "_text$" then wrong[#wrong + 1] = path .. " is the name of a text" end
        walk(member.shape, path, seen)
      end
      if shape.member and shape.member.kind == "time" then
        wrong[#wrong + 1] = where .. " holds times, and no place for their texts"
      end
      if shape.member then walk(shape.member, where, seen) end
    end
    for _, name in ipairs(model.services()) do
      local svc = model.service(name)
      for _, key in ipairs(model.operations(svc)) do
        walk(svc.ops[key].output, name .. "." .. key, {})
      end
    end
    assert.same({}, wrong)
  end)

  it("say of each write how it may be repeated", function ()
    for _, name in ipairs(model.services()) do
      local svc = model.service(name)
      for key, raw in pairs(svc.operations) do
        local op = svc.ops[key]
        local ways = (op.token and 1 or 0) + (raw.once and 1 or 0) + (raw.repeatable and 1 or 0)
          + (op.reads and 1 or 0) + (key:sub(1, 7) == "delete_" and 1 or 0)
        assert.is_true(ways >= 1, op.action)
        assert.is_false(op.reads and op.once, op.action)
      end
    end
  end)

  it("send creates without a token once only", function ()
    local ec2, eks = model.service "ec2", model.service "eks"
    assert.is_true(ec2.ops.create_vpc.once)
    assert.is_true(model.service("iam").ops.create_role.once)
    assert.is_false(ec2.ops.create_nat_gateway.once)
    assert.equal("clientRequestToken", eks.ops.create_cluster.token)
    assert.is_true(ec2.ops.describe_vpcs.reads)
    assert.is_false(ec2.ops.delete_vpc.reads)
    assert.equal("ec2:CreateVpc", ec2.ops.create_vpc.action)
  end)

  it("find a rest operation by its verb and path", function ()
    local eks, s3 = model.service "eks", model.service "s3"
    local op, labels = model.find(eks, "GET",
      "/clusters/demo/access-entries/arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fnode", {})
    assert.equal("describe_access_entry", op.key)
    assert.same({ clusterName = "demo", principalArn = "arn:aws:iam::1:role/node" }, labels)
    assert.equal("put_bucket_tagging", model.find(s3, "PUT", "/b", { tagging = "" }).key)
    assert.equal("create_bucket", model.find(s3, "PUT", "/b", {}).key)
    assert.equal("list_objects_v2", model.find(s3, "GET", "/b", { ["list-type"] = "2" }).key)
    op, labels = model.find(s3, "GET", "/b/a/b%20c", {})
    assert.equal("get_object", op.key)
    assert.equal("a/b c", labels.Key)
    assert.is_nil((model.find(eks, "PATCH", "/clusters", {})))
  end)

  it("name the nearest service for a wrong one", function ()
    assert.has_error(function () model.service "ec" end,
      "no AWS service 'ec' (did you mean 'ec2'?)")
  end)
end)
