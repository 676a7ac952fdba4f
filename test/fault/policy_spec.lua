-- The printed policy is enough, and none of it is too much: a deploy, the same deploy again and a
-- teardown pass under exactly it; with any one action taken out of it, one of them is refused with
-- a message that names the action, and what was made until then is recorded, so that a teardown
-- with all rights leaves nothing.
--
-- RTL_TEST_SLOW=1 (`make fault`) takes out every action; the quick form some of them.

local fs = require "rtl.fs"
local json = require "rtl.native.json"
local keys = require "rtl.keys"
local played = require "test.support.played"
local program = require "test.support.program"
local task = require "rtl.task"

local SLOW = os.getenv("RTL_TEST_SLOW")
local AT_ONCE = 2
local DEPLOY, TEARDOWN = "recipes/deploy.lua", "recipes/teardown.lua"
local BOUNDARY = "arn:aws:iam::000000009012:policy/boundary"
local SETTINGS = { "--down-after", "4h", "--bucket", "team-checkpoints", "--placement-group",
  "--probe", "--permissions-boundary", BOUNDARY, "--admins",
  "arn:aws:iam::000000009012:role/ops", "--purge" }

-- What an ordinary life of a deployment does not need, and what does.
local SELDOM = {
  ["ec2:CreateLaunchTemplateVersion"] = "a changed setting of the nodes",
  ["ec2:DeleteNetworkInterface"] = "an interface that the VPC CNI left behind",
  ["ec2:DeleteVolume"] = "a volume of a claim, with --purge",
  ["ec2:DescribeCapacityBlockOfferings"] = "types sold as blocks; the ranking does without it",
  ["ec2:GetConsoleOutput"] = "a node that does not join",
  ["ec2:ModifyCapacityReservation"] = "another number of GPU nodes, or another end of the lease",
  ["ec2:ModifyVpcEndpoint"] = "another private route table",
  ["ec2:ReplaceRoute"] = "a route that leads nowhere any more",
  ["ec2:ReplaceRouteTableAssociation"] = "a subnet that somebody gave another table",
  ["eks:DescribeClusterVersions"] = "the price of extended support: without it, a table's",
  ["pricing:GetProducts"] = "prices: without it a built-in table's, and the plan says so",
  ["eks:DeleteAddon"] = "an add-on that is declared no more; with the cluster it goes by itself",
  ["eks:DeleteAccessEntry"] = "an admin who is listed no more",
  ["eks:DeletePodIdentityAssociation"] = "a bucket that is set no more",
  ["eks:DescribeUpdate"] = "a change of a cluster, group or add-on",
  ["eks:ListAccessEntries"] = "a cluster that was given: ours in it are looked for",
  ["eks:UpdateAddon"] = "another version of an add-on",
  ["eks:UpdateClusterConfig"] = "other public CIDRs",
  ["eks:UpdateNodegroupConfig"] = "another number of nodes",
  ["eks:UpdateNodegroupVersion"] = "a changed launch template",
  ["eks:UpdatePodIdentityAssociation"] = "another role for the pods",
  ["iam:ListInstanceProfilesForRole"] = "a role that can't be deleted yet",
  ["iam:PutRolePermissionsBoundary"] = "a role that lost its boundary",
  ["iam:UpdateAssumeRolePolicy"] = "a trust policy that somebody changed",
  ["logs:DeleteLogGroup"] = "a log group of the control plane, with --purge",
  ["s3:DeleteObject"] = "a bucket with checkpoints in it, with --purge",
  ["servicequotas:GetAWSDefaultServiceQuota"] = "an account without a value of its own",
}

-- The caller's right to ask IAM about itself.
local ASK = "iam:SimulatePrincipalPolicy"

-- What the plan does without.
local OPTIONAL = { ["pricing:GetProducts"] = true, ["eks:DescribeClusterVersions"] = true,
  ["ec2:DescribeCapacityBlockOfferings"] = true, [ASK] = true }

local function words_of(first)
  return table.move(SETTINGS, 1, #SETTINGS, #first + 1, first)
end

local function play(state, spec, recipe)
  return program.rtl(words_of { "--rehearse" .. (spec and "=" .. spec or ""), recipe },
    { state = state })
end

-- The documents that --policy prints for some words, written to `path`; and the actions in them,
-- sorted.
local function printed(path, words, state)
  local ran = program.rtl(words, { state = state })
  assert.equal(0, ran.status, ran.stderr)
  local actions = {}
  for line in ran.stdout:gmatch "[^\n]+" do
    local event = json.decode(line)
    if event.type == "policy" then
      assert(fs.write(path, json.encode(event.documents)))
      for _, document in ipairs(event.documents) do
        for _, statement in ipairs(document.Statement) do
          local list = type(statement.Action) == "table" and statement.Action
            or { statement.Action }
          for _, action in ipairs(list) do actions[action] = true end
        end
      end
    end
  end
  return keys.sorted(actions)
end

-- All that a run said, without the world's name, in which the missing action stands.
local function said(ran, spec)
  return ((ran.stdout .. ran.stderr):gsub(spec:gsub("%p", "%%%0"), "SPEC"))
end

local function fail(action, what, ran)
  error(("without %s: %s (exit %s)\n%s"):format(action, what, tostring(ran.status),
    (ran.stdout .. ran.stderr):sub(-1500)), 0)
end

-- A refused run: its exit code tells whether it had made something, its text names the action.
-- `before` is what stood when it began. Returns when it was refused.
local function check_refusal(state, action, spec, ran, recipe, before)
  if not said(ran, spec):find(action, 1, true) then fail(action, "not named", ran) end
  if recipe == DEPLOY then
    local untouched = not played.difference(before, played.inventory(state))
    if ran.status ~= (untouched and 5 or 1) then
      fail(action, untouched and "nothing was made" or "something was made", ran)
    end
    return untouched and "first" or "late"
  elseif ran.status ~= 5 and ran.status ~= 6 then
    fail(action, "a teardown was refused", ran)
  end
  return "teardown"
end

local function nothing_stays(state, action, all_rights)
  played.again(state, all_rights)
  local ran = play(state, nil, TEARDOWN)
  if ran.status ~= 0 then fail(action, "a teardown with all rights failed", ran) end
  local left = played.difference({}, played.inventory(state))
  if left then error(("without %s something stays:\n  %s"):format(action, left), 0) end
end

-- One life without an action. Returns when it was missed: "first" (before anything was made),
-- "late", "teardown"; false if never.
local function live_without(folder, path, action)
  local state = fs.join(folder, (action:gsub(":", "-")))
  local spec = ("policy,file=%s,without=%s"):format(path, action)
  local missed = false
  for i, recipe in ipairs { DEPLOY, DEPLOY, TEARDOWN } do
    local before = i == 2 and played.inventory(state) or {}
    local ran = play(state, i == 1 and spec or nil, recipe)
    if ran.status ~= 0 then
      missed = check_refusal(state, action, spec, ran, recipe, before)
      break
    end
  end
  nothing_stays(state, action, "policy,file=" .. path)
  fs.remove_tree(state)
  return missed
end

local ALWAYS = { ["ec2:RunInstances"] = true, ["ec2:CreateTags"] = true, ["iam:PassRole"] = true,
  ["ec2:DeleteVpc"] = true, ["ec2:DescribeVpcs"] = true, ["ssm:DeleteParameter"] = true }

local function some_of(actions)
  local some = {}
  for i, action in ipairs(actions) do
    if SLOW or ALWAYS[action] or i % 40 == 0 then some[#some + 1] = action end
  end
  return some
end

-- The documents of a file without the statement by which the caller asks IAM about itself.
local function without_asking(path)
  local documents = json.decode(assert(fs.read(path)))
  for _, document in ipairs(documents) do
    for i = #document.Statement, 1, -1 do
      if json.encode(document.Statement[i]):find(ASK, 1, true) then
        table.remove(document.Statement, i)
      end
    end
  end
  return documents
end

describe("the printed policy", function ()
  local folder, path, actions

  setup(function ()
    folder = assert(fs.temp_dir "rtl-policy-")
    path = fs.join(folder, "policy.json")
    actions = printed(path, words_of { "--rehearse", DEPLOY, "--policy", "--json" },
      fs.join(folder, "printed"))
  end)

  teardown(function () fs.remove_tree(folder) end)

  it("is enough for a deploy, the same again, and a teardown", function ()
    local state = fs.join(folder, "enough")
    for i, recipe in ipairs { DEPLOY, DEPLOY, TEARDOWN } do
      local ran = play(state, i == 1 and "policy,file=" .. path or nil, recipe)
      assert.equal(0, ran.status, ran.stderr)
    end
    assert.is_nil(played.difference({}, played.inventory(state)))
  end)

  it("is enough for a teardown that has nothing but the account to go by", function ()
    local state = fs.join(folder, "elsewhere")
    local ran = program.rtl({ "--rehearse=policy,file=" .. path, DEPLOY, "--probe",
      "--down-after", "4h", "--permissions-boundary", BOUNDARY }, { state = state })
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    fs.remove_tree(fs.join(state, "aws")) -- ledger and records
    ran = program.rtl({ "--rehearse", TEARDOWN }, { state = state })
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    assert.is_nil(played.difference({}, played.inventory(state)))
  end)

  local function ids(shelf, test)
    local list = {}
    for _, item in ipairs(shelf:all()) do
      if not item.native and test(item) then list[#list + 1] = item end
    end
    return list
  end

  it("is enough where network, cluster and role are given, which it can't touch", function ()
    local state = fs.join(folder, "given")
    local made = program.rtl({ "--rehearse", DEPLOY, "--to", "cluster" }, { state = state })
    assert.equal(0, made.status, made.stderr)
    local region = played.world(state).aws.regions["us-east-2"]
    local vpc = ids(region.vpcs, function () return true end)[1].VpcId
    local subnets = ids(region.subnets, function (it) return not it.MapPublicIpOnLaunch end)
    local words = { "--name", "guest", "--vpc-id", vpc, "--private-subnets",
      subnets[1].SubnetId .. "," .. subnets[2].SubnetId, "--use-cluster", "ray-train",
      "--node-role", played.world(state).aws.iam.roles:get "ray-train-node-us-east-2".Arn,
      "--to", "cluster" }
    local own, before = fs.join(folder, "given.json"), played.inventory(state)
    printed(own, table.move(words, 1, #words, 5, { "--rehearse", DEPLOY, "--policy", "--json" }),
      state)
    played.again(state, "policy,file=" .. own)
    local ran = program.rtl(table.move(words, 1, #words, 3, { "--rehearse", DEPLOY }),
      { state = state })
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    ran = program.rtl({ "--rehearse", TEARDOWN, "--name", "guest", "--use-cluster", "ray-train" },
      { state = state })
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    assert.is_nil(played.difference(before, played.inventory(state)))
    -- The policy is of no use against the one that was there before.
    ran = program.rtl({ "--rehearse", TEARDOWN }, { state = state })
    assert.equal(5, ran.status, ran.stdout .. ran.stderr)
  end)

  -- The caller may ask IAM about itself, and learns all of it before anything is made.
  it("is looked at before anything is made", function ()
    local wrong = {}
    local function look(action)
      local state = fs.join(folder, "asking-" .. (action:gsub(":", "-")))
      local spec = ("policy,file=%s,without=%s"):format(path, action)
      local ran = play(state, spec, DEPLOY)
      local named = said(ran, spec):find(action, 1, true)
      if ran.status ~= 5 or not named or #played.inventory(state) > 0 then
        wrong[#wrong + 1] = ("without %s: exit %s\n%s"):format(action, tostring(ran.status),
          ran.stderr:sub(-800))
      end
      fs.remove_tree(state)
    end
    task.run(function ()
      task.map(some_of(actions), function (action)
        if not OPTIONAL[action] and action ~= "ec2:CreateTags" then look(action) end
      end, AT_ONCE)
    end)
    assert(#wrong == 0, ("%d wrong, the first:\n%s"):format(#wrong,
      table.concat(wrong, "\n----\n"):sub(1, 4000)))
  end)

  -- Of a caller who may not ask, each right is missed where it is needed first.
  it("has nothing in it that is never needed", function ()
    local silent = fs.join(folder, "silent.json")
    assert(fs.write(silent, json.encode(without_asking(path))))
    for _, action in ipairs(keys.sorted(SELDOM)) do
      local there = false
      for _, one in ipairs(actions) do there = there or one == action end
      assert(there, action .. " is not in the policy any more")
    end
    local wrong, counts = {}, { first = 0, late = 0, teardown = 0, [false] = 0 }
    task.run(function ()
      task.map(some_of(actions), function (action)
        if action == ASK then return end
        local ok, missed = pcall(live_without, folder, silent, action)
        if ok then counts[missed] = counts[missed] + 1 end
        if not ok then
          wrong[#wrong + 1] = tostring(missed)
        elseif not missed ~= (SELDOM[action] ~= nil) then
          wrong[#wrong + 1] = action .. (missed and " is needed after all" or " is not needed")
        end
      end, AT_ONCE)
    end)
    assert(#wrong == 0, ("%d wrong, the first:\n%s"):format(#wrong,
      table.concat(wrong, "\n----\n"):sub(1, 6000)))
    print(("policy: %d actions; taken out one by one, %d are missed before anything is made, %d "
      .. "later, %d by the teardown, %d not in an ordinary life"):format(#actions, counts.first,
      counts.late, counts.teardown, counts[false]))
  end)
end)
