--- EFA's hardware counters as a witness: what left each node, and by which way.
-- The files exist only in the host's network namespace (a pod of its own with hostNetwork reads
-- them); a file that can't be read is unknown, never zero.
-- Source: amzn-drivers kernel/linux/efa/efa_verbs.c; the numbers count since the driver was loaded,
-- for the whole node, so only differences mean something.

local M = {}

-- Growth of EFA's tx_bytes or rx_bytes below this share of the bytes expected is short of it; below
-- FLAT of them nothing to speak of went over EFA. The margins leave room for headers,
-- acknowledgements and for what a job sends before the first reading.
local ENOUGH, FLAT = 0.8, 0.05
-- The Ethernet interfaces must stay far below what the job moved.
local ELSEWHERE = 0.5

--- The shell script that the reader pod runs: prints "efa/DEVICE/PORT/COUNTER VALUE" and
-- "net/INTERFACE/COUNTER VALUE" lines, "-" for what can't be read, and "end" as the last line.
M.script = [=[
for d in /sys/class/infiniband/*; do
  [ -e "$d" ] || { echo "efa -"; break; }
  for p in "$d"/ports/*; do
    for c in tx_bytes rx_bytes tx_pkts rx_pkts send_bytes recv_bytes rdma_read_bytes \
             rdma_read_resp_bytes rdma_write_bytes rdma_write_recv_bytes retrans_bytes; do
      v=$(cat "$p/hw_counters/$c" 2>/dev/null) || v=-
      echo "efa/${d##*/}/${p##*/}/$c ${v:--}"
    done
  done
done
for n in /sys/class/net/*; do
  [ -e "$n/device" ] || continue
  for c in tx_bytes rx_bytes; do
    v=$(cat "$n/statistics/$c" 2>/dev/null) || v=-
    echo "net/${n##*/}/$c ${v:--}"
  done
done
echo end
]=]

--- Parses what the reader pod printed.
-- Returns {efa = {["DEVICE/PORT"] = {COUNTER = integer}}, net = {INTERFACE = {COUNTER = integer}},
-- complete = boolean (its last line arrived)}; counters that could not be read are absent.
function M.parse(text)
  local reading = { efa = {}, net = {}, complete = false }
  for line in (text .. "\n"):gmatch("(.-)\r?\n") do
    local device, counter, value = line:match("^efa/([^/]+/[^/]+)/([%w_]+) (%S+)$")
    local interface, net_counter, net_value = line:match("^net/([^/]+)/([%w_]+) (%S+)$")
    if device then
      reading.efa[device] = reading.efa[device] or {}
      reading.efa[device][counter] = math.tointeger(tonumber(value))
    elseif interface then
      reading.net[interface] = reading.net[interface] or {}
      reading.net[interface][net_counter] = math.tointeger(tonumber(net_value))
    elseif line == "end" then
      reading.complete = true
    end
  end
  return reading
end

-- Sum of a counter's growth over devices; nil where a device lacks it in one of the readings, went
-- away, or counts less than before (the driver was loaded again).
local function growth(before, after, counter)
  local sum, devices = 0, 0
  for name, counters in pairs(after) do
    local first = before[name] and before[name][counter]
    local last = counters[counter]
    if not first or not last or last < first then return nil end
    sum, devices = sum + (last - first), devices + 1
  end
  for name in pairs(before) do
    if not after[name] then return nil end
  end
  return devices > 0 and sum or nil
end

local function judge_node(node, expected)
  local result = { name = node.name }
  if not node.before or not node.after or not node.before.complete or not node.after.complete then
    result.state = "unknown"
    return result
  end
  result.efa_tx = growth(node.before.efa, node.after.efa, "tx_bytes")
  result.efa_rx = growth(node.before.efa, node.after.efa, "rx_bytes")
  result.net_tx = growth(node.before.net, node.after.net, "tx_bytes")
  if not result.efa_tx or not result.efa_rx then
    result.state = "unknown"
    return result
  elseif not expected or expected <= 0 then
    result.state = "unmeasured"
    return result
  end
  local carried = math.min(result.efa_tx, result.efa_rx)
  if carried < FLAT * expected then
    result.state = "flat"
  elseif not result.net_tx then
    result.state = "unknown"
  elseif result.net_tx > ELSEWHERE * expected then
    result.state = "elsewhere"
  elseif carried < ENOUGH * expected then
    result.state = "short"
  else
    result.state = "as_expected"
  end
  return result
end

-- From worst to best: the job is as good as its worst node.
local ORDER = { "flat", "elsewhere", "unknown", "unmeasured", "short", "as_expected" }

--- Judges the readings around a job.
-- `facts`: nodes (array of {name, before, after}, readings as from M.parse, nil where there is
-- none) and expected_bytes (integer: what each node should have sent to other nodes, and got; nil
-- when it is not known). Returns {state = "as_expected"|"short"|"unknown"|"unmeasured" (read, but
-- nobody knows what to expect)|"elsewhere"|"flat", nodes = array of {name, state, efa_tx, efa_rx,
-- net_tx} (bytes)}.
function M.judge(facts)
  local judged = { nodes = {}, expected_bytes = facts.expected_bytes }
  local found = {}
  for i, node in ipairs(facts.nodes) do
    judged.nodes[i] = judge_node(node, facts.expected_bytes)
    found[judged.nodes[i].state] = true
  end
  judged.state = "unknown"
  for _, state in ipairs(ORDER) do
    if found[state] then
      judged.state = state
      break
    end
  end
  return judged
end

return M
