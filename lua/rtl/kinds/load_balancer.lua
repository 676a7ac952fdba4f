--- Services of type LoadBalancer in a cluster of ours. Their load balancers, addresses and security
-- groups stand outside of everything that rtl made, and only Kubernetes takes them down well: so
-- they go first, while the cluster lives. Only found, never made.

local kind = require "rtl.plan.kind"
local kube = require "rtl.kinds.kube"

local function cluster_of(found)
  for _, item in ipairs(found) do
    if item.kind_name == "eks_cluster" and item.id then return item.id end
  end
end

local function find_inside(ctx, found)
  local cluster = cluster_of(found)
  if not cluster then return {} end
  local list = {}
  for _, service in ipairs(kube.all(ctx, "Service")) do
    if service.spec and service.spec.type == "LoadBalancer" then
      local meta = service.metadata
      local id = meta.namespace .. "/" .. meta.name
      list[#list + 1] = { id = id, name = id, outputs = { cluster = cluster } }
    end
  end
  return list
end

local function delete(ctx, item)
  local namespace, name = item.id:match("^(.-)/(.*)$")
  return kube.delete_and_wait(ctx, item, "Service", name, namespace, 900)
end

return kind.define {
  name = "load_balancer",
  strays = true,
  delete = delete,
  ready = { delete_usual = 60 },
  depends = { "eks_cluster", "node_group", "security_group", "subnet", "namespace" },
  find_inside = find_inside,
  actions = {},
}
