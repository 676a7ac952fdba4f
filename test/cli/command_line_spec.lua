local fs = require "rtl.fs"
local program = require "test.support.program"

local function rtl(...) return program.rtl { ... } end

describe("the command line", function ()
  it("runs Lua from -e, from standard input and from a file", function ()
    local sum = rtl("-e", "print(1 + 2)")
    assert.same({ 0, "3\n", "" }, { sum.status, sum.stdout, sum.stderr })
    local piped = program.rtl({ "-", "a", "b" }, { stdin = "print(select('#', ...), ...)" })
    assert.equal("2\ta\tb\n", piped.stdout)
    local dir = fs.temp_dir("rtl-cli-")
    fs.write(fs.join(dir, "x.lua"), "print(arg[0], arg[1], ...)\nreturn 7\n")
    local ran = program.rtl({ fs.join(dir, "x.lua"), "w" })
    assert.same({ 7, dir .. "/x.lua\tw\tw\n", "" }, { ran.status, ran.stdout, ran.stderr })
    fs.remove_tree(dir)
  end)

  it("says its version", function ()
    assert.matches("^rtl %d+%.%d+%.%d+ %(Lua 5%.4%)\n$", rtl("--version").stdout)
  end)

  it("resolves the first word: command, path, ./recipes, built-in", function ()
    local dir = fs.temp_dir("rtl-cli-")
    local function run(...) return program.rtl({ ... }, { cwd = dir }).stdout end
    fs.mkdirs(fs.join(dir, "recipes"))
    fs.write(fs.join(dir, "recipes/tour.lua"), "print 'my tour'")
    fs.write(fs.join(dir, "recipes/mine.lua"), "print 'mine'")
    assert.matches("A first walk", run("tour"), 1, true)
    assert.equal("my tour\n", run("recipes/tour.lua"))
    assert.equal("mine\n", run("mine"))
    fs.write(fs.join(dir, "recipes/deploy.lua"), "print 'my deploy'")
    assert.equal("my deploy\n", run("deploy"))
    fs.remove_tree(fs.join(dir, "recipes"))
    assert.matches("Ray Train on EKS", run("help", "deploy"), 1, true)
    assert.matches("rtl help settings", run("recipes/deploy.lua", "--help"), 1, true)
    fs.remove_tree(dir)
  end)

  it("names the nearest for what it does not know, with exit code 2", function ()
    for words, near in pairs {
      ["explan"] = "'explain'", ["deplo"] = "'deploy'", ["--versoin"] = "'version'",
      ["recipes/deplyo.lua"] = "'deploy'", ["deploy --gpu-cuont 3"] = "'gpu-count'",
      ["deploy --plam"] = "'plan'", ["help deplyo"] = "'deploy'",
      ["explain RTL-SET-00"] = "'RTL-SET-001'",
    } do
      local list = {}
      for word in words:gmatch("%S+") do list[#list + 1] = word end
      local ran = program.rtl(list)
      assert.equal(2, ran.status, words)
      assert.equal("", ran.stdout, words)
      assert.matches(near, ran.stderr, 1, true)
    end
  end)

  it("refuses what is wrong in a setting with exit code 2 and no traceback", function ()
    local state = fs.temp_dir("rtl-cli-")
    for words, said in pairs {
      ["--name="] = "it is empty", ["--gpu-type foo.bar"] = "has no type 'foo.bar'",
      ["--system-type m7i.xlarg"] = "did you mean 'm7i.xlarge'",
      ["--vpc-cidr 10.0.0.0/30"] = "not between /16 and /24",
      ["--script /nonexistent.py"] = "/nonexistent.py", ["--script /tmp"] = "Is a directory",
      ["--kubeconfig /nonexistent"] = "use the setting kubeconfig",
      ["--from job --to cluster"] = "no step is between", ["--plan=x"] = "takes no value",
      ["--namespace A"] = "is not lower case letters", ["--gpu-group="] = "it is empty",
      ["--job-timeout 99999999999999999999d"] = "not a duration that can be counted",
      ["--name " .. ("a"):rep(41)] = "longer than 40",
    } do
      local list = { "--rehearse", "deploy" }
      for word in words:gmatch("%S+") do list[#list + 1] = word end
      local ran = program.rtl(list, { state = state })
      assert.equal(2, ran.status, words .. ran.stdout .. ran.stderr)
      assert.matches(said, ran.stdout .. ran.stderr, 1, true)
      assert.is_nil((ran.stdout .. ran.stderr):find("traceback", 1, true))
    end
    assert.equal(2, program.rtl({ "nccl_log", "/nonexistent" }, { state = state }).status)
    local ran = program.rtl({ "deploy", "-r", "us-ea", "--plan" }, { state = state,
      env = { AWS_ACCESS_KEY_ID = "a", AWS_SECRET_ACCESS_KEY = "b" } })
    assert.equal(2, ran.status, ran.stdout .. ran.stderr)
    fs.remove_tree(state)
  end)

  it("says what is wrong with a recipe, with exit code 2 and no traceback", function ()
    local dir = fs.temp_dir("rtl-cli-")
    local own = "return { title = 'x', settings = { 'settings' }, "
    for text, said in pairs {
      ["x x"] = "syntax error", ["\27Lua"] = "compiled Lua",
      ["return { title = 5, action = print }"] = "'title' is a number, not a string",
      ["return { title = 'x', action = 'y' }"] = "'action' is a string, not a function",
      ["return { title = 'x', steps = 'y' }"] = "'steps' is a string, not a table",
      ["return { title = 'x', action = print }"] = "it lacks the setting 'name'",
      ["require 'no.such'"] = "module 'no.such' not found",
      [own .. "steps = { 'nope' } }"] = "there is no 'nope.lua' beside it",
      ["return { title = 'x', action = print, settings = { { name = 'X y' } } }"] = "'X y'",
      ["return { title = 'x', action = print, settings = { 5 } }"] = "a setting is a table",
    } do
      fs.write(fs.join(dir, "x.lua"), text)
      local ran = program.rtl({ fs.join(dir, "x.lua") }, { state = dir })
      assert.equal(2, ran.status, text .. ran.stdout .. ran.stderr)
      assert.matches(said, ran.stderr, 1, true)
      assert.is_nil(ran.stderr:find("traceback", 1, true))
    end
    fs.write(fs.join(dir, "x.lua"), "\xef\xbb\xbf" .. own
      .. "\r\naction = function (run) run:note('a\\27[31mb\\0') end }\r\n")
    local ran = program.rtl({ fs.join(dir, "x.lua") }, { state = dir })
    assert.equal(0, ran.status, ran.stdout .. ran.stderr)
    assert.is_nil(ran.stdout:find("[%z\27]"))
    for _, raised in ipairs { "{}", "nil", "print" } do
      ran = program.rtl({ "-e", "error(" .. raised .. ")" })
      assert.equal(1, ran.status)
      assert.matches("was raised instead of a text", ran.stderr, 1, true)
    end
    fs.remove_tree(dir)
  end)

  it("refuses words that a recipe does not take", function ()
    local ran = rtl("deploy", "tomorrow")
    assert.equal(2, ran.status)
    assert.matches("takes no words, and 'tomorrow' was given", ran.stderr, 1, true)
  end)

  it("refuses options that a recipe without steps would not heed", function ()
    for _, words in ipairs { { "teardown", "--only", "job" }, { "status", "--plan" },
      { "verify", "--exit-code" } } do
      local ran = rtl(table.unpack(words))
      assert.equal(2, ran.status, words[1])
      assert.matches(("%s takes no %s"):format(words[1], words[2]), ran.stderr, 1, true)
      local page = rtl("help", words[1]).stdout
      assert.is_nil(page:find(words[2] .. " ", 1, true), words[1])
      assert.matches("--json", page, 1, true)
    end
    assert.matches("--exit-code", rtl("help", "teardown").stdout, 1, true)
  end)

  it("doubts a region in which nobody answers", function ()
    local dir = fs.temp_dir("rtl-cli-")
    local ran = program.rtl({ "--rehearse", "deploy", "--plan", "-r", "us-est-2" }, { state = dir })
    assert.not_equal(0, ran.status)
    assert.matches("Is 'us-est-2' a region of AWS?", ran.stderr, 1, true)
    fs.remove_tree(dir)
  end)

  it("names the nearest instance type, without a traceback", function ()
    local near = { ["--gpu-type"] = "p5.48xlrge", ["--system-type"] = "m7i.xlrge" }
    for setting, wrong in pairs(near) do
      local dir = fs.temp_dir("rtl-cli-")
      local ran = program.rtl({ "--rehearse", "deploy", "--plan", setting, wrong }, { state = dir })
      assert.equal(2, ran.status)
      assert.matches(("(did you mean '%s'?)"):format(wrong:gsub("xlrge", "xlarge")), ran.stderr, 1,
        true)
      assert.is_nil(ran.stderr:find("traceback", 1, true))
      fs.remove_tree(dir)
    end
  end)

  it("refuses pods that would not fit on their nodes, before anything is made", function ()
    for words, wanted in pairs {
      ["--gpu-type g6.8xlarge"] = "Set worker_cpu to 31 at most and worker_memory to 118Gi at most",
      ["--system-type m7i.large"] = "Set head_cpu to 1 at most and head_memory to 7Gi at most",
      ["--worker-memory 190Gi"] = "worker_memory is 190Gi, more than a g6.12xlarge has for a pod",
    } do
      local dir = fs.temp_dir("rtl-cli-")
      local setting, value = words:match("(%S+) (%S+)")
      local ran = program.rtl({ "--rehearse", "deploy", setting, value }, { state = dir })
      assert.equal(2, ran.status, ran.stdout)
      assert.matches(wanted, (ran.stderr:gsub("%s+", " ")), 1, true)
      fs.remove_tree(dir)
    end
    local dir = fs.temp_dir("rtl-cli-")
    assert.equal(0, program.rtl({ "--rehearse", "deploy", "--plan", "--gpu-type", "g6.8xlarge",
      "--worker-cpu", "28", "--worker-memory", "100Gi" }, { state = dir }).status)
    fs.remove_tree(dir)
  end)

  it("has help in lines of 100 columns", function ()
    local pages = { { "help" }, { "help", "settings" }, { "help", "deploy" }, { "tour" } }
    for _, words in ipairs(pages) do
      for line in rtl(table.unpack(words)).stdout:gmatch("[^\n]+") do
        assert.is_true(utf8.len(line) <= 100, line)
      end
    end
  end)

  it("refuses wrong settings before it asks anybody anything", function ()
    local ran = rtl("deploy", "--gpu-count", "none", "--transport", "tcp")
    assert.equal(2, ran.status)
    assert.matches("--gpu-count: 'none' is not a whole number", ran.stderr, 1, true)
    assert.matches("--transport: 'tcp' is none of efa, any", ran.stderr, 1, true)
    local dir = fs.temp_dir("rtl-cli-")
    assert(fs.write(fs.join(dir, "rtl.yaml"), "gpu-count: 1\ngpu_count: 2\n"))
    ran = program.rtl({ "deploy" }, { cwd = dir })
    assert.same({ 2, "" }, { ran.status, ran.stdout })
    assert.matches("rtl.yaml: gpu_count is there twice", ran.stderr, 1, true)
    assert(fs.remove(fs.join(dir, "rtl.yaml")))
    assert(fs.mkdirs(fs.join(dir, "rtl.yaml")))
    ran = program.rtl({ "deploy" }, { cwd = dir })
    assert.equal(2, ran.status, ran.stderr)
    fs.remove_tree(dir)
    ran = program.rtl({ "deploy" }, { env = { RTL_GPU_CUONT = "3" } })
    assert.equal(2, ran.status)
    assert.matches("RTL_GPU_CUONT", ran.stderr, 1, true)
  end)

  it("shows a program error with its traceback and exit code 1", function ()
    local ran = rtl("-e", "local function f() error 'boom' end f()")
    assert.equal(1, ran.status)
    assert.matches("boom", ran.stderr, 1, true)
    assert.matches("stack traceback", ran.stderr, 1, true)
    assert.is_nil(ran.stderr:find("main.lua", 1, true)) -- rtl's own frames tell nothing
    assert.equal(2, rtl("-e", "x x").status)
  end)

  it("tells a script's place, also of one on standard input", function ()
    local ran = program.rtl({}, { stdin = "x y" })
    assert.equal(2, ran.status)
    assert.matches("^rtl: stdin:1: syntax error near 'y' %(RTL%-CLI%-005%)", ran.stderr)
    assert.is_nil(ran.stderr:find("traceback", 1, true))
  end)

  it("runs files with strict globals", function ()
    local dir = fs.temp_dir("rtl-cli-")
    fs.write(fs.join(dir, "x.lua"), "prnt 'hello'")
    local ran = program.rtl { fs.join(dir, "x.lua") }
    assert.equal(1, ran.status)
    assert.matches("undeclared name 'prnt' (did you mean 'print'?)", (ran.stderr:gsub("%s+", " ")),
      1, true)
    fs.write(fs.join(dir, "x.lua"), "y = 1")
    ran = program.rtl { fs.join(dir, "x.lua") }
    assert.matches("global 'y' is not allowed here", (ran.stderr:gsub("%s+", " ")), 1, true)
    fs.remove_tree(dir)
  end)

  it("explains every code and lists them", function ()
    local list = rtl("explain").stdout
    assert.matches("RTL-SET-001", list, 1, true)
    local page = rtl("explain", "rtl-set-001").stdout
    assert.matches("There is no setting of that name", page, 1, true)
  end)

  it("has help on recipes, modules, functions and settings", function ()
    assert.matches("Start here", rtl("help").stdout, 1, true)
    assert.matches("rtl.task.sleep(seconds)", rtl("help", "task").stdout, 1, true)
    assert.matches("^rtl.task.sleep", rtl("help", "task.sleep").stdout)
    assert.matches("rtl.nccl.causes rtl.nccl.classify", rtl("help", "nccl").stdout, 1, true)
    -- A service of AWS, not what else ends in its name, or is as long and ends in its last word.
    for _, name in ipairs { "iam", "sso", "logs", "ec2" } do
      assert.matches("^aws%." .. name .. ": ", rtl("help", "aws." .. name).stdout)
    end
    assert.equal(2, rtl("help", "xyz.logs").status)
    local kubernetes, plan = rtl("help", "k8s.watch").stdout, rtl("help", "plan").stdout
    assert.matches("rtl.k8s.watch:next()", kubernetes, 1, true)
    assert.is_nil(plan:find("rtl.plan.context:tell", 1, true))
    assert.matches("--gpu-count", rtl("help", "settings").stdout, 1, true)
  end)
end)

describe("output", function ()
  it("that can't be written is an error, a reader that left is none to shout about", function ()
    local full = program.shell("$RTL help >/dev/full")
    assert.equal(1, full.status)
    assert.matches("No space left", full.stderr, 1, true)
    local closed = program.shell("$RTL help >&-")
    assert.equal(1, closed.status)
    local left = program.shell("set -o pipefail; $RTL help | head -n 1; echo ${PIPESTATUS[0]}")
    assert.equal("", left.stderr)
    assert.equal(2, select(2, left.stdout:gsub("\n", "\n")))
  end)

  it("has no colours and no cursor movements when it is not a terminal", function ()
    for _, words in ipairs { { "help" }, { "doctor" }, { "tour" } } do
      assert.is_nil(program.rtl(words, { state = "/tmp/rtl-none" }).stdout:find("\27", 1, true))
    end
    fs.remove_tree("/tmp/rtl-none")
  end)
end)

describe("doctor", function ()
  local home

  before_each(function ()
    home = fs.temp_dir("rtl-doctor-")
    assert(fs.mkdirs(fs.join(home, ".aws")))
  end)
  after_each(function () fs.remove_tree(home) end)

  local function credentials(text, env)
    assert(fs.write(fs.join(home, ".aws/config"), text))
    local ran = program.rtl({ "doctor" }, { home = home, state = home, env = env })
    return ran.stdout:match("\n  (%S+ credentials +[^\n]*)\n"), ran.stdout, ran.status
  end

  it("says where keys would come from, and what is wrong with the files", function ()
    local line, all = credentials "[profile dev]\nregion = eu-west-1\n[other]\nregion = a\n"
    assert.matches("✓ credentials  profile dev", line, 1, true)
    assert.matches("line 3: [other] is no profile here: write [profile other]", all, 1, true)
    local status
    line, all, status = credentials("[profile dev]\n", { AWS_PROFILE = "dve" })
    assert.matches("✗ credentials  AWS_PROFILE is 'dve', and there is no such profile", line, 1,
      true)
    assert.equal(1, status, all)
    assert.matches("✗ credentials  .*config, line 1: a section has no end", (credentials "[dev\n"))
  end)
end)

describe("signals", function ()
  -- Starts the code, interrupts it as soon as it says that it runs, returns its exit code.
  local INTERRUPT = [[
    coproc "$RTL" -e "io.stdout:write('runs\\n') io.stdout:flush() $CODE" 2>/dev/null
    pid=$COPROC_PID; read -r line <&"${COPROC[0]}"; kill -INT "$pid"; wait "$pid"; exit $?]]

  for name, code in pairs {
    ["a plain wait"] = "require 'rtl.task'.sleep(30)",
    ["a wait in a coroutine"] =
      "local f = coroutine.wrap(function () require('rtl.task').sleep(30) end) f()",
    ["a loop of pcalls in a task"] = "local t = require 'rtl.task'"
      .. " t.run(function () while true do pcall(t.sleep, 30) end end)",
  } do
    it("end " .. name .. " with 130", function ()
      local ran = program.shell("CODE=" .. ("%q"):format(code) .. "\n" .. INTERRUPT)
      assert.equal(130, ran.status, ran.stderr)
    end)
  end
end)

describe("init", function ()
  it("writes a fork that knows its version and runs", function ()
    local dir = fs.temp_dir("rtl-cli-")
    local fork = fs.join(dir, "team")
    assert.equal(0, program.rtl({ "init", fork }).status)
    assert.matches("^rtl %d", fs.read(fs.join(fork, "recipes/.rtl-fork")))
    local there = program.rtl({ "doctor" }, { cwd = fork, state = dir })
    assert.matches("0 changed, 0 missing", there.stdout, 1, true)
    fs.write(fs.join(fork, "recipes/deploy.lua"),
      assert(fs.read(fs.join(fork, "recipes/deploy.lua"))):gsub("Ray Train on EKS", "Our cluster"))
    assert.matches("1 changed", program.rtl({ "doctor" }, { cwd = fork, state = dir }).stdout, 1,
      true)
    local settings = fs.read(fs.join(fork, "rtl.yaml"))
    assert.matches("gpu_count: 2", settings, 1, true)
    assert.matches('kubernetes_version: "1.36"', settings, 1, true)
    local again = program.rtl { "init", fork }
    assert.equal(2, again.status)
    assert.matches("RTL-CLI-011", again.stderr, 1, true)
    fs.remove_tree(dir)
  end)
end)
