--- A chart, installed as helm installs it: objects under helm's field manager, labels and release
-- record, so that helm lists, upgrades and rolls it back. A release that is there and not ours is
-- used and left alone.
-- helm_release "kuberay-operator" { chart = { repo = "https://…", name = "kuberay-operator",
--   version = "1.4.0" }, namespace = "kuberay-operator", values = {…} }
-- → chart_version, app_version

local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local definitions = require "rtl.kinds.definitions"
local err = require "rtl.err"
local field_owner = require "rtl.kinds.field_owner"
local json = require "rtl.native.json"
local kind = require "rtl.plan.kind"
local kube = require "rtl.kinds.kube"
local yaml = require "rtl.native.yaml"

-- The template engine is large: loaded when a chart is really rendered or a record read.
local function helm()
  return require "rtl.helm"
end

local WAITED = { Deployment = true, DaemonSet = true, StatefulSet = false }

local function digest(values)
  return crypto.sha256_hex(json.encode(values or {})):sub(1, 16)
end

-- All revisions of the release, newest first: array of Secrets.
local function revisions(client, name, namespace)
  local list, failure = client:list("Secret", { namespace = namespace,
    labels = "owner=helm,name=" .. name })
  if not list then
    if kube.is_absent(failure) then return {} end
    return nil, failure
  end
  local secrets = list.items
  table.sort(secrets, function (a, b)
    return (math.tointeger(a.metadata.labels.version) or 0)
      > (math.tointeger(b.metadata.labels.version) or 0)
  end)
  return secrets
end

-- Ours is a release of which we made a revision, even if somebody went on from it with helm.
local function any_ours(ctx, secrets)
  for _, secret in ipairs(secrets) do
    if kube.is_ours(ctx, secret) then return true end
  end
  return false
end

local function live_of(ctx, secrets)
  local release, failure = helm().parse_record(secrets[1])
  if not release then return nil, failure end
  local metadata = release.chart and release.chart.metadata or {}
  local live = { id = release.namespace .. "/" .. release.name, release = release.name,
    namespace = release.namespace, chart_version = metadata.version,
    app_version = metadata.appVersion, values = release.config, revision = release.version,
    manifest = release.manifest, ours = any_ours(ctx, secrets),
    status = release.info and release.info.status, digest = digest(release.config) }
  if live.status ~= "deployed" then live.ready = false end
  return live
end

local function read(ctx, res, f)
  local client, failure = ctx:k8s()
  if not client then return nil, failure end
  local secrets, refused = revisions(client, res.name, f.namespace)
  if not secrets then return nil, refused end
  if not secrets[1] then return nil end
  return live_of(ctx, secrets)
end

-- A constraint ("~1.4") is kept by any version that was installed for it; an exact one is compared.
local function exact(version)
  return version and version:match("^v?%d+%.%d+%.%d+[%w.+-]*$") and version:gsub("^v", "")
end

local function diff(_, _, f, live)
  if not live.ours then return {} end
  local changes = {}
  local wanted = exact(f.chart.version)
  if wanted and wanted ~= (live.chart_version or ""):gsub("^v", "") then
    changes[1] = { field = "chart version", want = f.chart.version, have = live.chart_version }
  end
  if digest(f.values) ~= live.digest then
    changes[#changes + 1] = { field = "values", want = f.values, have = live.values }
  end
  if live.status ~= "deployed" then
    changes[#changes + 1] = { field = "status", want = "deployed", have = live.status }
  end
  return changes
end

local function render(client, res, f, revision)
  local chart, failure = helm().fetch(f.chart)
  if not chart then return nil, failure end
  local version, refused = client:version()
  if not version then return nil, refused end
  local rendered, problem = helm().render(chart, { name = res.name, namespace = f.namespace,
    values = f.values, kube_version = version.gitVersion, upgrade = revision > 1,
    revision = revision })
  if not rendered then return nil, problem end
  return rendered, chart
end

local function apply_one(client, object, namespace)
  return client:apply(object, { manager = "helm", namespace = namespace, force = true })
end

local function apply_objects(client, res, f, rendered)
  for _, object in ipairs(rendered.objects) do
    helm().adopt(object, res.name, f.namespace)
    local done, failure = apply_one(client, object, f.namespace)
    if not done then
      return nil, err.wrap(failure, { doing = ("apply %s %s of %s"):format(object.kind,
        object.metadata.name, rendered.sources[object] or res.name) })
    end
  end
  return true
end

local function write_record(ctx, client, res, f, release, status)
  local secret = helm().release_record { rendered = release.rendered, chart = release.chart,
    name = res.name, namespace = f.namespace, values = f.values or {},
    revision = release.revision, status = status, now = clock.utc() }
  return apply_one(client, kube.label(ctx, secret), f.namespace)
end

-- As helm does: of a release's revisions one is deployed.
local function supersede(client, res, f, revision)
  local secrets, failure = revisions(client, res.name, f.namespace)
  if not secrets then return nil, failure end
  for _, secret in ipairs(secrets) do
    local labels = secret.metadata.labels
    if labels.status == "deployed" and labels.version ~= tostring(revision) then
      local patch, problem = helm().with_status(secret, "superseded")
      if not patch then return nil, problem end
      local done, refused = client:patch("Secret", secret.metadata.name, patch,
        { namespace = f.namespace })
      if not done then return nil, refused end
    end
  end
  return true
end

local function own_namespace(ctx, client, f)
  if not f.create_namespace then return true end
  local there, failure = client:get("Namespace", f.namespace)
  if there then return true end
  if not kube.is_absent(failure) then return nil, failure end
  return client:apply(kube.label(ctx, { apiVersion = "v1", kind = "Namespace",
    metadata = { name = f.namespace } }), { manager = "rtl" })
end

local function first_problem(steps)
  for _, step in ipairs(steps) do
    local done, failure = step()
    if not done then return nil, failure end
  end
  return true
end

-- The record is written first, as pending: it names all that a run which dies here may have made.
local function install(ctx, res, f, revision)
  local client, failure = ctx:k8s()
  if not client then return nil, failure end
  local rendered, chart = render(client, res, f, revision)
  if not rendered then return nil, chart end
  local release = { rendered = rendered, chart = chart, revision = revision }
  local pending = revision > 1 and "pending-upgrade" or "pending-install"
  local done, refused = first_problem {
    function () return own_namespace(ctx, client, f) end,
    function () return write_record(ctx, client, res, f, release, pending) end,
    function ()
      return definitions.apply(ctx, res, client, rendered.crds, f.namespace .. "/" .. res.name)
    end,
    function () return apply_objects(client, res, f, rendered) end,
    function () return write_record(ctx, client, res, f, release, "deployed") end,
    function () return revision == 1 or supersede(client, res, f, revision) end,
  }
  if not done then return nil, refused end
  return rendered, chart
end

local function create(ctx, res, f)
  local rendered, chart = install(ctx, res, f, 1)
  if not rendered then return nil, chart end
  return { id = f.namespace .. "/" .. res.name, release = res.name, namespace = f.namespace,
    chart_version = chart.version, app_version = chart.app_version, objects = rendered.objects }
end

local function objects_of(live)
  if live.objects then return live.objects end
  return yaml.decode_all(live.manifest or "") or {}
end

local function wait(ctx, res, f, live)
  for _, object in ipairs(objects_of(live)) do
    if type(object) == "table" and WAITED[object.kind] then
      object.metadata.namespace = object.metadata.namespace or f.namespace
      local done, failure = kube.wait_workload(ctx, res, object, f.wait or 600)
      if not done then return nil, failure end
    end
  end
  live.objects, live.manifest = nil, nil
  return live
end

local function identity(object)
  return table.concat({ object.apiVersion, object.kind, object.metadata.namespace or "",
    object.metadata.name }, "/")
end

-- What the former revision had and the new one has not goes.
local function prune(client, namespace, former, rendered)
  local kept = {}
  for _, object in ipairs(rendered.objects) do kept[identity(object)] = true end
  for _, object in ipairs(former) do
    if type(object) == "table" and object.kind and not kept[identity(object)] then
      local done, failure = client:delete(kube.kind_of(object), object.metadata.name,
        { namespace = object.metadata.namespace or namespace })
      if not done and not kube.is_absent(failure) then return nil, failure end
    end
  end
  return true
end

-- What helm changed by patches since becomes ours to drop.
local function take_over(client, namespace, objects)
  for _, object in ipairs(objects) do
    if type(object) == "table" and object.kind then
      local done, failure = field_owner.take_over(client, object, namespace, "helm")
      if not done then return nil, failure end
    end
  end
  return true
end

-- A revision that a dead run left pending is done again; else this is the next one.
local function update(ctx, res, f, live)
  local client, failure = ctx:k8s()
  if not client then return nil, failure end
  local taken, refused = take_over(client, f.namespace, objects_of(live))
  if not taken then return nil, refused end
  local pending = live.status and live.status:match("^pending")
  local rendered, chart = install(ctx, res, f, pending and live.revision or live.revision + 1)
  if not rendered then return nil, chart end
  return prune(client, f.namespace, objects_of(live), rendered)
end

local function delete_objects(client, namespace, objects)
  for i = #objects, 1, -1 do
    local object = objects[i]
    if type(object) == "table" and object.kind then
      local done, failure = client:delete(kube.kind_of(object), object.metadata.name,
        { namespace = object.metadata.namespace or namespace })
      if not done and not kube.is_absent(failure) then return nil, failure end
    end
  end
  return true
end

local function uninstall(ctx, client, item)
  local namespace, name = item.id:match("^(.-)/(.*)$")
  local secrets, failure = revisions(client, name, namespace)
  if not secrets then return nil, failure end
  local live = secrets[1] and live_of(ctx, secrets)
  if live then
    local done, refused = delete_objects(client, namespace, objects_of(live))
    if not done then return nil, refused end
  end
  for _, secret in ipairs(secrets) do
    local done, refused = client:delete("Secret", secret.metadata.name, { namespace = namespace })
    if not done and not kube.is_absent(refused) then return nil, refused end
  end
  return definitions.delete(ctx, client, item)
end

local function drop_namespace(ctx, item)
  local namespace = item.id:match("^(.-)/")
  local object = kube.get(ctx, "Namespace", namespace)
  local mine = object and kube.is_ours(ctx, object)
  local entry = ctx.ledger and ctx.ledger:state()["namespace/" .. namespace]
  if not mine or (entry and entry.state ~= "deleted") then return true end
  return kube.delete_and_wait(ctx, item, "Namespace", namespace)
end

local function delete(ctx, item)
  local done, failure = kube.delete(ctx, function (client)
    return uninstall(ctx, client, item)
  end)
  if not done then return nil, failure end
  return drop_namespace(ctx, item)
end

local function find(ctx)
  local list, seen = {}, {}
  for _, secret in ipairs(kube.ours(ctx, "Secret")) do
    local meta = secret.metadata
    local labels = meta.labels or {}
    local id = meta.namespace .. "/" .. tostring(labels.name)
    if labels.owner == "helm" and not seen[id] then
      seen[id] = true
      list[#list + 1] = { id = id, name = labels.name, outputs = { namespace = meta.namespace } }
    end
  end
  return list
end

return kind.define {
  name = "helm_release",
  outputs = { "chart_version", "app_version", "namespace" },
  fields = { chart = "table", namespace = "string", values = "table?", wait = "integer?",
    create_namespace = "boolean?" },
  identity = { "namespace" },
  read = read,
  diff = diff,
  create = create,
  update = update,
  delete = delete,
  tokened = true,
  ready = { wait = wait, usual = 40, delete_usual = 10 },
  holder = kube.in_cluster,
  depends = { "namespace", "eks_cluster", "node_group" },
  find = find,
  actions = {},
}
