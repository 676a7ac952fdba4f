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

  -- A status beside a running deploy may see a line of which only a part is written: to cut it off
  -- would put another file in the place of the one that the deploy goes on writing.
  it("that is only looked at stays as it is, also with half a line in it", function ()
    assert.is_nil(ledger.peek(dir))
    local writer <close> = assert(ledger.open(dir, "run-1"))
    assert(writer:append { event = "intent", key = "a/1", kind = "a", name = "1" })
    local path = fs.join(dir, "ledger.ndjson")
    local half <close> = assert(fs.append(path))
    assert(half:append '{"event":"outcome","ok":true,')
    local seen = assert(ledger.peek(dir))
    assert.equal("open", seen:state()["a/1"].state)
    assert.has_error(function () seen:note("capacity", {}) end)
    assert(half:append '"key":"a/1","id":"1"}\n')
    assert(writer:append { event = "deleting", key = "a/1" })
    assert.equal("deleting", assert(ledger.peek(dir)):state()["a/1"].state)
  end)

  it("refuses a file that is damaged before its end", function ()
    write('{"event":"intent"}\nnonsense\n{"event":"x"}\n')
    local l, failure = ledger.open(dir, "run-1")
    assert.is_nil(l)
    assert.equal("RTL-PLAN-011", failure.code)
    assert.matches("line 2", failure.message)
    assert.equal("RTL-PLAN-011", select(2, ledger.peek(dir)).code)
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
