-- The caller's rights, asked of IAM beforehand: about whom, what, and which answers count.

local err = require "rtl.err"
local foresight = require "rtl.kinds.foresight"
local task = require "rtl.task"

local ROLE = "arn:aws:sts::123456789012:assumed-role/dev/me"

-- A context whose IAM answers with `decide(action, arn)` → decision, missing keys, further fields.
local function context(decide, asked)
  local iam = {}
  function iam.get_role(_, params)
    return { Role = { Arn = "arn:aws:iam::123456789012:role/team/" .. params.RoleName } }
  end
  function iam.all(_, op, params)
    assert.equal("simulate_principal_policy", op)
    asked[#asked + 1] = params
    local results = {}
    for i, action in ipairs(params.ActionNames) do
      local result = { EvalActionName = action, EvalDecision = "allowed" }
      for j, arn in ipairs(params.ResourceArns or { "*" }) do
        local decision, missing, more = decide(action, arn)
        for key, value in pairs(more or {}) do result[key] = value end
        if params.ResourceArns then
          result.ResourceSpecificResults = result.ResourceSpecificResults or {}
          result.ResourceSpecificResults[j] = { EvalResourceName = arn,
            EvalResourceDecision = decision, MissingContextValues = missing }
        else
          result.EvalDecision, result.MissingContextValues = decision, missing
        end
      end
      results[i] = result
    end
    return results
  end
  return { region = "us-east-2", aws = function () return iam end }
end

local function statement(actions, resources, conditions)
  return { actions = actions, resources = resources, conditions = conditions or {} }
end

local function lacking(decide, statements, caller)
  local asked = {}
  local ctx = context(decide, asked)
  local found, why = task.run(foresight.lacking, ctx, caller or ROLE, statements)
  return found, why, asked
end

local function deny(wanted)
  return function (action) return action == wanted and "implicitDeny" or "allowed" end
end

local BOX = "arn:aws:x:us-east-2:1:box/*"

describe("kinds.foresight", function ()
  it("asks about the role behind a session, with its path, or the user", function ()
    local _, _, asked = lacking(deny(), { statement({ "x:GetBox" }, { "*" }) })
    assert.equal("arn:aws:iam::123456789012:role/team/dev", asked[1].PolicySourceArn)
    local user = "arn:aws:iam::123456789012:user/team/me"
    _, _, asked = lacking(deny(), { statement({ "x:GetBox" }, { "*" }) }, user)
    assert.equal(user, asked[1].PolicySourceArn)
    local found, why = lacking(deny(), {}, "arn:aws:iam::123456789012:root")
    assert.is_nil(found)
    assert.matches("neither a user nor a role", why)
  end)

  it("names what is denied, once, with the resource of the plan", function ()
    assert.same({ { action = "x:DropBox", resource = BOX, by = "identity-based policy" } },
      (lacking(deny "x:DropBox", { statement({ "x:DropBox", "x:PutBox" }, { BOX }),
        statement({ "x:DropBox" }, { "arn:aws:x:us-east-2:1:room/*" }) })))
    assert.same({}, (lacking(deny "x:Other", { statement({ "x:DropBox" }, { BOX }) })))
  end)

  it("says which kind of policy stands against it", function ()
    local function by(more)
      return lacking(function () return "explicitDeny", {}, more end,
        { statement({ "x:GetBox" }, { "*" }) })[1]
    end
    assert.same({ "service control policy", true }, { by { OrganizationsDecisionDetail = {
      AllowedByOrganizations = false } }.by, by {}.explicit })
    assert.equal("permissions boundary", by { PermissionsBoundaryDecisionDetail = {
      AllowedByPermissionsBoundary = false } }.by)
  end)

  it("leaves to the calls what hangs on a key that it can't know", function ()
    assert.same({}, (lacking(function ()
      return "implicitDeny", { "aws:MultiFactorAuthPresent" }
    end, { statement({ "x:GetBox" }, { "*" }), statement({ "x:DropBox" }, { BOX }) })))
  end)

  it("gives conditions and region, and heeds no pair that is not meant", function ()
    local tagged = { StringEquals = { ["aws:RequestTag/a"] = "b" } }
    local asked_for = {}
    local found, _, asked = lacking(function (action, arn)
      asked_for[action .. " " .. arn] = true
      return action == "x:New" and arn:find "room" and "implicitDeny" or "allowed"
    end, { statement({ "x:New" }, { BOX }, tagged), statement({ "x:Open" },
      { "arn:aws:x:us-east-2:1:room/*" }, tagged) })
    assert.equal(1, #asked)
    assert.same({ { ContextKeyName = "aws:RequestedRegion", ContextKeyType = "string",
      ContextKeyValues = { "us-east-2" } }, { ContextKeyName = "aws:RequestTag/a",
      ContextKeyType = "string", ContextKeyValues = { "b" } } }, asked[1].ContextEntries)
    assert.is_true(asked_for["x:New arn:aws:x:us-east-2:1:room/rtl-simulated"])
    assert.same({}, found)
  end)

  it("asks nothing about what the plan does without", function ()
    local optional = statement({ "x:GetPrice" }, { "*" })
    optional.optional = true
    local found, _, asked = lacking(deny "x:GetPrice", { optional })
    assert.same({ {}, {} }, { found, asked })
  end)

  it("goes on where IAM does not take one of the questions", function ()
    local asked = {}
    local ctx = context(deny "x:DropBox", asked)
    local all = ctx:aws().all
    ctx:aws().all = function (iam, op, params)
      if params.ActionNames[1] == "x:Odd" then
        return err.fail { code = "InvalidInput", message = "no such combination" }
      end
      return all(iam, op, params)
    end
    local found = task.run(foresight.lacking, ctx, ROLE, { statement({ "x:GetBox" }, { "*" }),
      statement({ "x:Odd" }, { BOX }, { StringEquals = { k = "v" } }),
      statement({ "x:DropBox" }, { BOX }) })
    assert.same({ "x:DropBox" }, { found[1].action })
  end)

  it("is no obstacle where IAM can't be asked", function ()
    local ctx = { region = "r", aws = function ()
      return { get_role = function ()
        return err.fail { code = "AccessDenied", message = "no", denied = {
          action = "iam:GetRole" } }
      end }
    end }
    local found, why = task.run(foresight.lacking, ctx, ROLE, {})
    assert.is_nil(found)
    assert.equal("iam:GetRole is not allowed to the caller", why)
  end)
end)
