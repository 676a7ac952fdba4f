-- Speed of the data modules beside their peers, in one run: `build/rtl test/bench/data.lua`.
-- A line for each comparison: what, ours, the peer's, how many times faster ours is. The figures
-- of a shared machine vary; the ratios are what to look at.
local array = require "rtl.array"
local crypto = require "rtl.native.crypto"
local json = require "rtl.native.json"
local secret = require "rtl.native.secret"

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
local has_peer = os.execute("cc -O2 -D_GNU_SOURCE -Imodules -o " .. PEER
  .. " test/bench/peers/data.c modules/crypto/sigv4.c modules/crypto/sigv4_text.c"
  .. " modules/crypto/sigv4_canonical.c modules/crypto/crypto.c modules/crypto/base64.c"
  .. " modules/secret/secret.c -lcjson -ldl")

local decode = best(function () json.decode(text) end, 7)
local encode = best(function () json.encode(value) end, 7)
local python = "python3 test/bench/peers/data.py "
print(("JSON text: %.1f MB"):format(#text / 1e6))
line("json.decode", decode, "cJSON, tree only", has_peer and run(PEER .. " json " .. TEXT))
line("json.decode", decode, "python json.loads", run(python .. "decode " .. TEXT))
line("json.encode", encode, "python json.dumps", run(python .. "encode " .. TEXT))

local request = {
  method = "POST", url = "https://eks.us-east-2.amazonaws.com/clusters", region = "us-east-2",
  headers = { ["content-type"] = "application/x-amz-json-1.1",
    ["x-amz-target"] = "Service.Operation" },
  service = "eks", time = "20150830T123600Z", access_key_id = "AKIDEXAMPLE",
  body = '{"name":"ray-train"}',
  secret_access_key = secret.new "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
}
local sign = best(function () for _ = 1, 20000 do crypto.sigv4.sign(request) end end, 5) / 20000
local boto = run(python .. "sigv4")
local in_c = has_peer and run(PEER .. " sigv4")
line("sigv4.sign from Lua", sign, "botocore SigV4Auth", boto)
if in_c then line("sigv4_sign from C", in_c, "botocore SigV4Auth", boto) end
print(("signatures a second: %d from Lua%s"):format(1e9 // sign,
  in_c and (", %d from C"):format(1e9 // in_c) or ""))
