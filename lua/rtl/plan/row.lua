--- What a plan says about one resource, and how it is decided. Used by the plan and again by
-- apply, when what was unknown has become known.

local compare = require "rtl.plan.compare"
local err = require "rtl.err"
local keys = require "rtl.keys"
local ref = require "rtl.ref"

local M = {}

--- The fields of a resource with references resolved by `lookup(key, output)`; a field that needs
-- an unknown output is left out and listed: returns fields, { field = {"vpc/main.id"} }.
function M.resolve(res, lookup)
  local fields, unknown = {}, {}
  for _, field in ipairs(keys.sorted(res.fields)) do
    local value, missing = ref.resolve(res.fields[field], lookup)
    if #missing > 0 then unknown[field] = missing else fields[field] = value end
  end
  return fields, unknown
end

--- The differences of what lives from what is wanted: array of {field, want, have} | nil, err.
function M.differences(ctx, res, fields, live)
  local kind = res.kind
  if kind.diff then return kind.diff(ctx, res, fields, live) end
  return compare.fields(kind.compare or {}, fields, live)
end

local function describe(change)
  local have, want = compare.show(change.have), compare.show(change.want)
  return ("%s: %s → %s"):format(change.field, have, want)
end

local function replace_reason(kind, changes)
  if type(kind.replace_when) == "function" then return kind.replace_when(changes) end
  for _, change in ipairs(changes) do
    for _, field in ipairs(kind.replace_when or {}) do
      if change.field == field then return field .. " can't be changed on a living one" end
    end
  end
end

local function refuse(row, code, message, hint)
  row.problem = err.new { code = code, message = message, hint = hint, exit = "refused",
    doing = row.resource.key }
end

-- What rtl did not make, given or found here, is used and checked, never changed.
local function decide_foreign(row, changes, action, what)
  row.action = action
  if #changes == 0 then return end
  local texts = {}
  for _, change in ipairs(changes) do texts[#texts + 1] = describe(change) end
  refuse(row, "RTL-PLAN-007", ("%s and does not fit: %s"):format(what, table.concat(texts, "; ")),
    "rtl never changes what it did not make: change it yourself, or give another")
end

local function decide_replace(row, reason)
  row.action = "replace"
  table.insert(row.reasons, 1, reason)
  -- In what failed to come about nothing can stand.
  if row.resource.kind.replaceable == false and not row.live.failed then
    refuse(row, "RTL-PLAN-008",
      "would have to be replaced, but other things stand in it: " .. reason,
      "Tear the deployment down first, or take the change back")
  end
end

local function decide_existing(ctx, row, fields)
  local res, live = row.resource, row.live
  local changes, failure = M.differences(ctx, res, fields, live)
  if not changes then
    row.action, row.problem = "unknown", failure
    return
  end
  if res.given then return decide_foreign(row, changes, "given", res.given .. " was given") end
  if live.ours == false then
    row.reasons[1] = "is there already, made by others"
    return decide_foreign(row, changes, "none", tostring(live.id) .. " is not ours")
  end
  row.changes = changes
  for _, change in ipairs(changes) do row.reasons[#row.reasons + 1] = describe(change) end
  local reason = live.failed or replace_reason(res.kind, changes)
  if reason then return decide_replace(row, reason) end
  row.action = #changes > 0 and "change" or (next(row.unknown) and "unknown" or "none")
  if live.ready == false then row.reasons[#row.reasons + 1] = "still being made" end
end

local function decide_absent(row)
  local res = row.resource
  if res.given then
    row.action = "given"
    return refuse(row, "RTL-PLAN-006", res.given .. " was given, but there is no such "
      .. res.kind_name:gsub("_", " "), "Check the id, the region and the account")
  end
  row.action = res.kind.ephemeral and "check" or "create"
end

--- Decides a row: sets action, reasons, changes, unknown, problem. `row.live` is what read()
-- found (nil: absent); `lookup` knows outputs.
function M.decide(ctx, row, lookup)
  local fields, unknown = M.resolve(row.resource, lookup)
  row.unknown, row.reasons, row.changes, row.problem = unknown, {}, {}, nil
  if row.live then decide_existing(ctx, row, fields) else decide_absent(row) end
  for _, field in ipairs(keys.sorted(unknown)) do
    row.reasons[#row.reasons + 1] = ("%s: known once %s is made")
      :format(field, table.concat(unknown[field], ", "))
  end
  if row.note then row.reasons[#row.reasons + 1] = row.note end
  return row
end

return M
