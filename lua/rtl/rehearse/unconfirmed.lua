--- What in a world no real counterpart has confirmed: { what, where it comes from }. The report of
-- a rehearsal shows this list.

local M = {}

M.rows = {
  { "timings of EKS, node groups and NAT gateways", "public measurements, with spread" },
  { "texts of EC2 and EKS refusals", "botocore's models and Terraform's matchers" },
  { "capacity failures as scaling activities", "public reports" },
  { "GPU and EFA plugins on a node", "their sources; no GPU or EFA device was there" },
  { "NCCL over EFA: log lines and counters", "public logs and driver sources" },
  { "KubeRay's order of steps", "its sources; the operator itself runs in the lab" },
  { "the training job", "its script is played, not run" },
}

--- The rows as texts.
function M.list()
  local out = {}
  for i, row in ipairs(M.rows) do out[i] = ("%s (%s)"):format(row[1], row[2]) end
  return out
end

return M
