--- Any Kubernetes object, by server-side apply; the difference is what the server's dry run says.
-- kubernetes_object "x" { manifest = { apiVersion = "v1", kind = …, metadata = {…} } } → uid

local compare = require "rtl.plan.compare"
local keys = require "rtl.keys"
local kind = require "rtl.plan.kind"
local kube = require "rtl.kinds.kube"

local function read(ctx, _, f)
  local meta = f.manifest.metadata
  local object, failure = kube.get(ctx, kube.kind_of(f.manifest), meta.name, meta.namespace)
  if not object then return nil, failure end
  return { id = (meta.namespace and meta.namespace .. "/" or "") .. meta.name,
    uid = object.metadata.uid, object = object, ours = kube.is_ours(ctx, object),
    object_kind = kube.kind_of(f.manifest), namespace = meta.namespace, object_name = meta.name }
end

local IGNORED = { managedFields = true, resourceVersion = true, generation = true, uid = true,
  creationTimestamp = true }

-- The first path where two objects differ, as text; nil when they don't.
local function first_difference(want, have, path)
  if type(want) ~= "table" or type(have) ~= "table" then
    if compare.same(want, have) then return nil end
    return path, want, have
  end
  local all = {}
  for key in pairs(want) do all[key] = true end
  for key in pairs(have) do all[key] = true end
  for key in keys.pairs(all) do
    local ignored = IGNORED[key] and path == ".metadata" or (key == "status" and path == "")
    if not ignored then
      local place, a, b = first_difference(want[key], have[key], path .. "." .. tostring(key))
      if place then return place, a, b end
    end
  end
end

local function diff(ctx, _, f, live)
  local client, failure = ctx:k8s()
  if not client then return nil, failure end
  local wanted = live.ours and kube.label(ctx, f.manifest) or f.manifest
  local result, refused = client:apply(wanted, { manager = "rtl", dry_run = true })
  if not result then return nil, refused end
  local path, want, have = first_difference(result, live.object, "")
  if not path then return {} end
  return { { field = path:sub(2), want = want, have = have } }
end

local function create(ctx, res, f)
  local client, failure = ctx:k8s()
  if not client then return nil, failure end
  local object, refused = client:apply(kube.label(ctx, f.manifest), { manager = "rtl" })
  if not object then return nil, refused end
  return read(ctx, res, f)
end

local function delete(ctx, item)
  local o = item.outputs
  return kube.delete_and_wait(ctx, item, o.object_kind, o.object_name, o.namespace)
end

return kind.define {
  name = "kubernetes_object",
  outputs = { "uid", "object_kind", "object_name", "namespace" },
  fields = { manifest = "table" },
  reads_with = { "manifest" },
  read = read,
  diff = diff,
  create = create,
  update = create,
  delete = delete,
  tokened = true,
  ready = { usual = 2, delete_usual = 5 },
  holder = kube.in_cluster,
  depends = { "namespace", "eks_cluster", "node_group" },
  actions = {},
}
