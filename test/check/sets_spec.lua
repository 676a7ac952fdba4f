-- Sets that must be equal: what the source has and what the help tells of it.
local exit = require "rtl.cli.exit"
local fs = require "rtl.fs"
local help = require "rtl.cli.help"
local load_file = require "rtl.recipe.load"
local program = require "test.support.program"
local recipe = require "rtl.recipe.recipe"

local function read(path) return assert(fs.read(path)) end

local function files_below(folder, pattern, out)
  out = out or {}
  for _, name in ipairs(assert(fs.list(folder))) do
    local path = fs.join(folder, name)
    if fs.stat(path).type == "directory" then
      files_below(path, pattern, out)
    elseif name:match(pattern) then
      out[#out + 1] = path
    end
  end
  return out
end

local function module_of(path)
  return (path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

local function set_of_documented()
  local names = {}
  for _, entry in ipairs(help.index()) do
    local name = entry.name:match("^[%w_.:]+")
    if name then names[name:gsub(":", ".")] = entry.text end
  end
  return names
end

-- Told once, at the shape of a kind (rtl.plan.kind), and not again in each.
local KIND_SHAPE = {}
for name in ([[
  known read diff replace_when create update delete cost find find_inside carrier users lease used
]]):gmatch("%S+") do KIND_SHAPE[name] = true end

-- Tables of simulated programs by the name that a shell calls them, and data.
local NO_FUNCTIONS = { ["rtl.rehearse.pod.commands"] = true, ["rtl.rehearse.ray.programs"] = true }
local function is_data(module)
  return module:match("^rtl%.codes%.") or module:match("^rtl%.aws%.ops%.")
end

local function is_told_elsewhere(module, key)
  return NO_FUNCTIONS[module] or module:match("^rtl%.kinds%.") and KIND_SHAPE[key]
end

describe("the help index", function ()
  it("has every function that a module exports, and every module", function ()
    local documented, by_function, open, seen = set_of_documented(), {}, {}, 0
    for _, path in ipairs(files_below("lua/rtl", "%.lua$")) do
      local module = module_of(path)
      local value = not is_data(module) and require(module)
      if value and not documented[module] then open[#open + 1] = { name = module } end
      for key, f in pairs(type(value) == "table" and value or {}) do
        local name = type(f) == "function" and module .. "." .. tostring(key)
        if name and not is_told_elsewhere(module, key) then
          seen = seen + 1
          if documented[name] then
            by_function[f] = name
          else
            open[#open + 1] = { name = name, f = f }
          end
        end
      end
    end
    local missing = {}
    for _, item in ipairs(open) do
      -- What one module only passes on from another is told there.
      if not (item.f and by_function[item.f]) then missing[#missing + 1] = item.name end
    end
    table.sort(missing)
    assert.is_true(seen > 500)
    assert.same({}, missing)
  end)

  -- What every handle of the loop has, told in modules/loop/README.md.
  local PROTOCOL = { token = true, take = true, cancel = true, close = true }

  it("has every function that a native module registers", function ()
    local missing, seen, documented = {}, 0, set_of_documented()
    for _, module in ipairs(assert(fs.list("modules"))) do
      local text = {}
      for _, path in ipairs(files_below(fs.join("modules", module), "^l.*%.c$")) do
        text[#text + 1] = read(path)
      end
      text = table.concat(text)
      local told, prefix = {}, "rtl.native." .. module
      for name in pairs(documented) do
        if name:sub(1, #prefix + 1) == prefix .. "." then told[name:match("[%w_]+$")] = true end
      end
      for list in text:gmatch("luaL_Reg%s+[%w_]+%[%]%s*=%s*(%b{})") do
        for name in list:gmatch('{%s*"([%w_]+)"') do
          seen = seen + 1
          if not told[name] and not PROTOCOL[name] and not name:match("^__") then
            missing[#missing + 1] = module .. "." .. name
          end
        end
      end
    end
    assert.is_true(seen > 100)
    assert.same({}, missing)
  end)

  it("has a page for every module and native module", function ()
    local wanted = {}
    for _, module in ipairs(assert(fs.list("modules"))) do
      wanted[#wanted + 1] = module
    end
    for _, module in ipairs { "rtl.task", "rtl.plan", "rtl.aws", "rtl.kinds.vpc" } do
      wanted[#wanted + 1] = module
    end
    local without = {}
    for _, word in ipairs(wanted) do
      local ran = program.rtl { "help", word }
      if ran.status ~= 0 or #ran.stdout < 40 then without[#without + 1] = word end
    end
    assert.same({}, without)
  end)
end)

describe("the settings", function ()
  it("of every recipe have a help text, and the page shows all of the deploy", function ()
    local page = program.rtl({ "help", "settings" }).stdout
    local set = recipe.open(assert(load_file.find("recipes/deploy.lua"))).set
    local shown, wrong = {}, {}
    for option in page:gmatch("%-%-([%w-]+)") do shown[option] = true end
    for _, declaration in ipairs(set.list) do
      local option = declaration.name:gsub("_", "-")
      if not shown[option] and not shown["no-" .. option] then wrong[#wrong + 1] = option end
    end
    assert.same({}, wrong)
    for _, name in ipairs(load_file.names()) do
      for _, declaration in ipairs(recipe.open(assert(load_file.find(name))).set.list) do
        assert.is_true(#(declaration.help or "") > 3, name .. ": " .. declaration.name)
      end
    end
  end)

  it("that a fork's rtl.yaml lists are the ones that exist", function ()
    local folder = fs.join(fs.temp_dir("rtl-sets-"), "fork")
    assert.equal(0, program.rtl({ "init", folder }).status)
    local listed, real = {}, {}
    for name in read(fs.join(folder, "rtl.yaml")):gmatch("\n#([%l_%d]+): ") do
      listed[#listed + 1] = name
    end
    local set = recipe.open(assert(load_file.find("recipes/deploy.lua"))).set
    for _, declaration in ipairs(set.list) do
      real[#real + 1] = declaration.name
    end
    table.sort(listed)
    table.sort(real)
    fs.remove_tree(fs.dirname(folder))
    assert.same(real, listed)
  end)
end)

describe("the recipes", function ()
  it("each have a page of help", function ()
    local names = load_file.names()
    assert.is_true(#names >= 5)
    for _, name in ipairs(names) do
      local ran = program.rtl { "help", name }
      assert.equal(0, ran.status, name .. ran.stderr)
      assert.is_true(#ran.stdout > 200, name)
      assert.equal(ran.stdout, program.rtl({ name, "--help" }).stdout)
    end
  end)
end)

describe("the names of exit codes", function ()
  it("that the source uses are the ones of the table", function ()
    local used, wrong = {}, {}
    for _, folder in ipairs { "lua/rtl", "recipes" } do
      for _, path in ipairs(files_below(folder, "%.lua$")) do
        for name in read(path):gmatch("%f[%w_]exit%s*=%s*\"(%l+)\"") do used[name] = path end
        for name in read(path):gmatch("%f[%w_]exit%.(%l+)") do used[name] = path end
      end
    end
    for name, path in pairs(used) do
      if not exit[name] then wrong[#wrong + 1] = name .. " in " .. path end
    end
    assert.same({}, wrong)
    assert.is_truthy(used.refused)
  end)
end)
