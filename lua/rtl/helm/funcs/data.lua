--- Template functions that read and write data formats, hashes and versions.

local array = require "rtl.array"
local crypto = require "rtl.native.crypto"
local go = require "rtl.helm.go"
local gojson = require "rtl.helm.gojson"
local goyaml = require "rtl.helm.goyaml"
local json = require "rtl.native.json"
local semver = require "rtl.helm.semver"
local yaml = require "rtl.native.yaml"

local F = {}

local function read(decode, text)
  local value, problem = decode(text)
  if problem and value == nil then return nil, problem.message or tostring(problem) end
  return go.floats(value)
end

-- helm's fromYaml and fromJson put an error into the map that they return.
local function map_reader(decode)
  return function (text)
    local value, problem = read(decode, text)
    if problem then return { Error = problem } end
    if go.kind(value) == "nil" then return {} end
    if go.kind(value) ~= "map" then
      return { Error = "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
        .. go.kind(value) .. " into Go value of type map[string]interface {}" }
    end
    return value
  end
end

local function list_reader(decode)
  return function (text)
    local value, problem = read(decode, text)
    if problem then return array { problem } end
    if go.kind(value) ~= "list" then return array {} end
    return value
  end
end

-- sprig's mustFromJson raises; any value is fine.
local function must_from_json(text)
  local value, problem = read(json.decode, text)
  if problem then go.fail("%s", problem) end
  return value
end

local function to_yaml(v) return (goyaml.encode(v):gsub("\n$", "")) end

F.toYaml = { "a", to_yaml }
F.mustToYaml = F.toYaml
F.fromYaml = { "s", map_reader(yaml.decode) }
F.fromYamlArray = { "s", list_reader(yaml.decode) }
F.toJson = { "a", function (v) return gojson.encode(v) end }
F.mustToJson = F.toJson
F.toPrettyJson = { "a", function (v) return gojson.encode(v, { step = "  " }) end }
F.mustToPrettyJson = F.toPrettyJson
F.toRawJson = { "a", function (v) return gojson.encode(v, { html = false }) end }
F.mustToRawJson = F.toRawJson
F.fromJson = { "s", map_reader(json.decode) }
F.fromJsonArray = { "s", list_reader(json.decode) }
F.mustFromJson = { "s", must_from_json }
F.b64enc = { "s", crypto.base64_encode }
F.b64dec = { "s", function (s)
  local bytes = crypto.base64_decode(s)
  return bytes or go.fail("b64dec: illegal base64 data")
end }
F.sha256sum = { "s", crypto.sha256_hex }

-- The object that `semver` gives: .Major, .Minor, .Patch, .Prerelease, .Metadata, .Original,
-- .Compare.
local function version_object(text)
  local v = semver.parse(text)
  if not v then go.fail("Invalid Semantic Version") end
  local function getter(value) return function () return value end end
  return go.object({ parsed = v }, "struct", "*semver.Version", {
    Major = getter(v.major), Minor = getter(v.minor), Patch = getter(v.patch),
      Prerelease = getter(v.pre),
    Metadata = getter(v.build), Original = getter(v.original), String = getter(semver.text(v)),
    Compare = function (_, other) return semver.compare(v, other.parsed) end,
    LessThan = function (_, other) return semver.compare(v, other.parsed) < 0 end,
    GreaterThan = function (_, other) return semver.compare(v, other.parsed) > 0 end,
    Equal = function (_, other) return semver.compare(v, other.parsed) == 0 end,
  }, function () return semver.text(v) end)
end

F.semver = { "s", version_object }
F.semverCompare = { "ss", function (constraint, version)
  local ok = semver.satisfies(version, constraint)
  if ok == nil then go.fail("improper constraint or version: %q, %q", constraint, version) end
  return ok
end }

return F
