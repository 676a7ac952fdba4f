local settings = require "rtl.recipe.settings"
local value = require "rtl.recipe.value"

local function sample()
  return settings.set {
    { name = "region", type = "string", list = true, least = 1, default = "us-east-2",
      environ = { "AWS_REGION" }, short = "r", help = "regions" },
    { name = "gpu_count", type = "integer", min = 1, max = 64, default = 2, help = "GPU nodes" },
    { name = "down_after", type = "duration", default = "0s", max = 7 * 86400, help = "lease" },
    { name = "transport", type = "string", choices = { "efa", "any" }, default = "efa",
      help = "t" },
    { name = "probe", type = "boolean", default = false, help = "probe" },
  }
end

local function resolved(from) return assert(sample():resolve(from)) end

describe("settings", function ()
  it("take the strongest source and remember it", function ()
    local from = {
      options = { gpu_count = "3" },
      environ = { RTL_GPU_COUNT = "4", RTL_TRANSPORT = "any", HOME = "/root" },
      file = { ["gpu-count"] = 5, transport = "efa", probe = true },
      recipe = { down_after = "4h" },
    }
    local s = resolved(from)
    assert.equal(3, s.gpu_count)
    assert.equal("any", s.transport)
    assert.is_true(s.probe)
    assert.equal(4 * 3600, s.down_after)
    assert.same({ "us-east-2" }, s.region)
    assert.equal("--gpu-count", settings.source(s, "gpu_count"))
    assert.equal("RTL_TRANSPORT", settings.source(s, "transport"))
    assert.equal("rtl.yaml", settings.source(s, "probe"))
    assert.equal("recipe", settings.source(s, "down_after"))
    assert.equal("default", settings.source(s, "region"))
  end)

  it("count AWS_REGION as environment, after RTL_REGION and before the file", function ()
    local file = { region = "eu-west-1" }
    local s = resolved { environ = { AWS_REGION = "us-west-2" }, file = file }
    assert.same({ "us-west-2" }, s.region)
    assert.equal("AWS_REGION", settings.source(s, "region"))
    s = resolved { environ = { AWS_REGION = "us-west-2", RTL_REGION = "us-east-1,us-east-2" } }
    assert.same({ "us-east-1", "us-east-2" }, s.region)
  end)

  it("name the nearest for an unknown name, in the file and the environment", function ()
    local _, e = sample():resolve { file = { gpu_cuont = 3 } }
    assert.equal("RTL-SET-001", e.code)
    assert.matches("did you mean 'gpu_count'", e.message, 1, true)
    _, e = sample():resolve { environ = { RTL_TRANSPORTT = "efa" } }
    assert.matches("RTL_TRANSPORTT.*'transport'", e.message)
    assert.is_truthy(sample():resolve { environ = { RTL_STATE = "/x", RTL_LUA = "lua" } })
  end)

  it("refuse wrong types and bounds, and say where they came from", function ()
    local _, e = sample():resolve { options = { gpu_count = "two" } }
    assert.equal("RTL-SET-002", e.code)
    assert.matches("--gpu-count: 'two' is not a whole number", e.message, 1, true)
    _, e = sample():resolve { options = { gpu_count = "0" } }
    assert.equal("RTL-SET-003", e.code)
    assert.matches("0 is below 1", e.message, 1, true)
    _, e = sample():resolve { file = { transport = 1.30 } }
    assert.matches("rtl.yaml: transport: 1.3 was a number, which loses", e.message, 1, true)
    _, e = sample():resolve { file = { transport = "tcp" } }
    assert.matches("rtl.yaml: transport: 'tcp' is none of efa, any", e.message, 1, true)
    _, e = sample():resolve { options = { gpu_count = "0", transport = "x" } }
    assert.equal("RTL-SET-004", e.code)
    assert.equal(2, #e.problems)
  end)

  it("are read-only and know their names", function ()
    local s = resolved {}
    local ok, e = pcall(function () return s.gpu_cont end)
    assert.is_false(ok)
    assert.matches("did you mean 'gpu_count'", tostring(e), 1, true)
    assert.has_error(function () s.gpu_count = 9 end)
  end)

  it("refuse wrong declarations", function ()
    local function set(d) return function () settings.set { d } end end
    assert.has_error(set { name = "Upper", type = "string", default = "", help = "" })
    assert.has_error(set { name = "a", type = "colour", default = "", help = "" })
    assert.has_error(set { name = "a", type = "integer", default = "x", help = "" })
    assert.has_error(set { name = "a", type = "integer", default = 1 })
    assert.has_error(function ()
      local d = { name = "a", type = "integer", default = 1, help = "" }
      settings.set({ d }, { d })
    end)
  end)
end)

describe("values of settings", function ()
  local function parse(kind, raw) return value.parse(raw, { type = kind }) end

  it("read durations, sizes, quantities, ranges", function ()
    assert.equal(5400, parse("duration", "1h30m"))
    assert.is_nil(parse("duration", "90"))
    assert.is_nil(parse("duration", ""))
    assert.equal(200 * 1024 ^ 3, parse("size", "200Gi"))
    assert.equal("160Gi", parse("quantity", "160Gi"))
    assert.equal("40", parse("quantity", 40))
    assert.is_nil(parse("quantity", "many"))
    for _, text in ipairs { "40K", "160mi", "3i", "1.5Xi" } do -- Kubernetes takes none of them
      assert.is_nil(parse("quantity", text), text)
    end
    assert.same({ 0.5, 2000, 1.5 * 1024 ^ 3, 1024 ^ 5 }, { value.amount "500m", value.amount "2k",
      value.amount "1.5Gi", value.amount "1Pi" })
    assert.equal("10.0.0.0/8", parse("cidr", "10.0.0.0/8"))
    assert.is_nil(parse("cidr", "10.0.0.300/8"))
    assert.is_nil(parse("cidr", "10.0.0.0/33"))
  end)

  it("read numbers exactly and booleans by word", function ()
    assert.equal(9007199254740993, parse("integer", "9007199254740993"))
    assert.is_nil(parse("integer", "4.5"))
    assert.is_nil(parse("integer", "0x10"))
    assert.equal(0.00002, parse("number", "0.00002"))
    assert.is_true(parse("boolean", "Yes"))
    assert.is_false(parse("boolean", false))
    assert.is_nil(parse("boolean", "maybe"))
  end)

  it("show what a person would write", function ()
    assert.equal("1h30m", value.show(5400, { type = "duration" }))
    assert.equal("a,b", value.show({ "a", "b" }, { type = "string", list = true }))
  end)
end)
