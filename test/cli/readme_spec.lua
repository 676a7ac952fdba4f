-- What README says is run: blocks below a `<!-- run -->` mark, and its tables against the source.
local exit = require "rtl.cli.exit"
local fs = require "rtl.fs"
local load_file = require "rtl.recipe.load"
local program = require "test.support.program"
local recipe = require "rtl.recipe.recipe"

local README = assert(fs.read("README.md"))

-- Blocks to run: array of {exit = code of the last command, commands = {text}}.
local function blocks()
  local list = {}
  for mark, body in README:gmatch("<!%-%- run(.-) %-%->\n```\n(.-)\n```") do
    local block = { exit = tonumber(mark:match("exit (%d+)")) or 0, commands = {} }
    for command in body:gmatch("%$ (rtl[^\n#]*)") do
      block.commands[#block.commands + 1] = command:gsub("%s+$", "")
    end
    list[#list + 1] = block
  end
  return list
end

describe("README", function ()
  for number, block in ipairs(blocks()) do
    it(("runs: block %d, %s"):format(number, block.commands[1]), function ()
      local state = fs.temp_dir("rtl-readme-")
      for i, command in ipairs(block.commands) do
        local ran = program.shell(command:gsub("^rtl", '"$RTL"'), { state = state })
        local wanted = i == #block.commands and block.exit or 0
        assert.equal(wanted, ran.status, command .. "\n" .. ran.stdout .. ran.stderr)
      end
      fs.remove_tree(state)
    end)
  end

  it("has blocks to run", function ()
    assert.is_true(#blocks() >= 4)
  end)

  it("lists the exit codes of the program, and no others", function ()
    local told, real = {}, {}
    local part = README:match("<!%-%- exit codes %-%->(.-)\n\n")
    for code in part:gmatch("\n| (%d+) |") do told[#told + 1] = tonumber(code) end
    for _, code in pairs(exit) do real[#real + 1] = code end
    table.sort(told)
    table.sort(real)
    assert.same(real, told)
  end)

  it("names settings that exist, in the table of the published sample", function ()
    local set = recipe.open(assert(load_file.find("recipes/deploy.lua"))).set
    local part = README:match("| env.sh | rtl |.-\n\n")
    local seen = 0
    for line in part:gmatch("[^\n]+") do
      local name = line:match("^| [%u%d_, ]+ | `([%l_]+)`")
      if name then
        seen = seen + 1
        assert.is_truthy(set.by_name[name], name)
      end
    end
    assert.is_true(seen > 15)
  end)

  it("names the price that a plan names", function ()
    local state = fs.temp_dir("rtl-readme-")
    local plan = program.rtl({ "--rehearse", "recipes/deploy.lua", "--plan" }, { state = state })
    fs.remove_tree(state)
    local hourly, nodes, once = README:match(
      "costs (%$[%d.]+) an hour in us%-east%-2, (%$[%d.]+) of it.-once.-(%$[%d.]+) for image pulls")
    assert.matches(hourly .. "/h + ≈ " .. once .. " for image pulls", plan.stdout, 1, true)
    assert.matches("not probed  " .. nodes .. "\n", plan.stdout, 1, true)
  end)

  it("shows a step that a fork can add, wherever in the order", function ()
    local code = README:match("<!%-%- step %-%->\n```lua\n(.-)```")
    local folder = fs.temp_dir("rtl-readme-")
    program.rtl { "init", fs.join(folder, "team") }
    local deploy = fs.join(folder, "team/recipes/deploy.lua")
    fs.write(fs.join(folder, "team/" .. code:match("^%-%- (%S+)")), code)
    fs.write(deploy, (assert(fs.read(deploy)):gsub('"steps/cluster"', '"steps/monitoring", %0')))
    local ran = program.rtl({ "--rehearse", "recipes/deploy.lua", "--to", "cluster" },
      { cwd = fs.join(folder, "team"), state = fs.join(folder, "state") })
    assert.equal(0, ran.status, ran.stderr)
    assert.matches("namespace monitoring +made", ran.stdout)
    assert.matches("Active", ran.stdout, 1, true)
    fs.remove_tree(folder)
  end)

  it("is clean of paths that do not exist", function ()
    local seen = 0
    for path in README:gmatch("`([%w_]+/[%w_/.]+)`") do
      local found = false
      seen = seen + 1
      for _, folder in ipairs { "", "lua/rtl/", "recipes/" } do
        found = found or fs.exists(folder .. path)
      end
      assert.is_true(found, path)
    end
    assert.is_true(seen > 5, seen)
  end)
end)
