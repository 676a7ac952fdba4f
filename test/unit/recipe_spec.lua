local fs = require "rtl.fs"
local load_file = require "rtl.recipe.load"
local recipe = require "rtl.recipe.recipe"
local words = require "rtl.recipe.text"

describe("a recipe", function ()
  local dir

  before_each(function () dir = fs.temp_dir("rtl-recipe-") end)
  after_each(function () fs.remove_tree(dir) end)

  local function write(name, text)
    local path = fs.join(dir, name)
    assert(fs.mkdirs(fs.dirname(path)))
    assert(fs.write(path, text))
    return path
  end

  local function open(text)
    return recipe.open(assert(load_file.find(write("it.lua", text))))
  end

  local function refusal(text)
    local ok, e = pcall(open, text)
    assert.is_false(ok)
    return e
  end

  it("finds its parts beside it, else in the binary", function ()
    write("steps/own.lua", "return { title = 'Own' }")
    local r = open("return { settings = { 'settings' }, steps = { 'steps/own', 'steps/kuberay' } }")
    assert.same({ "own", "kuberay" }, { r.steps[1].name, r.steps[2].name })
    assert.is_false(r.steps[1].file.embedded)
    assert.is_true(r.steps[2].file.embedded)
    assert.is_truthy(r.set.by_name.gpu_count)
  end)

  it("takes settings of its steps and of its own", function ()
    write("steps/own.lua", [[return { title = 'Own', settings = {
      { name = "colour", type = "string", default = "blue", help = "h" } } }]])
    local r = open [[return { steps = { 'steps/own' }, defaults = { colour = "red" }, settings = {
      { name = "size", type = "integer", default = 1, help = "h" } } }]]
    local values = assert(r.set:resolve { recipe = r.defaults, options = { size = "2" } })
    assert.same({ "red", 2 }, { values.colour, values.size })
  end)

  it("that is none is refused with what is wrong", function ()
    assert.equal("RTL-CLI-013", refusal("return {}").code)
    assert.equal("RTL-CLI-013", refusal("return 7").code)
    assert.equal("RTL-CLI-005", refusal("return {").code)
    assert.equal("RTL-CLI-004", refusal("return { steps = { 'steps/none' } }").code)
    write("steps/own.lua", "return { resources = 1, title = 'x' }")
    assert.matches("'resources' is not a function",
      refusal("return { steps = { 'steps/own' } }").message, 1, true)
    write("steps/own.lua", "return {}")
    assert.matches("a step returns a table with a title",
      refusal("return { steps = { 'steps/own' } }").message, 1, true)
  end)

  it("and its steps have strict globals", function ()
    write("steps/own.lua", "titel = 'x' return { title = titel }")
    assert.matches("global 'titel' is not allowed",
      tostring(refusal("return { steps = { 'steps/own' } }")), 1, true)
  end)
end)

describe("a list of resources", function ()
  it("shows of an id what the name does not say", function ()
    for _, case in ipairs { { "system", "system", "" }, { "vpc-1", "main", "vpc-1" },
      { "ray/c", "c", "in ray" }, { "ray/c", "d", "ray/c" }, { "arn:x", nil, "arn:x" },
      { nil, "main", "" } } do
      assert.equal(case[3], words.id_beside(case[2], case[1]))
    end
  end)
end)
