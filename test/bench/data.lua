-- Speed of the data modules beside their peers, in one run: `build/rtl test/bench/data.lua`.
-- A line for each comparison: what, ours, the peer's, how many times faster ours is. The figures
-- of a shared machine vary; the ratios are what to look at.
local array = require "rtl.array"
local json = require "rtl.native.json"

local BUILD = os.getenv "RTL_BUILD" or "build"
local PEER = BUILD .. "/bench/data"
local TEXT = BUILD .. "/bench/pods.json"

local function run(command)
  local pipe <close> = assert(io.popen(command .. " 2>/dev/null"))
  return tonumber(pipe:read "a")
end

-- Nanoseconds of the fastest of `rounds` runs.
local function best(work, rounds)
  local fastest = math.huge
  for _ = 1, rounds do
    collectgarbage()
    local start = os.clock()
    work()
    fastest = math.min(fastest, os.clock() - start)
  end
  return fastest * 1e9
end

local function shown(ns)
  if not ns then return "-" end
  if ns > 1e6 then return ("%.1f ms"):format(ns / 1e6) end
  return ("%.2f µs"):format(ns / 1e3)
end

local function line(what, ours, peer, theirs)
  local ratio = theirs and ("%.2f×"):format(theirs / ours) or "-"
  print(("%-34s %12s   %-22s %12s   %8s"):format(what, shown(ours), peer, shown(theirs), ratio))
end

-- A list of pods as a Kubernetes API gives it, about 9 MB.
local function pods()
  local items = array {}
  for i = 1, 20000 do
    items[i] = {
      metadata = { name = "pod-" .. i, namespace = "ray-train", generation = i * 12345678901,
        labels = { app = "x", role = "gpu-worker" }, resourceVersion = tostring(i * 7919) },
      spec = { nodeName = "ip-10-42-" .. i % 256, containers = { { name = "c", args = { "a", "b" },
        image = "rayproject/ray:2.58.0",
        resources = { limits = { cpu = 40, memory = "160Gi" } } } } },
      status = { phase = "Running", ratio = i / 7, conditions = { { type = "Ready", n = i } } },
    }
  end
  return { items = items }
end

assert(os.execute("mkdir -p " .. BUILD .. "/bench"))
local value = pods()
local text = json.encode(value)
do
  local file <close> = assert(io.open(TEXT, "wb"))
  file:write(text)
end
local has_peer = os.execute("cc -O2 -o " .. PEER .. " test/bench/peers/data.c -lcjson")

local decode = best(function () json.decode(text) end, 7)
local encode = best(function () json.encode(value) end, 7)
local python = "python3 test/bench/peers/data.py "
print(("JSON text: %.1f MB"):format(#text / 1e6))
line("json.decode", decode, "cJSON, tree only", has_peer and run(PEER .. " json " .. TEXT))
line("json.decode", decode, "python json.loads", run(python .. "decode " .. TEXT))
line("json.encode", encode, "python json.dumps", run(python .. "encode " .. TEXT))
