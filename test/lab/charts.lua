-- Writes a chart repository (index.yaml and archives) to a folder: the three charts of the
-- rehearsed world, the operator's with KubeRay's own definitions in place of the world's slim ones.
--
--   rtl test/lab/charts.lua FOLDER DEFINITIONS-FOLDER
--
-- All three lie in one repository here; to rtl and helm that is no difference.
local archive = require "rtl.native.archive"
local charts = require "rtl.rehearse.charts"
local crypto = require "rtl.native.crypto"
local fs = require "rtl.fs"
local keys = require "rtl.keys"
local yaml = require "rtl.native.yaml"

local folder, definitions = arg[1], arg[2]

local function with_real_definitions(files)
  for name in pairs(files) do
    local file = name:match("^crds/(.*)$")
    if file then files[name] = assert(fs.read(fs.join(definitions, file))) end
  end
  return files
end

local function pack(name, files)
  local writer = archive.writer { gzip = true }
  for path, text in keys.pairs(files) do writer:add(name .. "/" .. path, text) end
  return writer:finish():take()
end

local function write(chart, version)
  local files = with_real_definitions(chart.files(version, chart.versions[version]))
  local bytes = pack(chart.name, files)
  local file = ("%s-%s.tgz"):format(chart.name, version)
  assert(fs.write(fs.join(folder, file), bytes))
  local entry = assert(yaml.decode(files["Chart.yaml"]))
  entry.urls, entry.digest, entry.created = { file }, crypto.sha256_hex(bytes),
    "2026-01-01T00:00:00Z"
  return entry
end

assert(fs.mkdirs(folder))
local entries = {}
for _, chart in ipairs(charts.all()) do
  entries[chart.name] = {}
  for version in keys.pairs(chart.versions) do
    table.insert(entries[chart.name], 1, write(chart, version))
  end
end
assert(fs.write(fs.join(folder, "index.yaml"),
  yaml.encode { apiVersion = "v1", generated = "2026-01-01T00:00:00Z", entries = entries }))
