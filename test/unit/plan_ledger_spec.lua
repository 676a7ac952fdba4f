local fs = require "rtl.fs"
local ledger = require "rtl.plan.ledger"
local lock = require "rtl.plan.lock"

describe("the ledger", function ()
  local dir

  before_each(function () dir = fs.temp_dir("rtl-ledger-") end)
  after_each(function () fs.remove_tree(dir) end)

  local function write(text)
    assert(fs.write(fs.join(dir, "ledger.ndjson"), text))
  end

  it("remembers intents and outcomes over a reopening", function ()
    local l = assert(ledger.open(dir, "run-1"))
    assert(l:append { event = "intent", key = "vpc/a", kind = "vpc", name = "a", token = "t-1",
      deps = { "x/y" } })
    assert(l:append { event = "intent", key = "vpc/b", kind = "vpc", name = "b" })
    assert(l:append { event = "outcome", ok = true, key = "vpc/a", id = "vpc-1",
      outputs = { id = "vpc-1" } })
    l:close()
    local again <close> = assert(ledger.open(dir, "run-2"))
    local state = again:state()
    assert.equal("made", state["vpc/a"].state)
    assert.equal("vpc-1", state["vpc/a"].outputs.id)
    assert.same({ "x/y" }, state["vpc/a"].deps)
    local open = again:open_intents()
    assert.equal(1, #open)
    assert.equal("vpc/b", open[1].key)
    assert.equal("run-1", open[1].run)
  end)

  it("forgets what was refused or deleted", function ()
    local l <close> = assert(ledger.open(dir, "run-1"))
    assert(l:append { event = "intent", key = "a/1", kind = "a", name = "1" })
    assert(l:append { event = "outcome", ok = false, key = "a/1", code = "Denied" })
    assert(l:append { event = "intent", key = "a/2", kind = "a", name = "2" })
    assert(l:append { event = "outcome", ok = true, key = "a/2", id = "2" })
    assert(l:append { event = "deleting", key = "a/2" })
    assert.equal("deleting", l:state()["a/2"].state)
    assert(l:append { event = "deleted", key = "a/2" })
    assert.equal("refused", l:state()["a/1"].state)
    assert.equal("deleted", l:state()["a/2"].state)
  end)

  it("drops a last line that a death tore, and goes on behind it", function ()
    local whole = '{"event":"intent","key":"a/1","kind":"a","name":"1"}\n'
    for cut = 1, #whole - 1 do
      write(whole .. whole:sub(1, cut))
      local l = assert(ledger.open(dir, "run-2"))
      assert.equal(1, #l.records)
      assert(l:append { event = "outcome", ok = true, key = "a/1", id = "1" })
      l:close()
      local again <close> = assert(ledger.open(dir, "run-3"))
      assert.equal("made", again:state()["a/1"].state)
    end
  end)

  it("refuses a file that is damaged before its end", function ()
    write('{"event":"intent"}\nnonsense\n{"event":"x"}\n')
    local l, failure = ledger.open(dir, "run-1")
    assert.is_nil(l)
    assert.equal("RTL-PLAN-011", failure.code)
    assert.matches("line 2", failure.message)
  end)

  it("keeps notes", function ()
    local l <close> = assert(ledger.open(dir, "run-1"))
    assert(l:note("capacity", { zone = "z1" }))
    assert.equal("z1", l:notes("capacity")[1].zone)
    assert.same({}, l:state())
  end)

  it("has one writer", function ()
    local first = assert(lock.take(dir))
    local second, failure = lock.take(dir)
    assert.is_nil(second)
    assert.equal("RTL-PLAN-010", failure.code)
    assert.equal("refused", failure.exit)
    first:close()
    local third <close> = assert(lock.take(dir))
    assert.is_truthy(third)
  end)

  it("that can't be locked or read is not said to be another's, nor empty", function ()
    assert(fs.mkdirs(fs.join(dir, "lock")))
    assert.equal("RTL-FS-005", select(2, lock.take(dir)).code)
    assert(fs.mkdirs(fs.join(dir, "ledger.ndjson")))
    assert.equal("RTL-FS-005", select(2, ledger.open(dir, "run-1")).code)
  end)
end)
