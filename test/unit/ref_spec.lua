local kind = require "rtl.plan.kind"
local ref = require "rtl.ref"

local function lookup(values)
  return function (key, output) return values[key .. "." .. output] end
end

local house = kind.define { name = "house", outputs = { "id", "address" },
  fields = { size = "integer", color = "string?", parent = "any?" }, identity = { "color" },
  read = function () end, create = function () end }

describe("references", function ()
  local main = house "main" { size = 3 }

  it("stand for an output and resolve to its value", function ()
    assert.is_true(ref.is(main.id))
    assert.is_false(ref.is("house/main"))
    local value, missing = ref.resolve(main.id, lookup { ["house/main.id"] = "h-1" })
    assert.equal("h-1", value)
    assert.same({}, missing)
  end)

  it("name what is missing", function ()
    local value, missing = ref.resolve({ a = main.id, b = { main.address } }, lookup {})
    assert.is_nil(value.a)
    assert.same({ "house/main.id", "house/main.address" }, missing)
  end)

  it("resolve inside texts and nested tables, and leave the rest alone", function ()
    local fields = { plain = { 1 },
      list = { "x", { deep = "arn:" .. main.id .. "/" .. main.address } } }
    local value = ref.resolve(fields, lookup { ["house/main.id"] = "h-1",
      ["house/main.address"] = "here" })
    assert.equal("arn:h-1/here", value.list[2].deep)
    assert.equal(fields.plain, value.plain)
    assert.same({ "house/main" }, ref.targets(fields))
  end)

  it("combine by map", function ()
    local other = house "other" { size = 1 }
    local both = ref.map(main.id, other.id, "!", function (a, b, c) return a .. b .. c end)
    local value = ref.resolve(both, lookup { ["house/main.id"] = "a", ["house/other.id"] = "b" })
    assert.equal("ab!", value)
    assert.same({ "house/main", "house/other" }, ref.targets(both))
    local part, missing = ref.resolve(both, lookup { ["house/main.id"] = "a" })
    assert.is_nil(part)
    assert.same({ "house/other.id" }, missing)
  end)

  it("refuse an output that the kind does not declare, with the nearest", function ()
    assert.error_matches(function () return main.idd end, "no output 'idd'.*'id'")
  end)

  it("refuse to be indexed or joined with a table", function ()
    assert.error_matches(function () return main.id.x end, "no field 'x'")
    assert.error_matches(function () return main.id .. {} end, "bad operand #2")
  end)

  it("show what they refer to", function ()
    assert.equal("<house/main.id>", tostring(main.id))
  end)
end)

describe("a kind's constructor", function ()
  it("refuses unknown, missing and mistyped fields", function ()
    assert.error_matches(function () house "x" { size = 1, colour = "red" } end,
      "no field 'colour'.*'color'")
    assert.error_matches(function () house "x" {} end, "field 'size' is missing")
    assert.error_matches(function () house "x" { size = "big" } end, "'size' is string, integer")
    assert.error_matches(function () house "" {} end, "bad argument #1 to 'house'")
  end)

  it("refuses a reference in an identity field and a resource in place of an output", function ()
    local other = house "other" { size = 1 }
    assert.error_matches(function () house "x" { size = 1, color = other.id } end,
      "may not hold a reference")
    assert.error_matches(function () house "x" { size = 1, parent = other } end,
      "holds the resource house/other")
  end)

  it("needs no fields for what is given", function ()
    local given = house "x" { given = "h-9" }
    assert.equal("h-9", given.given)
  end)
end)
