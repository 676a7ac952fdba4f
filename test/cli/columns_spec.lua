-- Every line of the rehearsed screens fits 100 columns, from a deploy's plan to the teardown's end.
-- What a job wrote is shown as it is, and the path of a record stays whole.

local fs = require "rtl.fs"
local json = require "rtl.native.json"
local program = require "test.support.program"
local text = require "rtl.recipe.text"

local WIDEST = 100

-- Recipes in the order of a life, with the words of each.
local LIFE = { { "capacity", "--region", "us-east-2,us-west-2,eu-central-1" },
  { "deploy", "--plan" }, { "deploy" }, { "status" }, { "lease" }, { "verify" }, { "report" },
  { "deploy", "--plan" }, { "lease", "extend", "2h" }, { "teardown", "--plan" }, { "teardown" },
  { "status" } }

-- What a life is lived with.
local KINDS = {
  ["by default"] = {},
  ["with a hold, a lease, a bucket"] = { "--probe", "--down-after", "4h", "--placement-group",
    "--bucket", "team-checkpoints" },
  ["in regions that are probed, of a type with blocks"] = { "--region", "us-east-2,us-west-2",
    "--probe", "--gpu-type", "p5.48xlarge", plan_only = true },
  ["on what has no price"] = { "--gpu-type", "p5e.48xlarge" },
  ["where no zone has capacity"] = { scenario = "no-capacity-anywhere" },
  ["over TCP"] = { scenario = "tcp-fallback" },
  ["where a teardown may not remove all"] = { "--to", "cluster", denied = "ec2:DeleteVpc" },
}

-- The scenario of a life, with its policy in a file.
local function scenario_of(more, state)
  if not more.denied then return more.scenario and "=" .. more.scenario or "" end
  local path = fs.join(state, "policy.json")
  assert(fs.write(path, json.encode { Statement = {
    { Effect = "Allow", Action = "*", Resource = "*" },
    { Effect = "Deny", Action = more.denied, Resource = "*" } } }))
  return "=policy,file=" .. path
end

local function is_foreign(line)
  return line:find "^[%d:]* *│ " ~= nil or line:find "^Record   /" ~= nil
end

local function look(words, said, wide)
  for line in said:gmatch "[^\n]+" do
    if text.width(line) > WIDEST and not is_foreign(line) then
      wide[#wide + 1] = ("%s (%d): %s"):format(table.concat(words, " "), text.width(line), line)
    end
  end
  return select(2, said:gsub("\n", ""))
end

describe("the rehearsed screens", function ()
  for name, more in pairs(KINDS) do
    it("fit 100 columns " .. name, function ()
      local state, wide, lines = assert(fs.temp_dir "rtl-columns-"), {}, 0
      for i = 1, more.plan_only and 2 or #LIFE do
        local one = LIFE[i]
        local option = i == 1 and scenario_of(more, state) or ""
        local words = { "--rehearse" .. option, ("recipes/%s.lua"):format(one[1]),
          table.unpack(one, 2) }
        if one[1] == "deploy" then table.move(more, 1, #more, #words + 1, words) end
        local ran = program.rtl(words, { state = state })
        lines = lines + look(words, ran.stdout .. "\n" .. ran.stderr, wide)
      end
      fs.remove_tree(state)
      assert.same({}, wide)
      assert.is_true(lines > 50, lines .. " lines seen")
    end)
  end
end)
