--- A check: waits until each GPU node is ready and offers exactly the GPUs and EFA interfaces of
-- its type. More than zero is not enough: one EFA of four trains, slowly.
-- gpu_nodes "all" { labels = { role = "gpu-worker" }, count = 2,
--   allocatable = { ["nvidia.com/gpu"] = 4, ["vpc.amazonaws.com/efa"] = 1 } } → node_names

local err = require "rtl.err"
local keys = require "rtl.keys"
local kind = require "rtl.plan.kind"
local kube = require "rtl.kinds.kube"
local support = require "rtl.kinds.support"

-- The first node that is not as wanted, as text; else nil and the names of all.
local function unready(nodes, f)
  local names = {}
  if #nodes < f.count then return ("%d of %d nodes"):format(#nodes, f.count) end
  for _, node in ipairs(nodes) do
    local name = node.metadata.name
    local ready, message = kube.condition(node, "Ready")
    if not ready then return ("node %s is not ready: %s"):format(name, message or "") end
    for resource, wanted in keys.pairs(f.allocatable) do
      local have = (node.status.allocatable or {})[resource]
      if (math.tointeger(tonumber(have)) or 0) ~= wanted then
        return ("node %s offers %s of %d %s"):format(name, have or "0", wanted, resource)
      end
    end
    names[#names + 1] = name
  end
  table.sort(names)
  return nil, names
end

local function look(ctx, f)
  local client, failure = ctx:k8s()
  if not client then return nil, failure end
  local list, refused = client:list("Node", { labels = kube.selector(f.labels) })
  if not list then return nil, refused end
  local reason, names = unready(list.items, f)
  if reason then return false, reason end
  return { id = table.concat(names, ","), node_names = names }
end

local function read(ctx, _, f)
  local live, failure = look(ctx, f)
  if live == nil then return nil, failure end
  return live or nil
end

local function create(ctx, res, f)
  local live, failure = support.wait({ ctx = ctx, res = res, every = 5, limit = f.limit or 900,
    what = "nodes" }, function () return look(ctx, f) end)
  if live then return live end
  if failure.code ~= "RTL-PLAN-014" then return nil, failure end
  return nil, err.wrap(failure, { code = "RTL-PLAN-022", doing = res.key,
    message = "the nodes do not offer what their type has" })
end

return kind.define {
  name = "gpu_nodes",
  outputs = { "node_names" },
  fields = { labels = "table", count = "integer", allocatable = "table", limit = "integer?" },
  read = read,
  create = create,
  ephemeral = true,
  ready = { usual = 45 },
  actions = {},
}
