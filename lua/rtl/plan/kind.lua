--- What a kind of resource is: its shape, and the constructor that recipes call.
--
--   local vpc = require "rtl.kinds.vpc"
--   local net = vpc "main" { cidr = "10.42.0.0/16", after = other }
--   subnet "a" { vpc_id = net.id, … }
--
-- The engine (rtl.plan) knows kinds by this shape only:
--
--   name, outputs, fields   text; list of outputs; field = type ("string", "integer", "number",
--                           "boolean", "list", "table", "any"; "?" after it: may be absent)
--   identity                fields that name the thing; they may hold no reference
--   reads_with              fields that read() needs
--   early                   fields whose target need only have been made, not be ready yet
--   within                  fields whose target holds this one: where that does not exist, this
--                           does not either
--   known(ctx, res)         outputs that are known before it is made (deterministic names)
--   read(ctx, res, f)       gives live | nil (absent) | nil, err. f: fields, references resolved.
--                           live.ready == false: still being made; live.failed: why it can't heal;
--                           live.ours == false: found here, not made by rtl, never deleted
--   compare, diff           compared fields, or a function that gives {{field, want, have}, ...}
--   replace_when            fields that can't be changed, or a function(changes) that gives why
--   goes_first              where no step declares it any more, it is removed before others are
--                           made: they need what it holds
--   renews                  outputs that a change gives another value
--   replaceable             false: a replace is refused, since other things stand in it; not where
--                           it failed to be made (live.failed)
--   create(ctx, res, f, token), update(ctx, res, f, live, changes), delete(ctx, item)
--                           item.replaced: it is made anew right afterwards; item.purge: data goes
--                           with it
--   ready                   { wait = function (ctx, res, f, live), usual = s, delete_usual = s }
--   lease(res)              how a lease ends what bills: { action = "eks:deleteNodegroup", input =
--                           {…}, delay = s after the lease's end, resource = end of an ARN, late =
--                           true when the input is known only once it is made }
--   cost(ctx, res, f)       gives { hourly = usd, once = usd, what, source (texts), units = how
--                           many things share hourly, begun_hours = hours count in full, hold = usd
--                           an hour for what no other thing is billed for, each = usd of one of
--                           what `once` counts, once_what = its name, once_gb = GB of it, away =
--                           usd more for one that is counted elsewhere than at `home` } | nil
--   used(ctx, item)         what of that was really used: { since, spans = {{id, since, till,
--                           within}} (of units; within: id of the hold), counted = {{id, count,
--                           place}} (of `each`) } | nil; times in unix seconds
--   actions, depends        what it needs of IAM (rtl.plan.policy); kinds that must outlive it
--   strays                  only found by a teardown, never declared: `define` gives it no fields
--                           and outputs, a read of nothing and a create that refuses
--   find(ctx), find_inside(ctx, found)
--                           give { name, id, outputs, hourly } of all that is ours, without a
--                           ledger; the second sees what the first found (inside what we made)
--   users(ctx, item)        names of what others have put into it, for teardown
--   carrier(item, other)    whether `other` takes this with it when it is deleted: no call is made
--   holder(item, other)     whether `other` takes this with it if its own deletion fails. What has
--                           such a function keeps only its like from going
--   tokened                 create is safe to repeat with the same token
--   ephemeral               a check or a wait: leaves nothing, no ledger
--   data                    kept at teardown, unless purged

local err = require "rtl.err"
local keys = require "rtl.keys"
local nearest = require "rtl.nearest"
local ref = require "rtl.ref"

local M = {}

local OWN = { kind = true, kind_name = true, name = true, key = true, fields = true, after = true,
  given = true, step = true, source = true }

local resource_mt = { __name = "rtl.resource" }

function resource_mt.__index(res, key)
  if OWN[key] then return nil end
  local kind = rawget(res, "kind")
  if not kind or kind.output_set[key] then return ref.output(rawget(res, "key"), key) end
  error(("%s has no output '%s'%s"):format(rawget(res, "key"), tostring(key),
    nearest.hint(key, kind.outputs)), 2)
end

function resource_mt.__tostring(res)
  return rawget(res, "key")
end

--- Whether `value` is a resource (or a handle to one that is declared later).
function M.is_resource(value)
  return getmetatable(value) == resource_mt
end

--- A handle to a resource that is declared later: its outputs are checked when the graph is
-- ordered.
function M.handle(kind_name, name)
  local res = { kind_name = kind_name, name = name, key = kind_name .. "/" .. name }
  return setmetatable(res, resource_mt)
end

local function list_of(value)
  if value == nil then return {} end
  if M.is_resource(value) then return { value } end
  return value
end

local function fits(value, wanted)
  if wanted == "any" or ref.is(value) then return true end
  if wanted == "integer" then return math.type(value) == "integer" end
  if wanted == "list" then return type(value) == "table" end
  return type(value) == wanted
end

local function check_field(kind, key, field, value)
  local wanted = kind.fields[field]
  if not wanted then
    error(("%s has no field '%s'%s"):format(key, tostring(field),
      nearest.hint(field, keys.sorted(kind.fields))), 4)
  end
  wanted = wanted:gsub("%?$", "")
  if M.is_resource(value) then
    error(("%s: field '%s' holds the resource %s; name one of its outputs")
      :format(key, field, value.key), 4)
  end
  if not fits(value, wanted) then
    error(("%s: field '%s' is %s, %s expected"):format(key, field, type(value), wanted), 4)
  end
end

local function check_required(kind, res)
  for _, field in ipairs(keys.sorted(kind.fields)) do
    local optional = kind.fields[field]:match("%?$") or res.given
    if res.fields[field] == nil and not optional then
      error(("%s: field '%s' is missing"):format(res.key, field), 4)
    end
  end
  for _, field in ipairs(kind.identity or {}) do
    if #ref.targets(res.fields[field]) > 0 then
      error(("%s: field '%s' is part of its identity and may not hold a reference")
        :format(res.key, field), 4)
    end
  end
end

local function construct(kind, name, fields)
  local res = { kind = kind, kind_name = kind.name, name = name, key = kind.name .. "/" .. name }
  if type(fields) ~= "table" then error(res.key .. ": a table of fields is expected", 3) end
  res.fields, res.after, res.given = {}, list_of(fields.after), fields.given
  for field, value in pairs(fields) do
    if field ~= "after" and field ~= "given" then
      check_field(kind, res.key, field, value)
      res.fields[field] = value
    end
  end
  check_required(kind, res)
  for _, other in ipairs(res.after) do
    if not M.is_resource(other) then error(res.key .. ": 'after' takes resources", 3) end
  end
  return setmetatable(res, resource_mt)
end

local kind_mt = { __name = "rtl.kind" }

--- kind "name" { fields } → resource.
function kind_mt.__call(kind, name)
  if type(name) ~= "string" or name == "" then
    error(("bad argument #1 to '%s' (name expected)"):format(kind.name), 2)
  end
  return function (fields) return construct(kind, name, fields) end
end

local NEEDED = { "name", "outputs", "fields", "read", "create" }

-- What a kind has that is only found.
local function fill_strays(kind)
  kind.outputs, kind.fields = {}, {}
  function kind.read() return nil end
  function kind.create(_, res)
    return err.fail { code = "RTL-PLAN-009", doing = res.key,
      message = ("a %s is only found, never made by rtl"):format(kind.name:gsub("_", " ")) }
  end
end

--- Makes a kind of its description (above). The table becomes the kind; it is not copied.
function M.define(kind)
  if kind.strays then fill_strays(kind) end
  for _, key in ipairs(NEEDED) do
    if kind[key] == nil then error(("kind %s lacks '%s'"):format(tostring(kind.name), key), 2) end
  end
  kind.ready = kind.ready or {}
  kind.output_set = {}
  for _, output in ipairs(kind.outputs) do
    if OWN[output] then error(("kind %s: output '%s' is taken"):format(kind.name, output), 2) end
    kind.output_set[output] = true
  end
  return setmetatable(kind, kind_mt)
end

return M
