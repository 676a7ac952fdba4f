--- Values against a chart's values.schema.json: the part of JSON Schema that charts use (draft 4 to
-- 7 and the plain words of later ones). A word that is not known here and could refuse values is an
-- error, not a pass.

local array = require "rtl.array"
local err = require "rtl.err"
local go = require "rtl.helm.go"
local json = require "rtl.native.json"
local re2 = require "rtl.helm.re2"

local M = {}

-- Words that say nothing about which values are right.
local SILENT = {}
for word in ([[$schema $id id $comment title description default examples definitions $defs format
  deprecated readOnly writeOnly contentEncoding contentMediaType $anchor]]):gmatch("%S+") do
  SILENT[word] = true
end

local check

local function problem(path, format, ...)
  return (path == "" and "(root)" or path) .. ": " .. format:format(...)
end

local function at(path, key)
  return path == "" and tostring(key) or path .. "." .. tostring(key)
end

local function is_number(v) return type(v) == "number" end

local function is_type(v, name)
  local kind = go.kind(v)
  if name == "object" then return kind == "map" end
  if name == "array" then return kind == "list" end
  if name == "null" then return kind == "nil" end
  if name == "boolean" then return kind == "bool" end
  if name == "integer" then return is_number(v) and v == math.floor(v) end
  if name == "number" then return is_number(v) end
  return kind == name
end

local function same(a, b)
  if is_number(a) and is_number(b) then return a == b end
  return go.equal(go.floats(a), go.floats(b))
end

local function length(s) return utf8.len(s) or #s end

local words = {}

function words.type(v, wanted, path)
  for _, name in ipairs(type(wanted) == "table" and wanted or { wanted }) do
    if is_type(v, name) then return end
  end
  local names = type(wanted) == "table" and table.concat(wanted, " or ") or wanted
  return problem(path, "must be %s", names)
end

function words.enum(v, list, path)
  for _, item in ipairs(list) do
    if same(v, item) then return end
  end
  return problem(path, "must be one of the values that the schema lists")
end

function words.const(v, wanted, path)
  if not same(v, wanted) then return problem(path, "must be %s", tostring(wanted)) end
end

local function bound(test, text)
  return function (v, limit, path)
    if is_number(v) and is_number(limit) and not test(v, limit) then
      return problem(path, text, go.print_value(limit))
    end
  end
end

words.minimum = bound(function (v, limit) return v >= limit end, "must be at least %s")
words.maximum = bound(function (v, limit) return v <= limit end, "must be at most %s")
words.exclusiveMinimum = bound(function (v, limit) return v > limit end, "must be over %s")
words.exclusiveMaximum = bound(function (v, limit) return v < limit end, "must be under %s")
words.multipleOf = bound(function (v, step) return v / step == math.floor(v / step) end,
  "must be a multiple of %s")

local function sized(applies, size, test, text)
  return function (v, limit, path)
    if applies(v) and not test(size(v), limit) then
      return problem(path, text, go.print_value(limit))
    end
  end
end

local function is_string(v) return type(v) == "string" end
local function is_list(v) return go.kind(v) == "list" end
local function is_map(v) return go.kind(v) == "map" end
local function count(list) return #list end
local function fields(map) return #go.keys(map) end
local function no_less(a, b) return a >= b end
local function no_more(a, b) return a <= b end

words.minLength = sized(is_string, length, no_less, "must have at least %s characters")
words.maxLength = sized(is_string, length, no_more, "must have at most %s characters")
words.minItems = sized(is_list, count, no_less, "must have at least %s items")
words.maxItems = sized(is_list, count, no_more, "must have at most %s items")
words.minProperties = sized(is_map, fields, no_less, "must have at least %s fields")
words.maxProperties = sized(is_map, fields, no_more, "must have at most %s fields")

function words.pattern(v, pattern, path)
  if is_string(v) and #re2.find_all(re2.compile(pattern), v, 1) == 0 then
    return problem(path, "does not match %s", pattern)
  end
end

function words.uniqueItems(v, wanted, path)
  if not wanted or not is_list(v) then return end
  for i = 1, #v do
    for j = i + 1, #v do
      if same(v[i], v[j]) then return problem(path, "must not have equal items") end
    end
  end
end

function words.required(v, names, path)
  if not is_map(v) then return end
  for _, name in ipairs(type(names) == "table" and names or {}) do
    if v[name] == nil then return problem(path, "%s is required", name) end
  end
end

function words.properties(v, schemas, path, root)
  if not is_map(v) then return end
  for _, name in ipairs(go.keys(schemas)) do
    local wrong = v[name] ~= nil and check(v[name], schemas[name], at(path, name), root)
    if wrong then return wrong end
  end
end

-- The schemas of patternProperties whose pattern fits a name.
local function by_pattern(schema, name)
  local found = {}
  for _, pattern in ipairs(go.keys(is_map(schema.patternProperties) and schema.patternProperties
    or {})) do
    if #re2.find_all(re2.compile(pattern), name, 1) > 0 then
      found[#found + 1] = schema.patternProperties[pattern]
    end
  end
  return found
end

function words.patternProperties(v, _, path, root, schema)
  for _, name in ipairs(is_map(v) and go.keys(v) or {}) do
    for _, inner in ipairs(by_pattern(schema, name)) do
      local wrong = check(v[name], inner, at(path, name), root)
      if wrong then return wrong end
    end
  end
end

function words.additionalProperties(v, rule, path, root, schema)
  for _, name in ipairs(is_map(v) and go.keys(v) or {}) do
    local known = is_map(schema.properties) and schema.properties[name] ~= nil
      or #by_pattern(schema, name) > 0
    if not known then
      if rule == false then return problem(path, "Additional property %s is not allowed", name) end
      local wrong = check(v[name], rule, at(path, name), root)
      if wrong then return wrong end
    end
  end
end

function words.propertyNames(v, schema, path, root)
  for _, name in ipairs(is_map(v) and go.keys(v) or {}) do
    local wrong = check(name, schema, at(path, name), root)
    if wrong then return wrong end
  end
end

function words.items(v, schema, path, root)
  if not is_list(v) then return end
  for i, item in ipairs(v) do
    local inner = array.is(schema) and schema[i] or not array.is(schema) and schema
    local wrong = inner and check(item, inner, at(path, i - 1), root)
    if wrong then return wrong end
  end
end

function words.allOf(v, schemas, path, root)
  for _, schema in ipairs(schemas) do
    local wrong = check(v, schema, path, root)
    if wrong then return wrong end
  end
end

local function passes(v, schemas, path, root)
  local passed, first = 0, nil
  for _, schema in ipairs(schemas) do
    local wrong = check(v, schema, path, root)
    if wrong then first = first or wrong else passed = passed + 1 end
  end
  return passed, first
end

function words.anyOf(v, schemas, path, root)
  local passed, first = passes(v, schemas, path, root)
  if passed == 0 then return problem(path, "fits none of the alternatives (%s)", first) end
end

function words.oneOf(v, schemas, path, root)
  local passed = passes(v, schemas, path, root)
  if passed ~= 1 then return problem(path, "must fit exactly one alternative, fits %d", passed) end
end

words["not"] = function (v, schema, path, root)
  if not check(v, schema, path, root) then return problem(path, "is what the schema excludes") end
end

words["if"] = function (v, condition, path, root, schema)
  local branch = schema["then"]
  if check(v, condition, path, root) then branch = schema["else"] end
  if branch ~= nil then return check(v, branch, path, root) end
end
words["then"] = function () end
words["else"] = words["then"]

words["$ref"] = function (v, reference, path, root)
  local target = root
  if not reference:match("^#") then go.fail("schema: $ref %s is not supported", reference) end
  for part in reference:sub(2):gmatch("[^/]+") do
    part = part:gsub("~1", "/"):gsub("~0", "~")
    target = type(target) == "table" and target[part]
    if target == nil or target == false then go.fail("schema: $ref %s leads nowhere", reference) end
  end
  return check(v, target, path, root)
end

--- What is wrong with `v`, or nil.
function check(v, schema, path, root)
  if schema == true then return nil end
  if schema == false then return problem(path, "must not be there") end
  if not is_map(schema) then go.fail("schema: %s is no schema", path) end
  for _, word in ipairs(go.keys(schema)) do
    local test = words[word]
    if not test and not SILENT[word] then go.fail("schema: %q is not supported", word) end
    local wrong = test and test(v, schema[word], path, root, schema)
    if wrong then return wrong end
  end
end

local function check_chart(chart, values)
  if chart.schema then
    local schema, bad = json.decode(chart.schema)
    if schema == nil then go.fail("schema: %s", tostring(bad)) end
    local wrong = check(values, schema, "", schema)
    if wrong then return chart.name .. ": " .. wrong end
  end
  for _, child in ipairs(chart.dependencies) do
    local wrong = check_chart(child, values[child.name] or {})
    if wrong then return wrong end
  end
end

--- Checks the values of a prepared chart and its subcharts against their schemas: true | nil, err
-- RTL-HELM-009. Raises { helm } for a schema that can't be read.
function M.check(chart, values)
  local wrong = check_chart(chart, values)
  if not wrong then return true end
  return nil, err.new { code = "RTL-HELM-009", message = wrong, doing = "check the values of "
    .. chart.name }
end

return M
