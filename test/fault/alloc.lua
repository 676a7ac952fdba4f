-- rtl test/fault/alloc.lua SHIM OPERATION: lets each allocation of an operation fail, once and from
-- there on, until nothing fails any more. Prints what went wrong, and last a line "N points".
local fault = assert(package.loadlib(arg[1], "luaopen_fault"))()
local operations = dofile "test/fault/operations.lua"
local operation, only_lua = operations[arg[2]], operations.only_lua[arg[2]] ~= nil
local err = require "rtl.err"
local fs = require "rtl.fs"
local loop = require "rtl.native.loop"

local MOST = 20000

local function in_use()
  collectgarbage()
  collectgarbage()
  loop.wait(0)
  local live = loop.live()
  live.descriptors = #assert(fs.list("/proc/self/fd"))
  return live
end

local function is_clean(ok, value, problem)
  if ok and (value ~= nil or problem == nil) then return true end
  if ok then value = problem end
  return err.is(value) or type(value) == "string"
end

-- Whether an error says that memory was missing (or that the system had none).
local function says_memory(e)
  local text = tostring(e):lower()
  return text:find("memory", 1, true) or text:find("alloc", 1, true) or text:find("out of", 1, true)
end

local function check(n, mode, before, ok, ...)
  local value, problem = ...
  local point = ("%s %d: "):format(mode, n)
  if not is_clean(ok, value, problem) then print(point .. "no clean error: " .. tostring(value)) end
  if not ok and not says_memory(value) then print(point .. tostring(value)) end
  local after = in_use()
  for name, count in pairs(before) do
    local left = after[name] - count
    if left > 0 then print(("%sleft %d %s"):format(point, left, name)) end
  end
end

local points = 0

local function every_point(mode, before)
  for n = 1, MOST do
    local results = table.pack(fault.try(n, mode == "once", only_lua, operation))
    check(n, mode, before, table.unpack(results, 2, results.n))
    if results[1] == 0 then return end
    points = points + 1
  end
  print("no end within " .. MOST)
end

local function blocks()
  collectgarbage()
  collectgarbage()
  return fault.live()
end

local SLACK = 16 -- the string table and other things of Lua's own grow once

for _ = 1, 3 do operation() end -- what is made on first use, and Lua's own buffers
local before = in_use()
every_point("once", before)
every_point("on", before)
local start = blocks()
every_point("once", before)
every_point("on", before)
local leaked = blocks() - start
if leaked > SLACK then print(("%d blocks were never freed"):format(leaked)) end
print(points .. " points")
