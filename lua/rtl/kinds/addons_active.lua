--- A check: waits until add-ons are ACTIVE. DEGRADED is not final (coredns without nodes).
-- addons_active "all" { cluster = c.cluster_name, names = { "vpc-cni", … }, after = node groups }

local addon = require "rtl.kinds.eks_addon"
local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

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
      if live and live.failed then
        return nil, err.new { code = "RTL-PLAN-017", doing = res.key,
          message = ("add-on %s is %s"):format(name, live.failed), hint = live.next_step }
      end
      local state = live and live.status or "not there"
      return false, ("%s is %s%s"):format(name, state,
        live and live.issue and " (" .. live.issue .. ")" or "")
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
