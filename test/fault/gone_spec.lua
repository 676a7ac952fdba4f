-- What is gone has no tags, and under a policy that asks for tags its deletion is refused as if it
-- were somebody else's: a delete that is sent again since its answer was lost, and a teardown that
-- goes by an old ledger. Both are played under exactly the policy that is printed.

local err = require "rtl.err"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local played = require "test.support.played"
local program = require "test.support.program"

local DEPLOY, TEARDOWN = "recipes/deploy.lua", "recipes/teardown.lua"
local WORDS = { "--down-after", "4h", "--bucket", "team-checkpoints", "--placement-group",
  "--probe", "--purge" }
local SETTINGS = { down_after = "4h", bucket = "team-checkpoints", placement_group = "true",
  probe = "true", purge = "true" }

-- The documents that --policy prints, in a file.
local function print_policy(path)
  local ran = program.rtl(table.move(WORDS, 1, #WORDS, 5,
    { "--rehearse", DEPLOY, "--policy", "--json" }), { state = fs.dirname(path) })
  assert.equal(0, ran.status, ran.stderr)
  for line in ran.stdout:gmatch "[^\n]+" do
    local event = json.decode(line)
    if event.type == "policy" then assert(fs.write(path, json.encode(event.documents))) end
  end
end

describe("under the printed policy", function ()
  local folder, state, world, leave, losing, seen, lost, refused

  -- Loses the first answer of each call to AWS that changes something, and counts what is refused.
  local function lose(impl)
    return setmetatable({ request = function (req)
      local before = world.mutations
      local answer, failure = impl.request(req)
      if not losing or not answer or not req.url:find("amazonaws.com", 1, true) then
        return answer, failure
      end
      if answer.status == 403 then refused = refused + 1 end
      local key = req.method .. req.url .. tostring(req.body)
      if world.mutations == before or seen[key] then return answer end
      seen[key], lost = true, lost + 1
      return err.fail { code = "RTL-NET-008", name = "lost", message = "Connection reset by peer",
        sent = true, retryable = not req.once, doing = "call" }
    end }, { __index = impl })
  end

  local function run(recipe)
    local name, outcome, last = played.run(recipe, nil, nil, SETTINGS)
    local left = name == "left" and {}
    for i, row in ipairs(left and last.teardown.left or {}) do left[i] = row.reason end
    assert.equal("done", name, left and table.concat(left, "\n") or tostring(outcome))
  end

  -- A deployment stands afterwards.
  before_each(function ()
    folder, losing, seen = assert(fs.temp_dir "rtl-gone-"), false, {}
    lost, refused = 0, 0
    state = fs.join(folder, "state")
    local policy = fs.join(folder, "policy.json")
    print_policy(policy)
    world, leave = played.enter("policy,file=" .. policy, state, lose)
    world:perform("run", {})
    run(DEPLOY)
  end)

  after_each(function ()
    leave()
    fs.remove_tree(folder)
  end)

  local function nothing_stands()
    world:advance(world.now_us + 120 * 1000000)
    assert.same({}, played.list(world))
  end

  it("a teardown goes through of which no delete is answered at once", function ()
    losing = true
    run(TEARDOWN)
    nothing_stands()
    assert(lost > 30 and refused > 10, ("%d answers lost, %d refusals"):format(lost, refused))
  end)

  it("a teardown goes through whose ledger says that all of it still stands", function ()
    local ledgers = fs.join(state, "aws")
    played.fork(ledgers, fs.join(folder, "before"))
    run(TEARDOWN)
    fs.remove_tree(ledgers)
    played.fork(fs.join(folder, "before"), ledgers)
    losing = true
    run(TEARDOWN)
    nothing_stands()
    assert(refused > 10, refused .. " refusals")
  end)
end)
