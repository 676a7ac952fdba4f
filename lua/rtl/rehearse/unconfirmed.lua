--- What in a world no real counterpart has confirmed: { what, where it comes from }. The report of
-- a rehearsal shows this list.

local keys = require "rtl.keys"
local kinds = require "rtl.rehearse.weather.kinds"

local M = {}

M.rows = {
  { "timings of EKS, node groups and NAT gateways", "public measurements" },
  { "texts of AWS' refusals", "botocore's models and Terraform's matchers" },
  { "capacity failures as scaling activities", "public reports" },
  { "how many GPU machines a zone has", "made up: an offer is no machine" },
  { "Capacity Blocks on offer: days, prices, how fast they are paid", "made up" },
  { "prices outside us-east-1", "one rounded factor for all of a region" },
  { "how often trouble strikes; when a quota is granted", "made up" },
  { "rate limits of services other than EC2", "not published; EC2's stand in" },
  { "EC2's rights on what is gone", "not known; as EKS and IAM, which refuse" },
  { "which reservations a resource group takes", "not known; active ones" },
  { "GPU and EFA plugins on a node", "their sources; no device was there" },
  { "NCCL over EFA: log lines and counters", "public logs and driver sources" },
  { "KubeRay's order of steps", "its sources; the operator itself runs in the lab" },
  { "schedules: retries, how fast a group goes", "not known; nothing relies on it" },
  { "the training job", "its script is played, not run" },
}

--- The rows as texts; `sky`: the weather of the world, whose kinds without a source are added.
function M.list(sky)
  local out = {}
  for i, row in ipairs(M.rows) do out[i] = ("%s (%s)"):format(row[1], row[2]) end
  for name in keys.pairs(sky or {}) do
    if not kinds[name].source then
      out[#out + 1] = ("%s (no source; as people tell)"):format(kinds[name].title)
    end
  end
  return out
end

return M
