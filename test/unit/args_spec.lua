local arguments = require "rtl.cli.arguments"
local settings = require "rtl.recipe.settings"

local function set()
  return settings.set {
    { name = "region", type = "string", list = true, default = "us-east-2", short = "r",
      help = "h" },
    { name = "gpu_count", type = "integer", default = 2, help = "h" },
    { name = "probe", type = "boolean", default = true, help = "h" },
  }
end

local function parse(...) return arguments.parse({ ... }, set()) end

describe("arguments", function ()
  it("sort settings, options and words", function ()
    local a = assert(parse("--gpu-count", "3", "-r", "us-west-2", "--plan", "log", "--only=job"))
    assert.same({ gpu_count = "3", region = "us-west-2" }, a.settings)
    assert.same({ plan = true, only = "job" }, a.options)
    assert.same({ "log" }, a.words)
  end)

  it("know the joined, short and negated forms", function ()
    local a = assert(parse("--gpu_count=4", "-rus-east-1,us-east-2", "--no-probe", "-y"))
    assert.same({ gpu_count = "4", region = "us-east-1,us-east-2", probe = "false" }, a.settings)
    assert.is_true(a.options.yes)
    assert.same({ probe = "true" }, assert(parse("--probe")).settings)
  end)

  it("join a list that is given twice, and let the last scalar win", function ()
    local a = assert(parse("-r", "a", "-r", "b", "--gpu-count", "3", "--gpu-count", "5"))
    assert.same({ region = "a,b", gpu_count = "5" }, a.settings)
  end)

  it("stop at -- and take a lone dash as a word", function ()
    assert.same({ "-", "--plan" }, assert(parse("-", "--", "--plan")).words)
  end)

  it("name the nearest for an unknown option", function ()
    local _, e = parse("--gpu-cuont", "3")
    assert.equal("RTL-CLI-001", e.code)
    assert.matches("did you mean 'gpu-count'", e.message, 1, true)
    _, e = parse("--plam")
    assert.matches("'plan'", e.message, 1, true)
    _, e = parse("--no-gpu-count")
    assert.equal("RTL-CLI-001", e.code)
  end)

  it("need a value where one belongs", function ()
    for _, words in ipairs { { "--gpu-count" }, { "--gpu-count", "--plan" }, { "-r" } } do
      local _, e = parse(table.unpack(words))
      assert.equal("RTL-CLI-002", e.code)
    end
    assert.equal("-3", assert(parse("--gpu-count", "-3")).settings.gpu_count)
  end)
end)
