--- The values that a chart's templates see: defaults under the user's, globals downwards, null
-- deletes, and which subcharts are on. A port of helm's chartutil, so that the result is helm's.

local go = require "rtl.helm.go"
local null = require "rtl.null"
local semver = require "rtl.helm.semver"

local M = {}

local function is_map(v) return go.kind(v) == "map" end

-- Merging -------------------------------------------------------------------------------------

--- Merges `source` under `target` (which wins). With `merge`, null values stay; else they delete.
local function merge_tables(target, source, merge)
  for _, key in ipairs(go.keys(source)) do
    local value, own = source[key], target[key]
    if own == null and not merge then
      target[key] = nil
    elseif own == nil then
      target[key] = value
    elseif is_map(value) and is_map(own) then
      merge_tables(own, value, merge)
    end
  end
  return target
end

local function is_subchart(chart, key)
  for _, child in ipairs(chart.dependencies) do
    if child.name == key then return true end
  end
  return false
end

-- Puts the chart's own defaults under `values`.
local function add_defaults(chart, values, merge)
  local defaults = go.copy(chart.values)
  for _, key in ipairs(go.keys(defaults)) do
    local value, own = defaults[key], values[key]
    if own == nil then
      values[key] = value
    elseif own == null and not merge then
      values[key] = nil
    elseif is_map(own) and is_map(value) then
      merge_tables(own, value, merge or is_subchart(chart, key))
    end
  end
end

-- Globals of `source` go into `target`, which belongs to a subchart; the parent's win.
local function add_globals(target, source)
  local into, from = target.global, source.global
  if into == nil then into = {} end
  if from == nil then from = {} end
  if not is_map(into) or not is_map(from) then return end
  for _, key in ipairs(go.keys(from)) do
    local value, own = from[key], into[key]
    if is_map(value) then
      local copy = {}
      for k, v in pairs(value) do copy[k] = v end
      if own == nil then
        into[key] = copy
      elseif is_map(own) then
        into[key] = merge_tables(copy, own, true)
      end
    elseif not is_map(own) then
      into[key] = value
    end
  end
  target.global = into
end

local coalesce

local function coalesce_children(chart, values, merge)
  for _, child in ipairs(chart.dependencies) do
    local own = values[child.name]
    if own == nil then own = {} end
    if not is_map(own) then
      go.fail("values: type mismatch on %s: a mapping is needed", child.name)
    end
    values[child.name] = own
    add_globals(own, values)
    coalesce(child, own, merge)
  end
  return values
end

function coalesce(chart, values, merge)
  add_defaults(chart, values, merge)
  return coalesce_children(chart, values, merge)
end

--- The values of a chart and its subcharts with the user's on top. With `merge`, null values stay.
function M.coalesce(chart, user, merge)
  return coalesce(chart, go.copy(user or {}), merge or false)
end

-- Subcharts -----------------------------------------------------------------------------------

--- The value at a dotted path ("image.tag") of nested tables, or nil.
local function path_value(values, path)
  local value = values
  for part in path:gmatch("[^.]+") do
    if not is_map(value) then return nil end
    value = value[part]
  end
  return value
end
M.path_value = path_value

local function apply_tags(dependencies, values)
  local tags = values.tags
  if not is_map(tags) then return end
  for _, dependency in ipairs(dependencies) do
    local yes, no = false, false
    for _, tag in ipairs(dependency.tags or {}) do
      if tags[tag] == true then yes = true elseif tags[tag] == false then no = true end
    end
    dependency.enabled = yes or not no
  end
end

local function apply_conditions(dependencies, values, prefix)
  for _, dependency in ipairs(dependencies) do
    for condition in (dependency.condition or ""):gmatch("[^,]+") do
      local value = path_value(values, prefix .. condition:match("^%s*(.-)%s*$"))
      if type(value) == "boolean" then
        dependency.enabled = value
        break
      end
    end
  end
end

local function copy_chart(chart, parent)
  local copy = {}
  for key, value in pairs(chart) do copy[key] = value end
  copy.parent = parent
  copy.metadata = {}
  for key, value in pairs(chart.metadata) do copy.metadata[key] = value end
  if is_map(chart.metadata.dependencies) or go.kind(chart.metadata.dependencies) == "list" then
    copy.metadata.dependencies = go.copy(chart.metadata.dependencies)
  else
    copy.metadata.dependencies = nil
  end
  copy.dependencies = {}
  for i, child in ipairs(chart.dependencies) do copy.dependencies[i] = copy_chart(child, copy) end
  return copy
end

local function matching(charts, dependency)
  for _, child in ipairs(charts) do
    if child.name == dependency.name and semver.satisfies(child.version,
      dependency.version) ~= false then
      return child
    end
  end
end

local function renamed(chart, child, alias)
  local copy = copy_chart(child, chart)
  if alias and alias ~= "" then copy.name, copy.metadata.name = alias, alias end
  return copy
end

-- The subcharts by the chart's list of dependencies, under their aliases; those not listed come
-- first.
local function listed_children(chart)
  local out = {}
  for _, child in ipairs(chart.dependencies) do
    local listed = false
    for _, dependency in ipairs(chart.metadata.dependencies) do
      listed = listed or child.name == dependency.name
        and semver.satisfies(child.version, dependency.version) ~= false
    end
    if not listed then out[#out + 1] = child end
  end
  for _, dependency in ipairs(chart.metadata.dependencies) do
    local child = matching(chart.dependencies, dependency)
    if child then out[#out + 1] = renamed(chart, child, dependency.alias) end
    if dependency.alias and dependency.alias ~= "" then dependency.name = dependency.alias end
    dependency.enabled = true
  end
  return out
end

local function drop_disabled(chart)
  local off, children, dependencies = {}, {}, {}
  for _, dependency in ipairs(chart.metadata.dependencies) do
    if dependency.enabled then
      dependencies[#dependencies + 1] = dependency
    else
      off[dependency.name] = true
    end
  end
  for _, child in ipairs(chart.dependencies) do
    if not off[child.name] then children[#children + 1] = child end
  end
  chart.dependencies, chart.metadata.dependencies = children, dependencies
end

local function enable(chart, values, prefix)
  if not chart.metadata.dependencies then return end
  chart.dependencies = listed_children(chart)
  local all = M.coalesce(chart, values)
  apply_tags(chart.metadata.dependencies, all)
  apply_conditions(chart.metadata.dependencies, all, prefix)
  drop_disabled(chart)
  for _, child in ipairs(chart.dependencies) do enable(child, all, prefix .. child.name .. ".") end
end

-- import-values
-- --------------------------------------------------------------------------------------------

local function nested(path, value)
  if path == "." then return value end
  local parts = {}
  for part in path:gmatch("[^.]+") do parts[#parts + 1] = part end
  for i = #parts, 1, -1 do value = { [parts[i]] = value } end
  return value
end

local function imported(chart)
  local all, out = M.coalesce(chart, {}, true), {}
  for _, dependency in ipairs(chart.metadata.dependencies) do
    for _, item in ipairs(dependency["import-values"] or {}) do
      local child = type(item) == "table" and tostring(item.child) or "exports." .. tostring(item)
      local parent = type(item) == "table" and tostring(item.parent) or "."
      local value = path_value(all, dependency.name .. "." .. child)
      if is_map(value) then merge_tables(out, go.copy(nested(parent, value)), true) end
    end
  end
  return all, out
end

local function import(chart)
  for _, child in ipairs(chart.dependencies) do import(child) end
  if not chart.metadata.dependencies then return end
  local all, extra = imported(chart)
  chart.values = merge_tables(go.copy(all), extra, true)
end

--- A copy of the chart with only the subcharts that are on, and the values its templates see.
function M.prepare(chart, user)
  local values = go.floats(user or {})
  local copy = copy_chart(chart, nil)
  enable(copy, values, "")
  import(copy)
  return copy, M.coalesce(copy, values)
end

return M
