local err = require "rtl.err"
local graph = require "rtl.plan.graph"
local kind = require "rtl.plan.kind"

local node = kind.define { name = "node", outputs = { "id" }, fields = { of = "any?" },
  read = function () end, create = function () end }

local function order_of(g)
  local list = {}
  for _, res in ipairs(g:order()) do list[#list + 1] = res.name end
  return table.concat(list, " ")
end

local function failure_of(g)
  local ok, failure = pcall(g.order, g)
  assert.is_false(ok)
  assert.is_true(err.is(failure))
  return failure
end

describe("the graph", function ()
  it("puts each resource after what it refers to and what it comes after", function ()
    local g = graph.new()
    local a = node "a" {}
    local b = node "b" { of = { deep = "x" .. a.id } }
    g:declare(node "d" { after = { b } })
    g:declare(node "c" { of = b.id })
    g:declare(b)
    g:declare(a)
    assert.equal("a b d c", order_of(g))
    assert.same({ "node/b" }, g:edges(g:resource("node", "c")))
  end)

  it("keeps declaration order otherwise", function ()
    local g = graph.new()
    for _, name in ipairs { "z", "m", "a" } do g:declare(node(name) {}) end
    assert.equal("z m a", order_of(g))
  end)

  it("gives handles to what a later step declares", function ()
    local g = graph.new()
    g:declare(node "late" { of = g:resource("node", "early").id,
      after = g:resource("node", "too") })
    g:declare(node "early" {})
    g:declare(node "too" {})
    assert.equal("early too late", order_of(g))
  end)

  it("names what nobody declares, and the nearest", function ()
    local g = graph.new()
    g:declare(node "early" {})
    g:declare(node "late" { of = g:resource("node", "earl").id })
    local failure = failure_of(g)
    assert.equal("RTL-PLAN-003", failure.code)
    assert.matches("node/late needs node/earl.*node/early", failure.message)
  end)

  it("names an output that a handle's kind has not", function ()
    local g = graph.new()
    g:declare(node "late" { of = g:resource("node", "early").ids })
    g:declare(node "early" {})
    local failure = failure_of(g)
    assert.equal("RTL-PLAN-003", failure.code)
    assert.matches("no output 'ids'.*'id'", failure.message)
  end)

  it("names the loop", function ()
    local g = graph.new()
    g:declare(node "a" { of = g:resource("node", "c").id })
    g:declare(node "b" { of = g:resource("node", "a").id })
    g:declare(node "c" { after = g:resource("node", "b") })
    local failure = failure_of(g)
    assert.equal("RTL-PLAN-002", failure.code)
    assert.matches("node/a → node/c → node/b → node/a", failure.message, 1, true)
  end)

  it("refuses the same resource twice", function ()
    local g = graph.new()
    g:declare(node "a" {})
    assert.error_matches(function () g:declare(node "a" {}) end, "declared twice")
  end)
end)
