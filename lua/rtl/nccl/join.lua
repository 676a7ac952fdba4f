--- Joins the witnesses of a job to one verdict.
-- The log says which network was announced, the counters what the devices carried, the bandwidth
-- whether the path was as fast as it should be. Counters alone never make EFA; bandwidth never
-- raises a verdict.

local M = {}

local PASS = { EFA = true, DEGRADED = true, NOT_APPLICABLE = true }

local function own(class, code)
  return { class = class, code = code }
end

-- What the counters make of a log that says EFA.
local BY_COUNTERS = {
  as_expected = function (log) return log.verdict, log.cause end,
  short = function () return "UNKNOWN", own("COUNTERS_SHORT", "RTL-NCCL-021") end,
  flat = function () return "TCP", own("COUNTERS_FLAT", "RTL-NCCL-021") end,
  elsewhere = function () return "TCP", own("COUNTERS_ELSEWHERE", "RTL-NCCL-021") end,
  unknown = function (log, proof)
    if proof == "log" then return log.verdict, log.cause end
    return "UNKNOWN", own("COUNTERS_UNREADABLE", "RTL-NCCL-022")
  end,
  unmeasured = function (log, proof)
    if proof == "log" then return log.verdict, log.cause end
    return "UNKNOWN", own("COUNTERS_UNMEASURED", "RTL-NCCL-030")
  end,
}

--- Whether a verdict is what was wanted: `transport` is "efa" or "any".
function M.passes(verdict, transport)
  return transport == "any" or PASS[verdict] or false
end

-- What the counters say; nothing, where fewer nodes were read than took part.
local function counted(facts)
  local counters, nodes = facts.counters, facts.log.nodes
  if not counters then return "unknown" end
  local few = nodes and counters.nodes and #counters.nodes < nodes
  local read = counters.state == "as_expected" or counters.state == "unmeasured"
  if few and read then return "unknown" end
  return counters.state
end

--- Joins the witnesses.
-- `facts`: log (from rtl.nccl.classify), counters (from rtl.nccl.counters.judge, or nil: none were
-- read), bandwidth ({degraded = boolean} or nil), transport ("efa", the default, or "any"), proof
-- ("counters", the default, or "log": the log alone is enough), unused (true: the job itself says
-- that it ran without NCCL).
-- Returns {verdict, cause ({class, code, evidence} or nil), ok (boolean: what was wanted), log,
-- counters}.
function M.join(facts)
  local log = facts.log
  local verdict, cause = log.verdict, log.cause
  if verdict == "EFA" or verdict == "DEGRADED" then
    verdict, cause = BY_COUNTERS[counted(facts)](log, facts.proof or "counters")
    if verdict == "EFA" and facts.bandwidth and facts.bandwidth.degraded then
      verdict, cause = "DEGRADED", facts.bandwidth.cause
    end
  end
  if facts.unused and (verdict == "UNKNOWN" or PASS[verdict]) then
    verdict, cause = "UNKNOWN", own("NOT_USED", "RTL-NCCL-029")
  end
  return { verdict = verdict, cause = cause, ok = M.passes(verdict, facts.transport), log = log,
    counters = facts.counters }
end

return M
