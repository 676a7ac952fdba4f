local err = require "rtl.err"
local events = require "rtl.recipe.events"
local failure = require "rtl.recipe.failure"
local fs = require "rtl.fs"
local phases = require "rtl.recipe.phases"
local process = require "rtl.process"
local run_object = require "rtl.recipe.run"
local settings = require "rtl.recipe.settings"
local task = require "rtl.task"
local toy = require "test.support.toy"

local WHERE = { partition = "p", account = "1", region = "r", deployment = "toy" }

describe("a recipe's phases", function ()
  local system, kinds, restore, dir, restore_process

  before_each(function ()
    restore = toy.virtual_clock()
    system = toy.system()
    kinds = toy.kinds(system)
    dir = fs.temp_dir("rtl-runner-")
    local former = process.use { getenv = function (name)
      return name == "RTL_STATE" and dir or nil
    end }
    restore_process = function () process.use(former) end
  end)
  after_each(function ()
    restore()
    restore_process()
    fs.remove_tree(dir)
  end)

  -- Two steps that make something, one that acts. `log` tells the order of what the steps were
  -- asked; `change` overrides functions of the steps.
  local function steps(log, change)
    local function say(text) return function () log[#log + 1] = text end end
    local list = {
      { name = "first", title = "First", preflight = say "preflight first",
        resources = function (run)
          run:declare(kinds.house "main" { size = run.settings.size })
        end,
        verify = function () log[#log + 1] = "verify first" return "the house stands" end },
      { name = "second", title = "Second", preflight = say "preflight second",
        resources = function (run)
          local main = run:resource("house", "main")
          run:declare(kinds.room "a" { parent = main.id, size = 1 })
        end,
        verify = function () log[#log + 1] = "verify second" return { "a", "b" } end },
      { name = "act", title = "Act", action = say "action", verify = say "verify act" },
    }
    for name, functions in pairs(change or {}) do
      for _, step in ipairs(list) do
        if step.name == name then
          for key, value in pairs(functions) do step[key] = value end
        end
      end
    end
    for i, step in ipairs(list) do step.number = i end
    return list
  end

  local function perform(options, change, values, open)
    local log, seen = {}, {}
    local set = settings.set {
      { name = "name", type = "string", default = "toy", help = "h" },
      { name = "region", type = "string", list = true, default = "r", help = "h" },
      { name = "size", type = "integer", default = 3, help = "h" },
    }
    local bus = events.bus()
    bus:add(function (event) seen[#seen + 1] = event end)
    local run = run_object.new {
      recipe = { name = "toy", title = "Toy", file = { path = "toy.lua" },
        steps = steps(log, change) },
      values = assert(set:resolve { options = values }), options = options or {}, bus = bus,
      kinds = kinds.all,
      open = open or function () return { where = WHERE, who = "nobody" } end,
    }
    run.confirm = function () log[#log + 1] = "asked" return true end
    local ok, result = failure.call(task.run, phases.run, run)
    if not ok then phases.stopped(run, result) end
    run:close()
    return { ok = ok, result = result, log = log, seen = seen, run = run }
  end

  local function said(done)
    local lines = {}
    for _, event in ipairs(done.seen) do
      if event.type == "text" then table.move(event.lines, 1, #event.lines, #lines + 1, lines) end
    end
    return table.concat(lines, "\n")
  end

  it("reads before it asks, asks before it makes, verifies in order", function ()
    local done = perform()
    assert.is_true(done.ok, tostring(done.result))
    assert.equal("done", done.result)
    assert.same({ "preflight first", "preflight second", "asked", "verify first", "verify second",
      "action", "verify act" }, done.log)
    assert.same({ ["house:main"] = 1, ["room:a"] = 1 }, toy.inventory(system))
    assert.matches("2 to create · 0 to change · 0 to delete", said(done), 1, true)
    assert.matches("rtl recipes/teardown.lua", said(done), 1, true)
  end)

  it("says for whom it waits", function ()
    local done = perform(nil, nil, nil, function (_, options)
      options.notice "ec2:DescribeVpcs: no answer from there for 10 s"
      return { where = WHERE, who = "nobody" }
    end)
    local notes = {}
    for _, event in ipairs(done.seen) do
      if event.type == "note" then notes[#notes + 1] = event.text end
    end
    assert.equal("ec2:DescribeVpcs: no answer from there for 10 s", notes[1])
  end)

  it("does nothing twice, and then does not ask", function ()
    perform()
    local done = perform()
    assert.is_true(done.ok, tostring(done.result))
    assert.same({ "preflight first", "preflight second", "verify first", "verify second", "action",
      "verify act" }, done.log)
    assert.same({ ["house:main"] = 1, ["room:a"] = 1 }, toy.inventory(system))
  end)

  it("asks when a step has something to do that is no resource", function ()
    perform()
    local done = perform({}, { act = { pending = function () return "submit it" end } })
    assert.equal("asked", done.log[3])
    assert.matches("» submit it", said(done), 1, true)
  end)

  it("plans without making, holding or writing anything", function ()
    local done = perform { plan = true }
    assert.equal("done", done.result)
    assert.same({}, toy.inventory(system))
    assert.same({}, fs.list(dir))
    assert.equal("changes", perform({ plan = true, exit_code = true }).result)
    perform()
    assert.equal("done", perform({ plan = true, exit_code = true }).result)
    assert.equal("changes", perform({ plan = true, exit_code = true }, nil, { size = "4" }).result)
  end)

  it("applies and verifies only the steps that are selected", function ()
    local done = perform { only = "first" }
    assert.is_true(done.ok, tostring(done.result))
    assert.same({ ["house:main"] = 1 }, toy.inventory(system))
    assert.same({ "preflight first", "preflight second", "asked", "verify first" }, done.log)
    done = perform { from = "second", to = "2" }
    assert.is_true(done.ok, tostring(done.result))
    assert.same({ ["house:main"] = 1, ["room:a"] = 1 }, toy.inventory(system))
    assert.equal("verify second", done.log[#done.log])
  end)

  it("is not stopped by what it can't see of a step that was not chosen", function ()
    local blind = { second = { preflight = function (run)
      run:fail { code = "RTL-NET-002", message = "nobody answers" }
    end } }
    system.fail["read room/a"] = { code = "RTL-NET-002", stays = true }
    local done = perform({ to = "first" }, blind)
    assert.is_true(done.ok, tostring(done.result))
    assert.same({ ["house:main"] = 1 }, toy.inventory(system))
    local notes = {}
    for _, event in ipairs(done.seen) do
      if event.type == "note" then notes[#notes + 1] = event.text end
    end
    assert.matches("step second, which is not chosen, can't be looked at: .*nobody answers",
      table.concat(notes, "\n"))
    assert.equal("RTL-NET-002", perform({ to = "second" }, blind).result.code)
    assert.is_false(perform({ to = "second" }).ok) -- nor what can't be read of a chosen one
  end)

  it("names the nearest step for a wrong one", function ()
    local done = perform { only = "secnod" }
    assert.is_false(done.ok)
    assert.equal("RTL-CLI-008", done.result.code)
    assert.matches("did you mean 'second'", done.result.message, 1, true)
    assert.equal("usage", failure.exit_name(done.result))
  end)

  it("stops at a failed verify, keeps what was made, and says how to go on", function ()
    local done = perform({}, { first = { verify = function (run)
      run:fail { code = "RTL-STEP-006", message = "it leans" }
    end } })
    assert.is_false(done.ok)
    assert.equal("RTL-STEP-006", done.result.code)
    assert.equal("failed", failure.exit_name(done.result))
    assert.is_nil(table.concat(done.log, " "):match("action"))
    assert.equal(1, toy.inventory(system)["house:main"])
    assert.matches("Go on", said(done), 1, true)
  end)

  it("refuses in a preflight before anything is made", function ()
    local done = perform({}, { second = { preflight = function (run)
      run:fail { code = "RTL-STEP-001", message = "no quota", exit = "refused" }
    end } })
    assert.equal("refused", failure.exit_name(done.result))
    assert.same({}, toy.inventory(system))
    assert.same({}, fs.exists(fs.join(dir, "p/1/r/toy/ledger.ndjson"))
      and done.run.ctx.ledger.records or {})
  end)

  it("goes another way when a step knows one", function ()
    system.fail["create room/a"] = { code = "NoCapacity", replan = true }
    local done = perform({}, { second = { recover = function (_, problem)
      return problem.code == "NoCapacity" and "the next one" or nil
    end } })
    assert.is_true(done.ok, tostring(done.result))
    assert.equal(1, toy.inventory(system)["room:a"])
    local notes = {}
    for _, event in ipairs(done.seen) do
      if event.type == "note" then notes[#notes + 1] = event.text end
    end
    assert.same({ "the next one" }, notes)
  end)

  it("shows the failure of a resource and lets the rest go on", function ()
    system.fail["create room/a"] = { code = "Denied", stays = true }
    local done = perform()
    assert.equal("Denied", done.result.code)
    assert.same({ "preflight first", "preflight second", "asked", "verify first" }, done.log)
  end)

  it("says which step an error belongs to", function ()
    local function blamed(done)
      done.run.bus:add(function (event)
        if event.type == "step" then done.blamed = event.step .. " " .. event.state end
      end)
      phases.blame(done.run, done.result)
      return done.blamed
    end
    system.fail["create room/a"] = { code = "Denied", stays = true }
    assert.equal("second failed", blamed(perform()))
    assert.equal("first failed", blamed(perform({}, { first = { verify = function (run)
      run:fail { code = "RTL-STEP-007", message = "it leans" }
    end } })))
  end)

  it("takes the exit code of a verdict", function ()
    local done = perform({}, { act = { action = function (run)
      run:verdict { verdict = "TCP", exit = "transport", text = "over TCP", cause = "a cause",
        next = "a step", code = "RTL-NCCL-001", lines = { "proof" } }
      run:job { id = "job-1", status = "SUCCEEDED", seconds = 61 }
    end } })
    assert.equal("transport", done.result)
    local text = said(done)
    for _, part in ipairs { "TCP", "a cause", "a step", "rtl explain RTL-NCCL-001", "proof",
      "SUCCEEDED · job-1 · 1m01s" } do
      assert.matches(part, text, 1, true)
    end
  end)

  it("records its events, each once and in order", function ()
    local done = perform()
    local text = assert(fs.read(fs.join(done.run.record.dir, "events.ndjson")))
    local last = 0
    for seq in text:gmatch('"seq":(%d+)') do
      assert.is_true(tonumber(seq) > last)
      last = tonumber(seq)
    end
    assert.is_true(last > 5)
  end)
end)

describe("a failure", function ()
  it("is shown with what was done, why, the cause, the hint and its page", function ()
    local cause = err.new { code = "AccessDenied", message = "not allowed", status = 403,
      request_id = "r-1", hint = "Ask for ec2:CreateVpc" }
    local e = err.wrap(cause, { doing = "create vpc/main", code = "RTL-PLAN-001" })
    local text = failure.text(e)
    for _, part in ipairs { "create vpc/main", "not allowed", "AccessDenied", "HTTP 403",
      "request r-1", "Ask for ec2:CreateVpc", "rtl explain RTL-PLAN-001" } do
      assert.matches(part, text, 1, true)
    end
  end)

  it("means an exit code", function ()
    local function name(fields)
      fields.message = "m"
      return failure.exit_name(err.new(fields))
    end
    assert.equal("usage", name { code = "RTL-SET-001" })
    assert.equal("usage", name { code = "RTL-CLI-006" })
    for _, code in ipairs { "RTL-AWS-001", "RTL-AWS-002", "RTL-AWS-007", "RTL-AWS-008" } do
      assert.equal("usage", name { code = code }) -- the environment's, the profile's or an option
    end
    assert.equal("refused", name { code = "RTL-CLI-007" })
    assert.equal("failed", name { code = "RTL-CLI-012" })
    assert.equal("refused", name { code = "X", exit = "refused" })
    assert.equal("failed", name { code = "X" })
    assert.equal("interrupted", name { code = "RTL-TASK-002" })
  end)
end)
