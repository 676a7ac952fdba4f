--- The verdict on a job's transport, in words: what was found, what proves it, why not, what next.

local codes = require "rtl.codes.nccl"
local nccl = require "rtl.nccl"
local text = require "rtl.recipe.text"

local M = {}

local MEANS = {
  EFA = "every edge between nodes ran over EFA",
  DEGRADED = "EFA, but not as wide or as fast as it should be",
  TCP = "the job's traffic between nodes ran over TCP, not EFA",
  MIXED = "some edges between nodes ran over EFA and some over TCP",
  OTHER = "the job's traffic between nodes ran over another network, neither EFA nor TCP",
  NOT_APPLICABLE = "one node: there is no network between nodes to judge",
  UNKNOWN = "what carried the job's traffic is not proven",
}

local BY_COUNTERS = {
  as_expected = "the hardware counters agree",
  short = "the hardware counters grew by less than the job moved",
  flat = "the hardware counters did not grow",
  elsewhere = "the Ethernet counters grew by what the job moved",
  unknown = "the hardware counters could not be read",
  unmeasured = "the job did not tell how much it moved",
}

-- EC2's names of nodes by their first part; the rest says the region.
local function node_line(node)
  local function grew(n) return n and text.bytes(n) or "unknown" end
  return ("counters of %s: EFA sent %s, got %s; Ethernet sent %s"):format(
    node.name:gsub("%.[%w.-]*internal$", ""), grew(node.efa_tx), grew(node.efa_rx),
    grew(node.net_tx))
end

local MOST_NODES = 8

-- Adds a line for each node; of many nodes, for the first of those that are not as expected, and a
-- sum.
local function add_nodes(lines, nodes)
  local shown, sent, ethernet = {}, 0, 0
  for _, node in ipairs(nodes) do
    local tells = #nodes <= MOST_NODES or node.state ~= "as_expected"
    if tells and #shown < MOST_NODES then shown[#shown + 1] = node_line(node) end
    sent, ethernet = sent + (node.efa_tx or 0), ethernet + (node.net_tx or 0)
  end
  table.move(shown, 1, #shown, #lines + 1, lines)
  if #nodes > MOST_NODES then
    lines[#lines + 1] = ("counters of all %d nodes: EFA sent %s; Ethernet sent %s"):format(#nodes,
      text.bytes(sent), text.bytes(ethernet))
  end
end

-- Adds lines of logs to `lines`, each file named once, by the last part of its path: NCCL puts host
-- and process into it.
local function add_evidence(lines, items)
  local file
  for _, item in ipairs(items) do
    if item.file ~= file then
      file = item.file
      lines[#lines + 1] = "in " .. file:match("[^/]*$")
    end
    lines[#lines + 1] = ("  line %d: %s"):format(item.line, item.text)
  end
end

local function edges_line(log)
  if not log.edges or #log.edges == 0 then return nil end
  local counts, names = {}, {}
  for _, edge in ipairs(log.edges) do
    for kind in pairs(edge.kinds or {}) do
      if not counts[kind] then names[#names + 1] = kind end
      counts[kind] = (counts[kind] or 0) + 1
    end
  end
  table.sort(names)
  for i, kind in ipairs(names) do names[i] = ("%d %s"):format(counts[kind], kind) end
  return ("%s between nodes: %s"):format(text.count(#log.edges, "edge"), table.concat(names, ", "))
end

local function proof_lines(joined)
  local lines, evidence = {}, {}
  lines[1] = edges_line(joined.log)
  evidence[1] = joined.cause and joined.cause.evidence
  table.move(joined.log.evidence or {}, 1, 4, #evidence + 1, evidence)
  add_evidence(lines, evidence)
  add_nodes(lines, joined.counters and joined.counters.nodes or {})
  return lines
end

local function sentence(joined)
  local means = MEANS[joined.verdict] or joined.verdict
  local state = joined.counters and joined.counters.state
  local log = joined.log.verdict
  if state and (log == "EFA" or log == "DEGRADED") then
    means = ("%s; %s"):format(means, BY_COUNTERS[state])
  end
  return joined.log.weak and means .. " (weak: no channel lines)" or means
end

--- The verdict to show: `joined` is what rtl.nccl's join returned. Returns {verdict, text, exit
-- ("done" or "transport"), ok, code, cause, next, lines}; all of it can be stored as JSON.
function M.of(joined)
  local cause = joined.cause
  local page = cause and codes[cause.code]
  local verdict = {
    verdict = joined.verdict, text = sentence(joined), ok = joined.ok,
    exit = joined.ok and "done" or "transport", lines = proof_lines(joined),
  }
  if cause then
    verdict.code, verdict.class = cause.code, cause.class
    verdict.cause = page and ("%s. %s"):format(page.title, page.cause) or cause.class
    verdict.next = page and page.next
  end
  return verdict
end

-- Causes that say no more than that there was nothing to read, or to hold it against.
local NOTHING_SAID = { ["RTL-NCCL-016"] = true, ["RTL-NCCL-029"] = true, ["RTL-NCCL-030"] = true }

--- The exit code's name of a job that ended with `status` and this verdict: a transport that is not
-- what was wanted beats a failure of the job, unless it died before there was anything to judge.
function M.exit(verdict, status)
  local failed = status ~= "SUCCEEDED"
  local silent = verdict.verdict == "UNKNOWN"
    and (verdict.code == nil or NOTHING_SAID[verdict.code] ~= nil)
  if failed and silent then return "failed" end
  if not verdict.ok then return "transport" end
  return failed and "failed" or "done"
end

--- A verdict of an earlier run under the transport that is wanted now; `status` is its job's.
function M.again(known, transport, status)
  local verdict = {}
  for key, value in pairs(known) do verdict[key] = value end
  verdict.ok = nccl.passes(verdict.verdict, transport)
  verdict.exit = M.exit(verdict, status)
  return verdict
end

return M
