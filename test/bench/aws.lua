-- The AWS client beside botocore and boto3, interleaved in one run: `build/rtl test/bench/aws.lua`.
-- Signatures, a page of 1,000 instances, 1,000 calls to a local server one after another and at
-- once. Each figure is the median of all rounds, each round a process of its own.
local BUILD = os.getenv "RTL_BUILD" or "build"
local SELF = BUILD .. "/rtl test/bench/aws.lua "
local PYTHON = BUILD .. "/venv/bin/python test/bench/peers/"
local PAGE = BUILD .. "/bench/instances.xml"
local ROUNDS, CALLS, THREADS = 5, 1000, 32

-- ---- what a round does (in a process of its own) ----

local work = {}

local function peak()
  for line in io.lines "/proc/self/status" do
    if line:find "^VmHWM" then return tonumber(line:match "%d+") end
  end
end

-- Nanoseconds of CPU of the fastest of five.
local function fastest(f)
  local best = math.huge
  for _ = 1, 5 do
    local began = os.clock()
    f()
    best = math.min(best, os.clock() - began)
  end
  return best * 1e9
end

function work.sign()
  local crypto, secret = require "rtl.native.crypto", require "rtl.native.secret"
  local request = {
    method = "POST", url = "https://eks.us-east-2.amazonaws.com/clusters", region = "us-east-2",
    headers = { ["content-type"] = "application/x-amz-json-1.1",
      ["x-amz-target"] = "Service.Operation" },
    service = "eks", time = "20150830T123600Z", access_key_id = "AKIDEXAMPLE",
    body = '{"name":"ray-train"}',
    secret_access_key = secret.new "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  }
  print(fastest(function () for _ = 1, 20000 do crypto.sigv4.sign(request) end end) / 20000)
end

function work.idle()
  require "rtl.aws.protocol"
  print(peak())
end

function work.page()
  local protocol = require "rtl.aws.protocol"
  local op = require "rtl.aws.model".service "ec2".ops.describe_instances
  local file <close> = assert(io.open(PAGE, "rb"))
  local body = file:read "a"
  local took = fastest(function ()
    local out = assert(protocol.decode(op, { status = 200, headers = {}, body = body }))
    assert(out.Reservations[1000].Instances[1].InstanceType == "g6.12xlarge")
  end)
  print(took, peak())
end

function work.calls(url, at_once)
  local clock, task = require "rtl.clock", require "rtl.task"
  local ec2 = assert(require "rtl.aws".session {
    region = "us-east-2", endpoint = url,
    credentials = { access_key_id = "AKIDEXAMPLE", secret_access_key = "secret" },
  }):client "ec2"
  local function call() assert(assert(ec2:describe_vpcs {}).Vpcs[2].VpcId == "vpc-1") end
  task.run(function ()
    call()
    local wall, cpu = clock.mono(), os.clock()
    if at_once == "yes" then
      local list = {}
      for i = 1, CALLS do list[i] = i end
      task.map(list, call, CALLS)
    else
      for _ = 1, CALLS do call() end
    end
    print((clock.mono() - wall) * 1e9, (os.clock() - cpu) * 1e9)
  end)
end

-- ---- all rounds of all, interleaved ----

local function run(command)
  local pipe <close> = assert(io.popen(command))
  local numbers = {}
  for word in pipe:read "a":gmatch "%S+" do numbers[#numbers + 1] = tonumber(word) end
  assert(#numbers > 0, command .. " printed nothing")
  return numbers
end

local function median(rows, column)
  local values = {}
  for i, row in ipairs(rows) do values[i] = row[column] end
  table.sort(values)
  return values[(#values + 1) // 2]
end

-- Runs two commands in turns; returns the rows of each.
local function beside(ours, theirs)
  local a, b = {}, {}
  for i = 1, ROUNDS do a[i], b[i] = run(ours), run(theirs) end
  return a, b
end

local function line(what, ours, theirs, unit, scale)
  print(("%-44s %10.1f %10.1f %-4s %6.1f×"):format(what, ours / scale, theirs / scale, unit,
    theirs / ours))
end

local function compiled(name, more)
  local out = BUILD .. "/bench/" .. name
  assert(os.execute(("cc -O2 -D_GNU_SOURCE -Imodules -o %s test/bench/peers/%s.c %s"):format(out,
    name, more or "")))
  return out
end

local SIGNER = "modules/crypto/sigv4*.c modules/crypto/crypto.c modules/crypto/base64.c "
  .. "modules/secret/secret.c -ldl"

local function signatures()
  local ours, theirs = beside(SELF .. "sign", PYTHON .. "data.py sigv4")
  line("a signature, key cached", median(ours, 1), median(theirs, 1), "µs", 1e3)
  print(("  %d a second; in C, without Lua, %d"):format(1e9 // median(ours, 1),
    1e9 // run(compiled("sign", SIGNER))[1]))
end

local function page()
  run(PYTHON .. "instances.py make " .. PAGE .. " 1000 && echo 1")
  local ours, theirs = beside(SELF .. "page", PYTHON .. "instances.py parse " .. PAGE)
  local idle = { run(SELF .. "idle")[1], run(PYTHON .. "instances.py idle")[1] }
  line("DescribeInstances, a page of 1,000", median(ours, 1), median(theirs, 1), "ms", 1e6)
  line("  peak memory", median(ours, 2), median(theirs, 2), "MB", 1024)
  line("  beyond the parser loaded", median(ours, 2) - idle[1], median(theirs, 2) - idle[2], "MB",
    1024)
end

-- CPU nanoseconds of a process so far.
local function cpu_of(pid)
  local file <close> = assert(io.open(("/proc/%d/stat"):format(pid)))
  local user, system = file:read "a":match "^.*%) %a%s+(.*)$":match(
    ("%-?%d+ "):rep(10) .. "(%d+) (%d+)")
  return (user + system) * 1e7
end

local function calls()
  local vpcs = BUILD .. "/bench/vpcs.xml"
  do
    local file <close> = assert(io.open(vpcs, "w"))
    file:write('<DescribeVpcsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">',
      "<requestId>r</requestId><vpcSet>")
    for i = 0, 1 do
      file:write(("<item><vpcId>vpc-%d</vpcId><state>available</state><cidrBlock>10.%d.0.0/16"
        .. "</cidrBlock><isDefault>false</isDefault><tagSet><item><key>Name</key><value>v"
        .. "</value></item></tagSet></item>"):format(i, i))
    end
    file:write "</vpcSet></DescribeVpcsResponse>"
  end
  local fifo = BUILD .. "/bench/server.in"
  os.execute(("rm -f %s && mkfifo %s"):format(fifo, fifo))
  local server <close> = assert(io.popen(("%s %s <%s"):format(compiled "server", vpcs, fifo)))
  local _ <close> = assert(io.open(fifo, "w")) -- the server ends with it
  local port, pid = server:read("n", "n")
  local url = "http://127.0.0.1:" .. port
  for _, at_once in ipairs { "no", "yes" } do
    local threads = at_once == "yes" and THREADS or 0
    local before = cpu_of(pid)
    local ours, theirs = beside(("%s calls %s %s"):format(SELF, url, at_once),
      ("%scalls.py %s %d %d"):format(PYTHON, url, CALLS, threads))
    local name = at_once == "yes" and "1,000 calls at once" or "1,000 calls in a row"
    line(name .. ", wall", median(ours, 1), median(theirs, 1), "ms", 1e6)
    line("  CPU of the client", median(ours, 2), median(theirs, 2), "ms", 1e6)
    if at_once == "yes" then -- for a single client it stays awake
      print(("  CPU of the server: %.1f µs a call"):format(
        (cpu_of(pid) - before) / 1e3 / (2 * ROUNDS * CALLS)))
    end
  end
end

if arg[1] then
  work[arg[1]](table.unpack(arg, 2))
else
  assert(os.execute("mkdir -p " .. BUILD .. "/bench"))
  print(("%-44s %10s %10s"):format("", "rtl", "Python"))
  signatures()
  page()
  calls()
end
