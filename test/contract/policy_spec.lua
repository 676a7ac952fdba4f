-- The printed IAM policies, read by a linter of such policies and by its copy of AWS' service
-- authorization reference: actions, resources, conditions and access levels are AWS' own.

local array = require "rtl.array"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local keys = require "rtl.keys"
local model = require "rtl.aws.model"
local plan = require "rtl.plan"
local program = require "test.support.program"
local python = require "test.support.python"
local rights = require "rtl.rehearse.rights"

-- Findings that stay, and why.
local STAYS = {
  ["PERMISSIONS_MANAGEMENT_ACTIONS "] = "cluster, nodes and pods need roles with policies; which "
    .. "ones can be attached is a condition, and all of it is below one path",
  ["PRIVILEGE_ESCALATION "] = "a role of the Ray pods for the bucket has an inline policy: with "
    .. "permissions_boundary set, no such role can do more than that",
}

local BOUNDARY = "arn:aws:iam::000000009012:policy/boundary"

-- What is set beside the defaults → the words for it.
local PLANS = {
  default = {},
  bucket = { "--bucket", "team-checkpoints" },
  probe = { "--probe", "--request-quota" },
  lease = { "--down-after", "4h" },
  held = { "--probe" },
  boundary = { "--permissions-boundary", BOUNDARY },
  everything = { "--bucket", "team-checkpoints", "--placement-group", "--purge",
    "--permissions-boundary", BOUNDARY, "--admins", "arn:aws:iam::000000009012:role/ops",
    "--down-after", "4h", "-r", "us-east-2,us-west-2" },
  given = { "--use-bucket", "team-checkpoints", "--cluster-role",
    "arn:aws:iam::000000009012:role/own/cluster", "--node-role",
    "arn:aws:iam::000000009012:role/nodes" },
}

local function printed(words)
  local state = fs.temp_dir("rtl-test-")
  local all = table.move(words, 1, #words, 5,
    { "--rehearse", "recipes/deploy.lua", "--policy", "--json" })
  local done = program.rtl(all, { state = state })
  fs.remove_tree(state)
  assert.equal(0, done.status, done.stderr .. done.stdout)
  for line in done.stdout:gmatch("[^\n]+") do
    local event = json.decode(line)
    if event.type == "policy" then return event.documents end
  end
  error("no event of a policy:\n" .. done.stdout)
end

-- A graph with a resource of every kind that makes something, as far as IAM cares.
local function everything()
  local g = plan.graph.new()
  local function kind(name) return require("rtl.kinds." .. name) end
  local net = g:declare(kind "vpc" "main" { given = "vpc-0a1" })
  local pg = g:declare(kind "placement_group" "gpu" {})
  local held = g:declare(kind "capacity_reservation" "gpu" { instance_type = "g6.12xlarge",
    count = 2, zone_id = "use2-az1" })
  g:declare(kind "security_group" "efa" { vpc_id = net.id, description = "EFA", itself = true })
  local t = g:declare(kind "launch_template" "gpu" { instance_type = "g6.12xlarge",
    disk_gib = 200, placement_group = pg.group_name, reservation_id = "cr-0123" })
  g:declare(kind "node_group" "gpu" { cluster = "c", role_arn = "arn:aws:iam::123456789012:role/n",
    subnet_ids = { "subnet-0a1" }, instance_type = "g6.12xlarge", count = 2, ami_type = "x",
    launch_template_id = t.id, launch_template_version = t.version, after = held })
  return plan.policy.documents(g, plan.context.new { deployment = "ray-train",
    region = "us-east-2", account = "123456789012", partition = "aws" },
    { forms = require "rtl.kinds.iam_forms", kinds = require "rtl.kinds", purge = true,
      more = { require("rtl.kinds.capacity").actions } })
end

-- Action → types of resources on which the simulated AWS asks for it.
local function asked_for()
  local asked = {}
  for _, name in ipairs(require "rtl.rehearse.aws".answered()) do
    local service, key = name:match "^(.-):(.*)$"
    local op = model.service(service).ops[key]
    local text = rights.words(op)
    assert(text ~= nil, "nobody says what rights " .. name .. " needs")
    asked[op.permission] = asked[op.permission] or array {}
    for word in (text or ""):gmatch "%S+" do
      local kind = word == "*" and "*" or word:match "^%+?([%w-]+)"
      if kind then table.insert(asked[op.permission], kind) end
    end
  end
  for action, kind in pairs(rights.tagging()) do asked[action] = array { kind } end
  asked["sts:GetCallerIdentity"] = nil
  return asked
end

local sets, names = {}, {}
local lint

setup(function ()
  for _, name in ipairs(keys.sorted(PLANS)) do
    names[#names + 1], sets[#sets + 1] = name, printed(PLANS[name])
  end
  names[#names + 1], sets[#sets + 1] = "kinds", everything()
  lint = json.decode(python.run("test/contract/policy_lint.py", json.encode {
    sets = sets, needs = asked_for() }))
end)

describe("the simulated AWS", function ()
  it("asks for the actions of AWS, on the resources that AWS asks for", function ()
    assert.same({}, lint.needs)
  end)
end)

describe("the least IAM policy", function ()
  it("passes parliament, but for what the table explains", function ()
    local seen = {}
    for i, name in ipairs(names) do
      for _, finding in ipairs(lint.sets[i].findings) do
        assert(STAYS[finding], name .. ": " .. finding)
        seen[finding] = true
      end
    end
    assert.same(keys.sorted(STAYS), keys.sorted(seen))
  end)

  it("has no condition on a key that AWS does not give with the action", function ()
    for i, name in ipairs(names) do assert.same({}, lint.sets[i].keys, name) end
  end)

  it("knows by their names which actions only read", function ()
    for action, level in pairs(lint.access) do
      assert.equal(level == "Read" or level == "List", plan.policy.reads(action), action)
    end
  end)

  it("fits IAM's limit in each document", function ()
    for i, name in ipairs(names) do
      for _, document in ipairs(sets[i]) do
        assert(plan.policy.size(document) <= plan.policy.LIMIT, name)
      end
    end
  end)

  it("lets nothing be changed anywhere that carries no condition and no name of ours", function ()
    for i, name in ipairs(names) do
      for _, document in ipairs(sets[i]) do
        for _, statement in ipairs(document.Statement) do
          local action = type(statement.Action) == "table" and statement.Action[1]
            or statement.Action
          if statement.Resource == "*" and not statement.Condition then
            assert(plan.policy.reads(action), name .. ": " .. action)
          end
        end
      end
    end
  end)
end)
