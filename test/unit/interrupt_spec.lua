-- Ctrl-C, as a child rtl process sees it.
local fs = require "rtl.fs"
local native = require "rtl.native.process"
local process = require "rtl.process"
local task = require "rtl.task"

local EXE = assert(fs.readlink "/proc/self/exe")
local INT, TERM = 2, 15
local LONGEST = 120 -- seconds after which a child hangs; it takes a moment

-- Signals that were sent to a process and are not taken yet, as a number.
local function pending(pid)
  local status = fs.read(("/proc/%d/status"):format(pid)) or ""
  return tonumber(status:match "ShdPnd:%s*(%x+)" or "0", 16)
end

-- Sends a signal when the child has taken the one before: two at once would be one.
local function press(child, signal)
  while pending(child:pid()) > 0 do task.sleep(0.001) end
  child:kill(signal)
end

-- Runs `code` in a child; sends the next of `signals` each time it prints a line "go". Returns its
-- output, how it ended ("exit", code or "signal", number) and its errors.
local function run(code, signals)
  local child, stdin, stdout, stderr = assert(native.spawn {
    argv = { EXE, "-e", "io.stdout:setvbuf 'line' local task = require 'rtl.task' " .. code } })
  stdin:close()
  local output, sent = "", 0
  local function follow()
    for bytes in task.await, stdout do
      output = output .. bytes
      local _, wanted = output:gsub("go\n", "")
      while sent < wanted and signals[sent + 1] do
        sent = sent + 1
        press(child, signals[sent])
      end
    end
    local how, number = task.await(child)
    local errors = {}
    for bytes in task.await, stderr do errors[#errors + 1] = bytes end
    return how, number, table.concat(errors)
  end
  local how, number, errors = task.deadline(LONGEST, follow)
  for _, handle in ipairs { child, stdout, stderr } do handle:close() end
  return output:gsub("go\n", ""), how, number, errors
end

describe("one Ctrl-C", function ()
  it("cancels what waits, runs <close> values, exits with 130", function ()
    local output, how, code, errors = run([[
      task.run(function ()
        local _ <close> = setmetatable({}, { __close = function () print "closed" end })
        print "go"
        task.sleep(30)
        print "never"
      end)]], { INT })
    assert.same({ "closed\n", "exit", 130 }, { output, how, code })
    assert.matches("^rtl: interrupted", errors)
  end)

  it("is what a polite kill does, too", function ()
    local _, how, code = run([[print "go" task.sleep(30)]], { TERM })
    assert.same({ "exit", 130 }, { how, code })
  end)

  it("lets shielded clean-up finish", function ()
    local output, how, code = run([[
      task.run(function ()
        local _ <close> = setmetatable({}, { __close = function ()
          task.shield(10, function ()
            task.sleep(0.05)
            print "ledger whole"
          end)
        end })
        print "go"
        task.sleep(30)
      end)]], { INT })
    assert.same({ "ledger whole\n", "exit", 130 }, { output, how, code })
  end)

  it("is not swallowed by a loop around pcall that waits", function ()
    local _, how, code = run([[
      print "go"
      while true do pcall(task.sleep, 0.01) end]], { INT })
    assert.same({ "exit", 130 }, { how, code })
  end)

  it("stops plain Lua that never waits", function ()
    local _, how, code, errors = run([[print "go" while true do end]], { INT })
    assert.same({ "exit", 130 }, { how, code })
    assert.matches("^rtl: .*interrupted", errors)
  end)

  it("reaches tasks, generators and processes", function ()
    local output, how, code = run([[
      task.group(function (g)
        g:spawn(function ()
          local _ <close> = setmetatable({}, { __close = function () print "a" end })
          require "rtl.process".run { argv = { "sleep", "30" } }
        end)
        g:spawn(function ()
          local f = coroutine.wrap(function ()
            local _ <close> = setmetatable({}, { __close = function () print "b" end })
            task.sleep(30)
          end)
          f()
        end)
        task.yield()
        print "go"
        task.future():get()
      end)]], { INT })
    assert.same({ "exit", 130 }, { how, code })
    -- The process may have begun or not.
    assert.is_true(output == "a\nb\n" or output == "b\na\n", output)
  end)

  it("leaves the program's own exit when it was too late", function ()
    local output, how, code = run([[
      local host = require "rtl.native.host"
      task.shield(60, function ()
        print "go"
        while host.interrupts() == 0 do task.sleep(0.001) end
      end)
      print "done"]], { INT })
    assert.same({ "done\n", "exit", 0 }, { output, how, code })
  end)
end)

describe("two Ctrl-C", function ()
  it("break shields", function ()
    local output, how, code = run([[
      task.run(function ()
        local _ <close> = setmetatable({}, { __close = function ()
          task.shield(60, function ()
            local _ <close> = setmetatable({}, { __close = function () print "shield broken" end })
            print "go"
            task.sleep(30)
          end)
        end })
        print "go"
        task.sleep(30)
      end)]], { INT, INT })
    assert.same({ "shield broken\n", "exit", 130 }, { output, how, code })
  end)

  local SPIN = "local function spin() local t = {} while true do t[1] = (t[1] or 0) + 1 end end "

  it("stop a loop around pcall that never waits", function ()
    local _, how, code = run(SPIN .. [[
      print "go" print "go" while true do pcall(spin) end]], { INT, INT })
    assert.same({ "exit", 130 }, { how, code })
  end)

  it("stop it inside a task and inside coroutines", function ()
    local _, how, code = run(SPIN .. [[
      task.run(function ()
        print "go" print "go"
        while true do coroutine.resume(coroutine.create(function ()
          while true do pcall(coroutine.wrap(spin)) end
        end)) end
      end)]], { INT, INT })
    assert.same({ "exit", 130 }, { how, code })
  end)

  it("stop one task; the others are still closed in order", function ()
    local output, how, code = run(SPIN .. [[
      task.group(function (g)
        g:spawn(function ()
          local _ <close> = setmetatable({}, { __close = function () print "closed" end })
          task.sleep(30)
        end)
        g:spawn(function () task.sleep(0.01) print "go" print "go" spin() end)
      end)]], { INT, INT })
    assert.same({ "closed\n", "exit", 130 }, { output, how, code })
  end)

  it("stop a read that blocks", function ()
    local child, stdin, stdout, stderr = assert(native.spawn {
      argv = { EXE, "-e", [[io.stdout:write "go" io.stdout:flush() io.read()]] } })
    local how, code = task.deadline(LONGEST, function ()
      task.await(stdout)
      press(child, INT)
      press(child, INT)
      return task.await(child)
    end)
    for _, handle in ipairs { child, stdin, stdout, stderr } do handle:close() end
    assert.same({ "exit", 130 }, { how, code })
  end)
end)

describe("a program that was started with Ctrl-C ignored", function ()
  it("leaves it so", function ()
    local r = assert(process.run { argv = { "sh", "-c", [[
      trap '' INT; "$0" -e 'os.execute("kill -INT $PPID")
      require "rtl.task".sleep(0.05) print "alive"']], EXE } })
    assert.equal("alive\n", r.stdout)
  end)
end)

describe("the REPL", function ()
  local dir
  before_each(function () dir = assert(fs.temp_dir("repl")) end)
  after_each(function () assert(fs.remove_tree(dir)) end)

  local START = [[require "rtl.cli.repl".start {
    prompt = "world", state = %q, run = function () return "RUN" end }]]

  -- Types `keys` (texts; a function is called to wait) on a pseudo terminal; returns what is shown.
  local function type_in(keys)
    local code = START:format(dir)
    local child, stdin, stdout, stderr = assert(native.spawn {
      argv = { "python3", "test/terminal.py", EXE, "-e", code }, env = {
        "TERM=dumb", "PATH=/usr/bin:/bin", "HOME=" .. dir } })
    local shown, waits_for = "", nil
    local function see(text)
      while not shown:find(text, 1, true) do
        local bytes = task.await(stdout)
        if not bytes then error("not seen: " .. text .. " in: " .. shown) end
        shown = shown .. bytes
      end
      shown = shown:sub((select(2, shown:find(text, 1, true))) + 1)
    end
    local function dialogue()
      for _, step in ipairs(keys) do
        waits_for = step[1]
        see(step[1])
        task.await(stdin:start(step[2]))
      end
      -- Ctrl-D counts from when the editor has the terminal, a moment after the prompt; Ctrl-U
      -- before it clears what an earlier one has become.
      local how, number
      repeat
        task.await(stdin:start("\21\4"))
        how, number = task.deadline(0.2, task.await, child)
      until how
      return how, number
    end
    local how, code_number = task.deadline(LONGEST, dialogue)
    if not how then code_number = "waited for " .. waits_for .. " in " .. shown end
    for _, handle in ipairs { child, stdin, stdout, stderr } do handle:close() end
    return how, code_number
  end

  it("evaluates, goes on over lines, shows errors, survives Ctrl-C, remembers", function ()
    local how, code = type_in {
      { "world> ", "6 * 7\n" },
      { "42", "run\n" },
      { "RUN", "rtl.array.is(rtl.array {})\n" },
      { "true", "help\n" },
      { "help()", "help 'rtl.array.is'\n" },
      { "rtl.array.is(", "help(rtl.array.is)\n" },
      { "rtl.array.is(", "rtl.aray\n" },
      { "did you mean 'array'?", "for i = 1, 2 do\n" },
      { ">> ", "print('line', i) end\n" },
      { "line\t2", "error('boom')\n" },
      { "boom", "x y z\n" },
      { "syntax error", "print('slee' .. 'ping') require('rtl.task').sleep(30)\n" },
      { "sleeping", "\3" },
      { "interrupted", "" },
      { "world> ", "half a line\3" },
      { "^C", "" },
      { "world> ", "'still ' .. 'here'\n" },
      { "still here", "print('spin' .. 'ning') while true do end\n" },
      { "spinning", "\3" },
      { "interrupted", "" },
      { "world> ", "'and ' .. 'here'\n" },
      { "and here", "" },
      { "world> ", "" },
    }
    assert.same({ "exit", 0 }, { how, code })
    assert.matches("\n6 %* 7", (assert(fs.read(fs.join(dir, "history"))):gsub("\\040", " ")))
  end)

  it("lets background tasks go on while the prompt waits", function ()
    local how, code = type_in {
      { "world> ", "f = require('rtl.task').future()\n" },
      { "world> ", "task = require('rtl.task')\n" },
      { "world> ", "function tick() task.sleep(0.05) print('tick'..'ed') f:set(1) end\n" },
      { "world> ", "task.background(tick)\n" },
      { "ticked", "f:ready()\n" },
      { "true", "" },
      { "world> ", "" },
    }
    assert.same({ "exit", 0 }, { how, code })
  end)
end)
