-- Loaded by busted before the specs. Around each test (with its before_each and after_each) it
-- collects garbage twice and fails the test when it leaves something behind: handles, descriptors,
-- tasks, timers, children, temporary files, another working directory.

-- RTL_TEST_GC=1: the most aggressive collector. It starts a cycle as soon as one ends and works a
-- thousand times faster than memory grows, so that what nothing holds is gone at once.
if os.getenv("RTL_TEST_GC") then collectgarbage("incremental", 1, 1000, 1) end

local fs = require "rtl.fs"
local loop = require "rtl.native.loop"
local process = require "rtl.process"
local task = require "rtl.task"

-- busted keeps its core, and the core its executors, to itself.
local function upvalue(f, wanted)
  for i = 1, math.huge do
    local name, value = debug.getupvalue(f, i)
    if name == wanted then return value end
    assert(name, wanted .. " is no upvalue")
  end
end

local busted = upvalue(getmetatable(require "busted").__index, "busted")
local block = require "busted.block" (busted)
local executors = upvalue(busted.register, "executors")

local TEMP = process.getenv("RTL_TEST_TMP") -- a folder of this run's own; test/run.lua makes it

local function set_of(names)
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

-- Descriptors that are open; not the one that the listing itself had.
local function descriptors()
  local open = {}
  for _, name in ipairs(assert(fs.list("/proc/self/fd"))) do
    if fs.stat("/proc/self/fd/" .. name, false) then open[#open + 1] = name end
  end
  return set_of(open)
end

local function idle_connections_closed()
  local http = package.loaded["rtl.native.http"]
  if http and http.close_idle then http.close_idle() end
end

-- Lets background tasks of a test's own servers see that the other side has gone.
local function settle()
  for _ = 1, 20 do task.yield() end
end

local function snapshot()
  idle_connections_closed()
  settle()
  collectgarbage()
  collectgarbage()
  return {
    loop = loop.live(), task = task.live(), cwd = (fs.cwd()), descriptors = descriptors(),
    temp = TEMP and set_of(assert(fs.list(TEMP))) or {},
  }
end

local function what(descriptor)
  return ("%s (%s)"):format(descriptor, fs.readlink("/proc/self/fd/" .. descriptor) or "?")
end

local function added(before, after, describe, out, name)
  local new = {}
  for key in pairs(after) do
    if not before[key] then new[#new + 1] = describe and describe(key) or key end
  end
  table.sort(new)
  if #new > 0 then out[#out + 1] = name .. ": " .. table.concat(new, ", ") end
end

local function grown(before, after, out)
  for name, count in pairs(after) do
    local more = count - before[name]
    if more > 0 then out[#out + 1] = ("%s: %d more"):format(name, more) end
  end
end

local function compare(before, after)
  local leaks = {}
  grown(before.loop, after.loop, leaks)
  grown(before.task, after.task, leaks)
  added(before.descriptors, after.descriptors, what, leaks, "descriptors")
  added(before.temp, after.temp, nil, leaks, "temporary files")
  if before.cwd ~= after.cwd then leaks[#leaks + 1] = "now in: " .. tostring(after.cwd) end
  table.sort(leaks)
  return leaks
end

local run_test = executors.it

executors.it = function (element)
  -- What a setup opens, its teardown closes.
  if not block.lazySetup(busted.context.parent(element)) then return end
  local before = snapshot()
  run_test(element)
  local leaks = compare(before, snapshot())
  if #leaks > 0 then
    local message = "left behind: " .. table.concat(leaks, "; ")
    busted.safe("leak", function () error(message, 0) end, element)
  end
end
