--- A check: waits until add-ons are ACTIVE. DEGRADED is not final (coredns without nodes). EKS' own
-- word for most troubles is InsufficientNumberOfReplicas: the add-on's pods say why.
-- addons_active "all" { cluster = c.cluster_name, names = { "vpc-cni", … }, after = node groups }

local addon = require "rtl.kinds.eks_addon"
local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local kube = require "rtl.kinds.kube"
local support = require "rtl.kinds.support"

-- What EKS installs for an add-on, in kube-system. Of others the health code must do.
local WORKLOADS = {
  ["vpc-cni"] = { "DaemonSet", "aws-node" },
  ["kube-proxy"] = { "DaemonSet", "kube-proxy" },
  ["eks-pod-identity-agent"] = { "DaemonSet", "eks-pod-identity-agent" },
  ["aws-ebs-csi-driver"] = { "Deployment", "ebs-csi-controller" },
  coredns = { "Deployment", "coredns" },
  ["metrics-server"] = { "Deployment", "metrics-server" },
}

-- EKS' issue with an add-on and what its pods say: a text, or nil when there is none.
local function trouble(ctx, name, live)
  if not (live and live.issue) then return nil end
  local workload = WORKLOADS[name]
  local state = workload and kube.workload_state(ctx, workload[1], workload[2], "kube-system")
  return live.issue .. (state and "; " .. state or "")
end

-- The first add-on that is not ACTIVE: its name and live state; nil when all are.
local function first_inactive(ctx, f)
  for _, name in ipairs(f.names) do
    local live, failure = addon.describe(ctx, f.cluster, name)
    if failure then return nil, nil, failure end
    if not live or live.status ~= "ACTIVE" then return name, live end
  end
end

local function read(ctx, _, f)
  local name, _, failure = first_inactive(ctx, f)
  if failure then return nil, failure end
  if name then return nil end
  return { id = "active" }
end

local function create(ctx, res, f)
  return support.wait({ ctx = ctx, res = res, every = 10, limit = 1200, what = "ACTIVE" },
    function ()
      local name, live, failure = first_inactive(ctx, f)
      if failure then return nil, failure end
      if not name then return { id = "active" } end
      local state, why = live and live.status or "not there", trouble(ctx, name, live)
      local text = ("%s is %s%s"):format(name, state, why and " (" .. why .. ")" or "")
      if not (live and live.failed) then return false, text end
      return nil, err.new { code = "RTL-PLAN-017", doing = res.key, message = "add-on " .. text,
        hint = live.next_step }
    end)
end

return kind.define {
  name = "addons_active",
  outputs = {},
  fields = { cluster = "string", names = "list" },
  within = { "cluster" },
  reads_with = { "cluster" },
  read = read,
  create = create,
  ephemeral = true,
  ready = { usual = 60 },
  actions = { { "eks:DescribeAddon", on = "addon/{cluster}/*/*" } },
}
