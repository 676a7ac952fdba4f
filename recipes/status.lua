--- What stands of a deployment: resources with their price, nodes, Ray pods, the last job.
--
--   rtl recipes/status.lua
--
-- Reads only. Finds things by ledger and by tag, like teardown.

local given_cluster = require "rtl.recipe.given_cluster"
local lease = require "rtl.kinds.lease"
local lease_line = require("rtl.recipe.lease").line
local plan = require "rtl.plan"
local pods = require "rtl.recipe.ray_pods"
local pricing = require "rtl.kinds.pricing"
local report = require "rtl.recipe.report"
local text = require "rtl.recipe.text"

local WIDTH = text.SCREEN - 9 -- beside the labels

local function resource_lines(run)
  local t = plan.teardown.plan(run.ctx, run:all_kinds(), { purge = true })
  local rows, hourly = {}, 0.0
  for i, item in ipairs(t.items) do
    hourly = hourly + (item.hourly or 0)
    rows[i] = { item.kind_name, item.name or "", text.id_beside(item.name, item.id),
      item.hourly and item.hourly > 0 and text.rate(item.hourly) or "" }
  end
  local lines = text.columns(rows, nil, WIDTH)
  table.insert(lines, 1, ("%s%s"):format(text.count(#t.items, "thing"),
    hourly > 0 and " · " .. text.rate(hourly) or ""))
  if hourly > 0 then
    lines[#lines + 1] = ("prices: %s; of nodes without their disks"):format(
      pricing.source(run.ctx, run.settings.gpu_type))
  end
  return lines
end

local function add_lease(run, lines)
  run.facts.lease = lease.read(run.ctx)
  lines[#lines + 1] = lease_line(run)
end

local function device_count(node, name)
  return tostring((node.status.allocatable or {})[name] or 0)
end

local function node_lines(client)
  local rows = {}
  for _, node in ipairs(assert(client:list("Node", {})).items) do
    local labels = node.metadata.labels or {}
    rows[#rows + 1] = { node.metadata.name, labels.role or "-",
      device_count(node, "nvidia.com/gpu") .. " GPUs",
      device_count(node, "vpc.amazonaws.com/efa") .. " EFA" }
  end
  return text.columns(rows, nil, WIDTH)
end

local function pod_lines(run)
  local rows = {}
  for _, node_type in ipairs { "head", "worker" } do
    for _, pod in ipairs(pods.list(run, node_type)) do
      rows[#rows + 1] = { pod.metadata.name, pod.status.phase, pod.status.qosClass or "",
        pod.spec.nodeName or "", pods.trouble(pod) or "" }
    end
  end
  return #rows > 0 and text.columns(rows, nil, WIDTH) or { "none" }
end

return {
  title = "What stands of a deployment",
  settings = { "settings" },

  action = function (run)
    run:connect()
    run:peek()
    run:reading(given_cluster.enter, run)
    run:load_prices()
    local lines = report.head(run)
    lines[#lines + 1] = ""
    report.labelled(lines, "Made", resource_lines(run))
    if run:has_aws() then add_lease(run, lines) end
    local client, failure = run:k8s()
    if client then
      report.labelled(lines, "Nodes", node_lines(client))
      report.labelled(lines, "Ray", pod_lines(run))
    else
      report.labelled(lines, "Cluster", { failure.message })
    end
    local job = run.record:recall("job")
    if job then
      report.labelled(lines, "Job", { report.job { id = job.id, status = job.status,
        seconds = job.seconds, text = "at " .. job.at } })
      report.labelled(lines, "Verdict",
        { ("%s  %s"):format(job.verdict.verdict, job.verdict.text) })
    end
    report.world(lines)
    run:emit { type = "text", lines = lines }
  end,
}
