-- How a policy is put together from what kinds say of themselves, with kinds of our own.

local iam_forms = require "rtl.kinds.iam_forms"
local kind = require "rtl.plan.kind"
local plan = require "rtl.plan"

local function nothing() end

-- A kind with these actions; `extra` fields go over.
local function made(name, actions, extra)
  local fields = { name = name, outputs = { "id" }, read = nothing, create = nothing,
    fields = { in_ = "string?", names = "list?", limit = "string?" }, actions = actions }
  for key, value in pairs(extra or {}) do fields[key] = value end
  return kind.define(fields)
end

local function context()
  return plan.context.new { deployment = "demo", region = "r1", account = "1", partition = "aws" }
end

-- The statements for the kinds' resources that `declare(g)` makes, Sids left out.
local function statements(declare, options)
  local g = plan.graph.new()
  declare(g)
  options = options or {}
  options.kinds, options.forms = options.kinds or {}, iam_forms
  local list = {}
  for _, document in ipairs(plan.policy.documents(g, context(), options)) do
    for _, statement in ipairs(document.Statement) do
      statement.Sid, statement.Effect = nil, nil
      list[#list + 1] = statement
    end
  end
  return list
end

local OURS = { StringEquals = { ["aws:ResourceTag/rtl:deployment"] = "demo" } }
local NEW = { StringEquals = { ["aws:RequestTag/rtl:deployment"] = "demo" } }

describe("plan.policy", function ()
  it("allows reads anywhere, changes of what is ours, creates with our tag", function ()
    local box = made("box", { "x:DescribeBoxes", { "x:CreateBox", new = "box/*" },
      { "x:DeleteBox", "x:ChangeBox", ours = "box/*" } })
    assert.same({
      { Action = "x:DescribeBoxes", Resource = "*" },
      { Action = "x:CreateBox", Resource = "arn:aws:x:r1:1:box/*", Condition = NEW },
      { Action = { "x:ChangeBox", "x:DeleteBox" }, Resource = "arn:aws:x:r1:1:box/*",
        Condition = OURS },
    }, statements(function (g) g:declare(box "a" {}) end))
  end)

  it("allows EC2's tags with the call that makes the thing", function ()
    local box = made("box", { { "ec2:CreateBox", new = "box/*" } })
    assert.same({ Action = "ec2:CreateTags", Resource = "arn:aws:ec2:r1:1:box/*",
      Condition = { StringEquals = { ["ec2:CreateAction"] = { "CreateBox" } } } },
      statements(function (g) g:declare(box "a" {}) end)[2])
  end)

  it("names what was given by its id, and asks for our tag of what is made", function ()
    local room = made("room", {})
    local box = made("box", { { "x:PutBox", uses = "room/{in_}" } })
    local function with(fields)
      return statements(function (g)
        local r = g:declare(room "r" (fields))
        g:declare(box "a" { in_ = r.id })
      end)[1]
    end
    assert.same({ Action = "x:PutBox", Resource = "arn:aws:x:r1:1:room/*", Condition = OURS },
      with {})
    assert.same({ Action = "x:PutBox", Resource = "arn:aws:x:r1:1:room/r-9" },
      with { given = "r-9" })
  end)

  it("needs only reads for what is given", function ()
    local box = made("box", { { "x:GetBox", on = "box/{given}" },
      { "x:DeleteBox", on = "box/mine" } })
    assert.same({ { Action = "x:GetBox", Resource = "arn:aws:x:r1:1:box/b-1" } },
      statements(function (g) g:declare(box "a" { given = "b-1" }) end))
  end)

  it("needs what a teardown looks for, of kinds that nobody declares", function ()
    local looked = made("looked", { "x:DescribeLooked", { "x:DropLooked", on = "l/*" } },
      { find = nothing })
    local stray = made("stray", { "x:DescribeStrays", { "x:DropStray", on = "s/*" },
      { "x:DropData", on = "d/*", purge = true } }, { find = nothing, strays = true })
    local unseen = made("unseen", { "x:DescribeUnseen" })
    local kinds = { looked, stray, unseen }
    assert.same({
      { Action = { "x:DescribeLooked", "x:DescribeStrays" }, Resource = "*" },
      { Action = "x:DropStray", Resource = "arn:aws:x:r1:1:s/*" },
    }, statements(nothing, { kinds = kinds }))
    assert.same({ Action = "x:DropData", Resource = "arn:aws:x:r1:1:d/*" },
      statements(nothing, { kinds = kinds, purge = true })[3])
  end)

  it("looks into whatever a teardown finds, of kinds that nobody declares", function ()
    local box = made("box", { { "x:ListBoxes", on = "room/{in_}" }, { "x:GetBox", on = "{given}" },
      { "x:DropBox", on = "room/{in_}" } }, { find_inside = nothing })
    assert.same({ { Action = "x:ListBoxes", Resource = "arn:aws:x:r1:1:room/*" } },
      statements(nothing, { kinds = { box } }))
    assert.same("arn:aws:x:r1:1:room/7", statements(function (g)
      g:declare(box "a" { in_ = "7" })
    end, { kinds = { box } })[1].Resource)
  end)

  it("leaves a condition out whose value nobody set, and an action that needs it", function ()
    local box = made("box", { { "iam:MakeBox", on = "box/*",
      when = { ArnEquals = { ["iam:Limit"] = "{limit}" } } },
      { "iam:LimitBox", on = "box/*", needs = "limit" } })
    assert.same({ { Action = "iam:MakeBox", Resource = "arn:aws:iam::1:box/*" } },
      statements(function (g) g:declare(box "a" {}) end))
    local limited = statements(function (g) g:declare(box "a" { limit = "arn:l" }) end)
    assert.same({ ArnEquals = { ["iam:Limit"] = "arn:l" } }, limited[1].Condition)
    assert.equal("iam:LimitBox", limited[2].Action)
  end)

  it("is for all regions of the settings", function ()
    local box = made("box", { { "x:DropBox", on = "box/*" } })
    assert.same({ "arn:aws:x:r1:1:box/*", "arn:aws:x:r2:1:box/*" },
      statements(function (g) g:declare(box "a" {}) end, { regions = { "r1", "r2" } })[1].Resource)
  end)

  -- Which rights are surely needed, and which only where a teardown finds such a thing.
  it("needs the reads of a thing that nobody declares only where there is one", function ()
    local box = made("box", { "x:DescribeBoxes", { "x:GetBox", on = "box/{in_}" } },
      { find = nothing })
    local function optional(declare)
      local g = plan.graph.new()
      declare(g)
      local found = {}
      for _, one in ipairs(plan.policy.statements(g, context(), { kinds = { box },
        forms = iam_forms })) do
        found[one.actions[1]] = { one.resources[1], one.optional or false }
      end
      return found
    end
    assert.same({ ["x:DescribeBoxes"] = { "*", false },
      ["x:GetBox"] = { "arn:aws:x:r1:1:box/*", true } }, optional(nothing))
    assert.same({ ["x:DescribeBoxes"] = { "*", false },
      ["x:GetBox"] = { "arn:aws:x:r1:1:box/b", false } },
      optional(function (g) g:declare(box "a" { in_ = "b" }) end))
  end)

  it("adds what steps call themselves", function ()
    assert.same({ { Action = "x:GetPrice", Resource = "*" } },
      statements(nothing, { more = { { "x:GetPrice" } } }))
  end)

  it("is as many documents as IAM's limit asks for, each statement once", function ()
    local actions, count = {}, 150
    for i = 1, count do actions[i] = { ("x:Do%d"):format(i), on = ("thing/%d"):format(i) } end
    local g = plan.graph.new()
    g:declare(made("box", actions) "a" {})
    local documents = plan.policy.documents(g, context(), { kinds = {}, forms = iam_forms })
    assert(#documents > 1)
    local seen, total = {}, 0
    for _, document in ipairs(documents) do
      assert(plan.policy.size(document) <= plan.policy.LIMIT)
      for _, statement in ipairs(document.Statement) do
        assert(not seen[statement.Sid], statement.Sid)
        seen[statement.Sid], total = true, total + 1
      end
    end
    assert.equal(count, total)
  end)
end)
