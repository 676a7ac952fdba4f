--- Renders a chart's templates: what helm's engine does around Go's text/template.

local array = require "rtl.array"
local crypto = require "rtl.native.crypto"
local exec = require "rtl.helm.template.exec"
local functions = require "rtl.helm.funcs"
local go = require "rtl.helm.go"
local goyaml = require "rtl.helm.goyaml"
local charts = require "rtl.helm.chart"
local parse = require "rtl.helm.template.parse"

local M = {}

-- The API versions that helm takes for granted when it is not told the cluster's.
local API_VERSIONS = [[
  v1 admissionregistration.k8s.io/v1 admissionregistration.k8s.io/v1alpha1
  admissionregistration.k8s.io/v1beta1 internal.apiserver.k8s.io/v1alpha1 apps/v1 apps/v1beta1
  apps/v1beta2 authentication.k8s.io/v1 authentication.k8s.io/v1alpha1
  authentication.k8s.io/v1beta1 authorization.k8s.io/v1 authorization.k8s.io/v1beta1
  autoscaling/v1 autoscaling/v2 autoscaling/v2beta1 autoscaling/v2beta2 batch/v1 batch/v1beta1
  certificates.k8s.io/v1 certificates.k8s.io/v1beta1 certificates.k8s.io/v1alpha1
  coordination.k8s.io/v1alpha2 coordination.k8s.io/v1beta1 coordination.k8s.io/v1
  discovery.k8s.io/v1 discovery.k8s.io/v1beta1 events.k8s.io/v1 events.k8s.io/v1beta1
  extensions/v1beta1 flowcontrol.apiserver.k8s.io/v1 flowcontrol.apiserver.k8s.io/v1beta1
  flowcontrol.apiserver.k8s.io/v1beta2 flowcontrol.apiserver.k8s.io/v1beta3 networking.k8s.io/v1
  networking.k8s.io/v1beta1 node.k8s.io/v1 node.k8s.io/v1alpha1 node.k8s.io/v1beta1 policy/v1
  policy/v1beta1 rbac.authorization.k8s.io/v1 rbac.authorization.k8s.io/v1beta1
  rbac.authorization.k8s.io/v1alpha1 resource.k8s.io/v1 resource.k8s.io/v1beta2
  resource.k8s.io/v1beta1 resource.k8s.io/v1alpha3 scheduling.k8s.io/v1alpha1
  scheduling.k8s.io/v1beta1 scheduling.k8s.io/v1 storage.k8s.io/v1beta1 storage.k8s.io/v1
  storage.k8s.io/v1alpha1 storagemigration.k8s.io/v1alpha1 apiextensions.k8s.io/v1beta1
  apiextensions.k8s.io/v1]]

-- The objects that templates see --------------------------------------------------------------

local metadata_fields = { Name = "name", Home = "home", Version = "version",
  Description = "description",
  Icon = "icon", APIVersion = "apiVersion", Condition = "condition", Tags = "tags",
    AppVersion = "appVersion",
  KubeVersion = "kubeVersion", Type = "type" }

local function struct_list(items, names, type_name)
  local out = {}
  for i, item in ipairs(type(items) == "table" and items or {}) do
    local fields = {}
    for field, key in pairs(names) do fields[field] = item[key] == nil and "" or item[key] end
    out[i] = go.object(fields, "struct", type_name)
  end
  return array(out)
end

local function chart_object(chart)
  local metadata, fields = chart.metadata, {}
  for field, key in pairs(metadata_fields) do fields[field] = metadata[key] or "" end
  for field, key in pairs { Sources = "sources", Keywords = "keywords" } do
    fields[field] = array(type(metadata[key]) == "table" and { table.unpack(metadata[key]) } or {})
  end
  fields.Annotations = type(metadata.annotations) == "table" and metadata.annotations or {}
  fields.Deprecated = metadata.deprecated == true
  fields.IsRoot = chart.parent == nil
  fields.Maintainers = struct_list(metadata.maintainers,
    { Name = "name", Email = "email", URL = "url" },
    "*chart.Maintainer")
  fields.Dependencies = struct_list(metadata.dependencies, { Name = "name", Version = "version",
    Repository = "repository", Condition = "condition", Alias = "alias", Enabled = "enabled" },
      "*chart.Dependency")
  return go.object(fields, "struct", "chart.Metadata")
end

-- gobwas/glob with "/" as separator: * within a part, ** across parts, ?, {a,b}.
local function glob_pattern(glob)
  local out = {}
  local at = 1
  while at <= #glob do
    local c = glob:sub(at, at)
    if glob:sub(at, at + 1) == "**" then
      out[#out + 1], at = ".*", at + 2
    elseif c == "*" then
      out[#out + 1], at = "[^/]*", at + 1
    elseif c == "?" then
      out[#out + 1], at = "[^/]", at + 1
    elseif c == "{" or c == "[" then
      go.fail(".Files.Glob: %q in a pattern is not supported", c)
    else
      out[#out + 1], at = c:gsub("%W", "%%%0"), at + 1
    end
  end
  return "^" .. table.concat(out) .. "$"
end

local files_object

local function by_base(files, convert)
  local out = {}
  for _, name in ipairs(go.keys(files)) do out[name:match("[^/]*$")] = convert(files[name]) end
  return (goyaml.encode(out):gsub("\n$", ""))
end

local function file_lines(files, name)
  local text, out = files[name], {}
  if text == nil then return array {} end
  for line in (text:gsub("\n$", "") .. "\n"):gmatch("([^\n]*)\n") do out[#out + 1] = line end
  return array(out)
end

local function glob_files(files, pattern)
  local found, wanted = {}, glob_pattern(pattern)
  for name, data in pairs(files) do
    if name:match(wanted) then found[name] = data end
  end
  return files_object(found)
end

local files_methods = {
  Get = function (files, name) return files[name] or "" end,
  Glob = glob_files,
  Lines = file_lines,
  AsConfig = function (files) return by_base(files, function (data) return data end) end,
  AsSecrets = function (files) return by_base(files, crypto.base64_encode) end,
}

function files_object(map) return go.object(map, "map", "engine.files", files_methods) end

local function files_of(chart)
  local map = {}
  for _, file in ipairs(chart.files) do map[file.name] = file.data end
  return files_object(map)
end

local function has_version(list, wanted)
  for _, version in ipairs(list) do
    if version == wanted then return true end
  end
  return false
end

local function kube_version_object(text)
  local version = (text or "v1.36.0"):gsub("^v?", "v")
  local major, minor = version:match("^v(%d+)%.(%d+)")
  if not major then go.fail("kube_version %q can't be read", version) end
  local function whole() return version end
  return go.object({ Version = version, Major = major, Minor = minor }, "struct",
    "chartutil.KubeVersion",
    { String = whole, GitVersion = whole }, whole)
end

--- The `.Capabilities` object for a Kubernetes version and the API versions served (nil: helm's own
-- list).
function M.capabilities(kube_version, api_versions)
  local versions = {}
  if api_versions then
    table.move(api_versions, 1, #api_versions, 1, versions)
  else
    for word in API_VERSIONS:gmatch("%S+") do versions[#versions + 1] = word end
  end
  return go.object({
    KubeVersion = kube_version_object(kube_version),
    APIVersions = go.object(array(versions), "list", "chartutil.VersionSet", { Has = has_version }),
    HelmVersion = go.object({ Version = "v3.19", GitCommit = "", GitTreeState = "",
      GoVersion = "go1.26" },
      "struct", "version.BuildInfo"),
  }, "struct", "*chartutil.Capabilities")
end

-- Collecting templates ------------------------------------------------------------------------

-- Adds the templates of a chart and its subcharts to `out` (path → { source, dot, base }).
local function collect(chart, dot_of_parent, values, out)
  local dot = { Chart = chart_object(chart), Files = files_of(chart),
    Release = dot_of_parent.Release,
    Capabilities = dot_of_parent.Capabilities, Values = go.kind(values) == "map" and values or {},
      Subcharts = {} }
  for _, child in ipairs(chart.dependencies) do
    dot.Subcharts[child.name] = collect(child, dot, dot.Values[child.name], out)
  end
  local path = charts.full_path(chart)
  local library = (chart.metadata.type or ""):lower() == "library"
  for _, file in ipairs(chart.templates) do
    if not library or file.name:match("[^/]*$"):match("^_") then
      out[path .. "/" .. file.name] = { source = file.data, dot = dot, base = path .. "/templates" }
    end
  end
  return dot
end

local function depth(path) return select(2, path:gsub("/", "")) end

-- Deepest first, then from the end of the alphabet: a definition nearer to the root wins.
local function parse_order(templates)
  local paths = go.keys(templates)
  table.sort(paths, function (a, b)
    if depth(a) ~= depth(b) then return depth(a) > depth(b) end
    return a > b
  end)
  return paths
end

-- include, tpl and the rest
-- ----------------------------------------------------------------------------------

local function without_no_value(text) return (text:gsub("<no value>", "")) end

local function include(state, args)
  if args.n ~= 2 then go.fail("wrong number of args for include: want 2 got %d", args.n) end
  if type(args[1]) ~= "string" then go.fail("include: the name must be a string") end
  local out = {}
  exec.run(state, args[1], args[2], out)
  return table.concat(out)
end

local function has_function(name)
  return name == "include" or name == "tpl" or functions.has(name)
end

-- A template in a string; what it defines is seen only inside of it.
local function tpl(state, args)
  if args.n ~= 2 or type(args[1]) ~= "string" then go.fail("tpl: want a string and the data") end
  local defines = setmetatable({}, { __index = state.defines })
  local name = state.definition.file
  parse.parse(args[1], name .. " (tpl)", name .. " (tpl)", defines, has_function)
  local inner = { defines = defines, call = state.call, frames = state.frames }
  local out = {}
  exec.run(inner, name .. " (tpl)", args[2], out)
  return without_no_value(table.concat(out))
end

local function call(state, _, name, args)
  if name == "include" then return include(state, args) end
  if name == "tpl" then return tpl(state, args) end
  return functions.call(name, args)
end

local function execute(state, paths, templates)
  local rendered = {}
  for _, path in ipairs(paths) do
    if not path:match("[^/]*$"):match("^_") then
      local template = templates[path]
      template.dot.Template = { Name = path, BasePath = template.base }
      local out = {}
      exec.run(state, path, template.dot, out)
      rendered[path] = without_no_value(table.concat(out))
    end
  end
  return rendered
end

--- Renders all templates of a prepared chart. `release` is the `.Release` map. Returns path → text.
-- Raises { helm = message, file, line, template }.
function M.render(chart, values, release, capabilities)
  local templates, defines = {}, {}
  collect(chart, { Release = release, Capabilities = capabilities }, values, templates)
  local paths = parse_order(templates)
  for _, path in ipairs(paths) do
    parse.parse(templates[path].source, path, path, defines, has_function)
  end
  local state = { defines = defines, call = call, frames = {} }
  local ok, rendered = pcall(execute, state, paths, templates)
  if not ok then error(exec.place(rendered, state.frames), 0) end
  return rendered
end

return M
