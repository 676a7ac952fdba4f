--- A Kubernetes namespace. One that is there and not ours is used and never deleted.
-- namespace "ray-train" {} → namespace_name

local claims = require "rtl.kinds.claims"
local kind = require "rtl.plan.kind"
local kube = require "rtl.kinds.kube"

local function name_of(res)
  return res.given or res.name
end

local function live_of(ctx, object)
  return { id = object.metadata.name, namespace_name = object.metadata.name,
    labels = object.metadata.labels or {}, ours = kube.is_ours(ctx, object) }
end

local function read(ctx, res)
  local object, failure = kube.get(ctx, "Namespace", name_of(res))
  if not object then return nil, failure end
  if object.status and object.status.phase == "Terminating" then return nil end
  return live_of(ctx, object)
end

local function manifest(ctx, res, f)
  return kube.label(ctx, { apiVersion = "v1", kind = "Namespace",
    metadata = { name = res.name, labels = f.labels } })
end

local function create(ctx, res, f)
  local client, failure = ctx:k8s()
  if not client then return nil, failure end
  local object, refused = client:apply(manifest(ctx, res, f), { manager = "rtl" })
  if not object then return nil, refused end
  return live_of(ctx, object)
end

local function delete(ctx, item)
  if not item.purge then
    local kept, failure = kube.delete(ctx, function (client)
      return claims.keep(client, item.id)
    end)
    if not kept then return nil, failure end
  end
  return kube.delete_and_wait(ctx, item, "Namespace", item.id)
end

return kind.define {
  name = "namespace",
  outputs = { "namespace_name" },
  fields = { labels = "table?" },
  known = function (_, res) return { namespace_name = name_of(res) } end,
  read = read,
  diff = function (_, res, f, live)
    if res.given or not live.ours then return {} end
    for key, value in pairs(f.labels or {}) do
      if live.labels[key] ~= value then
        return { { field = "labels", want = f.labels, have = live.labels } }
      end
    end
    return {}
  end,
  create = create,
  update = function (ctx, res, f) return create(ctx, res, f) end,
  delete = delete,
  tokened = true,
  ready = { usual = 2, delete_usual = 15 },
  holder = kube.in_cluster,
  depends = { "eks_cluster" },
  find = function (ctx)
    local list = {}
    for _, object in ipairs(kube.ours(ctx, "Namespace")) do
      list[#list + 1] = { id = object.metadata.name, name = object.metadata.name }
    end
    return list
  end,
  actions = {},
}
