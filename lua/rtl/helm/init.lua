--- Helm charts: fetching, rendering as helm does, release records as helm writes them. Applies
-- nothing.

local charts = require "rtl.helm.chart"
local crypto = require "rtl.native.crypto"
local engine = require "rtl.helm.engine"
local err = require "rtl.err"
local fs = require "rtl.fs"
local go = require "rtl.helm.go"
local manifest = require "rtl.helm.manifest"
local release = require "rtl.helm.release"
local repo = require "rtl.helm.repo"
local schema = require "rtl.helm.schema"
local semver = require "rtl.helm.semver"
local values = require "rtl.helm.values"
local yaml = require "rtl.native.yaml"

local M = { semver = semver }

--- Gets a chart: `{ repo = URL, name =, version = exact or constraint or nil }` from a repository,
-- or `{ path = folder or tgz }` from disk. Returns the chart (name, version, app_version, digest of
-- the tgz, metadata, values) or nil, err: RTL-HELM-001 not there, 002 no chart, 003 wrong digest,
-- 004 source not supported.
function M.fetch(args)
  if type(args) ~= "table" then error("bad argument #1 to 'fetch' (table expected)", 2) end
  if args.path then
    local chart, problem = charts.load(args.path)
    if chart and args.path:match("%.tgz$") then
      chart.digest = crypto.sha256_hex(assert(fs.read(args.path)))
    end
    return chart, problem
  end
  local source = args.repo or args.oci
  if type(source) ~= "string" then
    error("bad argument #1 to 'fetch' (repo or path expected)", 2)
  end
  if args.oci or source:match("^oci://") then
    return nil, err.new { code = "RTL-HELM-004",
      message = "charts in OCI registries are not supported",
      doing = "fetch " .. source, hint = "give a chart repository, a folder or a tgz" }
  end
  if type(args.name) ~= "string" then error("bad argument #1 to 'fetch' (name expected)", 2) end
  return repo.fetch(args)
end

local function template_error(problem, chart)
  if type(problem) ~= "table" or not problem.helm then error(problem, 0) end
  local place = problem.file and problem.file .. (problem.line and ":" .. problem.line or "")
  local inner = problem.template and problem.template ~= problem.file and " in " .. problem.template
    or ""
  return err.new { code = "RTL-HELM-005", message = problem.helm, file = problem.file,
    line = problem.line,
    template = problem.template, doing = "render " .. (place or chart.name) .. inner }
end

-- NOTES.txt of the chart itself is for people; those of subcharts are dropped.
local function take_notes(files, chart)
  local notes = ""
  for _, path in ipairs(go.keys(files)) do
    if path:match("NOTES%.txt$") then
      if path == chart.name .. "/templates/NOTES.txt" then notes = files[path] end
      files[path] = nil
    end
  end
  return notes
end

local function read_crds(chart)
  local crds, sources = {}, {}
  for _, file in ipairs(charts.crd_files(chart)) do
    local docs, problem = yaml.decode_all(file.data)
    if not docs then
      return nil, err.wrap(problem, { code = "RTL-HELM-006", message = "not YAML",
        doing = file.file })
    end
    for _, object in ipairs(docs) do
      crds[#crds + 1] = object
      sources[object] = file.file
    end
  end
  return crds, sources
end

local function compatible(chart, kube_version)
  local wanted = chart.metadata.kubeVersion
  if not wanted or wanted == "" then return true end
  -- helm looks at the version without what a provider appends to it.
  return semver.satisfies(kube_version, wanted) ~= false
end

-- Dependencies that Chart.yaml lists and charts/ lacks; helm wants all, also those switched off.
local function missing(chart)
  local there, out = {}, {}
  for _, child in ipairs(chart.dependencies) do there[child.name] = true end
  local listed = chart.metadata.dependencies
  for _, dependency in ipairs(type(listed) == "table" and listed or {}) do
    if not there[dependency.name] then out[#out + 1] = tostring(dependency.name) end
  end
  return #out > 0 and table.concat(out, ", ") or nil
end

-- Whether a chart can be installed at all: true | nil, err.
local function installable(chart, kube_version)
  local doing = "render " .. chart.name
  local lacking = missing(chart)
  if lacking then
    return nil, err.new { code = "RTL-HELM-002", doing = doing,
      message = "charts/ lacks what Chart.yaml lists: " .. lacking,
      hint = "helm dependency build fetches them" }
  end
  if chart.metadata.type == "library" then
    return nil, err.new { code = "RTL-HELM-002", doing = doing,
      message = "a library chart installs nothing" }
  end
  if not compatible(chart, kube_version) then
    return nil, err.new { code = "RTL-HELM-008", doing = doing,
      message = ("the chart requires Kubernetes %s, this is %s")
        :format(chart.metadata.kubeVersion, kube_version) }
  end
  return true
end

local function result(chart, files, sources, crds)
  local notes = take_notes(files, chart)
  local manifests, hooks = manifest.sort(files)
  if not manifests then return nil, hooks end
  local objects = {}
  for _, entry in ipairs(manifests) do
    if entry.object then
      objects[#objects + 1] = entry.object
      sources[entry.object] = entry.source
    end
  end
  return { objects = objects, sources = sources, crds = crds, hooks = hooks, notes = notes,
    manifest = manifest.text(manifests) }
end

local function rendered_files(chart, args, kube_version)
  local prepared, vals = values.prepare(chart, args.values)
  local right, wrong = schema.check(prepared, vals)
  if not right then return nil, wrong end
  local upgrade = args.upgrade or false
  local about = { Name = args.name, Namespace = args.namespace, IsUpgrade = upgrade,
    IsInstall = not upgrade,
    Revision = args.revision or 1, Service = "Helm" }
  return prepared, engine.render(prepared, vals, about,
    engine.capabilities(kube_version, args.api_versions))
end

--- Renders a chart as `helm install` does. `args`: name and namespace of the release, values (the
-- user's), kube_version ("v1.36.0"), api_versions (those the cluster serves; nil: helm's own list),
-- upgrade, revision. Returns { objects (install order, no hooks), sources[object] = file, crds (to
-- be applied first), hooks, manifest (helm's text), notes } or nil, err: RTL-HELM-005 with file,
-- line and template; 006 what a template makes is no YAML object; 008 the chart refuses this
-- Kubernetes; 009 its schema refuses the values.
function M.render(chart, args)
  if type(chart) ~= "table" or not chart.templates then
    error("bad argument #1 to 'render' (chart expected)", 2)
  end
  if type(args) ~= "table" or type(args.name) ~= "string" or type(args.namespace) ~= "string" then
    error("bad argument #2 to 'render' (name and namespace expected)", 2)
  end
  local kube_version = args.kube_version or "v1.36.0"
  local can, why = installable(chart, kube_version)
  if not can then return nil, why end
  local ok, prepared, files = pcall(rendered_files, chart, args, kube_version)
  if not ok then return nil, template_error(prepared, chart) end
  if not prepared then return nil, files end
  local crds, sources = read_crds(prepared)
  if not crds then return nil, sources end
  return result(prepared, files, sources, crds)
end

--- Marks an object as helm does when it installs it, so that helm takes it for its own: label
-- managed-by and the two annotations with name and namespace of the release. Changes and returns
-- the object.
function M.adopt(object, name, namespace)
  local metadata = object.metadata
  metadata.labels = metadata.labels or {}
  metadata.labels["app.kubernetes.io/managed-by"] = "Helm"
  metadata.annotations = metadata.annotations or {}
  metadata.annotations["meta.helm.sh/release-name"] = name
  metadata.annotations["meta.helm.sh/release-namespace"] = namespace
  return object
end

--- The release record of what was rendered: a Secret. See rtl.helm.release.
M.release_record = release.record

--- Reads a release record: { name, namespace, version, info, chart, config, manifest } | nil, err.
M.parse_record = release.parse
--- A merge patch that gives a release Secret another status. See rtl.helm.release.
M.with_status = release.with_status

return M
