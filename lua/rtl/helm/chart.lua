--- Charts in memory: from a folder or a tgz, with their subcharts. A chart is { name, version,
-- app_version, metadata, values, templates = { {name, data}… }, files, schema, lock, dependencies =
-- { chart… }, parent }.

local archive = require "rtl.native.archive"
local err = require "rtl.err"
local fs = require "rtl.fs"
local go = require "rtl.helm.go"
local null = require "rtl.null"
local semver = require "rtl.helm.semver"
local yaml = require "rtl.native.yaml"

local M = {}

local function bad(code, message, fields)
  fields = fields or {}
  fields.code, fields.message = code, message
  return nil, err.new(fields)
end

-- A scalar of Chart.yaml where a string is wanted, as helm's reader makes it.
local function text_of(v)
  if v == nil or v == null then return "" end
  if type(v) == "string" then return v end
  if math.type(v) == "float" then return go.float_text(v, -4, 21) end
  return tostring(v)
end

local string_fields = { "name", "home", "version", "description", "icon", "apiVersion", "condition",
  "tags",
  "appVersion", "kubeVersion", "type" }

local types = { [""] = true, application = true, library = true }

-- What helm refuses in Chart.yaml.
local function what_is_wrong(metadata)
  for _, field in ipairs { "name", "version" } do
    if (metadata[field] or "") == "" then return field .. " is missing" end
  end
  if metadata.name:find("[/\\]") or metadata.name:match("^%.+$") then
    return ("name %q is no name"):format(metadata.name)
  end
  if not semver.parse(metadata.version) then
    return ("version %q is no version"):format(metadata.version)
  end
  if not types[metadata.type or ""] then return "type must be application or library" end
end

local function read_metadata(data, label)
  local metadata, problem = yaml.decode(data)
  if type(metadata) ~= "table" then
    return bad("RTL-HELM-002", label .. " can't be read as YAML", { cause = problem })
  end
  for _, field in ipairs(string_fields) do
    if metadata[field] ~= nil then metadata[field] = text_of(metadata[field]) end
  end
  for _, dependency in ipairs(type(metadata.dependencies) == "table" and metadata.dependencies
    or {}) do
    dependency.version = text_of(dependency.version)
  end
  if metadata.apiVersion == nil or metadata.apiVersion == "" then metadata.apiVersion = "v1" end
  local wrong = what_is_wrong(metadata)
  if wrong then return bad("RTL-HELM-002", label .. ": " .. wrong) end
  return metadata
end

local function read_values(data, label)
  local values, problem = yaml.decode(data)
  if values == nil and problem then
    return bad("RTL-HELM-002", label .. " can't be read as YAML", { cause = problem })
  end
  if values == nil or values == null then return {} end
  if go.kind(values) ~= "map" then return bad("RTL-HELM-002", label .. " is not a mapping") end
  return go.floats(values)
end

local function subchart_files(files)
  local groups, names = {}, {}
  for _, file in ipairs(files) do
    local rest = file.name:match("^charts/(.+)$")
    if rest and not rest:match("%.prov$") then
      local name = rest:match("^[^/]+")
      if not groups[name] then
        groups[name] = {}
        names[#names + 1] = name
      end
      table.insert(groups[name], { name = rest, data = file.data })
    end
  end
  table.sort(names)
  return groups, names
end

local from_files

local function load_subchart(name, files, label)
  if name:match("%.tgz$") then return M.from_archive(files[1].data, label .. "/charts/" .. name) end
  local inner = {}
  for _, file in ipairs(files) do
    local rest = file.name:match("^[^/]+/(.+)$")
    if rest then inner[#inner + 1] = { name = rest, data = file.data } end
  end
  return from_files(inner, label .. "/charts/" .. name)
end

local function add_subcharts(chart, files, label)
  local groups, names = subchart_files(files)
  for _, name in ipairs(names) do
    if not name:match("^[_.]") then
      local child, problem = load_subchart(name, groups[name], label)
      if not child then return nil, problem end
      child.parent = chart
      table.insert(chart.dependencies, child)
    end
  end
  return chart
end

-- Puts one file of the chart where it belongs.
local function place(chart, file, label)
  local name = file.name
  if name == "Chart.yaml" or name:match("^charts/") and not name:match("%.prov$") then
    return true
  end
  if name == "Chart.lock" then
    chart.lock = yaml.decode(file.data)
  elseif name == "values.yaml" then
    local values, problem = read_values(file.data, label .. "/values.yaml")
    if not values then return nil, problem end
    chart.values = values
  elseif name == "values.schema.json" then
    chart.schema = file.data
  elseif name == "requirements.yaml" then
    local extra = yaml.decode(file.data)
    chart.metadata.dependencies = type(extra) == "table" and extra.dependencies or nil
    table.insert(chart.files, file)
  elseif name:match("^templates/") then
    table.insert(chart.templates, file)
  else
    table.insert(chart.files, file)
  end
  return true
end

--- Builds a chart from its files: { {name = path inside the chart, data = bytes}… }.
function from_files(files, label)
  local metadata, problem
  for _, file in ipairs(files) do
    file.data = file.data:gsub("^\u{FEFF}", "")
    if file.name == "Chart.yaml" then
      metadata, problem = read_metadata(file.data, label .. "/Chart.yaml")
      if not metadata then return nil, problem end
    end
  end
  if not metadata then return bad("RTL-HELM-002", label .. ": Chart.yaml is missing") end
  local chart = { name = metadata.name, version = metadata.version,
    app_version = metadata.appVersion or "",
    metadata = metadata, values = {}, templates = {}, files = {}, dependencies = {} }
  for _, file in ipairs(files) do
    local ok, trouble = place(chart, file, label)
    if not ok then return nil, trouble end
  end
  return add_subcharts(chart, files, label)
end
M.from_files = from_files

--- Reads a chart from the bytes of a tgz. `label` names it in errors.
function M.from_archive(bytes, label)
  local reader, problem = archive.reader { data = bytes }
  if not reader then
    return bad("RTL-HELM-002", label .. " is no chart archive", { cause = problem })
  end
  local files = {}
  while true do
    local entry, trouble = reader:next()
    if not entry then
      problem = trouble
      break
    end
    local name = entry.name:gsub("^%./", ""):match("^[^/]+/(.+)$")
    if entry.type == "file" and name then
      local parts = {}
      for chunk in function () return reader:read() end do parts[#parts + 1] = chunk end
      files[#files + 1] = { name = name, data = table.concat(parts) }
    end
  end
  reader:close()
  if problem then
    return bad("RTL-HELM-002", label .. " is no chart archive", { cause = problem })
  end
  return from_files(files, label)
end

-- .helmignore
-- --------------------------------------------------------------------------------------------

local function glob_pattern(glob)
  local out = glob:gsub("[%^%$%(%)%%%.%+%-]", "%%%0"):gsub("%*", "[^/]*"):gsub("%?", "[^/]")
  return "^" .. out .. "$"
end

local function ignore_rules(text)
  local rules = {}
  for line in (text .. "\ntemplates/.?*\n"):gmatch("([^\n]*)\n") do
    local rule = line:match("^%s*(.-)%s*$")
    if rule ~= "" and rule:sub(1, 1) ~= "#" then
      local negate, rest = rule:match("^(!?)(.*)$")
      local directory = rest:match("/$") ~= nil
      rest = rest:gsub("/$", "")
      rules[#rules + 1] = { negate = negate == "!", directory = directory,
        whole = rest:find("/", 1, true) ~= nil,
        pattern = glob_pattern((rest:gsub("^/", ""))) }
    end
  end
  return rules
end

local function ignored(rules, path, is_directory)
  for _, rule in ipairs(rules) do
    local subject = rule.whole and path or path:match("[^/]+$")
    local matches = subject:match(rule.pattern) ~= nil
    if rule.negate then
      if rule.directory and not is_directory or not matches then return true end
    elseif matches and (not rule.directory or is_directory) then
      return true
    end
  end
  return false
end

local function walk(root, prefix, rules, files)
  for _, name in ipairs(assert(fs.list(fs.join(root, prefix)))) do
    local path = prefix == "" and name or prefix .. "/" .. name
    local info = assert(fs.stat(fs.join(root, path), true))
    local is_directory = info.type == "directory"
    if not ignored(rules, path, is_directory) then
      if is_directory then
        walk(root, path, rules, files)
      else
        files[#files + 1] = { name = path, data = assert(fs.read(fs.join(root, path))) }
      end
    end
  end
end

--- Reads a chart from a folder or a tgz on disk.
function M.load(path)
  local info, problem = fs.stat(path, true)
  if not info then return bad("RTL-HELM-001", "no chart at " .. path, { cause = problem }) end
  if info.type ~= "directory" then
    local bytes, trouble = fs.read(path)
    if not bytes then return nil, trouble end
    return M.from_archive(bytes, path)
  end
  local ignore = fs.join(path, ".helmignore")
  local rules = ignore_rules(fs.exists(ignore) and assert(fs.read(ignore)) or "")
  local files = {}
  walk(path, "", rules, files)
  return from_files(files, path)
end

--- The path of a chart from its root, as helm names template files: "parent/charts/child".
function M.full_path(chart)
  if not chart.parent then return chart.name end
  return M.full_path(chart.parent) .. "/charts/" .. chart.name
end

--- The files of crds/ of a chart and its subcharts: array of { file = full path, data }.
function M.crd_files(chart, out)
  out = out or {}
  for _, file in ipairs(chart.files) do
    if file.name:match("^crds/") and file.name:match("%.ya?ml$")
      or file.name:match("^crds/.*%.json$") then
      out[#out + 1] = { file = M.full_path(chart) .. "/" .. file.name, data = file.data }
    end
  end
  for _, child in ipairs(chart.dependencies) do M.crd_files(child, out) end
  return out
end

return M
