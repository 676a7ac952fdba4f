local ask = require "rtl.recipe.ask"
local process = require "rtl.process"
local task = require "rtl.task"
local wire = require "rtl.wire"

describe("a confirmation", function ()
  local former_wire, former_process

  -- A world of that name, on a terminal or not.
  local function surroundings(name, terminal)
    former_wire = wire.use { request = error, connect = error,
      describe = function () return { name = name } end }
    former_process = process.use { is_terminal = function () return terminal end }
  end
  after_each(function ()
    wire.use(former_wire)
    process.use(former_process)
  end)

  it("is not asked for where nothing is at stake", function ()
    surroundings("a play", false)
    assert.is_true(ask.confirm("Go?", nil))
  end)

  it("is given by --yes", function ()
    surroundings("native", false)
    assert.is_true(ask.confirm("Go?", true))
  end)

  it("can't be given without a terminal", function ()
    surroundings("native", false)
    local ok, e = ask.confirm("Go?", nil)
    assert.is_nil(ok)
    assert.equal("RTL-CLI-006", e.code)
    assert.matches("--yes", e.hint, 1, true)
  end)

  it("is asked while the face pauses, one at a time", function ()
    local log, typed = {}, { "y", "n" }
    former_wire = wire.use { request = error, connect = error,
      describe = function () return { name = "native" } end }
    former_process = process.use {
      is_terminal = function () return true end,
      write = function (text) log[#log + 1] = text return true end,
      read_line = function ()
        task.yield()
        log[#log + 1] = typed[1]
        return table.remove(typed, 1)
      end,
    }
    local person = ask.person { pause = function () log[#log + 1] = "pause" end,
      resume = function () log[#log + 1] = "resume" end }
    local said = task.run(function ()
      return task.map({ "One?", "Two?" }, function (question)
        return (select(2, ask.confirm(question, nil, person)) or { code = "yes" }).code
      end)
    end)
    assert.same({ "yes", "RTL-CLI-007" }, said)
    assert.same({ "pause", "One? [y/N] ", "y", "resume", "pause", "Two? [y/N] ", "n", "resume" },
      log)
  end)
end)
