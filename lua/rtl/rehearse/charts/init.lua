--- The chart repositories of a world: three hosts with an index and archives that are made here, at
-- run time, with the names, values and objects that the real charts have.

local archive = require "rtl.native.archive"
local crypto = require "rtl.native.crypto"

local M = {}

-- Repository (host and first path step) → module with its chart.
local REPOSITORIES = {
  ["ray-project.github.io/kuberay-helm"] = "kuberay",
  ["nvidia.github.io/k8s-device-plugin"] = "nvidia",
  ["aws.github.io/eks-charts"] = "efa",
}

local HOSTS = {}
for place in pairs(REPOSITORIES) do HOSTS[place:match "^[^/]+"] = true end

--- Whether a host is one of the repositories'.
function M.host(host)
  return HOSTS[host] == true
end

local function sorted_paths(files)
  local paths = {}
  for path in pairs(files) do paths[#paths + 1] = path end
  table.sort(paths)
  return paths
end

local function pack(name, files)
  local writer = archive.writer { gzip = true }
  for _, path in ipairs(sorted_paths(files)) do writer:add(name .. "/" .. path, files[path]) end
  writer:finish()
  return writer:take()
end

local packed = {}

--- The archive of a chart: bytes. `chart` is a module of this folder, `version` one of its
-- versions.
function M.archive(chart, version)
  local key = chart.name .. " " .. version
  if not packed[key] then
    packed[key] = pack(chart.name, chart.files(version, chart.versions[version]))
  end
  return packed[key]
end

local function sorted_versions(chart)
  local list = {}
  for version in pairs(chart.versions) do list[#list + 1] = version end
  table.sort(list, function (a, b) return a > b end)
  return list
end

local function file_name(chart, version)
  return ("%s-%s.tgz"):format(chart.name, version)
end

local function index(chart)
  local lines = { "apiVersion: v1", "entries:", "  " .. chart.name .. ":" }
  for _, version in ipairs(sorted_versions(chart)) do
    lines[#lines + 1] = ('  - {apiVersion: v2, name: %s, version: "%s", appVersion: "%s", '
      .. 'digest: %s, urls: ["%s"]}'):format(chart.name, version, chart.versions[version],
      crypto.sha256_hex(M.archive(chart, version)), file_name(chart, version))
  end
  return table.concat(lines, "\n") .. "\n"
end

local function not_found()
  return { status = 404, body = "404: Not Found", content_type = "text/plain" }
end

--- Answers a GET to a repository.
function M.answer(_, request)
  local step, rest = request.url.path:match "^/([^/]+)/+(.*)$"
  local name = step and REPOSITORIES[request.url.host .. "/" .. step]
  if not name or request.method ~= "GET" then return not_found() end
  local chart = require("rtl.rehearse.charts." .. name)
  if rest == "index.yaml" then
    return { status = 200, body = index(chart), content_type = "text/yaml" }
  end
  for version in pairs(chart.versions) do
    if rest == file_name(chart, version) then
      return { status = 200, body = M.archive(chart, version), content_type = "application/gzip" }
    end
  end
  return not_found()
end

--- All charts, for who wants their archives elsewhere: array of modules with name, versions, files.
function M.all()
  return { require "rtl.rehearse.charts.efa", require "rtl.rehearse.charts.kuberay",
           (require "rtl.rehearse.charts.nvidia") }
end

return M
