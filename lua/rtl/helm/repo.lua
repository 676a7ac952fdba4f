--- Charts from a repository over HTTP: index, version, archive checked against its digest.

local chart = require "rtl.helm.chart"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local semver = require "rtl.helm.semver"
local wire = require "rtl.wire"
local yaml = require "rtl.native.yaml"

local M = {}

local MAX_REDIRECTS = 5
local MAX_INDEX = 64 << 20
local MAX_CHART = 64 << 20

--- `reference` as seen from `base`, an absolute URL.
local function resolve(base, reference)
  if reference:match("^%a[%w+.-]*://") then return reference end
  local origin, path = base:match("^(%a[%w+.-]*://[^/?#]+)([^?#]*)")
  if reference:sub(1, 2) == "//" then return base:match("^(%a[%w+.-]*:)") .. reference end
  if reference:sub(1, 1) == "/" then return origin .. reference end
  return origin .. path:gsub("[^/]*$", "") .. reference
end

local function get(url, limit)
  for _ = 0, MAX_REDIRECTS do
    local res, problem = wire.request { url = url, max_body = limit, gzip = true }
    if not res then return nil, err.wrap(problem, { doing = "fetch " .. url }) end
    if res.status == 200 then return res.body end
    local target = res.status >= 301 and res.status <= 308 and res.headers.location
    if not target then
      return nil, err.new { code = "RTL-HELM-001", message = "the repository refuses",
        status = res.status,
        doing = "fetch " .. url }
    end
    local next_url = resolve(url, target)
    if url:match("^https:") and not next_url:match("^https:") then
      return nil, err.new { code = "RTL-HELM-001", message = "redirected away from https",
        doing = "fetch " .. url }
    end
    url = next_url
  end
  return nil, err.new { code = "RTL-HELM-001", message = "too many redirects", doing = "fetch "
    .. url }
end

local function matches(version, wanted)
  local parsed = semver.parse(version)
  if not parsed then return false end
  if wanted == nil then return parsed.pre == "" end
  if version == wanted or version:gsub("^v", "") == wanted:gsub("^v", "") then return true end
  return semver.satisfies(version, wanted) == true
end

-- The newest entry of a chart that fits.
local function choose(entries, wanted)
  local best
  for _, entry in ipairs(entries) do
    local version = tostring(entry.version)
    if version == wanted then return entry end
    if matches(version, wanted) then
      local parsed = semver.parse(version)
      if not best or semver.compare(parsed, best.parsed) > 0 then
        best = { entry = entry, parsed = parsed }
      end
    end
  end
  return best and best.entry
end

local function known_versions(entries)
  local out = {}
  for i = 1, math.min(#entries, 5) do out[i] = tostring(entries[i].version) end
  return table.concat(out, ", ")
end

-- The entries of a chart, or nil; what is no entry is left out.
local function entries_of(index, name)
  local listed = type(index.entries) == "table" and index.entries[name]
  if type(listed) ~= "table" then return nil end
  local entries = {}
  for _, entry in ipairs(listed) do
    if type(entry) == "table" then entries[#entries + 1] = entry end
  end
  return entries
end

local function entry_of(index, args)
  local entries = entries_of(index, args.name)
  if not entries then
    return nil, err.new { code = "RTL-HELM-001", message = "the repository has no chart "
      .. args.name,
      doing = "fetch " .. args.repo }
  end
  local entry = choose(entries, args.version)
  if entry and type(entry.urls) == "table" and type(entry.urls[1]) == "string" then return entry end
  return nil, err.new { code = "RTL-HELM-001", doing = "fetch " .. args.repo,
    message = ("no version %s of chart %s"):format(args.version or "that is no pre-release",
      args.name),
    hint = "the newest are " .. known_versions(entries) }
end

local function checked(bytes, entry, url)
  local digest = crypto.sha256_hex(bytes)
  local wanted = type(entry.digest) == "string" and entry.digest:gsub("^sha256:", ""):lower()
  if wanted and wanted ~= "" and wanted ~= digest then
    return nil, err.new { code = "RTL-HELM-003",
      message = "the archive is not what the index promised: sha256 "
      .. digest .. " instead of " .. wanted, doing = "fetch " .. url }
  end
  return digest
end

--- Fetches chart `args.name` of `args.repo` in `args.version` (exact, a constraint, or nil for the
-- newest that is no pre-release).
function M.fetch(args)
  local base = args.repo:gsub("/*$", "/")
  local text, problem = get(base .. "index.yaml", MAX_INDEX)
  if not text then return nil, problem end
  local index, trouble = yaml.decode(text)
  if type(index) ~= "table" then
    return nil, err.new { code = "RTL-HELM-001", message = "the index can't be read",
      cause = err.is(trouble) and trouble or nil, -- else yaml's list of warnings
      doing = "fetch " .. base .. "index.yaml" }
  end
  local entry, missing = entry_of(index, args)
  if not entry then return nil, missing end
  local url = resolve(base, entry.urls[1])
  local bytes, refused = get(url, MAX_CHART)
  if not bytes then return nil, refused end
  local digest, wrong = checked(bytes, entry, url)
  if not digest then return nil, wrong end
  local loaded, bad = chart.from_archive(bytes, url)
  if not loaded then return nil, bad end
  loaded.digest, loaded.url = digest, url
  return loaded
end

return M
